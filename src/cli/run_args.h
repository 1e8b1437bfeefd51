/* run_args - what the command line of `procpen run` asks for, as parameters of process.run. */
#ifndef PROCPEN_CLI_RUN_ARGS_H
#define PROCPEN_CLI_RUN_ARGS_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/options.h"

struct run_args {
	struct cli cli; /* options shared with serve */
	bool shell;
	json_t *params; /* owned; texts may hold any bytes, as a command line does */
};

/* @a: zeroed. CLI_GO_ON: it is complete; else the exit status, all is said. Release it always. */
int run_args_read(struct run_args *a, int argc, char **argv);
void run_args_release(struct run_args *a);

/* Say on stderr what is wrong with the command line; CLI_STATUS_USAGE. @value may be NULL. */
int run_args_complain(const char *what, const char *value);

#endif
