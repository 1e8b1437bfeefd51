/*
 * loop - the one event loop.
 *
 * For: our own libev loop (never libev's default loop: that one reaps children
 * that are not its own and drops their usage). Modules embed ev_io and ev_timer
 * directly; this header is the only one that includes <ev.h>, and no file that
 * includes it may include <seccomp.h> (both define EV_NONE).
 *
 * Close a watched descriptor with loop_close() only: a child between vfork and exec
 * may still hold the same open file, and then the kernel keeps the registration
 * alive; libev would rebuild its whole set for each stray event.
 */
#ifndef PROCPEN_OS_LOOP_H
#define PROCPEN_OS_LOOP_H

#include <ev.h>
#include <stdbool.h>

/* A new loop (epoll where it works). Aborts if neither epoll nor poll works. */
struct ev_loop *loop_new(void);
void loop_free(struct ev_loop *loop);

/* The kernel may refuse a watch: no memory, or the user has no more (epoll(7), max_user_watches).
 * Call this first in the callback of @io, which is then watched anew and called in each turn of the
 * loop, at most 10 ms apart, until the kernel takes the watch. Returns whether it was refused: what
 * it waits for may have come or not. */
bool loop_refused(struct ev_loop *loop, ev_io *io, int revents);

/* Stop @io and remove its registration from the kernel. Returns its descriptor, which the caller
 * now owns, or -1. */
int loop_detach(struct ev_loop *loop, ev_io *io);

/* Like loop_detach(), and close the descriptor. */
void loop_close(struct ev_loop *loop, ev_io *io);

/* The same, and close @other, the write end of the pipe that @io watches (-1: none): but what the
 * server does next goes first. They are closed by loop_close_all_late(), after 10 ms, when eight
 * more wait, or at once unless loop_is_crowded() has said that there is room. For a pipe that
 * nobody else has, whose end of file is not told, or a terminal that is locked and that nobody
 * has: a process that leads its session hears of the end by then. */
void loop_close_late(struct ev_loop *loop, ev_io *io, int other);

/* Close now what waits for that. Returns whether anything did. */
bool loop_close_all_late(struct ev_loop *loop);

/* Are few descriptors left, or were there once? The kernel gives out the lowest number, so @fd, a
 * new one, tells. What is not needed yet must not be kept then: much that opens a file does not ask
 * for it back. */
bool loop_is_crowded(int fd);

/* Start @w, unless its signal is ignored: what is ignored stays so. nohup(1) starts programs so,
 * and shells the background jobs of a script. */
void loop_signal_start(struct ev_loop *loop, ev_signal *w);

/* Before the loop runs: block the signals that end a process by default (signal(7)), but for those
 * that are watched by now. They would leave requests unanswered and the audit log without an end.
 * @faults: those of a crash too, when another process sends them; the kernel delivers a fault of
 * our own all the same, and abort() its signal. */
void loop_block_others(bool faults);

/* Make @timer ready to be started: it calls @fn, with @data as its data. */
void loop_timer_init(ev_timer *timer, void (*fn)(struct ev_loop *loop, ev_timer *w, int revents),
		     void *data);

/* (Re)arm @timer to fire once in @ms milliseconds from now; loop_timer_stop() is idempotent. In a
 * turn of the loop timers come last: a server that was held up, by a slow disk for one, or stopped,
 * must not take for late what came in time and waits in a descriptor. One that is due and is to
 * fire at once stays due: events of every turn could put it off for good. */
void loop_timer_start(struct ev_loop *loop, ev_timer *timer, double ms);
void loop_timer_stop(struct ev_loop *loop, ev_timer *timer);

/* Is @timer to fire, in this turn of the loop or later? To libev one that is due is not active. */
bool loop_timer_is_set(const ev_timer *timer);

#endif
