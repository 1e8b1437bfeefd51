#include "cli/relay.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/mem.h"

#define HURRY_MS 1000 /* without a byte taken; begins again with each one */

/* ---- one direction ---- */

void relay_hurry(struct relay *r)
{
	loop_timer_start(r->loop, &r->patience, HURRY_MS);
}

static void relay_way_stop(struct relay_way *w)
{
	if (!w->relay)
		return;
	ev_io_stop(w->relay->loop, &w->from);
	ev_io_stop(w->relay->loop, &w->to);
	w->relay = NULL;
}

/* The caller's terminal is gone: nothing can be delivered. */
static void relay_hang_up(struct relay *r)
{
	relay_way_stop(&r->in);
	relay_way_stop(&r->out);
	if (!r->run_is_over)
		r->on_hang_up(r->ctx);
}

/* Reading or writing of @w failed for good. On the run's side that is its end. */
static void relay_way_failed(struct relay_way *w, bool reading)
{
	struct relay *r = w->relay;

	if (reading == (w == &r->out))
		relay_way_stop(w);
	else
		relay_hang_up(r);
}

static bool relay_may_retry(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Write what @w holds, as far as it is taken, then watch for what comes next. */
static void relay_way_write(struct relay_way *w)
{
	struct relay *r = w->relay;
	ssize_t n = 0;

	while (w->len && (n = write(w->to.fd, w->bytes + w->start, w->len)) > 0) {
		w->start += (size_t)n;
		w->len -= (size_t)n;
		if (loop_timer_is_set(&r->patience))
			relay_hurry(r);
	}
	if (w->len && !relay_may_retry(n)) {
		relay_way_failed(w, false);
		return;
	}
	if (w->len) {
		ev_io_stop(r->loop, &w->from);
		ev_io_start(r->loop, &w->to);
	} else {
		ev_io_stop(r->loop, &w->to);
		ev_io_start(r->loop, &w->from);
	}
}

/* 0 bytes from a terminal that is raw mean that it has hung up; EIO, that no process has the run's
 * terminal open (pty(7)). */
static void relay_way_read(struct relay_way *w)
{
	ssize_t n = read(w->from.fd, w->bytes, sizeof(w->bytes));

	if (n > 0) {
		w->start = 0;
		w->len = (size_t)n;
		relay_way_write(w);
	} else if (!relay_may_retry(n) || w->relay->run_is_over) {
		relay_way_failed(w, true);
	}
}

static void relay_on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop_refused(loop, io, revents);
	relay_way_read(io->data);
}

/* When the run is over what it wrote is all there: no event would come for its end. */
static void relay_on_writable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct relay_way *w = io->data;

	(void)loop_refused(loop, io, revents);
	relay_way_write(w);
	while (w->relay && !w->len && w->relay->run_is_over)
		relay_way_read(w);
}

static void relay_way_start(struct relay_way *w, struct relay *r, int from, int to)
{
	w->relay = r;
	ev_io_init(&w->from, relay_on_readable, from, EV_READ);
	ev_io_init(&w->to, relay_on_writable, to, EV_WRITE);
	w->from.data = w->to.data = w;
	ev_io_start(r->loop, &w->from);
}

/* ---- the caller's terminal ---- */

/* One that knows none leaves the command's as it is. */
static void relay_pass_size(const struct relay *r)
{
	struct winsize size;

	if (!ioctl(r->stdio.out.fd, TIOCGWINSZ, &size) && size.ws_col && size.ws_row)
		ioctl(r->terminal, TIOCSWINSZ, &size);
}

/* The shell has used the terminal meanwhile, and the window may have changed. */
static void relay_resume(struct relay *r)
{
	pid_t group = tcgetpgrp(r->terminal);

	tty_set_raw(&r->tty);
	relay_pass_size(r);
	if (group > 0)
		kill(-group, SIGWINCH); /* redraw, also at the same size */
}

/* Stop as a program does that does not catch the signal. The kernel drops it in an orphaned process
 * group; then this goes on at once. */
static void relay_stop_self(struct relay *r, ev_signal *w)
{
	tty_restore(&r->tty);
	ev_signal_stop(r->loop, w);
	raise(SIGTSTP);
	ev_signal_start(r->loop, w);
	relay_resume(r);
}

static void relay_on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct relay *r = w->data;

	(void)loop;
	(void)revents;
	if (r->terminal < 0)
		return;
	if (w->signum == SIGTSTP)
		relay_stop_self(r, w);
	else if (w->signum == SIGCONT)
		relay_resume(r);
	else
		relay_pass_size(r);
}

static void relay_watch_signals(struct relay *r)
{
	static const int numbers[] = { SIGWINCH, SIGTSTP, SIGCONT };

	_Static_assert(COUNT_OF(numbers) == COUNT_OF(r->signals), "one watcher for each");
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		ev_signal_init(&r->signals[i], relay_on_signal, numbers[i]);
		r->signals[i].data = r;
		loop_signal_start(r->loop, &r->signals[i]);
	}
}

static void relay_on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct relay *r = w->data;

	(void)loop;
	(void)revents;
	if (r->run_is_over)
		relay_way_stop(&r->out);
	else
		relay_hurry(r);
}

/* ---- the interface ---- */

bool relay_is_possible(const char **missing)
{
	*missing = !isatty(STDIN_FILENO) ? "stdin" : !isatty(STDOUT_FILENO) ? "stdout" : NULL;
	return !*missing;
}

int relay_open(struct relay *r, struct winsize *size, struct err *e)
{
	r->stdio.in.fd = r->stdio.out.fd = r->terminal = -1;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, size))
		*size = (struct winsize){ .ws_row = 0 };
	return tty_open(&r->tty, STDIN_FILENO, e);
}

int relay_prepare(struct relay *r, struct ev_loop *loop, struct err *e)
{
	r->loop = loop;
	loop_timer_init(&r->patience, relay_on_patience, r);
	if (stdio_take(&r->stdio, e))
		return -1;
	r->tty.fd = r->stdio.in.fd; /* 0 is another file now */
	return 0;
}

void relay_start(struct relay *r, int terminal)
{
	r->terminal = terminal;
	tty_set_raw(&r->tty);
	relay_pass_size(r); /* it may have changed meanwhile */
	relay_watch_signals(r);
	relay_way_start(&r->in, r, r->stdio.in.fd, terminal);
	relay_way_start(&r->out, r, terminal, r->stdio.out.fd);
}

void relay_end(struct relay *r)
{
	r->run_is_over = true;
	relay_way_stop(&r->in);
	while (r->out.relay && !r->out.len)
		relay_way_read(&r->out);
}

bool relay_is_busy(const struct relay *r)
{
	return r->out.relay;
}

void relay_close(struct relay *r)
{
	relay_way_stop(&r->in);
	relay_way_stop(&r->out);
	if (r->loop) {
		loop_timer_stop(r->loop, &r->patience);
		for (size_t i = 0; i < COUNT_OF(r->signals); i++)
			ev_signal_stop(r->loop, &r->signals[i]);
	}
	mem_cleanup_close(&r->terminal);
	tty_close(&r->tty);
	stdio_release(&r->stdio);
}
