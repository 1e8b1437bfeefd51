/*
 * cgroup_ops - a table of what differs between versions 1 and 2. The pids controller is the same
 * in both.
 *
 * Each function works in the group's directory for its role (under version 2 one directory
 * serves all roles). Returns 0, or -1 with errno, unless the member says otherwise.
 */
#ifndef PROCPEN_OS_CGROUP_OPS_H
#define PROCPEN_OS_CGROUP_OPS_H

#include <stdint.h>

#include "os/cgroup/fs.h"

struct cgroup_ops {
	int version;
	const char *join_file; /* a process that writes "0" to it joins the group */
	int (*limit_memory)(const struct cgroup_fs *fs, int dir, int64_t bytes);
	int (*limit_cpu)(const struct cgroup_fs *fs, int dir, int64_t permille);

	/* A descriptor that becomes readable when the memory limit strikes, or -1. *@source is a
	 * second one that it needs, or -1; the caller closes both. */
	int (*watch_oom)(const struct cgroup_fs *fs, int dir, int *source);
	/* Also rearms @fd. -1: unknown. */
	int64_t (*oom_kills)(int dir, int fd, int source);

	/* -1: unknown */
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
