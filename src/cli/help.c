#include "cli/help.h"

#include <stdio.h>
#include <string.h>

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
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s%s%s", option->short_name ? option->short_name : "",
		 option->short_name ? ", " : "", option->name, option->value ? " " : "",
		 option->value ? option->value : "");
	help_row(name, option->text, 22);
}

void help_command(const struct cli_command *command)
{
	for (size_t i = 0; command->usage[i]; i++)
		printf("%s %s\n", i ? "      " : "Usage:", command->usage[i]);
	printf("\n");
	help_wrap(command->summary, 0, 0);
	for (size_t i = 0; command->text[i]; i++) {
		putchar('\n');
		help_wrap(command->text[i], 0, 0);
	}
	puts("\nOptions:");
	for (const struct cli_option *o = command->options; o->name; o++)
		help_option(o);
	puts("\nExit status:");
	for (const struct cli_note *s = command->statuses; s->name; s++)
		help_row(s->name, s->text, 12);
	puts("\nExamples:");
	for (const struct cli_note *e = command->examples; e->name; e++) {
		printf("  %s\n", e->name);
		help_wrap(e->text, 6, 0);
	}
}

void help_overview(void)
{
	puts("Usage: procpen COMMAND [OPTION]...\n");
	help_wrap(cli_about, 0, 0);
	puts("\nCommands:");
	for (const struct cli_command *c = cli_commands; c->name; c++)
		help_row(c->name, c->summary, 12);
	puts("\nFirst steps:");
	for (const struct cli_note *e = cli_examples; e->name; e++)
		printf("  %s\n", e->name);
	puts("\nMore: procpen help COMMAND; procpen help options lists the keys of --set.");
}

void help_settings(void)
{
	help_wrap(cli_settings, 0, 0);
	putchar('\n');
	for (int i = 0; i < CONFIG_COUNT; i++) {
		const struct config_row *row = &config_rows[i];

		printf("  %s=%s\n", row->name, row->default_text);
		if (row->type == CONFIG_INTEGER)
			printf("      %lld to %lld%s%s\n", (long long)row->min,
			       (long long)row->max, row->unit ? " " : "",
			       row->unit ? row->unit : "");
		for (size_t k = 0; row->type == CONFIG_ENUM && row->choices[k]; k++)
			printf("%s%s%s", k ? ", " : "      one of ", row->choices[k],
			       row->choices[k + 1] ? "" : "\n");
		help_wrap(row->text, 6, 0);
	}
}
