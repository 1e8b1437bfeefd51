/*
 * cmdline - reads a command line as the table of its command has it.
 *
 * Values stand behind the option, after =, or joined to a short one. `--` ends the options; so does
 * the first word that is none, where the table says so, else words and options may be mixed. Times,
 * sizes, numbers and counts are read here and keep the bounds of the table; choices are its words.
 */
#ifndef PROCPEN_CLI_CMDLINE_H
#define PROCPEN_CLI_CMDLINE_H

#include "cli/commands.h"

#define CMDLINE_GO_ON (-1)
#define CMDLINE_HELP (-2)    /* -h, --help: the caller of the command shows it */
#define CMDLINE_VERSION (-3) /* -V, --version */

/* What was given for @option. */
struct cmdline_value {
	const char *text; /* NULL for a flag */
	double number;    /* of a time in seconds, a size in bytes, a number, a count */
};

/* Returns CMDLINE_GO_ON or the exit status, with all printed. */
typedef int (*cmdline_take_fn)(void *ctx, const struct cli_option *option,
			    const struct cmdline_value *value);

struct cmdline {
	const struct cli_command *command;
	char **words;   /* that are not options: a part of argv, NULL-terminated */
	bool separated; /* -- stood before the first of them */
};

/*
 * Read @argv, whose first word is the command's name, and call @take for each option but --help and
 * --version. Moves the words of argv. Returns CMDLINE_GO_ON, CMDLINE_HELP, CMDLINE_VERSION, what
 * @take returned, or SAY_STATUS_USAGE for a mistake, which is reported.
 */
int cmdline_read(struct cmdline *a, const struct cli_command *command, char **argv,
		 cmdline_take_fn take, void *ctx);

#endif
