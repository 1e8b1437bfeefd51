/* The tables of error types and of options. */
#include "gen/gen.h"

#include <stdio.h>
#include <string.h>

void gen_errors_h(const struct gen *g, struct buf *out)
{
	char name[GEN_PATH_MAX];
	json_t *row;
	size_t i;

	buf_adds(out, GEN_HEADER "#ifndef PROCPEN_GEN_ERRORS_H\n#define PROCPEN_GEN_ERRORS_H\n\n"
		 "enum err_type {\n\tERR_NONE,\n");
	json_array_foreach(g->errors, i, row) {
		gen_snake_upper(gen_member(row, "name"), name);
		buf_addf(out, "\tERR_%s,\n", name);
	}
	buf_adds(out, "\tERR_COUNT\n};\n\n#endif\n");
}

/* The actions of error @i, unless it has none. */
static void gen_tables_actions(const json_t *actions, size_t i, struct buf *out)
{
	json_t *action;
	size_t k;

	if (!json_array_size(actions))
		return;
	buf_addf(out, "static const struct err_action actions_%zu[] = {\n", i);
	json_array_foreach(actions, k, action) {
		buf_addf(out, "\t{ \"%s\",\n\t\t", gen_member(action, "name"));
		gen_literal(out, gen_member(action, "text"), 2);
		buf_adds(out, " },\n");
	}
	buf_adds(out, "\t{ NULL, NULL }\n};\n\n");
}

void gen_errors_c(const struct gen *g, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, GEN_HEADER "#include <stddef.h>\n\n#include \"base/err.h\"\n\n");
	json_array_foreach(g->errors, i, row)
		gen_tables_actions(json_object_get(row, "actions"), i, out);
	buf_adds(out, "const struct err_row err_rows[ERR_COUNT] = {\n"
		 "\t{ \"None\", 0, false, \"\", NULL },\n");
	json_array_foreach(g->errors, i, row) {
		buf_addf(out, "\t{ \"%s\", %lld, %s,\n\t\t", gen_member(row, "name"),
			 (long long)json_integer_value(json_object_get(row, "code")),
			 json_is_true(json_object_get(row, "retryable")) ? "true" : "false");
		gen_literal(out, gen_member(row, "hint"), 2);
		if (json_array_size(json_object_get(row, "actions")))
			buf_addf(out, ", actions_%zu },\n", i);
		else
			buf_adds(out, ", NULL },\n");
	}
	buf_adds(out, "};\n");
}

void gen_config_h(const struct gen *g, struct buf *out)
{
	char name[GEN_PATH_MAX];
	json_t *row;
	size_t i;

	buf_adds(out, GEN_HEADER "#ifndef PROCPEN_GEN_CONFIG_H\n#define PROCPEN_GEN_CONFIG_H\n\n"
		 "enum config_key {\n");
	json_array_foreach(g->config, i, row) {
		gen_upper(gen_member(row, "name"), name);
		buf_addf(out, "\tCONFIG_%s,\n", name);
	}
	buf_adds(out, "\tCONFIG_COUNT\n};\n\n#endif\n");
}

/* The default as `--set name=...` would take it. */
static void gen_tables_default_text(const json_t *row, struct buf *out)
{
	const json_t *value = json_object_get(row, "default");
	char number[32];

	snprintf(number, sizeof(number), json_object_get(row, "octal") ? "%#llo" : "%lld",
		 (long long)json_integer_value(value));
	gen_strtab_text(out, json_is_integer(value)   ? number
			     : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
						      : json_string_value(value));
}

static void gen_tables_config_row(const json_t *row, struct buf *out)
{
	char name[GEN_PATH_MAX], type[GEN_PATH_MAX];

	gen_upper(gen_member(row, "name"), name);
	gen_upper(gen_member(row, "type"), type);
	buf_addf(out, "\t[CONFIG_%s] = {\n\t\t.name = \"%s\",\n\t\t.type = CONFIG_%s,\n", name,
		 gen_member(row, "name"), type);
	if (json_object_get(row, "min"))
		buf_addf(out, "\t\t.min = %lld,\n\t\t.max = %lld,\n",
			 (long long)json_integer_value(json_object_get(row, "min")),
			 (long long)json_integer_value(json_object_get(row, "max")));
	if (json_object_get(row, "octal"))
		buf_adds(out, "\t\t.octal = true,\n");
	if (gen_member(row, "narrow")) {
		gen_upper(gen_member(row, "narrow"), type);
		buf_addf(out, "\t\t.narrow = CONFIG_NARROW_%s,\n", type);
	}
	buf_adds(out, "\t\t.default_text = ");
	gen_tables_default_text(row, out);
	buf_adds(out, ",\n\t\t.choices = ");
	gen_strtab_list(out, json_object_get(row, "choices"), false);
	buf_adds(out, ",\n\t\t.unit = ");
	gen_strtab_text(out, gen_member(row, "unit"));
	buf_adds(out, ",\n\t\t.text = ");
	gen_strtab_text(out, gen_member(row, "text"));
	buf_adds(out, ",\n\t},\n");
}

void gen_config_c(const struct gen *g, struct buf *out)
{
	size_t i, name_len = 0;
	json_t *row;

	buf_adds(out, GEN_HEADER "#include \"policy/config.h\"\n\n"
		 "const struct config_row config_rows[CONFIG_COUNT] = {\n");
	json_array_foreach(g->config, i, row) {
		size_t len = strlen(gen_member(row, "name"));

		gen_tables_config_row(row, out);
		name_len = len > name_len ? len : name_len;
	}
	buf_adds(out, "};\n\n");
	gen_needs_room(out, "struct config_row", "name", name_len);
}
