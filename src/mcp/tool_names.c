#include "mcp/tool_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

/* The next of these tools in @text, from *@at on, where it then stands; or NULL. */
static const struct cap_row *tool_names_next(const char *text, size_t len, size_t *at)
{
	const struct cap_row *row = NULL;

	for (; *at < len && !row; *at += !row) {
		*at = tool_names_skip_quoted(text, len, *at);
		row = tool_names_at(text, len, *at);
	}
	return row;
}

void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len)
{
	const struct cap_row *row;
	size_t from = 0;

	for (size_t at = 0; (row = tool_names_next(text, len, &at)); at = from) {
		jsonw_piece(w, text + from, at - from);
		jsonw_piece(w, row->tool_name, strlen(row->tool_name));
		from = at + strlen(row->name);
	}
	jsonw_piece(w, text + from, len - from);
}

static bool tool_names_has(const char *text, size_t len, const struct cap_row *row)
{
	const struct cap_row *named;
	size_t at = 0;

	while ((named = tool_names_next(text, len, &at)) && named != row)
		at += strlen(named->name);
	return named;
}

void mcp_tool_names_write_denied(struct jsonw *w, const struct cap *c, const char *text,
				 size_t len)
{
	bool sentence = len && strchr(".?!", text[len - 1]);
	const char *glue = sentence ? " The operator denies " : "; the operator denies ";
	const char *end = "";

	for (const struct cap_row *row = cap_rows; row->name; row++) {
		if (cap_tier(c, row) != TIER_DENY || !tool_names_has(text, len, row))
			continue;
		jsonw_piece(w, glue, strlen(glue));
		jsonw_piece(w, row->tool_name, strlen(row->tool_name));
		glue = ", ";
		end = sentence ? "." : "";
	}
	jsonw_piece(w, end, strlen(end));
}
