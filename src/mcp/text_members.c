#include "mcp/text_members.h"

#include <string.h>

#define VALUE_MAX 4000 /* bytes shown of a member */

static bool text_members_has_content(const struct text *t, const struct outline_value *v)
{
	switch (v->kind) {
	case OUTLINE_NULL:
		return false;
	case OUTLINE_BOOL:
		return v->number;
	case OUTLINE_TEXT:
		return v->text_len;
	case OUTLINE_ARRAY:
	case OUTLINE_OBJECT:
		return outline_next(&t->a->result->outline, v, NULL);
	case OUTLINE_INT:
	case OUTLINE_OTHER:
		break;
	}
	return true;
}

static size_t text_members_room(const struct text *t)
{
	return t->left - TEXT_MARK_BYTES < VALUE_MAX ? t->left - TEXT_MARK_BYTES : VALUE_MAX;
}

/* An object of one level whose values fit on their lines: 'b' if one of them has a blank, so that
 * each takes a line of its own, 'p' for pairs on one line, 0 for any other value. */
static char text_members_form(const struct text *t, const struct outline_value *of)
{
	const struct outline_value *v = NULL;
	char form = 'p';
	size_t kept;

	if (of->kind != OUTLINE_OBJECT || of->json_len > text_members_room(t))
		return 0;
	while ((v = outline_next(&t->a->result->outline, of, v))) {
		const char *text = text_bytes(t, v, &kept);

		if (v->kind == OUTLINE_OBJECT || v->kind == OUTLINE_ARRAY ||
		    memchr(text, '\n', kept) || memchr(text, '\r', kept))
			return 0;
		if (memchr(text, ' ', kept))
			form = 'b';
	}
	return form;
}

/* "key value, key value", or a line for each. */
static void text_members_add_pairs(struct text *t, const struct outline_value *of, bool lines)
{
	const struct outline_value *v = NULL;
	const char *glue = lines ? "\n- " : " ";

	while ((v = outline_next(&t->a->result->outline, of, v))) {
		text_add(t, "%s%s%s", glue, v->key, lines ? ": " : " ");
		text_add_value(t, v, v->json_len);
		glue = lines ? glue : ", ";
	}
}

static void text_members_add(struct text *t, const struct outline_value *v)
{
	const char form = text_members_form(t, v);

	text_add(t, "%s:", v->key);
	if (form) {
		text_members_add_pairs(t, v, form == 'b');
	} else {
		text_add(t, " ");
		text_add_value(t, v, text_members_room(t));
	}
	text_add(t, "\n");
}

void text_members(struct text *t)
{
	const struct outline_value *v = NULL;
	size_t all = t->left;

	while ((v = outline_next(&t->a->result->outline, NULL, v))) {
		if (!text_members_has_content(t, v) || t->left < 2 * TEXT_MARK_BYTES)
			continue;
		text_members_add(t, v);
	}
	if (t->left == all)
		text_add(t, "done");
}
