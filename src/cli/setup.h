/* cli_setup - `procpen setup HOST`: the configuration that makes an agent host start procpen. */
#ifndef PROCPEN_CLI_SETUP_H
#define PROCPEN_CLI_SETUP_H

#include "cli/commands.h"

/*
 * @argv[0] is "setup". Prints the snippet to stdout and what to do with it to stderr, or both as
 * one JSON document. Writes a file only with --write. Returns the exit status: 0, 1 (it could not
 * be done), 2 (a mistake on the command line); CMDLINE_HELP or CMDLINE_VERSION.
 */
int cli_setup(const struct cli_command *command, char **argv);

/* The hosts, for the page of help. */
void cli_setup_list_hosts(void);

#endif
