/*
 * One row per layer: its name and what it writes into a plan. Which layers can be
 * had is confine_probe.c's to find out, and confine_report.c's to tell.
 */
#include "os/sandbox/confine.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/seccomp.h"
#include "os/sandbox/state.h"

/* What a container's root keeps (the usual default of container engines), less making device
 * files. capabilities(7). */
#define ROOT_CAPS ((1ULL << CAP_CHOWN) | (1ULL << CAP_DAC_OVERRIDE) | (1ULL << CAP_FOWNER) | \
		   (1ULL << CAP_FSETID) | (1ULL << CAP_KILL) | (1ULL << CAP_SETGID) | \
		   (1ULL << CAP_SETUID) | (1ULL << CAP_SETPCAP) | \
		   (1ULL << CAP_NET_BIND_SERVICE) | (1ULL << CAP_NET_RAW) | \
		   (1ULL << CAP_SYS_CHROOT) | (1ULL << CAP_AUDIT_WRITE) | (1ULL << CAP_SETFCAP))

/* One run being confined. */
struct entering {
	struct confine *c;
	const struct confine_request *request;
	struct shim_plan *plan;
	struct confine_run *run;
};

/* ---- filters ---- */

/* The filter of a variant, built when it is first needed. */
static int get_filter(struct confine *c, const struct confine_seccomp_options *options,
		      const struct confine_filter **filter, struct err *e)
{
	size_t index = (size_t)options->strict | (size_t)options->no_network << 1 |
		       (size_t)options->notify << 2 | (size_t)(options->protect_pid != 0) << 3;
	struct confine_filter *f = &c->filters[index];

	if (!f->program && confine_seccomp_build(options, &f->program, &f->len, e))
		return -1;
	if (f->len > SHIM_FILTER_MAX)
		return err_set(e, ERR_SANDBOX_UNAVAILABLE,
			       "the system call filter has %zu instructions, the keeper takes %d",
			       f->len, SHIM_FILTER_MAX);
	*filter = f;
	return 0;
}

/* ---- what each layer writes into a plan ---- */

static int add_rlimit(struct shim_plan *plan, uint32_t resource, uint64_t soft, uint64_t hard)
{
	uint32_t i = 0;

	while (i < plan->rlimit_count && plan->rlimits[i].resource != resource)
		i++;
	BUG_IF(i >= SHIM_RLIMITS_MAX);
	plan->rlimit_count += i == plan->rlimit_count;
	plan->rlimits[i] = (struct shim_rlimit){ .resource = resource, .soft = soft, .hard = hard };
	return 0;
}

static int enter_nothing(struct entering *n, struct err *e)
{
	(void)n;
	(void)e;
	return 0; /* the keeper does it whatever the plan says */
}

static int enter_session(struct entering *n, struct err *e)
{
	(void)e;
	n->plan->umask = n->c->options.umask;
	n->plan->flags |= SHIM_OOM_SCORE;
	return 0;
}

/* The server raises its own descriptor limit; a command gets what the server was given. Core
 * files would put a command's memory, secrets included, into the workspace. */
static int enter_rlimits(struct entering *n, struct err *e)
{
	const struct rlimit *nofile = &n->c->options.nofile;

	(void)e;
	add_rlimit(n->plan, RLIMIT_CORE, 0, 0);
	add_rlimit(n->plan, RLIMIT_NOFILE, nofile->rlim_cur, nofile->rlim_max);
	for (size_t i = 0; i < n->request->rlimit_count; i++)
		add_rlimit(n->plan, n->request->rlimits[i].resource, n->request->rlimits[i].soft,
			   n->request->rlimits[i].hard);
	return 0;
}

static int enter_no_new_privs(struct entering *n, struct err *e)
{
	(void)e;
	n->plan->flags |= SHIM_NO_NEW_PRIVS;
	return 0;
}

static int enter_credentials(struct entering *n, struct err *e)
{
	n->plan->flags |= SHIM_CREDENTIALS;
	n->plan->uid = n->request->uid;
	n->plan->gid = n->request->gid;
	n->run->applied.uid = n->request->uid;
	if (!n->c->users_tmpdir)
		return 0;
	return tmpdir_make_for(n->c->users_tmpdir, n->request->uid, n->request->gid, e);
}

static int enter_capabilities(struct entering *n, struct err *e)
{
	(void)e;
	n->plan->flags |= SHIM_DROP_CAPS;
	n->plan->caps = n->request->as_user && n->request->uid ? 0 : ROOT_CAPS;
	return 0;
}

static int enter_seccomp(struct entering *n, struct err *e)
{
	const struct confine_applied *applied = &n->run->applied;
	const struct confine_seccomp_options options = {
		.strict = applied->profile == CONFINE_STRICT,
		.no_network = applied->layers & BIT(CONFINE_NETWORK_OFF) && !applied->net_ns,
		.notify = n->request->explain,
		.keeper_is_init = applied->layers & BIT(CONFINE_PID_NS),
		.protect_pid = applied->layers & BIT(CONFINE_PID_NS) ? 0 : getpid(),
		.protect_group = applied->layers & BIT(CONFINE_PID_NS) ? 0 : getpgrp(),
	};
	const struct confine_filter *filter = NULL;

	if (get_filter(n->c, &options, &filter, e))
		return -1;
	n->plan->flags |= SHIM_SECCOMP | (options.notify ? SHIM_LISTENER : 0);
	n->plan->filter_len = (uint32_t)filter->len;
	memcpy(n->plan->tail, filter->program, filter->len * sizeof(*filter->program));
	return 0;
}

static int32_t pass_fd(struct confine_run *run, int fd)
{
	BUG_IF(run->fd_count >= SHIM_EXTRA_FDS_MAX);
	run->fds[run->fd_count] = fd;
	return SHIM_FD_EXTRA + run->fd_count++;
}

static int enter_landlock(struct entering *n, struct err *e)
{
	(void)e;
	n->plan->landlock_fd = pass_fd(n->run, n->c->ruleset);
	return 0;
}

static void enter_user_ns(struct entering *n)
{
	if (n->c->privileged || n->run->clone_flags & CLONE_NEWUSER)
		return;
	n->run->clone_flags |= CLONE_NEWUSER;
	/* What the new namespace gives its first process ends with the exec at the latest. */
	n->plan->flags |= SHIM_USER_NS | SHIM_DROP_CAPS;
	n->plan->uid = n->c->uid;
	n->plan->gid = n->c->gid;
}

static int enter_pid_ns(struct entering *n, struct err *e)
{
	(void)e;
	enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWPID;
	n->plan->flags |= SHIM_PID_NS;
	return 0;
}

/* Behind the filter in the tail, so this row stands below the filter's. */
static int enter_mount_ns(struct entering *n, struct err *e)
{
	bool strict = n->run->applied.profile == CONFINE_STRICT;
	const struct confine_mounts *m = &n->c->mounts[strict];

	(void)e;
	enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWNS;
	n->plan->flags |= SHIM_MOUNTS;
	n->plan->mounts_size = (uint32_t)m->size;
	memcpy(n->plan->tail + n->plan->filter_len * sizeof(struct sock_filter), m->entries,
	       m->size);
	return 0;
}

static int enter_network_off(struct entering *n, struct err *e)
{
	(void)e;
	if (!n->run->applied.net_ns)
		return 0; /* the filter's rule */
	enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWNET;
	n->plan->flags |= SHIM_NET_NS;
	return 0;
}

static int enter_cgroup(struct entering *n, struct err *e)
{
	int fds[CGROUP_JOIN_FDS_MAX], count = cgroup_join_fds(n->run->cgroup, fds);
	int group = cgroup_clone_fd(n->run->cgroup);

	(void)e;
	n->plan->group_fd = group < 0 ? -1 : pass_fd(n->run, group);
	/* An init needs no other means to end all of its namespace. */
	if (!(n->plan->flags & SHIM_PID_NS) && cgroup_forks_fd(n->run->cgroup) >= 0)
		n->plan->forks_fd = pass_fd(n->run, cgroup_forks_fd(n->run->cgroup));
	for (int i = 0; i < count; i++)
		n->plan->joins[n->plan->join_count++] = pass_fd(n->run, fds[i]);
	return 0;
}

/* In the order of the enum. */
static const struct {
	const char *name;
	int (*enter)(struct entering *n, struct err *e);
} rows[CONFINE_LAYER_COUNT] = {
	[CONFINE_KEEPER] = { "keeper", enter_nothing },
	[CONFINE_SESSION] = { "session", enter_session },
	[CONFINE_RLIMITS] = { "rlimits", enter_rlimits },
	[CONFINE_NO_NEW_PRIVS] = { "no_new_privs", enter_no_new_privs },
	[CONFINE_CREDENTIALS] = { "credentials", enter_credentials },
	[CONFINE_CAPABILITIES] = { "capabilities", enter_capabilities },
	[CONFINE_SECCOMP] = { "seccomp", enter_seccomp },
	[CONFINE_LANDLOCK] = { "landlock", enter_landlock },
	[CONFINE_PID_NS] = { "pid_namespace", enter_pid_ns },
	[CONFINE_MOUNT_NS] = { "mount_namespace", enter_mount_ns },
	[CONFINE_NETWORK_OFF] = { "network_off", enter_network_off },
	[CONFINE_CGROUP] = { "cgroup", enter_cgroup },
};

const char *confine_row_name(enum confine_layer layer)
{
	return rows[layer].name;
}

int confine_layer_find(const char *name)
{
	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (!strcmp(rows[i].name, name))
			return i;
	return -1;
}

/* ---- limits ---- */

/* RLIMIT_NPROC counts per user namespace since Linux 5.14; before, all that the user runs. */
static bool counts_per_namespace(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}

static bool limits_tasks_by_rlimit(const struct confine *c, const struct confine_run *run)
{
	return !c->privileged && run->applied.layers & NAMESPACE_LAYERS && counts_per_namespace();
}

/* The share of @limits that a group takes, which @can so much; the rest is for the keeper. */
static struct cgroup_limits split_limits(const struct confine *c,
					 const struct confine_request *request, int64_t tasks,
					 unsigned can, struct confine_run *run)
{
	struct cgroup_limits limits = {
		.memory_bytes = request->memory_bytes,
		.cpu_permille = request->cpu_permille,
		.tasks = limits_tasks_by_rlimit(c, run) ? 0 : tasks,
	};

	run->watched_memory = limits.memory_bytes && !(can & CGROUP_MEMORY);
	run->watched_cpu = limits.cpu_permille && !(can & CGROUP_CPU);
	run->watched_tasks = limits.tasks && !(can & CGROUP_TASKS);
	if (run->watched_memory)
		limits.memory_bytes = 0;
	if (run->watched_cpu)
		limits.cpu_permille = 0;
	if (run->watched_tasks)
		limits.tasks = 0;
	return limits;
}

/* Not above what the request has set, nor above what we may set at all. */
static void limit_processes(struct shim_plan *plan, uint64_t tasks)
{
	struct rlimit own;

	if (!getrlimit(RLIMIT_NPROC, &own) && own.rlim_max < tasks)
		tasks = own.rlim_max;
	for (uint32_t i = 0; i < plan->rlimit_count; i++)
		if (plan->rlimits[i].resource == RLIMIT_NPROC && plan->rlimits[i].hard <= tasks)
			return;
	add_rlimit(plan, RLIMIT_NPROC, tasks, tasks);
}

/* No RLIMIT_DATA beside it: programs reserve far more than they use (a JVM most of its heap). */
static void watch_limits(struct entering *n, int64_t tasks)
{
	struct shim_limits *limits = &n->plan->limits;

	if (n->run->watched_memory)
		limits->memory_bytes = (uint64_t)n->request->memory_bytes;
	if (n->run->watched_cpu)
		limits->cpu_permille = (uint32_t)n->request->cpu_permille;
	if (n->run->watched_tasks)
		limits->tasks = (uint32_t)tasks;
	n->run->rlimited_tasks = tasks && limits_tasks_by_rlimit(n->c, n->run);
	if (n->run->rlimited_tasks)
		limit_processes(n->plan, (uint64_t)tasks);
}

/* Before the layers are entered: a group is one of them. Without a PID namespace it is also what
 * makes a kill complete. */
static int make_group(struct entering *n, int64_t tasks, uint64_t seq, struct err *e)
{
	unsigned can = cgroups_prepare(n->c->cgroups);
	struct cgroup_limits limits = split_limits(n->c, n->request, tasks, can, n->run);
	bool for_kill = can & CGROUP_KILL && !(n->run->applied.layers & BIT(CONFINE_PID_NS));

	if (!limits.memory_bytes && !limits.cpu_permille && !limits.tasks && !for_kill)
		return 0;
	n->run->cgroup = cgroup_new(n->c->cgroups, seq, &limits, e);
	if (!n->run->cgroup)
		return -1;
	n->run->applied.layers |= BIT(CONFINE_CGROUP);
	return 0;
}

/* ---- one run ---- */

/* Which layers this run gets, of those that can be had. */
void confine_choose(const struct confine *c, const struct confine_request *request,
		    struct confine_applied *applied)
{
	bool network_off = !c->options.network || request->network_off;
	uint32_t layers = ALWAYS_LAYERS;

	applied->profile = request->strict ? CONFINE_STRICT : c->options.profile;
	network_off |= applied->profile == CONFINE_STRICT;
	if (applied->profile != CONFINE_NONE)
		layers |= BIT(CONFINE_NO_NEW_PRIVS) | BIT(CONFINE_CAPABILITIES) |
			  BIT(CONFINE_SECCOMP) | BIT(CONFINE_LANDLOCK) |
			  (request->no_namespaces ? 0 : NAMESPACE_LAYERS);
	if (network_off)
		layers |= BIT(CONFINE_NETWORK_OFF) | BIT(CONFINE_SECCOMP) |
			  BIT(CONFINE_NO_NEW_PRIVS);
	if (request->as_user)
		layers |= BIT(CONFINE_CREDENTIALS);
	applied->layers = layers & c->usable;
	applied->net_ns = network_off && !request->no_namespaces && c->net_ns_usable;
}

/* What this run must have beyond what the operator requires. */
static uint32_t required(const struct confine *c, const struct confine_request *request,
			 const struct confine_applied *applied)
{
	uint32_t bits = c->options.required | ALWAYS_LAYERS;

	if (request->as_user)
		bits |= BIT(CONFINE_CREDENTIALS);
	if (applied->profile != CONFINE_NONE)
		bits |= BIT(CONFINE_NO_NEW_PRIVS) | BIT(CONFINE_SECCOMP);
	if (applied->layers & BIT(CONFINE_NETWORK_OFF) && !applied->net_ns)
		bits |= BIT(CONFINE_SECCOMP);
	/* Strict promises that nothing outside is written: one of two can keep that. */
	if ((applied->profile == CONFINE_STRICT || c->options.files) &&
	    !(applied->layers & BIT(CONFINE_LANDLOCK)))
		bits |= BIT(CONFINE_MOUNT_NS);
	return bits;
}

/* A layer that this machine has and this run does not enter. */
static const char *why_not_entered(int layer)
{
	switch (layer) {
	case CONFINE_NETWORK_OFF:
		return "the network is on for this run";
	case CONFINE_CREDENTIALS:
		return "this run would be as the server's own user";
	default:
		return "the profile none is without it";
	}
}

static const char *how_to_enter(int layer)
{
	switch (layer) {
	case CONFINE_NETWORK_OFF:
		return "ask for it with network: false or profile: strict; the operator can switch "
		       "the network off for all runs with sandbox.network=false";
	case CONFINE_CREDENTIALS:
		return "name a user; the operator can name one for all runs with sandbox.user";
	default:
		return "the operator has set sandbox.profile=none and sandbox.require, which "
		       "contradict each other";
	}
}

static int check_layers(const struct confine *c, const struct confine_request *request,
			const struct confine_applied *applied, struct err *e)
{
	uint32_t missing = required(c, request, applied) & ~applied->layers & ~BIT(CONFINE_CGROUP);
	const char *reason;
	int layer = 0;

	if (!missing)
		return 0;
	while (!(missing & BIT(layer)))
		layer++;
	if (request->no_namespaces && BIT(layer) & NAMESPACE_LAYERS)
		reason = "the kernel has just refused a new namespace";
	else
		reason = c->usable & BIT(layer) ? why_not_entered(layer) : c->layers[layer].reason;
	err_set(e, ERR_SANDBOX_UNAVAILABLE, "the layer %s is required and cannot be had: %s",
		rows[layer].name, reason);
	if (c->usable & BIT(layer) && !request->no_namespaces)
		err_hint(e, "%s", how_to_enter(layer));
	err_detail(e, "layer", json_string(rows[layer].name));
	return -1;
}

/* A link may lead to where nothing can be hidden, and may have come since the start. */
static int check_required(const struct confine *c, const struct confine_request *request,
			  const struct confine_applied *applied, struct err *e)
{
	const char *visible = confine_visible(c);

	if (check_layers(c, request, applied, e))
		return -1;
	if (!visible)
		return 0;
	err_set(e, ERR_SANDBOX_UNAVAILABLE, "sandbox.hide cannot be had: %s", visible);
	return err_hint(e, "the operator must take that away, or change sandbox.hide");
}

/* What is to be hidden may have come, gone, or lead elsewhere since the last run. */
static void look_at_hidden(struct confine *c, bool strict)
{
	if (!*c->options.hidden || !(c->usable & BIT(CONFINE_MOUNT_NS)))
		return;
	confine_mounts_look(&c->mounts[0]);
	if (strict)
		confine_mounts_look(&c->mounts[1]);
}

int confine_fill(struct confine *c, const struct confine_request *request, struct shim_plan *plan,
		 struct confine_run *run, struct err *e)
{
	struct entering n = { c, request, plan, run };

	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (run->applied.layers & BIT(i) && rows[i].enter(&n, e))
			return -1;
	return 0;
}

void confine_clear(struct shim_plan *plan, struct confine_run *run)
{
	memset(plan, 0, SHIM_PLAN_HEAD);
	memset(run, 0, sizeof(*run));
	plan->landlock_fd = plan->group_fd = plan->forks_fd = -1;
}

int confine_enter(struct confine *c, const struct confine_request *request, uint64_t seq,
		  struct shim_plan *plan, struct confine_run *run, struct err *e)
{
	struct entering n = { c, request, plan, run };
	int64_t tasks = request->tasks ? request->tasks : c->options.tasks;

	confine_clear(plan, run);
	if (confine_prepare(c, e))
		return -1;
	if (!c->options.network || request->network_off || request->strict ||
	    c->options.profile == CONFINE_STRICT)
		confine_probe_network(c);
	confine_choose(c, request, &run->applied);
	look_at_hidden(c, run->applied.profile == CONFINE_STRICT);
	if (check_required(c, request, &run->applied, e) || make_group(&n, tasks, seq, e))
		return -1;
	if (confine_fill(c, request, plan, run, e)) {
		confine_run_release(run);
		return -1;
	}
	watch_limits(&n, tasks);
	return 0;
}

void confine_run_release(struct confine_run *run)
{
	if (run->left_nothing)
		cgroup_give_back(run->cgroup);
	else
		cgroup_free(run->cgroup);
	run->cgroup = NULL;
}

bool confine_drop_idle(struct confine *c)
{
	return c->cgroups && cgroups_drop_idle(c->cgroups);
}
