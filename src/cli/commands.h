/*
 * commands - the table of commands and their options, generated from schema/cli.json.
 *
 * The parser, the help pages and docs/reference.md come from it, so no option exists that one of
 * them does not know.
 */
#ifndef PROCPEN_CLI_COMMANDS_H
#define PROCPEN_CLI_COMMANDS_H

#include <stdbool.h>

#include "gen/cli.h" /* enum option_id: OPTION_... */

/* What follows it. The parser checks times, sizes, numbers and choices; all else is text. */
enum option_kind {
	OPTION_IS_FLAG,
	OPTION_IS_TEXT,
	OPTION_IS_DIR,
	OPTION_IS_FILE,
	OPTION_IS_SETTING,  /* KEY=VALUE of schema/config.json */
	OPTION_IS_VARIABLE, /* NAME=VALUE */
	OPTION_IS_USER,
	OPTION_IS_NUMBER,
	OPTION_IS_DURATION,
	OPTION_IS_SIZE,
	OPTION_IS_CHOICE, /* one of a few words */
};

struct cli_option {
	enum option_id id;
	enum option_kind kind;
	const char *name;       /* "--timeout"; NULL ends a list */
	const char *short_name; /* "-h", or NULL */
	const char *value;      /* "TIME", as help shows it; NULL for a flag */
	const char *const *choices; /* NULL-terminated, of a choice; else NULL */
	const char *parameter;  /* of process.run, whose bounds hold here too; or NULL */
	const char *text;       /* with the bounds of its value */
	const char *bounds;     /* "more than 0 and at most 1h", or NULL */
	double min, max;        /* in seconds or bytes; max 0: none */
	bool above_min;         /* min itself is out of bounds */
};

/* A status or an example, and what it means. */
struct cli_note {
	const char *name; /* NULL ends a list */
	const char *text;
};

struct cli_command {
	const char *name; /* NULL ends the table */
	const char *summary;
	const char *const *usage, *const *text; /* NULL-terminated */
	const struct cli_option *options;
	const struct cli_note *statuses, *examples;
	bool options_end; /* at the first word that is no option; else they may stand anywhere */
};
extern const struct cli_command cli_commands[];

/* Of the program as a whole: what it is for, first steps, and what precedes the keys of --set. */
extern const char cli_about[];
extern const struct cli_note cli_examples[];
extern const char cli_settings[];

#endif
