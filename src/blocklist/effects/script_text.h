/*
 * script_text - the text of another language as tokens.
 *
 * Strings with their escapes resolved, names and numbers, single characters; comments
 * are left out. Enough of Python, Perl, Ruby, JavaScript, PHP and awk for
 * effects/script, and the grammar of none of them.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_TEXT_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

/* Tokens beyond this are not read. */
#define CODE_TOKENS_MAX 20000

enum code_token_kind { TOKEN_NAME, TOKEN_STRING, TOKEN_RUN, TOKEN_OTHER };

struct code_token {
	enum code_token_kind kind;
	size_t start, end;        /* in the text */
	struct shell_word string; /* of TOKEN_STRING and TOKEN_RUN: what it means */
};

struct code_text {
	const struct shell_word *text;
	struct shell_arena *arena;
	struct code_token *tokens; /* in the arena */
	size_t count;
};

/* Fill tokens and count from text and arena. */
void code_tokenize(struct code_text *t);

/* Is token @i a name of the list " a b "? The character @c? Does any name stand there? */
bool code_token_in(const struct code_text *t, size_t i, const char *list);
bool code_is_char(const struct code_text *t, size_t i, char c);
bool code_any_name(const struct code_text *t, const char *list);

#endif
