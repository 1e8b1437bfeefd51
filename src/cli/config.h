/* config - `procpen config`: options in force, whether a file is right, a schema for editors. */
#ifndef PROCPEN_CLI_CONFIG_H
#define PROCPEN_CLI_CONFIG_H

#include "cli/commands.h"

/* Returns the exit status, CMDLINE_HELP or CMDLINE_VERSION. */
int cli_config(const struct cli_command *command, char **argv);

/* What `procpen config schema` prints. */
void cli_config_print_schema(void);

#endif
