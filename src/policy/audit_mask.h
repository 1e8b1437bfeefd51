/*
 * audit_mask - a copy of a command in which the values of secrets are masked.
 *
 * Knows how far a value goes: the shell word, argument, quoted text or line that holds it. Which
 * values are secret is not its business (policy/audit_redact.c, policy/audit_options.h), but for
 * tokens that are known by their beginning: it shows none.
 *
 * Where the quotes before a value (policy/audit_quote.h) and its own bytes say different things
 * about its end, the later one counts: to mask too much is the lesser harm.
 */
#ifndef PROCPEN_POLICY_AUDIT_MASK_H
#define PROCPEN_POLICY_AUDIT_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "policy/audit_quote.h"

/* How far to look for what must be there: looking again and again for what is not is expensive. */
#define AUDIT_MASK_NEAR 4096

/* The least number of characters that must follow a token's prefix. */
#define AUDIT_MASK_TOKEN_MIN 16

#define AUDIT_MASK_COMMAND_ENDS "\n;|&"

struct audit_place {
	const char *p;
	struct audit_quote quote; /* open there */
};

/* A text for the shell, and behind it arguments, each behind a NUL. */
struct audit_mask {
	const char *text, *end;
	struct audit_place at; /* what is before it is in @out */
	struct buf out;
};

/* Is @c of a name, of an option too? */
bool audit_mask_is_name_char(char c);

/* Bytes of the name at @p. */
size_t audit_mask_name_len(const char *p);

/* Bytes between two words: blanks, backslashes that continue a line, the end of an argument. */
size_t audit_mask_gap_len(const struct audit_mask *m, const char *p);

/* The length of the prefix of a token that is the @len bytes at @p; 0: they are none. */
size_t audit_mask_token_prefix(const char *p, size_t len);

/* The start of the value behind an option without "=" that ends at @p, or NULL. What <<< feeds it
 * is its value; another redirection is not. */
const char *audit_mask_next_word(const struct audit_mask *m, const char *p);

/* Bytes of a value that is not quoted; a backslash keeps blanks and separators in it. */
size_t audit_mask_plain_len(const char *p);

/* Does a word or argument begin at @p, the quotes before it not counted? */
bool audit_mask_begins_word(const struct audit_mask *m, const char *p);

/* The place @p, which is not before m->at. */
struct audit_place audit_mask_place(const struct audit_mask *m, const char *p);

/* Go to the first of @ends before @limit that is not quoted at @at, or to @limit or the end. */
void audit_mask_skip_to(struct audit_place *at, const char *ends, const char *limit);

/* Write what is before @from, and a mask for what is from there to @to, if anything; go there. */
void audit_mask_hide(struct audit_mask *m, const char *from, const char *to);

/*
 * Mask the value at @value, and go behind it. @whole: it is of an option that begins a word, so all
 * that is quoted with it is. @data: it may be of JSON or of a program, where "x", is not one word.
 * False if there is none; then nothing is written.
 */
bool audit_mask_value(struct audit_mask *m, const char *value, bool whole, bool data);

/* The same for the password of the name and password at @value that @separator parts. */
bool audit_mask_pair(struct audit_mask *m, const char *value, char separator, bool whole);

/* Mask the block of lines that @value, behind a name in YAML, announces: "|" or ">", then lines
 * that are indented by more than @indent, as the name is; and a comment in the first line. False if
 * it is none; then nothing is written. */
bool audit_mask_block(struct audit_mask *m, const char *value, size_t indent);

/* Mask what is at @value up to the end of what it is quoted in, or of the line. */
void audit_mask_line(struct audit_mask *m, const char *value);

#endif
