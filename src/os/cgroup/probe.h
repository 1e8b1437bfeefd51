/* cgroup_probe - finds out what control groups can do on this machine by doing it. */
#ifndef PROCPEN_OS_CGROUP_PROBE_H
#define PROCPEN_OS_CGROUP_PROBE_H

#include "os/cgroup/group.h"

/* Find places, try each role, fill all->ops, roles and reason; remove groups of dead servers. */
void cgroup_probe(struct cgroups *all);

#endif
