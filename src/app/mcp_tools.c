/*
 * A result is rendered without being parsed or decoded: it is JSON of our own,
 * compact and well-formed, and the escaped bytes of a string in it are just what
 * must stand in the string that holds the text.
 */
#include "app/mcp_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/rpc.h"

#define LINE_BYTES 240  /* longer strings become blocks */
#define MEMBERS_MAX 64  /* of one result; the largest has about 30 */
#define ERROR_KEY "dev.procpen/error"

/* One member of a result; @value is its raw JSON. */
struct member {
	const char *key, *value;
	size_t key_len, len;
	bool block;
};

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

/* Bytes of text that @len escaped bytes stand for. */
static size_t decoded_size(const char *s, size_t len)
{
	size_t size = 0;

	for (size_t i = 0; i < len; i++, size++) {
		const char *backslash = memchr(s + i, '\\', len - i);

		if (!backslash)
			return size + len - i;
		size += (size_t)(backslash - (s + i));
		i += (size_t)(backslash - (s + i)) + 1;
		if (i < len && s[i] == 'u') {
			char hex[5] = { s[i + 1], s[i + 2], s[i + 3], s[i + 4], '\0' };
			unsigned long c = strtoul(hex, NULL, 16);

			/* Each half of a surrogate pair stands for two of its four bytes. */
			size += c >= 0x800 && (c < 0xd800 || c > 0xdfff) ? 2 : c >= 0x80 ? 1 : 0;
			i += 4;
		}
	}
	return size;
}

static bool is_block(const char *value, size_t len)
{
	return *value == '"' && (len > LINE_BYTES || memmem(value, len, "\\n", 2) ||
				 memmem(value, len, "\\r", 2));
}

/* The members of the object @json; how many. */
static size_t split_members(const char *json, size_t len, struct member members[MEMBERS_MAX])
{
	const char *at = json + 1, *end = json + len;
	size_t count = 0;

	while (at < end && *at == '"') {
		struct member *m = &members[count];

		BUG_IF(count == MEMBERS_MAX);
		m->key = at + 1;
		at = skip_string(at, end);
		m->key_len = (size_t)(at - 1 - m->key);
		m->value = at + 1;
		at = skip_value(m->value, end);
		m->len = (size_t)(at - m->value);
		m->block = is_block(m->value, m->len);
		count++;
		if (at < end && *at == ',')
			at++;
	}
	return count;
}

/* Escaped bytes of ours go into the open string as they are. */
static void add_escaped(struct jsonw *w, const char *bytes, size_t len)
{
	BUG_IF(!w->in_string);
	buf_add(w->out, bytes, len);
}

static void write_short(struct jsonw *w, const struct member *m)
{
	add_escaped(w, m->key, m->key_len);
	jsonw_piece(w, ": ", 2);
	if (*m->value == '"' && m->len > 2)
		add_escaped(w, m->value + 1, m->len - 2);
	else
		jsonw_piece(w, m->value, m->len); /* number, list, object, "" */
	jsonw_piece(w, "\n", 1);
}

/* One long text. Whoever bounds what a model is shown does it here. */
static void write_block(struct jsonw *w, const struct member *m)
{
	const char *text = m->value + 1;
	size_t len = m->len - 2;
	char size[48];

	jsonw_piece(w, "--- ", 4);
	add_escaped(w, m->key, m->key_len);
	snprintf(size, sizeof(size), " (%zu bytes)\n", decoded_size(text, len));
	jsonw_piece(w, size, strlen(size));
	add_escaped(w, text, len);
	if (len < 2 || memcmp(text + len - 2, "\\n", 2))
		jsonw_piece(w, "\n", 1);
}

/* The object @json as text, into the open string. */
static void render(struct jsonw *w, const char *json, size_t len)
{
	struct member members[MEMBERS_MAX];
	size_t count = split_members(json, len, members);

	for (size_t i = 0; i < count; i++)
		if (!members[i].block)
			write_short(w, &members[i]);
	for (size_t i = 0; i < count; i++)
		if (members[i].block)
			write_block(w, &members[i]);
}

static void begin_content(struct jsonw *w)
{
	jsonw_array(w, "content");
	jsonw_object(w, NULL);
	jsonw_str(w, "type", "text");
	jsonw_open_str(w, "text");
}

static void end_content(struct jsonw *w)
{
	jsonw_close_str(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

void mcp_tools_write_result(struct jsonw *w, const char *key, const struct buf *result,
			    const struct mcp_tools_shape *shape)
{
	jsonw_object(w, key);
	begin_content(w);
	render(w, result->data, result->len);
	end_content(w);
	if (shape->structured)
		jsonw_raw(w, "structuredContent", result->data, result->len);
	jsonw_bool(w, "isError", false);
	jsonw_end_object(w);
}

static void add_text(struct jsonw *w, const char *text)
{
	jsonw_piece(w, text, strlen(text));
}

/* The result that an error carries (a run ended by a limit), or NULL. */
static const json_t *partial_result(const struct err *e)
{
	const json_t *result = json_object_get(e->details, "result");

	if (json_is_object(result))
		return result;
	return json_object_get(e->details, "process_id") && json_object_get(e->details, "state")
		       ? e->details
		       : NULL;
}

static void write_error_text(struct jsonw *w, const struct err *e)
{
	const json_t *partial = partial_result(e);
	size_t len = strlen(e->message);
	char *json;

	add_text(w, err_rows[e->type].name);
	add_text(w, ": ");
	add_text(w, e->message);
	add_text(w, len && strchr(".?!", e->message[len - 1]) ? " " : ". ");
	add_text(w, err_hint_text(e));
	json = partial ? json_dumps(partial, JSON_COMPACT) : NULL;
	if (json) {
		add_text(w, "\n");
		render(w, json, strlen(json));
		free(json);
	}
}

void mcp_tools_write_error(struct jsonw *w, const char *key, const struct err *e)
{
	const struct err_row *row = &err_rows[e->type];

	jsonw_object(w, key);
	begin_content(w);
	write_error_text(w, e);
	end_content(w);
	jsonw_bool(w, "isError", true);
	jsonw_object(w, "_meta");
	jsonw_object(w, ERROR_KEY);
	jsonw_str(w, "type", row->name);
	jsonw_int(w, "code", row->code);
	jsonw_str(w, "message", e->message);
	jsonw_str(w, "hint", err_hint_text(e));
	jsonw_bool(w, "retryable", row->retryable);
	if (e->details)
		jsonw_json(w, "details", e->details);
	else
		jsonw_raw(w, "details", "{}", 2);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static void write_tool(struct jsonw *w, const struct cap_row *row,
		       const struct mcp_tools_shape *shape)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "name", row->tool_name);
	if (shape->structured)
		jsonw_str(w, "title", row->title);
	jsonw_str(w, "description", row->description);
	jsonw_raw(w, "inputSchema", row->input_json, strlen(row->input_json));
	if (shape->structured)
		jsonw_raw(w, "outputSchema", row->output_json, strlen(row->output_json));
	if (shape->annotations)
		jsonw_raw(w, "annotations", row->annotations_json, strlen(row->annotations_json));
	jsonw_end_object(w);
}

void mcp_tools_write_list(struct buf *out, const struct mcp_tools_shape *shape)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_array(&w, "tools");
	for (const struct cap_row *row = cap_rows; row->name; row++)
		write_tool(&w, row, shape);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
}

const struct cap_row *mcp_tools_nearest(const char *name)
{
	AUTO_FREE const char **names = NULL;
	const char *nearest;
	size_t rows = 0;

	while (cap_rows[rows].name)
		rows++;
	names = mem_zalloc((2 * rows + 1) * sizeof(*names));
	for (size_t i = 0; i < rows; i++) {
		names[2 * i] = cap_rows[i].name;
		names[2 * i + 1] = cap_rows[i].tool_name;
	}
	nearest = schema_nearest(name, names);
	return nearest ? cap_find(nearest) : NULL;
}
