/*
 * Input is taken in turns. One turn reads a bounded number of bytes and handles
 * messages for about a millisecond; what is left then is handled in the next
 * turns (an idle watcher keeps the loop from sleeping), and nothing more is read
 * before it is used up. Between two turns children, timers and the client's
 * readiness are looked at, so no burst of requests delays them.
 *
 * The end is reached step by step in a prepare watcher, which sees every turn of
 * the loop: it needs no word from whoever ends the last run or request.
 */
#include "app/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/route.h"
#include "app/version.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/frame.h"

#define READ_BYTES (64u << 10)
#define READS_PER_TURN 4
#define SPOOLS_MIN 16
#define TURN_US 1000
#define CLOSE_MS 3000 /* every run dead and every request answered */
#define PAUSED_LOOK_MS 500
#define FLUSH_EOF_MS 2000 /* a client that only closed its end may still read */
#define FLUSH_MS 150  /* without progress */

struct server {
	struct engine engine;
	struct ev_loop *loop; /* the engine's */
	struct stdio stdio;
	struct proctab *procs;

	struct frame frame;
	struct outq out;
	struct reqtab *reqs;
	struct ask *ask;
	struct rpc rpc;
	struct route route;
	struct cap cap;

	ev_io in_io;
	ev_idle work;      /* input is left over for the next turn */
	ev_signal signals[3];
	ev_prepare ending; /* active while closing */
	ev_timer deadline; /* of closing, then of flushing */
	ev_timer paused;   /* looks whether a client that does not read is still there */
	int last_signal;
	bool eof, closing;
	bool late;         /* closing takes too long: what is left is given up */
	bool answered;     /* closing: all is answered, only flushing is left */
	size_t unsent;
};

static void begin_closing(struct server *s)
{
	if (s->closing)
		return;
	s->closing = s->cap.closing = true;
	ev_io_stop(s->loop, &s->in_io);
	ev_idle_stop(s->loop, &s->work);
	while (rpc_more(&s->rpc))
		; /* a batch that was begun is answered in full; nothing starts any more */
	ask_end(s->ask, "the server is shutting down");
	route_closing(&s->route);
	proctab_shutdown(s->procs);
	loop_timer_start(s->loop, &s->deadline, CLOSE_MS);
	ev_prepare_start(s->loop, &s->ending);
}

/* Requests that no run's end has answered. */
static void fail_open_requests(struct server *s)
{
	struct req *r;

	while ((r = reqtab_first(s->reqs))) {
		struct err e = ERR_INIT;

		err_set(&e, ERR_INTERNAL_ERROR, "the server is shutting down");
		req_fail(r, &e);
	}
}

static void on_ending(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct server *s = w->data;
	size_t unsent = s->out.buf.len - s->out.sent;

	(void)events;
	if (!s->answered) {
		if (!s->late && (proctab_trees(s->procs) || reqtab_count(s->reqs)))
			return;
		fail_open_requests(s);
		s->answered = true;
		unsent = s->out.buf.len - s->out.sent;
		loop_timer_start(loop, &s->deadline, s->last_signal ? FLUSH_MS : FLUSH_EOF_MS);
	} else if (unsent != s->unsent) {
		loop_timer_start(loop, &s->deadline, s->last_signal ? FLUSH_MS : FLUSH_EOF_MS);
	}
	s->unsent = unsent;
	if (s->out.dead || outq_empty(&s->out))
		ev_break(loop, EVBREAK_ALL);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;

	(void)events;
	s->late = true;
	if (s->answered)
		ev_break(loop, EVBREAK_ALL);
}

/* The same signal again means: now. The keepers kill what is left when our ends close. */
static void on_signal(struct ev_loop *loop, ev_signal *w, int events)
{
	struct server *s = w->data;

	(void)loop;
	(void)events;
	if (s->closing && w->signum == s->last_signal) {
		stdio_release(&s->stdio);
		_exit(0);
	}
	s->last_signal = w->signum;
	begin_closing(s);
}

/* Handle one message. Returns false when no whole line is left. */
static bool take_message(struct server *s)
{
	const char *line;
	size_t len;

	if (s->rpc.array) {
		rpc_more(&s->rpc);
		return true;
	}
	switch (frame_next(&s->frame, s->eof, &line, &len)) {
	case FRAME_LINE:
		rpc_line(&s->rpc, line, len);
		return true;
	case FRAME_TOO_LONG:
		rpc_too_long(&s->rpc, s->frame.line_max);
		return true;
	case FRAME_NONE:
		break;
	}
	return false;
}

static void take_turn(struct server *s)
{
	int64_t until = clock_mono_us() + TURN_US;
	bool more = true;

	while (more && !s->out.stopped && !s->out.dead) {
		more = take_message(s);
		if (clock_mono_us() >= until)
			break;
	}
	if (s->out.dead || (!more && s->eof)) {
		begin_closing(s);
	} else if (s->out.stopped) {
		ev_io_stop(s->loop, &s->in_io);
		ev_idle_stop(s->loop, &s->work);
		loop_timer_start(s->loop, &s->paused, PAUSED_LOOK_MS);
	} else if (more) {
		ev_io_stop(s->loop, &s->in_io);
		ev_idle_start(s->loop, &s->work);
	} else {
		ev_idle_stop(s->loop, &s->work);
		ev_io_start(s->loop, &s->in_io);
	}
}

/* A client that neither reads nor writes is gone, though its end of stdout is still open. */
static void on_paused(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;
	struct pollfd in = { .fd = s->stdio.in.fd, .events = POLLRDHUP };

	(void)events;
	if (s->closing || !s->out.stopped)
		return;
	if (poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLRDHUP | POLLERR)))
		begin_closing(s);
	else
		loop_timer_start(loop, w, PAUSED_LOOK_MS);
}

static void on_work(struct ev_loop *loop, ev_idle *w, int events)
{
	struct server *s = w->data;

	(void)events;
	if (s->closing)
		ev_idle_stop(loop, w);
	else
		take_turn(s);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct server *s = io->data;

	(void)loop;
	if (events & EV_ERROR)
		s->eof = true; /* it cannot be watched: as if the client had closed it */
	for (int i = 0; i < READS_PER_TURN && !s->eof; i++) {
		char *room = frame_reserve(&s->frame, READ_BYTES);
		ssize_t n = stdio_read(&s->stdio.in, room, READ_BYTES);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n <= 0)
			s->eof = true;
		else
			frame_commit(&s->frame, (size_t)n);
		if (n < (ssize_t)READ_BYTES)
			break;
	}
	take_turn(s);
}

/* The client reads again, stopped reading, or is gone: the next turn sees to it. */
static void on_out_change(void *ctx)
{
	struct server *s = ctx;

	if (!s->closing)
		ev_idle_start(s->loop, &s->work);
}

/* Nobody is to be asked or woken for a request that has ended. */
static void on_request_end(void *ctx, uint64_t handle)
{
	struct server *s = ctx;

	ask_drop(s->ask, handle);
	wait_drop(&s->cap.waits, handle);
	route_request_ended(&s->route, handle);
}

/* Descriptors that finished logs may hold: what running runs (six each) and we do not need. */
static int spools_max(const struct server *s)
{
	int64_t running = config_int(&s->engine.config, CONFIG_LIMITS_RUNNING_PROCESSES);
	rlim_t hard = s->engine.nofile.rlim_max;
	int64_t left = (hard < INT32_MAX ? (int64_t)hard : INT32_MAX) - 6 * running - 64;

	return left < SPOOLS_MIN ? SPOOLS_MIN : (int)left;
}

static void build_runs(struct server *s)
{
	const struct config *c = &s->engine.config;
	const struct proctab_options runs = {
		.running_max = (int)config_int(c, CONFIG_LIMITS_RUNNING_PROCESSES),
		.finished_max = (int)config_int(c, CONFIG_LIMITS_FINISHED_RECORDS),
		.head_bytes = (uint64_t)config_int(c, CONFIG_LOG_HEAD_BYTES),
		.tail_bytes = (uint64_t)config_int(c, CONFIG_LOG_TAIL_BYTES),
		.budget_bytes = (uint64_t)config_int(c, CONFIG_LOG_BUDGET_BYTES),
		.drain_ms = (int)config_int(c, CONFIG_PROCESS_DRAIN_MS),
		.spools_max = spools_max(s),
		.ahead = config_bool(c, CONFIG_SANDBOX_AHEAD),
	};

	s->procs = proctab_new(s->loop, s->engine.reaper, s->engine.confine, s->engine.instance,
			       &runs);
	proctab_set_hook(s->procs, cap_on_proc_event, &s->cap);
}

static void build_protocol(struct server *s)
{
	const struct config *c = &s->engine.config;

	frame_init(&s->frame, (size_t)config_int(c, CONFIG_LIMITS_LINE_BYTES));
	outq_init(&s->out, s->loop, &s->stdio.out,
		  (size_t)config_int(c, CONFIG_LIMITS_OUTPUT_QUEUE_BYTES), on_out_change, s);
	s->reqs = reqtab_new(s->loop, &s->out, (int)config_int(c, CONFIG_LIMITS_REQUESTS));
	s->ask = ask_new(s->loop, &s->out);
	reqtab_on_end(s->reqs, on_request_end, s);
	s->cap = (struct cap){
		.loop = s->loop,
		.config = c,
		.scope = s->engine.scope,
		.audit = s->engine.audit,
		.procs = s->procs,
		.confine = s->engine.confine,
		.reqs = s->reqs,
		.instance = s->engine.instance,
		.version = PROCPEN_VERSION,
	};
	route_init(&s->route, &s->cap, s->reqs, s->ask);
	s->rpc = (struct rpc){ .reqs = s->reqs, .route = route_message, .ctx = &s->route };
}

static void watch_signal(struct server *s, ev_signal *w, int signum)
{
	struct sigaction old;

	/* A server started under nohup outlives its terminal. */
	if (signum == SIGHUP && !sigaction(signum, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	ev_signal_init(w, on_signal, signum);
	w->data = s;
	ev_signal_start(s->loop, w);
}

static void watch(struct server *s)
{
	ev_io_init(&s->in_io, on_readable, s->stdio.in.fd, EV_READ);
	ev_idle_init(&s->work, on_work);
	ev_set_priority(&s->work, EV_MAXPRI);
	ev_prepare_init(&s->ending, on_ending);
	ev_timer_init(&s->deadline, on_deadline, 0.0, 0.0);
	ev_timer_init(&s->paused, on_paused, 0.0, 0.0);
	s->in_io.data = s->work.data = s->ending.data = s->deadline.data = s;
	s->paused.data = s;
	watch_signal(s, &s->signals[0], SIGTERM);
	watch_signal(s, &s->signals[1], SIGINT);
	watch_signal(s, &s->signals[2], SIGHUP);
	ev_io_start(s->loop, &s->in_io);
}

/* In the reverse order of building; every request is answered by now. */
static void tear_down(struct server *s)
{
	rpc_release(&s->rpc);
	wait_release(&s->cap.waits);
	proctab_free(s->procs);
	reqtab_free(s->reqs);
	route_release(&s->route);
	ask_free(s->ask);
	outq_release(&s->out);
	frame_release(&s->frame);
	engine_stop(&s->engine);
	for (size_t i = 0; i < COUNT_OF(s->signals); i++)
		ev_signal_stop(s->loop, &s->signals[i]);
}

int server_main(struct engine_options *options)
{
	struct server s = { .stdio = { { .fd = -1 }, { .fd = -1 } } };
	struct err e = ERR_INIT;
	int status = 0;

	engine_set_up_process(&s.engine);
	if (stdio_take(&s.stdio, &e) || engine_open(&s.engine, options, &e)) {
		log_error("cannot start: %s. %s", e.message, err_hint_text(&e));
		err_release(&e);
		status = 1;
	} else {
		s.loop = s.engine.loop;
		build_runs(&s);
		build_protocol(&s);
		watch(&s);
		ev_run(s.loop, EVRUN_NOWAIT); /* a refused watch is told in the next turn only */
		ev_run(s.loop, 0);
		tear_down(&s);
	}
	stdio_release(&s.stdio);
	engine_close(&s.engine);
	return status;
}
