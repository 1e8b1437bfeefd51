/*
 * The server handles input in turns. One turn reads a bounded number of bytes and
 * handles messages for about a millisecond; the next turns handle the rest (an idle
 * watcher keeps the loop from sleeping) before any more is read. Between two turns the
 * loop serves children, timers and the client, so a burst of requests does not delay
 * them. There are no turns while the queue to the client is full.
 *
 * The phases of server.h change in a prepare watcher, which runs in every turn of the
 * loop before it sleeps. So the code that answers the last request, ends the last run
 * or loses the reader need not report it.
 *
 * While the client does not read, and after the end of the input, a timer polls ten
 * times a second for events without a wake-up: the end of input that is not read yet,
 * a request past its time, a reader that has gone or that reads nothing. A reader reads
 * nothing if the queue is not empty and for the whole time not one byte has left it,
 * nor the pipe or socket after it.
 */
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/slab.h"
#include "cap/named.h"
#include "cap/run_ahead.h"
#include "cap/run_events.h"
#include "policy/audit_lines.h"
#include "rpc/frame.h"
#include "server/route.h"
#include "server/workspace.h"

#define READ_BYTES ((64u << 10) - 1) /* with a NUL behind it no block that malloc(3) would map */
#define READS_PER_TURN 4
#define TURN_US 1000
#define POLL_MS 100
#define AHEAD_MS 100
/* For a socket or terminal the kernel counts only whole blocks as read (stdio_unread()), so a slow
 * reader may seem to read nothing: 64 KiB within this time are 2 KiB a second. */
#define READER_TIMEOUT_MS 30000
#define CLOSE_MS 3000 /* every run dead and every request answered */
#define CLOSE_MORE_MS 1000 /* more, as long as further runs have died in the time before ... */
#define CLOSE_MAX_MS 15000 /* ... up to here: a busy machine takes so long to end a thousand */
#define HURRY_MS 300  /* the same, once a signal has arrived twice */
#define CLOSE_READ_MAX 1000 /* messages that were read, but not handled yet ... */
#define CLOSE_READ_MS 1000  /* ... within this time, on a busy machine */
#define FLUSH_MS 150  /* without progress */
#define ORPHANS_MS 100 /* processes that waited for commands die a moment after their shims */
#define STATUS_SURVIVORS 3

enum phase { READING, ENDING, CLOSING };

struct server {
	struct context context;
	struct ev_loop *loop; /* the context's */
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
	ev_idle work;      /* active while unhandled input is left */
	ev_signal signals[4];
	ev_prepare turn;   /* the phases change here */
	ev_timer poll;     /* active while the client does not read, and past the input's end */
	ev_timer deadline; /* of closing, then of flushing */
	int trees;         /* runs with a live process when it was set */

	enum phase phase;
	bool eof;           /* no more will be read */
	int64_t ended_ms;   /* when the input ended, clock_mono_ms(); 0: not yet */
	uint64_t progress;  /* outq_progress() at the last poll ... */
	int64_t moved_ms;   /* ... and when it last changed, or the queue was last empty */
	int last_signal;
	bool hurried;       /* the same signal arrived again */
	bool late;          /* closing takes too long: give up the rest */
	bool crowded;       /* several requests or runs at a time, since nobody last waited */
	bool answered;      /* closing: every request is answered, only flushing is left */
	uint64_t written;   /* then: bytes written to the client at the last check */
	int64_t closing_ms; /* since when it closes, clock_mono_ms() */
	bool given_up;      /* the reader read nothing for too long */
	ev_timer ahead;     /* fires when the client is silent after its first words ... */
	bool rested;        /* ... as it was once */
	ev_timer lease;     /* fires when half of server.lease_ms has gone by without input */
	bool pinged;        /* the first half has: the client is asked whether it is there */
	uint64_t leased;    /* outq_progress() when the lease began */
	int survivors;      /* processes of our runs that may still be alive */
	struct audit_stop stop; /* what the record of the end says of it */
};

/* ---- closing ---- */

static bool server_take_message(struct server *s);

static void server_kill_runs(struct server *s)
{
	if (s->cap.closing)
		return;
	s->cap.closing = true;
	proctab_shutdown(s->procs);
}

/* What was read are requests, too: nothing starts any more, and the rest takes little time. */
static void server_take_read(struct server *s)
{
	int64_t until = clock_mono_ms() + CLOSE_READ_MS;

	for (int i = 0; i < CLOSE_READ_MAX && !s->out.stopped && !s->out.dead; i++)
		if (!server_take_message(s) || clock_mono_ms() >= until)
			break;
	while (rpc_more(&s->rpc))
		; /* a batch that was begun is answered in full */
}

/* Starts that wait for a log file, and their repeats. All others have begun. */
static void server_end_starts(struct server *s)
{
	for (struct req *r = reqtab_first(s->reqs), *next; r; r = next) {
		next = r->next;
		if (r->answer_now && !r->run && r->row->flags & CAP_STARTS)
			r->answer_now(r->answer_now_ctx, r);
	}
}

static void server_begin_closing(struct server *s)
{
	if (s->phase == CLOSING)
		return;
	s->phase = CLOSING;
	s->closing_ms = clock_mono_ms();
	ev_io_stop(s->loop, &s->in_io);
	ev_idle_stop(s->loop, &s->work);
	loop_timer_stop(s->loop, &s->poll);
	loop_timer_stop(s->loop, &s->lease);
	server_kill_runs(s);
	server_take_read(s);
	starts_flush(&s->cap.starts);
	ask_end(s->ask, "the server is shutting down");
	server_end_starts(s);
	route_closing(&s->route);
	s->trees = proctab_trees(s->procs);
	loop_timer_start(s->loop, &s->deadline, CLOSE_MS);
}

static void server_fail_request(struct req *r)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_INTERNAL_ERROR, "the server is shutting down");
	e.lasting = true;
	err_hint(&e, "Start a new server.");
	req_fail(r, &e);
}

/* Can @r be answered with the state of its run @p, if it has one, which goes on without it? That of
 * a start, or of its repeat, only where an answer has said so, or nothing has begun. Others may
 * wait for what another request has started. */
static bool server_lets_go_on(const struct req *r, const struct proc *p)
{
	return r->answer_now && (!p || !(r->row->flags & CAP_STARTS) || p->announced);
}

/* No end of a run has answered @r. One that waits, or searches, gets what is known now. */
static void server_end_late(struct server *s, struct req *r)
{
	struct proc *p = r->run ? proctab_get(s->procs, r->run) : NULL;
	uint64_t handle = r->handle;

	if (server_lets_go_on(r, p))
		r->answer_now(r->answer_now_ctx, r);
	r = req_find(s->reqs, handle);
	if (r)
		server_fail_request(r);
}

/* One turn of closing. */
static void server_close_down(struct server *s)
{
	struct req *r;

	if (!s->answered) {
		if (!s->late && (proctab_trees(s->procs) || reqtab_count(s->reqs)))
			return;
		while ((r = reqtab_first(s->reqs)))
			server_end_late(s, r);
		s->answered = true;
		s->written = s->out.written;
		loop_timer_start(s->loop, &s->deadline, FLUSH_MS);
	}
	if (outq_empty(&s->out) && !s->cap.follows.count)
		ev_break(s->loop, EVBREAK_ALL);
}

/* Have some runs died, but not all, since the deadline was set? */
static bool server_kills_go_on(struct server *s)
{
	int before = s->trees;

	s->trees = proctab_trees(s->procs);
	return s->trees && s->trees < before && !s->hurried &&
	       clock_mono_ms() - s->closing_ms < CLOSE_MAX_MS;
}

static void server_on_deadline(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;

	(void)events;
	if (!s->late && !s->answered && server_kills_go_on(s)) {
		loop_timer_start(loop, w, CLOSE_MORE_MS);
		return;
	}
	s->late = true;
	proctab_give_up_files(s->procs);
	if (s->hurried || clock_mono_ms() - s->closing_ms >= CLOSE_MS)
		follow_hurry(&s->cap.follows);
	if (!s->answered)
		return; /* the next turn gives up the rest */
	if (s->out.written == s->written)
		ev_break(loop, EVBREAK_ALL);
	s->written = s->out.written;
	loop_timer_start(loop, w, FLUSH_MS);
}

/* Report on stderr the processes that could not be ended. The shims go on killing them, but nothing
 * will report the outcome. */
static void server_report_survivors(struct server *s)
{
	int bare;

	s->survivors = proctab_alive(s->procs, &bare);
	if (s->survivors) {
		reaper_await_orphans(s->context.reaper, ORPHANS_MS);
		s->survivors = proctab_alive(s->procs, &bare);
	}
	s->stop.survivors = (uint32_t)s->survivors;
	s->stop.gap = bare ? "fork_chains" : NULL;
	if (s->survivors)
		log_error("%d process%s of this session may still be alive%s", s->survivors,
			  s->survivors == 1 ? "" : "es",
			  bare ? " (fork_chains: with neither a PID namespace nor a control group "
				 "they can outrun the kill)" : "");
}

/* Record the end of the server. False, and with @last a warning: the log cannot be written. */
static bool server_record_stop(struct server *s, bool last)
{
	ERR_LOCAL(e);
	bool done = !audit_stopped(s->context.audit, &s->stop, &e);

	if (!done && last)
		log_warn("%s", e.message);
	err_release(&e);
	return done;
}

/* The same signal again: leave only the time for the kills, none for slow readers. */
static void server_on_signal(struct ev_loop *loop, ev_signal *w, int events)
{
	struct server *s = w->data;

	(void)events;
	if (s->phase == CLOSING && w->signum == s->last_signal && !s->hurried) {
		s->hurried = true;
		loop_timer_start(loop, &s->deadline, HURRY_MS);
	}
	s->last_signal = w->signum;
	server_begin_closing(s);
}

/* ---- the end of the input ---- */

static int64_t server_eof_limit_ms(const struct server *s, int by_default_ms)
{
	int64_t seconds = config_int(&s->context.config, CONFIG_SERVER_EOF_SECONDS);

	return seconds ? seconds * 1000 : by_default_ms;
}

static void server_start_poll(struct server *s)
{
	if (!loop_timer_is_set(&s->poll))
		loop_timer_start(s->loop, &s->poll, POLL_MS);
}

/* Start the time of open requests and of the reader. Poll at once: a client that has gone
 * altogether ends its input too. */
static void server_note_end(struct server *s)
{
	if (s->ended_ms)
		return;
	s->ended_ms = s->moved_ms = clock_mono_ms();
	loop_timer_start(s->loop, &s->poll, 0);
}

/* All input is handled. No answer to an open question can arrive any more. */
static void server_begin_ending(struct server *s)
{
	s->phase = ENDING;
	ev_io_stop(s->loop, &s->in_io);
	ev_idle_stop(s->loop, &s->work);
	ask_end(s->ask, "the input has ended, so no answer can come");
}

/* A request handled after the end of the input, because the client read slowly, has its full time
 * from then. */
static bool server_is_overdue(const struct server *s, const struct req *r)
{
	int64_t from = r->since_ms > s->ended_ms ? r->since_ms : s->ended_ms;

	return r->dialect->eof_ms && !r->overdue &&
	       clock_mono_ms() - from >= server_eof_limit_ms(s, r->dialect->eof_ms);
}

/* Kill the run that the request has started; its end answers the request. A run that goes on is
 * answered as it is. While READING the input may still bring the answer to an open question. */
static void server_end_request(struct server *s, struct req *r)
{
	struct proc *p = r->run ? proctab_get(s->procs, r->run) : NULL;

	if ((p || s->phase == ENDING) && server_lets_go_on(r, p)) {
		r->answer_now(r->answer_now_ctx, r);
	} else if (p) {
		r->overdue = true;
		proc_kill_tree(p, PROC_REASON_SERVER_SHUTDOWN);
	} else if (s->phase == ENDING) {
		server_fail_request(r);
	}
}

static void server_end_overdue(struct server *s)
{
	for (struct req *r = reqtab_first(s->reqs), *next; r; r = next) {
		next = r->next;
		if (server_is_overdue(s, r))
			server_end_request(s, r);
	}
}

/* A dialect's eof_ms ends requests that the host does not want any more; answers are still wanted,
 * so their reader has at least READER_TIMEOUT_MS. */
static int64_t server_reader_limit_ms(const struct server *s)
{
	int ms = s->route.eof_ms;

	return server_eof_limit_ms(s, ms < READER_TIMEOUT_MS ? READER_TIMEOUT_MS : ms);
}

/* Give up a reader that reads nothing at all. */
static void server_check_reader(struct server *s)
{
	int64_t timeout_ms = server_reader_limit_ms(s), now = clock_mono_ms();
	uint64_t progress = outq_progress(&s->out);

	if (outq_empty(&s->out) || progress != s->progress) {
		s->progress = progress;
		s->moved_ms = now;
	} else if (now - s->moved_ms >= timeout_ms) {
		s->given_up = true;
		server_begin_closing(s);
	}
}

static void server_on_poll(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;

	(void)loop;
	(void)events;
	if (stdio_hung_up(&s->stdio.in))
		server_note_end(s);
	if (s->ended_ms) {
		outq_check_reader(&s->out);
		server_end_overdue(s);
		server_check_reader(s);
	}
	if (s->phase != CLOSING && (s->ended_ms || s->out.stopped))
		server_start_poll(s);
}

/* Is a request open that the server waits for? Others only listen. */
static bool server_is_waited_for(const struct server *s)
{
	const struct req *r = reqtab_first(s->reqs);

	while (r && !r->dialect->eof_ms)
		r = r->next;
	return r;
}

/* Each turn of the loop, before it sleeps. */
static void server_on_turn(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct server *s = w->data;

	(void)loop;
	(void)events;
	if (s->phase == ENDING && !server_is_waited_for(s)) {
		route_closing(&s->route);
		if (s->cap.follows.count)
			server_kill_runs(s); /* their events are delivered like answers */
		else if (outq_empty(&s->out))
			server_begin_closing(s);
	}
	if (s->out.dead)
		server_begin_closing(s);
	if (s->phase == CLOSING)
		server_close_down(s);
	s->crowded |= reqtab_count(s->reqs) > 1 || proctab_trees(s->procs) > 1;
	if (s->crowded && !server_is_waited_for(s)) { /* a burst is over */
		s->crowded = false;
		slab_trim();
		proctab_rest(s->procs);
	}
}

/* ---- the lease ---- */

/* The client is there: begin the lease anew. */
static void server_renew_lease(struct server *s)
{
	int64_t lease_ms = config_int(&s->context.config, CONFIG_SERVER_LEASE_MS);

	if (!lease_ms || s->eof || s->phase != READING)
		return;
	s->pinged = false;
	s->leased = outq_progress(&s->out);
	loop_timer_start(s->loop, &s->lease, (double)lease_ms / 2);
}

/* None of its input is read, because the queue to it is full, but it does take bytes. */
static bool server_hears_client(const struct server *s)
{
	return s->out.stopped && outq_progress(&s->out) != s->leased;
}

static void server_end_lease(struct server *s)
{
	int64_t lease_ms = config_int(&s->context.config, CONFIG_SERVER_LEASE_MS);

	log_warn("no input for %lld ms while runs are alive (server.lease_ms): the session ends",
		 (long long)lease_ms);
	s->eof = true;
	server_note_end(s);
	ev_io_stop(s->loop, &s->in_io);
	ev_idle_start(s->loop, &s->work);
}

/* Two halves, each counted by the timer, so that a server that was stopped itself still asks, and
 * then waits for the answer. */
static void server_on_lease(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;
	int64_t lease_ms = config_int(&s->context.config, CONFIG_SERVER_LEASE_MS);

	(void)events;
	if (s->eof || s->phase != READING)
		return;
	if (!proctab_trees(s->procs) || server_hears_client(s)) {
		server_renew_lease(s);
	} else if (s->pinged) {
		server_end_lease(s);
	} else {
		s->pinged = true;
		route_ping(&s->route);
		loop_timer_start(loop, w, (double)lease_ms / 2);
	}
}

/* ---- requests ---- */

/* The start of the next message is unknown: answer the earlier requests and read no more. */
static void server_give_up_input(struct server *s)
{
	log_error("no more input is read: %s", s->frame.broken);
	rpc_broken_input(&s->rpc, s->frame.broken);
	s->eof = true;
	server_note_end(s);
}

/* Handle one message. Returns false when none is left. */
static bool server_take_message(struct server *s)
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
	case FRAME_BROKEN:
		server_give_up_input(s);
		break;
	case FRAME_NONE:
		break;
	}
	return false;
}

static void server_take_turn(struct server *s)
{
	int64_t until = clock_mono_us() + TURN_US;
	bool more = true;

	while (more && !s->out.stopped && !s->out.dead) {
		more = server_take_message(s);
		if (clock_mono_us() >= until)
			break;
	}
	if (s->out.stopped) {
		ev_io_stop(s->loop, &s->in_io);
		ev_idle_stop(s->loop, &s->work);
		server_start_poll(s);
	} else if (more) {
		ev_io_stop(s->loop, &s->in_io);
		ev_idle_start(s->loop, &s->work);
	} else if (s->eof) {
		server_begin_ending(s);
	} else {
		ev_idle_stop(s->loop, &s->work);
		ev_io_start(s->loop, &s->in_io);
	}
}

static void server_on_work(struct ev_loop *loop, ev_idle *w, int events)
{
	(void)loop;
	(void)events;
	server_take_turn(w->data);
}

/* Not before: a host may start a server only to ask what it offers, and end it. */
static void server_on_ahead(struct ev_loop *loop, ev_timer *w, int events)
{
	struct server *s = w->data;

	(void)loop;
	(void)events;
	if (s->cap.no_workspace)
		return; /* its first words after it has named one begin anew */
	s->rested = true;
	if (s->phase == READING && !s->eof)
		run_ahead(&s->cap);
}

static void server_on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct server *s = io->data;

	(void)loop_refused(loop, io, events);
	for (int i = 0; i < READS_PER_TURN && !s->eof; i++) {
		char *room = frame_reserve(&s->frame, READ_BYTES);
		ssize_t n = stdio_read(&s->stdio.in, room, READ_BYTES);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			s->eof = true;
		else
			frame_commit(&s->frame, (size_t)n);
		if (n < (ssize_t)READ_BYTES)
			break;
	}
	server_renew_lease(s);
	if (!s->rested && !s->eof)
		loop_timer_start(s->loop, &s->ahead, AHEAD_MS);
	s->out.headed = s->frame.headed;
	if (s->eof)
		server_note_end(s);
	server_take_turn(s);
}

/* The client reads again, has stopped reading or has gone: let the next turn handle it. */
static void server_on_out_change(void *ctx)
{
	struct server *s = ctx;

	if (s->phase == READING)
		ev_idle_start(s->loop, &s->work);
}

/* Drop the questions and waits of a request that has ended. */
static void server_on_request_end(void *ctx, uint64_t handle)
{
	struct server *s = ctx;

	ask_drop(s->ask, handle);
	wait_drop(&s->cap.waits, handle);
	route_request_ended(&s->route, handle);
}

static void server_build_runs(struct server *s)
{
	const struct proctab_options runs = context_runs(&s->context);

	s->procs = proctab_new(s->loop, s->context.reaper, s->context.confine, s->context.instance,
			       &runs);
	proctab_set_hook(s->procs, run_events_handle, &s->cap);
	if (s->cap.closing) /* the root came with the last input: nothing starts any more */
		proctab_shutdown(s->procs);
}

/* Both streams of a run are in one file, and an audit log is as long as its bound and a line before
 * it continues in the next. */
static void server_warn_of_file_limit(const struct config *c)
{
	int64_t audit = config_int(c, CONFIG_AUDIT_FILE_BYTES) + AUDIT_LINES_MAX;
	int64_t output = 2 * (config_int(c, CONFIG_LOG_HEAD_BYTES) +
			      config_int(c, CONFIG_LOG_TAIL_BYTES));
	rlim_t needed = (rlim_t)(audit > output ? audit : output);
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < needed)
		log_warn("files may have at most %llu bytes: output of commands beyond that is not "
			 "kept, and an audit log that reaches it stops every start; raise the "
			 "limit (ulimit -f) to %llu bytes", (unsigned long long)limit.rlim_cur,
			 (unsigned long long)needed);
}

/* What will fail later, or could be misused. */
static void server_warn(const struct context *ctx)
{
	const char *path = config_files_missing_in(&ctx->config_files, ctx->scope);
	AUTO_FREE char *doubt = run_shell_new_doubt(&ctx->shell, &ctx->config, ctx->scope);

	workspace_warn(ctx->scope, config_bool(&ctx->config, CONFIG_AUDIT_REQUIRED)
					   ? audit_path(ctx->audit) : NULL);
	if (path)
		log_warn("commands can create %.400s, which a later start with another workspace "
			 "would read; a narrower workspace, or --config FILE, avoids that", path);
	if (doubt)
		log_warn("%s; name another one with process.shell", doubt);
}

/* See struct cap. Nothing was started yet, so the run table is empty. */
static int server_set_workspace(void *ctx, const char *path, struct err *e)
{
	struct server *s = ctx;
	struct cap *cap = &s->cap;
	int failed;

	proctab_free(s->procs);
	failed = context_set_workspace(&s->context, path, e);
	server_build_runs(s);
	cap->procs = s->procs;
	cap->scope = s->context.scope;
	cap->confine = s->context.confine;
	cap->git_common_dir = s->context.git_common_dir;
	cap->git_config = s->context.git_config;
	cap->env_base = s->context.env_base;
	if (failed)
		return -1;
	cap->no_workspace = NULL;
	log_notice("the workspace is %s, a root of the client", scope_workspace(cap->scope));
	server_warn(&s->context);
	return 0;
}

static void server_on_request_fail(void *ctx, struct err *e)
{
	const struct server *s = ctx;

	named_mark_denied(&s->cap, e);
}

static void server_build_protocol(struct server *s)
{
	const struct config *c = &s->context.config;

	frame_init(&s->frame, (size_t)config_int(c, CONFIG_LIMITS_LINE_BYTES));
	outq_init(&s->out, s->loop, &s->stdio.out,
		  (size_t)config_int(c, CONFIG_LIMITS_OUTPUT_QUEUE_BYTES), server_on_out_change, s);
	s->reqs = reqtab_new(s->loop, &s->out, (int)config_int(c, CONFIG_LIMITS_REQUESTS));
	s->ask = ask_new(s->loop, &s->out);
	reqtab_on_end(s->reqs, server_on_request_end, s);
	reqtab_on_fail(s->reqs, server_on_request_fail, s);
	s->cap = context_cap(&s->context, s->procs, s->reqs);
	s->cap.set_workspace = server_set_workspace;
	s->cap.set_workspace_ctx = s;
	if (s->cap.no_workspace)
		log_warn("no command can run: %s. %s", s->cap.no_workspace->message,
			 err_hint_text(s->cap.no_workspace));
	route_init(&s->route, &s->cap, s->reqs, s->ask);
	s->rpc = (struct rpc){ .reqs = s->reqs, .route = route_message, .ctx = &s->route };
}

static void server_watch_signal(struct server *s, ev_signal *w, int signum)
{
	ev_signal_init(w, server_on_signal, signum);
	w->data = s;
	if (signum == SIGHUP)
		loop_signal_start(s->loop, w); /* under nohup it outlives its terminal */
	else
		ev_signal_start(s->loop, w);
}

static void server_watch(struct server *s)
{
	ev_io_init(&s->in_io, server_on_readable, s->stdio.in.fd, EV_READ);
	ev_idle_init(&s->work, server_on_work);
	ev_set_priority(&s->work, EV_MAXPRI);
	ev_prepare_init(&s->turn, server_on_turn);
	s->in_io.data = s->work.data = s->turn.data = s;
	loop_timer_init(&s->poll, server_on_poll, s);
	loop_timer_init(&s->deadline, server_on_deadline, s);
	loop_timer_init(&s->ahead, server_on_ahead, s);
	loop_timer_init(&s->lease, server_on_lease, s);
	server_watch_signal(s, &s->signals[0], SIGTERM);
	server_watch_signal(s, &s->signals[1], SIGINT);
	server_watch_signal(s, &s->signals[2], SIGQUIT);
	server_watch_signal(s, &s->signals[3], SIGHUP);
	ev_prepare_start(s->loop, &s->turn);
	ev_io_start(s->loop, &s->in_io);
}

/* Log answers that were not delivered. Returns the exit status: a reader that has gone, and answers
 * that a signal cut off, are not a failure; input that could not be read is one. */
static int server_report_losses(const struct server *s)
{
	size_t unsent = outq_pending(&s->out);

	if (s->out.dead && s->out.error != EPIPE) {
		log_error("cannot write the answers: %s (%s)", strerror(s->out.error),
			  err_sys_name(s->out.error));
		return 1;
	}
	if (unsent)
		log_error("the client did not read %zu bytes of answers", unsent);
	return s->frame.broken || (unsent && s->given_up);
}

/* ev_signal_stop() restores the default action. Block the signals first, or one more would end the
 * process before the audit log has its last record. */
static void server_stop_signals(struct server *s)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (size_t i = 0; i < COUNT_OF(s->signals); i++)
		ev_signal_stop(s->loop, &s->signals[i]);
}

/* In the reverse order of building; every request is answered by now. */
static void server_tear_down(struct server *s)
{
	rpc_release(&s->rpc);
	wait_release(&s->cap.waits);
	follow_release(&s->cap.follows);
	proctab_free(s->procs);
	reqtab_free(s->reqs);
	run_keys_release(&s->cap.run_keys);
	grants_release(&s->cap.grants);
	route_release(&s->route);
	ask_free(s->ask);
	outq_release(&s->out);
	frame_release(&s->frame);
	context_stop(&s->context);
	server_stop_signals(s);
}

int server_main(struct context_options *options)
{
	struct server s = { .stdio = { { .fd = -1 }, { .fd = -1 } } };
	ERR_LOCAL(e);
	bool recorded;
	int status = 1;

	loop_block_others(true);
	options->may_lack_workspace = true;
	if (context_set_up_process(&s.context, options, &e) || stdio_take(&s.stdio, &e) ||
	    context_open(&s.context, options, &e) || context_check(&s.context, &e)) {
		/* The default hint of a type is for clients. */
		log_error("cannot start: %s%s%s", e.message, *e.hint ? ". " : "", e.hint);
		err_release(&e);
	} else {
		s.loop = s.context.loop;
		audit_serves(s.context.audit);
		server_build_runs(&s);
		server_build_protocol(&s);
		server_watch(&s);
		ev_run(s.loop, EVRUN_NOWAIT);
		server_warn(&s.context); /* the first answer need not wait for these looks */
		server_warn_of_file_limit(&s.context.config);
		ev_run(s.loop, 0);
		status = server_report_losses(&s);
		server_report_survivors(&s);
		status = s.survivors ? STATUS_SURVIVORS : status;
		recorded = server_record_stop(&s, false);
		server_tear_down(&s);
		if (!recorded) /* temporary files may have filled its disk, and are removed now */
			server_record_stop(&s, true);
	}
	stdio_release(&s.stdio);
	context_close(&s.context);
	return status;
}
