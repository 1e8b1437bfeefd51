/*
 * args - the words of a simple command as options and operands.
 *
 * Reads words as getopt_long() does: clusters of letters, abbreviated long options,
 * options after operands, "--". The table says which options take a value. Lists of
 * options have the table's form: " -r -R --recursive "; "-m=off" stands for -m with the
 * value off. Borrows the words.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_ARGS_H
#define PROCPEN_BLOCKLIST_COMMAND_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/script.h"

struct args_option {
	const char *name; /* without dashes; a letter of a cluster, or a whole name */
	size_t len;
	bool is_long;     /* two dashes */
	const struct shell_word *value; /* or NULL */
	size_t skip;      /* where the value begins in that word: --name=VALUE */
};

struct args {
	struct args_option *options;
	const struct shell_word **operands;
	size_t option_count, operand_count, option_room, operand_room;
	size_t first_operand; /* its index among the words; the number of words if there is none */
	bool any_option;      /* an unknown word may be any option */
};

/*
 * Read @words[1..count) into @a, which is zero or was used before. @values: options that
 * take a value, or NULL; -i= takes only what follows it in its word, -R< takes one only before
 * the first operand. @in_order: the first operand ends the options, as for sudo.
 */
void args_read(struct args *a, const struct shell_word *words, size_t count,
	       const char *values, bool in_order);
void args_release(struct args *a);

/* The first option in @list from number *@from on, or NULL. Moves *@from past it. */
const struct args_option *args_next(const struct args *a,
				    const char *list, size_t *from);
bool args_has(const struct args *a, const char *list);

/* Does the text match the pattern? * and ? are globs; a backslash quotes the next character. */
bool args_glob_fits(const char *pattern, size_t pattern_len, const char *text, size_t len);

/*
 * Does the text of @word match a word of @list, where * and ? are globs? With an unknown part only
 * if what precedes it matches and the word of @list ends in *. @list may be built at run time.
 */
bool args_word_fits(const struct shell_word *word, const char *list);
/* The same for a constant @list (command/list). */
bool args_word_listed(const struct shell_word *word, const char *list);

#endif
