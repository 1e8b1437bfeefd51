/*
 * pts - the pseudo-terminals of the run's own mount namespace: devpts, and the run's terminal.
 *
 * Each shim mounts an instance of its own (mount(2), Documentation/filesystems/devpts.rst), so a
 * command finds no terminal of the host by name, and no run one of another's. A terminal that the
 * command inherits keeps its name there. Where there is no instance, Landlock permits that one
 * terminal, and no other.
 */
#ifndef PROCPEN_OS_SHIM_PTS_H
#define PROCPEN_OS_SHIM_PTS_H

#include "os/shim/proto.h"

/* Mount the instance on /dev/pts, and its multiplexer on /dev/ptmx. Call it when all other mounts
 * of /dev are made. Returns 0 or a negative errno. */
long pts_mount(const struct shim_plan *plan);

/* Mount another instance in the place of the last one, and add it to the @ruleset (-1: none) with
 * @rights. No descriptor of the last one leads to it. Returns 0, or a negative errno: also when it
 * was done so often that the ruleset has grown. */
long pts_renew(uint64_t rights, int ruleset);

/* Without an instance: let the @ruleset permit @rights to the terminals on descriptors 0, 1 and 2,
 * for programs that open them by name (/dev/stderr). Returns 0 or a negative errno. */
long pts_permit_inherited(uint64_t rights, int ruleset);

/* Is the instance as it was when it was mounted: does nobody hold a terminal of it, and has nobody
 * changed the mode or owner of what stays there? 0 also if that cannot be known. */
int pts_is_untouched(void);

/*
 * In the command's process, when it has its user: open a terminal as @t says, put it on descriptors
 * 1 and 2 and, with @typed_stdin, on 0, and send both of its ends to the server. The usual
 * descriptors may be anything before. Returns 0 or a negative errno.
 */
long pts_open(const struct shim_terminal *t, int typed_stdin);

#endif
