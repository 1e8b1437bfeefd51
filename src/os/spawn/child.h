/*
 * spawn_child - what runs in the server's child between clone and exec.
 *
 * Private to os/spawn/spawn.c. The child shares the server's memory (CLONE_VM), so it
 * makes raw system calls only, touches nothing but its own struct, and ends in
 * exec or _exit. It shares the table of descriptors too (CLONE_FILES), which may be long:
 * a copy of all, closed one by one at the exec, would cost more than all the rest. It
 * moves what it needs to slots, low numbers that the server keeps free for that, and
 * takes a table of its own of nothing above them.
 */
#ifndef PROCPEN_OS_SPAWN_CHILD_H
#define PROCPEN_OS_SPAWN_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "os/shim/proto.h"

#define SPAWN_FDS_MAX (SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX)
#define SPAWN_SLOTS (SPAWN_FDS_MAX + 1) /* one more for the shim's program */

struct spawn_child {
	int fds[SPAWN_FDS_MAX]; /* fds[i] becomes descriptor i */
	int fd_count;
	int shim_fd;
	const int *slots; /* SPAWN_SLOTS numbers, none below SPAWN_FDS_MAX */
	char *const *argv;
	char *const *envp;
	bool user_ns;     /* cloned into a new user namespace: pass its capabilities to the shim */
	uint64_t ignored; /* signals to put back to their default, bit (number - 1) */
	volatile int stage; /* enum shim_stage of a failure; 0: the exec succeeded */
	volatile int error; /* its errno */
};

/* Entry of the child; @child is a struct spawn_child. The result is its exit status. */
int spawn_child_run(void *child);

#endif
