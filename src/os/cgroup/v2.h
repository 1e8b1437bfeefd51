/*
 * cgroup_v2 - enables controllers below the server's own group under version 2.
 *
 * A group other than the root cannot both hold processes and give controllers to groups
 * below it. So the server, if it is the only process there, moves itself into a leaf,
 * and back at the end. A failure undoes every step.
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
	int lock;          /* on the leaf, while `moved`; else -1 */
	unsigned enabled;  /* roles whose controllers we have enabled */
};

/*
 * Enable controllers in @d->home for groups below it. Returns the roles available to
 * these groups; @why says why others are missing.
 */
unsigned cgroup_v2_enter(struct cgroup_delegation *d, char *why, size_t size);

/* Undo cgroup_v2_enter(). Call it when no group of ours is in use any more. */
void cgroup_v2_leave(struct cgroup_delegation *d);

#endif
