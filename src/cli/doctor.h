/*
 * cli_doctor - procpen doctor: which layers this machine gives to commands.
 *
 * Tries each one for real, as the first run would, and prints what it found, why
 * something is missing, and the one thing to do about it. Exit status 0; 1 when a layer is
 * missing that this kind of machine should have, when nothing confines files, when nothing can be
 * started at all, or when the report cannot be written.
 */
#ifndef PROCPEN_CLI_DOCTOR_H
#define PROCPEN_CLI_DOCTOR_H

#include "cli/commands.h"

/* @argv[0] is "doctor". Returns the exit status, CMDLINE_HELP or CMDLINE_VERSION. */
int cli_doctor(const struct cli_command *command, char **argv);

#endif
