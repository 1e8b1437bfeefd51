/*
 * cli_check - `procpen check`: the verdict of the blocklist for people and scripts.
 *
 * Reads a command as process.run and is_blocked do, and prints the verdict of the same
 * blocklist_judge(). Runs nothing, looks nothing up, writes no audit log.
 */
#ifndef PROCPEN_CLI_CHECK_H
#define PROCPEN_CLI_CHECK_H

#include "cli/commands.h"

/*
 * @argv[0] is "check", its options and the command follow. Reads stdin when it is
 * asked to, writes verdicts to stdout and mistakes to stderr. Returns the exit
 * status: 0 allowed, 1 blocked (with --lines: any of them), 2 when there is no
 * verdict: a mistake in the call, no command in the text, stdin or stdout broken; CMDLINE_HELP or
 * CMDLINE_VERSION.
 */
int cli_check(const struct cli_command *command, char **argv);

#endif
