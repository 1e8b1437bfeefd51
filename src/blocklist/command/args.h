/*
 * args - the words of a simple command as options and operands.
 *
 * Reads words as getopt_long() does: clusters of letters, abbreviated long options,
 * options after operands, "--". The table says which options take a value. Lists of
 * options have the table's form: " -r -R --recursive "; "-m=off" also asks for the
 * value. Borrows the words.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_ARGS_H
#define PROCPEN_BLOCKLIST_COMMAND_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/list.h"
#include "shell/script.h"

struct args_option {
	const char *name; /* without dashes; a letter of a cluster, or a whole name */
	size_t len;
	bool is_long;     /* two dashes */
	const struct shell_word *value; /* or NULL */
	size_t skip;      /* where the value begins in that word */
};

struct args {
	struct args_option *options;
	const struct shell_word **operands;
	size_t option_count, operand_count, option_room, operand_room;
	size_t first_operand; /* index of it among the words; the number of words if none */
	bool any_option;      /* an unknown word may be any option */
};

/*
 * Read @words[1..count). @values: options that take a value, or NULL. @in_order: the
 * first operand ends the options, as for sudo. @a is zero, or was used before.
 */
void args_read(struct args *a, const struct shell_word *words, size_t count,
	       const char *values, bool in_order);
void args_release(struct args *a);

/* The first option that is in @list, from number *@from on, which then is behind it; or NULL. */
const struct args_option *args_next(const struct args *a,
				    const char *list, size_t *from);
bool args_has(const struct args *a, const char *list);

/* Does the text fit the pattern: * and ? are globs, a backslash makes the next one plain. */
bool args_glob_fits(const char *pattern, size_t pattern_len, const char *text, size_t len);

/* Does all of @word (as text, from @skip on) fit a word of @list, where * and ? are globs? The
 * list may be one that was put together. */
bool args_word_fits(const struct shell_word *word, size_t skip, const char *list);
/* The same for the whole word and a list that is a constant of the program. */
bool args_word_listed(const struct shell_word *word, const char *list);

#endif
