/*
 * pooled - a shim that is started before its command is known.
 *
 * It does everything that all runs have in common (namespaces, mounts, the filter) and
 * waits. One message then brings the second plan: the rest of the plan, the command's
 * arguments, environment and descriptors. After that command another one may follow.
 */
#ifndef PROCPEN_OS_SHIM_POOLED_H
#define PROCPEN_OS_SHIM_POOLED_H

#include "os/shim/command.h"

/* Keep the numbers free on which the command's descriptors will come; before any is opened. */
void pooled_reserve(void);

/*
 * Install the filter of @c->plan, and say SHIM_READY unless SHIM_QUEUED. Returns 0, or -1: leave,
 * after a failure to install has been told as @c->stage says.
 */
int pooled_prepare(struct command *c);

/*
 * Wait for a second plan. Afterwards plan, argv, envp and descriptors are the command's, and the
 * plan has no filter left to install. Returns 0; -1 when the server is gone: leave. A failure of
 * what came is told in @c->stage.
 */
int pooled_wait(struct command *c);

/* The command executes: let go of its descriptors, its arguments and its environment. */
void pooled_forget(void);

#endif
