#include "cli/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/answer.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "policy/config_members.h"
#include "policy/project.h"
#include "policy/rulebook.h"
#include "server/context.h"

#define OUTPUT_MAX (4u << 20)

struct config_args {
	const struct cli_command *command;
	struct options options;
	bool origin;
};

/* ---- show ---- */

static void cli_config_show_line(const struct config *c, enum config_key key, bool origin)
{
	AUTO_FREE char *value = config_text(c, key);

	printf("%s=", config_rows[key].name);
	say_text(stdout, value);
	if (origin) {
		putchar('\t');
		say_text(stdout, config_origin(c, key));
	}
	putchar('\n');
}

static void cli_config_show_json(const struct config *c)
{
	struct jsonw w;
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	for (int key = 0; key < CONFIG_COUNT; key++)
		config_members_write(&w, c, (enum config_key)key);
	jsonw_end_object(&w);
	answer_print_json(out.data, out.len);
	buf_release(&out);
}

static int cli_config_show(struct config_args *a, char **words)
{
	const struct config *c = &a->options.context.config;

	if (words[0])
		return say_mistake(a->command, "show takes no word: %s", words[0]);
	if (options_load(&a->options, a->command) != CMDLINE_GO_ON)
		return EXIT_FAILURE;
	if (a->options.json)
		cli_config_show_json(c);
	for (int key = 0; !a->options.json && key < CONFIG_COUNT; key++)
		cli_config_show_line(c, (enum config_key)key, a->origin);
	return EXIT_SUCCESS;
}

/* ---- validate ---- */

static void cli_config_add_note(void *notes, const char *text)
{
	json_array_append_new(notes, say_json_string(text));
}

static void cli_config_say_note(void *ctx, const char *text)
{
	(void)ctx;
	fputs("procpen config: ", stderr);
	say_text(stderr, text);
	fputc('\n', stderr);
}

/* What a valid file does not do. */
static void cli_config_each_note(const char *path, const struct rulebook *book,
				 const struct config *c, void (*note)(void *ctx, const char *text),
				 void *ctx)
{
	rulebook_each_idle(book, c, note, ctx);
	if (!strcmp(str_base_name(path), PROJECT_FILE))
		note(ctx, "a project's file only narrows: `procpen doctor --set "
			  "config.project=narrow` there names what is ignored of it");
}

static size_t cli_config_listed(const struct config_faults *faults)
{
	return faults->count < CONFIG_FAULTS_MAX ? faults->count : CONFIG_FAULTS_MAX;
}

/* {line, column, message, hint}; no place where the file as a whole is wrong. */
static json_t *cli_config_mistakes(const struct config_faults *faults)
{
	json_t *list = json_array();

	for (size_t i = 0; i < cli_config_listed(faults); i++) {
		const struct err *e = &faults->list[i];
		json_t *one = e->details ? json_copy(e->details) : json_object();

		json_object_set_new(one, "message", say_json_string(e->message));
		json_object_set_new(one, "hint", say_json_string(e->hint));
		json_array_append_new(list, one);
	}
	return list;
}

static void cli_config_print_json(const char *path, const struct rulebook *book,
				  const struct config *c)
{
	const struct config_faults *faults = c->faults;
	json_t *notes = json_array();
	json_t *verdict = json_pack("{s:b, s:o, s:o, s:I, s:O}", "valid", !faults->count, "file",
				    say_json_string(path), "mistakes", cli_config_mistakes(faults),
				    "mistakes_total", (json_int_t)faults->count, "notes", notes);

	if (!faults->count)
		cli_config_each_note(path, book, c, cli_config_add_note, notes);
	say_json(verdict);
	json_decref(notes);
	json_decref(verdict);
}

static void cli_config_print_text(const struct cli_command *command, const char *path,
				  const struct rulebook *book, const struct config *c)
{
	const struct config_faults *faults = c->faults;

	for (size_t i = 0; i < cli_config_listed(faults); i++)
		say_error(command, &faults->list[i]);
	if (faults->count > CONFIG_FAULTS_MAX)
		fprintf(stderr, "procpen config: and %zu more mistakes\n",
			faults->count - CONFIG_FAULTS_MAX);
	if (faults->count)
		return;
	cli_config_each_note(path, book, c, cli_config_say_note, NULL);
	say_text(stdout, path);
	puts(": valid");
}

/* The file alone: no other place counts. */
static int cli_config_validate(struct config_args *a, char **words)
{
	struct config_files files = { 0 };
	struct config_faults faults = { .count = 0 };
	struct rulebook book = { .own = NULL };
	ERR_LOCAL(e);
	struct config c;
	bool valid;

	if (!words[0] || words[1])
		return say_mistake(a->command, "validate takes one file");
	config_init(&c);
	c.faults = &faults;
	if (config_load_file(&c, words[0], &files, &e) || context_check_config(&c, &book, &e))
		config_fault(&c, &e);
	valid = !faults.count;
	if (a->options.json)
		cli_config_print_json(words[0], &book, &c);
	else
		cli_config_print_text(a->command, words[0], &book, &c);
	rulebook_release(&book);
	config_files_release(&files);
	config_release(&c);
	config_faults_release(&faults);
	return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- schema ---- */

static json_t *cli_config_schema_of(const struct config_row *row)
{
	const char *text = strtab_get(row->default_text);

	switch (row->type) {
	case CONFIG_INTEGER:
		return json_pack("{s:[s,s], s:I, s:I, s:I}", "type", "integer", "string", "minimum",
				 (json_int_t)row->min, "maximum", (json_int_t)row->max, "default",
				 (json_int_t)strtoll(text, NULL, 0));
	case CONFIG_BOOLEAN:
		return json_pack("{s:s, s:b}", "type", "boolean", "default",
				 !strcmp(text, "true"));
	case CONFIG_PORTS:
		return json_pack("{s:[s,s], s:{s:s, s:I, s:I}, s:i, s:i, s:b}", "type", "boolean",
				 "array", "items", "type", "integer", "minimum",
				 (json_int_t)row->min, "maximum", (json_int_t)row->max, "minItems",
				 1, "maxItems", CONFIG_PORTS_MAX, "default",
				 !strcmp(text, "true"));
	case CONFIG_ENUM:
		return json_pack("{s:o, s:s}", "enum", help_list(row->choices), "default",
				 text);
	case CONFIG_NAMES:
		return json_pack("{s:[s,s], s:{s:s, s:s}, s:b}", "type", "array", "string", "items",
				 "type", "string", "pattern", "^[^,]+$", "uniqueItems", true);
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}

static json_t *cli_config_schema_of_rules(void)
{
	json_t *members = json_object();

	for (const struct rule_member *m = rule_members; m->name; m++) {
		json_t *one = m->type == RULE_BOOLEAN ? json_pack("{s:s}", "type", "boolean")
			      : m->type == RULE_STRING ? json_pack("{s:s}", "type", "string")
			      : json_pack("{s:[s,s], s:{s:s}}", "type", "string", "array", "items",
					  "type", "string");

		json_object_set_new(one, "description", json_string(m->text));
		json_object_set_new(members, m->name, one);
	}
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:[s,s], s:b}}", "type", "array", "description",
			 "Rules on commands.", "items", "type", "object", "properties", members,
			 "required", "id", "decision", "additionalProperties", false);
}

static json_t *cli_config_description(const struct config_row *row)
{
	const char *text = strtab_get(row->text), *unit = strtab_get(row->unit);

	if (row->type != CONFIG_INTEGER || !unit)
		return json_string(text);
	return json_sprintf("%s In %s.", text, unit);
}

/* allowComments and allowTrailingCommas are what editors look for. */
void cli_config_print_schema(void)
{
	json_t *properties = json_object(), *schema;

	json_object_set_new(properties, "$schema", json_pack("{s:s}", "type", "string"));
	json_object_set_new(properties, "rules", cli_config_schema_of_rules());
	for (int key = 0; key < CONFIG_COUNT; key++) {
		json_t *one = cli_config_schema_of(&config_rows[key]);

		json_object_set_new(one, "description", cli_config_description(&config_rows[key]));
		json_object_set_new(properties, config_rows[key].name, one);
	}
	schema = json_pack("{s:s, s:s, s:s, s:b, s:b, s:o, s:b}", "$schema",
			   "http://json-schema.org/draft-07/schema#", "title",
			   "Configuration of procpen", "type", "object", "allowComments", true,
			   "allowTrailingCommas", true, "properties", properties,
			   "additionalProperties", false);
	say_json(schema);
	json_decref(schema);
}

static int cli_config_schema(struct config_args *a, char **words)
{
	if (words[0])
		return say_mistake(a->command, "schema takes no word: %s", words[0]);
	cli_config_print_schema();
	return EXIT_SUCCESS;
}

/* ---- the command line ---- */

static int cli_config_take_option(void *args, const struct cli_option *option,
				  const struct cmdline_value *value)
{
	struct config_args *a = args;

	if (option->id != OPTION_ORIGIN)
		return options_take(&a->options, option, value);
	a->origin = true;
	return CMDLINE_GO_ON;
}

static int cli_config_act(struct config_args *a, char **words)
{
	static const struct {
		const char *name;
		int (*act)(struct config_args *a, char **words);
	} actions[] = {
		{ "show", cli_config_show },
		{ "validate", cli_config_validate },
		{ "schema", cli_config_schema },
	};
	const char *names[COUNT_OF(actions) + 1] = { NULL };

	if (!words[0])
		return say_mistake(a->command, "what to do is not given: show, validate or schema");
	for (size_t i = 0; i < COUNT_OF(actions); i++) {
		if (!strcmp(actions[i].name, words[0]))
			return actions[i].act(a, words + 1);
		names[i] = actions[i].name;
	}
	return say_unknown(a->command, "action", words[0], names);
}

int cli_config(const struct cli_command *command, char **argv)
{
	struct config_args a = { .command = command };
	struct cmdline given;
	int status;

	options_init(&a.options);
	status = cmdline_read(&given, command, argv, cli_config_take_option, &a);
	if (status == CMDLINE_GO_ON)
		status = cli_config_act(&a, given.words);
	options_release(&a.options);
	return say_flush(command) ? EXIT_FAILURE : status;
}
