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
#define SCRIPT_TOKENS_MAX 20000

enum script_token_kind { TOKEN_NAME, TOKEN_STRING, TOKEN_RUN, TOKEN_OTHER };

struct script_token {
	enum script_token_kind kind;
	size_t start, end;        /* in the text */
	struct shell_word string; /* of TOKEN_STRING and TOKEN_RUN: what it means */
};

struct script_text {
	const struct shell_word *text;
	struct shell_arena *arena;
	struct script_token *tokens; /* in the arena */
	size_t count;
};

/* Fill tokens and count from text and arena. */
void script_tokenize(struct script_text *t);

/* Is token @i a name of the list " a b "? The character @c? Does any name stand there? */
bool script_token_in(const struct script_text *t, size_t i, const char *list);
bool script_is_char(const struct script_text *t, size_t i, char c);
bool script_any_name(const struct script_text *t, const char *list);

#endif
