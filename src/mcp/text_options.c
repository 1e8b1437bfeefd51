#include "mcp/text_options.h"

#include <string.h>

#include "policy/config.h"

#define VALUE_MAX 1000 /* bytes shown of a value that is no list */
#define LINE_BYTES 300 /* of most lines */

/* What 0 means for the option @key, between @before and @after: "no limit"; or nothing. */
static void text_options_add_zero(struct text *t, const char *key, const char *before,
				  const char *after)
{
	int option = config_find(key);
	const char *means = NULL;
	size_t len;

	if (option >= 0)
		means = strstr(strtab_get(config_rows[option].text), " 0: ");
	if (!means)
		return;
	means += strlen(" 0: ");
	len = strcspn(means, ";");
	text_add(t, "%s%.*s%s", before, (int)(len - (means[len - 1] == '.')), means, after);
}

/* @v is of the option @key, in octal if --set takes it so. @none: what an empty list is called. */
static void text_options_add_value(struct text *t, const char *key, const struct outline_value *v,
				   const char *none)
{
	int option = v->kind == OUTLINE_INT ? config_find(key) : -1;

	if (option >= 0 && config_rows[option].octal)
		text_add(t, "%#llo", (long long)v->number);
	else if (v->kind != OUTLINE_ARRAY)
		text_add_value(t, v, VALUE_MAX);
	else if (outline_next(&t->a->result->outline, v, NULL))
		text_add_elements(t, v, ", ");
	else
		text_add(t, "%s", none);
}

/* What the number means: "16 requests", "0: no limit". */
static void text_options_add_meaning(struct text *t, const struct outline_value *option,
				     const struct outline_value *value)
{
	const struct outline_value *unit = text_member(t, text_member(t, option, "bounds"), "unit");

	if (value->kind != OUTLINE_INT)
		return;
	if (value->number && unit)
		text_add(t, " ");
	if (value->number)
		text_put_member(t, unit);
	else
		text_options_add_zero(t, option->key, ": ", "");
}

static bool text_options_is_same(const struct text *t, const struct outline_value *a,
				 const struct outline_value *b)
{
	const char *json = t->a->result->json.data;

	return a->json_len == b->json_len && !memcmp(json + a->json, json + b->json, a->json_len);
}

static void text_options_add_origin(struct text *t, const struct outline_value *option,
				    const struct outline_value *value)
{
	const struct outline_value *usual = text_member(t, option, "default");

	if (text_options_is_same(t, value, usual)) {
		text_add(t, " (default)");
	} else {
		text_add(t, " (default ");
		text_options_add_value(t, option->key, usual, "none");
		text_add(t, ")");
	}
	if (text_is(t, option, "origin", "default"))
		return;
	text_add(t, ", set by ");
	text_put_member(t, text_member(t, option, "origin"));
}

/* What it may be set to. */
static void text_options_add_bounds(struct text *t, const struct outline_value *option,
				    const struct outline_value *value)
{
	const struct outline_value *bounds = text_member(t, option, "bounds");
	const struct outline_value *choices = text_member(t, bounds, "choices");

	if (choices) {
		text_add(t, "; one of ");
		text_add_elements(t, choices, ", ");
	} else if (value->kind == OUTLINE_INT) {
		text_add(t, "; ");
		text_options_add_value(t, option->key, text_member(t, bounds, "minimum"), "");
		text_add(t, " to ");
		text_options_add_value(t, option->key, text_member(t, bounds, "maximum"), "");
	}
}

static void text_options_add_line(struct text *t, const struct outline_value *option)
{
	const struct outline_value *value = text_member(t, option, "value");

	text_add(t, "%s = ", option->key);
	text_options_add_value(t, option->key, value, "(none)");
	text_options_add_meaning(t, option, value);
	text_options_add_origin(t, option, value);
	text_options_add_bounds(t, option, value);
	text_add(t, "\n");
}

void text_options(struct text *t)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *v = NULL;
	size_t left_out = 0;

	while ((v = outline_next(o, NULL, v)))
		if (v->json_len + LINE_BYTES + TEXT_MARK_BYTES > t->left)
			left_out++;
		else
			text_options_add_line(t, v);
	if (left_out)
		text_add(t, "[... %zu more left out: name fewer in keys ...]", left_out);
	else if (!t->midline && !o->count)
		text_add(t, "no options");
}

void text_options_changed(struct text *t, const struct outline_value *of)
{
	const struct outline_value *v = NULL;
	const char *glue = ": ";
	struct config defaults;

	config_init(&defaults);
	text_add(t, "%s", of->key);
	while ((v = outline_next(&t->a->result->outline, of, v))) {
		int option = config_find(v->key);

		if (option >= 0 && v->number == config_int(&defaults, (enum config_key)option))
			continue;
		text_add(t, "%s%s ", glue, v->key);
		text_options_add_value(t, v->key, v, "");
		if (!v->number)
			text_options_add_zero(t, v->key, " (", ")");
		glue = ", ";
	}
	config_release(&defaults);
	text_add(t, *glue == ':' ? ": at their defaults\n" : "; others at their defaults\n");
}
