/* help - the help pages, from the tables of commands and options. */
#ifndef PROCPEN_CLI_HELP_H
#define PROCPEN_CLI_HELP_H

#include <jansson.h>

#include "cli/commands.h"

void help_overview(void);
void help_command(const struct cli_command *command);
void help_settings(void); /* the keys of --set */

json_t *help_list(struct strtab_list texts);

/* A JSON document of @command; NULL: of all. */
void help_print_json(const struct cli_command *command);

#endif
