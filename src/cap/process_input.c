/*
 * process.input: write to the stdin of a run. All of data is taken or nothing (proc/proc.h), unless
 * the blocklist stops at a line of it (blocklist/stream.h), and what the command does not read
 * waits in the server, so the call never waits.
 *
 * A long text for a shell is judged in turns of the loop, on a copy of the run's stream, before the
 * gate goes on; what comes for that run meanwhile waits behind it. If the stream is another by
 * then, because a human has allowed an older call, all is judged again at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "blocklist/stream.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/judge.h"
#include "cap/run_warnings.h"
#include "os/pty.h"

#define BEGUN_SHOWN 40   /* bytes of a line in a hint */
#define POSTPONED_MAX 16 /* each has up to limits.input_bytes */

struct input_task {
	uint64_t run; /* 0: there is none */
	char *bytes;  /* decoded; NULL: no data */
	size_t len;
	bool close;
	bool ruled;              /* the rules were asked, ... */
	uint64_t asked;          /* ... when this was the number of the stream's parts */
	struct cap_call *call;   /* that was postponed; NULL: it was not */
	struct stream *copy;     /* of the run's stream, on which all was judged ... */
	uint64_t parts;          /* ... when this was the number of its parts */
	struct stream_steps steps;
	struct ruling ruling;    /* on the steps so far, ... */
	bool step_ruled;         /* ... the next one included */
	bool ready;
	struct slices_job job;
	struct input_task *next; /* of all that are postponed, the oldest first */
	bool judged; /* part is set: the bytes can be written */
	bool overtaken; /* by other input, with which a rule is stricter than when this one came */
	struct stream_part part;
	uint64_t stdout_size, stderr_size; /* before the bytes were written */
	bool cut;                          /* the terminal drops the end of a line */
};

/* Those that are judged in turns, and those that came behind them for the same run. */
static struct input_task *process_input_postponed;

static void process_input_leave(struct input_task *t);

static void process_input_task_free(void *task)
{
	struct input_task *t = task;

	process_input_leave(t);
	stream_free(t->copy);
	free(t->bytes);
	stream_part_release(&t->part);
	free(t);
}

static int process_input_check_size(const struct config *config, size_t len, struct err *e)
{
	int64_t max = config_int(config, CONFIG_LIMITS_INPUT_BYTES);

	if (len <= (size_t)max)
		return 0;
	err_invalid(e, "data", "data has %zu bytes; one call takes at most %" PRId64
		    " (limits.input_bytes)", len, max);
	return err_hint(e, "Send it in several calls.");
}

/* NULL: there is none, or its record has gone. */
static struct proc *process_input_run(const struct cap_call *call)
{
	const struct input_task *t = call->r->task;

	return t->run ? proctab_get(call->c->procs, t->run) : NULL;
}

static struct proc *process_input_find_run(const struct cap_call *call, struct err *e)
{
	struct proc *p = process_input_run(call);

	return p ? p : proctab_find(call->c->procs, json_get_str(call->r->params, "process_id", ""),
				    e);
}

static void process_input_rule(const struct cap_call *call, const struct proc *p, enum tier tier,
			       struct ruling *ruling)
{
	const struct input_task *t = call->r->task;

	judge_input(call->c, &(struct judge_part){ tier, p, proc_attached(p), t->bytes, t->len },
		    ruling);
}

/* Not yet about a text that is judged in turns. Leaves it to process_input_resolve() to say that
 * there is no such run. */
static void process_input_ask_rules(struct cap_call *call)
{
	struct input_task *t = call->r->task;
	const struct proc *p = process_input_run(call);
	const struct stream *stream = p ? proc_attached(p) : NULL;
	struct ruling ruling;

	if (!stream || stream_needs_steps(stream, t->len))
		return;
	process_input_rule(call, p, call->tier, &ruling);
	cap_set_ruling(call, &ruling);
	t->ruled = true;
	t->asked = stream_parts(stream);
}

static int process_input_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct input_task *t = mem_zalloc(sizeof(*t));
	const struct proc *p = proctab_look_up(call->c->procs,
					       json_get_str(r->params, "process_id", ""));

	r->task = t;
	r->task_free = process_input_task_free;
	t->run = p ? p->seq : 0;
	t->close = json_get_bool(r->params, "close", false);
	if (command_decode(r->params, "data", "encoding", &t->bytes, &t->len, e))
		return -1;
	if (!t->bytes && !t->close) {
		err_invalid(e, "data", "there is neither data nor close: true");
		return err_hint(e, "Give the text as data; end a line with \\n.");
	}
	call->event.input = t->bytes;
	call->event.input_len = t->len;
	call->event.close = t->close;
	if (process_input_check_size(call->c->config, t->len, e))
		return -1;
	process_input_ask_rules(call);
	return 0;
}

/* Whether there is room for the data may change until it is judged. */
static int process_input_resolve(struct cap_call *call, struct err *e)
{
	const struct proc *p = process_input_find_run(call, e);

	return p ? proc_check_input(p, 0, e) : -1;
}

/* ---- refusals ---- */

static void process_input_tell_begun(const char *begun, size_t len, bool terminal, bool paste,
				     struct err *e)
{
	size_t cut = utf8_cut(begun, len, BEGUN_SHOWN);
	char shown[6 * BEGUN_SHOWN];

	err_hint(e, "The %s has \"%.*s%s\" of this line already%s %s",
		 terminal ? "terminal" : "command",
		 (int)utf8_show(shown, sizeof(shown), begun, cut), shown, cut < len ? "..." : "",
		 paste ? "." :
		 terminal ? ": ^U (\\u0015) erases it, a newline runs it, and anything else is "
			    "joined to it."
			  : ": a newline runs it as it is, and anything else is joined to it.",
		 err_hint_text(e));
	err_detail(e, "line_begun", json_integer((json_int_t)len));
}

/* Keys that would erase a line are text in a paste, and one may have several lines. */
static void process_input_tell_paste(struct err *e)
{
	err_hint(e, "A paste has begun: \\u001b[201~ ends it; then \\u0003 (^C), in a call of its "
		    "own, drops what was pasted, and a newline runs it. %s", err_hint_text(e));
	err_detail(e, "paste_begun", json_true());
}

/* The text may be meant for another program, or end a command whose beginning is not known. A key
 * that is refused has a hint of its own. */
static void process_input_tell_reader(const struct blocklist_verdict *v, bool terminal,
				      struct err *e)
{
	if (e->type != ERR_INVALID_COMMAND || !strcmp(v->reason, stream_part_open_command.reason))
		return;
	err_hint(e, "%s What is written to a shell is judged as its text, also where a program "
		    "that it has started reads it: give that one a run of its own.%s",
		 err_hint_text(e),
		 terminal ? " Of a command that began in a line with editing keys (TAB, arrows), "
			    "\\u0003 (^C) drops what the shell has."
			  : "");
}

/* Nothing can be taken back from a pipe, so say what is left of a line or a paste whose rest is
 * refused. */
static void process_input_denied(const struct cap_call *call, struct err *e)
{
	const struct input_task *t = call->r->task;
	const struct proc *p = process_input_run(call);
	const struct stream *stream = p ? proc_attached(p) : NULL;
	bool paste = stream && stream_in_paste(stream);
	const char *begun = "";
	size_t len = stream ? stream_begun(stream, &begun) : 0;

	if (p)
		process_input_tell_reader(&t->part.verdict, proc_has_terminal(p), e);
	if (len)
		process_input_tell_begun(begun, len, proc_has_terminal(p), paste, e);
	if (paste)
		process_input_tell_paste(e);
}

/* Put what became of the bytes before the hint: @written of this call, not always its first ones
 * where it @skips some; @dropped of earlier ones. */
static void process_input_tell(size_t written, bool skips, size_t dropped, struct err *e)
{
	if (written)
		err_hint(e, "%s%zu byte%s of this call %s written%s, and nothing after %s. %s",
			 skips ? "" : "The first ", written, written == 1 ? "" : "s",
			 written == 1 ? "was" : "were",
			 skips ? ", without what ^C, ^Z or ^\\ dropped" : "",
			 written == 1 ? "it" : "them", err_hint_text(e));
	if (dropped)
		err_hint(e, "%zu byte%s of earlier calls, which waited, %s dropped%s. %s", dropped,
			 dropped == 1 ? "" : "s", dropped == 1 ? "is" : "are",
			 /* what is blocked may be among them */
			 e->type == ERR_INVALID_COMMAND ? ": send all of that text again" : "",
			 err_hint_text(e));
}

/* @written bytes of the call were written. @dropped: that wait no more. */
static void process_input_set_blocked(const struct cap_call *call, size_t written, size_t dropped,
				      struct err *e)
{
	const struct input_task *t = call->r->task;

	command_fail_blocked(&t->part.verdict, e);
	err_detail(e, "bytes_written", json_integer((json_int_t)written));
	if (dropped)
		err_detail(e, "bytes_dropped", json_integer((json_int_t)dropped));
	process_input_denied(call, e);
	process_input_tell(written, t->part.skipped > 0, dropped, e);
}

/* ---- the judgement ---- */

/* The rules were not asked, or a human was meanwhile, and other calls have written: are they now
 * stricter? */
static bool process_input_is_overtaken(const struct cap_call *call, const struct proc *p)
{
	const struct input_task *t = call->r->task;
	struct ruling ruling;

	if (t->ruled && t->asked == stream_parts(proc_attached(p)))
		return false;
	process_input_rule(call, p, cap_tier(call->c, call->row), &ruling);
	return ruling.tier > call->tier;
}

/* The stream of the run if the data can be written there; else the start says why not. */
static struct stream *process_input_stream(const struct cap_call *call, struct proc **p)
{
	const struct input_task *t = call->r->task;
	struct stream *stream;

	*p = process_input_run(call);
	stream = *p ? proc_attached(*p) : NULL;
	return stream && proc_takes_bytes(*p, stream_waiting(stream) + t->len) ? stream : NULL;
}

static void process_input_show_part(struct cap_call *call, const struct proc *p)
{
	const struct input_task *t = call->r->task;

	call->verdict = &t->part.verdict;
	call->event.input_text = proc_echoes(p) ? t->part.shown : NULL;
}

/* Was all judged on a copy that is still the same? */
static bool process_input_is_judged(const struct input_task *t, const struct stream *stream)
{
	return t->copy && stream_parts(stream) == t->parts;
}

static void process_input_judge_with(struct input_task *t, struct stream *stream)
{
	stream_part_release(&t->part);
	stream_judge(stream, t->bytes, t->len, t->close, &t->part);
}

static void process_input_judge_copy(struct input_task *t, const struct stream *stream)
{
	struct stream *copy = stream_copy(stream);

	process_input_judge_with(t, copy);
	stream_free(copy);
}

static int process_input_try_judge(struct cap_call *call, struct err *e)
{
	struct input_task *t = call->r->task;
	struct proc *p;
	const struct stream *stream = process_input_stream(call, &p);

	if (!stream)
		return 0;
	if (!process_input_is_judged(t, stream))
		process_input_judge_copy(t, stream);
	process_input_show_part(call, p);
	if (!call->verdict->blocked)
		return 0;
	process_input_set_blocked(call, 0, 0, e);
	return -1;
}

static bool process_input_judge(struct cap_call *call)
{
	struct input_task *t = call->r->task;
	struct proc *p;
	struct stream *stream = process_input_stream(call, &p);

	call->verdict = NULL;
	call->event.input_text = NULL;
	t->overtaken = stream && process_input_is_overtaken(call, p);
	if (!stream || t->overtaken)
		return true;
	if (process_input_is_judged(t, stream)) {
		stream_become(stream, t->copy);
		t->copy = NULL;
	} else {
		process_input_judge_with(t, stream);
	}
	process_input_show_part(call, p);
	t->judged = true;
	return t->part.len || !t->part.verdict.blocked;
}

/* ---- turns ---- */

static void process_input_leave(struct input_task *t)
{
	struct input_task **at = &process_input_postponed, *next;

	if (!t->call)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->call->r->on_cancel = NULL; /* the next step sets its own */
	t->call = NULL;
	slices_drop(&t->job);
	for (next = process_input_postponed; next && next->run != t->run;)
		next = next->next;
	if (next)
		slices_add(&next->call->c->slices, next->call->c->loop, &next->job);
}

static bool process_input_begin_steps(struct input_task *t)
{
	struct proc *p;
	const struct stream *stream = process_input_stream(t->call, &p);

	if (!stream) /* the start says why */
		return false;
	t->copy = stream_copy(stream);
	t->parts = stream_parts(stream);
	t->ruling = t->call->ruling;
	t->ruling.tier = t->call->tier;
	return true;
}

/* Ask the rules about the next step, which is judged then. False: there is nothing more to do. */
static bool process_input_rule_step(struct input_task *t)
{
	struct judge_part part = { .tier = t->call->tier, .stream = t->copy,
				   .bytes = t->len ? t->bytes + t->steps.at : t->bytes,
				   .len = stream_step(t->copy, t->bytes, t->len, &t->steps) };
	struct ruling ruling;

	part.p = process_input_run(t->call);
	if (!part.p) { /* the start says so */
		stream_free(t->copy);
		t->copy = NULL;
		return false;
	}
	judge_input(t->call->c, &part, &ruling);
	ruling_join(&t->ruling, &ruling);
	t->step_ruled = true;
	return t->ruling.tier != TIER_DENY;
}

static bool process_input_step(struct input_task *t)
{
	bool more;

	if (!t->step_ruled && rulebook_count(t->call->c->book))
		return process_input_rule_step(t);
	more = stream_judge_step(t->copy, t->bytes, t->len, t->close, &t->steps, &t->part);
	t->step_ruled = false;
	t->ruled = !more;
	return more;
}

static bool process_input_work(void *task, int64_t until_us)
{
	struct input_task *t = task;
	struct cap_call *call = t->call;
	bool more = t->copy || process_input_begin_steps(t);

	while (more) {
		more = process_input_step(t);
		if (more && clock_mono_us() >= until_us)
			return true;
	}
	if (t->copy) {
		t->asked = t->parts;
		cap_set_ruling(call, &t->ruling);
	}
	t->ready = true;
	process_input_leave(t);
	cap_resume(call);
	return false;
}

/* Does it take long, or come behind one that does? */
static bool process_input_has_to_wait(const struct cap_call *call)
{
	struct input_task *t = call->r->task;
	struct proc *p;
	const struct stream *stream = process_input_stream(call, &p);
	const struct input_task *other = process_input_postponed;

	if (!stream || t->ready)
		return false;
	while (other && other->run != t->run)
		other = other->next;
	return other || stream_needs_steps(stream, t->len);
}

static void process_input_on_cancel(void *call, struct req *r)
{
	ERR_LOCAL(e);

	(void)r;
	err_set(&e, ERR_CANCELLED,
		"the client cancelled this request while it was judged; nothing was written");
	cap_fail(call, &e);
}

static void process_input_wait(struct cap_call *call)
{
	struct input_task *t = call->r->task, **at = &process_input_postponed;
	bool first = true;

	for (; *at; at = &(*at)->next)
		first = first && (*at)->run != t->run;
	*at = t;
	t->call = call;
	call->r->on_cancel = process_input_on_cancel;
	call->r->on_cancel_ctx = call;
	t->job = (struct slices_job){ .work = process_input_work, .data = t };
	if (first)
		slices_add(&call->c->slices, call->c->loop, &t->job);
}

static bool process_input_postpone(struct cap_call *call)
{
	int count = 0;

	if (!process_input_has_to_wait(call))
		return false;
	for (const struct input_task *t = process_input_postponed; t; t = t->next)
		count++;
	if (count == POSTPONED_MAX) { /* then one is not judged in turns */
		process_input_work(process_input_postponed, INT64_MAX);
		if (!process_input_has_to_wait(call))
			return false;
	}
	process_input_wait(call);
	return true;
}

/* ---- the result ---- */

/* Has the part a line of which the terminal drops the end? Enter and ^D end one, ^U erases it,
 * ^? its last byte (termios(3)). */
static bool process_input_is_cut(const struct stream_part *part, const struct proc *p)
{
	size_t line = 0;

	if (part->len <= PTY_LINE_MAX || !proc_types_lines(p))
		return false;
	for (size_t at = 0; at < part->len && line <= PTY_LINE_MAX; at++)
		if (memchr("\n\r\4\25", part->bytes[at], 4))
			line = 0;
		else if (part->bytes[at] == '\177')
			line -= line > 0;
		else
			line++;
	return line > PTY_LINE_MAX;
}

static enum cap_outcome process_input_fail_blocked(const struct cap_call *call)
{
	const struct input_task *t = call->r->task;

	process_input_set_blocked(call, t->part.len - t->part.earlier, t->part.dropped, call->e);
	return CAP_BLOCKED;
}

static void process_input_warn_cut(struct jsonw *w)
{
	char text[200];

	snprintf(text, sizeof(text), "a line is longer than the %d bytes that a terminal keeps of "
		 "one in canonical mode, and its rest is lost: a run without tty, with stdin_mode "
		 "pipe, takes lines of any length", PTY_LINE_MAX);
	jsonw_str(w, NULL, text);
}

static void process_input_warn_dropped(struct jsonw *w, size_t dropped)
{
	char text[200];

	snprintf(text, sizeof(text), "%zu byte%s of a command that was not complete %s dropped, "
		 "as ^C, ^Z and ^\\ drop what was typed and not read", dropped,
		 dropped == 1 ? "" : "s", dropped == 1 ? "is" : "are");
	jsonw_str(w, NULL, text);
}

static void process_input_write_result(const struct cap_call *call, const struct proc *p,
				       bool closed)
{
	const struct input_task *t = call->r->task;
	struct jsonw *w = req_result(call->r);

	jsonw_str(w, "process_id", p->id);
	jsonw_int(w, "bytes_written", (int64_t)t->len);
	jsonw_int(w, "bytes_queued", (int64_t)(proc_input_queued(p) + t->part.waiting));
	jsonw_int(w, "bytes_incomplete", (int64_t)t->part.waiting);
	jsonw_bool(w, "closed", closed);
	jsonw_int(w, "stdout_size", (int64_t)t->stdout_size);
	jsonw_int(w, "stderr_size", (int64_t)t->stderr_size);
	jsonw_array(w, "warnings");
	if (t->close && !closed)
		jsonw_str(w, NULL, "close was ignored: the terminal is in raw mode, where no "
			  "character ends the input; type what the program takes for its end, "
			  "\\u0004 (^D) on an empty line for most prompts");
	if (t->cut)
		process_input_warn_cut(w);
	if (t->part.edited)
		jsonw_str(w, NULL, "a line was not judged by the blocklist: it has editing keys "
			  "other than erase, ^U and Enter, and only its program knows what it is");
	if (t->part.dropped)
		process_input_warn_dropped(w, t->part.dropped);
	run_warnings_add_waiting(w, p, t->part.waiting);
	jsonw_end_array(w);
}

/* It was not judged, because nothing can be written. */
static enum cap_outcome process_input_fail(const struct cap_call *call, const struct proc *p)
{
	const struct input_task *t = call->r->task;
	const struct stream *stream = proc_attached(p);
	size_t waiting = stream ? stream_waiting(stream) : 0;

	BUG_IF(!proc_check_input(p, waiting + t->len, call->e));
	return CAP_FAILED;
}

static enum cap_outcome process_input_fail_overtaken(const struct cap_call *call)
{
	err_set(call->e, ERR_PERMISSION_DENIED, "other input came between, and with it a rule of "
		"the operator refuses this or asks for it");
	err_hint(call->e, "Send it again.");
	process_input_denied(call, call->e);
	return CAP_FAILED;
}

static enum cap_outcome process_input_start(struct cap_call *call)
{
	struct input_task *t = call->r->task;
	const struct stream_part *part = &t->part;
	struct proc *p = process_input_find_run(call, call->e);
	bool close = t->close && !part->verdict.blocked;

	if (!p)
		return CAP_FAILED;
	if (t->overtaken)
		return process_input_fail_overtaken(call);
	if (!t->judged)
		return process_input_fail(call, p);
	t->stdout_size = p->out.total;
	t->stderr_size = p->err.total;
	t->cut = process_input_is_cut(part, p);
	if (proc_input(p, part->bytes, part->len, part->earlier, &close, call->e))
		return CAP_FAILED;
	if (part->verdict.blocked)
		return process_input_fail_blocked(call);
	process_input_write_result(call, p, close);
	return CAP_DONE;
}

const struct cap_ops cap_process_input = {
	.prepare = process_input_prepare,
	.resolve = process_input_resolve,
	.postpone = process_input_postpone,
	.try_judge = process_input_try_judge,
	.judge = process_input_judge,
	.denied = process_input_denied,
	.start = process_input_start,
};
