/* Refuses a schema/blocklist.json that the tables of blocklist/command/table cannot hold. */
#include "gen/gen.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define FILE_NAME "blocklist.json"
#define TARGETS_MAX 64

struct gen_at gen_blocklist_row(const char *list, size_t i)
{
	struct gen_at top = { .file = FILE_NAME }, row;
	char name[48];

	snprintf(name, sizeof(name), "%s[%zu]", list, i);
	row = gen_below(&top, name);
	return row;
}

/* ---- fields ---- */

/* The member @name is words with single spaces between them. */
static void gen_blocklist_check_words(const struct gen_at *at, const json_t *row, const char *name)
{
	const char *text = gen_str_or(at, row, name, NULL);

	if (!text)
		return;
	if (text[0] == ' ' || text[strlen(text) - 1] == ' ' || strstr(text, "  "))
		gen_fail(at, "\"%s\" must be words with single spaces between them", name);
}

static void gen_blocklist_check_strings(const struct gen_at *at, const json_t *row,
					const char *name)
{
	const json_t *list = json_object_get(row, name);
	json_t *text;
	size_t i;

	if (list && !json_is_array(list))
		gen_fail(at, "\"%s\" must be a list of strings", name);
	json_array_foreach(list, i, text)
		if (!json_string_length(text))
			gen_fail(at, "\"%s\" must be a list of strings that are not empty",
				 name);
}

static void gen_blocklist_check_boolean(const struct gen_at *at, const json_t *row,
					const char *name)
{
	const json_t *value = json_object_get(row, name);

	if (value && !json_is_boolean(value))
		gen_fail(at, "\"%s\" must be true or false", name);
}

/* blocklist/path_tree keeps positions in a component as bits of 64. */
static void gen_blocklist_check_paths(const struct gen_at *at, const json_t *row, const char *name)
{
	json_t *text;
	size_t i;

	gen_blocklist_check_strings(at, row, name);
	json_array_foreach(json_object_get(row, name), i, text)
		if (json_string_length(text) >= 60)
			gen_fail(at, "\"%s\" is too long", json_string_value(text));
}

static void gen_blocklist_check_text(const struct gen_at *at, const json_t *row, const char *name)
{
	gen_str(at, row, name);
}

static void gen_blocklist_check_names(const struct gen_at *at, const json_t *row, const char *name)
{
	gen_blocklist_check_text(at, row, name);
	gen_blocklist_check_words(at, row, name);
}

static void gen_blocklist_check_kind(const struct gen_at *at, const json_t *row, const char *name)
{
	static const char *const known[] = { "run", "shell", "text", "option", "scan", "code",
					     NULL };
	const char *text = gen_str(at, row, name);

	if (!str_is_listed(text, known))
		gen_fail(at, "%s \"%s\" is not known", name, text);
}

/* A member that a row may have, and its check; NULL: checked where it is used. */
struct field {
	const char *name;
	void (*check)(const struct gen_at *at, const json_t *row, const char *name);
};
#define FIELDS_MAX 20

static void gen_blocklist_check_row(const struct gen_at *at, json_t *row,
				    const struct field *fields)
{
	const char *known[FIELDS_MAX + 1] = { NULL };

	for (size_t i = 0; i < FIELDS_MAX && fields[i].name; i++)
		known[i] = fields[i].name;
	gen_only(at, row, known);
	for (size_t i = 0; i < FIELDS_MAX && fields[i].name; i++)
		if (fields[i].check)
			fields[i].check(at, row, fields[i].name);
}

static void gen_blocklist_check_effects(const struct gen_at *at, const json_t *row,
					const char *name)
{
	static const struct field fields[FIELDS_MAX] = {
		{ "effect", gen_blocklist_check_text },
		{ "operands", gen_blocklist_check_text },
		{ "need", gen_blocklist_check_words },
		{ "unless", gen_blocklist_check_words },
	};
	json_t *effect;
	size_t i;

	json_array_foreach(json_object_get(row, name), i, effect)
		gen_blocklist_check_row(at, effect, fields);
}

/* The kind of a flow is not checked: it becomes a constant, and a wrong one does not compile. */
static const struct section {
	const char *name;
	struct field fields[FIELDS_MAX];
} sections[] = {
	{ "targets",
	  {
		  { "name", gen_blocklist_check_text },
		  { "text", gen_blocklist_check_text },
		  { "paths", gen_blocklist_check_paths },
		  { "except", gen_blocklist_check_paths },
		  { "sweeps", gen_blocklist_check_paths },
		  { "tree", gen_blocklist_check_boolean },
		  { "empty", gen_blocklist_check_boolean },
		  { "guess", gen_blocklist_check_boolean },
	  } },
	{ "programs",
	  {
		  { "names", gen_blocklist_check_names },
		  { "values", gen_blocklist_check_words },
		  { "inert", gen_blocklist_check_words },
		  { "effects", gen_blocklist_check_effects },
	  } },
	{ "wrappers",
	  {
		  { "names", gen_blocklist_check_names },
		  { "kind", gen_blocklist_check_kind },
		  { "values", gen_blocklist_check_words },
		  { "text", gen_blocklist_check_words },
		  { "inert", NULL },
		  { "skip", NULL },
		  { "directory", NULL },
		  { "assigns", NULL },
		  { "remote", NULL },
		  { "feeds", NULL },
		  { "lenient", NULL },
		  { "login", NULL },
		  { "multicall", NULL },
	  } },
	{ "flows",
	  {
		  { "kind", gen_blocklist_check_text },
		  { "names", gen_blocklist_check_names },
		  { "words", gen_blocklist_check_words },
	  } },
	{ "rules",
	  {
		  { "id", gen_blocklist_check_text },
		  { "protects", gen_blocklist_check_text },
		  { "reason", gen_blocklist_check_text },
		  { "suggestion", gen_blocklist_check_text },
		  { "commands", gen_blocklist_check_words },
		  { "effects", gen_blocklist_check_words },
		  { "need", gen_blocklist_check_strings },
		  { "words", gen_blocklist_check_strings },
		  { "examples", gen_blocklist_check_strings },
		  { "counterexamples", gen_blocklist_check_strings },
		  { "forbid", NULL },
		  { "targets", NULL },
		  { "operands", NULL },
		  { "guess", NULL },
		  { "operandless", gen_blocklist_check_boolean },
		  { "always", gen_blocklist_check_boolean },
	  } },
};

/* ---- rules ---- */

static bool gen_blocklist_known_target(const struct gen *g, const char *name, size_t len)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, "targets"), i, row) {
		const char *text = gen_member(row, "name");

		if (strlen(text) == len && !memcmp(text, name, len))
			return true;
	}
	return false;
}

static void gen_blocklist_check_rule_targets(const struct gen *g, const struct gen_at *at,
					     const json_t *row)
{
	const char *text = gen_str_or(at, row, "targets", "");

	for (size_t len; *text; text += len + (text[len] == ' ')) {
		len = strcspn(text, " ");
		if (!gen_blocklist_known_target(g, text, len))
			gen_fail(at, "target \"%.*s\" is not known", (int)len, text);
	}
}

/* Checks of a rule besides those of its members. */
static void gen_blocklist_check_rule(const struct gen *g, const struct gen_at *at,
				     const json_t *row)
{
	if (!gen_member(row, "commands") == !gen_member(row, "effects"))
		gen_fail(at, "needs either \"commands\" or \"effects\"");
	gen_blocklist_check_rule_targets(g, at, row);
}

static void gen_blocklist_check_unique_ids(const json_t *rules)
{
	json_t *row, *other;
	size_t i, k;

	json_array_foreach(rules, i, row) {
		struct gen_at at = gen_blocklist_row("rules", i);

		json_array_foreach(rules, k, other)
			if (k < i && !strcmp(gen_member(row, "id"), gen_member(other, "id")))
				gen_fail(&at, "the id \"%s\" is taken", gen_member(row, "id"));
	}
}

/* ---- sections ---- */

static void gen_blocklist_check_section(const struct gen *g, const struct section *section)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(g->blocklist, section->name), i, row) {
		struct gen_at at = gen_blocklist_row(section->name, i);

		gen_blocklist_check_row(&at, row, section->fields);
		if (!strcmp(section->name, "targets") && i >= TARGETS_MAX)
			gen_fail(&at, "more than %d classes", TARGETS_MAX);
		if (!strcmp(section->name, "rules"))
			gen_blocklist_check_rule(g, &at, row);
	}
}

void gen_check_blocklist(const struct gen *g)
{
	const char *known[COUNT_OF(sections) + 1] = { NULL };
	struct gen_at top = { .file = FILE_NAME };

	for (size_t i = 0; i < COUNT_OF(sections); i++)
		known[i] = sections[i].name;
	gen_only(&top, g->blocklist, known);
	for (size_t i = 0; i < COUNT_OF(sections); i++)
		gen_blocklist_check_section(g, &sections[i]);
	gen_blocklist_check_unique_ids(json_object_get(g->blocklist, "rules"));
}
