/*
 * run_env - the environment of a run: the operator's and the request's variables
 * (policy/env.h), and those of its sandbox and its user.
 *
 * TMPDIR is the private temporary directory. If the home is not writable, variables
 * move the caches of tools below TMPDIR; a variable that the operator lets through,
 * or that the request sets, is kept. HOME, USER and LOGNAME are those of the account
 * that the run changes to, unless the request sets them. With a terminal TERM is
 * xterm-256color, unless the request sets it.
 */
#ifndef PROCPEN_CAP_RUN_ENV_H
#define PROCPEN_CAP_RUN_ENV_H

#include <stdbool.h>

#include "os/sandbox/confine.h"
#include "os/users.h"
#include "policy/config.h"

/* The sources of a run's environment; everything is borrowed. */
struct run_env {
	const struct config *config;
	char *const *base; /* env_base_new() */
	struct confine *confine;
	const struct confine_request *request;
	const struct user *user;   /* name NULL: the server's own */
	char *const *environment;  /* of the request, "NAME=value", checked, or NULL */
	bool terminal;             /* the run has one, and TERM does not say which */
};

/* Build the environment once the run may start: prepares the sandbox. If that fails, its variables
 * are left out, and the start reports the error. "NAME=value" strings, one heap block; those of the
 * base and the request stay theirs. */
char **run_env_build(const struct run_env *run);

#endif
