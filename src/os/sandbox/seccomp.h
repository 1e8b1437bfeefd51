/*
 * confine_seccomp - the system call filter.
 *
 * Denies calls that a command never needs and that could harm the host; the rows with
 * their reasons are in seccomp_table.c. A denied call fails with an error and never
 * kills, except calls of a foreign architecture. Built once per variant, installed in
 * the child by one seccomp(2). Calls newer than the table fail with ENOSYS, so a new
 * kernel never widens the filter. It never reads through a pointer: what an argument
 * points to can change after the check.
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
	bool no_network;  /* no socket but AF_UNIX; implied by strict */
	bool tcp_only;    /* no socket of IP but those of TCP, and no way to connect one but
			   * connect(2) */
	bool as_root;     /* the command is root's: refuse set-gid modes too; implied by strict */
	bool notify;      /* a listener, which the filter then needs, answers refused calls; the
			   * filter itself still answers ENOSYS */
	bool shim_is_init; /* in a PID namespace: protect the attributes of pid 1, the shim */
	pid_t protect_pid; /* the server's pid where commands see it: protect the server and the
			    * shim (see SHIM_OWN_PID); 0: no such rules */
	pid_t protect_group; /* the server's process group; 0: none */
};

/*
 * Build the filter. *@program: heap array the caller frees, *@len instructions, at most
 * SHIM_FILTER_MAX. Returns 0 or -1 (SandboxUnavailable).
 */
int confine_seccomp_build(const struct confine_seccomp_options *options,
			  struct sock_filter **program, size_t *len, struct err *e);

/* Does this kernel support SECCOMP_RET_USER_NOTIF (Linux 5.0)? */
bool confine_seccomp_can_notify(void);

#endif
