#include "mcp/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define LINE_BYTES 240  /* longer strings become blocks */
#define MEMBERS_MAX 64  /* of one result; the largest has about 30 */
#define SHORT_MAX 6000  /* bytes of one member that is no block */
#define BLOCK_MIN 200   /* what a block gets in any case */
#define MARK_BYTES 240  /* heading and mark of one block */
#define NEWLINE_NEAR 160 /* a cut is moved to a line's end this near */

_Static_assert(MCP_TEXT_MAX <= OUTLINE_KEEP, "what is shown of a text is kept of it");

/* One member of a result. */
struct member {
	const struct outline_value *v;
	bool block;
	const struct output *stream; /* shown instead of the value; or NULL */
	size_t need, budget;         /* bytes of a block's text, and how many are shown */
};

struct text {
	const struct result *result;
	struct member members[MEMBERS_MAX];
	size_t count;
	const struct outline_value *process_id; /* or NULL */
	bool page;              /* a page of process.logs */
	size_t left;            /* bytes that may still be written */
};

/* ---- members ---- */

static const char *json_of(const struct text *t, const struct outline_value *v)
{
	return t->result->json.data + v->json;
}

static const char *text_of(const struct text *t, const struct outline_value *v, size_t *kept)
{
	return outline_text(&t->result->outline, v, kept);
}

static bool is_block(const struct text *t, const struct outline_value *v)
{
	const char *text;
	size_t kept;

	if (v->kind != OUTLINE_TEXT)
		return false;
	text = text_of(t, v, &kept);
	return v->json_len > LINE_BYTES || memchr(text, '\n', kept) || memchr(text, '\r', kept);
}

static bool is_called(const struct member *m, const char *name)
{
	return !strcmp(m->v->key, name);
}

/* Up to @max kept bytes of @o at @offset; how many. */
static size_t read_part(const struct output *o, uint64_t offset, char *bytes, size_t max)
{
	size_t got = 0;

	while (got < max) {
		uint64_t at = offset + got;
		ssize_t n = output_read(o, &at, bytes + got, max - got);

		if (n <= 0 || at != offset + got)
			break; /* the end, or the part that is no longer kept */
		got += (size_t)n;
	}
	return got;
}

/*
 * How many of @bytes, in whole characters, can be shown in @max bytes, when what is
 * ill-formed is repaired: U+FFFD takes three. *@size: what they take.
 */
static size_t shown_prefix(const char *bytes, size_t len, size_t max, size_t *size)
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

/* Bytes that all of @o takes when it is shown; MCP_TEXT_MAX if that is more than there is. */
static size_t shown_size(const struct output *o)
{
	char bytes[MCP_TEXT_MAX];
	size_t len, size;

	if (o->total >= MCP_TEXT_MAX)
		return MCP_TEXT_MAX;
	len = read_part(o, 0, bytes, (size_t)o->total);
	return shown_prefix(bytes, len, MCP_TEXT_MAX, &size) < len ? MCP_TEXT_MAX : size;
}

/* A stream that the summary does not show whole is shown by its two ends. */
static void choose_stream(struct member *m, const struct proc *run)
{
	const struct output *stream = NULL;

	if (run && is_called(m, "stdout_summary"))
		stream = &run->out;
	else if (run && is_called(m, "stderr_summary"))
		stream = &run->err;
	if (!stream || stream->dropped ||
	    shown_size(stream) <= m->v->text_len)
		return;
	m->stream = stream;
	m->block = true;
}

static void add_member(struct text *t, const struct outline_value *v, const struct proc *run)
{
	struct member *m = &t->members[t->count++];

	*m = (struct member){ .v = v, .block = is_block(t, v) };
	choose_stream(m, run);
	if (m->stream)
		m->need = shown_size(m->stream);
	else if (m->block)
		m->need = v->text_len;
}

static void take_members(struct text *t, const struct proc *run)
{
	const struct outline *o = &t->result->outline;

	t->count = 0;
	for (size_t i = 0; i < o->count; i++)
		if (o->values[i].level == 1) {
			BUG_IF(t->count == MEMBERS_MAX);
			add_member(t, &o->values[i], run);
		}
	t->process_id = outline_member(o, "process_id");
	t->page = outline_member(o, "stdout_next_offset");
}

/* Share what the short members leave: small blocks get all they need, the others equal parts. */
static void share_budget(struct text *t)
{
	size_t left = t->left, open = 0;
	bool changed = true;

	for (size_t i = 0; i < t->count; i++) {
		struct member *m = &t->members[i];
		size_t size = MARK_BYTES;

		open += m->block;
		if (!m->block) {
			m->budget = m->v->json_len < SHORT_MAX ? m->v->json_len : SHORT_MAX;
			m->budget = m->budget < left ? m->budget : left;
			size = strlen(m->v->key) + 3 + m->budget;
		}
		left -= size < left ? size : left;
	}
	while (open && changed) {
		size_t part = left / open;

		changed = false;
		for (size_t i = 0; i < t->count; i++) {
			struct member *m = &t->members[i];

			if (!m->block || m->budget || m->need > part)
				continue;
			m->budget = m->need ? m->need : 1;
			left -= m->need;
			open--;
			changed = true;
		}
	}
	for (size_t i = 0; i < t->count; i++)
		if (t->members[i].block && !t->members[i].budget)
			t->members[i].budget = left / open > BLOCK_MIN ? left / open : BLOCK_MIN;
}

/* ---- writing ---- */

static void add(struct jsonw *w, const char *text)
{
	jsonw_piece(w, text, strlen(text));
}

static void add_json(struct jsonw *w, const struct text *t, const struct outline_value *v)
{
	jsonw_piece(w, json_of(t, v), v->json_len);
}

/* The elements of a long array that fit, and how many do not. */
static void write_array(struct jsonw *w, const struct text *t, const struct member *m)
{
	const struct outline *o = &t->result->outline;
	const struct outline_value *v = m->v + 1, *end = o->values + o->count;
	size_t shown = 0, all = 0, size = 0;
	char mark[128];

	add(w, "[");
	for (; v < end && v->level > m->v->level; v++, all++) {
		size += v->json_len + 1;
		if (size <= m->budget && shown == all) {
			add(w, shown++ ? "," : "");
			add_json(w, t, v);
		}
	}
	add(w, "]\n");
	snprintf(mark, sizeof(mark), "[... %zu of %zu left out: ask for fewer, or for a part ...]",
		 all - shown, all);
	add(w, mark);
}

static void write_short(struct jsonw *w, const struct text *t, const struct member *m)
{
	const struct outline_value *v = m->v;
	const char *text;
	size_t len;

	add(w, v->key);
	add(w, ": ");
	if (v->kind == OUTLINE_TEXT && v->text_len) {
		text = text_of(t, v, &len);
		jsonw_piece(w, text, len);
	} else if (v->json_len <= m->budget) {
		add_json(w, t, v); /* number, list, object, "" */
	} else if (v->kind == OUTLINE_ARRAY) {
		write_array(w, t, m);
	} else {
		jsonw_piece(w, json_of(t, v), utf8_cut(json_of(t, v), v->json_len, m->budget));
		add(w, " [... cut ...]");
	}
	add(w, "\n");
}

/* Whatever follows what was @shown begins a line. */
static void end_line(struct jsonw *w, const char *shown, size_t len)
{
	if (len && shown[len - 1] != '\n')
		add(w, "\n");
}

/* Where what is left out can be had. */
static void write_mark(struct jsonw *w, const struct text *t, const struct member *m,
		       uint64_t bytes, uint64_t offset)
{
	char text[200];

	snprintf(text, sizeof(text), "[... %" PRIu64 " bytes left out here", bytes);
	add(w, text);
	if (m->stream && t->process_id) {
		add(w, ": process_logs {\"process_id\":");
		add_json(w, t, t->process_id);
		snprintf(text, sizeof(text), ",\"stream\":\"%.6s\",\"offset\":%" PRIu64 "}",
			 m->v->key, offset);
		add(w, text);
	} else if (t->page) {
		add(w, ": process_logs with the same offset and \"limit\":4000, or fewer "
		       "tail_lines, gives pages that are shown whole");
	} else if (t->process_id && !is_called(m, "command")) {
		add(w, ": process_logs {\"process_id\":");
		add_json(w, t, t->process_id);
		add(w, "}");
	}
	add(w, " ...]\n");
}

/* One text from the result itself. */
static void write_value(struct jsonw *w, const struct text *t, const struct member *m)
{
	size_t kept, start = 0, head;
	const char *text = text_of(t, m->v, &kept);

	if (m->need > m->budget) {
		head = utf8_cut(text, kept, m->budget / 3);
		start = utf8_cut(text, kept, kept - (m->budget - m->budget / 3) + 3);
		jsonw_piece(w, text, head);
		end_line(w, text, head);
		write_mark(w, t, m, m->v->text_len - kept + start - head, 0);
	}
	jsonw_piece(w, text + start, kept - start);
	end_line(w, text + start, kept - start);
}

/* What of the start fits into @max bytes, cut at a near line's end, else at a character. */
static size_t write_head(struct jsonw *w, const struct output *o, size_t max)
{
	char bytes[MCP_TEXT_MAX];
	size_t len = read_part(o, 0, bytes, max), size;
	const char *newline;

	len = shown_prefix(bytes, len - utf8_partial_tail(bytes, len), max, &size);
	newline = memrchr(bytes, '\n', len);
	if (newline && newline + NEWLINE_NEAR > bytes + len)
		len = (size_t)(newline + 1 - bytes);
	jsonw_piece(w, bytes, len);
	end_line(w, bytes, len);
	return len;
}

/*
 * What of the end can be shown in @max bytes: @bytes from *@start to *@len; returns where
 * that begins in the stream.
 */
static uint64_t read_tail(const struct output *o, size_t max, char *bytes, size_t *start,
			  size_t *len)
{
	uint64_t offset = o->total > max ? o->total - max : 0;
	size_t size, over, near;
	const char *newline;

	*len = read_part(o, offset, bytes, max);
	*start = offset ? utf8_partial_head(bytes, *len) : 0;
	shown_prefix(bytes + *start, *len - *start, SIZE_MAX, &size);
	over = size > max ? size - max : 0;
	if (over) /* a character takes up to four: the first that ends at or behind it */
		*start += shown_prefix(bytes + *start, *len - *start, over + 3, &size);
	near = *len - *start < NEWLINE_NEAR ? *len - *start : NEWLINE_NEAR;
	newline = memchr(bytes + *start, '\n', near);
	if (newline)
		*start = (size_t)(newline + 1 - bytes);
	return offset + *start;
}

/* A stream by its two ends. */
static void write_stream(struct jsonw *w, const struct text *t, const struct member *m)
{
	const struct output *o = m->stream;
	char bytes[MCP_TEXT_MAX];
	size_t head, start, len;
	uint64_t from;

	if (m->need <= m->budget) {
		len = read_part(o, 0, bytes, (size_t)o->total);
		jsonw_piece(w, bytes, len);
	} else {
		from = read_tail(o, m->budget - m->budget / 3, bytes, &start, &len);
		head = write_head(w, o, m->budget / 3);
		write_mark(w, t, m, from - head, head);
		jsonw_piece(w, bytes + start, len - start);
	}
	end_line(w, bytes, len);
}

static void write_block(struct jsonw *w, const struct text *t, const struct member *m)
{
	char size[48];

	add(w, "--- ");
	jsonw_piece(w, m->v->key, strlen(m->stream ? "stdout" : m->v->key));
	snprintf(size, sizeof(size), " (%" PRIu64 " bytes)\n",
		 m->stream ? m->stream->total : (uint64_t)m->need);
	add(w, size);
	if (m->stream)
		write_stream(w, t, m);
	else
		write_value(w, t, m);
}

void mcp_text_write(struct jsonw *w, const struct result *result, const struct proc *run,
		    size_t max)
{
	struct text t = { .result = result, .left = max };

	take_members(&t, run);
	share_budget(&t);
	for (size_t i = 0; i < t.count; i++)
		if (!t.members[i].block)
			write_short(w, &t, &t.members[i]);
	for (size_t i = 0; i < t.count; i++)
		if (t.members[i].block)
			write_block(w, &t, &t.members[i]);
}
