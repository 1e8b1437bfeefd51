/*
 * cgroup_ops - what the two versions do differently, as a table. The pids controller is the same
 * in both.
 *
 * A function works in one directory of a group, that of the role which it serves (under version
 * 2 all roles have the same). They return 0, or -1 with errno, if nothing else is said.
 */
#ifndef PROCPEN_OS_CGROUP_OPS_H
#define PROCPEN_OS_CGROUP_OPS_H

#include <stdint.h>

#include "os/cgroup/fs.h"

struct cgroup_ops {
	int version;
	const char *join_file; /* who writes "0" to it joins */
	int (*limit_memory)(const struct cgroup_fs *fs, int dir, int64_t bytes);
	int (*limit_cpu)(const struct cgroup_fs *fs, int dir, int64_t permille);

	/* A descriptor that becomes readable when the memory limit strikes, or -1. *@source is
	 * one more that belongs to it, or -1; the caller closes both. */
	int (*watch_oom)(const struct cgroup_fs *fs, int dir, int *source);
	/* Also arms @fd again; -1: cannot tell. */
	int64_t (*oom_kills)(int dir, int fd, int source);

	/* -1: cannot tell */
	int64_t (*memory_peak)(int dir);
	int64_t (*cpu_us)(int dir);

	/* @pids and @freezer: the directories of these roles, or -1. */
	int (*kill)(const struct cgroup_fs *fs, int pids, int freezer);
};

extern const struct cgroup_ops cgroup_ops_v1; /* os/cgroup/v1.c */
extern const struct cgroup_ops cgroup_ops_v2; /* os/cgroup/v2.c */

/* The processor quota for each period; the kernel takes no quota below 1 ms. */
struct cgroup_quota {
	int64_t quota_us, period_us;
};
static inline struct cgroup_quota cgroup_quota_of(int64_t permille)
{
	int64_t period = permille < 10 ? 1000000 : 100000;

	return (struct cgroup_quota){ permille * period / 1000, period };
}

#endif
