/*
 * cgroup_own - the memory limit that the server itself runs under, as in a container.
 *
 * The output that procpen keeps lies in memory files, which count against that limit together with
 * everything that commands use. Reads only.
 */
#ifndef PROCPEN_OS_CGROUP_OWN_H
#define PROCPEN_OS_CGROUP_OWN_H

#include <stdbool.h>
#include <stdint.h>

/* Plain data; release it with cgroup_own_close(). */
struct cgroup_own {
	int dir;     /* the server's group with a memory controller; -1: none was found */
	int version; /* of it, 1 or 2 */
	bool sought;
};

/* Before cgroup_own_open() nothing is known: no limit, and no number of killed processes. */
#define CGROUP_OWN_INIT { .dir = -1 }

/* Find the group; once. Call it before cgroups_prepare(), which may move the server into another
 * group. Reads a dozen files of the kernel, so not at the server's start. */
void cgroup_own_open(struct cgroup_own *own);
void cgroup_own_close(struct cgroup_own *own);

/* The lowest limit of the group and those above it that can be seen, in bytes; INT64_MAX: none.
 * memory.max in version 2, hierarchical_memory_limit of memory.stat in version 1. */
int64_t cgroup_own_memory_limit(const struct cgroup_own *own);

/* How many processes of the group, in version 2 also of those below it, the kernel has killed for
 * lack of memory; -1: unknown. */
int64_t cgroup_own_oom_kills(const struct cgroup_own *own);

#endif
