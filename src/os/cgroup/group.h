/*
 * cgroup_group - creates, limits and removes the directories of one run's group.
 *
 * A place (the server's own group in one hierarchy) serves roles (memory, pids ...).
 * Version 1 mostly has one place per role, version 2 one for all. A run's group is a
 * directory of the same name in each place that it needs.
 *
 * Private to src/os/cgroup; every function expects that cgroup_probe() has found the places.
 */
#ifndef PROCPEN_OS_CGROUP_GROUP_H
#define PROCPEN_OS_CGROUP_GROUP_H

#include "os/cgroup/fs.h"
#include "os/cgroup/ops.h"
#include "os/cgroup/types.h"
#include "os/cgroup/v2.h"
#include "os/loop.h"

#define CGROUP_NAME_SIZE 96

struct cgroups {
	const struct cgroup_fs *fs;
	const struct cgroup_ops *ops; /* NULL: no groups */
	char prefix[CGROUP_NAME_SIZE];   /* "procpen-<instance>-" */
	char leaf[CGROUP_NAME_SIZE];
	bool prepared;
	bool shortage;    /* the probe failed for lack of processes, memory or descriptors */
	int64_t again_ms; /* clock_mono_ms() when to probe again for that reason; 0: never */
	struct cgroup_place places[CGROUP_PLACES_MAX];
	int place_count;
	int role_place[CGROUP_ROLE_COUNT]; /* index, or -1 */
	unsigned roles;                    /* those that passed the probe */
	struct cgroup_delegation delegation;
	char reason[1024];
	struct cgroup *retired; /* freed, and still there */
	struct cgroup *idle;    /* kept for another run with the same limits */
	size_t idle_count;
	struct ev_loop *loop; /* NULL: groups are removed when they are freed */
	ev_timer quiet;       /* since the last one was freed */
};

struct cgroup {
	struct cgroups *all;
	struct cgroup *next; /* in retired or idle */
	char name[CGROUP_NAME_SIZE];
	unsigned roles;
	int dirs[CGROUP_PLACES_MAX]; /* -1: none there */
	int joins[CGROUP_PLACES_MAX];
	int oom_fd, oom_source;
	int forks_fd; /* pids.max, for a kill; -1: not opened yet */
	bool killed;
	bool tried; /* to remove, by a sweep that found it busy */
	int64_t tasks;   /* limit; 0: none */
	int events_fd; /* of a group that was idle: pids.events; else -1 */
	int64_t refused_seen;   /* its count at the last read; -1: none */
	int64_t refused_before; /* its count when the group was taken for the current run */
};

/* A group whose name ends in @suffix, with no directory yet. */
struct cgroup *cgroup_group_alloc(struct cgroups *all, unsigned roles, const char *suffix);

/* Create, open and lock its directories. 0, or -1 with errno and the place in *@failed. */
int cgroup_group_make(struct cgroup *g, const struct cgroup_place **failed);

/* Set the limits. NULL, or the name of the one that failed, with errno. */
const char *cgroup_group_limit(struct cgroup *g, const struct cgroup_limits *limits);

/* How often its tasks limit has struck since it was created; -1: unknown. */
int64_t cgroup_group_refused(struct cgroup *g);

/* Take an idle group with @roles and the limit @tasks, or NULL. Keep @g as idle; false: it cannot
 * be reused. */
struct cgroup *cgroup_group_take_idle(struct cgroups *all, unsigned roles, int64_t tasks);
bool cgroup_group_keep_idle(struct cgroup *g);

/* Remove and free @g, or move it to all->retired while it holds processes. Preserves errno. */
void cgroup_group_retire(struct cgroup *g);

/* Move @g to all->retired, to be removed by a sweep. Preserves errno. */
void cgroup_group_retire_later(struct cgroup *g);

/* Try to remove some retired groups; @last: all, for up to 20 ms more if processes are in them, and
 * free them even if it fails. Returns whether another call may remove more: one was removed now, or
 * one was never tried. */
bool cgroup_group_sweep(struct cgroups *all, bool last);

/* The directory in which the group has @role, or -1. */
int cgroup_group_dir(const struct cgroup *g, enum cgroup_role role);

#endif
