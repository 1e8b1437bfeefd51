#include "mcp/text_members.h"

#include <string.h>

#include "mcp/text_options.h"
#include "mcp/tool_names.h"

#define LINE_BYTES 240 /* longer strings come under a heading */
#define VALUE_MAX 4000 /* bytes shown of a member on its line */

static bool text_members_is_block(const struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);

	return v->json_len > LINE_BYTES || memchr(text, '\n', kept) || memchr(text, '\r', kept);
}

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

static bool text_members_is_container(const struct outline_value *v)
{
	return v->kind == OUTLINE_ARRAY || v->kind == OUTLINE_OBJECT;
}

/* Where the literal patterns of the blocklist count: in what would be run, or anywhere. */
static void text_members_add_blocklist(struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);
	bool anywhere = kept == strlen("anywhere") && !memcmp(text, "anywhere", kept);

	text_add(t, "blocklist applies to commands%s", anywhere ? " and data" : "");
}

/* A value is data, but for one that is the name of a capability. */
static void text_members_add_value(struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);

	if (v->kind != OUTLINE_TEXT)
		text_add_json(t, v, VALUE_MAX);
	else if (mcp_tool_names_is_one(text, kept))
		text_put_named(t, text, kept);
	else
		text_put(t, text, kept);
}

/* "key value", or "key: a sentence"; the name of an element needs no key. */
static void text_members_add_pair(struct text *t, const struct outline_value *v, bool of_element,
				  bool is_sentence)
{
	if (!strcmp(v->key, "blocklist")) {
		text_members_add_blocklist(t, v);
		return;
	}
	if (!of_element || strcmp(v->key, "name") != 0) {
		text_put_named(t, v->key, strlen(v->key));
		text_add(t, is_sentence ? ": " : " ");
	}
	text_members_add_value(t, v);
}

static bool text_members_is_sentence(const struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);

	return memchr(text, ' ', kept);
}

/* Is a member or an element of @of a sentence, or a member of such an element? */
static bool text_members_has_sentence(const struct text *t, const struct outline_value *of)
{
	const struct outline_value *v = NULL;

	while ((v = outline_next(&t->a->result->outline, of, v)))
		if (text_members_is_sentence(t, v) ||
		    (v->kind == OUTLINE_OBJECT && !v->key && text_members_has_sentence(t, v)))
			return true;
	return false;
}

/* "name: cpu_limit 2, memory_limit 1000": the members of the object @of, except containers; without
 * a name in an array. Sentences get a line each. Returns whether there are any. */
static bool text_members_add_pairs(struct text *t, const char *prefix,
				   const struct outline_value *of)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *v = NULL;
	bool lines = of->key && text_members_has_sentence(t, of), any = false;
	const char *glue = "";

	while ((v = outline_next(o, of, v))) {
		bool is_sentence = text_members_is_sentence(t, v);

		if (text_members_is_container(v) || !text_members_has_content(t, v))
			continue;
		if (!any && of->key)
			text_add(t, "%s%s%s:%s", prefix, *prefix ? "." : "", of->key,
				 lines ? "" : " ");
		text_add(t, "%s", lines ? "\n- " : glue);
		text_members_add_pair(t, v, !of->key, is_sentence);
		glue = is_sentence ? "; " : ", ";
		any = true;
	}
	return any;
}

/* Is it about a capability that MCP has no tool for? */
static bool text_members_is_out_of_reach(const struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *name;

	if (v->kind != OUTLINE_OBJECT)
		return false;
	name = text_bytes(t, text_member(t, v, "name"), &kept);
	return mcp_tool_names_is_plain(name, kept);
}

/* The elements that fit, and how many are left out. Sentences get a line each: "; " is in some. */
static void text_members_add_elements(struct text *t, const struct outline_value *array)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *v = NULL;
	const char *glue = text_members_has_sentence(t, array) ? "\n- " : "; ";
	size_t shown = 0, left_out = 0, size = 0;

	while ((v = outline_next(o, array, v))) {
		if (text_members_is_out_of_reach(t, v))
			continue;
		size += v->json_len;
		if (size > VALUE_MAX || v->json_len > t->left) {
			left_out++;
			continue;
		}
		text_add(t, "%s", shown++ || *glue == '\n' ? glue : " ");
		if (v->kind == OUTLINE_OBJECT)
			text_members_add_pairs(t, "", v);
		else
			text_members_add_value(t, v);
	}
	if (left_out)
		text_add(t, "%s[... %zu more left out: ask for fewer ...]", glue, left_out);
	text_add(t, "\n");
}

/* @prefix: the name of the object that @v is a member of, or "". */
static void text_members_add_member(struct text *t, const char *prefix,
				    const struct outline_value *v)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *below = NULL;

	if (!text_members_has_content(t, v) || t->left < TEXT_MARK_BYTES)
		return;
	if (v->kind == OUTLINE_OBJECT && !*prefix && !strcmp(v->key, "limits")) {
		text_options_changed(t, v);
		return;
	}
	if (v->kind == OUTLINE_OBJECT) {
		if (text_members_add_pairs(t, prefix, v))
			text_add(t, "\n");
		while (!*prefix && (below = outline_next(o, v, below)))
			if (text_members_is_container(below))
				text_members_add_member(t, v->key, below);
		return;
	}
	text_add(t, "%s%s%s:", prefix, *prefix ? "." : "", v->key);
	if (v->kind == OUTLINE_ARRAY) {
		text_members_add_elements(t, v);
	} else {
		text_add(t, " ");
		text_members_add_value(t, v);
		text_add(t, "\n");
	}
}

static void text_members_add_block(struct text *t, const struct outline_value *v, size_t max)
{
	text_end_line(t);
	text_add(t, "--- %s\n", v->key);
	text_put_ends(t, v, max);
	text_end_line(t);
}

void text_members(struct text *t)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *v = NULL;
	size_t blocks = 0, all = t->left, room;

	while ((v = outline_next(o, NULL, v)))
		if (v->kind == OUTLINE_TEXT && text_members_is_block(t, v))
			blocks++;
		else
			text_members_add_member(t, "", v);
	room = blocks ? t->left / blocks : 0;
	room = room > 2 * TEXT_MARK_BYTES ? room - TEXT_MARK_BYTES : TEXT_MARK_BYTES;
	while ((v = outline_next(o, NULL, v)))
		if (v->kind == OUTLINE_TEXT && text_members_is_block(t, v))
			text_members_add_block(t, v, room);
	if (t->left == all)
		text_add(t, "done");
}
