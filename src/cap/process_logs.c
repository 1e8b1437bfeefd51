/*
 * process.logs: pages of the kept output. Both streams share one reply: the second gets what the
 * first leaves, at least half of it if it needs so much.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/schema.h"
#include "cap/cap.h"
#include "cap/logs_combined.h"
#include "cap/logs_members.h"
#include "cap/run_result.h"
#include "proc/output_text.h"

struct logs_task {
	bool want_out, want_err;
	bool combined, has_tail;
	uint64_t out_offset, err_offset, tail_lines, since;
	size_t limit;
	bool base64, clean;
	bool has_clean;      /* else the dialect's default, once the run is known */
	uint64_t out_seen, err_seen; /* the answer waits for bytes after these offsets */
	uint64_t seq;
	struct grep *grep; /* a search instead of a page; or NULL */
};

static void process_logs_free_task(void *task)
{
	struct logs_task *t = task;

	grep_free(t->grep);
	free(t);
}

/* A search returns no page: refuse the parameters of one. */
static int process_logs_prepare_search(struct req *r, struct logs_task *t, struct err *e)
{
	const struct grep_range range = {
		.wanted = { t->want_out, t->want_err },
		.offset = { t->out_offset, t->err_offset },
	};
	const char *with = NULL;

	if (t->has_tail)
		with = "tail_lines";
	else if (t->since)
		with = "since";
	else if (json_object_get(r->params, "limit"))
		with = "limit";
	else if (t->base64)
		with = "encoding";
	else if (json_get_int(r->params, "wait_ms", 0))
		with = "wait_ms";
	if (with) {
		err_invalid(e, with, "grep and %s exclude each other", with);
		return err_hint(e,
				"Leave out %s: grep searches all that is kept, or from offset on; "
				"max_matches and context bound what it shows.", with);
	}
	t->grep = grep_new(r, &range, e);
	return t->grep ? 0 : err_parameter(e, "grep");
}

/* Refuse what only a search takes, but not the defaults that some hosts fill in, nor a 0. */
static int process_logs_check_page(const struct cap_call *call, struct err *e)
{
	static const char *const names[] = { "context", "ignore_case", "max_matches" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const json_t *value = json_object_get(call->r->params, names[i]);

		if (!value || schema_is_default(call->row->input, names[i], value) ||
		    (json_is_number(value) && json_number_value(value) == 0))
			continue;
		err_invalid(e, names[i], "%s is for a search, and there is no grep", names[i]);
		return err_hint(e, "Add grep, or leave %s out.", names[i]);
	}
	return 0;
}

/* Parameters that exclude each other. One that is 0 says as little as one that is left out. */
static int process_logs_check(const struct logs_task *t, struct err *e)
{
	bool has_offset = t->out_offset || t->err_offset;

	if (t->has_tail && (has_offset || t->since)) {
		err_invalid(e, "tail_lines", "tail_lines and %s exclude each other",
			    t->since ? "since" : "an offset");
		return err_hint(e, "Give tail_lines for the end, or %s for a page.",
				t->since ? "since" : "offset");
	}
	if (t->combined && has_offset) {
		err_invalid(e, t->out_offset ? "offset" : "stderr_offset",
			    "stream combined has no offset: it goes by since");
		return err_hint(e, "Give since, 0 or the next_since of the page before.");
	}
	if (!t->combined && t->since) {
		err_invalid(e, "since", "since is for stream combined");
		return err_hint(e, "Give stream as combined, or offset instead of since.");
	}
	return 0;
}

/* An offset is that of the streams asked for: of the other one nobody has read anything, unless
 * stderr_offset tells the two apart. */
static void process_logs_read_offsets(struct logs_task *t, const json_t *params)
{
	uint64_t offset = (uint64_t)json_get_int(params, "offset", 0);
	bool apart = json_object_get(params, "stderr_offset") != NULL;

	t->out_offset = t->want_out || apart ? offset : 0;
	t->err_offset = apart ? (uint64_t)json_get_int(params, "stderr_offset", 0)
			      : t->want_err ? offset : 0;
}

static int process_logs_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct logs_task *t = mem_zalloc(sizeof(*t));
	const char *stream = json_get_str(r->params, "stream", "both");

	r->task = t;
	r->task_free = process_logs_free_task;
	t->want_out = strcmp(stream, "stderr") != 0;
	t->want_err = strcmp(stream, "stdout") != 0;
	process_logs_read_offsets(t, r->params);
	t->combined = !strcmp(stream, "combined");
	t->since = (uint64_t)json_get_int(r->params, "since", 0);
	t->has_tail = json_object_get(r->params, "tail_lines") != NULL;
	t->tail_lines = (uint64_t)json_get_int(r->params, "tail_lines", 0);
	t->limit = (size_t)json_get_int(r->params, "limit", REQ_LINE_MAX);
	t->base64 = !strcmp(json_get_str(r->params, "encoding", "utf8"), "base64");
	t->has_clean = json_object_get(r->params, "clean") != NULL;
	t->clean = json_get_bool(r->params, "clean", false);
	if (process_logs_check(t, e))
		return -1;
	return json_object_get(r->params, "grep") ? process_logs_prepare_search(r, t, e)
						  : process_logs_check_page(call, e);
}

static uint64_t process_logs_tail(const struct req *r, const struct output *o)
{
	const struct logs_task *t = r->task;
	size_t page = t->clean ? SIZE_MAX : req_page_bytes(r) / (1u + (t->want_out && t->want_err));

	if (t->base64)
		return output_tail_offset(o, t->tail_lines);
	return output_tail_page(o, t->tail_lines, t->limit < page ? t->limit : page, t->clean);
}

static uint64_t process_logs_page_start(const struct req *r, const struct proc *p, bool is_err)
{
	const struct logs_task *t = r->task;
	const struct output *o = proc_output(p, is_err);
	uint64_t offset = is_err ? t->err_offset : t->out_offset;

	if (t->has_tail && (is_err ? t->want_err : t->want_out))
		return process_logs_tail(r, o);
	return offset;
}

/* Write one stream; "" if it was not asked for. */
static void process_logs_write_stream(struct jsonw *w, const char *key, const struct output *o,
				      struct output_page *page, bool wanted)
{
	if (wanted) {
		output_write_page(o, w, key, page);
		return;
	}
	jsonw_str(w, key, "");
	page->next = page->offset;
}

static struct output_page process_logs_new_page(const struct req *r, const struct proc *p,
						bool is_err)
{
	const struct logs_task *t = r->task;

	return (struct output_page){
		.offset = process_logs_page_start(r, p, is_err),
		.max_bytes = t->limit,
		.base64 = t->base64,
		.clean = t->clean,
		.final = proc_output_ended(p),
	};
}

/* The room of the first stream: @budget without the @bytes of the second one, but at least half. */
static size_t process_logs_leave(size_t budget, uint64_t bytes)
{
	return budget - (bytes < budget / 2 ? (size_t)bytes : budget / 2);
}

static void process_logs_write_pages(struct jsonw *w, const struct req *r, const struct proc *p,
				     struct output_page *out, struct output_page *err)
{
	const struct logs_task *t = r->task;
	uint64_t rest = t->want_err ? p->err.total - err->offset : 0;

	out->max_encoded = process_logs_leave(req_text_bytes(r), rest);
	out->max_text = process_logs_leave(req_page_bytes(r), rest);
	process_logs_write_stream(w, "stdout", &p->out, out, t->want_out);
	err->max_encoded = req_text_bytes(r) - out->encoded;
	err->max_text = req_page_bytes(r) - out->text;
	process_logs_write_stream(w, "stderr", &p->err, err, t->want_err);
}

static bool process_logs_has_page(const struct logs_task *t, const struct proc *p,
				  const struct output *o, uint64_t offset)
{
	const struct output_page page = { .offset = offset, .base64 = t->base64,
					  .clean = t->clean, .final = proc_output_ended(p) };

	return output_has_page(o, &page);
}

static void process_logs_place(const struct logs_task *t, const struct proc *p,
			       struct logs_place *place)
{
	if (t->has_tail)
		logs_combined_tail(p, t->base64, t->tail_lines, place);
	else
		logs_combined_since(p, t->base64, t->since, place);
}

static struct logs_combined process_logs_new_combined(const struct logs_task *t,
						      const struct req *r)
{
	return (struct logs_combined){
		.base64 = t->base64, .clean = t->clean, .max_bytes = t->limit,
		.max_encoded = req_text_bytes(r), .max_text = req_page_bytes(r),
	};
}

/* Both streams in the order of arrival. */
static void process_logs_write_combined(struct jsonw *w, const struct req *r, struct proc *p)
{
	const struct logs_task *t = r->task;
	const struct logs_combined page = process_logs_new_combined(t, r);
	struct logs_place place;
	uint64_t next;

	process_logs_place(t, p, &place);
	logs_members_begin(w, p);
	logs_combined_write(w, p, &page, &place);
	next = place.at[0] + place.at[1];
	if (t->has_tail)
		arrivals_looked(&p->arrivals, next);
	else
		arrivals_served(&p->arrivals, t->since, next);
	jsonw_int(w, "next_since", (int64_t)next);
	logs_members_end(w, p, place.at[0], place.at[1]);
	jsonw_bool(w, "truncated", logs_combined_goes_on(p, &page, &place));
}

static void process_logs_write_result(struct jsonw *w, const struct req *r, struct proc *p)
{
	const struct logs_task *t = r->task;
	struct output_page out = process_logs_new_page(r, p, false);
	struct output_page err = process_logs_new_page(r, p, true);

	if (t->combined) {
		process_logs_write_combined(w, r, p);
		return;
	}
	logs_members_begin(w, p);
	process_logs_write_pages(w, r, p, &out, &err);
	logs_members_end(w, p, out.next, err.next);
	jsonw_bool(w, "truncated",
		   (t->want_out && process_logs_has_page(t, p, &p->out, out.next)) ||
			   (t->want_err && process_logs_has_page(t, p, &p->err, err.next)));
}

static void process_logs_answer(struct req *r, struct proc *p)
{
	process_logs_write_result(req_result(r), r, p);
	req_ok(r);
}

/* Is there output that the client does not have, or will there be no more? */
static bool process_logs_has_news(const struct req *r, const struct proc *p)
{
	const struct logs_task *t = r->task;
	const struct logs_combined page = process_logs_new_combined(t, r);

	if (p->phase == PROC_SETTLED)
		return true;
	if (t->combined)
		return logs_combined_goes_on(p, &page,
					     &(struct logs_place){ { t->out_seen, t->err_seen } });
	return (t->want_out && process_logs_has_page(t, p, &p->out, t->out_seen)) ||
	       (t->want_err && process_logs_has_page(t, p, &p->err, t->err_seen));
}

static bool process_logs_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	(void)c;
	if (events & PROC_EVENT_FAILED) {
		run_result_fail(r, p);
		return false;
	}
	if (!(events & PROC_EVENT_SETTLED) && !process_logs_has_news(r, p))
		return true;
	process_logs_answer(r, p);
	return false;
}

static void process_logs_on_timer(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct logs_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p) /* the table keeps live runs */
		process_logs_answer(r, p);
}

static uint64_t process_logs_within(uint64_t offset, const struct output *o)
{
	return offset < o->total ? offset : o->total;
}

/* From where on the answer shows and awaits output. An offset beyond the end is the end as it is
 * now: who gives that of stdout alone gets all that stderr has when the wait is over. */
static void process_logs_begin(struct logs_task *t, const struct proc *p)
{
	struct logs_place place;

	t->out_offset = process_logs_within(t->out_offset, &p->out);
	t->err_offset = process_logs_within(t->err_offset, &p->err);
	/* With an offset the client has the bytes before it; without one it has none. */
	t->out_seen = t->has_tail ? p->out.total : t->out_offset;
	t->err_seen = t->has_tail ? p->err.total : t->err_offset;
	if (!t->since)
		return;
	process_logs_place(t, p, &place);
	t->out_seen = place.at[0];
	t->err_seen = place.at[1];
	t->since = place.at[0] + place.at[1];
}

static enum cap_outcome process_logs_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), call->e);
	struct logs_task *t = r->task;

	if (!p)
		return CAP_FAILED;
	if (t->grep) {
		grep_start(t->grep, c, r, p);
		return CAP_WAITING;
	}
	t->seq = p->seq;
	if (!t->has_clean)
		t->clean = r->dialect->cleans && p->out.range->screen.cols;
	process_logs_begin(t, p);
	if (wait_ms(r) <= 0 || process_logs_has_news(r, p)) {
		process_logs_write_result(req_result(r), r, p);
		return CAP_DONE;
	}
	r->run = p->seq;
	r->answer_now = process_logs_on_timer;
	r->answer_now_ctx = c;
	wait_add(&c->waits, r, p, PROC_EVENT_OUTPUT | PROC_EVENT_SETTLED | PROC_EVENT_FAILED,
		 process_logs_on_event);
	req_timer(r, wait_ms(r), process_logs_on_timer, c);
	return CAP_WAITING;
}

const struct cap_ops cap_process_logs = {
	.prepare = process_logs_prepare,
	.start = process_logs_start,
};
