/*
 * script_vars - the variables of a text in another language, as far as they hold constants.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_VARS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_VARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/action.h"
#include "blocklist/effects/script_text.h"
#include "shell/script.h"

#define SCRIPT_VARIABLES_MAX 32
#define SCRIPT_ALIASES_MAX 64
#define SCRIPT_FUNCTIONS_MAX 16
#define SCRIPT_GIVEN_MAX 8
/* Copying this many bytes is one step. */
#define SCRIPT_STEP_BYTES 16
/* Tokens of an expression, behind a = or before a +, that are looked at. */
#define SCRIPT_EXPRESSION_MAX 32

struct script_reader {
	struct script_text t;
	bool awk;
	bool trees;       /* the text says "recursive": a removal takes the whole tree */
	bool write_flags; /* the text names a flag like O_WRONLY */
	bool getline;     /* awk reads with it */
	bool ahead;       /* a loop inside of a line is read, before what stands before it */
	bool codes;       /* the text makes characters of numbers */
	bool shell;       /* the text has started a shell without a command */
	size_t given[SCRIPT_GIVEN_MAX]; /* tokens of names that get arguments of the script */
	size_t given_count;
	unsigned environ; /* variables of the environment that were run or removed */
	bool listed[2];   /* script_files_touch_listed() has run: [0] to change modes, [1] to
			   * remove */
	struct script_variable {
		size_t start, len; /* its name, in the text */
		struct shell_word value;
		/* The strings of a list, or those that a loop gives it, a line for each. */
		struct shell_word lines;
		bool is_item;      /* a loop gives it one of these */
		bool is_list;      /* several words, of ["a", "b"] */
		bool is_listing;   /* a glob for what a loop lists */
		bool may_be_empty; /* without a value: the script says so of what is assigned */
	} variables[SCRIPT_VARIABLES_MAX];
	size_t variable_count;
	struct script_function {
		size_t name, parameter; /* tokens; of the first parameter */
		/* What calls give it, joined by spaces and as lines. */
		struct shell_word value, lines;
		size_t count;
		bool list, spaces; /* a call gives it a list; a value has a space */
	} functions[SCRIPT_FUNCTIONS_MAX];
	size_t function_count;
	size_t inside;        /* 1 + the first variable of the function that is read; 0: none */
	size_t inside_indent; /* of that function's first line */
	size_t subprocess; /* token of another name for that module; 0: none */
	size_t process; /* token of the name that a loop gives each process; 0: none */
	/* Tokens that name a call otherwise, and its effect; NULL: it runs a command. */
	size_t aliases[SCRIPT_ALIASES_MAX];
	const char *alias_effects[SCRIPT_ALIASES_MAX];
	size_t alias_count;
	const struct place *at;
	struct action_list *out;
};

/* Take @steps of reading from the budget: tokens read, and SCRIPT_STEP_BYTES copied. False: it is
 * spent. */
bool script_step(struct script_reader *r, size_t steps);

/* The character @c of @kind as a word, at the place of token @i. */
struct shell_word script_char(struct script_reader *r, char c, uint8_t kind, size_t i);

/* @word with each variable of script_note_variable() replaced: "rm -rf $x". */
struct shell_word script_with_variables(struct script_reader *r, const struct shell_word *word);
/* The same in the arena, a word for each item of a list that it speaks of. Returns how many. */
size_t script_values(struct script_reader *r, const struct shell_word *word,
		     struct shell_word **values);
/* The variable at token @i, or of that name; NULL: there is none. */
const struct script_variable *script_find_variable(const struct script_reader *r, size_t i);
const struct script_variable *script_named_variable(const struct script_reader *r,
						    const char *name, size_t len);
/* The value of the variable at token @i; NULL: none is known. */
const struct shell_word *script_variable_at(const struct script_reader *r, size_t i);
/* The same, or the string there. */
const struct shell_word *script_value_at(const struct script_reader *r, size_t i);
/* The variable whose whole value @word is; NULL: none. */
const struct script_variable *script_variable_of(const struct script_reader *r,
						 const struct shell_word *word);
/*
 * Remember the constant of NAME = "constant" at token @i, if there is one, or what a loop gives
 * NAME: ["a", "b"], glob("/ *"), listdir("/"), Path("/").iterdir().
 */
void script_note_variable(struct script_reader *r, size_t i);
/* Does an expression of the tokens from @from to @end speak of an empty text: get("X", ""),
 * x or "", nil.to_s? */
bool script_says_empty(const struct script_reader *r, size_t from, size_t end);

#endif
