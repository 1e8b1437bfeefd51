/* run_args - turns the command line of `procpen run` into parameters of process.run. */
#ifndef PROCPEN_CLI_RUN_ARGS_H
#define PROCPEN_CLI_RUN_ARGS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/options.h"

struct run_args {
	const struct cli_command *command;
	struct options options;
	bool shell, tty;
	json_t *params; /* owned; texts may hold any bytes, as a command line does */
};

/* @a: zeroed. CMDLINE_GO_ON: complete; else as cmdline_read(). Always release it. */
int run_args_read(struct run_args *a, const struct cli_command *command, char **argv);
void run_args_release(struct run_args *a);

#endif
