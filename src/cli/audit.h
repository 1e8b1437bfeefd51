/*
 * cli_audit - procpen audit: the audit log for people and scripts.
 *
 * Reads the files of a state directory, and changes nothing. For people each record is one line, in
 * which what is invisible is shown by code; for programs it is the record as it was written.
 */
#ifndef PROCPEN_CLI_AUDIT_H
#define PROCPEN_CLI_AUDIT_H

#include "cli/commands.h"

/* @argv[0] is "audit". Returns the exit status: 0, 1 (the log is not whole, or cannot be read), 2
 * (a mistake on the command line); CMDLINE_HELP or CMDLINE_VERSION. */
int cli_audit(const struct cli_command *command, char **argv);

#endif
