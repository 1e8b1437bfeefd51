#include "os/cgroup/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "os/cgroup/cgroup.h"
#include "os/cgroup/trial.h"

static void probe_reason_add(struct cgroups *all, const char *what, const char *why)
{
	size_t len = strlen(all->reason);

	snprintf(all->reason + len, sizeof(all->reason) - len, "%s%s%s%s", len ? "; " : "", what,
		 *what ? ": " : "", why);
}

static bool probe_has_role(unsigned roles, enum cgroup_role role)
{
	return roles & 1U << role;
}

static int probe_trial_join(const struct cgroup *g)
{
	int fds[CGROUP_JOIN_FDS_MAX], count = cgroup_join_fds(g, fds);

	return cgroup_try_join(fds, count, cgroup_clone_fd(g));
}

/* Make, limit, join and remove a group with @roles. 0 or -1 with errno. */
static int probe_trial_group(struct cgroups *all, unsigned roles, const char *name)
{
	const struct cgroup_limits limits = {
		.memory_bytes = probe_has_role(roles, CGROUP_ROLE_MEMORY) ? 64 << 20 : 0,
		.cpu_permille = probe_has_role(roles, CGROUP_ROLE_CPU) ? 500 : 0,
		.tasks = probe_has_role(roles, CGROUP_ROLE_PIDS) ? 16 : 0,
	};
	struct cgroup *g = cgroup_group_alloc(all, roles, name);
	const struct cgroup_place *failed;
	int result = cgroup_group_make(g, &failed);

	if (!result && (cgroup_group_limit(g, &limits) || probe_trial_join(g)))
		result = -1;
	if (!result && probe_has_role(roles, CGROUP_ROLE_CPUACCT) &&
	    all->ops->cpu_us(cgroup_group_dir(g, CGROUP_ROLE_CPUACCT)) < 0) {
		errno = ENOENT;
		result = -1;
	}
	cgroup_group_retire(g);
	return result;
}

/* Try all roles at once, which costs one process. If that fails, try each one to find out which
 * fail. */
static void probe_trial_roles(struct cgroups *all, unsigned candidates)
{
	char why[640];

	if (!candidates)
		return;
	if (!probe_trial_group(all, candidates, "trial")) {
		all->roles |= candidates;
		return;
	}
	for (int role = 0; role < CGROUP_ROLE_COUNT; role++) {
		if (!probe_has_role(candidates, role))
			continue;
		if (!probe_trial_group(all, 1U << role, cgroup_role_names[role])) {
			all->roles |= 1U << role;
			continue;
		}
		all->shortage |= err_is_shortage(errno);
		snprintf(why, sizeof(why), "no group can be made and used in %.500s: %s",
			 all->places[all->role_place[role]].path, cgroup_error_text(errno));
		probe_reason_add(all, cgroup_role_names[role], why);
	}
}

/* No role works: keep only the first reason, which holds for all of them. */
static void probe_reason_keep_first(struct cgroups *all)
{
	const char *first = strstr(all->reason, ": ");

	all->reason[strcspn(all->reason, ";")] = '\0';
	if (first)
		memmove(all->reason, first + 2, strlen(first + 2) + 1);
}

static void probe_close_places(struct cgroups *all)
{
	for (int i = 0; i < all->place_count; i++)
		cgroup_place_close(&all->places[i]);
	all->place_count = 0;
	for (int i = 0; i < CGROUP_ROLE_COUNT; i++)
		all->role_place[i] = -1;
}

/* Remove a group of a dead server, which is one whose lock is free. */
static int probe_remove_if_dead(void *ctx, int dir, const char *name)
{
	const struct cgroups *all = ctx;
	AUTO_CLOSE int group = -1;

	if (strncmp(name, "procpen-", 8) != 0 ||
	    strncmp(name, all->prefix, strlen(all->prefix)) == 0)
		return 0;
	group = cgroup_open_locked(dir, name);
	if (group >= 0)
		cgroup_remove_tree(all->fs, dir, name);
	return 0;
}

static void probe_remove_dead_groups(struct cgroups *all)
{
	for (int i = 0; i < all->place_count; i++)
		cgroup_each_child(all->places[i].dir, probe_remove_if_dead, all);
}

/* Fill all->role_place. Returns the roles for which a controller is mounted. */
static unsigned probe_assign_places(struct cgroups *all)
{
	unsigned candidates = 0;

	for (int i = 0; i < all->place_count; i++)
		for (int role = 0; role < CGROUP_ROLE_COUNT; role++)
			if (probe_has_role(all->places[i].roles, role)) {
				all->role_place[role] = i;
				candidates |= 1U << role;
			}
	return candidates;
}

/* Fill all->places; none while a shortage hides some, because what works is settled for good. */
static void probe_find_places(struct cgroups *all, int version, char *why, size_t size)
{
	all->place_count = cgroup_places_find(all->fs, version, all->places, &all->shortage, why,
					      size);
	if (all->shortage)
		probe_close_places(all);
}

static void probe_v1(struct cgroups *all)
{
	unsigned candidates;
	char why[640];

	all->ops = &cgroup_ops_v1;
	probe_find_places(all, 1, why, sizeof(why));
	candidates = probe_assign_places(all);
	probe_trial_roles(all, candidates);
	if (!candidates)
		probe_reason_add(all, "", why);
	if (!all->roles) {
		if (candidates)
			probe_reason_keep_first(all);
		probe_close_places(all);
		return;
	}
	for (int role = 0; role < CGROUP_ROLE_COUNT; role++)
		if (!probe_has_role(candidates, role) && role != CGROUP_ROLE_FREEZER)
			probe_reason_add(all, cgroup_role_names[role],
					 "no such controller is mounted");
}

/* Returns the roles that groups below the server's own can have. */
static unsigned probe_enable_controllers(struct cgroups *all)
{
	static const enum cgroup_role wanted[] = {
		CGROUP_ROLE_MEMORY, CGROUP_ROLE_CPU, CGROUP_ROLE_PIDS,
	};
	char why[640] = "";
	unsigned roles;

	all->delegation.home = all->places[0].dir;
	roles = cgroup_v2_enter(&all->delegation, why, sizeof(why));
	if (why[0])
		probe_reason_add(all, all->places[0].path, why);
	for (size_t i = 0; i < COUNT_OF(wanted) && !why[0]; i++)
		if (!probe_has_role(roles, wanted[i]))
			probe_reason_add(
				all, cgroup_role_names[wanted[i]],
				"the server's control group does not have this controller");
	return roles;
}

/* Version 2 counts processor time and kills without any controller. */
static void probe_v2(struct cgroups *all)
{
	char why[640];

	all->ops = &cgroup_ops_v2;
	probe_find_places(all, 2, why, sizeof(why));
	if (!all->place_count) {
		probe_reason_add(all, "", why);
		return;
	}
	for (int role = 0; role < CGROUP_ROLE_COUNT; role++)
		all->role_place[role] = 0;
	probe_trial_roles(all, 1U << CGROUP_ROLE_CPUACCT | 1U << CGROUP_ROLE_FREEZER);
	if (all->roles) {
		probe_trial_roles(all, probe_enable_controllers(all));
		return;
	}
	probe_reason_keep_first(all);
	probe_close_places(all);
}

void cgroup_probe(struct cgroups *all)
{
	char v1_reason[sizeof(all->reason)];

	probe_v1(all);
	if (!all->roles && !all->shortage) {
		memcpy(v1_reason, all->reason, sizeof(v1_reason));
		all->reason[0] = '\0';
		probe_v2(all);
		if (!all->roles)
			probe_reason_add(all, "", v1_reason);
	}
	probe_remove_dead_groups(all);
}
