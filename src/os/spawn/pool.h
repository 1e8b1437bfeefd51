/*
 * pool - idle shims, each with a sandbox that is ready for the next command.
 *
 * Namespaces, mounts and the filter take longer to make than many commands run, and
 * all runs of a server need the same ones. So a shim whose tree ended by itself and
 * that shows no taint (os/shim/taint.h) serves another command, and while commands run
 * and the pool is empty one shim is made ahead. Where an earlier run could keep something
 * that shows a later one (without Landlock) a shim serves one command only, and the next shim
 * is made ahead while that one runs. One with a network namespace enters a new one after a
 * command that may have left something in it, or given something of it away (os/shim/sockets.h).
 *
 * An idle shim holds nothing of any command, has every layer that it will need, and dies
 * with the server. The pool discards those but one that no run needed for half a minute, and
 * all of them when a run comes after the host's mounts have changed, after something has
 * appeared at a path that is to be hidden, or asks for other layers.
 *
 * The pool does not serve runs with a listener or with a terminal of the host, and commands
 * with more arguments than one message takes: pool_start() starts a shim of their own for them.
 */
#ifndef PROCPEN_OS_SPAWN_POOL_H
#define PROCPEN_OS_SPAWN_POOL_H

#include "os/loop.h"
#include "os/reaper.h"
#include "os/spawn/spawn.h"

struct pool;

struct pool *pool_new(struct ev_loop *loop, struct reaper *reaper);

/* Discards all idle shims. */
void pool_free(struct pool *s);

/* Like spawn_start(), with an idle shim where one fits. Call only while the loop runs. */
int pool_start(struct pool *s, const struct spawn_request *request, struct spawn_result *result,
	       struct err *e);

/* Before the first run: make a shim for runs like @request in the next turn of the loop. A run that
 * finds none starts its own, so a failure is told by that one. */
void pool_make_ready(struct pool *s, const struct spawn_request *request);

/*
 * Return the shim of @started, which reported in @last that it is reusable. The pool now owns its
 * socket and its pid, so the caller must have stopped watching the pid. Discards it if @s is NULL
 * or full.
 */
void pool_return(struct pool *s, const struct spawn_result *started,
		 const struct shim_report *last);

/* Add what idle shims and the commands that they have served have used; @s may be NULL. */
void pool_add_usage(const struct pool *s, struct spawn_past *sum);

#define POOL_RESTING 16 /* idle shims, and control groups, that may wait for a next burst */

/* Discard idle shims beyond @keep of each sort; @s may be NULL. Returns true if there were any. */
bool pool_drop_idle(struct pool *s, size_t keep);

#endif
