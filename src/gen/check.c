/*
 * Refuses schema files that procpen cannot honour. The lists of keywords are the subset of JSON
 * Schema that base/schema implements: a new keyword is implemented there, then listed here.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define PARAMETERS_MAX 64 /* bits of `required` in base/schema.h */

static const char *const types[] = { "string",	"integer", "number", "boolean",
				     "array",	"object",  NULL };

static void gen_check_strings(const struct gen_at *at, const json_t *list)
{
	size_t i;
	json_t *value;

	if (!json_is_array(list) || !json_array_size(list))
		gen_fail(at, "must be an array that is not empty");
	json_array_foreach(list, i, value)
		if (!json_string_length(value))
			gen_fail(at, "element %zu must be a string that is not empty", i);
}

static void gen_check_unique_name(const struct gen_at *at, const json_t *rows, size_t i)
{
	const char *name = gen_str(at, json_array_get(rows, i), "name");

	for (size_t k = 0; k < i; k++)
		if (!strcmp(name, gen_str(at, json_array_get(rows, k), "name")))
			gen_fail(at, "\"%s\" is there twice", name);
}

/* Codes that JSON-RPC and MCP define; an error may have one of these as defined. */
static bool gen_check_is_reserved(json_int_t code)
{
	static const int defined[] = { -32700, -32603, -32602, -32601, -32600,
				       -32002, -32021, -32022 };

	for (size_t i = 0; i < COUNT_OF(defined); i++)
		if (code == defined[i])
			return false;
	return code >= -32768 && code <= -32000;
}

/* Programs know these names (docs/protocol.md), so another one would be lost on them. */
static void gen_check_actions(const struct gen_at *at, const json_t *actions)
{
	static const char *const known[] = { "name", "text", NULL };
	static const char *const names[] = {
		"check_path", "use_full_path", "increase_limits", "optimize", "check_scope",
		"check_permissions", "retry", "list_processes", "check_status", "force_kill",
		"use_valid_filter", "use_valid_stream", NULL,
	};
	json_t *action;
	size_t i;

	json_array_foreach(actions, i, action) {
		gen_only(at, action, known);
		gen_str(at, action, "text");
		if (!str_is_listed(gen_str(at, action, "name"), names))
			gen_fail(at, "action %zu is no known one", i);
	}
}

void gen_check_errors(const struct gen *g)
{
	static const char *const known[] = { "name", "code", "retryable", "hint", "actions", "text",
					     NULL };
	struct gen_at file = { .file = "errors.json" };
	json_t *row;
	size_t i;

	if (!json_is_array(g->errors))
		gen_fail(&file, "must be an array");
	json_array_foreach(g->errors, i, row) {
		struct gen_at at;
		char place[32];
		json_int_t code;

		snprintf(place, sizeof(place), "%zu", i);
		at = gen_below(&file, place);
		gen_only(&at, row, known);
		gen_check_unique_name(&at, g->errors, i);
		gen_str(&at, row, "hint");
		gen_str(&at, row, "text");
		gen_check_actions(&at, json_object_get(row, "actions"));
		code = gen_int(&at, row, "code");
		if (!json_is_boolean(json_object_get(row, "retryable")))
			gen_fail(&at, "\"retryable\" must be true or false");
		if (gen_check_is_reserved(code))
			gen_fail(&at, "code %lld is reserved by JSON-RPC", (long long)code);
		for (size_t k = 0; k < i; k++)
			if (code == gen_int(&at, json_array_get(g->errors, k), "code"))
				gen_fail(&at, "code %lld is there twice", (long long)code);
	}
}

static void gen_check_config_choices(const struct gen_at *at, const json_t *row)
{
	const json_t *choices = json_object_get(row, "choices");
	const char *fallback = gen_str(at, row, "default");
	json_t *choice;
	size_t i;

	gen_check_strings(at, choices);
	json_array_foreach(choices, i, choice)
		gen_check_word(at, json_string_value(choice));
	json_array_foreach(choices, i, choice)
		if (!strcmp(json_string_value(choice), fallback))
			return;
	gen_fail(at, "default \"%s\" is none of the choices", fallback);
}

/* Which way is narrower must make sense for the type. */
static void gen_check_config_narrow(const struct gen_at *at, const json_t *row, const char *type)
{
	static const char *const ways[][2] = {
		{ "lower", "integer" }, { "bound", "integer" }, { "false", "boolean" },
		{ "false", "ports" }, { "later", "enum" },
	};
	const char *narrow = gen_str_or(at, row, "narrow", NULL);

	for (size_t i = 0; narrow && i < COUNT_OF(ways); i++)
		if (!strcmp(ways[i][0], narrow) && !strcmp(ways[i][1], type))
			return;
	if (narrow)
		gen_fail(at, "\"narrow\": \"%s\" is nothing for type \"%s\"", narrow, type);
}

static void gen_check_config_row(const struct gen_at *at, json_t *row)
{
	static const char *const known[] = { "name", "type", "default", "min", "max",
					     "choices", "unit", "narrow", "octal",
					     "text", NULL };
	const char *type = gen_str(at, row, "type");
	const json_t *fallback = json_object_get(row, "default");

	gen_only(at, row, known);
	gen_check_word(at, gen_str(at, row, "name"));
	gen_str(at, row, "text");
	gen_str_or(at, row, "unit", NULL);
	if (json_object_get(row, "max") && strcmp(type, "integer"))
		gen_str(at, row, "unit"); /* the reference says of what */
	gen_check_config_narrow(at, row, type);
	if (json_object_get(row, "octal") &&
	    (!json_is_true(json_object_get(row, "octal")) || strcmp(type, "integer")))
		gen_fail(at, "\"octal\" is true, and of integers");
	if (!strcmp(type, "integer")) {
		json_int_t value = gen_int(at, row, "default");

		if (value < gen_int(at, row, "min") || value > gen_int(at, row, "max"))
			gen_fail(at, "default %lld is out of bounds", (long long)value);
	} else if (!strcmp(type, "boolean") || !strcmp(type, "ports")) {
		if (!json_is_boolean(fallback))
			gen_fail(at, "default must be true or false");
	} else if (!strcmp(type, "enum")) {
		gen_check_config_choices(at, row);
	} else if (!strcmp(type, "names")) {
		if (!json_is_string(fallback))
			gen_fail(at, "default must be a string");
		if (json_object_get(row, "max") && gen_int(at, row, "max") != 1)
			gen_fail(at, "names are one, or any number");
	} else {
		gen_fail(at, "type \"%s\" is not supported", type);
	}
}

void gen_check_config(const struct gen *g)
{
	struct gen_at file = { .file = "config.json" };
	json_t *row;
	size_t i;

	if (!json_is_array(g->config))
		gen_fail(&file, "must be an array");
	gen_check_printable(&file, g->config);
	json_array_foreach(g->config, i, row) {
		char place[32];
		struct gen_at at;

		snprintf(place, sizeof(place), "%zu", i);
		at = gen_below(&file, place);
		gen_check_unique_name(&at, g->config, i);
		at = gen_below(&file, gen_str(&at, row, "name"));
		gen_check_config_row(&at, row);
	}
}

static void gen_check_message(const struct gen_at *at, json_t *row)
{
	static const char *const known[] = { "name", "from", "kind", "description", "params",
					     "result", NULL };
	static const char *const sides[] = { "client", "server", NULL };
	static const char *const kinds[] = { "notification", "request", NULL };

	gen_only(at, row, known);
	gen_str(at, row, "description");
	if (!str_is_listed(gen_str(at, row, "from"), sides))
		gen_fail(at, "\"from\" must be client or server");
	if (!str_is_listed(gen_str(at, row, "kind"), kinds))
		gen_fail(at, "\"kind\" must be notification or request");
	if (!json_is_object(json_object_get(row, "params")))
		gen_fail(at, "\"params\" must be a schema");
	if (json_is_object(json_object_get(row, "result")) !=
	    !strcmp(gen_str(at, row, "kind"), "request"))
		gen_fail(at, "requests, and only they, have a schema as \"result\"");
}

/* Their schemas are for clients alone: procpen does not check by them, the tests do. */
void gen_check_messages(const struct gen *g)
{
	static const char *const known[] = { "schemas", "messages", NULL };
	struct gen_at file = { .file = "messages.json" };
	const json_t *rows = json_object_get(g->messages, "messages");
	json_t *row;
	size_t i;

	gen_only(&file, g->messages, known);
	if (!json_is_object(json_object_get(g->messages, "schemas")) || !json_is_array(rows))
		gen_fail(&file, "\"schemas\" or \"messages\" is missing");
	json_array_foreach(rows, i, row) {
		char place[32];
		struct gen_at at;

		snprintf(place, sizeof(place), "%zu", i);
		at = gen_below(&file, place);
		gen_check_unique_name(&at, rows, i);
		gen_check_message(&at, row);
	}
}

static bool gen_check_has_type(const json_t *field, const char *name)
{
	const json_t *type = json_object_get(field, "type");
	json_t *one;
	size_t i;

	if (json_is_string(type))
		return !strcmp(json_string_value(type), name);
	json_array_foreach(type, i, one)
		if (!strcmp(json_string_value(one), name))
			return true;
	return false;
}

static void gen_check_type(const struct gen_at *at, const json_t *field, bool nullable)
{
	const json_t *type = json_object_get(field, "type");
	json_t *one;
	size_t i;

	if (json_is_string(type)) {
		if (!str_is_listed(json_string_value(type), types))
			gen_fail(at, "type \"%s\" is not supported", json_string_value(type));
		return;
	}
	if (!type)
		gen_fail(at, "\"type\" is missing");
	gen_check_strings(at, type);
	json_array_foreach(type, i, one)
		if (!str_is_listed(json_string_value(one), types) &&
		    !(nullable && !strcmp(json_string_value(one), "null")))
			gen_fail(at, "type \"%s\" is not supported", json_string_value(one));
}

/* Each bound must apply to a type of the field. */
static void gen_check_bounds_fit(const struct gen_at *at, const json_t *field)
{
	static const struct {
		const char *keyword, *type, *other;
	} fits[] = {
		{ "minimum", "integer", "number" }, { "maximum", "integer", "number" },
		{ "exclusiveMinimum", "integer", "number" },
		{ "x-alias-scale", "number", "integer" },
		{ "minLength", "string", NULL }, { "maxLength", "string", NULL },
		{ "x-min-bytes", "string", NULL }, { "x-max-bytes", "string", NULL },
		{ "enum", "string", NULL },
		{ "items", "array", NULL }, { "additionalProperties", "object", NULL },
		{ "maxItems", "array", NULL }, { "maxProperties", "object", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(fits); i++)
		if (json_object_get(field, fits[i].keyword) &&
		    !gen_check_has_type(field, fits[i].type) &&
		    !(fits[i].other && gen_check_has_type(field, fits[i].other)))
			gen_fail(at, "\"%s\" does not go with this type", fits[i].keyword);
	if (json_object_get(field, "minimum") && json_object_get(field, "exclusiveMinimum"))
		gen_fail(at, "\"minimum\" and \"exclusiveMinimum\" exclude each other");
	if (gen_check_has_type(field, "array") && !json_object_get(field, "items"))
		gen_fail(at, "\"items\" is missing");
}

static bool gen_check_number_fits(const json_t *field, double value)
{
	const json_t *min = json_object_get(field, "minimum");
	const json_t *above = json_object_get(field, "exclusiveMinimum");
	const json_t *max = json_object_get(field, "maximum");

	return !(min && value < json_number_value(min)) &&
	       !(above && value <= json_number_value(above)) &&
	       !(max && value > json_number_value(max));
}

static bool gen_check_is_in(const json_t *list, const json_t *value)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_equal(one, value))
			return true;
	return false;
}

/* What base/schema.c reads: an integer, a boolean or a string without escapes. */
static void gen_check_default(const struct gen_at *at, const json_t *field)
{
	const json_t *value = json_object_get(field, "default");
	const json_t *choices = json_object_get(field, "enum");
	bool ok = true;

	if (!value)
		return;
	if (json_is_string(value))
		ok = gen_check_has_type(field, "string") &&
		     !strpbrk(json_string_value(value), "\"\\\n\t") &&
		     (!choices || gen_check_is_in(choices, value));
	else if (json_is_integer(value))
		ok = (gen_check_has_type(field, "integer") ||
		      gen_check_has_type(field, "number")) &&
		     gen_check_number_fits(field, json_number_value(value));
	else
		ok = json_is_boolean(value) && gen_check_has_type(field, "boolean");
	if (!ok)
		gen_fail(at, "the default does not fit the type, the values or the bounds");
}

/* One parameter, or the element of an array or map. */
static void gen_check_field(const struct gen *g, const struct gen_at *at, json_t *field)
{
	static const char *const known[] = {
		"type", "description", "default", "minimum", "maximum", "exclusiveMinimum",
		"minLength", "maxLength", "enum", "items", "additionalProperties", "maxItems",
		"maxProperties", "x-alias", "x-alias-scale", "x-error", "x-max-bytes",
		"x-min-bytes", "x-unit", "x-text", "x-default", "x-listed",
		"x-synonyms", "x-hint", "x-plain", NULL
	};
	const char *error;
	struct gen_at below;

	gen_only(at, field, known);
	gen_check_type(at, field, false);
	gen_check_bounds_fit(at, field);
	gen_check_default(at, field);
	if (json_object_get(field, "enum"))
		gen_check_strings(at, json_object_get(field, "enum"));
	if (json_object_get(field, "x-synonyms"))
		gen_check_strings(at, json_object_get(field, "x-synonyms"));
	gen_str_or(at, field, "x-hint", NULL);
	gen_str_or(at, field, "x-alias", NULL);
	gen_str_or(at, field, "x-text", NULL);
	if (gen_str_or(at, field, "x-default", NULL) && json_object_get(field, "default"))
		gen_fail(at, "\"x-default\" says what happens where there is no \"default\"");
	if (json_object_get(field, "x-alias-scale") && !json_object_get(field, "x-alias"))
		gen_fail(at, "\"x-alias-scale\" without \"x-alias\"");
	if (json_object_get(field, "x-listed") &&
	    !json_is_false(json_object_get(field, "x-listed")))
		gen_fail(at, "\"x-listed\" must be false, or not be there");
	if (json_object_get(field, "x-plain") && !json_is_true(json_object_get(field, "x-plain")))
		gen_fail(at, "\"x-plain\" must be true, or not be there");
	error = gen_str_or(at, field, "x-error", NULL);
	if (error && !gen_is_error(g, error))
		gen_fail(at, "\"x-error\": no error \"%s\" in errors.json", error);
	if (json_object_get(field, "items")) {
		below = gen_below(at, "items");
		gen_check_field(g, &below, json_object_get(field, "items"));
	}
	if (json_object_get(field, "additionalProperties")) {
		below = gen_below(at, "additionalProperties");
		gen_check_field(g, &below, json_object_get(field, "additionalProperties"));
	}
}

static void gen_check_required(const struct gen_at *at, const json_t *schema)
{
	const json_t *required = json_object_get(schema, "required");
	json_t *name;
	size_t i;

	if (!required)
		return;
	gen_check_strings(at, required);
	json_array_foreach(required, i, name)
		if (!json_object_get(json_object_get(schema, "properties"),
				     json_string_value(name)))
			gen_fail(at, "\"required\": no property \"%s\"", json_string_value(name));
}

static void gen_check_input(const struct gen *g, const struct gen_at *at, json_t *schema)
{
	static const char *const known[] = { "type", "properties", "required",
					     "additionalProperties", NULL };
	struct gen_at properties, below;
	const char *name;
	json_t *field;

	gen_only(at, schema, known);
	if (strcmp(gen_str(at, schema, "type"), "object") != 0)
		gen_fail(at, "type must be \"object\"");
	if (!json_is_false(json_object_get(schema, "additionalProperties")))
		gen_fail(at, "\"additionalProperties\" must be false");
	properties = gen_below(at, "properties");
	if (!json_is_object(json_object_get(schema, "properties")))
		gen_fail(&properties, "must be an object");
	if (json_object_size(json_object_get(schema, "properties")) > PARAMETERS_MAX)
		gen_fail(&properties, "more than %d parameters", PARAMETERS_MAX);
	json_object_foreach(json_object_get(schema, "properties"), name, field) {
		below = gen_below(&properties, name);
		gen_check_field(g, &below, field);
		gen_str(&below, field, "description");
	}
	gen_check_required(at, schema);
}

/* Results are written by hand and checked by the tests: any depth, few keywords. */
static void gen_check_output(const struct gen_at *at, json_t *schema)
{
	static const char *const known[] = { "type",  "properties", "required",
					     "items", "description", "additionalProperties",
					     "enum",  "x-text",	   NULL };
	static const char *const deeper[] = { "items", "additionalProperties" };
	const char *name;
	json_t *field;
	struct gen_at below;

	gen_only(at, schema, known);
	gen_check_type(at, schema, true);
	gen_check_required(at, schema);
	gen_str_or(at, schema, "x-text", NULL);
	json_object_foreach(json_object_get(schema, "properties"), name, field) {
		below = gen_below(at, name);
		gen_check_output(&below, field);
	}
	for (size_t i = 0; i < COUNT_OF(deeper); i++) {
		field = json_object_get(schema, deeper[i]);
		if (!field || json_is_boolean(field))
			continue;
		below = gen_below(at, deeper[i]);
		gen_check_output(&below, field);
	}
}

static bool gen_check_has_parameter(json_t *properties, const char *name)
{
	const char *property;
	json_t *field;

	json_object_foreach(properties, property, field) {
		const json_t *alias = json_object_get(field, "x-alias");

		if (!strcmp(property, name) || (alias && !strcmp(json_string_value(alias), name)))
			return true;
	}
	return false;
}

static void gen_check_examples(const struct gen_at *at, const json_t *cap)
{
	static const char *const known[] = { "comment", "params", NULL };
	json_t *properties = json_object_get(json_object_get(cap, "inputSchema"), "properties");
	json_t *example, *value;
	const char *name;
	size_t i;

	if (!json_array_size(json_object_get(cap, "examples")))
		gen_fail(at, "\"examples\" must be an array that is not empty");
	json_array_foreach(json_object_get(cap, "examples"), i, example) {
		gen_only(at, example, known);
		gen_str(at, example, "comment");
		if (!json_is_object(json_object_get(example, "params")))
			gen_fail(at, "examples: \"params\" must be an object");
		json_object_foreach(json_object_get(example, "params"), name, value)
			if (!gen_check_has_parameter(properties, name))
				gen_fail(at, "examples: no parameter \"%s\"", name);
	}
}

static void gen_check_lists(const struct gen *g, const struct gen_at *at, const json_t *cap)
{
	static const char *const flags[] = {
		"command", "starts", "long", "ends", "plain", "unlisted", "anywhere", NULL
	};
	json_t *value;
	size_t i;

	json_array_foreach(json_object_get(cap, "flags"), i, value)
		if (!json_is_string(value) || !str_is_listed(json_string_value(value), flags))
			gen_fail(at, "\"flags\": element %zu is not supported", i);
	gen_check_strings(at, json_object_get(cap, "errors"));
	json_array_foreach(json_object_get(cap, "errors"), i, value)
		if (!gen_is_error(g, json_string_value(value)))
			gen_fail(at, "\"errors\": no error \"%s\" in errors.json",
				 json_string_value(value));
}

static void gen_check_annotations(const struct gen_at *at, json_t *annotations)
{
	static const char *const known[] = { "readOnlyHint", "destructiveHint", "idempotentHint",
					     "openWorldHint", NULL };
	const char *name;
	json_t *value;

	gen_only(at, annotations, known);
	json_object_foreach(annotations, name, value)
		if (!json_is_boolean(value))
			gen_fail(at, "\"%s\" must be true or false", name);
}

static void gen_check_tier(const struct gen_at *at, const json_t *cap)
{
	static const char *const tiers[] = { "autonomous", "notify", "confirm", "deny", NULL };

	if (!str_is_listed(gen_str(at, cap, "tier"), tiers))
		gen_fail(at, "tier \"%s\" is not supported", gen_str(at, cap, "tier"));
}

void gen_check_cap(const struct gen *g, const char *file, json_t *cap)
{
	static const char *const known[] = {
		"name", "title", "description", "version", "order", "tier", "flags", "inputSchema",
		"outputSchema", "annotations", "errors", "examples", NULL
	};
	struct gen_at at = { .file = file }, below;
	const char *name;

	gen_only(&at, cap, known);
	name = gen_str(&at, cap, "name");
	if (strlen(file) != strlen(name) + 5 || strncmp(file, name, strlen(name)) != 0)
		gen_fail(&at, "the file must be called %s.json", name);
	gen_str(&at, cap, "title");
	gen_str(&at, cap, "description");
	gen_str(&at, cap, "version");
	gen_int(&at, cap, "order");
	gen_check_tier(&at, cap);
	below = gen_below(&at, "inputSchema");
	gen_check_input(g, &below, json_object_get(cap, "inputSchema"));
	below = gen_below(&at, "outputSchema");
	if (strcmp(gen_str(&below, json_object_get(cap, "outputSchema"), "type"), "object") != 0)
		gen_fail(&below, "type must be \"object\"");
	gen_check_output(&below, json_object_get(cap, "outputSchema"));
	below = gen_below(&at, "annotations");
	gen_check_annotations(&below, json_object_get(cap, "annotations"));
	gen_check_lists(g, &at, cap);
	gen_check_examples(&at, cap);
}
