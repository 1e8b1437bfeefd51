/*
 * command - the command's own process, from the shim's clone to its exec.
 *
 * It shares the shim's memory until then, so a failure is told through the
 * struct. Confinement is entered here, in the order of the plan's layers, and
 * what cannot be entered ends the start: nothing runs half confined.
 */
#ifndef PROCPEN_OS_SHIM_COMMAND_H
#define PROCPEN_OS_SHIM_COMMAND_H

#include "os/shim_proto.h"

struct command {
	struct shim_plan *plan;
	char **argv, **envp;
	const char *path; /* of the program */
	const char *cwd;  /* with SHIM_MOUNTS: the working directory by name, "" otherwise */
	volatile int stage; /* enum shim_stage of a failure; 0: the exec succeeded */
	volatile int error; /* its errno */
};

/* Install the plan's filter in this process. 0, or 1 with the failure in @c. */
int command_install_filter(struct command *c);

/* Entry of the child; @command is a struct command. The result is its exit status. */
int command_run(void *command);

#endif
