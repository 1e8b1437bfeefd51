/*
 * loop - the one event loop.
 *
 * For: an own libev loop (never libev's default loop: that one reaps children
 * that are not its own and drops their usage). Modules embed ev_io and ev_timer
 * directly; this header is the only one that includes <ev.h>, and no file that
 * includes it may include <seccomp.h> (both define EV_NONE).
 *
 * Closing a watched descriptor goes through loop_close(): a child between vfork
 * and exec may still hold the same open file, and then the kernel keeps the
 * registration alive; libev would rebuild its whole set for each stray event.
 */
#ifndef PROCPEN_OS_LOOP_H
#define PROCPEN_OS_LOOP_H

#include <ev.h>

/* A new loop (epoll where it works). Aborts when none can be had. */
struct ev_loop *loop_new(void);
void loop_free(struct ev_loop *loop);

/* Stop @io and remove its registration from the kernel; its descriptor, now the caller's, or -1. */
int loop_let_go(struct ev_loop *loop, ev_io *io);

/* The same, and close the descriptor. */
void loop_close(struct ev_loop *loop, ev_io *io);

/* (Re)arm @timer to fire once in @ms milliseconds from now; loop_timer_stop() is idempotent. */
void loop_timer_start(struct ev_loop *loop, ev_timer *timer, double ms);
void loop_timer_stop(struct ev_loop *loop, ev_timer *timer);

#endif
