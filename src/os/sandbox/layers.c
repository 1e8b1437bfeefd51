#include "os/sandbox/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/seccomp.h"
#include "os/sandbox/state.h"

/* The default capabilities of container engines for root, without CAP_MKNOD, and without
 * CAP_SETFCAP and CAP_FSETID, which leave privileged programs behind (capabilities(7)). */
#define ROOT_CAPS ((1ULL << CAP_CHOWN) | (1ULL << CAP_DAC_OVERRIDE) | (1ULL << CAP_FOWNER) | \
		   (1ULL << CAP_KILL) | (1ULL << CAP_SETGID) | (1ULL << CAP_SETUID) | \
		   (1ULL << CAP_SETPCAP) | (1ULL << CAP_NET_BIND_SERVICE) | \
		   (1ULL << CAP_NET_RAW) | (1ULL << CAP_SYS_CHROOT) | (1ULL << CAP_AUDIT_WRITE))

/* ---- filters ---- */

/* The filter for @options, built at first use. */
static int layers_get_filter(struct confine *c, const struct confine_seccomp_options *options,
			     const struct confine_filter **filter, struct err *e)
{
	size_t index = (size_t)options->strict | (size_t)options->no_network << 1 |
		       (size_t)options->notify << 2 | (size_t)(options->protect_pid != 0) << 3 |
		       (size_t)options->as_root << 4 | (size_t)options->tcp_only << 5;
	struct confine_filter *f = &c->filters[index];

	if (!f->program && confine_seccomp_build(options, &f->program, &f->len, e))
		return -1;
	*filter = f;
	return 0;
}

/* ---- what each layer writes into a plan ---- */

void layers_add_rlimit(struct shim_plan *plan, uint32_t resource, uint64_t soft, uint64_t hard)
{
	uint32_t i = 0;

	while (i < plan->rlimit_count && plan->rlimits[i].resource != resource)
		i++;
	BUG_IF(i >= SHIM_RLIMITS_MAX);
	plan->rlimit_count += i == plan->rlimit_count;
	plan->rlimits[i] = (struct shim_rlimit){ .resource = resource, .soft = soft, .hard = hard };
}

static int layers_enter_nothing(struct layers_entry *n, struct err *e)
{
	(void)n;
	(void)e;
	return 0; /* the shim does it without an entry in the plan, or other layers have it */
}

static int layers_enter_session(struct layers_entry *n, struct err *e)
{
	(void)e;
	n->plan->umask = n->c->options.umask;
	n->plan->flags |= SHIM_OOM_SCORE;
	return 0;
}

/* The server raises its own descriptor limit; a command gets what the server was given. Core
 * files would put a command's memory, secrets included, into the workspace. */
static int layers_enter_rlimits(struct layers_entry *n, struct err *e)
{
	const struct rlimit *nofile = &n->c->options.nofile;

	(void)e;
	layers_add_rlimit(n->plan, RLIMIT_CORE, 0, 0);
	layers_add_rlimit(n->plan, RLIMIT_NOFILE, nofile->rlim_cur, nofile->rlim_max);
	for (size_t i = 0; i < n->request->rlimit_count; i++)
		layers_add_rlimit(n->plan, n->request->rlimits[i].resource,
				  n->request->rlimits[i].soft, n->request->rlimits[i].hard);
	return 0;
}

static int layers_enter_no_new_privs(struct layers_entry *n, struct err *e)
{
	(void)e;
	n->plan->flags |= SHIM_NO_NEW_PRIVS;
	return 0;
}

static int layers_enter_credentials(struct layers_entry *n, struct err *e)
{
	n->plan->flags |= SHIM_CREDENTIALS;
	n->plan->uid = n->request->uid;
	n->plan->gid = n->request->gid;
	n->run->applied.uid = n->request->uid;
	if (!n->c->users_tmpdir)
		return 0;
	return tmpdir_make_for(n->c->users_tmpdir, n->request->uid, n->request->gid, e);
}

static int layers_enter_capabilities(struct layers_entry *n, struct err *e)
{
	(void)e;
	n->plan->flags |= SHIM_DROP_CAPS;
	n->plan->caps = n->request->as_user && n->request->uid ? 0 : ROOT_CAPS;
	return 0;
}

static int layers_enter_seccomp(struct layers_entry *n, struct err *e)
{
	const struct confine_applied *applied = &n->run->applied;
	const struct confine_seccomp_options options = {
		.strict = applied->profile == CONFINE_STRICT,
		.no_network = applied->layers & BIT(CONFINE_NETWORK_OFF) && !applied->net_ns,
		.tcp_only = applied->layers & BIT(CONFINE_NETWORK_PORTS),
		.as_root = !(n->request->as_user ? n->request->uid : n->c->uid),
		.notify = n->request->explain,
		.shim_is_init = applied->layers & BIT(CONFINE_PID_NS),
		.protect_pid = applied->layers & BIT(CONFINE_PID_NS) ? 0 : getpid(),
		.protect_group = applied->layers & BIT(CONFINE_PID_NS) ? 0 : getpgrp(),
	};
	const struct confine_filter *filter = NULL;

	if (layers_get_filter(n->c, &options, &filter, e))
		return -1;
	n->plan->flags |= SHIM_SECCOMP | (options.notify ? SHIM_LISTENER : 0);
	n->plan->filter_len = (uint32_t)filter->len;
	memcpy(n->plan->tail, filter->program, filter->len * sizeof(*filter->program));
	return 0;
}

static int32_t layers_plan_pass_fd(struct confine_run *run, int fd)
{
	BUG_IF(run->fd_count >= SHIM_EXTRA_FDS_MAX);
	run->fds[run->fd_count] = fd;
	return SHIM_FD_EXTRA + run->fd_count++;
}

int layers_make_ruleset(const struct confine *c, struct err *e)
{
	const struct confine_landlock_rules rules = {
		.writable = (const char *const *)c->writable,
		.ports = c->options.ports,
		.port_count = c->landlock_abi >= LANDLOCK_ABI_PORTS ? c->options.port_count : 0,
	};

	return confine_landlock_build(c->landlock_abi, &rules, e);
}

/* For one shim, which may add to it, or to be shared. */
static int layers_take_ruleset(void *ctx, struct err *e)
{
	struct confine *c = ctx;
	int spare = c->spare_ruleset;

	c->spare_ruleset = -1;
	return spare >= 0 ? spare : layers_make_ruleset(c, e);
}

/* A descriptor of the one for all shims that add nothing; made at first use. */
static int layers_share_ruleset(void *ctx, struct err *e)
{
	struct confine *c = ctx;
	int shared = -1;

	if (c->ruleset < 0)
		c->ruleset = layers_take_ruleset(c, e);
	if (c->ruleset >= 0)
		shared = fcntl(c->ruleset, F_DUPFD_CLOEXEC, 0);
	if (c->ruleset >= 0 && shared < 0)
		err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno, "cannot share the Landlock ruleset");
	return shared;
}

static bool layers_has_own_pts(const struct layers_entry *n)
{
	return n->run->applied.layers & BIT(CONFINE_MOUNT_NS) && !n->c->no_pts;
}

static int layers_enter_landlock(struct layers_entry *n, struct err *e)
{
	bool mounts = n->run->applied.layers & BIT(CONFINE_MOUNT_NS);
	bool terminal = n->request->terminal || n->request->shares_stdio;

	(void)e;
	if (mounts)
		n->plan->proc_rights = confine_landlock_read_rights();
	if (layers_has_own_pts(n) || terminal)
		n->plan->pts_rights = confine_landlock_device_rights(n->c->landlock_abi);
	n->run->ruleset = (struct spawn_ruleset){
		mounts || terminal ? layers_take_ruleset : layers_share_ruleset, n->c
	};
	n->plan->landlock_fd = layers_plan_pass_fd(n->run, -1);
	return 0;
}

static void layers_enter_user_ns(struct layers_entry *n)
{
	if (n->c->privileged || n->run->clone_flags & CLONE_NEWUSER)
		return;
	n->run->clone_flags |= CLONE_NEWUSER;
	/* The capabilities that the new namespace gives its first process must end by the exec. */
	n->plan->flags |= SHIM_USER_NS | SHIM_DROP_CAPS;
	n->plan->uid = n->c->uid;
	n->plan->gid = n->c->gid;
}

static int layers_enter_pid_ns(struct layers_entry *n, struct err *e)
{
	(void)e;
	layers_enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWPID;
	n->plan->flags |= SHIM_PID_NS;
	return 0;
}

/* The entries follow the filter in the tail, so this row must come after the filter's. */
static int layers_enter_mount_ns(struct layers_entry *n, struct err *e)
{
	bool strict = n->run->applied.profile == CONFINE_STRICT;

	(void)e;
	layers_enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWNS | (n->c->own_ipc ? CLONE_NEWIPC : 0);
	n->plan->flags |= SHIM_MOUNTS | (n->c->no_user_ns ? 0 : SHIM_LOCK_MOUNTS) |
			  (n->c->own_ipc ? SHIM_IPC_NS : 0) |
			  (layers_has_own_pts(n) ? SHIM_OWN_PTS : 0);
	n->plan->mounts_size = (uint32_t)confine_mounts_write(
		&n->c->mounts[strict], !layers_has_own_pts(n),
		n->plan->tail + n->plan->filter_len * sizeof(struct sock_filter));
	return 0;
}

static int layers_enter_network_off(struct layers_entry *n, struct err *e)
{
	(void)e;
	if (!n->run->applied.net_ns)
		return 0; /* the filter's rule */
	layers_enter_user_ns(n);
	n->run->clone_flags |= CLONE_NEWNET;
	n->plan->flags |= SHIM_NET_NS;
	return 0;
}

static int layers_enter_cgroup(struct layers_entry *n, struct err *e)
{
	int fds[CGROUP_JOIN_FDS_MAX], count = cgroup_join_fds(n->run->cgroup, fds);
	int group = cgroup_clone_fd(n->run->cgroup);

	(void)e;
	n->plan->group_fd = group < 0 ? -1 : layers_plan_pass_fd(n->run, group);
	/* An init kills its whole namespace without it. */
	if (!(n->plan->flags & SHIM_PID_NS) && cgroup_forks_fd(n->run->cgroup) >= 0)
		n->plan->forks_fd = layers_plan_pass_fd(n->run, cgroup_forks_fd(n->run->cgroup));
	for (int i = 0; i < count; i++)
		n->plan->joins[n->plan->join_count++] = layers_plan_pass_fd(n->run, fds[i]);
	return 0;
}

/* In the order of the enum. */
static const struct {
	const char *name;
	int (*enter)(struct layers_entry *n, struct err *e);
} rows[CONFINE_LAYER_COUNT] = {
	[CONFINE_SHIM] = { "shim", layers_enter_nothing },
	[CONFINE_SESSION] = { "session", layers_enter_session },
	[CONFINE_RLIMITS] = { "rlimits", layers_enter_rlimits },
	[CONFINE_NO_NEW_PRIVS] = { "no_new_privs", layers_enter_no_new_privs },
	[CONFINE_CREDENTIALS] = { "credentials", layers_enter_credentials },
	[CONFINE_CAPABILITIES] = { "capabilities", layers_enter_capabilities },
	[CONFINE_SECCOMP] = { "seccomp", layers_enter_seccomp },
	[CONFINE_LANDLOCK] = { "landlock", layers_enter_landlock },
	[CONFINE_PID_NS] = { "pid_namespace", layers_enter_pid_ns },
	[CONFINE_MOUNT_NS] = { "mount_namespace", layers_enter_mount_ns },
	[CONFINE_NETWORK_OFF] = { "network_off", layers_enter_network_off },
	[CONFINE_NETWORK_PORTS] = { "network_ports", layers_enter_nothing },
	[CONFINE_CGROUP] = { "cgroup", layers_enter_cgroup },
};

const char *layers_name(enum confine_layer layer)
{
	return rows[layer].name;
}

/* ---- one run ---- */

enum confine_profile confine_profile(const struct confine *c,
				     const struct confine_request *request)
{
	if (request->strict)
		return CONFINE_STRICT;
	if (request->confined && c->options.profile == CONFINE_NONE)
		return CONFINE_DEFAULT;
	return c->options.profile;
}

void layers_choose(const struct confine *c, const struct confine_request *request,
		   struct confine_applied *applied)
{
	bool network_off = !c->options.network || request->network_off;
	uint32_t layers = ALWAYS_LAYERS;

	applied->profile = confine_profile(c, request);
	network_off |= applied->profile == CONFINE_STRICT;
	if (applied->profile != CONFINE_NONE)
		layers |= BIT(CONFINE_NO_NEW_PRIVS) | BIT(CONFINE_CAPABILITIES) |
			  BIT(CONFINE_SECCOMP) | BIT(CONFINE_LANDLOCK) |
			  BIT(CONFINE_NETWORK_PORTS) |
			  (request->no_namespaces ? 0 : NAMESPACE_LAYERS);
	if (network_off)
		layers |= BIT(CONFINE_NETWORK_OFF) | BIT(CONFINE_SECCOMP) |
			  BIT(CONFINE_NO_NEW_PRIVS);
	if (request->as_user)
		layers |= BIT(CONFINE_CREDENTIALS);
	applied->layers = layers & c->usable;
	applied->net_ns = network_off && !request->no_namespaces && c->net_ns_usable;
}

/* With the operator's profile none other runs may have no sandbox, and reach into this one. */
static bool layers_shelter(const struct layers_entry *n)
{
	const uint32_t layers = n->run->applied.layers;

	return n->c->options.profile != CONFINE_NONE &&
	       (layers & BIT(CONFINE_PID_NS) ||
		(layers & BIT(CONFINE_LANDLOCK) && n->c->landlock_abi >= LANDLOCK_ABI_SCOPE));
}

int layers_fill(struct layers_entry *n, struct err *e)
{
	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (n->run->applied.layers & BIT(i) && rows[i].enter(n, e))
			return -1;
	n->plan->flags |= layers_shelter(n) ? SHIM_SHELTERED : 0;
	return 0;
}

void layers_clear(struct shim_plan *plan, struct confine_run *run)
{
	memset(plan, 0, SHIM_PLAN_HEAD);
	memset(run, 0, sizeof(*run));
	plan->landlock_fd = plan->group_fd = plan->forks_fd = -1;
}
