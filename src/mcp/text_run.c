#include "mcp/text_run.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "cap/cap.h"
#include "mcp/text.h"
#include "mcp/text_verdict.h"
#include "proc/output_text.h"

#define COUNT_MAX (2u << 20) /* output beyond this is not read to count its lines */
#define NEWLINE_NEAR 160     /* a cut moves to a line's end within this distance */
#define VERDICT_BYTES 400
#define PART_MIN 300         /* least budget of a stream */
#define TAIL_DRAWN (256u << 10)

/* A stream, and the part of it that is shown. */
struct part {
	const char *name;
	const struct output *o;
	uint64_t from, to; /* bytes [from, to) are left out */
	bool end_only;     /* the call limits lines or bytes, counted from the end */
	uint64_t start;    /* of the part that these limits allow */
	size_t need;       /* bytes of text for that part; MCP_TEXT_MAX: that much or more */
	size_t budget;
	struct output_tail tail; /* of a terminal: the limits ... */
	struct buf head_text, tail_text; /* ... and what it shows of both ends */
};

/* ---- reading ---- */

/* Could its end not be stored? */
static bool text_run_lacks_end(const struct output *o)
{
	uint64_t from, to;

	return output_evicted(o, &from, &to) && to == o->total;
}

/* Is nothing of it kept? */
static bool text_run_is_gone(const struct output *o)
{
	uint64_t from, to;

	return output_evicted(o, &from, &to) && !from && to == o->total;
}

/* Read up to @max kept bytes of @o from @offset on. Returns how many. */
static size_t text_run_read(const struct output *o, uint64_t offset, char *bytes, size_t max)
{
	uint64_t at = offset;
	ssize_t n = output_read(o, &at, bytes, max);

	return n > 0 && at == offset ? (size_t)n : 0;
}

/*
 * How many of @bytes, in whole characters, can be shown in @max bytes; U+FFFD in place of
 * each ill-formed part takes three. *@size: the bytes that they take.
 */
static size_t text_run_shown_prefix(const char *bytes, size_t len, size_t max, size_t *size)
{
	size_t at = 0, used, part;

	*size = 0;
	for (; at < len; at += used) {
		part = utf8_next(bytes + at, len - at, &used) == UTF8_VALID
			       ? used
			       : strlen(UTF8_REPLACEMENT);
		if (*size + part > max)
			break;
		*size += part;
	}
	return at;
}

/* The bytes of text for @o from @start on; MCP_TEXT_MAX if that much or more. */
static size_t text_run_shown_size(const struct output *o, uint64_t start)
{
	uint64_t rest = o->total - start;
	char bytes[MCP_TEXT_MAX];
	size_t len, size;

	if (rest >= MCP_TEXT_MAX)
		return MCP_TEXT_MAX;
	len = text_run_read(o, start, bytes, (size_t)rest);
	return len < rest || text_run_shown_prefix(bytes, len, MCP_TEXT_MAX, &size) < len
		       ? MCP_TEXT_MAX
		       : size;
}

/* Where the first @max bytes of @o end: at a line's end if one is near, else at a character. */
static uint64_t text_run_head_end(const struct output *o, size_t max)
{
	char bytes[MCP_TEXT_MAX];
	size_t len = text_run_read(o, 0, bytes, max), size;
	const char *newline;

	len = text_run_shown_prefix(bytes, len - utf8_partial_tail(bytes, len), max, &size);
	newline = memrchr(bytes, '\n', len);
	if (newline && newline + NEWLINE_NEAR > bytes + len)
		len = (size_t)(newline + 1 - bytes);
	return len;
}

/* Does a line begin at @offset? */
static bool text_run_begins_line(const struct output *o, uint64_t offset)
{
	char last = '\n';

	return !offset || !text_run_read(o, offset - 1, &last, 1) || last == '\n';
}

/* 1 if the newline of a line that is cut before @offset, which @bytes begin at, would pass for an
 * empty line. */
static size_t text_run_line_rest(const struct output *o, uint64_t offset, const char *bytes,
				 size_t len)
{
	return len > 1 && *bytes == '\n' && !text_run_begins_line(o, offset);
}

/* Where the last part of @o that @max bytes can show begins, not before @first. */
static uint64_t text_run_tail_start(const struct output *o, uint64_t first, size_t max)
{
	char bytes[MCP_TEXT_MAX];
	uint64_t offset, from, kept;
	size_t len, start, size, over, near;
	const char *newline;

	if (output_evicted(o, &from, &kept) && first < kept)
		first = kept;
	offset = o->total > first + max ? o->total - max : first;
	len = text_run_read(o, offset, bytes, max);
	start = offset ? utf8_partial_head(bytes, len) : 0;
	text_run_shown_prefix(bytes + start, len - start, SIZE_MAX, &size);
	over = size > max ? size - max : 0;
	if (over) /* @over + 3: the character that contains byte @over may have four bytes */
		start += text_run_shown_prefix(bytes + start, len - start, over + 3, &size);
	else if (offset == first)
		return offset + start + text_run_line_rest(o, offset, bytes + start, len - start);
	near = len - start < NEWLINE_NEAR ? len - start : NEWLINE_NEAR;
	newline = memchr(bytes + start, '\n', near);
	if (newline)
		start = (size_t)(newline + 1 - bytes);
	return offset + start;
}

static uint64_t text_run_count_newlines(const struct output *o, uint64_t from, uint64_t to)
{
	char bytes[16384];
	uint64_t count = 0;

	while (from < to) {
		size_t want = to - from < sizeof(bytes) ? (size_t)(to - from) : sizeof(bytes);
		size_t got = text_run_read(o, from, bytes, want);

		for (size_t i = 0; i < got; i++)
			count += bytes[i] == '\n';
		if (!got)
			break;
		from += got;
	}
	return count;
}

static bool text_run_lines_known(const struct output *o)
{
	uint64_t from, to;

	return o->total <= COUNT_MAX && !output_evicted(o, &from, &to);
}

/* ---- choosing ---- */

static void text_run_take_part(struct part *part, const char *name, const struct output *o,
			       const struct output_tail *tail, bool end_only)
{
	*part = (struct part){ .name = name, .o = o, .end_only = end_only };
	if (!o->total || text_run_is_gone(o))
		return;
	if (tail)
		part->tail = *tail;
	if (o->range->screen.cols) {
		part->need = MCP_TEXT_MAX;
		return;
	}
	if (end_only) {
		part->start = output_tail_offset(o, tail->lines);
		if (o->total - part->start > tail->max_bytes)
			part->start = o->total - tail->max_bytes;
	}
	part->need = text_run_shown_size(o, part->start);
}

/* What a terminal shows of the start of its output in @max bytes. Returns where that ends. */
static uint64_t text_run_draw_head(struct part *part, size_t max)
{
	struct output_page page = { .max_bytes = SIZE_MAX, .max_encoded = max, .max_text = max,
				    .final = true };

	buf_clear(&part->head_text);
	output_clean_page(part->o, &page, &part->head_text);
	return page.next;
}

static void text_run_draw(struct part *part)
{
	size_t budget = part->budget;

	buf_init(&part->head_text, TAIL_DRAWN);
	if (!part->end_only) {
		part->from = text_run_draw_head(part, budget);
		if (part->from == part->o->total)
			return;
		part->from = text_run_draw_head(part, budget / 3);
		part->tail.lines = UINT64_MAX;
		part->tail.max_bytes = budget - budget / 3;
	}
	part->tail.from = part->from;
	if (part->tail.max_bytes > budget)
		part->tail.max_bytes = budget;
	part->tail.max_encoded = SIZE_MAX;
	buf_init(&part->tail_text, TAIL_DRAWN);
	part->to = output_clean_tail(part->o, &part->tail, &part->tail_text);
	if (!part->to) { /* it is all there is */
		buf_take(&part->head_text, &part->tail_text);
		part->from = part->to = part->o->total;
	}
}

static void text_run_cut(struct part *part)
{
	const struct output *o = part->o;
	size_t budget = part->budget;

	if (part->end_only && part->tail.max_bytes < budget)
		budget = part->tail.max_bytes;
	part->from = part->to = o->total;
	if (text_run_is_gone(o)) {
		part->from = 0;
	} else if (o->range->screen.cols && o->total) {
		part->from = 0;
		text_run_draw(part);
	} else if (text_run_lacks_end(o)) {
		part->from = part->end_only ? 0 : text_run_head_end(o, budget);
	} else if (part->start || part->need > budget) {
		part->from = part->end_only ? 0 : text_run_head_end(o, budget / 3);
		part->to = text_run_tail_start(o, part->start,
					       part->end_only ? budget : budget - budget / 3);
	}
}

/* A short stream gets what it needs, the other the rest; two long ones get half each. */
static void text_run_share(struct part *a, struct part *b, size_t left)
{
	size_t half = left / 2 > PART_MIN ? left / 2 : PART_MIN;

	left = left > PART_MIN ? left : PART_MIN;
	a->budget = b->need < half ? left - b->need : half;
	b->budget = a->need < half ? left - a->need : half;
	a->budget = a->budget < MCP_TEXT_MAX ? a->budget : MCP_TEXT_MAX - 1;
	b->budget = b->budget < MCP_TEXT_MAX ? b->budget : MCP_TEXT_MAX - 1;
	text_run_cut(a);
	text_run_cut(b);
}

static void text_run_release(struct part *part)
{
	buf_release(&part->head_text);
	buf_release(&part->tail_text);
}

static bool text_run_is_whole(const struct part *part)
{
	return part->from == part->to;
}

/* Is anything of it shown? */
static bool text_run_is_shown(const struct part *part)
{
	const struct output *o = part->o;

	return o->total && !text_run_is_gone(o) &&
	       (text_run_is_whole(part) || part->from || part->to < o->total);
}

/* ---- writing ---- */

/* "; stdout 108,915 bytes in 5,000 lines, both ends shown" */
static void text_run_add_size(struct text *t, const struct part *part)
{
	const struct output *o = part->o;

	if (text_run_is_whole(part))
		return;
	text_add(t, "; %s ", part->name);
	text_add_plural(t, (int64_t)o->total, "byte", "bytes");
	if (text_run_lines_known(o)) {
		text_add(t, " in ");
		text_add_plural(t,
				(int64_t)(text_run_count_newlines(o, 0, o->total) +
					  !text_run_begins_line(o, o->total)),
				"line", "lines");
	}
	text_add(t, text_run_is_gone(o)	    ? ", no longer kept"
		    : text_run_lacks_end(o) ? part->from ? ", start shown" : ", end not kept"
		    : part->to == o->total  ? ", not shown"
		    : part->from	    ? ", both ends shown"
					    : ", end shown");
}

/* "lines 146 to 4733, the last in part", "line 7", or "part of line 7": where
 * [part->from, part->to) lies. Numbers of lines have no separators, so that they can be copied. */
static void text_run_add_lines(struct text *t, const struct part *part)
{
	static const char *const in_part[] = { "", ", the last in part", ", the first in part",
					       ", the first and the last in part" };
	const struct output *o = part->o;
	uint64_t before = text_run_count_newlines(o, 0, part->from);
	bool begins = text_run_begins_line(o, part->from), ends = text_run_begins_line(o, part->to);
	uint64_t last = before + text_run_count_newlines(o, part->from, part->to) + !ends;

	if (last > before + 1) {
		text_add(t, "lines %" PRIu64 " to %" PRIu64 "%s", before + 1, last,
			 in_part[2 * !begins + (!ends && part->to < o->total)]);
	} else {
		text_add(t, "%sline %" PRIu64, begins && ends ? "" : "part of ", before + 1);
	}
}

/* Where the operator has no records kept, that of a run goes with its last process. */
static bool text_run_is_kept(const struct text *t)
{
	const struct cap *c = t->a->cap;

	return !c || t->a->run->tree_alive || config_int(c->config, CONFIG_LIMITS_FINISHED_RECORDS);
}

/* "[... lines 146 to 4733 (100,125 bytes) left out: process_logs {...}, or with "grep" ...]" */
static void text_run_add_mark(struct text *t, const struct part *part, bool named)
{
	const struct output *o = part->o;
	bool lines_known = text_run_lines_known(o);
	uint64_t from, to;

	text_add(t, "[... ");
	if (lines_known) {
		text_run_add_lines(t, part);
		text_add(t, " (");
	}
	text_add_plural(t, (int64_t)(part->to - part->from), "byte", "bytes");
	text_add(t, lines_known ? ") left out" : " left out");
	if (text_run_is_kept(t) && text_may_call(t, "process_logs")) {
		text_add(t, ": ");
		text_open_call(t, "process_logs");
		if (named)
			text_add(t, ",\"stream\":\"%s\"", part->name);
		text_add(t, ",\"offset\":%" PRIu64 "}, or with \"grep\"", part->from);
	}
	if (output_evicted(o, &from, &to)) {
		text_add(t, "; bytes ");
		text_add_count(t, from);
		text_add(t, " to ");
		text_add_count(t, to);
		text_add(t, " are no longer kept");
	}
	text_add(t, " ...]\n");
}

/* Of a run that goes on the rest of a character at the end may come. */
static void text_run_add_bytes(struct text *t, const struct output *o, uint64_t from, uint64_t to)
{
	char bytes[MCP_TEXT_MAX];
	size_t len = to - from < sizeof(bytes) ? (size_t)(to - from) : sizeof(bytes);

	len = text_run_read(o, from, bytes, len);
	if (to == o->total && text_is(t, NULL, "state", "running"))
		len -= utf8_partial_tail(bytes, len);
	text_put(t, bytes, len);
}

static void text_run_add_head(struct text *t, const struct part *part)
{
	if (part->o->range->screen.cols)
		text_put(t, part->head_text.data, part->head_text.len);
	else
		text_run_add_bytes(t, part->o, 0, part->from);
}

static void text_run_add_tail(struct text *t, const struct part *part)
{
	if (part->o->range->screen.cols)
		text_put(t, part->tail_text.data, part->tail_text.len);
	else
		text_run_add_bytes(t, part->o, part->to, part->o->total);
}

static void text_run_add_part(struct text *t, const struct part *part, bool named)
{
	if (!text_run_is_shown(part))
		return;
	text_end_line(t);
	text_add(t, "--- %s\n", part->name);
	text_run_add_head(t, part);
	if (!text_run_is_whole(part)) {
		text_end_line(t);
		text_run_add_mark(t, part, named);
		text_run_add_tail(t, part);
	}
	text_end_line(t);
}

/* ---- the verdict ---- */

/* The children that were killed with the command. After another signal than our SIGKILL some may
 * live on, and of those that it ended only some count. */
static void text_run_add_killed(struct text *t)
{
	int64_t leftover = text_number(t, NULL, "leftover");

	if (text_has(t, NULL, "exit_code"))
		return;
	if (text_is(t, NULL, "state", "timed_out"))
		text_add(t, ", killed");
	if (leftover > 0 && text_is(t, NULL, "signal", "SIGKILL") &&
	    !text_is(t, NULL, "reason", "signaled")) {
		text_add(t, " with ");
		text_add_plural(t, leftover, "child", "children");
	}
}

/* A repeat of a call with an idempotency_key. */
static void text_run_add_replayed(struct text *t)
{
	if (text_flag(t, "replayed"))
		text_add(t, "; the run of an earlier call with this idempotency_key: nothing new "
			    "was started");
}

static void text_run_add_ended(struct text *t, const char *none)
{
	text_add_verdict(t, NULL);
	text_run_add_killed(t);
	text_add(t, "%s", none);
	text_add_id(t);
	text_run_add_replayed(t);
}

/* What a run may do that has timed out. */
static void text_run_add_remedy(struct text *t)
{
	const struct run_result_options *options = t->a->options;

	if (!text_is(t, NULL, "reason", "timeout") || !options)
		return;
	if (t->a->run->background)
		text_add(t, ". A larger max_runtime");
	else if (options->timeout_is_most)
		text_add(t, ". %" PRId64 " s is the largest timeout; background:true has %s",
			 options->timeout_most,
			 options->background_ends ? "max_runtime instead" : "no such end");
	else
		text_add(t, ". A larger timeout (max %" PRId64 ") or background:true",
			 options->timeout_most);
	text_add(t, options->keyed ? ", with a new idempotency_key" : "");
	text_add(t, options->stdin_piped && text_may_call(t, "process_input")
			    ? "; process_input answers it while it runs." : ".");
}

static void text_run_add_running(struct text *t, const char *none)
{
	bool background = t->a->run->background, replayed = text_flag(t, "replayed");

	text_add(t, !background ? "still running after "
		    : replayed	? "running in background"
				: "started in background");
	if (!background)
		text_add_duration(t, text_number(t, NULL, "duration_ms"));
	text_add(t, "%s%s", none,
		 t->a->options && t->a->options->input_awaited ? ", waits for input" : "");
	text_add_id(t);
	text_run_add_replayed(t);
}

/* The call that waits for more of a run that goes on, or in the background for more than the text
 * shows. False: it may not be called. */
static bool text_run_add_wait(struct text *t)
{
	const struct proc *run = t->a->run;
	bool background = run->background, more = background && run->out.total + run->err.total;
	const char *tool = background ? "process_logs" : "process_monitor";

	if (!text_may_call(t, tool))
		return false;
	text_add(t, "; ");
	text_open_call(t, tool);
	if (more)
		text_add_place(t, true, true, (int64_t)run->out.total, (int64_t)run->err.total);
	text_add(t, ",\"wait_ms\":%s", more	    ? "5000} waits for more"
				       : background ? "5000} reads its output"
						    : "45000} waits for its end");
	return true;
}

/* What the caller can do with a run that goes on. One that waits for input does not end before it
 * has some. */
static void text_run_add_next(struct text *t)
{
	const struct run_result_options *options = t->a->options;
	bool may_write = text_may_call(t, "process_input"), begun;

	if (options && options->input_awaited) {
		text_add(t, "; ");
		text_add_input(t, text_member(t, NULL, "process_id"));
		text_add(t, ".");
		return;
	}
	begun = text_run_add_wait(t);
	if (options && options->input_open && may_write) {
		text_add(t, "%s process_input answers it", begun ? "," : ";");
		begun = true;
	}
	if (text_may_call(t, "process_kill"))
		text_add(t, "%s process_kill stops it", begun ? "," : ";");
	text_add(t, ".");
}

void text_run(struct text *t)
{
	const struct proc *run = t->a->run;
	const struct run_result_options *options = t->a->options;
	bool end_only = options && !options->by_default, empty = !run->out.total && !run->err.total;
	size_t taken = VERDICT_BYTES + 2 * TEXT_MARK_BYTES + TEXT_REPLACED_BYTES +
		       text_warnings_size(t);
	const char *none = empty ? ", no output" : "";
	bool running = text_is(t, NULL, "state", "running");
	struct part out, err;

	text_run_take_part(&out, "stdout", &run->out, options ? &options->out : NULL, end_only);
	text_run_take_part(&err, "stderr", &run->err, options ? &options->err : NULL, end_only);
	text_run_share(&out, &err, t->left > taken ? t->left - taken : 0);
	if (running)
		text_run_add_running(t, empty ? ", no output yet" : "");
	else
		text_run_add_ended(t, none);
	if (text_is(t, NULL, "reason", "timeout") &&
	    (text_run_is_shown(&out) || text_run_is_shown(&err)))
		text_add(t, "; output so far below");
	text_run_add_size(t, &out);
	text_run_add_size(t, &err);
	if (running)
		text_run_add_next(t);
	else
		text_run_add_remedy(t);
	text_add_warnings(t);
	text_run_add_part(t, &out, run->err.total > 0);
	text_run_add_part(t, &err, true);
	if (text_run_is_kept(t))
		text_add_replaced(t);
	text_run_release(&out);
	text_run_release(&err);
}
