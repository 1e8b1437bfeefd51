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

#include <jansson.h>

#include "os/sandbox/confine.h"
#include "os/users.h"
#include "policy/config.h"

/* The sources of a run's environment; everything is borrowed. */
struct run_env {
	const struct config *config;
	const char *shell; /* its path */
	struct confine *confine;
	const struct confine_request *request;
	const struct user *user;   /* name NULL: the server's own */
	const json_t *environment; /* of the request, checked, or NULL */
	bool terminal;             /* the run has one, and TERM does not say which */
};

/* Build all but the sandbox's variables. Has no effect outside. "NAME=value" strings, heap, freed
 * with mem_list_free(). */
char **run_env_build(const struct run_env *run);

/* Add the sandbox's variables to the result of run_env_build(), once the run may start. Prepares
 * the sandbox; if that fails it adds nothing, and the start reports the error. */
void run_env_enter(const struct run_env *run, char ***envp);

#endif
