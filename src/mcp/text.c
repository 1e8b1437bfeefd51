/*
 * A result is rendered without being parsed or decoded: it is JSON of our own,
 * compact and well-formed, and the escaped bytes of a string in it are just what
 * must stand in the string that holds the text.
 */
#include "mcp/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define LINE_BYTES 240  /* longer strings become blocks */
#define MEMBERS_MAX 64  /* of one result; the largest has about 30 */
#define SHORT_MAX 6000  /* bytes of one member that is no block */
#define BLOCK_MIN 200   /* what a block gets in any case */
#define MARK_BYTES 240  /* heading and mark of one block */
#define NEWLINE_NEAR 160 /* a cut is moved to a line's end this near */

/* One member of a result; @value is its raw JSON. */
struct member {
	const char *key, *value;
	size_t key_len, len;
	bool block;
	const struct output *stream; /* shown instead of the value; or NULL */
	size_t need, budget;         /* bytes of a block's text, and how many are shown */
};

struct text {
	struct member members[MEMBERS_MAX];
	size_t count;
	const char *process_id; /* raw JSON of the member, or NULL */
	size_t process_id_len;
	bool page;              /* a page of process.logs */
	size_t left;            /* bytes that may still be written */
};

/* ---- reading escaped text ---- */

/* Behind the string that starts at @at. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		size_t backslashes = 0;

		BUG_IF(!quote);
		while (quote - backslashes > at && quote[-1 - (ptrdiff_t)backslashes] == '\\')
			backslashes++;
		at = quote;
		if (backslashes % 2 == 0)
			return quote + 1;
	}
	BUG_IF(true);
}

/* Behind the value that starts at @at. */
static const char *skip_value(const char *at, const char *end)
{
	int depth = 0;

	while (at < end) {
		if (*at == '"') {
			at = skip_string(at, end);
			if (!depth)
				return at;
			continue;
		}
		if (!depth && (*at == ',' || *at == '}' || *at == ']'))
			return at;
		if (*at == '{' || *at == '[')
			depth++;
		if ((*at == '}' || *at == ']') && !--depth)
			return at + 1;
		at++;
	}
	return end;
}

/* The code unit of the \u escape at @s. */
static unsigned long code_unit(const char *s)
{
	char hex[5] = { s[2], s[3], s[4], s[5], '\0' };

	return strtoul(hex, NULL, 16);
}

/* Escaped bytes of the character at @s, and bytes of the text that they stand for. */
static size_t escaped_char(const char *s, size_t len, size_t *decoded)
{
	unsigned char c = (unsigned char)*s;
	unsigned long unit;
	size_t used;

	if (c != '\\') {
		used = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		return *decoded = used < len ? used : len;
	}
	*decoded = 1;
	if (len < 6 || s[1] != 'u')
		return 2;
	unit = code_unit(s);
	*decoded = unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
	if (unit < 0xd800 || unit > 0xdbff || len < 12)
		return 6;
	*decoded = 4; /* the first half of a pair */
	return 12;
}

/* The most escaped bytes, in whole characters, that stand for at most @max bytes of text. */
static size_t escaped_prefix(const char *s, size_t len, size_t max)
{
	size_t at = 0, size = 0, decoded;

	while (at < len) {
		size_t used = escaped_char(s + at, len - at, &decoded);

		if (size + decoded > max)
			break;
		size += decoded;
		at += used;
	}
	return at;
}

/* Bytes of text that @len escaped bytes stand for. */
static size_t decoded_size(const char *s, size_t len)
{
	size_t size = 0, decoded;

	for (size_t at = 0; at < len; size += decoded) {
		const char *backslash = memchr(s + at, '\\', len - at);

		decoded = (size_t)((backslash ? backslash : s + len) - (s + at));
		at += decoded;
		if (backslash && decoded == 0)
			at += escaped_char(s + at, len - at, &decoded);
	}
	return size;
}

/* ---- members ---- */

static bool is_block(const char *value, size_t len)
{
	return *value == '"' && (len > LINE_BYTES || memmem(value, len, "\\n", 2) ||
				 memmem(value, len, "\\r", 2));
}

static bool is_called(const struct member *m, const char *name)
{
	return m->key_len == strlen(name) && !memcmp(m->key, name, m->key_len);
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
	    shown_size(stream) <= decoded_size(m->value + 1, m->len - 2))
		return;
	m->stream = stream;
	m->block = true;
}

static void read_member(struct text *t, struct member *m, const struct proc *run)
{
	m->block = is_block(m->value, m->len);
	m->stream = NULL;
	choose_stream(m, run);
	if (m->stream)
		m->need = shown_size(m->stream);
	else if (m->block)
		m->need = decoded_size(m->value + 1, m->len - 2);
	if (is_called(m, "process_id")) {
		t->process_id = m->value;
		t->process_id_len = m->len;
	}
	if (is_called(m, "stdout_next_offset"))
		t->page = true;
}

/* The members of the object @json. */
static void split_members(struct text *t, const char *json, size_t len, const struct proc *run)
{
	const char *at = json + 1, *end = json + len;

	t->count = 0;
	t->process_id = NULL;
	t->page = false;
	memset(t->members, 0, sizeof(t->members));
	while (at < end && *at == '"') {
		struct member *m = &t->members[t->count];

		BUG_IF(t->count == MEMBERS_MAX);
		m->key = at + 1;
		at = skip_string(at, end);
		m->key_len = (size_t)(at - 1 - m->key);
		m->value = at + 1;
		at = skip_value(m->value, end);
		m->len = (size_t)(at - m->value);
		read_member(t, m, run);
		t->count++;
		if (at < end && *at == ',')
			at++;
	}
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
			m->budget = m->len < SHORT_MAX ? m->len : SHORT_MAX;
			m->budget = m->budget < left ? m->budget : left;
			size = m->key_len + 3 + m->budget;
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

/* Escaped bytes of ours go into the open string as they are. */
static void add_escaped(struct jsonw *w, const char *bytes, size_t len)
{
	BUG_IF(!w->in_string);
	buf_add(w->out, bytes, len);
}

static void add(struct jsonw *w, const char *text)
{
	jsonw_piece(w, text, strlen(text));
}

/* The elements of a long array that fit, and how many do not. */
static void write_array(struct jsonw *w, const struct member *m)
{
	const char *at = m->value + 1, *end = m->value + m->len;
	size_t shown = 0, all = 0, size = 0;
	char mark[128];

	add(w, "[");
	while (at < end && *at != ']') {
		const char *next = skip_value(at, end);

		size += (size_t)(next - at) + 1;
		if (size <= m->budget && shown == all) {
			add(w, shown++ ? "," : "");
			jsonw_piece(w, at, (size_t)(next - at));
		}
		all++;
		at = next < end && *next == ',' ? next + 1 : next;
	}
	add(w, "]\n");
	snprintf(mark, sizeof(mark), "[... %zu of %zu left out: ask for fewer, or for a part ...]",
		 all - shown, all);
	add(w, mark);
}

static void write_short(struct jsonw *w, const struct member *m)
{
	add_escaped(w, m->key, m->key_len);
	add(w, ": ");
	if (*m->value == '"' && m->len > 2) {
		add_escaped(w, m->value + 1, m->len - 2);
	} else if (m->len <= m->budget) {
		jsonw_piece(w, m->value, m->len); /* number, list, object, "" */
	} else if (*m->value == '[') {
		write_array(w, m);
	} else {
		jsonw_piece(w, m->value, utf8_cut(m->value, m->len, m->budget));
		add(w, " [... cut ...]");
	}
	add(w, "\n");
}

/* Where what is left out can be had. */
static void write_mark(struct jsonw *w, const struct text *t, const struct member *m,
		       uint64_t bytes, uint64_t offset)
{
	bool at_line = w->out->len >= 2 && !memcmp(w->out->data + w->out->len - 2, "\\n", 2);
	char text[200];

	snprintf(text, sizeof(text), "%s[... %" PRIu64 " bytes left out here", at_line ? "" : "\n",
		 bytes);
	add(w, text);
	if (m->stream && t->process_id) {
		add(w, ": process_logs {\"process_id\":");
		jsonw_piece(w, t->process_id, t->process_id_len);
		snprintf(text, sizeof(text), ",\"stream\":\"%.6s\",\"offset\":%" PRIu64 "}",
			 m->key, offset);
		add(w, text);
	} else if (t->page) {
		add(w, ": process_logs with the same offset and \"limit\":4000, or fewer "
		       "tail_lines, gives pages that are shown whole");
	} else if (t->process_id && !is_called(m, "command")) {
		add(w, ": process_logs {\"process_id\":");
		jsonw_piece(w, t->process_id, t->process_id_len);
		add(w, "}");
	}
	add(w, " ...]\n");
}

/* One text from the result itself. */
static void write_value(struct jsonw *w, const struct text *t, const struct member *m)
{
	const char *text = m->value + 1;
	size_t len = m->len - 2, head, tail;

	if (m->need <= m->budget) {
		add_escaped(w, text, len);
	} else {
		head = escaped_prefix(text, len, m->budget / 3);
		tail = escaped_prefix(text, len, m->need - (m->budget - m->budget / 3) + 3);
		add_escaped(w, text, head);
		write_mark(w, t, m, decoded_size(text + head, tail - head), 0);
		add_escaped(w, text + tail, len - tail);
	}
	if (len < 2 || memcmp(text + len - 2, "\\n", 2))
		add(w, "\n");
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
	if (!len || bytes[len - 1] != '\n')
		add(w, "\n");
}

static void write_block(struct jsonw *w, const struct text *t, const struct member *m)
{
	char size[48];

	add(w, "--- ");
	add_escaped(w, m->key, m->stream ? strlen("stdout") : m->key_len);
	snprintf(size, sizeof(size), " (%" PRIu64 " bytes)\n",
		 m->stream ? m->stream->total : (uint64_t)m->need);
	add(w, size);
	if (m->stream)
		write_stream(w, t, m);
	else
		write_value(w, t, m);
}

void mcp_text_write(struct jsonw *w, const char *json, size_t len, const struct proc *run,
		    size_t max)
{
	struct text t = { .left = max };

	split_members(&t, json, len, run);
	share_budget(&t);
	for (size_t i = 0; i < t.count; i++)
		if (!t.members[i].block)
			write_short(w, &t.members[i]);
	for (size_t i = 0; i < t.count; i++)
		if (t.members[i].block)
			write_block(w, &t, &t.members[i]);
}
