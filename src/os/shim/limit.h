/*
 * limit - the limits that the shim enforces itself where no control group does.
 *
 * Memory and processes are sampled; the caller kills the tree that is over its limit.
 * Between two samples a tree can exceed the limit by what it allocates in that time, so
 * the pause depends on the distance to the limit, and a sample costs at most a twentieth
 * of the pause that follows. os/shim/cpu_throttle.h limits processor time.
 *
 * Memory is what the tree maps without files: anonymous and shared memory, each page
 * once. Not seen: files in a tmpfs that nobody maps, and memory of the kernel.
 */
#ifndef PROCPEN_OS_SHIM_LIMIT_H
#define PROCPEN_OS_SHIM_LIMIT_H

#include "os/shim/proto.h"

/* Once, when the command has started. @plan is used as long as the shim lives. */
void limit_start(const struct shim_plan *plan);

/* Nanoseconds until limit_look() is due; -1: nothing is watched. */
int64_t limit_wait(void);

/* Looks if it is due. Returns the limit that is exceeded, or 0. */
enum shim_limit limit_look(void);

/* The most memory of the tree that was seen; 0: it is not watched. */
uint64_t limit_memory_peak(void);

/* Processes and threads at the last look. */
uint32_t limit_tasks(void);

/* A signal for the command comes next: it shall meet processes that run. */
void limit_before_signal(void);

#endif
