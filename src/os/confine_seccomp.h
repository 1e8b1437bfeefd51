/*
 * confine_seccomp - the system call filter of the default profile.
 *
 * A list of what a development command never needs and a host must not suffer;
 * the list with its reasons is data in confine_seccomp.c. Denied calls answer
 * with an error and never kill, except calls of a foreign architecture. Built
 * once by libseccomp, exported, installed in the child by one seccomp(2).
 * Numbers newer than the list answer ENOSYS (a prologue of our own in front of
 * libseccomp's program), so a new kernel never widens it.
 */
#ifndef PROCPEN_OS_CONFINE_SECCOMP_H
#define PROCPEN_OS_CONFINE_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Build the default profile. *@program: heap array the caller frees, *@len
 * instructions. Returns 0 or -1 (SandboxUnavailable).
 */
int confine_seccomp_build(struct sock_filter **program, size_t *len, struct err *e);

#endif
