/*
 * cli_run - procpen run: one call of process.run, with the terminal as the client.
 *
 * The command line is its parameters, and an exit status its answer: the command's
 * own; 128 + n after signal n; 124 timeout; 125 procpen failed; 126 not executable;
 * 127 not found; 77 refused. Input, output and terminal of the command are the
 * caller's own, so output passes live and nothing is kept; with --tty the command has a
 * terminal of its own (cli/relay); with --json the output is
 * kept and the result printed instead. When the command is over, or its time, the
 * processes that it leaves are killed.
 */
#ifndef PROCPEN_CLI_RUN_H
#define PROCPEN_CLI_RUN_H

#include "cli/commands.h"

/* @argv[0] is "run". Returns the exit status, CMDLINE_HELP or CMDLINE_VERSION. */
int cli_run(const struct cli_command *command, char **argv);

#endif
