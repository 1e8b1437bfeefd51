/*
 * spare - a keeper that was started ahead, waiting for its command.
 *
 * All that is the same for every run has been done (namespaces, mounts, becoming a
 * keeper, the filter); what comes later is one message: the rest of the plan, the
 * command's arguments and environment, its descriptors. When that command is over
 * the same may come again.
 */
#ifndef PROCPEN_OS_SHIM_SPARE_H
#define PROCPEN_OS_SHIM_SPARE_H

#include "os/shim/command.h"

/* Keep the numbers free on which the command's descriptors will come; before any is opened. */
void spare_reserve(void);

/*
 * Install the filter of @c->plan, and say SHIM_READY unless SHIM_FED. Returns 0, or -1: leave,
 * after a failure to install has been told as @c->stage says.
 */
int spare_prepare(struct command *c);

/*
 * Wait for a second plan. Afterwards plan, argv, envp and descriptors are the command's, and the
 * plan has no filter left to install. Returns 0; -1 when the server is gone: leave. A failure of
 * what came is told in @c->stage.
 */
int spare_wait(struct command *c);

/* The command executes: let go of its descriptors, its arguments and its environment. */
void spare_forget(void);

#endif
