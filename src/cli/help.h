/* help - the help pages, from the tables of commands and options. */
#ifndef PROCPEN_CLI_HELP_H
#define PROCPEN_CLI_HELP_H

#include "cli/commands.h"

void help_overview(void);
void help_command(const struct cli_command *command);
void help_settings(void); /* the keys of --set */

#endif
