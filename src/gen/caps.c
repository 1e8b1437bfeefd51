/*
 * The capability rows, and for each its table of parameters. Keywords that begin
 * with "x-" go into the table only; tools/list does not show them.
 */
#include "gen/gen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The type that a bound applies to. */
static const struct {
	const char *keyword, *type;
} bound_types[] = {
	{ "minimum", "integer" }, { "maximum", "integer" },
	{ "minLength", "string" }, { "maxLength", "string" },
};

/* {"type": "string", "minLength": 1}: one of several types of @field, and its bounds, moved. */
static json_t *gen_caps_one_type(json_t *field, const char *type)
{
	json_t *one = json_pack("{s:s}", "type", type);

	for (size_t i = 0; i < COUNT_OF(bound_types); i++)
		if (!strcmp(bound_types[i].type, type) &&
		    json_object_get(field, bound_types[i].keyword)) {
			json_object_set(one, bound_types[i].keyword,
					json_object_get(field, bound_types[i].keyword));
			json_object_del(field, bound_types[i].keyword);
		}
	return one;
}

/* Show several types as anyOf: hosts warn of a list of types, or take the first. */
static void gen_caps_show_any_of(json_t *field)
{
	json_t *types = json_object_get(field, "type"), *any, *type;
	size_t i;

	if (!json_is_array(types))
		return;
	any = json_array();
	json_array_foreach(types, i, type)
		json_array_append_new(any, gen_caps_one_type(field, json_string_value(type)));
	json_object_set_new(field, "anyOf", any);
	json_object_del(field, "type");
}

/* Remove every member whose name begins with "x-", at any depth. */
static void gen_caps_strip_private(json_t *value)
{
	json_t *below;
	const char *name;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, name, below) {
		if (!strncmp(name, "x-", 2))
			json_object_del(value, name);
		else
			gen_caps_strip_private(below);
	}
	json_array_foreach(value, i, below)
		gen_caps_strip_private(below);
}

/* No sender of JSON goes beyond it, so a model need not read it. */
#define INTEGER_MAX 9007199254740991

/*
 * A capability's parameters as tools/list shows them: @all, or without those with "x-listed":
 * false. procpen accepts these too, so "additionalProperties": false is then removed. Those with
 * "x-plain" are refused over MCP and never shown.
 */
static json_t *gen_caps_shown_input(const json_t *cap, bool all)
{
	json_t *shown = json_deep_copy(json_object_get(cap, "inputSchema"));
	json_t *properties = json_object_get(shown, "properties"), *field;
	const char *name;
	void *next;

	json_object_foreach_safe(properties, next, name, field) {
		json_t *items = json_object_get(field, "additionalProperties");

		gen_caps_show_any_of(field);
		if (items)
			gen_caps_show_any_of(items);
		if (json_integer_value(json_object_get(field, "maximum")) == INTEGER_MAX)
			json_object_del(field, "maximum");
		if (json_object_get(field, "x-plain")) {
			json_object_del(properties, name);
		} else if (!all && json_is_false(json_object_get(field, "x-listed"))) {
			json_object_del(properties, name);
			json_object_del(shown, "additionalProperties");
		}
	}
	return shown;
}

static void gen_caps_json_literal(struct buf *out, const json_t *value)
{
	json_t *copy = json_deep_copy(value);
	char *text;

	gen_caps_strip_private(copy);
	text = json_dumps(copy, JSON_COMPACT | JSON_ENCODE_ANY);
	gen_literal(out, text, 3);
	free(text);
	json_decref(copy);
}

void gen_caps_h(const struct gen *g, struct buf *out)
{
	char name[GEN_PATH_MAX];

	buf_adds(out, GEN_HEADER "#ifndef PROCPEN_GEN_CAPS_H\n#define PROCPEN_GEN_CAPS_H\n\n"
		 "#include \"cap/cap.h\"\n\n");
	for (int i = 0; i < g->cap_count; i++) {
		gen_c_name(gen_member(g->caps[i], "name"), name);
		buf_addf(out, "extern const struct cap_ops cap_%s;\n", name);
	}
	buf_adds(out, "\n/* The members of the OpenRPC document; ended by name == NULL. */\n"
		      "extern const struct cap_text cap_openrpc[];\n\n#endif\n");
}

static void gen_caps_type_mask(struct buf *out, const json_t *type)
{
	char name[GEN_PATH_MAX];
	json_t *one;
	size_t i;

	if (json_is_string(type)) {
		gen_upper(json_string_value(type), name);
		buf_addf(out, "SCHEMA_%s", name);
	}
	json_array_foreach(type, i, one) {
		gen_upper(json_string_value(one), name);
		buf_addf(out, "%sSCHEMA_%s", i ? " | " : "", name);
	}
}

static void gen_caps_bounds(struct buf *out, const json_t *field)
{
	const json_t *min = json_object_get(field, "minimum");
	const json_t *above = json_object_get(field, "exclusiveMinimum");
	const json_t *max = json_object_get(field, "maximum");

	if (min || above)
		buf_addf(out, "\t\t.has_min = true,\n\t\t.min = %.17g,\n",
			 json_number_value(min ? min : above));
	if (above)
		buf_adds(out, "\t\t.min_exclusive = true,\n");
	if (max)
		buf_addf(out, "\t\t.has_max = true,\n\t\t.max = %.17g,\n", json_number_value(max));
}

static void gen_caps_size_bounds(struct buf *out, const json_t *field)
{
	static const struct {
		const char *keyword, *member;
	} sizes[] = {
		{ "x-min-bytes", "min_bytes" }, { "x-max-bytes", "max_bytes" },
		{ "minLength", "min_chars" }, { "maxLength", "max_chars" },
		{ "maxItems", "max_items" }, { "maxProperties", "max_items" },
	};

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		const json_t *value = json_object_get(field, sizes[i].keyword);

		if (value)
			buf_addf(out, "\t\t.%s = %lld,\n", sizes[i].member,
				 (long long)json_integer_value(value));
	}
}

/* The arrays of struct schema_field, and the room that the longest of each needs beside its NUL. */
enum room {
	ROOM_NAME,
	ROOM_ALIAS,
	ROOM_UNIT,
	ROOM_DEFAULT,
	ROOM_ENUMS,
	ROOM_SYNONYMS,
	ROOM_HINT,
	ROOMS
};
static const char *const room_names[ROOMS] = { "name", "alias", "unit", "default_json", "enums",
					       "synonyms", "hint" };
static size_t rooms[ROOMS];

static void gen_caps_take_room(enum room room, size_t len)
{
	rooms[room] = len > rooms[room] ? len : rooms[room];
}

static void gen_caps_text(struct buf *out, enum room room, const char *text)
{
	if (!text)
		return;
	gen_caps_take_room(room, strlen(text));
	buf_addf(out, "\t\t.%s = ", room_names[room]);
	gen_literal(out, text, 2);
	buf_adds(out, ",\n");
}

/* The end of the literal ends the last text, what is left of the array the list. */
static void gen_caps_list(struct buf *out, enum room room, const json_t *list)
{
	json_t *text;
	size_t i, len = 0;

	if (!json_array_size(list))
		return;
	buf_addf(out, "\t\t.%s =", room_names[room]);
	json_array_foreach(list, i, text) {
		buf_addf(out, "%s \"%s\"", i ? " \"\\0\"" : "", json_string_value(text));
		len += json_string_length(text) + 1;
	}
	buf_adds(out, ",\n");
	gen_caps_take_room(room, len);
}

/* The members of one struct schema_field, beside its name. */
static void gen_caps_field_members(struct buf *out, const json_t *field)
{
	char error[GEN_PATH_MAX];
	const json_t *usual = json_object_get(field, "default");
	AUTO_FREE char *text = usual ? json_dumps(usual, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	buf_adds(out, "\t\t.type = ");
	gen_caps_type_mask(out, json_object_get(field, "type"));
	buf_adds(out, ",\n");
	gen_caps_text(out, ROOM_ALIAS, gen_member(field, "x-alias"));
	gen_caps_text(out, ROOM_UNIT, gen_member(field, "x-unit"));
	gen_caps_text(out, ROOM_DEFAULT, text);
	gen_caps_list(out, ROOM_ENUMS, json_object_get(field, "enum"));
	gen_caps_list(out, ROOM_SYNONYMS, json_object_get(field, "x-synonyms"));
	gen_caps_text(out, ROOM_HINT, gen_member(field, "x-hint"));
	if (json_object_get(field, "x-alias-scale"))
		buf_addf(out, "\t\t.alias_scale = %.17g,\n",
			 json_number_value(json_object_get(field, "x-alias-scale")));
	if (json_object_get(field, "x-plain"))
		buf_adds(out, "\t\t.plain = true,\n");
	gen_caps_bounds(out, field);
	gen_caps_size_bounds(out, field);
	if (json_object_get(field, "x-error")) {
		gen_snake_upper(gen_member(field, "x-error"), error);
		buf_addf(out, "\t\t.error = ERR_%s,\n", error);
	}
}

static const json_t *gen_caps_items(const json_t *field)
{
	const json_t *items = json_object_get(field, "items");

	return items ? items : json_object_get(field, "additionalProperties");
}

/* The fields, the row that ends them, and the rows of their items. */
static void gen_caps_input_table(struct buf *out, const json_t *cap, const char *c_name)
{
	const json_t *schema = json_object_get(cap, "inputSchema");
	json_t *properties = json_object_get(schema, "properties"), *field;
	size_t on = json_object_size(properties) + 1;
	uint64_t required = 0, bit = 1;
	const char *name;

	buf_addf(out, "static const struct schema_field %s_fields[] = {\n", c_name);
	json_object_foreach(properties, name, field) {
		buf_adds(out, "\t{\n");
		gen_caps_text(out, ROOM_NAME, name);
		required |= gen_is_required(schema, name) ? bit : 0;
		bit <<= 1;
		gen_caps_field_members(out, field);
		if (gen_caps_items(field))
			buf_addf(out, "\t\t.items = %zu,\n", on);
		else
			on--;
		buf_adds(out, "\t},\n");
	}
	buf_adds(out, "\t{ .name = \"\" },\n");
	json_object_foreach(properties, name, field)
		if (gen_caps_items(field)) {
			buf_adds(out, "\t{\n");
			gen_caps_field_members(out, gen_caps_items(field));
			buf_adds(out, "\t},\n");
		}
	buf_addf(out, "};\n\nstatic const struct schema %s_input = { .fields = %s_fields, "
		 ".required = %#" PRIx64 " };\n\n", c_name, c_name, required);
}

static void gen_caps_row_flags(struct buf *out, const json_t *cap)
{
	char flag[GEN_PATH_MAX];
	json_t *one;
	size_t i;

	buf_adds(out, "\t\t.flags = 0");
	json_array_foreach(json_object_get(cap, "flags"), i, one) {
		gen_upper(json_string_value(one), flag);
		buf_addf(out, " | CAP_%s", flag);
	}
	if (json_is_true(json_object_get(json_object_get(cap, "annotations"), "readOnlyHint")))
		buf_adds(out, " | CAP_READS");
	buf_adds(out, ",\n");
}

/*
 * The output schema in tools/list. Some clients check the structured content of errors
 * against it, so it allows `error` and requires nothing.
 */
static void gen_caps_output_literal(struct buf *out, const json_t *schema)
{
	json_t *shown = json_deep_copy(schema);

	json_object_del(shown, "required");
	json_object_set_new(json_object_get(shown, "properties"), "error",
			    json_pack("{s:s}", "type", "object"));
	gen_caps_json_literal(out, shown);
	json_decref(shown);
}

static void gen_caps_row(struct buf *out, const json_t *cap, const char *c_name)
{
	static const char *const texts[] = { "title", "description", "version" };
	json_t *shown[] = { gen_caps_shown_input(cap, false), gen_caps_shown_input(cap, true),
			    json_incref(json_object_get(cap, "annotations")) };
	static const char *const names[] = { "input_json", "input_all_json", "annotations_json" };
	char tier[GEN_PATH_MAX], option[GEN_PATH_MAX];

	gen_upper(gen_member(cap, "tier"), tier);
	buf_addf(out, "\t{\n\t\t.name = \"%s\",\n\t\t.tool_name = \"%s\",\n",
		 gen_member(cap, "name"), c_name);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		buf_addf(out, "\t\t.%s = ", texts[i]);
		gen_literal(out, gen_member(cap, texts[i]), 3);
		buf_adds(out, ",\n");
	}
	buf_addf(out, "\t\t.tier = TIER_%s,\n", tier);
	gen_upper(gen_member(cap, "name"), option);
	buf_addf(out, "\t\t.tier_option = CONFIG_TIER_%s,\n", option);
	gen_caps_row_flags(out, cap);
	buf_addf(out, "\t\t.input = &%s_input,\n", c_name);
	for (size_t i = 0; i < COUNT_OF(shown); i++) {
		buf_addf(out, "\t\t.%s =\n\t\t\t", names[i]);
		gen_caps_json_literal(out, shown[i]);
		buf_adds(out, ",\n");
		json_decref(shown[i]);
	}
	buf_adds(out, "\t\t.output_json =\n\t\t\t");
	gen_caps_output_literal(out, json_object_get(cap, "outputSchema"));
	buf_adds(out, ",\n");
	buf_addf(out, "\t\t.ops = &cap_%s,\n\t},\n", c_name);
}

void gen_caps_c(const struct gen *g, struct buf *out)
{
	char name[GEN_PATH_MAX];

	buf_adds(out, GEN_HEADER "#include \"gen/caps.h\"\n\n#include <stddef.h>\n\n");
	for (int i = 0; i < g->cap_count; i++) {
		gen_c_name(gen_member(g->caps[i], "name"), name);
		gen_caps_input_table(out, g->caps[i], name);
	}
	buf_adds(out, "const struct cap_row cap_rows[] = {\n");
	for (int i = 0; i < g->cap_count; i++) {
		gen_c_name(gen_member(g->caps[i], "name"), name);
		gen_caps_row(out, g->caps[i], name);
	}
	buf_adds(out, "\t{ .name = NULL }\n};\n\n");
	for (int i = 0; i < ROOMS; i++)
		gen_needs_room(out, "struct schema_field", room_names[i], rooms[i]);
}
