/*
 * script_args - the constant strings among the arguments of a call in another language.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_ARGS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/effects/script_vars.h"

#define SCRIPT_ARGS_MAX 64

/* The arguments of a call. */
struct script_args {
	struct shell_word words[SCRIPT_ARGS_MAX]; /* constant strings; names of homes as ~ */
	size_t count;
	size_t begun; /* the first word of the argument that is read, once it has one */
	bool format; /* the words after % or .format replace %s and {} */
	size_t path_depth; /* brackets around the parts of path.join(...); 0: not in one */
	size_t path_word;  /* the word that they make */
	size_t end;  /* the token after them */
	/* Of cwd="..." and input="...", which are none of @words; or NULL */
	const struct shell_word *directory, *input;
};

/* Fill @a with the arguments from token @i to the end of the bracket or statement. */
void script_read_args(struct script_reader *r, size_t i, struct script_args *a);

#endif
