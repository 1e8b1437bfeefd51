#include "mcp/text_logs.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define WAIT_MS 45000
#define PARAMETER_BYTES 160 /* of one that the next call repeats; more is left to the reader */
#define NEXT_BYTES 210      /* the call for the next page */
#define NUMBER_BYTES 6      /* of a line in 2 MiB, beyond the marks of its JSON */
#define MARKS_BYTES 480 /* headings, and what follows a page, which has at most 9,500 bytes */

struct stream {
	const char *name, *size, *next, *evicted;
};

static const struct stream text_logs_out = {
	"stdout", "stdout_size", "stdout_next_offset", "stdout_evicted",
};
static const struct stream text_logs_err = {
	"stderr", "stderr_size", "stderr_next_offset", "stderr_evicted",
};

/* Repeat the parameter @name unless it is the default. Returns false if it is too long. */
static bool text_logs_add_parameter(struct text *t, const char *name)
{
	const json_t *value = json_object_get(t->a->params, name);
	AUTO_FREE char *json = NULL;

	if (!value || schema_is_default(t->a->row->input, name, value))
		return true;
	json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (strlen(json) > PARAMETER_BYTES)
		return false;
	text_add(t, ",\"%s\":%s", name, json);
	return true;
}

/* What the caller asked for beside the place is asked for again. */
static void text_logs_add_same(struct text *t)
{
	static const char *const same[] = { "limit", "encoding", "clean" };

	for (size_t i = 0; i < COUNT_OF(same); i++)
		(void)text_logs_add_parameter(t, same[i]);
}

static bool text_logs_wants(const struct text *t, const char *stream)
{
	const char *asked = json_get_str(t->a->params, "stream", "both");

	return !strcmp(asked, "both") || !strcmp(asked, "combined") || !strcmp(asked, stream);
}

static bool text_logs_lacks_newline(const struct text *t)
{
	return t->midline && strcmp(json_get_str(t->a->params, "encoding", ""), "base64");
}

/*
 * Begin a line that is ours. Where the output before it ends inside a line, say that the newline
 * in between is no output, so that a reader can leave it out. Base64 is one line.
 */
static void text_logs_open_mark(struct text *t)
{
	bool lacks_newline = text_logs_lacks_newline(t);

	text_end_line(t);
	text_add(t, lacks_newline ? "[... no newline here; " : "[... ");
}

/* The same bytes can be had as they are, unless only the call that follows has room. */
static void text_logs_add_replaced(struct text *t)
{
	if (t->left < TEXT_REPLACED_BYTES + NEXT_BYTES || !text_has_replaced(t))
		return;
	text_logs_open_mark(t);
	text_add(t, TEXT_REPLACED "this call with \"encoding\":\"base64\" returns them ...]\n");
}

static void text_logs_add_heading(struct text *t, const char *stream)
{
	if (text_logs_lacks_newline(t))
		text_add(t, "\n[... no newline here ...]");
	text_end_line(t);
	text_add(t, "--- %s\n", stream);
}

/* The evicted bytes [*from, *to) of a stream; false: there are none. */
static bool text_logs_evicted(const struct text *t, const struct stream *s, int64_t *from,
			      int64_t *to)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *v = text_member(t, NULL, s->evicted), *first;

	if (!v || v->kind != OUTLINE_ARRAY)
		return false;
	first = outline_next(o, v, NULL);
	*from = first->number;
	*to = outline_next(o, v, first)->number;
	return true;
}

/* The evicted part of a stream, unless the page begins behind it at @offset. @so: what follows from
 * that, or "". */
static void text_logs_add_evicted(struct text *t, const struct stream *s, int64_t offset,
				  const char *so)
{
	int64_t from, to;

	if (!text_logs_wants(t, s->name) || !text_logs_evicted(t, s, &from, &to) || offset >= to)
		return;
	text_logs_open_mark(t);
	text_add(t, "bytes ");
	text_add_count(t, (uint64_t)from);
	text_add(t, " to ");
	text_add_count(t, (uint64_t)to);
	text_add(t, " of %s are no longer kept%s ...]\n", s->name, so);
}

/* Does the page have all the last lines of @s that were asked for? What is evicted lies before
 * them. */
static bool text_logs_has_tail(const struct text *t, const struct stream *s)
{
	int64_t lines = json_get_int(t->a->params, "tail_lines", -1);
	size_t kept, at = 0;
	const char *text = text_bytes(t, text_member(t, NULL, s->name), &kept), *end;

	for (; lines > 0 && at < kept; lines--) {
		end = memchr(text + at, '\n', kept - at);
		at = end ? (size_t)(end + 1 - text) : kept;
	}
	return !lines;
}

static void text_logs_add_all_evicted(struct text *t, const char *so)
{
	int64_t offset = json_get_int(t->a->params, "offset", 0);

	if (!text_logs_has_tail(t, &text_logs_out))
		text_logs_add_evicted(t, &text_logs_out, offset, so);
	if (!text_logs_has_tail(t, &text_logs_err))
		text_logs_add_evicted(t, &text_logs_err,
				      json_get_int(t->a->params, "stderr_offset", offset), so);
}

/* The kept bytes behind the page. */
static int64_t text_logs_rest(const struct text *t, const struct stream *s)
{
	int64_t next = text_number(t, NULL, s->next), rest = text_number(t, NULL, s->size) - next;
	int64_t from, to;

	if (!text_logs_wants(t, s->name))
		return 0;
	if (text_logs_evicted(t, s, &from, &to) && next < to)
		rest -= to - (next > from ? next : from);
	return rest;
}

static bool text_logs_has_output(const struct text *t, const struct stream *s)
{
	return text_logs_wants(t, s->name) && text_number(t, NULL, s->size);
}

static bool text_logs_runs(const struct text *t)
{
	return text_is(t, NULL, "state", "running");
}

/* A call with wait_ms took the command for running, and an empty page shows nothing of its end. */
static bool text_logs_tells_end(const struct text *t, bool empty)
{
	return !text_logs_runs(t) && (empty || json_get_int(t->a->params, "wait_ms", 0) > 0);
}

static void text_logs_add_state(struct text *t, bool empty)
{
	bool any = text_logs_has_output(t, &text_logs_out) ||
		   text_logs_has_output(t, &text_logs_err);
	int code = t->a->run ? proc_exit_code(t->a->run) : -1;

	if (empty)
		text_add(t, any ? "no more output" : "no output");
	if (text_logs_runs(t)) {
		text_add(t, empty ? " yet, still running; " : "still running; ");
		return;
	}
	text_add(t, empty ? "; the command has ended" : "the command has ended");
	if (code >= 0)
		text_add(t, " with exit %d", code);
	if (!text_may_call(t, "process_monitor"))
		return;
	text_add(t, code >= 0 ? "; " : ": ");
	text_open_call(t, "process_monitor");
	text_add(t, code >= 0 ? "} tells more" : "} tells how");
}

/* Does the next call read on in @s? @more: bytes of it are there. A running command can write to it
 * meanwhile. */
static bool text_logs_goes_on(const struct text *t, const struct stream *s, bool more)
{
	return text_logs_wants(t, s->name) && (more || text_logs_runs(t));
}

/* The place where the next call reads on. @out, @err: bytes that follow the page; of both streams
 * in order of arrival they have one place. */
static void text_logs_add_next_place(struct text *t, int64_t out, int64_t err)
{
	if (text_member(t, NULL, "entries"))
		text_add(t, ",\"stream\":\"combined\",\"since\":%" PRId64,
			 text_number(t, NULL, "next_since"));
	else
		text_add_place(t, text_logs_goes_on(t, &text_logs_out, out > 0),
			       text_logs_goes_on(t, &text_logs_err, err > 0),
			       text_number(t, NULL, text_logs_out.next),
			       text_number(t, NULL, text_logs_err.next));
}

/* How much follows the page, and the call that reads it. */
static void text_logs_add_next(struct text *t, bool empty)
{
	int64_t out = text_logs_rest(t, &text_logs_out), err = text_logs_rest(t, &text_logs_err);
	bool running = text_logs_runs(t), combined = text_member(t, NULL, "entries");
	bool more = text_flag(t, "truncated") && (combined || out + err > 0);

	if (!more && !running && !text_logs_tells_end(t, empty))
		return;
	if (empty)
		text_add(t, "[");
	else
		text_logs_open_mark(t);
	if (!more) {
		text_logs_add_state(t, empty);
	} else if (combined) {
		text_add(t, "more: ");
	} else {
		text_add_plural(t, out + err, "more byte", "more bytes");
		text_add(t, ": ");
	}
	if (more || running) {
		text_open_call(t, "process_logs");
		text_logs_add_next_place(t, out, err);
		text_logs_add_same(t);
		text_add(t, more ? "}" : ",\"wait_ms\":%d} waits for more", WAIT_MS);
	}
	text_add(t, empty ? "]" : " ...]");
}

static void text_logs_page(struct text *t)
{
	const struct outline_value *out = text_member(t, NULL, "stdout");
	const struct outline_value *err = text_member(t, NULL, "stderr");
	bool both = out->text_len && err->text_len;
	size_t room = t->left - MARKS_BYTES;
	size_t half = both ? room / 2 : room;

	if (both)
		text_logs_add_heading(t, "stdout");
	text_put_ends(t, out, both && err->text_len < half ? room - err->text_len : half);
	if (err->text_len && (both || text_logs_wants(t, "stdout")))
		text_logs_add_heading(t, "stderr");
	text_put_ends(t, err, both && out->text_len < half ? room - out->text_len : half);
	text_logs_add_all_evicted(t, "");
	text_logs_add_replaced(t);
	text_logs_add_next(t, !out->text_len && !err->text_len);
}

/* ---- matches of grep ---- */

/* "4021:", or the mark alone if the number is unknown: @line < 1. */
static void text_logs_add_number(struct text *t, int64_t line, char mark)
{
	if (line > 0)
		text_add(t, "%" PRId64, line);
	text_add(t, "%c", mark);
}

/* The lines before or after a match. */
struct context {
	const struct outline_value *lines;
	int64_t from, to; /* line numbers [from, to); below 1: unknown */
};

static struct context text_logs_before(const struct text *t, const struct outline_value *match)
{
	int64_t line = text_number(t, match, "line");

	return (struct context){ text_member(t, match, "before"),
				 line - text_count(t, match, "before"), line };
}

static struct context text_logs_after(const struct text *t, const struct outline_value *match)
{
	int64_t line = text_number(t, match, "line"), from = line ? line + 1 : 0;

	return (struct context){ text_member(t, match, "after"), from,
				 from + text_count(t, match, "after") };
}

/* "4020-text": the lines of @c, of those with a number only [@from, @to). */
static void text_logs_add_context(struct text *t, const struct context *c, int64_t from, int64_t to)
{
	const struct outline_value *v = NULL;
	int64_t line = c->from;

	while (c->lines && (v = outline_next(&t->a->result->outline, c->lines, v))) {
		if (line < 1 || (line >= from && line < to)) {
			text_logs_add_number(t, line, '-');
			text_put_member(t, v);
			text_add(t, "\n");
		}
		line += line > 0;
	}
}

/* Does no line lie between what is shown of @match and of @last, the match before it? */
static bool text_logs_joins(const struct text *t, const struct outline_value *last,
			    const struct outline_value *match)
{
	return last && text_number(t, last, "line") && text_number(t, match, "line") &&
	       text_is(t, last, "stream", "stderr") == text_is(t, match, "stream", "stderr") &&
	       text_logs_before(t, match).from <= text_logs_after(t, last).to;
}

static void text_logs_add_matching_line(struct text *t, const struct outline_value *match)
{
	text_logs_add_number(t, text_number(t, match, "line"), ':');
	text_put_match(t, match);
	text_add(t, "\n");
}

static void text_logs_add_match_heading(struct text *t, const struct outline_value *match)
{
	text_add(t, "-- ");
	text_put_member(t, text_member(t, match, "stream"));
	text_add(t, ", offset %" PRId64 "\n", text_number(t, match, "offset"));
}

/*
 * The lines after @last, the match that was shown before it, and then @match itself, as `grep -n`
 * shows it, under its stream and offset unless it joins @last. NULL: there is none. A line that is
 * near both is shown once.
 */
static void text_logs_add_match(struct text *t, const struct outline_value *last,
				const struct outline_value *match)
{
	struct context after = { 0 }, before;
	bool joins = match && text_logs_joins(t, last, match);

	if (last)
		after = text_logs_after(t, last);
	text_logs_add_context(t, &after, 1, joins ? text_number(t, match, "line") : INT64_MAX);
	if (!match)
		return;
	if (!joins)
		text_logs_add_match_heading(t, match);
	before = text_logs_before(t, match);
	text_logs_add_context(t, &before, joins ? after.to : 1, INT64_MAX);
	text_logs_add_matching_line(t, match);
}

/* The first match, if the text has no room for it with its context: a call that shows nothing would
 * name itself as the next one. */
static void text_logs_add_match_alone(struct text *t, const struct outline_value *match)
{
	text_logs_add_match_heading(t, match);
	text_logs_add_matching_line(t, match);
	text_add(t, "[... its context has no room ...]\n");
}

/* Bytes that the lines after @last, and @match with the lines near it, need at most: their JSON,
 * and what the numbers of lines take more than its marks. */
static size_t text_logs_needs(const struct text *t, const struct outline_value *last,
			      const struct outline_value *match)
{
	const struct outline_value *after = last ? text_member(t, last, "after") : NULL;
	int64_t lines = text_count(t, match, "before") + text_count(t, match, "after") +
			(last ? text_count(t, last, "after") : 0);

	return match->json_len + (after ? after->json_len : 0) + NUMBER_BYTES * (size_t)lines;
}

/* The call that goes on with @unshown, the first match that the text has no room for; NULL: with
 * what the list has no room for. */
static void text_logs_add_next_search(struct text *t, const struct outline_value *matches,
				      const struct outline_value *unshown)
{
	static const char *const same[] = { "ignore_case", "context", "max_matches" };
	int64_t out = text_number(t, NULL, "stdout_next_offset");
	int64_t err = text_number(t, NULL, "stderr_next_offset");
	bool whole;

	for (const struct outline_value *v = unshown; v;
	     v = outline_next(&t->a->result->outline, matches, v)) {
		int64_t offset = text_number(t, v, "offset");
		int64_t *next = text_is(t, v, "stream", "stderr") ? &err : &out;

		*next = offset < *next ? offset : *next;
	}
	text_open_call(t, "process_logs");
	text_add_place(t,
		       text_logs_goes_on(t, &text_logs_out,
					 out < text_number(t, NULL, "stdout_size")),
		       text_logs_goes_on(t, &text_logs_err,
					 err < text_number(t, NULL, "stderr_size")),
		       out, err);
	whole = text_logs_add_parameter(t, "grep");
	for (size_t i = 0; i < COUNT_OF(same); i++)
		(void)text_logs_add_parameter(t, same[i]);
	text_add(t, whole ? "}" : "} with the same \"grep\"");
}

static void text_logs_matches(struct text *t)
{
	const struct outline_value *matches = text_member(t, NULL, "matches"), *v = NULL;
	const struct outline_value *last = NULL;
	int64_t total = text_number(t, NULL, "matches_total"), shown = 0;

	text_add_plural(t, total, "match", "matches");
	text_add(t, "\n");
	while ((v = outline_next(&t->a->result->outline, matches, v)) &&
	       t->left > text_logs_needs(t, last, v) + MARKS_BYTES + TEXT_REPLACED_BYTES) {
		text_logs_add_match(t, last, v);
		last = v;
		shown++;
	}
	if (v && !shown) {
		text_logs_add_match_alone(t, v);
		v = outline_next(&t->a->result->outline, matches, v);
		shown++;
	}
	text_logs_add_match(t, last, NULL);
	text_logs_add_all_evicted(t, ", and were not searched");
	text_add_replaced(t);
	if (shown >= total && text_flag(t, "truncated")) {
		text_add(t, "[... the rest was not searched: the server ends ...]");
		return;
	}
	if (!total && text_logs_runs(t) && text_may_call(t, "process_monitor"))
		text_add(t, "[still running; process_monitor with \"until\":\"pattern\" waits "
			    "for one]");
	if (shown >= total)
		return;
	text_open_shown(t, shown, total);
	text_add(t, "the next: ");
	text_logs_add_next_search(t, matches, v);
	text_add(t, " ...]");
}

/* ---- both streams in order of arrival ---- */

/* @s has no entry behind its evicted part: nothing of it is kept. */
static void text_logs_add_dropped(struct text *t, const struct stream *s)
{
	int64_t from, to;

	if (text_logs_evicted(t, s, &from, &to) && to == text_number(t, NULL, s->size))
		text_logs_add_evicted(t, s, 0, "");
}

static void text_logs_entries(struct text *t)
{
	const struct outline_value *entries = text_member(t, NULL, "entries"), *v = NULL;
	const struct stream *s = NULL;
	int64_t from, to;

	while ((v = outline_next(&t->a->result->outline, entries, v))) {
		bool err = text_is(t, v, "stream", "stderr");

		if (!s || err != (s == &text_logs_err)) {
			s = err ? &text_logs_err : &text_logs_out;
			text_logs_add_heading(t, s->name);
		}
		/* The first entry behind the evicted part begins where that ends. */
		if (text_logs_evicted(t, s, &from, &to) && text_number(t, v, "offset") == to)
			text_logs_add_evicted(t, s, 0, "");
		text_put_member(t, text_member(t, v, "data"));
	}
	text_logs_add_dropped(t, &text_logs_out);
	text_logs_add_dropped(t, &text_logs_err);
	text_logs_add_replaced(t);
	text_logs_add_next(t, !s);
}

void text_logs(struct text *t)
{
	if (text_member(t, NULL, "matches"))
		text_logs_matches(t);
	else if (text_member(t, NULL, "entries"))
		text_logs_entries(t);
	else
		text_logs_page(t);
}
