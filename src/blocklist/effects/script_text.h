/*
 * script_text - the text of another language as tokens.
 *
 * Tokens are strings with their escapes resolved, names and numbers, and single
 * characters; comments are dropped. That is as much of Python, Perl, Ruby, JavaScript,
 * PHP and awk as effects/script needs; no grammar of any.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_TEXT_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/list.h"
#include "shell/arena.h"
#include "shell/script.h"

/* A text with more tokens exhausts the arena. */
#define SCRIPT_TOKENS_MAX 20000

enum script_token_kind { TOKEN_NAME, TOKEN_STRING, TOKEN_RUN, TOKEN_OTHER };

struct script_token {
	enum script_token_kind kind;
	uint32_t hash;            /* of TOKEN_NAME: list_hash() */
	size_t start, end;        /* in the text */
	struct shell_word string; /* value of TOKEN_STRING, or of TOKEN_RUN: `command` */
};

struct script_text {
	const struct shell_word *text;
	struct shell_arena *arena;
	struct script_token *tokens; /* in the arena */
	size_t count;
};

/* Set t->tokens and t->count from t->text and t->arena. */
void script_tokenize(struct script_text *t);

/* Places outside of the text, as i - 1 of the first token, have nothing of what these ask for. */

/* The string at token @i; NULL: there is none. */
const struct shell_word *script_string(const struct script_text *t, size_t i);
/* Is token @i a string, or a name, in @list (command/list)? */
bool script_string_in(const struct script_text *t, size_t i, const char *list);
static inline bool script_token_in(const struct script_text *t, size_t i, const char *list)
{
	const struct script_token *token = i < t->count ? &t->tokens[i] : NULL;

	return token && token->kind == TOKEN_NAME &&
	       list_has_hashed(list, t->text->text.s + token->start, token->end - token->start,
			       token->hash);
}

/* Is token @i the character @c? */
static inline bool script_is_char(const struct script_text *t, size_t i, char c)
{
	return i < t->count && t->tokens[i].kind == TOKEN_OTHER &&
	       t->text->text.s[t->tokens[i].start] == c;
}

/* Is any token a name in @list? */
bool script_any_name(const struct script_text *t, const char *list);
/* Is @is true of any token? */
bool script_any(const struct script_text *t, bool (*is)(const struct script_text *t, size_t i));
/* Are tokens @i and @k spelled alike? */
bool script_same_text(const struct script_text *t, size_t i, size_t k);
/* Is there a new line between token @i and the one before it, or none before it? */
bool script_new_line(const struct script_text *t, size_t i);
/* Does token @i load a module in @list: require("net"), import("net"), import n from "net"? */
bool script_is_module(const struct script_text *t, size_t i, const char *list);
/* Is token @i the join or resolve of a module for paths, under any name: os.path.join(a, b),
 * p.join(a, b)? That of an array or a text gets one argument, if any. */
bool script_joins_path(const struct script_text *t, size_t i);
/* Is there one that goes on nothing: not behind = or (, nor with a dot? */
bool script_new_statement(const struct script_text *t, size_t i);
/* The end of the statement that token @i is in: a ;, or a new line outside of brackets that goes on
 * nothing. */
size_t script_statement_end(const struct script_text *t, size_t i);
/* Where the call of token @i is in the outermost text: from its name, os.system, to the end of
 * its statement. Where that is not known, as of a variable of the request: all of the text. */
void script_statement_place(const struct script_text *t, size_t i, uint32_t *start,
			    uint32_t *end);

#endif
