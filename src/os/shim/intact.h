/*
 * intact - is this keeper still as it was made?
 *
 * A command can reach its keeper by what needs no more than the same uid: priority
 * and scheduling class, processors, I/O priority, limits, queued signals. What one
 * command has done there must not be what the next one finds, so a keeper that was
 * touched serves no other. (Files below /proc/PID are out of reach: see os/spawn/spare.c.)
 */
#ifndef PROCPEN_OS_SHIM_INTACT_H
#define PROCPEN_OS_SHIM_INTACT_H

/* This is how it should be. */
void intact_remember(void);

/* Is all as it was? Takes signals that were sent to us off the queue. */
int intact_check(void);

#endif
