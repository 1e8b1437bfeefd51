/*
 * commands - the table of commands and their options, generated from schema/cli.json.
 *
 * The parser, the help pages and docs/reference.md come from it, so no option exists that one of
 * them does not know.
 */
#ifndef PROCPEN_CLI_COMMANDS_H
#define PROCPEN_CLI_COMMANDS_H

#include <stdbool.h>

#include "base/strtab.h"
#include "gen/cli.h" /* enum option_id: OPTION_... */

/* What follows it. The parser checks numbers of any kind, and choices; all else is text. */
enum option_kind {
	OPTION_IS_FLAG,
	OPTION_IS_TEXT,
	OPTION_IS_WORD, /* text that is not empty */
	OPTION_IS_DIR,
	OPTION_IS_FILE,
	OPTION_IS_SETTING,  /* KEY=VALUE of schema/config.json */
	OPTION_IS_VARIABLE, /* NAME=VALUE */
	OPTION_IS_USER,
	OPTION_IS_NUMBER,
	OPTION_IS_DURATION,
	OPTION_IS_SIZE,
	OPTION_IS_COUNT,
	OPTION_IS_CHOICE, /* one of a few words */
	OPTION_IS_ENGINE, /* may begin with one of a few words and a colon */
};

struct cli_option {
	enum option_id id;
	enum option_kind kind;
	char name[24];             /* "--timeout"; "" ends a list */
	struct strtab_text short_name; /* "-h", or none */
	struct strtab_text value;  /* "TIME", as help shows it; none for a flag */
	struct strtab_list choices;    /* of a choice or an engine */
	struct strtab_text parameter;  /* of process.run, whose bounds hold here too; or none */
	struct strtab_text text;   /* with the bounds of its value */
	struct strtab_text bounds; /* "more than 0 and at most 1h", or none */
	double min, max;           /* in seconds or bytes; max 0: none */
	bool above_min;            /* min itself is out of bounds */
};

/* A status or an example, and what it means. */
struct cli_note {
	struct strtab_text name; /* none: the end of a list */
	struct strtab_text text;
};

struct cli_command {
	char name[12]; /* "" ends the table */
	struct strtab_text summary;
	struct strtab_list usage, text;
	uint16_t options;            /* where they begin in cli_options */
	uint16_t statuses, examples; /* where they begin in cli_notes */
	bool options_end; /* at the first other word; else they may stand anywhere */
};
extern const struct cli_command cli_commands[];
extern const struct cli_option cli_options[];
extern const struct cli_note cli_notes[];

/* Of the program as a whole: what it is for, first steps, and what precedes the keys of --set. */
extern const char cli_about[];
extern const struct cli_note cli_examples[];
extern const char cli_settings[];

#endif
