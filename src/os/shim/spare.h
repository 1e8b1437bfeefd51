/*
 * spare - a keeper that was started ahead, waiting for its command.
 *
 * All that is the same for every run has been done (namespaces, mounts, becoming a
 * keeper, the filter); what comes later is one message: the rest of the plan, the
 * command's arguments and environment, its descriptors.
 */
#ifndef PROCPEN_OS_SHIM_SPARE_H
#define PROCPEN_OS_SHIM_SPARE_H

#include "os/shim/command.h"

/* Keep the numbers free on which the command's descriptors will come; before any is opened. */
void spare_reserve(void);

/*
 * Install the filter of @c->plan, say SHIM_READY, wait. Afterwards plan, argv, envp
 * and descriptors are the command's, and the plan has no filter left to install.
 * Returns 0; -1 when the server is gone: leave. A failure to install, or of what came,
 * is told in @c->stage.
 */
int spare_wait(struct command *c);

/* Forget the command's arguments and environment. */
void spare_wipe(void);

#endif
