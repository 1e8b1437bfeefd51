/*
 * seccomp_unotify - which system calls of a run its filter refused.
 *
 * For runs that asked for it: the filter of such a run does not answer by itself
 * but tells us (seccomp_unotify(2)), and the caller waits until we have answered
 * with the errno that the filter would have given. A process of a foreign
 * architecture is sent SIGSYS, and its call is refused as well. Nothing is read
 * through pointers, and nothing is ever allowed from here: if we are gone, the
 * kernel answers ENOSYS.
 *
 * Bounded: so many answers per turn of the loop, and after the first thousand of a
 * run a pause between turns, so a flood of refused calls slows down nobody but its
 * run; so many different calls by name, the rest as a number.
 */
#ifndef PROCPEN_OS_SANDBOX_SECCOMP_UNOTIFY_H
#define PROCPEN_OS_SANDBOX_SECCOMP_UNOTIFY_H

#include <stddef.h>
#include <stdint.h>

#include "os/loop.h"

#define SECCOMP_UNOTIFY_MAX 32 /* different calls */

struct denial {
	char name[48];     /* "mount", "i386 mount"; "" if nobody knows one */
	uint32_t arch;     /* AUDIT_ARCH_* */
	int32_t nr;
	int error;         /* errno of the answer; 0: SIGSYS */
	uint64_t count;
};

struct seccomp_unotify;

/* Begin to answer; takes @listener. NULL (and @listener closed) if this kernel's messages are
 * not ours: refused calls then answer ENOSYS. */
struct seccomp_unotify *seccomp_unotify_new(struct ev_loop *loop, int listener);

/* Nobody is left to be answered: close. What was counted stays. Idempotent, accepts NULL. */
void seccomp_unotify_stop(struct seccomp_unotify *d);

/* Stop and free; accepts NULL. */
void seccomp_unotify_free(struct seccomp_unotify *d);

/* The different calls in the order of their first refusal; *@count may be 0. Accepts NULL. */
const struct denial *seccomp_unotify_list(const struct seccomp_unotify *d, size_t *count);

/* Refusals of further calls beyond SECCOMP_UNOTIFY_MAX different ones. Accepts NULL. */
uint64_t seccomp_unotify_others(const struct seccomp_unotify *d);

#endif
