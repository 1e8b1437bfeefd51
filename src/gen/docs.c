/*
 * docs/reference.md: capabilities with their parameters, errors, options.
 *
 * "x-text" says more than the short description, which costs every model tokens; "x-default"
 * describes a default that is no single value. tools/list has neither.
 */
#include "gen/gen.h"

#include <stdlib.h>
#include <string.h>

#define CAPABILITIES_MAX (1u << 20)

/* The whole meaning of a parameter or result member. */
static const char *gen_docs_meaning(const json_t *field)
{
	const char *text = gen_member(field, "x-text");

	if (!text)
		text = gen_member(field, "description");
	return text ? text : "";
}

/* Text inside a table cell. */
static void gen_docs_cell(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
}

static void gen_docs_compact(struct buf *out, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	gen_docs_cell(out, text);
	free(text);
}

static void gen_docs_type_names(struct buf *out, const json_t *field)
{
	const json_t *type = json_object_get(field, "type");
	const json_t *items = json_object_get(field, "items");
	json_t *one;
	size_t i;

	if (!items)
		items = json_object_get(field, "additionalProperties");
	if (json_is_string(type))
		buf_adds(out, json_string_value(type));
	json_array_foreach(type, i, one)
		buf_addf(out, "%s%s", i ? " or " : "", json_string_value(one));
	if (json_is_object(items)) {
		buf_adds(out, " of ");
		gen_docs_type_names(out, items);
	}
}

/* A value of @row: 4194304 as "4 MiB", if it is a whole number of that unit; 18 as "022". */
static void gen_docs_number(struct buf *out, const json_t *row, const json_t *number)
{
	static const char *const units[] = { "EiB", "PiB", "TiB", "GiB", "MiB", "KiB" };
	const char *unit = gen_member(row, "unit");
	json_int_t value = json_integer_value(number);

	if (json_object_get(row, "octal")) {
		buf_addf(out, "%#llo", (long long)value);
		return;
	}
	for (int i = 0; unit && !strcmp(unit, "bytes") && i < 6; i++) {
		json_int_t one = (json_int_t)1 << (60 - 10 * i);

		if (value >= one && value % one == 0) {
			buf_addf(out, "%lld %s", (long long)(value / one), units[i]);
			return;
		}
	}
	buf_addf(out, "%lld", (long long)value);
}

static void gen_docs_bounds(struct buf *out, const json_t *field)
{
	static const struct {
		const char *keyword, *before, *after;
	} parts[] = {
		{ "minimum", "≥ ", "" },	  { "exclusiveMinimum", "> ", "" },
		{ "maximum", "≤ ", "" },	  { "x-min-bytes", "≥ ", " bytes" },
		{ "x-max-bytes", "≤ ", " bytes" }, { "minLength", "≥ ", " characters" },
		{ "maxLength", "≤ ", " characters" }, { "maxItems", "≤ ", " elements" },
		{ "maxProperties", "≤ ", " members" },
	};
	const json_t *choices = json_object_get(field, "enum");
	const char *comma = "";
	json_t *one;
	size_t i;

	json_array_foreach(choices, i, one) {
		buf_addf(out, "%s`%s`", comma, json_string_value(one));
		comma = ", ";
	}
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const json_t *value = json_object_get(field, parts[i].keyword);

		if (!value)
			continue;
		buf_addf(out, "%s%s", comma, parts[i].before);
		gen_docs_compact(out, value);
		buf_adds(out, parts[i].after);
		comma = ", ";
	}
	if (gen_member(field, "x-unit"))
		buf_addf(out, "%s%s", *comma ? " " : "", gen_member(field, "x-unit"));
}

static void gen_docs_parameters(struct buf *out, const json_t *schema)
{
	json_t *field;
	const char *name;

	if (!json_object_size(json_object_get(schema, "properties"))) {
		buf_adds(out, "No parameters.\n\n");
		return;
	}
	buf_adds(out, "| parameter | type | default | values and bounds | meaning |\n"
		      "|---|---|---|---|---|\n");
	json_object_foreach(json_object_get(schema, "properties"), name, field) {
		buf_addf(out, "| `%s`", name);
		if (gen_member(field, "x-alias"))
			buf_addf(out, " (alias `%s`)", gen_member(field, "x-alias"));
		buf_adds(out, " | ");
		gen_docs_type_names(out, field);
		buf_adds(out, " | ");
		if (gen_is_required(schema, name)) {
			buf_adds(out, "required");
		} else if (json_object_get(field, "default")) {
			buf_addc(out, '`');
			gen_docs_compact(out, json_object_get(field, "default"));
			buf_addc(out, '`');
		} else if (gen_member(field, "x-default")) {
			gen_docs_cell(out, gen_member(field, "x-default"));
		}
		buf_adds(out, " | ");
		gen_docs_bounds(out, field);
		buf_adds(out, " | ");
		gen_docs_cell(out, gen_docs_meaning(field));
		buf_adds(out, " |\n");
	}
	buf_addc(out, '\n');
}

static void gen_docs_results(struct buf *out, const json_t *schema)
{
	json_t *field;
	const char *name;

	buf_adds(out, "| result | type | meaning |\n|---|---|---|\n");
	json_object_foreach(json_object_get(schema, "properties"), name, field) {
		buf_addf(out, "| `%s` | ", name);
		gen_docs_type_names(out, field);
		buf_adds(out, " | ");
		gen_docs_bounds(out, field);
		buf_adds(out,
			 json_object_get(field, "enum") && *gen_docs_meaning(field) ? "; " : "");
		gen_docs_cell(out, gen_docs_meaning(field));
		buf_adds(out, " |\n");
	}
	buf_addc(out, '\n');
}

static void gen_docs_name_list(struct buf *out, const char *title, const json_t *list)
{
	json_t *one;
	size_t i;

	if (!json_array_size(list))
		return;
	buf_adds(out, title);
	json_array_foreach(list, i, one)
		buf_addf(out, "%s`%s`", i ? ", " : " ", json_string_value(one));
	buf_adds(out, ".\n\n");
}

static void gen_docs_capability(struct buf *out, const json_t *cap)
{
	json_t *example;
	size_t i;

	buf_addf(out, "### %s\n\n%s\n\nVersion %s, tier %s.\n\n", gen_member(cap, "name"),
		 gen_member(cap, "description"), gen_member(cap, "version"),
		 gen_member(cap, "tier"));
	gen_docs_parameters(out, json_object_get(cap, "inputSchema"));
	gen_docs_results(out, json_object_get(cap, "outputSchema"));
	gen_docs_name_list(out, "Errors:", json_object_get(cap, "errors"));
	buf_adds(out, "Examples:\n\n");
	json_array_foreach(json_object_get(cap, "examples"), i, example) {
		char *params = json_dumps(json_object_get(example, "params"), JSON_COMPACT);

		buf_addf(out, "- %s\n  `%s`\n", gen_member(example, "comment"), params);
		free(params);
	}
	buf_addc(out, '\n');
}

void gen_docs_option_bounds(struct buf *out, const json_t *row)
{
	const char *unit = gen_member(row, "unit");
	json_t *choice;
	size_t i;

	json_array_foreach(json_object_get(row, "choices"), i, choice)
		buf_addf(out, "%s%s", i ? ", " : "", json_string_value(choice));
	if (!json_object_get(row, "min"))
		return;
	if (strcmp(gen_member(row, "type"), "integer")) {
		bool names = !strcmp(gen_member(row, "type"), "names");

		buf_addf(out, "%s %s", names ? "one" : "true, false, or", unit);
		return;
	}
	gen_docs_number(out, row, json_object_get(row, "min"));
	buf_adds(out, " … ");
	gen_docs_number(out, row, json_object_get(row, "max"));
	if (unit && strcmp(unit, "bytes") != 0)
		buf_addf(out, " %s", unit);
}

void gen_docs_option_default(struct buf *out, const json_t *row)
{
	const json_t *value = json_object_get(row, "default");
	const char *text = json_string_value(value);

	if (json_is_integer(value))
		gen_docs_number(out, row, value);
	else if (text)
		buf_adds(out, *text ? text : "none");
	else
		gen_docs_compact(out, value);
}

static void gen_docs_options(struct buf *out, const struct gen *g)
{
	json_t *row;
	size_t i;

	buf_addf(out, "## Options\n\n%s\n\n", gen_member(g->cli, "settings"));
	buf_adds(out, "| option | type | default | values and bounds | meaning |\n"
		      "|---|---|---|---|---|\n");
	json_array_foreach(g->config, i, row) {
		buf_addf(out, "| `%s` | %s | ", gen_member(row, "name"),
			 gen_member(row, "type"));
		gen_docs_option_default(out, row);
		buf_adds(out, " | ");
		gen_docs_option_bounds(out, row);
		buf_adds(out, " | ");
		gen_docs_cell(out, gen_member(row, "text"));
		buf_adds(out, " |\n");
	}
}

static void gen_docs_actions(struct buf *out, const json_t *actions)
{
	json_t *action;
	size_t i;

	json_array_foreach(actions, i, action)
		buf_addf(out, "%s `%s`", i ? "," : "", gen_member(action, "name"));
}

static void gen_docs_capabilities(const struct gen *g, struct buf *out)
{
	struct buf text;

	buf_init(&text, CAPABILITIES_MAX);
	for (int c = 0; c < g->cap_count; c++)
		gen_docs_capability(&text, g->caps[c]);
	gen_name_methods(g, text.data, out);
	buf_release(&text);
}

void gen_reference(const struct gen *g, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, "# Reference\n\nGenerated from `schema/` (`make docs`); do not edit. "
		 "More on the protocol: [protocol.md](protocol.md).\n\n## Capabilities\n\n");
	gen_docs_capabilities(g, out);
	buf_adds(out, "## Errors\n\n| type | code | retry can help | when | hint | actions |\n"
		 "|---|---|---|---|---|---|\n");
	json_array_foreach(g->errors, i, row) {
		buf_addf(out, "| `%s` | %lld | %s | ", gen_member(row, "name"),
			 (long long)json_integer_value(json_object_get(row, "code")),
			 json_is_true(json_object_get(row, "retryable")) ? "yes" : "no");
		gen_docs_cell(out, gen_member(row, "text"));
		buf_adds(out, " | ");
		gen_docs_cell(out, gen_member(row, "hint"));
		buf_adds(out, " |");
		gen_docs_actions(out, json_object_get(row, "actions"));
		buf_adds(out, " |\n");
	}
	buf_addc(out, '\n');
	gen_docs_options(out, g);
	buf_addc(out, '\n');
	gen_cli_docs(g, out);
}
