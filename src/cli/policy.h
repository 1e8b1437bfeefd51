/* policy - `procpen policy`: the self-tests of rules, and what they decide on a command and why. */
#ifndef PROCPEN_CLI_POLICY_H
#define PROCPEN_CLI_POLICY_H

#include "cli/commands.h"

/* Returns the exit status, CMDLINE_HELP or CMDLINE_VERSION. */
int cli_policy(const struct cli_command *command, char **argv);

#endif
