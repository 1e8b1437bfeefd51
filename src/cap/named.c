#include "cap/named.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool named_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || strchr("_./-", c);
}

/* Does a name end before @at? A dot may end a sentence, or go on with the name. */
static bool named_ends(const char *text, size_t len, size_t at)
{
	if (at < len && text[at] == '.')
		return at + 1 == len || !isalnum((unsigned char)text[at + 1]);
	return at == len || !named_is_name_byte(text[at]);
}

/* The capability whose name stands at @at in @text, as a word of its own; or NULL. */
static const struct cap_row *named_at(const char *text, size_t len, size_t at)
{
	if (at && named_is_name_byte(text[at - 1]))
		return NULL;
	for (const struct cap_row *row = cap_rows; row->name; row++) {
		size_t size = strlen(row->name);

		if (len - at >= size && !memcmp(text + at, row->name, size) &&
		    named_ends(text, len, at + size))
			return row;
	}
	return NULL;
}

/* The end of a quotation "like this" or `like this` that begins at @at, or @at. What is quoted may
 * have quotes itself, so it goes on to the last one: no text names a capability between two
 * quotations. */
static size_t named_skip_quoted(const char *text, size_t len, size_t at)
{
	bool opens = text[at] == '"' || text[at] == '`';
	const char *end = opens ? memrchr(text + at + 1, text[at], len - at - 1) : NULL;

	return end ? (size_t)(end - text) : at;
}

const struct cap_row *named_next(const char *text, size_t len, size_t *at)
{
	const struct cap_row *row = NULL;

	for (; *at < len && !row; *at += !row) {
		*at = named_skip_quoted(text, len, *at);
		row = named_at(text, len, *at);
	}
	return row;
}

static bool named_has(const char *text, size_t len, const struct cap_row *row)
{
	const struct cap_row *found;
	size_t at = 0;

	while ((found = named_next(text, len, &at)) && found != row)
		at += strlen(found->name);
	return found;
}

void named_add_denied(const struct cap *c, const char *text, size_t len, struct buf *out)
{
	bool sentence = len && strchr(".?!", text[len - 1]);
	const char *glue = sentence ? " The operator denies " : "; the operator denies ";
	const char *end = "";

	for (const struct cap_row *row = cap_rows; row->name; row++) {
		if (cap_tier(c, row) != TIER_DENY || !named_has(text, len, row))
			continue;
		buf_addf(out, "%s%s", glue, row->name);
		glue = ", ";
		end = sentence ? "." : "";
	}
	buf_adds(out, end);
}

/* Does @text name a capability that the operator denies? */
static bool named_is_denied(const struct cap *c, const char *text)
{
	const struct cap_row *row;
	size_t at = 0, len = strlen(text);

	while ((row = named_next(text, len, &at)) && cap_tier(c, row) != TIER_DENY)
		at += strlen(row->name);
	return row;
}

void named_mark_denied(const struct cap *c, struct err *e)
{
	const struct err_action *action = err_rows[e->type].actions;
	const char *text = err_hint_text(e);
	struct buf hint;

	if (named_is_denied(c, text)) {
		buf_init(&hint, SIZE_MAX / 2);
		buf_adds(&hint, text);
		named_add_denied(c, text, strlen(text), &hint);
		err_hint(e, "%s", hint.data);
		buf_release(&hint);
	}
	for (unsigned i = 0; action && action[i].name; i++)
		if (named_is_denied(c, action[i].text))
			e->left_out |= 1u << i;
}
