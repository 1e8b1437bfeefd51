/*
 * pooled - a shim that is started before its command is known.
 *
 * It sets up what all runs have in common (namespaces, mounts, the filter) and waits.
 * One message then brings the second plan: the rest of the plan, the command's arguments,
 * environment and descriptors. Another command may follow that one.
 */
#ifndef PROCPEN_OS_SHIM_POOLED_H
#define PROCPEN_OS_SHIM_POOLED_H

#include "os/shim/command.h"

/* Occupy the descriptor numbers that the command's descriptors will take, and move the ruleset of
 * the first plan away from there. Call it before the shim opens any. */
void pooled_reserve(struct command *c);

/*
 * Cut the bounding set, install the filter of @c (or keep it for the commands, where pooled_renew()
 * has something to do) and, without SHIM_QUEUED, send SHIM_READY. Returns 0, or -1: the shim must
 * exit, after it has reported the failure if @c->stage is set.
 */
int pooled_prepare(struct command *c);

/*
 * Wait for a second plan. Afterwards plan, argv, envp and descriptors are the command's. Returns 0,
 * or -1: the server closed the socket, or must use another shim, because a command has changed this
 * one, or, if @c->stage is set, the message was invalid. The shim must exit.
 */
int pooled_wait(struct command *c);

/* Will pooled_renew() have something to do? Call it when the command's tree is empty. */
int pooled_renews(const struct command *c);

/*
 * The shim is reused: let go of the last command, and do what pooled_renews() has found. With
 * SHIM_NET_NS, unless the namespace is as new (sockets.h), enter another one, so that nothing of
 * one command reaches a later one; with SHIM_RENEW_PTS mount new pseudo-terminals; after either
 * send SHIM_READY. Returns 0, or -1: the shim must exit.
 */
int pooled_renew(const struct command *c);

/* The command executes: close its descriptors if the shim has them, and wipe its arguments and
 * environment. */
void pooled_forget(const struct command *c);

#endif
