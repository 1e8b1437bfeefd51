/*
 * run_shell - the shell that runs command strings: process.shell, else a default.
 *
 * Chosen once, at the start, so that the shell that runs a string, the one that $SHELL and
 * agent.session name, and the grammar that the blocklist reads are the same. Refused: a shell whose
 * text the blocklist does not read (fish, csh, zsh, an interpreter of another language), one that
 * commands cannot execute, and one that a command could replace.
 */
#ifndef PROCPEN_POLICY_RUN_SHELL_H
#define PROCPEN_POLICY_RUN_SHELL_H

#include "base/err.h"
#include "policy/config.h"
#include "policy/scope.h"
#include "shell/script.h"

struct run_shell {
	char *path; /* absolute; owned */
	enum shell_family family;
};

/* Can @path be that of a shell? 0, or -1 with InvalidParams. */
int run_shell_check_name(const char *path, struct err *e);

/*
 * The shell that @config names; without a name /bin/bash if commands can execute it, else /bin/sh
 * unchecked. @scope: what commands may write, or NULL if nothing will run. 0, or -1 with
 * InvalidParams. @shell is zeroed first; release it in any case.
 */
int run_shell_choose(struct run_shell *shell, const struct config *config,
		     const struct scope *scope, struct err *e);

/* Why the shell @shell, a default, may not run what the blocklist reads: a sentence to free; NULL:
 * it will. One that process.shell names was refused then. */
char *run_shell_new_doubt(const struct run_shell *shell, const struct config *config,
			  const struct scope *scope);

void run_shell_release(struct run_shell *shell);

#endif
