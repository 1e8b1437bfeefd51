/*
 * spare - one keeper started ahead, so that a command finds its sandbox ready.
 *
 * Namespaces, mounts and the filter take longer than many commands. They are the
 * same for every run of a server, so after a start one more keeper is made when
 * the loop has nothing else to do, and waits for the next command. It holds
 * nothing of any command, has every layer that it will need, dies with the server,
 * and is thrown away when it is old, when the host's mounts have changed, when
 * something came to a path that is to be hidden, or when a run asks for something
 * else; that run is started in the ordinary way.
 */
#ifndef PROCPEN_OS_SPARE_H
#define PROCPEN_OS_SPARE_H

#include "os/loop.h"
#include "os/reaper.h"
#include "os/spawn.h"

struct spare;

struct spare *spare_new(struct ev_loop *loop, struct reaper *reaper);

/* Ends a waiting keeper. */
void spare_free(struct spare *s);

/*
 * Give @request to the waiting keeper. 0: it has it, and @result is as after
 * spawn_start(). -1: there is none that fits; nothing has happened.
 */
int spare_take(struct spare *s, const struct spawn_request *request, struct spawn_result *result);

/* @request was just started: make a keeper for another like it when there is time. */
void spare_want(struct spare *s, const struct spawn_request *request);

#endif
