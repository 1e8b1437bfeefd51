/* run_args - turns the command line of `procpen run` into parameters of process.run. */
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

/* @a: zeroed. CLI_GO_ON: complete; else the exit status, and all is printed. Always release it. */
int run_args_read(struct run_args *a, int argc, char **argv);
void run_args_release(struct run_args *a);

/* Print what is wrong with the command line; returns CLI_STATUS_USAGE. @value may be NULL. */
int run_args_complain(const char *what, const char *value);

#endif
