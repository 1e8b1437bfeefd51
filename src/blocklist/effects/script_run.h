/*
 * script_run - calls that run a command, or code that is constant.
 *
 * Adds their constant arguments as shell text and as words, and what they take from standard input
 * as what that is known to hold. Code that is computed is for script_code.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_RUN_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_RUN_H

#include "blocklist/effects/script_args.h"

/* The program runs its standard input as shell text, after @before unless that is NULL. */
void script_run_input(struct script_reader *r, const struct shell_word *before);

/* The call at token @i with the arguments @a does to a variable of the environment that it reads,
 * and to nothing else, what @command of the shell does. */
void script_run_variables(struct script_reader *r, size_t i, const struct script_args *a,
			  const char *command);

/* The text runs @count @words, or the text that one is: note it if that is a shell which reads its
 * commands from a pipe or a terminal. */
void script_note_shell(struct script_reader *r, const struct shell_word *words, size_t count);

/* Token @i is the name of a call that runs its arguments: add them. */
void script_read_run(struct script_reader *r, size_t i);

/* Add what runs at token @i, if it is such a call. */
void script_read_runs(struct script_reader *r, size_t i);

#endif
