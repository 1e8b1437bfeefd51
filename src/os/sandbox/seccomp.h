/*
 * confine_seccomp - the system call filter.
 *
 * A list of what a command never needs and a host must not suffer; the rows with
 * their reasons are in confine_seccomp_table.c. Denied calls answer with an error
 * and never kill, except calls of a foreign architecture. Built once per variant,
 * installed in the child by one seccomp(2). Numbers newer than the list answer
 * ENOSYS, so a new kernel never widens it. Nothing is ever read through a
 * pointer: what an argument points to can change after it was looked at.
 */
#ifndef PROCPEN_OS_SANDBOX_SECCOMP_H
#define PROCPEN_OS_SANDBOX_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* All zero: the default profile. */
struct confine_seccomp_options {
	bool strict;
	bool no_network;  /* no socket but AF_UNIX; strict has it anyway */
	bool notify;      /* what is refused is told to a listener, which gives the answer: the
			   * filter needs one. ENOSYS is answered by the filter itself */
	bool shim_is_init; /* in a PID namespace: the attributes of pid 1 are the shim's */
	pid_t protect_pid; /* the server, where commands see its pid: its doors are shut, and the
			    * shim's (SHIM_OWN_PID stands for its pid); 0: no such rules */
	pid_t protect_group; /* the server's process group; 0: none */
};

/*
 * Build the filter. *@program: heap array the caller frees, *@len instructions.
 * Returns 0 or -1 (SandboxUnavailable).
 */
int confine_seccomp_build(const struct confine_seccomp_options *options,
			  struct sock_filter **program, size_t *len, struct err *e);

/* Can this kernel tell a listener (Linux 5.0)? */
bool confine_seccomp_can_notify(void);

#endif
