/*
 * The OpenRPC document (https://spec.open-rpc.org, 1.3.2) of all capabilities, as the answer of
 * rpc.discover and as docs/openrpc.json. It has the whole meaning of each member, as the reference
 * page has, and beside the capabilities the messages of schema/messages.json.
 *
 * An alias is a parameter of its own, so that a client that checks its calls against the document
 * accepts what procpen accepts.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"

#define TEXT_MAX (64u << 10)

/* @schema without the keywords that are the generator's own, its longest text as description. */
static json_t *gen_openrpc_schema(const json_t *schema)
{
	static const char *const kept[] = { "x-unit", "x-min-bytes", "x-max-bytes",
					    "x-default", NULL };
	static const char *const deeper[] = { "items", "additionalProperties" };
	json_t *shown = json_copy((json_t *)(uintptr_t)schema), *value, *properties = json_object();
	const char *name;
	void *next;

	if (json_object_get(shown, "x-text"))
		json_object_set(shown, "description", json_object_get(shown, "x-text"));
	json_object_foreach_safe(shown, next, name, value)
		if (!strncmp(name, "x-", 2) && !str_is_listed(name, kept))
			json_object_del(shown, name);
	json_object_foreach(json_object_get(shown, "properties"), name, value)
		json_object_set_new(properties, name, gen_openrpc_schema(value));
	if (json_object_get(shown, "properties"))
		json_object_set(shown, "properties", properties);
	json_decref(properties);
	for (size_t i = 0; i < COUNT_OF(deeper); i++)
		if (json_is_object(json_object_get(shown, deeper[i])))
			json_object_set_new(shown, deeper[i],
				gen_openrpc_schema(json_object_get(shown, deeper[i])));
	return shown;
}

static void gen_openrpc_add_param(json_t *params, const char *name, const json_t *field,
				  bool required)
{
	json_t *schema = gen_openrpc_schema(field);
	json_t *description = json_incref(json_object_get(schema, "description"));

	json_object_del(schema, "description");
	json_array_append_new(params, json_pack("{s:s, s:o, s:b, s:o}", "name", name,
						"description", description, "required", required,
						"schema", schema));
}

/* The parameter @alias of @name. Where its unit is another one, the bounds do not hold. */
static void gen_openrpc_add_alias(json_t *params, const char *alias, const char *name,
				  const json_t *field)
{
	const json_t *scale = json_object_get(field, "x-alias-scale");
	json_t *schema = gen_openrpc_schema(field);
	char text[GEN_PATH_MAX];

	snprintf(text, sizeof(text), "Another name of %s.", name);
	if (scale) {
		json_decref(schema);
		schema = json_pack("{s:O}", "type", json_object_get(field, "type"));
		snprintf(text, sizeof(text), "Another name of %s, in units of %g %s.", name,
			 1 / json_number_value(scale), gen_member(field, "x-unit"));
	}
	json_object_del(schema, "description");
	json_array_append_new(params, json_pack("{s:s, s:s, s:b, s:o, s:s}", "name", alias,
						"description", text, "required", false, "schema",
						schema, "x-alias-of", name));
}

/* Required ones first: the specification demands it. */
static json_t *gen_openrpc_params(const json_t *input)
{
	json_t *properties = json_object_get(input, "properties"), *params = json_array(), *field;
	const char *name;

	for (int required = 1; required >= 0; required--)
		json_object_foreach(properties, name, field)
			if (gen_is_required(input, name) == required)
				gen_openrpc_add_param(params, name, field, required);
	json_object_foreach(properties, name, field)
		if (gen_member(field, "x-alias"))
			gen_openrpc_add_alias(params, gen_member(field, "x-alias"), name, field);
	return params;
}

static json_t *gen_openrpc_examples(const json_t *cap)
{
	json_t *examples = json_array(), *example, *value;
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(cap, "examples"), i, example) {
		json_t *params = json_array();

		json_object_foreach(json_object_get(example, "params"), name, value)
			json_array_append_new(params, json_pack("{s:s, s:O}", "name", name,
								"value", value));
		json_array_append_new(examples, json_pack("{s:s, s:o}", "name",
							  gen_member(example, "comment"),
							  "params", params));
	}
	return examples;
}

static json_t *gen_openrpc_method(const json_t *cap)
{
	json_t *errors = json_array(), *error;
	size_t i;

	json_array_foreach(json_object_get(cap, "errors"), i, error)
		json_array_append_new(errors, json_pack("{s:s++}", "$ref", "#/components/errors/",
							json_string_value(error), ""));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:{s:s, s:o}, s:o, s:o, s:s, s:s}",
			 "name", gen_member(cap, "name"), "summary", gen_member(cap, "title"),
			 "description", gen_member(cap, "description"),
			 "paramStructure", "by-name",
			 "params", gen_openrpc_params(json_object_get(cap, "inputSchema")),
			 "result", "name", "result",
			 "schema", gen_openrpc_schema(json_object_get(cap, "outputSchema")),
			 "errors", errors, "examples", gen_openrpc_examples(cap),
			 "x-version", gen_member(cap, "version"),
			 "x-tier", gen_member(cap, "tier"));
}

static json_t *gen_openrpc_errors(const struct gen *g)
{
	json_t *errors = json_object(), *row;
	size_t i;

	json_array_foreach(g->errors, i, row)
		json_object_set_new(errors, gen_member(row, "name"),
			json_pack("{s:O, s:s, s:{s:s, s:s, s:O, s:O*}}",
				  "code", json_object_get(row, "code"),
				  "message", gen_member(row, "text"), "data",
				  "type", gen_member(row, "name"),
				  "hint", gen_member(row, "hint"),
				  "retryable", json_object_get(row, "retryable"),
				  "actions", json_object_get(row, "actions")));
	return errors;
}

static json_t *gen_openrpc_with_names(const struct gen *g, const char *text)
{
	struct buf out;
	json_t *value;

	buf_init(&out, TEXT_MAX);
	gen_name_methods(g, text, &out);
	value = json_stringn(out.data, out.len);
	buf_release(&out);
	return value;
}

/* The texts of schema/ are written for models, which know the tools. */
static void gen_openrpc_name_capabilities(const struct gen *g, json_t *value)
{
	json_t *below;
	const char *name;
	size_t i;

	json_object_foreach(value, name, below) {
		if (!strcmp(name, "description") && json_is_string(below))
			json_object_set_new(value, name, gen_openrpc_with_names(
							 g, json_string_value(below)));
		else
			gen_openrpc_name_capabilities(g, below);
	}
	json_array_foreach(value, i, below)
		gen_openrpc_name_capabilities(g, below);
}

static json_t *gen_openrpc_document(const struct gen *g)
{
	json_t *methods = json_array();

	for (int i = 0; i < g->cap_count; i++)
		json_array_append_new(methods, gen_openrpc_method(g->caps[i]));
	gen_openrpc_name_capabilities(g, methods);
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:o, s:{s:o, s:O}, s:O}",
			 "openrpc", "1.3.2",
			 "info", "title", "procpen", "version", PROCPEN_VERSION,
			 "description", "Runs commands for LLM agents in a sandbox.",
			 "license", "name", "MIT",
			 "methods", methods,
			 "components", "errors", gen_openrpc_errors(g),
			 "schemas", json_object_get(g->messages, "schemas"),
			 "x-messages", json_object_get(g->messages, "messages"));
}

void gen_openrpc_json(const struct gen *g, struct buf *out)
{
	json_t *document = gen_openrpc_document(g);
	char *text = json_dumps(document, JSON_INDENT(1));

	buf_addf(out, "%s\n", text);
	free(text);
	json_decref(document);
}

void gen_openrpc_c(const struct gen *g, struct buf *out)
{
	json_t *document = gen_openrpc_document(g), *member;
	const char *name;

	buf_adds(out, "/* Generated from schema/ by src/gen. */\n#include \"gen/caps.h\"\n\n"
		      "#include <stddef.h>\n\n"
		      "const struct cap_text cap_openrpc[] = {\n");
	json_object_foreach(document, name, member) {
		char *text = json_dumps(member, JSON_COMPACT | JSON_ENCODE_ANY);

		buf_addf(out, "\t{ \"%s\",\n\t  ", name);
		gen_literal(out, text, 1);
		buf_adds(out, " },\n");
		free(text);
	}
	buf_adds(out, "\t{ NULL, NULL }\n};\n");
	json_decref(document);
}
