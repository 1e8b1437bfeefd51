/*
 * watch - the limits that the keeper holds itself, where no control group does.
 *
 * Memory and processes are sampled: over the limit the tree is killed (by the
 * caller). Between two samples a tree can go beyond it by what it can take in that
 * time. How long we sleep therefore follows from how far the limit is, and a look
 * costs at most a twentieth of the time until the next. Processor time is held by
 * os/shim/throttle.h.
 *
 * Memory is what the tree maps without files: anonymous and shared memory, each page
 * once. Not seen: files in a tmpfs that nobody maps, and memory of the kernel.
 */
#ifndef PROCPEN_OS_SHIM_WATCH_H
#define PROCPEN_OS_SHIM_WATCH_H

#include "os/shim/proto.h"

/* Once, when the command has started. @plan is used as long as the keeper lives. */
void watch_start(const struct shim_plan *plan);

/* Nanoseconds until watch_look() is due; -1: nothing is watched. */
int64_t watch_wait(void);

/* Looks if it is due. Returns the limit that is exceeded, or 0. */
enum shim_limit watch_look(void);

/* The most memory of the tree that was seen; 0: it is not watched. */
uint64_t watch_memory_peak(void);

/* Processes and threads at the last look. */
uint32_t watch_tasks(void);

/* A signal for the command comes next: it shall meet processes that run. */
void watch_before_signal(void);

#endif
