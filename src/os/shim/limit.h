/*
 * limit - the limits that the shim enforces itself where no control group does.
 *
 * It samples memory and processes; the caller kills a tree that is over its limit. Between two
 * samples a tree can exceed the limit by what it allocates in that time, so the pause depends on
 * the distance to the limit, and a sample costs at most a twentieth of the pause that follows.
 * os/shim/cpu_throttle.h limits processor time.
 *
 * Memory is what the tree maps without files: anonymous and shared memory, each page once. Not
 * counted: files in a tmpfs that no process maps, and memory of the kernel.
 */
#ifndef PROCPEN_OS_SHIM_LIMIT_H
#define PROCPEN_OS_SHIM_LIMIT_H

#include "os/shim/proto.h"

/* Call for each command when it has started, before anything is reported of it. @plan must live as
 * long as the shim. */
void limit_start(const struct shim_plan *plan);

/* Nanoseconds until limit_check() is due; -1: there is no limit. */
int64_t limit_wait(void);

/* Take a sample if one is due. Returns the limit that is exceeded, or 0. */
enum shim_limit limit_check(void);

/* The highest sampled memory of the tree; 0: there is no memory limit. */
uint64_t limit_memory_peak(void);

/* Processes and threads in the last sample. */
uint32_t limit_tasks(void);

/* Call before a signal is sent to the command: continues a tree that cpu_throttle has stopped. */
void limit_before_signal(void);

#endif
