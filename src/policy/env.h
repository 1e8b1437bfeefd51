/*
 * env - builds the environment of a command and finds programs in its PATH.
 *
 * A command sees a small base (PATH HOME USER LOGNAME SHELL LANG LC_* TZ TERM),
 * the variables that the operator allows by name (option env.allow), and those that
 * the request sets. The rest of the server's own environment never reaches it.
 * Protected names (they change the code that a shell or the dynamic loader runs) may
 * come from the operator's list only.
 */
#ifndef PROCPEN_POLICY_ENV_H
#define PROCPEN_POLICY_ENV_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "policy/config.h"

/* Can each name of @request, an object or NULL, be one, and its value too? 0, or -1 with
 * InvalidParams. */
int env_check_names(const json_t *request, struct err *e);

/* May @request set its names? 0, or -1 with ProtectedVariable (all names in details.names). @shell:
 * -1 with InvalidParams, too, for a name that a shell may not pass on to its commands. */
int env_check(const struct config *c, const json_t *request, bool shell, struct err *e);

/* The variables that runs inherit, each "NAME=value": the base and those that the operator allows.
 * @shell: the value of SHELL, whatever the server's own is. They stand in the server's own
 * environment, which nothing changes. NULL-terminated, freed with free(). */
char **env_base_new(const struct config *c, const char *shell);

/* The environment of a run while it is made. */
struct env {
	char **vars; /* "NAME=value", NULL-terminated: one heap block with the text that is set */
	size_t count;
	char *text, *text_end; /* what is left for that */
};

/* Begin @env with @base and @request, which stay the caller's; @request, NULL for none, has passed
 * both checks. @more, @text: how many may be set, and their bytes with = and NUL. */
void env_begin(struct env *env, const struct config *c, char *const *base, char *const *request,
	       size_t more, size_t text);

/* Set @name to @value, replacing its value if it has one. */
void env_set(struct env *env, const char *name, const char *value);

/* Set @name to @value plus @below, unless it is set. */
void env_default(struct env *env, const char *name, const char *value, const char *below);

/* PATH as a command has it whose request sets none. */
const char *env_base_path(void);

/* Value of @name in @vars, which may be NULL, or NULL. */
const char *env_get(char *const *vars, const char *name);

/*
 * Find @program as execvp(3) does: with a slash it is a path (relative to @cwd_fd);
 * else each directory of @search, a PATH or NULL for the default one, is searched, relative
 * ones from @cwd_fd. *@path: heap. Returns 0, or -1 with CommandNotFound (message and hint name
 * the PATH searched) or SpawnFailed (found, but nowhere executable, or the search takes too
 * long; stage "exec").
 */
int env_find_program(const char *search, int cwd_fd, const char *program, char **path,
		     struct err *e);

#endif
