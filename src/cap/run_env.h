/*
 * run_env - the environment of a run: the operator's and the request's
 * (policy/env.h), and what its sandbox and its user add.
 *
 * TMPDIR is the private temporary directory. Where the home cannot be written,
 * the caches that tools would keep there go below it too; a variable that the
 * operator lets through, or that the request sets, stands. HOME, USER and LOGNAME
 * are those of the account that the run changes to, unless the request sets them.
 */
#ifndef PROCPEN_CAP_RUN_ENV_H
#define PROCPEN_CAP_RUN_ENV_H

#include <jansson.h>

#include "os/sandbox/confine.h"
#include "os/users.h"
#include "policy/config.h"

/* What a run's environment is made of; everything is borrowed. */
struct run_env {
	const struct config *config;
	struct confine *confine;
	const struct confine_request *request;
	const struct user *user;   /* name NULL: the server's own */
	const json_t *environment; /* of the request, or NULL */
};

/* All but what the sandbox adds: nothing is touched. *@envp: "NAME=value" strings, heap, freed with
 * env_free(). Returns 0, or -1 as env_build(). */
int run_env_build(const struct run_env *run, char ***envp, struct err *e);

/* Add the rest to what run_env_build() has made, when the run may start: prepares the sandbox, and
 * adds nothing if that fails, as the start then does too. */
void run_env_enter(const struct run_env *run, char ***envp);

#endif
