#include "cap/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/run_result.h"
#include "proc/names.h"
#include "proc/output_text.h"
#include "rpc/rpc.h"

#define EVENT_BYTES (64u << 10) /* of output in one event */
#define EVENT_REST 512          /* of an event beside its output */
#define LINE_BYTES (2u << 20)   /* never reached: the lines are bounded */
#define TURN_US 500

/* How a run ended. */
struct follow_exit {
	int code;        /* -1: none */
	char signal[24]; /* "": none */
	enum proc_state state;
	enum proc_reason reason;
	bool stdin_refused;
	uint64_t size[2];
};

struct follow {
	struct follow *next;
	char id[IDS_TEXT_SIZE], process_id[IDS_TEXT_SIZE];
	uint64_t run;
	char *request_id;
	bool wanted[2];
	uint64_t at[2];         /* the client has the bytes before it */
	bool base64;
	uint64_t events;        /* sent */
	bool started, sent_stdin_error; /* were these events sent? */
	int last;               /* the stream whose turn it was */
	bool over, exited;      /* the run is final; the last event was sent */
	struct follow_exit exit; /* if over */
	char *failure;          /* over, because it never started; or NULL */
	const char *failure_type;
};

/* ---- writing events ---- */

static struct outq *follow_queue(const struct follows *all)
{
	return reqtab_outq(all->c->reqs);
}

static void follow_write_head(struct jsonw *w, const char *process_id, const char *type)
{
	jsonw_str(w, "process_id", process_id);
	jsonw_int(w, "timestamp_ms", clock_wall_ms());
	jsonw_str(w, "type", type);
}

static struct jsonw follow_begin(struct follows *all, struct follow *f, const char *type)
{
	struct jsonw w;

	buf_clear(&all->line);
	rpc_open_notification(&w, &all->line, "process.event");
	jsonw_str(&w, "follow_id", f->id);
	jsonw_int(&w, "seq", (int64_t)f->events++);
	follow_write_head(&w, f->process_id, type);
	return w;
}

static bool follow_send(struct follows *all, struct jsonw *w)
{
	struct outq *q = follow_queue(all);

	rpc_close_notification(w);
	BUG_IF(all->line.full);
	outq_push(q, all->line.data, all->line.len);
	all->sent_to = q->written + outq_pending(q);
	return true;
}

static bool follow_send_started(struct follows *all, struct follow *f, const struct proc *p)
{
	struct jsonw w = follow_begin(all, f, "started");
	pid_t pid = p ? proc_pid(p) : 0;

	jsonw_int_or_null(&w, "pid", pid, pid);
	jsonw_raw(&w, "request_id", f->request_id, strlen(f->request_id));
	f->started = true;
	return follow_send(all, &w);
}

static bool follow_send_stdin_error(struct follows *all, struct follow *f)
{
	struct jsonw w = follow_begin(all, f, "stdin_error");

	jsonw_str(&w, "errno", "EPIPE");
	f->sent_stdin_error = true;
	return follow_send(all, &w);
}

static bool follow_send_gap(struct follows *all, struct follow *f, int stream, uint64_t to)
{
	struct jsonw w = follow_begin(all, f, "gap");

	jsonw_str(&w, "stream", names_streams[stream]);
	jsonw_int(&w, "from", (int64_t)f->at[stream]);
	jsonw_int(&w, "to", (int64_t)to);
	f->at[stream] = to;
	return follow_send(all, &w);
}

static void follow_write_exit(struct jsonw *w, const struct follow_exit *x)
{
	jsonw_int_or_null(w, "exit_code", x->code >= 0, x->code);
	jsonw_str(w, "signal", *x->signal ? x->signal : NULL);
	jsonw_str(w, "state", names_state(x->state));
	jsonw_str(w, "reason", names_reason(x->reason));
	jsonw_int(w, "stdout_size", (int64_t)x->size[0]);
	jsonw_int(w, "stderr_size", (int64_t)x->size[1]);
}

/* The run was answered as running, and then its command could not be executed. */
static void follow_write_failure(struct jsonw *w, const char *type, const char *message)
{
	static const char *const unknown[] = { "exit_code", "signal", "state", "reason" };

	for (size_t i = 0; i < COUNT_OF(unknown); i++)
		jsonw_null(w, unknown[i]);
	jsonw_int(w, "stdout_size", 0);
	jsonw_int(w, "stderr_size", 0);
	jsonw_object(w, "error");
	jsonw_str(w, "type", type);
	jsonw_str(w, "message", message);
	jsonw_end_object(w);
}

static bool follow_send_exited(struct follows *all, struct follow *f)
{
	struct jsonw w = follow_begin(all, f, "exited");

	if (f->failure)
		follow_write_failure(&w, f->failure_type, f->failure);
	else
		follow_write_exit(&w, &f->exit);
	f->exited = true;
	return follow_send(all, &w);
}

/* ---- output ---- */

/* Where the stream ends for @f; @p NULL: its record is gone. */
static uint64_t follow_stream_end(const struct follow *f, const struct proc *p, int stream)
{
	if (f->over)
		return f->exit.size[stream];
	return p ? proc_output(p, stream)->total : f->at[stream];
}

/* Write the event of a page into the line, to be sent. */
static struct jsonw follow_write_page(struct follows *all, struct follow *f, int stream,
				      const struct output *o, struct output_page *page)
{
	struct jsonw w = follow_begin(all, f, names_streams[stream]);

	jsonw_int(&w, "offset", (int64_t)page->offset);
	jsonw_str(&w, "encoding", f->base64 ? "base64" : "utf8");
	output_write_page(o, &w, "data", page);
	return w;
}

/* Hardly any text grows much when it is escaped, so it is measured only if it has: measuring costs
 * as much as writing. */
static bool follow_send_page(struct follows *all, struct follow *f, int stream,
			     const struct output *o, bool final)
{
	size_t share = follow_queue(all)->high / FOLLOW_MAX;
	const struct output_page unbound = {
		.offset = f->at[stream], .max_bytes = EVENT_BYTES, .max_encoded = SIZE_MAX,
		.max_text = SIZE_MAX, .base64 = f->base64, .final = final,
	};
	struct output_page page = unbound;
	struct jsonw w = follow_write_page(all, f, stream, o, &page);

	if (all->line.len > share - EVENT_REST) {
		page = unbound;
		page.max_encoded = share - EVENT_REST;
		f->events--;
		w = follow_write_page(all, f, stream, o, &page);
	}
	f->at[stream] = page.next;
	return follow_send(all, &w);
}

/*
 * Send the next piece of a stream that ends at @end, or the gap before it. The page is written from
 * a copy of the store's state that ends at @end, or at the hole before it, so that it shows nothing
 * behind that and repairs a character that is cut there.
 */
static bool follow_send_output(struct follows *all, struct follow *f, int stream,
			       const struct output *o, uint64_t end)
{
	uint64_t at = f->at[stream], from, to;
	struct output part = *o;
	bool final = f->over;

	part.total = end;
	if (output_evicted(o, &from, &to) && from < end) {
		if (at >= from && at < to)
			return follow_send_gap(all, f, stream, to < end ? to : end);
		if (at < from) {
			part.total = from;
			final = true;
		}
	}
	if (output_has_page(&part, &(struct output_page){ .offset = at, .base64 = f->base64,
							  .final = final }))
		return follow_send_page(all, f, stream, &part, final);
	/* The rest of a stream that is not over is the start of a character. */
	return final && follow_send_gap(all, f, stream, part.total); /* it cannot be read */
}

static bool follow_send_stream(struct follows *all, struct follow *f, int stream,
			       const struct proc *p)
{
	uint64_t end = follow_stream_end(f, p, stream);

	if (!f->wanted[stream] || f->at[stream] >= end)
		return false;
	if (!p || all->hurried)
		return follow_send_gap(all, f, stream, end);
	return follow_send_output(all, f, stream, proc_output(p, stream), end);
}

/* ---- turns ---- */

static bool follow_stdin_refused(const struct follow *f, const struct proc *p)
{
	return f->over ? f->exit.stdin_refused : p && proc_stdin_refused(p);
}

/* Did the command begin, or is its run over? */
static bool follow_has_begun(const struct follow *f, const struct proc *p)
{
	return f->over || (p && p->phase != PROC_STARTING && p->phase != PROC_KILLING);
}

/* Send the next event of @f. Returns false if there is none now. */
static bool follow_send_event(struct follows *all, struct follow *f)
{
	const struct proc *p = proctab_get(all->c->procs, f->run);

	if (f->failure)
		return follow_send_exited(all, f);
	if (!f->started)
		return follow_has_begun(f, p) && follow_send_started(all, f, p);
	if (!f->sent_stdin_error && follow_stdin_refused(f, p))
		return follow_send_stdin_error(all, f);
	for (int i = 0; i < 2; i++) {
		f->last = !f->last;
		if (follow_send_stream(all, f, f->last, p))
			return true;
	}
	return f->over && follow_send_exited(all, f);
}

static void follow_free(struct follow *f)
{
	free(f->request_id);
	free(f->failure);
	free(f);
}

/* Take *@at off the list. */
static struct follow *follow_unlink(struct follows *all, struct follow **at)
{
	struct follow *f = *at;

	*at = f->next;
	f->next = NULL;
	all->count--;
	return f;
}

static void follow_append(struct follows *all, struct follow *f)
{
	struct follow **at = &all->first;

	while (*at)
		at = &(*at)->next;
	*at = f;
	all->count++;
}

/* Send one event, of the first follow that has one; it is then the last in the order. @id: of this
 * follow, or NULL. False: none has one. */
static bool follow_send_next(struct follows *all, const char *id)
{
	for (struct follow **at = &all->first; *at; at = &(*at)->next) {
		struct follow *f = *at;

		if ((id && strcmp(f->id, id) != 0) || !follow_send_event(all, f))
			continue;
		follow_unlink(all, at);
		if (f->exited)
			follow_free(f);
		else
			follow_append(all, f);
		return true;
	}
	return false;
}

static bool follow_has_room(const struct follows *all)
{
	const struct outq *q = follow_queue(all);

	return q->written >= all->sent_to && outq_room(q, q->high / FOLLOW_MAX);
}

/* Send what can be sent, of follow @id or of all. Returns true if the time was too short. */
static bool follow_take_turn(struct follows *all, const char *id)
{
	int64_t until = clock_mono_us() + TURN_US;
	bool late = false;

	while (!late && follow_has_room(all) && follow_send_next(all, id))
		late = clock_mono_us() >= until;
	return late;
}

/* In each turn of the loop, before it sleeps: what a run has done and what the client has read
 * woke it. */
static void follow_on_turn(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct follows *all = w->data;

	(void)events;
	if (follow_queue(all)->dead) {
		follow_release(all);
		return;
	}
	if (follow_take_turn(all, NULL))
		ev_idle_start(loop, &all->more);
	else
		ev_idle_stop(loop, &all->more);
	if (!all->first)
		follow_release(all);
}

static void follow_on_more(struct ev_loop *loop, ev_idle *w, int events)
{
	(void)loop;
	(void)w;
	(void)events;
}

static void follow_begin_turns(struct follows *all, struct cap *c)
{
	all->c = c;
	buf_init(&all->line, LINE_BYTES);
	ev_prepare_init(&all->turn, follow_on_turn);
	ev_idle_init(&all->more, follow_on_more);
	all->turn.data = all;
	/* Before the server's own look at each turn (server/server.c), which ends the session. */
	ev_set_priority(&all->turn, EV_MAXPRI);
	ev_prepare_start(c->loop, &all->turn);
}

void follow_release(struct follows *all)
{
	if (!ev_is_active(&all->turn))
		return;
	while (all->first)
		follow_free(follow_unlink(all, &all->first));
	ev_prepare_stop(all->c->loop, &all->turn);
	ev_idle_stop(all->c->loop, &all->more);
	buf_release(&all->line);
}

/* ---- the end of a run ---- */

static void follow_read_exit(struct follow_exit *x, const struct proc *p)
{
	const char *signal = proc_signal_name(p);

	*x = (struct follow_exit){
		.code = proc_exit_code(p),
		.state = p->state,
		.reason = p->reason,
		.stdin_refused = p->stdin_refused,
		.size = { p->out.total, p->err.total },
	};
	snprintf(x->signal, sizeof(x->signal), "%s", signal ? signal : "");
}

static void follow_end(struct follow *f, const struct proc *p)
{
	ERR_LOCAL(e);

	f->over = true;
	if (!p->rare->failure) {
		follow_read_exit(&f->exit, p);
		return;
	}
	run_result_error(p, &e);
	f->failure = mem_strdup(e.message);
	f->failure_type = err_rows[e.type].name;
	err_release(&e);
}

void follow_on_event(struct follows *all, const struct proc *p, unsigned events)
{
	if (!(events & (PROC_EVENT_SETTLED | PROC_EVENT_FAILED)))
		return;
	for (struct follow *f = all->first; f; f = f->next)
		if (f->run == p->seq)
			follow_end(f, p);
}

void follow_report_exit(struct cap *c, const struct proc *p)
{
	const struct err *e = p->rare->failure;
	struct follow_exit x;
	struct buf line;
	struct jsonw w;

	buf_init(&line, LINE_BYTES);
	rpc_open_notification(&w, &line, "process.event");
	follow_write_head(&w, p->id, "exited");
	follow_read_exit(&x, p);
	if (e)
		follow_write_failure(&w, err_rows[e->type].name, e->message);
	else
		follow_write_exit(&w, &x);
	rpc_close_notification(&w);
	outq_push(reqtab_outq(c->reqs), line.data, line.len);
	buf_release(&line);
}

/* ---- the interface ---- */

int follow_check(const struct follows *all, struct err *e)
{
	if (all->count < FOLLOW_MAX)
		return 0;
	err_set(e, ERR_LIMIT_REACHED, "%d follows are open, the maximum", FOLLOW_MAX);
	return err_hint(e, "End one with process.unfollow, or wait for the end of a run that is "
			   "followed; process.logs reads without a follow.");
}

void follow_add(struct cap *c, const struct proc *p, const struct follow_spec *spec,
		char id[IDS_TEXT_SIZE])
{
	struct follows *all = &c->follows;
	struct follow *f = mem_zalloc(sizeof(*f));

	if (!ev_is_active(&all->turn))
		follow_begin_turns(all, c);
	ids_format(f->id, ++all->last_number, c->instance);
	f->id[0] = 'f';
	snprintf(f->process_id, sizeof(f->process_id), "%s", p->id);
	f->run = p->seq;
	f->request_id = mem_strdup(spec->request_id);
	memcpy(f->wanted, spec->wanted, sizeof(f->wanted));
	memcpy(f->at, spec->from, sizeof(f->at));
	f->base64 = spec->base64;
	f->last = 1; /* stdout first */
	if (p->phase == PROC_SETTLED)
		follow_end(f, p);
	follow_append(all, f);
	memcpy(id, f->id, sizeof(f->id));
}

bool follow_remove(struct follows *all, const char *id)
{
	for (struct follow **at = &all->first; *at; at = &(*at)->next) {
		if (strcmp((*at)->id, id) != 0)
			continue;
		follow_free(follow_unlink(all, at));
		return true; /* the next turn ends the turns if it was the last */
	}
	return false;
}

void follow_catch_up(struct follows *all, const char *id)
{
	if (*id && !follow_queue(all)->dead)
		follow_take_turn(all, id);
}

void follow_hurry(struct follows *all)
{
	all->hurried = true;
}
