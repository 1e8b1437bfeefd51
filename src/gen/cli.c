/*
 * The commands and their options: schema/cli.json to C tables and to their part of the reference.
 * An option with "parameter" stands for that parameter of process.run, and has its bounds.
 */
#include "gen/gen.h"

#include <string.h>

#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"

#define NAMES_MAX 64
#define TEXT_MAX 65536

/* What an option takes, and an operand may be: completions offer what fits. */
const char *const gen_cli_kinds[] = { "flag", "text", "word", "dir", "file", "setting", "variable",
				      "user", "number", "duration", "size", "count",
				      "choice", "engine", NULL };
static const char *const operand_kinds[] = { "program", "method", "host", "command",
					     "text",	"file",	  "choice", NULL };

/* ---- checks ---- */

const json_t *gen_cli_commands(const struct gen *g)
{
	return json_object_get(g->cli, "commands");
}

/* The shared options that a string in "options" names; NULL: @option is an option itself. */
static json_t *gen_cli_group(const struct gen *g, const json_t *option)
{
	const char *name = json_string_value(option);

	return name ? json_object_get(json_object_get(g->cli, "shared"), name) : NULL;
}

/* The parameter of process.run that @option stands for, or NULL. */
static const json_t *gen_cli_parameter(const struct gen *g, const json_t *option)
{
	const char *name = gen_member(option, "parameter");

	for (int i = 0; name && i < g->cap_count; i++)
		if (!strcmp(gen_member(g->caps[i], "name"), "process.run"))
			return json_object_get(
				json_object_get(json_object_get(g->caps[i], "inputSchema"),
						"properties"),
				name);
	return NULL;
}

/* What may stand for an operand or an option, or begin an engine; completions offer it. */
static void gen_cli_check_choices(const struct gen_at *at, const json_t *row)
{
	static const char *const kinds[] = { "choice", "engine", NULL };
	bool choice = str_is_listed(gen_member(row, "kind"), kinds);
	const json_t *choices = json_object_get(row, "choices");
	json_t *one;
	size_t i;

	if (choice != (json_array_size(choices) > 0))
		gen_fail(at, "a choice or an engine, and nothing else, has \"choices\"");
	json_array_foreach(choices, i, one)
		gen_check_word(at, json_string_value(one));
}

static void gen_cli_check_option(const struct gen *g, const struct gen_at *at, json_t *option)
{
	static const char *const known[] = { "name", "short",	  "kind",    "value",
					     "text", "parameter", "choices", NULL };
	const char *kind = gen_str(at, option, "kind"), *name = gen_str(at, option, "name");
	bool flag = !strcmp(kind, "flag");

	gen_only(at, option, known);
	gen_str(at, option, "text");
	if (strncmp(name, "--", 2))
		gen_fail(at, "\"%s\" does not begin with --", name);
	gen_check_word(at, name);
	if (!str_is_listed(kind, gen_cli_kinds))
		gen_fail(at, "kind \"%s\" is not supported", kind);
	if (flag == (gen_member(option, "value") != NULL))
		gen_fail(at, "a flag has no \"value\", every other option has one");
	if (gen_member(option, "parameter") && !gen_cli_parameter(g, option))
		gen_fail(at, "process.run has no parameter \"%s\"",
			 gen_member(option, "parameter"));
	gen_cli_check_choices(at, option);
}

void gen_cli_each_option(const struct gen *g, const json_t *command,
			 void (*fn)(const struct gen *g, json_t *option, void *ctx), void *ctx)
{
	json_t *entry, *shared;
	size_t i, k;

	json_array_foreach(json_object_get(command, "options"), i, entry) {
		json_t *group = gen_cli_group(g, entry);

		if (!group)
			fn(g, entry, ctx);
		json_array_foreach(group, k, shared)
			fn(g, shared, ctx);
	}
}

struct gen_cli_names {
	struct gen_at at;
	const char *list[NAMES_MAX + 1];
	size_t count;
};

static void gen_cli_check_one(const struct gen *g, json_t *option, void *ctx)
{
	struct gen_cli_names *names = ctx;
	const char *name;

	if (!json_is_object(option))
		gen_fail(&names->at, "an option must be an object, or name a group of \"shared\"");
	name = gen_str(&names->at, option, "name");
	if (str_is_listed(name, names->list) || names->count == NAMES_MAX)
		gen_fail(&names->at, "\"%s\" is there twice, or one too many", name);
	names->list[names->count++] = name;
	struct gen_at at = gen_below(&names->at, name);

	gen_cli_check_option(g, &at, option);
}

/* @list holds objects with the strings @first and "text", at least @min of them. */
static void gen_cli_check_pairs(const struct gen_at *at, const json_t *list, const char *first,
				size_t min)
{
	const char *const known[] = { first, "text", NULL };
	json_t *row;
	size_t i;

	if (json_array_size(list) < min)
		gen_fail(at, "needs at least %zu rows with \"%s\"", min, first);
	json_array_foreach(list, i, row) {
		gen_only(at, row, known);
		gen_str(at, row, first);
		gen_str(at, row, "text");
	}
}

static void gen_cli_check_command(const struct gen *g, const struct gen_at *at, json_t *command)
{
	static const char *const known[] = { "name",	 "summary", "usage",	"text",
					     "operands", "options", "options_end", "statuses",
					     "examples", NULL };
	struct gen_cli_names names = { .at = *at };
	json_t *operand;
	size_t i;

	gen_only(at, command, known);
	gen_str(at, command, "summary");
	if (!json_array_size(json_object_get(command, "usage")) ||
	    !json_array_size(json_object_get(command, "text")))
		gen_fail(at, "\"usage\" and \"text\" are needed");
	gen_cli_each_option(g, command, gen_cli_check_one, &names);
	gen_cli_check_pairs(at, json_object_get(command, "statuses"), "status", 1);
	gen_cli_check_pairs(at, json_object_get(command, "examples"), "command", 2);
	json_array_foreach(json_object_get(command, "operands"), i, operand) {
		if (!str_is_listed(gen_str(at, operand, "kind"), operand_kinds))
			gen_fail(at, "operand kind \"%s\" is not supported",
				 gen_member(operand, "kind"));
		gen_cli_check_choices(at, operand);
	}
}

/* One name is one kind, with the same choices, in all commands: completions look it up by name. */
static void gen_cli_check_kind(const struct gen *g, json_t *option, void *seen)
{
	const char *name = gen_member(option, "name"), *kind = gen_member(option, "kind");
	json_t *other = json_object_get(seen, name);
	struct gen_at at = { .file = "cli.json" };

	(void)g;
	if (other && strcmp(gen_member(other, "kind"), kind))
		gen_fail(&at, "%s is a %s here and a %s there", name, gen_member(other, "kind"),
			 kind);
	if (other && json_object_get(option, "choices") &&
	    !json_equal(json_object_get(other, "choices"), json_object_get(option, "choices")))
		gen_fail(&at, "%s has other choices there", name);
	json_object_set(seen, name, option);
}

void gen_check_cli(const struct gen *g)
{
	static const char *const known[] = { "summary", "about", "examples", "settings",
					     "configuration", "environment", "files", "shared",
					     "commands", NULL };
	struct gen_at file = { .file = "cli.json" };
	json_t *command, *seen = json_object();
	size_t i;

	gen_only(&file, g->cli, known);
	gen_check_printable(&file, g->cli);
	gen_str(&file, g->cli, "summary");
	gen_str(&file, g->cli, "about");
	gen_str(&file, g->cli, "settings");
	gen_cli_check_pairs(&file, json_object_get(g->cli, "examples"), "command", 1);
	gen_cli_check_pairs(&file, json_object_get(g->cli, "environment"), "name", 1);
	gen_cli_check_pairs(&file, json_object_get(g->cli, "files"), "path", 1);
	json_array_foreach(gen_cli_commands(g), i, command) {
		struct gen_at at = gen_below(&file, gen_str(&file, command, "name"));

		gen_check_word(&at, gen_member(command, "name"));
		gen_cli_check_command(g, &at, command);
		gen_cli_each_option(g, command, gen_cli_check_kind, seen);
	}
	json_decref(seen);
}

/* ---- bounds ---- */

/* @number, which @option takes, as people write it: "1h", "4M", "0.5". */
static void gen_cli_add_number(const json_t *option, double number, struct buf *out)
{
	const char *kind = gen_member(option, "kind");
	enum quantity unit = !strcmp(kind, "duration") ? QUANTITY_SECONDS : QUANTITY_BYTES;
	char text[QUANTITY_TEXT_SIZE];

	quantity_show((int64_t)(number * (double)quantity_scale(unit)), unit, text);
	if (!strcmp(kind, "number"))
		buf_addf(out, "%g", number);
	else
		buf_adds(out, text);
}

/* "more than 0 and at most 1h"; nothing without bounds. */
static void gen_cli_add_bounds(const struct gen *g, const json_t *option, struct buf *out)
{
	static const char *const numbers[] = { "number", "duration", "size", NULL };
	const json_t *parameter = gen_cli_parameter(g, option);
	const json_t *above = json_object_get(parameter, "exclusiveMinimum");
	double min = json_number_value(json_object_get(parameter, "minimum"));
	const json_t *max = json_object_get(parameter, "maximum");

	if (!str_is_listed(gen_member(option, "kind"), numbers))
		return;
	if (above || min > 0) {
		buf_adds(out, above ? "more than " : "at least ");
		gen_cli_add_number(option, above ? json_number_value(above) : min, out);
	}
	if (max) {
		buf_adds(out, above || min > 0 ? " and at most " : "at most ");
		gen_cli_add_number(option, json_number_value(max), out);
	}
}

char *gen_cli_option_text(const struct gen *g, const json_t *option)
{
	struct buf bounds, text;

	buf_init(&bounds, TEXT_MAX);
	buf_init(&text, TEXT_MAX);
	gen_cli_add_bounds(g, option, &bounds);
	buf_adds(&text, gen_member(option, "text"));
	if (bounds.len)
		buf_addf(&text, " It is %s.", bounds.data);
	BUG_IF(text.full);
	buf_release(&bounds);
	return buf_steal(&text);
}

/* ---- the C tables ---- */

/* "--no-network" -> "NO_NETWORK" */
static void gen_cli_enum_name(const char *name, char out[GEN_PATH_MAX])
{
	gen_upper(name + strlen("--"), out);
	for (char *c = out; *c; c++)
		if (*c == '-')
			*c = '_';
}

struct gen_cli_enum {
	struct buf *out;
	const char *names[NAMES_MAX + 1];
	size_t count;
};

static void gen_cli_add_enum(const struct gen *g, json_t *option, void *ctx)
{
	struct gen_cli_enum *all = ctx;
	const char *name = gen_member(option, "name");
	char upper[GEN_PATH_MAX];

	(void)g;
	if (str_is_listed(name, all->names))
		return;
	BUG_IF(all->count == NAMES_MAX);
	all->names[all->count++] = name;
	gen_cli_enum_name(name, upper);
	buf_addf(all->out, "\tOPTION_%s,\n", upper);
}

void gen_cli_h(const struct gen *g, struct buf *out)
{
	struct gen_cli_enum all = { .out = out };
	json_t *command;
	size_t i;

	buf_adds(out, GEN_HEADER "#ifndef PROCPEN_GEN_CLI_H\n#define PROCPEN_GEN_CLI_H\n\n"
		 "/* Every option, of whatever command. */\nenum option_id {\n");
	json_array_foreach(gen_cli_commands(g), i, command)
		gen_cli_each_option(g, command, gen_cli_add_enum, &all);
	buf_adds(out, "};\n\n#endif\n");
}

/* Rows of @list with a text @first. */
static void gen_cli_notes(struct buf *out, const json_t *list, const char *first)
{
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row) {
		buf_adds(out, "\t{ ");
		gen_strtab_text(out, gen_member(row, first));
		buf_adds(out, ", ");
		gen_strtab_text(out, gen_member(row, "text"));
		buf_adds(out, " },\n");
	}
	buf_adds(out, "\t{ { 0 }, { 0 } },\n");
}

static void gen_cli_text(struct buf *out, const char *field, const char *text)
{
	buf_addf(out, ", .%s = ", field);
	gen_strtab_text(out, text);
}

static void gen_cli_option(const struct gen *g, json_t *option, void *ctx)
{
	const json_t *parameter = gen_cli_parameter(g, option);
	const json_t *above = json_object_get(parameter, "exclusiveMinimum");
	const json_t *min = above ? above : json_object_get(parameter, "minimum");
	const json_t *max = json_object_get(parameter, "maximum");
	AUTO_FREE char *text = gen_cli_option_text(g, option);
	char id[GEN_PATH_MAX], kind[GEN_PATH_MAX];
	struct buf *out = ctx, bounds;

	gen_cli_enum_name(gen_member(option, "name"), id);
	gen_upper(gen_member(option, "kind"), kind);
	buf_addf(out, "\t{ .id = OPTION_%s, .kind = OPTION_IS_%s, .name = \"%s\"", id, kind,
		 gen_member(option, "name"));
	gen_cli_text(out, "short_name", gen_member(option, "short"));
	gen_cli_text(out, "value", gen_member(option, "value"));
	gen_cli_text(out, "parameter", gen_member(option, "parameter"));
	gen_cli_text(out, "text", text);
	buf_adds(out, ", .choices = ");
	gen_strtab_list(out, json_object_get(option, "choices"), false);
	buf_init(&bounds, TEXT_MAX);
	gen_cli_add_bounds(g, option, &bounds);
	gen_cli_text(out, "bounds", bounds.len ? bounds.data : NULL);
	buf_release(&bounds);
	if (min)
		buf_addf(out, ", .min = %.17g, .above_min = %s", json_number_value(min),
			 above ? "true" : "false");
	if (max)
		buf_addf(out, ", .max = %.17g", json_number_value(max));
	buf_adds(out, " },\n");
}

/* Options, and the length of the longest name. */
struct gen_cli_size {
	size_t count, name_len;
};

static void gen_cli_add_size(const struct gen *g, json_t *option, void *ctx)
{
	size_t len = strlen(gen_member(option, "name"));
	struct gen_cli_size *size = ctx;

	(void)g;
	size->count++;
	size->name_len = len > size->name_len ? len : size->name_len;
}

/* The rows of the commands; each list in the other tables has a row more, which ends it. */
static void gen_cli_commands_c(const struct gen *g, struct buf *out)
{
	struct gen_cli_size options = { 0 };
	size_t i, notes = 0, name_len = 0;
	json_t *command;

	buf_adds(out, "const struct cli_command cli_commands[] = {\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		size_t statuses = json_array_size(json_object_get(command, "statuses")) + 1;
		size_t len = strlen(gen_member(command, "name"));

		name_len = len > name_len ? len : name_len;
		buf_addf(out, "\t{ .name = \"%s\", .usage = ", gen_member(command, "name"));
		gen_strtab_list(out, json_object_get(command, "usage"), false);
		buf_adds(out, ", .text = ");
		gen_strtab_list(out, json_object_get(command, "text"), false);
		gen_cli_text(out, "summary", gen_member(command, "summary"));
		buf_addf(out, ", .options = %zu, .statuses = %zu, .examples = %zu%s },\n",
			 options.count, notes, notes + statuses,
			 json_is_true(json_object_get(command, "options_end"))
				 ? ", .options_end = true" : "");
		gen_cli_each_option(g, command, gen_cli_add_size, &options);
		options.count++;
		notes += statuses + json_array_size(json_object_get(command, "examples")) + 1;
	}
	buf_adds(out, "\t{ .name = \"\" }\n};\n\n");
	gen_needs_room(out, "struct cli_command", "name", name_len);
	gen_needs_room(out, "struct cli_option", "name", options.name_len);
}

void gen_cli_c(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, GEN_HEADER "#include \"cli/commands.h\"\n\nconst char cli_about[] =\n\t");
	gen_literal(out, gen_member(g->cli, "about"), 1);
	buf_adds(out, ";\n\nconst char cli_settings[] =\n\t");
	gen_literal(out, gen_member(g->cli, "settings"), 1);
	buf_adds(out, ";\n\nconst struct cli_note cli_examples[] = {\n");
	gen_cli_notes(out, json_object_get(g->cli, "examples"), "command");
	buf_adds(out, "};\n\nconst struct cli_note cli_notes[] = {\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		gen_cli_notes(out, json_object_get(command, "statuses"), "status");
		gen_cli_notes(out, json_object_get(command, "examples"), "command");
	}
	buf_adds(out, "};\n\nconst struct cli_option cli_options[] = {\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		gen_cli_each_option(g, command, gen_cli_option, out);
		buf_adds(out, "\t{ .name = \"\" },\n");
	}
	buf_adds(out, "};\n\n");
	gen_cli_commands_c(g, out);
}

/* ---- the reference ---- */

static void gen_cli_docs_option(const struct gen *g, json_t *option, void *ctx)
{
	const char *value = gen_member(option, "value"), *short_name = gen_member(option, "short");
	AUTO_FREE char *text = gen_cli_option_text(g, option);

	buf_adds(ctx, "| ");
	if (short_name)
		buf_addf(ctx, "`%s`, ", short_name);
	buf_addf(ctx, "`%s%s%s` | %s |\n", gen_member(option, "name"), value ? " " : "",
		 value ? value : "", text);
}

static void gen_cli_docs_command(const struct gen *g, const json_t *command, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_addf(out, "### procpen %s\n\n%s.\n\n", gen_member(command, "name"),
		 gen_member(command, "summary"));
	json_array_foreach(json_object_get(command, "usage"), i, row)
		buf_addf(out, "    %s\n", json_string_value(row));
	json_array_foreach(json_object_get(command, "text"), i, row)
		buf_addf(out, "\n%s\n", json_string_value(row));
	buf_adds(out, "\n| option | |\n|---|---|\n");
	gen_cli_each_option(g, command, gen_cli_docs_option, out);
	buf_adds(out, "\n| exit status | |\n|---|---|\n");
	json_array_foreach(json_object_get(command, "statuses"), i, row)
		buf_addf(out, "| %s | %s |\n", gen_member(row, "status"), gen_member(row, "text"));
	json_array_foreach(json_object_get(command, "examples"), i, row)
		buf_addf(out, "\n%s\n\n    %s\n", gen_member(row, "text"),
			 gen_member(row, "command"));
	buf_addc(out, '\n');
}

static void gen_cli_docs_rows(struct buf *out, const char *title, const json_t *list,
			      const char *first)
{
	json_t *row;
	size_t i;

	buf_addf(out, "### %s\n\n| | |\n|---|---|\n", title);
	json_array_foreach(list, i, row)
		buf_addf(out, "| `%s` | %s |\n", gen_member(row, first), gen_member(row, "text"));
	buf_addc(out, '\n');
}

void gen_cli_docs(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, "## Commands\n\nWhat `procpen COMMAND --help` shows.\n\n");
	json_array_foreach(gen_cli_commands(g), i, command)
		gen_cli_docs_command(g, command, out);
	gen_cli_docs_rows(out, "Environment", json_object_get(g->cli, "environment"), "name");
	gen_cli_docs_rows(out, "Files", json_object_get(g->cli, "files"), "path");
}
