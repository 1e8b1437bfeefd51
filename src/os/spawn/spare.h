/*
 * spare - keepers that wait for a command, so that it finds its sandbox ready.
 *
 * Namespaces, mounts and the filter take longer than many commands, and are the same
 * for every run of a server. So a keeper whose tree has become empty by itself, and
 * that no command has touched (os/shim/intact.h), waits for another command; and
 * when none waits while a command runs, one is made ahead.
 *
 * What waits holds nothing of any command, has every layer that it will need, and dies
 * with the server. It is sent away when nobody has needed it for half a minute, when
 * the host's mounts have changed, when something came to a path that is to be hidden,
 * or when a run asks for something else. Some runs are never started like this: with
 * a listener or a network namespace of their own, in a control group of version 2, or
 * with more arguments than a message takes.
 */
#ifndef PROCPEN_OS_SPAWN_SPARE_H
#define PROCPEN_OS_SPAWN_SPARE_H

#include "os/loop.h"
#include "os/reaper.h"
#include "os/spawn/spawn.h"

struct spare;

struct spare *spare_new(struct ev_loop *loop, struct reaper *reaper);

/* Sends away all that wait. */
void spare_free(struct spare *s);

/* Like spawn_start(), by a keeper that waits if one fits. Call only with the loop at work. */
int spare_start(struct spare *s, const struct spawn_request *request, struct spawn_result *result,
		struct err *e);

/*
 * The keeper of @started has told in its @last report that it stays (shim_report.stays). Takes its
 * socket, and the pid, which nobody may be watching any more. @s may be NULL: it is sent away.
 */
void spare_return(struct spare *s, const struct spawn_result *started,
		  const struct shim_report *last);

/* Sends away all that wait (@s may be NULL); were there any? */
bool spare_drop_idle(struct spare *s);

#endif
