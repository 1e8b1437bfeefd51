#include "os/sandbox/confine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/layers.h"
#include "os/sandbox/state.h"

/* Not NULL, even if @list is. */
static char **confine_copy_list(const char *const *list)
{
	static const char *const none[] = { NULL };

	return mem_list_copy(list ? list : none);
}

struct confine *confine_new(const struct confine_options *options)
{
	struct confine *c = mem_zalloc(sizeof(*c));

	c->options = *options;
	c->writable_option = confine_copy_list(options->writable);
	c->hidden_option = confine_copy_list(options->hidden);
	c->readonly_option = confine_copy_list(options->readonly);
	c->record_option = mem_strdup(options->record);
	c->options.writable = (const char *const *)c->writable_option;
	c->options.hidden = (const char *const *)c->hidden_option;
	c->options.readonly = (const char *const *)c->readonly_option;
	c->options.record = c->record_option;
	if (*c->hidden_option || (*c->readonly_option && options->readonly_required))
		c->options.required |= BIT(CONFINE_MOUNT_NS);
	if (options->port_count)
		c->options.required |= BIT(CONFINE_NETWORK_PORTS);
	c->uid = geteuid();
	c->gid = getegid();
	c->privileged = c->uid == 0;
	c->ruleset = c->spare_ruleset = -1;
	c->cgroups = cgroups_new(options->instance);
	if (options->loop)
		cgroups_remove_later(c->cgroups, options->loop);
	if (options->temporary)
		c->tmpdir = tmpdir_new(options->temporary, options->instance, options->reaper);
	if (options->users_temporary)
		c->users_tmpdir = tmpdir_new_for_users(options->users_temporary, options->instance,
						       options->reaper);
	c->options.users_temporary = NULL;
	c->options.instance = c->options.temporary = NULL; /* not copied: the caller's */
	return c;
}

void confine_free(struct confine *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < FILTER_VARIANTS; i++)
		free(c->filters[i].program);
	for (size_t i = 0; i < COUNT_OF(c->mounts); i++)
		confine_mounts_release(&c->mounts[i]);
	mem_cleanup_close(&c->ruleset);
	mem_cleanup_close(&c->spare_ruleset);
	cgroups_free(c->cgroups);
	tmpdir_free(c->tmpdir);
	tmpdir_free(c->users_tmpdir);
	mem_list_free(c->writable);
	mem_list_free(c->writable_option);
	mem_list_free(c->hidden_option);
	mem_list_free(c->readonly_option);
	free(c->found);
	free(c->record_option);
	err_release(&c->failure);
	free(c);
}

int confine_layer_find(const char *name)
{
	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (!strcmp(layers_name((enum confine_layer)i), name))
			return i;
	return -1;
}

/* ---- limits ---- */

/* RLIMIT_NPROC counts per user namespace since Linux 5.14; before, all processes of the user. */
static bool confine_counts_per_namespace(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}

static bool confine_limits_tasks_by_rlimit(const struct confine *c, const struct confine_run *run)
{
	return !c->privileged && run->applied.layers & NAMESPACE_LAYERS &&
	       confine_counts_per_namespace();
}

/* The limits that a control group with the abilities @can takes. The shim watches the others, as
 * @run->watched_* says. */
static struct cgroup_limits confine_take_cgroup_limits(const struct confine *c,
						       const struct confine_request *request,
						       int64_t tasks, unsigned can,
						       struct confine_run *run)
{
	struct cgroup_limits limits = {
		.memory_bytes = request->memory_bytes,
		.cpu_permille = request->cpu_permille,
		.tasks = confine_limits_tasks_by_rlimit(c, run) ? 0 : tasks,
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

/* Set RLIMIT_NPROC to @tasks, but not above the request's own or our hard limit. */
static void confine_add_nproc_rlimit(struct shim_plan *plan, uint64_t tasks)
{
	struct rlimit own;

	if (!getrlimit(RLIMIT_NPROC, &own) && own.rlim_max < tasks)
		tasks = own.rlim_max;
	for (uint32_t i = 0; i < plan->rlimit_count; i++)
		if (plan->rlimits[i].resource == RLIMIT_NPROC && plan->rlimits[i].hard <= tasks)
			return;
	layers_add_rlimit(plan, RLIMIT_NPROC, tasks, tasks);
}

/* Does not set RLIMIT_DATA for memory: programs reserve far more than they use (a JVM most of its
 * heap). */
static void confine_set_shim_limits(struct layers_entry *n, int64_t tasks)
{
	struct shim_limits *limits = &n->plan->limits;

	if (n->run->watched_memory)
		limits->memory_bytes = (uint64_t)n->request->memory_bytes;
	if (n->run->watched_cpu)
		limits->cpu_permille = (uint32_t)n->request->cpu_permille;
	if (n->run->watched_tasks)
		limits->tasks = (uint32_t)tasks;
	n->run->rlimited_tasks = tasks && confine_limits_tasks_by_rlimit(n->c, n->run);
	if (n->run->rlimited_tasks)
		confine_add_nproc_rlimit(n->plan, (uint64_t)tasks);
}

/* An allowance that a terminal could shake off would be none. */
static int confine_fail_terminal_cpu(struct err *e)
{
	err_set(e, ERR_SANDBOX_UNAVAILABLE,
		"a run with a terminal cannot have a limit of processor time here: no control "
		"group takes it, and without one it is held by SIGSTOP and SIGCONT, which a shell "
		"on a terminal takes for its own");
	return err_hint(e, "Run it without tty, or without cpu_limit unless the operator sets "
			   "one; `procpen doctor` says what control groups need.");
}

/* Without a PID namespace a group is also needed for a complete kill. */
static bool confine_wants_cgroup(const struct confine_run *run, const struct cgroup_limits *limits,
				 unsigned can)
{
	bool for_kill = can & CGROUP_KILL && !(run->applied.layers & BIT(CONFINE_PID_NS));

	return limits->memory_bytes || limits->cpu_permille || limits->tasks || for_kill;
}

/* Call before layers_fill(): the group is one of the layers. */
static int confine_make_cgroup(struct layers_entry *n, int64_t tasks, uint64_t seq, struct err *e)
{
	unsigned can = cgroups_prepare(n->c->cgroups);
	struct cgroup_limits limits =
		confine_take_cgroup_limits(n->c, n->request, tasks, can, n->run);

	if (n->run->watched_cpu && n->request->terminal)
		return confine_fail_terminal_cpu(e);
	if (!confine_wants_cgroup(n->run, &limits, can))
		return 0;
	n->run->cgroup = cgroup_new(n->c->cgroups, seq, &limits, e);
	if (!n->run->cgroup)
		return -1;
	n->run->applied.layers |= BIT(CONFINE_CGROUP);
	return 0;
}

void confine_usual(const struct confine *c, const struct confine_request *request,
		   struct confine_applied *applied)
{
	unsigned can = cgroups_prepare(c->cgroups);
	struct confine_run run = { 0 };
	struct cgroup_limits limits;

	layers_choose(c, request, &run.applied);
	limits = confine_take_cgroup_limits(c, request, c->options.tasks, can, &run);
	if (confine_wants_cgroup(&run, &limits, can))
		run.applied.layers |= BIT(CONFINE_CGROUP);
	*applied = run.applied;
}

/* ---- one run ---- */

/* The layers that this run must have: the operator's and its own. */
static uint32_t confine_required_layers(const struct confine *c,
					const struct confine_request *request,
					const struct confine_applied *applied)
{
	uint32_t bits = c->options.required | ALWAYS_LAYERS;

	if (request->as_user)
		bits |= BIT(CONFINE_CREDENTIALS);
	if (applied->profile != CONFINE_NONE)
		bits |= BIT(CONFINE_NO_NEW_PRIVS) | BIT(CONFINE_SECCOMP);
	if (applied->layers & BIT(CONFINE_NETWORK_OFF) && !applied->net_ns)
		bits |= BIT(CONFINE_SECCOMP);
	/* The strict profile promises no writes outside: Landlock or a mount namespace. */
	if ((applied->profile == CONFINE_STRICT || c->options.files) &&
	    !(applied->layers & BIT(CONFINE_LANDLOCK)))
		bits |= BIT(CONFINE_MOUNT_NS);
	return bits;
}

/* Why this run does not enter @layer, which is available. */
static const char *confine_reason_not_entered(int layer)
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

static const char *confine_hint_to_enter(int layer)
{
	switch (layer) {
	case CONFINE_NETWORK_OFF:
		return "Ask for it with network: false or profile: strict; the operator can switch "
		       "the network off for all runs with sandbox.network=false";
	case CONFINE_CREDENTIALS:
		return "Name a user; the operator can name one for all runs with sandbox.user";
	default:
		return "The operator has set sandbox.profile=none and sandbox.require, which "
		       "contradict each other";
	}
}

static int confine_check_layers(const struct confine *c, const struct confine_request *request,
				const struct confine_applied *applied, struct err *e)
{
	uint32_t missing = confine_required_layers(c, request, applied) & ~applied->layers &
			   ~BIT(CONFINE_CGROUP);
	const char *reason;
	int layer = 0;

	if (!missing)
		return 0;
	while (!(missing & BIT(layer)))
		layer++;
	if (request->no_namespaces && BIT(layer) & NAMESPACE_LAYERS)
		reason = "the kernel has just refused a new namespace";
	else
		reason = c->usable & BIT(layer) ? confine_reason_not_entered(layer)
						: c->layers[layer].reason;
	err_set(e, ERR_SANDBOX_UNAVAILABLE, "the required layer %s is not available: %s",
		layers_name((enum confine_layer)layer), reason);
	if (!(c->usable & BIT(layer)))
		e->sys = c->layers[layer].shortage;
	if (c->usable & BIT(layer) && !request->no_namespaces)
		err_hint(e, "%s", confine_hint_to_enter(layer));
	err_detail(e, "layer", json_string(layers_name((enum confine_layer)layer)));
	return -1;
}

/* A link can make a hidden path lead to a place that cannot be hidden, or take the place of a
 * read-only one, even after the server's start. */
static int confine_check_required(const struct confine *c, const struct confine_request *request,
				  const struct confine_applied *applied, struct err *e)
{
	const char *visible = confine_visible(c), *option = visible ? "hide" : "readonly";
	char changeable[CONFINE_CHANGEABLE_SIZE];

	if (confine_check_layers(c, request, applied, e))
		return -1;
	if (!visible && !(c->options.readonly_required && confine_changeable(c, changeable)))
		return 0;
	err_set(e, ERR_SANDBOX_UNAVAILABLE, "sandbox.%s cannot be enforced: %s", option,
		visible ? visible : changeable);
	return err_hint(e, "The operator must remove the cause or change sandbox.%s", option);
}

/* Files at hidden paths may have appeared, vanished or moved since the last run. */
static void confine_refresh_hidden(struct confine *c, bool strict)
{
	if (!*c->options.hidden || !(c->usable & BIT(CONFINE_MOUNT_NS)))
		return;
	confine_mounts_refresh(&c->mounts[0]);
	if (strict)
		confine_mounts_refresh(&c->mounts[1]);
}

/* Rulesets of Landlock name what is in /: after a change there make them anew, for new shims. */
static void confine_refresh_rulesets(struct confine *c)
{
	struct stat st;

	if (!(c->usable & BIT(CONFINE_LANDLOCK)) || stat("/", &st) ||
	    (st.st_mtim.tv_sec == c->root_changed.tv_sec &&
	     st.st_mtim.tv_nsec == c->root_changed.tv_nsec))
		return;
	c->root_changed = st.st_mtim;
	mem_cleanup_close(&c->ruleset);
	mem_cleanup_close(&c->spare_ruleset);
	c->generation++;
}

int confine_enter(struct confine *c, const struct confine_request *request, uint64_t seq,
		  struct shim_plan *plan, struct confine_run *run, struct err *e)
{
	struct layers_entry n = { c, request, plan, run };
	int64_t tasks = request->tasks ? request->tasks : c->options.tasks;

	layers_clear(plan, run);
	confine_renew(c);
	if (confine_prepare(c, e))
		return -1;
	if (!c->options.network || request->network_off || request->strict ||
	    c->options.profile == CONFINE_STRICT)
		confine_probe_network(c);
	layers_choose(c, request, &run->applied);
	confine_refresh_hidden(c, run->applied.profile == CONFINE_STRICT);
	confine_refresh_rulesets(c);
	run->generation = c->generation;
	if (confine_check_required(c, request, &run->applied, e) ||
	    confine_make_cgroup(&n, tasks, seq, e))
		return -1;
	if (layers_fill(&n, e)) {
		confine_run_release(run);
		return -1;
	}
	confine_set_shim_limits(&n, tasks);
	return 0;
}

void confine_run_release(struct confine_run *run)
{
	if (run->left_nothing)
		cgroup_recycle(run->cgroup);
	else
		cgroup_free(run->cgroup);
	run->cgroup = NULL;
}

bool confine_drop_idle(struct confine *c, size_t keep)
{
	return c->cgroups && cgroups_drop_idle(c->cgroups, keep);
}
