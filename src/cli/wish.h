/* cli_wish - what the command line of `procpen run` asks for. */
#ifndef PROCPEN_CLI_WISH_H
#define PROCPEN_CLI_WISH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "os/sandbox/confine.h"

struct wish {
	struct cli cli; /* options shared with serve */
	const char *cwd;
	double timeout_s; /* 0: none */
	bool shell;
	struct confine_request confine;
	json_t *limits;      /* cpu_limit and memory_limit, as in a request */
	json_t *environment; /* NULL: nothing is added */
	const char **pairs;  /* the same as NAME=VALUE, NULL-terminated; or NULL */
	size_t pair_count;
	char **command; /* the words behind --, NULL-terminated; borrowed from argv */
};

/* @w: zeroed. CLI_GO_ON: it is complete; else the exit status, all is said. Release it always. */
int wish_read(struct wish *w, int argc, char **argv);
void wish_release(struct wish *w);

/* Say on stderr what is wrong with the command line; CLI_STATUS_USAGE. @value may be NULL. */
int wish_complain(const char *what, const char *value);

#endif
