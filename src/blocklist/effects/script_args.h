/*
 * script_args - the constant strings among the arguments of a call in another language.
 *
 * Used by blocklist/effects/script alone.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_ARGS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"
#include "blocklist/effects/script_text.h"
#include "shell/script.h"

#define SCRIPT_ARGS_MAX 64
#define SCRIPT_VARIABLES_MAX 32
#define SCRIPT_ALIASES_MAX 64
/* A step for so many bytes that are put together. */
#define SCRIPT_STEP_BYTES 16

struct script_reader {
	struct script_text t;
	bool awk;
	bool trees;   /* what is removed is removed with all below it */
	bool write_flags; /* a flag to open for writing is named */
	bool getline; /* of awk: something is read by it */
	bool codes; /* characters are made of numbers */
	bool listed[2]; /* the places that a loop lists were read: to change modes, to remove */
	struct { size_t start, len; struct shell_word value; } variables[SCRIPT_VARIABLES_MAX];
	size_t variable_count;
	size_t aliases[SCRIPT_ALIASES_MAX]; /* tokens: names that were given a call */
	size_t alias_count;
	const struct place *at;
	struct action_list *out;
	size_t steps; /* tokens that were looked at, again and again */
};

/* What a call is given. */
struct script_args {
	struct shell_word words[SCRIPT_ARGS_MAX]; /* constant strings, and names of homes as ~ */
	bool joined[SCRIPT_ARGS_MAX]; /* something unknown stands beside it in the same argument */
	size_t count;
	bool array;   /* in brackets of its own: words of a command */
	bool unknown; /* an argument that is no string */
	bool format;  /* behind the operator % */
	size_t end;   /* token behind them */
};

/* False: too much was looked at, and the arena is exhausted. */
bool script_step(struct script_reader *r, size_t steps);

/* The strings from token @i on, to the end of the bracket or of the statement. */
void script_read_args(struct script_reader *r, size_t i, struct script_args *a);
/* "rm -rf $x", where x was given a constant before. */
struct shell_word script_with_variables(struct script_reader *r, const struct shell_word *word);
/* NAME = "constant" at token @i. */
void script_note_variable(struct script_reader *r, size_t i);

#endif
