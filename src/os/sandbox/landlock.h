/*
 * confine_landlock - write access by directory, and no signals out of the run.
 *
 * A ruleset made once per server: everything may be read and executed as far as
 * the user may, only the listed paths may be written; since ABI 6 signals and
 * abstract sockets reach no further than the run. Entered by the command's own
 * process; no privilege is needed and nothing can take it off again.
 *
 * By raw system calls (landlock(7)): every ABI from 1 on is used as far as it
 * goes, and what a lower one lacks is told by confine_landlock_gaps().
 */
#ifndef PROCPEN_OS_SANDBOX_LANDLOCK_H
#define PROCPEN_OS_SANDBOX_LANDLOCK_H

#include "base/err.h"

#define LANDLOCK_ABI_TRUNCATE 3
#define LANDLOCK_ABI_IOCTL 5
#define LANDLOCK_ABI_SCOPE 6

/* The kernel's ABI; 0: it has none (errno: ENOSYS not built, EOPNOTSUPP switched off). */
int confine_landlock_abi(void);

/*
 * A ruleset for @abi that lets @writable (NULL-terminated; what does not exist is
 * left out) and the usual devices be written. A close-on-exec descriptor that the
 * caller owns, or -1 with SandboxUnavailable.
 */
int confine_landlock_build(int abi, const char *const *writable, struct err *e);

/* Calls @fn for what @abi leaves open, one sentence each. */
void confine_landlock_gaps(int abi, void (*fn)(void *ctx, const char *gap), void *ctx);

#endif
