/*
 * reaper - waits for the server's children and kills orphans.
 *
 * The server is the sub-reaper of everything below it. Its own children are the shims
 * and the cleaner of os/sandbox/tmpdir.h. Any other child was orphaned by a shim that
 * died before its tree, and reaper_sweep() kills it, unless it is provably foreign: a
 * child that was there before the server (`job & exec procpen`), or, after
 * reaper_spare_privileged(), a process without no_new_privs, which no process of a run
 * is. A server that is init of a container adopts such processes.
 *
 * The reaper watches SIGCHLD on the server's loop. It blocks the signal, for good: where one is
 * pending and not blocked, some calls fail with EINTR whatever SA_RESTART says, among them poll(2),
 * a memory limit of a control group, and all of some file systems in user space. A child's pid
 * stays taken until waitpid() here collects it, so no signal can reach a recycled pid.
 */
#ifndef PROCPEN_OS_REAPER_H
#define PROCPEN_OS_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "os/loop.h"

struct reaper;

/* Called after a watched child was collected and its watch removed. */
typedef void (*reaper_fn)(void *ctx, pid_t pid, int wait_status);

/* Called when a sweep ends: @left processes could not be killed. 0: all are dead; 1 also if they
 * could not be listed. */
typedef void (*reaper_swept_fn)(void *ctx, int left);

struct reaper *reaper_new(struct ev_loop *loop);
void reaper_free(struct reaper *r);

/* From now on every run has no_new_privs, so leave children without it alone. Has no effect where
 * the server itself has it: its other children have it too. */
void reaper_spare_privileged(struct reaper *r);

/* Child @pid is no orphan. @fn may be NULL. */
void reaper_watch(struct reaper *r, pid_t pid, reaper_fn fn, void *ctx);
void reaper_unwatch(struct reaper *r, pid_t pid); /* @pid is still reaped */

/* Is our child @pid in one of @states (WSTOPPED, WEXITED: waitid(2))? It stays uncollected. Tells
 * even where /proc hides the child (proc(5), hidepid). */
bool reaper_child_is(pid_t pid, int states);

/*
 * Kill our orphans, and their descendants as these become our children, until none
 * is left or @deadline_ms have passed. Calls @fn once, from the loop. Several sweeps may run at
 * once; each calls its own @fn.
 */
void reaper_sweep(struct reaper *r, int deadline_ms, reaper_swept_fn fn, void *ctx);

/* Kill our orphans, and wait up to @ms until none is left, if they can be listed. Blocks: call it
 * when the loop runs no more. */
void reaper_await_orphans(struct reaper *r, int ms);

/* Does an orphan of ours live? True also if the children cannot be listed. */
bool reaper_has_orphans(struct reaper *r);

/*
 * Add what our children that are not watched, such as shims on their way out, have used with
 * theirs: processor time in steps of a clock tick, and storage bytes. Once collected they are among
 * RUSAGE_CHILDREN.
 */
struct reaper_usage {
	int64_t cpu_us, io_read_bytes, io_write_bytes;
};
void reaper_add_unwatched(struct reaper *r, struct reaper_usage *sum);

/* Drop the sweeps of @ctx without calling back. */
void reaper_sweep_cancel(struct reaper *r, const void *ctx);

#endif
