/* cli_options - the options that all commands share: where commands work, and --set. */
#ifndef PROCPEN_CLI_OPTIONS_H
#define PROCPEN_CLI_OPTIONS_H

#include "server/context.h"

#define CLI_GO_ON (-1)
#define CLI_SAY_HELP (-2)    /* --help or -h: cli_parse() says it */
#define CLI_SAY_VERSION (-3) /* --version */
#define CLI_STATUS_USAGE 2

struct cli {
	struct context_options options;
	char **directories; /* the strings of options.directories; owned */
	size_t directory_count;
	const char *const *own; /* names of options that this command alone has, for a near miss;
				 * NULL-terminated, or NULL */
};

/* One option at argv[*at], as --name value or --name=value; moves *at to its last word. CLI_GO_ON;
 * CLI_SAY_HELP or CLI_SAY_VERSION, which the caller passes on; or the exit status, all printed.
 * @cli: zeroed, its config initialised. */
int cli_take_option(struct cli *cli, char **argv, int *at);

/* "unknown option X; did you mean Y?" on stderr; CLI_STATUS_USAGE. @known ends with NULL. */
int cli_say_unknown(const char *what, const char *name, const char *const *known);

void cli_release(struct cli *cli);

#endif
