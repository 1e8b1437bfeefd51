/* cli_wish - what the command line of `procpen run` asks for, as parameters of process.run. */
#ifndef PROCPEN_CLI_WISH_H
#define PROCPEN_CLI_WISH_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/options.h"

struct wish {
	struct cli cli; /* options shared with serve */
	bool shell;
	json_t *params; /* owned; texts may hold any bytes, as a command line does */
};

/* @w: zeroed. CLI_GO_ON: it is complete; else the exit status, all is said. Release it always. */
int wish_read(struct wish *w, int argc, char **argv);
void wish_release(struct wish *w);

/* Say on stderr what is wrong with the command line; CLI_STATUS_USAGE. @value may be NULL. */
int wish_complain(const char *what, const char *value);

#endif
