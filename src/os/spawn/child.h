/*
 * spawn_child - what runs in the server's child between clone and exec.
 *
 * Private to os/spawn/spawn.c. The child shares the server's memory (CLONE_VM), so it
 * makes raw system calls only, touches nothing but its own struct, and ends in
 * exec or _exit.
 */
#ifndef PROCPEN_OS_SPAWN_CHILD_H
#define PROCPEN_OS_SPAWN_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "os/shim/proto.h"

struct spawn_child {
	int fds[SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX]; /* fds[i] becomes descriptor i */
	int fd_count;
	int shim_fd;
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
