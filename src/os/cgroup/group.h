/*
 * cgroup_group - the directories of one run's group: made, limited, removed.
 *
 * A role (memory, pids ...) is served by a place: the server's own group in one
 * hierarchy. Under version 1 that is mostly one place per role, under version 2 one
 * for all. A run's group is a directory of the same name in each place it needs.
 *
 * Private to os/cgroup/cgroup*.c; everything here assumes that the places have been found.
 */
#ifndef PROCPEN_OS_CGROUP_GROUP_H
#define PROCPEN_OS_CGROUP_GROUP_H

#include "os/cgroup/fs.h"
#include "os/cgroup/ops.h"
#include "os/cgroup/types.h"
#include "os/cgroup/v2.h"

#define CGROUP_NAME_SIZE 96

struct cgroups {
	const struct cgroup_fs *fs;
	const struct cgroup_ops *ops; /* NULL: no groups */
	char prefix[CGROUP_NAME_SIZE];   /* "procpen-<instance>-" */
	char leaf[CGROUP_NAME_SIZE];
	bool prepared;
	struct cgroup_place places[CGROUP_PLACES_MAX];
	int place_count;
	int role_place[CGROUP_ROLE_COUNT]; /* index, or -1 */
	unsigned roles;                    /* that were tried and work */
	struct cgroup_delegation delegation;
	char reason[1024];
	struct cgroup *retired; /* freed, but somebody lived in them */
	struct cgroup *idle;    /* given back, each for another run with its limits */
	int idle_count;
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
	int64_t tasks;   /* limit; 0: none */
	/* Of one that was given back once: pids.events, open (or -1), and what it counted then. */
	int events_fd;
	int64_t refused_before;
};

/* A group whose name ends in @suffix, with no directory yet. */
struct cgroup *cgroup_group_alloc(struct cgroups *all, unsigned roles, const char *suffix);

/* Make, open and lock its directories. 0, or -1 with errno and in which place. */
int cgroup_group_make(struct cgroup *g, const struct cgroup_place **failed);

/* Set the limits. NULL, or the name of the one that failed, with errno. */
const char *cgroup_group_limit(struct cgroup *g, const struct cgroup_limits *limits);

/* How often its tasks limit has struck since it was made; -1: cannot tell. */
int64_t cgroup_group_refused(const struct cgroup *g);

/* The groups that wait: one for @roles and @tasks or NULL; add @g. False when it cannot be kept. */
struct cgroup *cgroup_group_take_idle(struct cgroups *all, unsigned roles, int64_t tasks);
bool cgroup_group_keep_idle(struct cgroup *g);

/* Remove and free it, or keep it in all->retired while somebody lives in it. Keeps errno. */
void cgroup_group_retire(struct cgroup *g);

/* Try again with some of the retired ones; @last: with all, and forget them whatever comes. */
void cgroup_group_sweep(struct cgroups *all, bool last);

/* The directory in which the group has @role, or -1. */
int cgroup_group_dir(const struct cgroup *g, enum cgroup_role role);

#endif
