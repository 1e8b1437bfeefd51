/*
 * script_args - the constant strings among the arguments of a call in another language.
 *
 * Private to blocklist/effects/script.
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
/* Copying this many bytes is one step. */
#define SCRIPT_STEP_BYTES 16

struct script_reader {
	struct script_text t;
	bool awk;
	bool trees;       /* the text says "recursive": a removal takes the whole tree */
	bool write_flags; /* the text names a flag like O_WRONLY */
	bool getline;     /* awk reads with it */
	bool picks;       /* the text has an "if": a loop may leave out files */
	bool codes;       /* the text makes characters of numbers */
	bool listed[2];   /* script_touch_listed() has run: [0] to change modes, [1] to remove */
	struct script_variable {
		size_t start, len; /* its name, in the text */
		struct shell_word value;
		bool is_list;      /* several words, of ["a", "b"] */
		bool is_listing;   /* a glob for what a loop lists */
		bool may_be_empty; /* without a value: the script says so of what is assigned */
	} variables[SCRIPT_VARIABLES_MAX];
	size_t variable_count;
	size_t process; /* token of the name that a loop gives each process; 0: none */
	/* Tokens that name a call otherwise, and its effect; NULL: it runs a command. */
	size_t aliases[SCRIPT_ALIASES_MAX];
	const char *alias_effects[SCRIPT_ALIASES_MAX];
	size_t alias_count;
	const struct place *at;
	struct action_list *out;
};

/* The arguments of a call. */
struct script_args {
	struct shell_word words[SCRIPT_ARGS_MAX]; /* constant strings; names of homes as ~ */
	size_t count;
	bool format; /* the words after % or .format replace %s and {} */
	size_t path_depth; /* brackets around the parts of path.join(...); 0: not in one */
	size_t path_word;  /* the word that they make */
	size_t end;  /* the token after them */
	const struct shell_word *directory; /* of cwd="...", which is none of @words; or NULL */
};

/* Take @steps of reading from the budget: tokens read, and SCRIPT_STEP_BYTES copied. False: it is
 * spent. */
bool script_step(struct script_reader *r, size_t steps);

/* Fill @a with the arguments from token @i to the end of the bracket or statement. */
void script_read_args(struct script_reader *r, size_t i, struct script_args *a);
/* @word with each variable of script_note_variable() replaced: "rm -rf $x". */
struct shell_word script_with_variables(struct script_reader *r, const struct shell_word *word);
/* The same in the arena, a word for each item of a list that it speaks of. Returns how many. */
size_t script_values(struct script_reader *r, const struct shell_word *word,
		     struct shell_word **values);
/* The value of the variable at token @i; NULL: none is known. */
const struct shell_word *script_variable_at(const struct script_reader *r, size_t i);
/* The variable whose whole value @word is; NULL: none. */
const struct script_variable *script_variable_of(const struct script_reader *r,
						 const struct shell_word *word);
/*
 * Remember the constant of NAME = "constant" at token @i, if there is one, or what a loop gives
 * NAME: ["a", "b"], glob("/ *"), listdir("/"), Path("/").iterdir().
 */
void script_note_variable(struct script_reader *r, size_t i);

#endif
