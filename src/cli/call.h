/*
 * cli_call - procpen call: one request to a server of its own, and its answer.
 *
 * The server is a child of this process, the same that `procpen serve` is, and is asked over pipes
 * in the plain dialect: one gate, one policy, one record. The pipe to it stays open until the
 * answer is there, because the end of the input would bound the time of the request. When this
 * process dies, the server sees its reader gone and ends with all that it started.
 */
#ifndef PROCPEN_CLI_CALL_H
#define PROCPEN_CLI_CALL_H

#include "cli/commands.h"

/*
 * @argv[0] is "call". Returns the exit status: 0 for a result, 1 for an error, 2 for a mistake on
 * the command line, 125 when the server or stdout failed, 128 + n when signal n ended it;
 * CMDLINE_HELP or CMDLINE_VERSION. It returns in the child too, with the status of the server.
 */
int cli_call(const struct cli_command *command, char **argv);

#endif
