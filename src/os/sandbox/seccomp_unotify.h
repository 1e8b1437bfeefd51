/*
 * seccomp_unotify - records which system calls of a run its filter refused.
 *
 * For runs that asked for it: their filter does not answer refused
 * calls but notifies the server (seccomp_unotify(2)). The calling process waits until
 * the server answers with the errno that the filter would have given. A process of a
 * foreign architecture gets SIGSYS, and its call is refused as well. The server reads
 * nothing through pointers and never allows a call. If it is gone, the kernel answers
 * ENOSYS.
 *
 * Bounded: a limited number of answers per turn of the loop, with a pause between turns
 * after the first thousand of a run, so a flood of refused calls slows down only its own
 * run. Counts SECCOMP_UNOTIFY_MAX different calls by name, all others as one number.
 */
#ifndef PROCPEN_OS_SANDBOX_SECCOMP_UNOTIFY_H
#define PROCPEN_OS_SANDBOX_SECCOMP_UNOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/loop.h"

#define SECCOMP_UNOTIFY_MAX 32 /* different calls */

struct denial {
	char name[48];     /* "mount", "i386 mount"; "": unknown */
	uint32_t arch;     /* AUDIT_ARCH_* */
	int32_t nr;
	int error;         /* errno of the answer; 0: SIGSYS */
	uint64_t count;
};

struct seccomp_unotify;

/* Start answering; takes over @listener. If this kernel's messages are larger than ours, closes
 * @listener and returns NULL: refused calls then fail with ENOSYS. */
struct seccomp_unotify *seccomp_unotify_new(struct ev_loop *loop, int listener);

/* Close the listener, when no process of the run is left. Keeps the counts. Idempotent, accepts
 * NULL. */
void seccomp_unotify_stop(struct seccomp_unotify *d);

/* Stop and free; accepts NULL. */
void seccomp_unotify_free(struct seccomp_unotify *d);

/* The different calls in the order of their first refusal; *@count may be 0. Accepts NULL. */
const struct denial *seccomp_unotify_list(const struct seccomp_unotify *d, size_t *count);

/* Was SIGSYS sent to a process for a call of a foreign architecture? Accepts NULL. */
bool seccomp_unotify_killed(const struct seccomp_unotify *d);

/* Refusals of further calls beyond SECCOMP_UNOTIFY_MAX different ones. Accepts NULL. */
uint64_t seccomp_unotify_others(const struct seccomp_unotify *d);

#endif
