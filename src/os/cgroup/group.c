#include "os/cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/cgroup/cgroup.h"

/* Until we hold its lock, another server's cleanup takes a new group for a dead server's, locks it
 * and removes it. On a busy machine that can take long, so the next attempt has another name. */
#define MAKE_ATTEMPTS 20
#define RETIRED_MAX 8 /* retired groups that one sweep tries to remove */
#define IDLE_MAX 64
#define LAST_WAITS 20 /* of a millisecond, in the last sweep, which nobody repeats */

struct cgroup *cgroup_group_alloc(struct cgroups *all, unsigned roles, const char *suffix)
{
	struct cgroup *g = mem_zalloc(sizeof(*g));

	g->all = all;
	g->roles = roles;
	g->oom_fd = g->oom_source = g->forks_fd = g->events_fd = -1;
	g->refused_seen = -1;
	for (int i = 0; i < CGROUP_PLACES_MAX; i++)
		g->dirs[i] = g->joins[i] = -1;
	snprintf(g->name, sizeof(g->name), "%s%s", all->prefix, suffix);
	return g;
}

int cgroup_group_dir(const struct cgroup *g, enum cgroup_role role)
{
	return g->roles & 1U << role ? g->dirs[g->all->role_place[role]] : -1;
}

int cgroup_join_fds(const struct cgroup *g, int fds[CGROUP_JOIN_FDS_MAX])
{
	int count = 0;

	for (int i = 0; i < CGROUP_PLACES_MAX && count < CGROUP_JOIN_FDS_MAX; i++)
		if (g->joins[i] >= 0)
			fds[count++] = g->joins[i];
	return count;
}

int cgroup_clone_fd(const struct cgroup *g)
{
	return g->all->ops->version == 2 ? g->dirs[0] : -1;
}

static void group_close_fds(struct cgroup *g)
{
	mem_cleanup_close(&g->oom_fd);
	mem_cleanup_close(&g->oom_source);
	mem_cleanup_close(&g->forks_fd);
	mem_cleanup_close(&g->events_fd);
	for (int i = 0; i < CGROUP_PLACES_MAX; i++) {
		mem_cleanup_close(&g->joins[i]);
		mem_cleanup_close(&g->dirs[i]);
	}
}

/* Remove a group that a server of the same name left behind. 1, or -1 with errno. */
static int group_remove_old(const struct cgroup *g, int home)
{
	AUTO_CLOSE int old = cgroup_open_locked(home, g->name);

	if (old < 0)
		return errno == EWOULDBLOCK || errno == ENOENT ? 1 : -1;
	return cgroup_remove_tree(g->all->fs, home, g->name) ? -1 : 1;
}

/* Create, open and lock the directory. 0, 1 if another server removes it meanwhile, or -1 with
 * errno. */
static int group_make_once(struct cgroup *g, int place)
{
	const struct cgroups *all = g->all;
	int home = all->places[place].dir;

	if (all->fs->make(home, g->name))
		return errno == EEXIST ? group_remove_old(g, home) : -1;
	g->dirs[place] = cgroup_open_locked(home, g->name);
	if (g->dirs[place] < 0)
		return errno == EWOULDBLOCK || errno == ENOENT ? 1 : -1;
	g->joins[place] = openat(g->dirs[place], all->ops->join_file,
				 O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (g->joins[place] >= 0)
		return 0;
	return errno == ENOENT || errno == ENODEV ? 1 : -1;
}

static int group_make_all(struct cgroup *g, const struct cgroup_place **failed)
{
	int result = 0;

	for (int role = 0; role < CGROUP_ROLE_COUNT && !result; role++) {
		int place = g->all->role_place[role];

		if (!(g->roles & 1U << role) || g->dirs[place] >= 0)
			continue;
		*failed = &g->all->places[place];
		result = group_make_once(g, place);
	}
	return result;
}

int cgroup_group_make(struct cgroup *g, const struct cgroup_place **failed)
{
	const size_t len = strlen(g->name);
	int result = group_make_all(g, failed);

	for (int i = 1; result > 0 && i < MAKE_ATTEMPTS; i++) {
		for (int place = 0; place < CGROUP_PLACES_MAX; place++)
			if (g->dirs[place] >= 0) /* ours: we have its lock */
				cgroup_remove_tree(g->all->fs, g->all->places[place].dir, g->name);
		group_close_fds(g);
		snprintf(g->name + len, sizeof(g->name) - len, "-%d", i);
		result = group_make_all(g, failed);
	}
	return result ? -1 : 0;
}

const char *cgroup_group_limit(struct cgroup *g, const struct cgroup_limits *limits)
{
	const struct cgroup_fs *fs = g->all->fs;
	const struct cgroup_ops *ops = g->all->ops;
	int memory = cgroup_group_dir(g, CGROUP_ROLE_MEMORY);

	if (limits->memory_bytes && ops->limit_memory(fs, memory, limits->memory_bytes))
		return "memory";
	if (limits->cpu_permille &&
	    ops->limit_cpu(fs, cgroup_group_dir(g, CGROUP_ROLE_CPU), limits->cpu_permille))
		return "cpu";
	if (limits->tasks && cgroup_write_number(fs, cgroup_group_dir(g, CGROUP_ROLE_PIDS),
						 "pids.max", limits->tasks))
		return "tasks";
	g->tasks = limits->tasks;
	if (limits->memory_bytes)
		g->oom_fd = ops->watch_oom(fs, memory, &g->oom_source);
	return NULL;
}

int64_t cgroup_group_refused(struct cgroup *g)
{
	int pids = cgroup_group_dir(g, CGROUP_ROLE_PIDS);
	char text[64];
	ssize_t n;

	if (g->events_fd < 0)
		return pids < 0 ? -1 : cgroup_read_number(pids, "pids.events", "max");
	n = pread(g->events_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	g->refused_seen = n > 0 ? cgroup_find_number(text, "max") : -1;
	return g->refused_seen;
}

/* Nothing was in @g since the end of its last run, when the count was read. poll(2) reports a file
 * that was not read yet, and one whose directory is gone; a read takes the kernel longer. */
static int64_t group_refused_at_rest(struct cgroup *g)
{
	struct pollfd events = { .fd = g->events_fd, .events = POLLPRI };

	return poll(&events, 1, 0) ? cgroup_group_refused(g) : g->refused_seen;
}

struct cgroup *cgroup_group_take_idle(struct cgroups *all, unsigned roles, int64_t tasks)
{
	struct cgroup **at = &all->idle;

	while (*at) {
		struct cgroup *g = *at;

		if (g->roles != roles || g->tasks != tasks) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		g->next = NULL;
		all->idle_count--;
		g->refused_before = group_refused_at_rest(g);
		if (g->refused_before >= 0)
			return g;
		cgroup_group_retire(g); /* its directory was removed meanwhile */
	}
	return NULL;
}

/* Only a group with the pids role alone: refused_before makes its counter relative, while the
 * counters of other roles cannot be reset. */
bool cgroup_group_keep_idle(struct cgroup *g)
{
	struct cgroups *all = g->all;
	int place = all->role_place[CGROUP_ROLE_PIDS];

	if (all->ops->version != 1 || g->roles != 1U << CGROUP_ROLE_PIDS || !g->tasks ||
	    g->killed || all->idle_count == IDLE_MAX)
		return false;
	if (g->events_fd < 0)
		g->events_fd = openat(g->dirs[place], "pids.events", O_RDONLY | O_CLOEXEC);
	if (g->joins[place] < 0)
		g->joins[place] = openat(g->dirs[place], all->ops->join_file,
					 O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (g->events_fd < 0 || g->joins[place] < 0)
		return false;
	g->next = all->idle;
	all->idle = g;
	all->idle_count++;
	return true;
}

/* Remove the directories of @g in all places. False if one still holds processes: try later. */
static bool group_remove_dirs(struct cgroup *g)
{
	const struct cgroups *all = g->all;
	bool done = true;

	for (int i = 0; i < all->place_count; i++) {
		bool needed = false;

		for (int role = 0; role < CGROUP_ROLE_COUNT; role++)
			needed = needed || (g->roles & 1U << role && all->role_place[role] == i);
		if (needed && cgroup_remove_tree(all->fs, all->places[i].dir, g->name) &&
		    errno == EBUSY)
			done = false;
	}
	return done;
}

bool cgroup_group_sweep(struct cgroups *all, bool last)
{
	struct cgroup **at = &all->retired, *kept = NULL, **kept_end = &kept;
	int waits = last ? LAST_WAITS : 0;
	bool removed = false;

	for (int i = 0; *at && (i < RETIRED_MAX || last); i++) {
		struct cgroup *g = *at;

		bool gone = group_remove_dirs(g);

		*at = g->next;
		g->next = NULL;
		for (; !gone && waits > 0; waits--) { /* what is in it may be just ending */
			usleep(1000);
			gone = group_remove_dirs(g);
		}
		if (gone || last) {
			free(g);
			removed = true;
			continue;
		}
		g->tried = true;
		*kept_end = g;
		kept_end = &g->next;
	}
	while (*at) /* append the rest: the next sweep starts with groups not tried now */
		at = &(*at)->next;
	*at = kept;
	return all->retired && (removed || !all->retired->tried);
}

void cgroup_group_retire_later(struct cgroup *g)
{
	int saved = errno;

	group_close_fds(g);
	g->next = g->all->retired;
	g->all->retired = g;
	errno = saved;
}

void cgroup_group_retire(struct cgroup *g)
{
	struct cgroups *all = g->all;
	int saved = errno;

	group_close_fds(g);
	if (group_remove_dirs(g)) {
		free(g);
	} else {
		g->next = all->retired;
		all->retired = g;
	}
	errno = saved;
}
