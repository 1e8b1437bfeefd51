#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/say.h"
#include "policy/config.h"

#define WIDTH 80

/* Print @text in lines of WIDTH, from @column on, where the cursor is @at. */
static void help_wrap(const char *text, int column, int at)
{
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at > column && at + len + 1 > WIDTH) {
			putchar('\n');
			at = 0;
		}
		if (at < column)
			at += printf("%*s", column - at, "");
		else if (at > column)
			at += printf(" ");
		at += printf("%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* A name, and from @column on what it means. */
static void help_row(const char *name, const char *text, int column)
{
	int at = printf("  %s", name);

	if (at >= column) {
		putchar('\n');
		at = 0;
	}
	help_wrap(text, column, at);
}

static void help_option(const struct cli_option *option)
{
	const char *short_name = strtab_get(option->short_name);
	const char *value = strtab_get(option->value);
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s%s%s", short_name ? short_name : "",
		 short_name ? ", " : "", option->name, value ? " " : "", value ? value : "");
	help_row(name, strtab_get(option->text), 22);
}

void help_command(const struct cli_command *command)
{
	const char *usage = strtab_first(command->usage), *text = strtab_first(command->text);
	const struct cli_note *note = &cli_notes[command->statuses];

	for (const char *one = usage; one; one = strtab_next(one))
		printf("%s %s\n", one == usage ? "Usage:" : "      ", one);
	printf("\n");
	help_wrap(strtab_get(command->summary), 0, 0);
	for (; text; text = strtab_next(text)) {
		putchar('\n');
		help_wrap(text, 0, 0);
	}
	puts("\nOptions:");
	for (const struct cli_option *o = &cli_options[command->options]; *o->name; o++)
		help_option(o);
	puts("\nExit status:");
	for (; strtab_get(note->name); note++)
		help_row(strtab_get(note->name), strtab_get(note->text), 12);
	puts("\nExamples:");
	for (note = &cli_notes[command->examples]; strtab_get(note->name); note++) {
		printf("  %s\n", strtab_get(note->name));
		help_wrap(strtab_get(note->text), 6, 0);
	}
}

void help_overview(void)
{
	puts("Usage: procpen COMMAND [OPTION]...\n");
	help_wrap(cli_about, 0, 0);
	puts("\nCommands:");
	for (const struct cli_command *c = cli_commands; *c->name; c++)
		help_row(c->name, strtab_get(c->summary), 12);
	puts("\nFirst steps:");
	for (const struct cli_note *e = cli_examples; strtab_get(e->name); e++)
		printf("  %s\n", strtab_get(e->name));
	puts("\nMore: procpen help COMMAND; procpen help options lists the keys of --set.");
}

/* ---- the same for programs ---- */

json_t *help_list(struct strtab_list texts)
{
	json_t *list = json_array();

	for (const char *one = strtab_first(texts); one; one = strtab_next(one))
		json_array_append_new(list, json_string(one));
	return list;
}

static json_t *help_options(const struct cli_option *o)
{
	json_t *list = json_array();

	for (; *o->name; o++)
		json_array_append_new(list, json_pack("{s:s, s:s*, s:s*, s:s}", "name", o->name,
						      "short", strtab_get(o->short_name), "value",
						      strtab_get(o->value), "text",
						      strtab_get(o->text)));
	return list;
}

static json_t *help_notes(const struct cli_note *note, const char *name)
{
	json_t *list = json_array();

	for (; strtab_get(note->name); note++)
		json_array_append_new(list, json_pack("{s:s, s:s}", name, strtab_get(note->name),
						      "text", strtab_get(note->text)));
	return list;
}

static json_t *help_document(const struct cli_command *c)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", c->name, "summary",
			 strtab_get(c->summary), "usage", help_list(c->usage), "text",
			 help_list(c->text), "options", help_options(&cli_options[c->options]),
			 "statuses", help_notes(&cli_notes[c->statuses], "status"), "examples",
			 help_notes(&cli_notes[c->examples], "command"));
}

void help_print_json(const struct cli_command *command)
{
	json_t *document, *all = json_array();

	for (const struct cli_command *c = cli_commands; *c->name; c++)
		json_array_append_new(all, help_document(c));
	document = command ? help_document(command) : json_pack("{s:O}", "commands", all);
	say_json(document);
	json_decref(document);
	json_decref(all);
}

/* ---- the keys of --set ---- */

/* A bound or the default of @row, an integer. */
static void help_show_integer(const struct config_row *row, int64_t value,
			      char text[QUANTITY_TEXT_SIZE])
{
	const char *unit = strtab_get(row->unit);

	if (unit && !strcmp(unit, "bytes"))
		quantity_show(value, QUANTITY_BYTES, text);
	else
		snprintf(text, QUANTITY_TEXT_SIZE, row->octal ? "%#llo" : "%lld", (long long)value);
}

static void help_integer(const struct config_row *row)
{
	const char *unit = strtab_get(row->unit);
	char value[QUANTITY_TEXT_SIZE], min[QUANTITY_TEXT_SIZE], max[QUANTITY_TEXT_SIZE];

	help_show_integer(row, strtoll(strtab_get(row->default_text), NULL, 0), value);
	help_show_integer(row, row->min, min);
	help_show_integer(row, row->max, max);
	printf("  %s=%s\n      %s to %s%s%s\n", row->name, value, min, max, unit ? " " : "",
	       unit ? unit : "");
}

void help_settings(void)
{
	help_wrap(cli_settings, 0, 0);
	putchar('\n');
	for (int i = 0; i < CONFIG_COUNT; i++) {
		const struct config_row *row = &config_rows[i];

		const char *one = NULL;

		if (row->type == CONFIG_INTEGER)
			help_integer(row);
		else
			printf("  %s=%s\n", row->name, strtab_get(row->default_text));
		if (row->type == CONFIG_ENUM)
			one = strtab_first(row->choices);
		for (const char *lead = "      one of "; one; one = strtab_next(one), lead = ", ")
			printf("%s%s%s", lead, one, strtab_next(one) ? "" : "\n");
		help_wrap(strtab_get(row->text), 6, 0);
	}
}
