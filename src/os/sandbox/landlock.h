/*
 * confine_landlock - write access by directory, TCP by port, and no signals out of the run.
 *
 * A ruleset serves all runs of a server: commands may read and execute whatever the user may, and
 * write the listed paths only. From ABI 4 on it may confine connect(2) of TCP sockets to listed
 * ports; that covers no other way of IP, nor bind(2). From ABI 6 on signals and abstract sockets
 * reach no further than the run. The command's own process enters it, without privilege and
 * irrevocably.
 *
 * Uses raw system calls (landlock(7)) and supports every ABI from 1 on;
 * confine_landlock_gaps() reports what an older one lacks.
 */
#ifndef PROCPEN_OS_SANDBOX_LANDLOCK_H
#define PROCPEN_OS_SANDBOX_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/sandbox/types.h"

#define LANDLOCK_ABI_TRUNCATE 3
#define LANDLOCK_ABI_PORTS 4
#define LANDLOCK_ABI_IOCTL 5
#define LANDLOCK_ABI_SCOPE 6

/* The kernel's ABI; 0: it has none (errno: ENOSYS not built, EOPNOTSUPP switched off). */
int confine_landlock_abi(void);

/* What a ruleset permits, beside reading and executing what is mounted now, and the usual devices:
 * what the shim mounts, it adds (os/shim/permit.h). All borrowed. */
struct confine_landlock_rules {
	const char *const *writable; /* NULL-terminated, may be NULL; skips missing paths and those
				      * that are not canonical: a command may have made the link */
	const uint16_t *ports; /* to which TCP sockets may connect ... */
	size_t port_count;     /* ... 0: to all; else @abi must be LANDLOCK_ABI_PORTS or more */
};

/* Build a ruleset for @abi. Returns a close-on-exec descriptor that the caller owns, or -1 with
 * SandboxUnavailable. */
int confine_landlock_build(int abi, const struct confine_landlock_rules *rules, struct err *e);

/* The rights that a ruleset for @abi gives to devices, and any ruleset to what is only read. */
uint64_t confine_landlock_device_rights(int abi);
uint64_t confine_landlock_read_rights(void);

/* Call @fn for each access that @abi leaves open, one sentence each. */
void confine_landlock_gaps(int abi, confine_text_fn fn, void *ctx);

#endif
