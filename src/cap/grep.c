/*
 * A line near a match is kept once, however many matches are near; a match refers to it by its
 * index in the list. The lines at the end of the list that are near no match yet become the context
 * of the next match.
 */
#include "cap/grep.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "cap/cap.h"
#include "cap/logs_members.h"
#include "proc/lines.h"
#include "proc/names.h"

#define SHOWN_MAX GREP_SHOWN_MAX
#define SHOWN_BEFORE 200 /* bytes that are shown before the match */
#define MATCH_BYTES 200  /* JSON of a match without its lines */
#define LINE_BYTES 3     /* JSON of a line without its text */
#define PLACE_BYTES 26   /* text of the place of a match that joins none (mcp/text_logs.h) */
#define NUMBER_BYTES 6   /* text of the number of a line */

struct kept {
	int stream;
	uint64_t offset, number;
	bool follows;    /* the previous line in the list */
	bool cut;
	size_t at, len;  /* position in struct grep.texts */
};

/* What an answer has room for, or a match takes: JSON, and the text that a model reads, where a
 * line that is near two matches is there once. */
struct room {
	size_t json, text;
};

struct grep {
	struct grep_queue *queue; /* the queue that holds it, or NULL */
	struct grep *next;
	struct cap *c;
	struct req *r;
	uint64_t seq;
	struct pattern *pattern;
	int context;
	size_t matches_max;
	struct room room;
	struct grep_range range; /* offset: where the next slice starts */
	int stream;
	bool open;               /* `lines` is initialised */
	struct lines lines;
	struct kept *kept;
	size_t kept_count, kept_room;
	size_t *matches;         /* indexes in kept */
	size_t matches_count;
	size_t tied;             /* lines at the start of kept that are near a match */
	int after;               /* further lines that belong to the last match */
	bool full;               /* keep no more matches */
	bool given_up;           /* there is no time to search the rest */
	uint64_t total;
	struct buf texts;
};

struct grep *grep_new(const struct req *r, const struct grep_range *range, struct err *e)
{
	const json_t *params = r->params;
	struct pattern *pattern = pattern_new(json_get_str(params, "grep", ""),
					      json_get_bool(params, "ignore_case", false), e);
	struct grep *g;

	if (!pattern)
		return NULL;
	g = mem_zalloc(sizeof(*g));
	g->pattern = pattern;
	g->range = *range;
	g->context = (int)json_get_int(params, "context", 0);
	g->matches_max = (size_t)json_get_int(params, "max_matches", 1);
	g->room = (struct room){ .json = req_text_bytes(r), .text = req_page_bytes(r) };
	buf_init(&g->texts, g->room.text + 2 * (size_t)(g->context + 1) * SHOWN_MAX);
	return g;
}

static void grep_leave_queue(struct grep *g)
{
	struct grep_queue *q = g->queue;
	struct grep **at = &q->first;

	q->last = NULL;
	while (*at) {
		if (*at == g) {
			*at = g->next;
		} else {
			q->last = *at;
			at = &(*at)->next;
		}
	}
	if (!q->first)
		slices_drop(&q->job);
}

void grep_free(struct grep *g)
{
	if (!g)
		return;
	if (g->queue)
		grep_leave_queue(g);
	lines_end(&g->lines);
	pattern_free(g->pattern);
	buf_release(&g->texts);
	free(g->kept);
	free(g->matches);
	free(g);
}

/* ---- collecting ---- */

/* Drop the oldest kept line that is near no match. */
static void grep_forget_line(struct grep *g)
{
	struct kept *k = &g->kept[g->tied];
	size_t len = k->len, behind = k->at + len;

	memmove(g->texts.data + k->at, g->texts.data + behind, g->texts.len - behind);
	buf_truncate(&g->texts, g->texts.len - len);
	g->kept_count--;
	memmove(k, k + 1, (g->kept_count - g->tied) * sizeof(*k));
	for (size_t i = g->tied; i < g->kept_count; i++)
		g->kept[i].at -= len;
	if (g->tied < g->kept_count)
		k->follows = false;
}

size_t grep_shown(const struct line *line, size_t at, size_t *len)
{
	size_t from = 0;

	if (line->len > SHOWN_MAX && at > SHOWN_BEFORE) {
		from = at - SHOWN_BEFORE;
		from += utf8_partial_head(line->text + from, line->len - from);
	}
	*len = utf8_cut(line->text + from, line->len - from, SHOWN_MAX);
	return from;
}

bool grep_is_cut(const struct line *line, size_t shown)
{
	return shown < line->len || line->no_head || line->no_tail;
}

enum pattern_found grep_find(struct pattern *p, const struct line *line, size_t *at)
{
	unsigned part = (line->no_head ? PATTERN_NO_HEAD : 0u) |
			(line->no_tail ? PATTERN_NO_TAIL : 0u);

	return pattern_find(p, line->text, line->len, part, at);
}

/* Keep the shown part of @line, around @at. No context reaches over a further part to lines before
 * its own. */
static void grep_keep_line(struct grep *g, const struct line *line, size_t at)
{
	size_t len, from = grep_shown(line, at, &len);

	if (g->kept_count == g->kept_room)
		g->kept = mem_grow(g->kept, &g->kept_room, 64, sizeof(*g->kept));
	g->kept[g->kept_count++] = (struct kept){
		.stream = g->stream, .offset = line->offset, .number = line->number,
		.follows = line->follows && !line->goes_on,
		.cut = grep_is_cut(line, len), .at = g->texts.len, .len = len,
	};
	buf_add(&g->texts, line->text + from, len);
}

/* The last kept line matches: all kept lines are near a match now. */
static void grep_add_match(struct grep *g)
{
	g->matches = mem_realloc(g->matches, (g->matches_count + 1) * sizeof(*g->matches));
	g->matches[g->matches_count++] = g->kept_count - 1;
	g->tied = g->kept_count;
	g->after = g->context;
}

static void grep_take_line(struct grep *g, const struct line *line, bool matches, size_t at)
{
	g->total += matches;
	if (matches && !g->full &&
	    (g->matches_count == g->matches_max || g->texts.len >= g->room.text)) {
		g->full = true;
		g->range.offset[g->stream] = line->offset;
	}
	if ((g->full && !g->after) || (line->goes_on && (g->full || !matches)))
		return;
	grep_keep_line(g, line, at);
	if (matches && !g->full) {
		grep_add_match(g);
	} else if (g->after) {
		g->after--;
		g->tied = g->kept_count;
	}
	while (g->kept_count - g->tied > (size_t)g->context)
		grep_forget_line(g);
}

/* ---- the answer ---- */

static void grep_write_text(struct jsonw *w, const struct grep *g, const char *key, size_t i)
{
	jsonw_strn(w, key, g->texts.data + g->kept[i].at, g->kept[i].len);
}

/* The context of the match at index @i: [*@from, *@to). */
static void grep_find_context(const struct grep *g, size_t i, size_t *from, size_t *to)
{
	*from = i;
	while (i - *from < (size_t)g->context && *from && g->kept[*from].follows)
		--*from;
	*to = i + 1;
	while (*to - i <= (size_t)g->context && *to < g->kept_count && g->kept[*to].follows)
		++*to;
}

/* What the match with the lines [@from, @to) takes; those before @shown are there already. */
static struct room grep_match_size(const struct grep *g, size_t from, size_t to, size_t shown)
{
	bool joins = from < shown || (from == shown && g->kept[from].follows);
	struct room size = { .json = MATCH_BYTES, .text = joins ? 0 : PLACE_BYTES };

	for (size_t i = from; i < to; i++) {
		size.json += LINE_BYTES + jsonw_escaped_size(g->texts.data + g->kept[i].at,
							     g->kept[i].len);
		if (i >= shown)
			size.text += NUMBER_BYTES + g->kept[i].len;
	}
	return size;
}

static void grep_write_lines(struct jsonw *w, const struct grep *g, const char *key, size_t from,
			     size_t to)
{
	jsonw_array(w, key);
	for (size_t i = from; i < to; i++)
		grep_write_text(w, g, NULL, i);
	jsonw_end_array(w);
}

static void grep_write_match(struct jsonw *w, const struct grep *g, size_t i, size_t from,
			     size_t to)
{
	const struct kept *k = &g->kept[i];

	jsonw_object(w, NULL);
	jsonw_str(w, "stream", names_streams[k->stream]);
	jsonw_int(w, "offset", (int64_t)k->offset);
	jsonw_int_or_null(w, "line", k->number, (int64_t)k->number);
	grep_write_text(w, g, "text", i);
	if (k->cut)
		jsonw_bool(w, "cut", true);
	grep_write_lines(w, g, "before", from, i);
	grep_write_lines(w, g, "after", i + 1, to);
	jsonw_end_object(w);
}

/* Write as many matches as fit, at least one. */
static void grep_write_matches(struct jsonw *w, struct grep *g)
{
	struct room left = g->room, size;
	size_t from, to = 0, n = 0;

	jsonw_array(w, "matches");
	for (; n < g->matches_count; n++) {
		size_t shown = to;

		grep_find_context(g, g->matches[n], &from, &to);
		size = grep_match_size(g, from, to, shown);
		if ((size.json > left.json || size.text > left.text) && n)
			break;
		left.json -= size.json < left.json ? size.json : left.json;
		left.text -= size.text < left.text ? size.text : left.text;
		grep_write_match(w, g, g->matches[n], from, to);
	}
	jsonw_end_array(w);
	for (size_t i = g->matches_count; i-- > n;)
		g->range.offset[g->kept[g->matches[i]].stream] = g->kept[g->matches[i]].offset;
	jsonw_int(w, "matches_total", (int64_t)g->total);
	jsonw_bool(w, "truncated", g->given_up || n < g->total);
}

static void grep_write_result(struct jsonw *w, struct grep *g, const struct proc *p)
{
	logs_members_begin(w, p);
	grep_write_matches(w, g);
	logs_members_end(w, p, g->range.offset[0], g->range.offset[1]);
}

void grep_limit_reached(struct err *e, const char *stream, uint64_t offset, const char *by)
{
	err_set(e, ERR_LIMIT_REACHED,
		"the pattern took too many steps, or too much depth or memory, in the line at "
		"offset %llu of %s", (unsigned long long)offset, stream);
	err_hint(e, "Simplify it (no repeat inside a repeat), or go on after that "
		    "line by %s.", by);
	err_detail(e, "stream", json_string(stream));
	err_detail(e, "offset", json_integer((json_int_t)offset));
	e->lasting = true;
}

static void grep_fail_limit(struct grep *g, const struct line *line, const struct proc *p)
{
	ERR_LOCAL(e);

	grep_limit_reached(&e, names_streams[g->stream], line->offset, "offset");
	if (!g->full)
		g->range.offset[g->stream] = line->offset;
	grep_write_result(req_result(g->r), g, p);
	req_fail_partial(g->r, &e);
}

/* ---- slices ---- */

/* Read the next line of the streams to search; false at the end. */
static bool grep_next_line(struct grep *g, const struct proc *p, struct line *line)
{
	for (; g->stream < 2; g->stream++) {
		const struct output *o = proc_output(p, g->stream);

		if (!g->range.wanted[g->stream])
			continue;
		if (!g->open) {
			lines_begin(&g->lines, o, g->range.offset[g->stream]);
			g->lines.grows = proc_output_open(p);
		}
		g->open = true;
		if (lines_next(&g->lines, o, line))
			return true;
		if (!g->full)
			g->range.offset[g->stream] = g->lines.offset;
		lines_end(&g->lines);
		g->open = false;
		g->after = 0;
	}
	return false;
}

/* Search for one slice; may answer the request, which frees @g. */
static void grep_search(struct grep *g, const struct proc *p, int64_t until_us)
{
	enum pattern_found found;
	struct line line;
	size_t at;

	do {
		if (!grep_next_line(g, p, &line)) {
			grep_write_result(req_result(g->r), g, p);
			req_ok(g->r);
			return;
		}
		at = 0;
		found = grep_find(g->pattern, &line, &at);
		if (found == PATTERN_LIMIT) {
			grep_fail_limit(g, &line, p);
			return;
		}
		grep_take_line(g, &line, found == PATTERN_PRESENT, at);
	} while (clock_mono_us() < until_us);
}

/* The job of the queue: the first search, until it is done. */
static bool grep_work(void *queue, int64_t until_us)
{
	struct grep_queue *q = queue;
	struct grep *g = q->first;
	const struct proc *p = proctab_get(g->c->procs, g->seq);
	ERR_LOCAL(e);

	if (p) {
		grep_search(g, p, until_us);
	} else {
		err_set(&e, ERR_PROCESS_NOT_FOUND, "the run was forgotten while it was searched");
		req_fail(g->r, &e);
	}
	return q->first;
}

/* With what was found so far; what is left begins where the next page would. */
static void grep_answer_now(void *grep, struct req *r)
{
	struct grep *g = grep;
	const struct proc *p = proctab_get(g->c->procs, g->seq);

	if (!p)
		return;
	g->given_up = true;
	if (g->open && !g->full)
		g->range.offset[g->stream] = g->lines.offset;
	grep_write_result(req_result(r), g, p);
	req_ok(r);
}

void grep_start(struct grep *g, struct cap *c, struct req *r, const struct proc *p)
{
	const uint64_t totals[] = { p->out.total, p->err.total };
	struct grep_queue *q = &c->greps;

	g->queue = q;
	g->c = c;
	g->r = r;
	g->seq = p->seq;
	r->answer_now = grep_answer_now;
	r->answer_now_ctx = g;
	for (size_t i = 0; i < COUNT_OF(totals); i++) /* beyond the end counts as the end */
		if (g->range.offset[i] > totals[i])
			g->range.offset[i] = totals[i];
	*(q->last ? &q->last->next : &q->first) = g;
	q->last = g;
	q->job.work = grep_work;
	q->job.data = q;
	slices_add(&c->slices, c->loop, &q->job);
}
