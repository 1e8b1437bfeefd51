#include "os/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/cgroup/group.h"
#include "os/cgroup/probe.h"

#define QUIET_MS 20 /* without the end of a run, before groups are removed */
#define SWEEP_MS 1  /* between two portions of these */
#define AGAIN_MS 30000 /* between two probes that a shortage has made fail */

static struct cgroups *cgroup_all_new_at(const char *instance, const struct cgroup_fs *fs)
{
	struct cgroups *all = mem_zalloc(sizeof(*all));

	BUG_IF(!*instance || strpbrk(instance, "/\n") || strlen(instance) > 40);
	all->fs = fs;
	snprintf(all->prefix, sizeof(all->prefix), "procpen-%s-", instance);
	snprintf(all->leaf, sizeof(all->leaf), "procpen-%s-server", instance);
	all->delegation = (struct cgroup_delegation){ .fs = fs, .home = -1, .lock = -1,
						      .leaf = all->leaf };
	for (int i = 0; i < CGROUP_ROLE_COUNT; i++)
		all->role_place[i] = -1;
	return all;
}

struct cgroups *cgroups_new(const char *instance)
{
	return cgroup_all_new_at(instance, &cgroup_fs_kernel);
}

/* In portions: a thousand runs may have ended, and requests come first. */
static void cgroup_all_on_quiet(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct cgroups *all = w->data;

	(void)revents;
	if (cgroup_group_sweep(all, false))
		loop_timer_start(loop, w, SWEEP_MS);
}

void cgroups_remove_later(struct cgroups *all, struct ev_loop *loop)
{
	all->loop = loop;
	loop_timer_init(&all->quiet, cgroup_all_on_quiet, all);
}

static unsigned cgroup_bits_of_roles(unsigned roles)
{
	unsigned bits = 0;

	bits |= roles & 1U << CGROUP_ROLE_MEMORY ? CGROUP_MEMORY : 0;
	bits |= roles & 1U << CGROUP_ROLE_CPU ? CGROUP_CPU : 0;
	bits |= roles & 1U << CGROUP_ROLE_CPUACCT ? CGROUP_CPU_USAGE : 0;
	bits |= roles & 1U << CGROUP_ROLE_PIDS ? CGROUP_TASKS | CGROUP_KILL : 0;
	bits |= roles & 1U << CGROUP_ROLE_FREEZER ? CGROUP_KILL : 0;
	return bits;
}

unsigned cgroups_prepare(struct cgroups *all)
{
	if (!all->prepared || (all->again_ms && clock_mono_ms() >= all->again_ms)) {
		all->reason[0] = '\0';
		cgroup_probe(all);
		/* With a role that works, groups of runs may be in use: leave it at that. */
		all->again_ms = all->shortage && !all->roles ? clock_mono_ms() + AGAIN_MS : 0;
	}
	all->prepared = true;
	return cgroup_bits_of_roles(all->roles);
}

const char *cgroups_reason(const struct cgroups *all)
{
	return all->prepared ? all->reason : "not tried yet";
}

const char *cgroups_remedy(const struct cgroups *all)
{
	const unsigned limits = CGROUP_MEMORY | CGROUP_CPU | CGROUP_TASKS;

	if ((cgroup_bits_of_roles(all->roles) & limits) == limits)
		return "";
	if (geteuid() == 0) /* often without a service manager for its user, as after sudo(8) */
		return "start procpen in a control group of its own: `systemd-run --scope -p "
		       "Delegate=yes procpen serve`";
	return "start procpen in a control group of its own: `systemd-run --user --scope -p "
	       "Delegate=yes procpen serve`";
}

int cgroups_version(const struct cgroups *all)
{
	return all->ops && all->roles ? all->ops->version : 0;
}

/* The roles needed for @limits and for cgroup_kill(). */
static unsigned cgroup_roles_for(const struct cgroups *all, const struct cgroup_limits *limits)
{
	unsigned roles = 0;

	if (limits->count & CGROUP_MEMORY)
		roles |= all->roles & 1U << CGROUP_ROLE_MEMORY;
	if (limits->count & CGROUP_CPU_USAGE)
		roles |= all->roles & 1U << CGROUP_ROLE_CPUACCT;
	roles |= limits->memory_bytes ? 1U << CGROUP_ROLE_MEMORY : 0;
	roles |= limits->cpu_permille ? 1U << CGROUP_ROLE_CPU : 0;
	roles |= limits->tasks ? 1U << CGROUP_ROLE_PIDS : 0;
	if (all->ops->version == 2) /* one directory serves all roles */
		return roles | all->roles;
	if (all->roles & 1U << CGROUP_ROLE_PIDS) /* cgroup_kill() needs pids or freezer */
		return roles | 1U << CGROUP_ROLE_PIDS;
	return roles | (all->roles & 1U << CGROUP_ROLE_FREEZER);
}

struct cgroup *cgroup_new(struct cgroups *all, uint64_t seq, const struct cgroup_limits *limits,
			  struct err *e)
{
	unsigned roles = cgroups_prepare(all) ? cgroup_roles_for(all, limits) : 0;
	const struct cgroup_place *failed;
	struct cgroup *g;
	const char *what;
	char suffix[24];

	cgroup_group_sweep(all, false);
	if (!roles || (roles & ~all->roles)) {
		err_set(e, ERR_SANDBOX_UNAVAILABLE, "no control group with these limits: %s",
			all->reason);
		return NULL;
	}
	g = cgroup_group_take_idle(all, roles, limits->tasks);
	if (g)
		return g;
	snprintf(suffix, sizeof(suffix), "%" PRIu64, seq);
	g = cgroup_group_alloc(all, roles, suffix);
	if (cgroup_group_make(g, &failed)) {
		err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
			"cannot create the control group %.300s/%s", failed->path, g->name);
	} else if ((what = cgroup_group_limit(g, limits))) {
		err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
			"the %s limit of the control group %s cannot be set", what, g->name);
	} else {
		return g;
	}
	cgroup_group_retire(g);
	return NULL;
}

void cgroup_joined(struct cgroup *g)
{
	if (g->events_fd >= 0)
		return; /* the group was reused before and may be reused again */
	for (int i = 0; i < CGROUP_PLACES_MAX; i++)
		mem_cleanup_close(&g->joins[i]);
}

int cgroup_oom_fd(const struct cgroup *g)
{
	return g->oom_fd;
}

int64_t cgroup_oom_kills(struct cgroup *g)
{
	int memory = cgroup_group_dir(g, CGROUP_ROLE_MEMORY);

	return memory < 0 ? -1 : g->all->ops->oom_kills(memory, g->oom_fd, g->oom_source);
}

void cgroup_usage(const struct cgroup *g, struct cgroup_usage *u)
{
	const struct cgroup_ops *ops = g->all->ops;
	int memory = cgroup_group_dir(g, CGROUP_ROLE_MEMORY);
	int cpu = cgroup_group_dir(g, CGROUP_ROLE_CPUACCT);

	u->memory_peak_bytes = memory < 0 ? -1 : ops->memory_peak(memory);
	u->cpu_us = cpu < 0 ? -1 : ops->cpu_us(cpu);
}

int64_t cgroup_refused(struct cgroup *g)
{
	int64_t refused = cgroup_group_refused(g);

	return refused < 0 ? -1 : refused - g->refused_before;
}

int cgroup_forks_fd(struct cgroup *g)
{
	int pids = cgroup_group_dir(g, CGROUP_ROLE_PIDS);

	if (g->forks_fd < 0 && pids >= 0)
		g->forks_fd = openat(pids, "pids.max", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	return g->forks_fd;
}

int cgroup_kill(struct cgroup *g)
{
	int pids = cgroup_group_dir(g, CGROUP_ROLE_PIDS);
	int freezer = cgroup_group_dir(g, CGROUP_ROLE_FREEZER);

	if (pids < 0 && freezer < 0)
		return -1;
	g->killed = true;
	return g->all->ops->kill(g->all->fs, pids, freezer);
}

void cgroup_free(struct cgroup *g)
{
	struct cgroups *all = g ? g->all : NULL;

	if (!all)
		return;
	if (all->loop) {
		cgroup_group_retire_later(g);
		loop_timer_start(all->loop, &all->quiet, QUIET_MS);
		return;
	}
	cgroup_group_sweep(all, false);
	cgroup_group_retire(g);
}

void cgroup_recycle(struct cgroup *g)
{
	if (g && !cgroup_group_keep_idle(g))
		cgroup_free(g);
}

bool cgroups_drop_idle(struct cgroups *all, size_t keep)
{
	bool any = all->idle_count > keep;

	while (all->idle_count > keep) {
		struct cgroup *g = all->idle;

		all->idle = g->next;
		all->idle_count--;
		cgroup_free(g);
	}
	return any;
}

void cgroups_free(struct cgroups *all)
{
	if (!all)
		return;
	cgroups_drop_idle(all, 0);
	if (all->loop)
		loop_timer_stop(all->loop, &all->quiet);
	cgroup_group_sweep(all, true);
	cgroup_v2_leave(&all->delegation);
	for (int i = 0; i < all->place_count; i++)
		cgroup_place_close(&all->places[i]);
	free(all);
}
