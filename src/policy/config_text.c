#include "policy/config_text.h"

#include <string.h>

#include "base/json.h"
#include "base/jsonc.h"
#include "base/mem.h"

struct config_text {
	struct config *config;
	const char *path;
	enum config_rank rank;
};

/* ---- values ---- */

/* Is @row an option that holds one name or none? */
static bool config_text_is_single(const struct config_row *row)
{
	return row->type == CONFIG_NAMES && row->max == 1;
}

static const char *config_text_wanted(const struct config_row *row)
{
	switch (row->type) {
	case CONFIG_INTEGER:
		return "an integer, or a string with a unit";
	case CONFIG_BOOLEAN:
		return "true or false";
	case CONFIG_ENUM:
		return "a string";
	case CONFIG_NAMES:
		return config_text_is_single(row) ? "a string" : "an array of strings";
	case CONFIG_PORTS:
		return "true, false, or an array of ports";
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}

static const char *config_text_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	default:
		return "null";
	}
}

/* Never the default of a switch alone: it may be the opposite of what was meant. */
static int config_text_fail_type(const struct config_row *row, const json_t *value, struct err *e)
{
	char list[CONFIG_CHOICES_SIZE];

	err_set(e, ERR_INVALID_PARAMS, "option %s takes %s, not %s", row->name,
		config_text_wanted(row), config_text_type(value));
	switch (row->type) {
	case CONFIG_BOOLEAN:
		return err_hint(e, "Write true or false without quotes.");
	case CONFIG_PORTS:
		return err_hint(e, "Write true, false or [53, 443] without quotes.");
	case CONFIG_NAMES:
		return err_hint(e, config_text_is_single(row)
					   ? "Write \"%s\": \"NAME\", or leave it out."
					   : "Write \"%s\": [\"NAME\"]", row->name);
	case CONFIG_ENUM:
		config_list_choices(row, list);
		return err_hint(e, "Write one of these, in quotes: %s.", list);
	case CONFIG_INTEGER:
		break;
	}
	return err_hint(e, "The default is \"%s\": \"%s\"", row->name,
			strtab_get(row->default_text));
}

/* Append the element @value to @list; a comma follows each port, because "1," is a list of one port
 * where "1" means true. 0, or -1 when @value is of the wrong type. */
static int config_text_add(const struct config_row *row, const json_t *value, struct buf *list)
{
	const char *text = json_string_value(value);

	if (row->type == CONFIG_PORTS && json_is_integer(value)) {
		buf_addf(list, "%lld,", (long long)json_integer_value(value));
		return 0;
	}
	if (row->type == CONFIG_PORTS || !text || !*text || strchr(text, ','))
		return -1;
	buf_addf(list, "%s%s", list->len ? "," : "", text);
	return 0;
}

/* The elements of @array as one text; heap, or NULL with @e. */
static char *config_text_join(const struct config_row *row, const json_t *array, struct err *e)
{
	struct buf list;
	json_t *value;
	size_t i;

	buf_init(&list, SIZE_MAX / 2);
	buf_adds(&list, "");
	json_array_foreach(array, i, value) {
		if (!config_text_add(row, value, &list))
			continue;
		err_set(e, ERR_INVALID_PARAMS, "option %s: element %zu is not valid", row->name,
			i + 1);
		err_hint(e, "Each element is %s.",
			 row->type == CONFIG_PORTS ? "an integer from 1 to 65535"
						   : "a string that is not empty, without commas");
		buf_release(&list);
		return NULL;
	}
	return buf_steal(&list);
}

char *config_text_value(const struct config_row *row, const json_t *value, struct err *e)
{
	char *text = NULL;

	if (json_is_integer(value) && row->type == CONFIG_INTEGER) {
		/* "%#llo" of what is too large, or negative, is refused as well. */
		text = mem_printf(row->octal ? "%#llo" : "%lld",
				  (long long)json_integer_value(value));
	} else if (json_is_boolean(value) &&
		   (row->type == CONFIG_BOOLEAN || row->type == CONFIG_PORTS)) {
		text = mem_strdup(json_is_true(value) ? "true" : "false");
	} else if (json_is_array(value) &&
		   (row->type == CONFIG_NAMES || row->type == CONFIG_PORTS)) {
		text = config_text_join(row, value, e);
	} else if (json_is_string(value) && row->type != CONFIG_BOOLEAN &&
		   row->type != CONFIG_PORTS) {
		text = mem_strdup(json_string_value(value));
	} else {
		config_text_fail_type(row, value, e);
	}
	return text;
}

/* ---- members ---- */

/* "sandbox": {"network": ...}: keys are written in full. */
static int config_text_fail_name(const char *name, const json_t *value, struct err *e)
{
	config_lookup(name, e);
	if (json_is_object(value))
		err_hint(e, "Write each key in full: \"sandbox.network\": false");
	return -1;
}

static int config_text_add_rule(void *ctx, json_t *rule, struct jsonc_place at, struct err *e)
{
	const struct config_text *t = ctx;
	AUTO_FREE char *origin = mem_printf("%s:%d", t->path, at.line);

	if (!ruleset_add_tested(&t->config->rules, rule, origin, RULE_OF_OPERATOR, e))
		return 0;
	config_place(t->path, at, e);
	return config_fault(t->config, e);
}

/* The place @len bytes behind @at, where @text is: the way from the start is gone only once. */
static struct jsonc_place config_text_go_on(struct jsonc_place at, const char *text, size_t len)
{
	struct jsonc_place more = jsonc_place(text, len);

	if (more.line == 1)
		more.column += at.column - 1;
	more.line += at.line - 1;
	return more;
}

int config_text_elements(const struct config_text_member *m, config_text_element_fn take, void *ctx,
			 struct err *e)
{
	const char *element;
	size_t pos = 0, len, before = 0;
	struct jsonc_place at = { 1, 1 };

	if (!json_is_array(m->value)) {
		err_set(e, ERR_INVALID_PARAMS, "\"%s\" takes an array, not %s", m->name,
			config_text_type(m->value));
		return err_hint(e, "Write \"%s\": [{...}]", m->name);
	}
	for (size_t i = 0; (element = json_raw_element(m->raw, m->raw_len, &pos, &len)); i++) {
		size_t here = m->raw_at + (size_t)(element - m->raw);

		at = config_text_go_on(at, m->text + before, here - before);
		before = here;
		if (take(ctx, json_array_get(m->value, i), at, e))
			return -1;
	}
	return 0;
}

static int config_text_set_value(const struct config_text *t, const struct config_text_member *m,
				 struct err *e)
{
	AUTO_FREE char *text = NULL, *origin = NULL;
	int key = config_find(m->name);

	if (key < 0)
		return config_text_fail_name(m->name, m->value, e);
	text = config_text_value(&config_rows[key], m->value, e);
	if (!text)
		return -1;
	origin = mem_printf("%s:%d", t->path, m->at.line);
	if (config_assign(t->config, key, text, t->rank, origin, e))
		return -1;
	if (t->config->values[key].rank == t->rank)
		t->config->values[key].at = m->at;
	return 0;
}

static int config_text_set(void *ctx, const struct config_text_member *m, struct err *e)
{
	const struct config_text *t = ctx;

	if (!strcmp(m->name, "rules") && json_is_array(m->value))
		return config_text_elements(m, config_text_add_rule, ctx, e);
	if (!strcmp(m->name, "rules"))
		config_text_elements(m, config_text_add_rule, ctx, e);
	else if (!config_text_set_value(t, m, e))
		return 0;
	config_place(t->path, m->at, e);
	return config_fault(t->config, e);
}

int config_text_read(struct config *c, const struct buf *text, const char *path,
		     enum config_rank rank, struct err *e)
{
	struct config_text t = { .config = c, .path = path, .rank = rank };

	return config_text_each(text, path, config_text_set, &t, e) ? config_fault(c, e) : 0;
}

/* ---- the object ---- */

/* A name may be written with escapes, so it is decoded. */
static int config_text_take(struct config_text_member *member, const struct json_raw_member *m,
			    const json_t *root, config_text_fn take, void *ctx, struct err *e)
{
	json_t *name = json_loadb(m->name, m->name_len, JSON_DECODE_ANY, NULL);
	int status = 0;

	member->name = json_string_value(name);
	BUG_IF(!member->name);
	member->value = json_object_get(root, member->name);
	if (strcmp(member->name, "$schema"))
		status = take(ctx, member, e);
	json_decref(name);
	return status;
}

/* The object that @text is; *@plain as jsonc_parse() has it. NULL with @e. */
static json_t *config_text_object(const struct buf *text, const char *path, char **plain,
				  struct err *e)
{
	struct jsonc_place at = { 1, 1 };
	char why[JSONC_WHY_SIZE];
	json_t *root = jsonc_parse(text->data ? text->data : "", text->len, plain, &at, why);

	if (json_is_object(root))
		return root;
	err_set(e, ERR_INVALID_PARAMS, "%s", root ? "not a JSON object" : why);
	config_place(path, at, e);
	err_hint(e, !root && !strncmp(why, JSONC_DUPLICATE, strlen(JSONC_DUPLICATE))
			    ? "Remove one of the two."
			    : "A configuration file is one JSON object; comments may stand in it.");
	json_decref(root);
	return NULL;
}

int config_text_each(const struct buf *text, const char *path, config_text_fn take, void *ctx,
		     struct err *e)
{
	AUTO_FREE char *plain = NULL;
	struct json_raw_member m;
	json_t *root = config_text_object(text, path, &plain, e);
	int status = root ? 0 : -1;
	size_t pos = 0;

	while (!status && json_raw_next_member(plain, text->len, &pos, &m)) {
		struct config_text_member member = {
			.at = jsonc_place(text->data, (size_t)(m.name - plain)),
			.raw = m.value, .raw_len = m.value_len,
			.text = text->data, .raw_at = (size_t)(m.value - plain),
		};

		status = config_text_take(&member, &m, root, take, ctx, e);
	}
	json_decref(root);
	return status;
}
