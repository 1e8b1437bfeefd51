#include "mcp/text_members.h"

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

void text_members(struct text *t)
{
	const struct outline_value *v = NULL;
	size_t all = t->left;

	while ((v = outline_next(&t->a->result->outline, NULL, v))) {
		if (!text_members_has_content(t, v) || t->left < 2 * TEXT_MARK_BYTES)
			continue;
		text_add(t, "%s: ", v->key);
		text_add_value(t, v, t->left - TEXT_MARK_BYTES < VALUE_MAX
					     ? t->left - TEXT_MARK_BYTES : VALUE_MAX);
		text_add(t, "\n");
	}
	if (t->left == all)
		text_add(t, "done");
}
