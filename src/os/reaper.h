/*
 * reaper - the only place that waits for children.
 *
 * The server is the sub-reaper of everything below it. Its own children are the
 * shims (one per run) and what cleans up (os/sandbox/tmpdir.h); anything else
 * that becomes its child was orphaned by a shim that died before its time, and is
 * hunted by reaper_sweep().
 * SIGCHLD is watched on our own loop; a child's pid stays ours until it is
 * waited for here, so no signal can reach a recycled pid.
 */
#ifndef PROCPEN_OS_REAPER_H
#define PROCPEN_OS_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "os/loop.h"

struct reaper;

/* Called when a watched child is gone. The entry has left the table before the call. */
typedef void (*reaper_fn)(void *ctx, pid_t pid, int wait_status);

/* Called when a sweep ends: @left processes could not be killed (0: clean; 1 also when they could
 * not even be listed). */
typedef void (*reaper_swept_fn)(void *ctx, int left);

struct reaper *reaper_new(struct ev_loop *loop);
void reaper_free(struct reaper *r);

void reaper_watch(struct reaper *r, pid_t pid, reaper_fn fn, void *ctx);
void reaper_unwatch(struct reaper *r, pid_t pid); /* it is still reaped */

/*
 * Kill every child of ours that nobody watches, with all its descendants, again
 * and again until none is left or @deadline_ms have passed. Those that are our
 * children now are counted and killed before this returns; @fn is called once,
 * from the loop.
 * Several sweeps may run; each gets its answer.
 */
void reaper_sweep(struct reaper *r, int deadline_ms, reaper_swept_fn fn, void *ctx);

/* Has an orphan been adopted that still lives? True also when that cannot be known. */
bool reaper_has_orphans(struct reaper *r);

/* @ctx is about to go: forget its sweeps without calling back. */
void reaper_sweep_cancel(struct reaper *r, const void *ctx);

#endif
