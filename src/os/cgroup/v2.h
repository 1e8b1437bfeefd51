/*
 * cgroup_v2 - how the server gets controllers for groups of its own under version 2.
 *
 * A group cannot both hold processes and give controllers to groups below it (but for
 * the root of all). So the server moves itself into a leaf, only if it is the only
 * process there, and back at the end; everything is undone if it does not work out.
 */
#ifndef PROCPEN_OS_CGROUP_V2_H
#define PROCPEN_OS_CGROUP_V2_H

#include <stdbool.h>
#include <stddef.h>

#include "os/cgroup/fs.h"

struct cgroup_delegation {
	const struct cgroup_fs *fs;
	int home;          /* the server's own group; borrowed */
	const char *leaf;  /* name of the leaf; borrowed */
	bool moved;        /* the server is in the leaf */
	int lock;          /* held on the leaf while it is; -1 */
	unsigned enabled;  /* roles whose controllers we have enabled */
};

/*
 * Enable controllers in @d->home for groups below it. Returns the roles that groups
 * made there have now; @why says what kept others away.
 */
unsigned cgroup_v2_enter(struct cgroup_delegation *d, char *why, size_t size);

/* Undo it: nothing of ours is below any more, or will not be missed. */
void cgroup_v2_leave(struct cgroup_delegation *d);

#endif
