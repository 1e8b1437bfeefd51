/* cgroup_probe - what this machine lets us do with control groups, found out by doing it. */
#ifndef PROCPEN_OS_CGROUP_PROBE_H
#define PROCPEN_OS_CGROUP_PROBE_H

#include "os/cgroup/group.h"

/* Find places, try each role, fill all->ops, roles and reason; remove what dead servers left. */
void cgroup_probe(struct cgroups *all);

#endif
