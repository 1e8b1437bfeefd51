#include "mcp/tool_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cap/cap.h"

static bool tool_names_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || strchr("_./-", c);
}

/* Does a name end before @at? A dot may end a sentence, or go on with the name. */
static bool tool_names_ends(const char *text, size_t len, size_t at)
{
	if (at < len && text[at] == '.')
		return at + 1 == len || !isalnum((unsigned char)text[at + 1]);
	return at == len || !tool_names_is_name_byte(text[at]);
}

/* The tool whose capability's name stands at @at in @text, as a word of its own; or NULL. */
static const struct cap_row *tool_names_at(const char *text, size_t len, size_t at)
{
	if (at && tool_names_is_name_byte(text[at - 1]))
		return NULL;
	for (const struct cap_row *row = cap_rows; row->name; row++) {
		size_t size = strlen(row->name);

		if (!(row->flags & CAP_PLAIN) && len - at >= size &&
		    !memcmp(text + at, row->name, size) && tool_names_ends(text, len, at + size))
			return row;
	}
	return NULL;
}

bool mcp_tool_names_is_plain(const char *text, size_t len)
{
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (strlen(row->name) == len && !memcmp(row->name, text, len))
			return row->flags & CAP_PLAIN;
	return false;
}

/* The end of a quotation "like this" or `like this` that begins at @at, or @at. What is quoted may
 * have quotes itself, so it goes on to the last one: no text names a capability between two
 * quotations. */
static size_t tool_names_skip_quoted(const char *text, size_t len, size_t at)
{
	bool opens = text[at] == '"' || text[at] == '`';
	const char *end = opens ? memrchr(text + at + 1, text[at], len - at - 1) : NULL;

	return end ? (size_t)(end - text) : at;
}

void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len)
{
	size_t from = 0;

	for (size_t at = 0; at < len; at++) {
		const struct cap_row *row;

		at = tool_names_skip_quoted(text, len, at);
		row = tool_names_at(text, len, at);
		if (!row)
			continue;
		jsonw_piece(w, text + from, at - from);
		jsonw_piece(w, row->tool_name, strlen(row->tool_name));
		from = at + strlen(row->name);
		at = from - 1;
	}
	jsonw_piece(w, text + from, len - from);
}
