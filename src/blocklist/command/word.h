/*
 * word - build words from other words.
 *
 * A built word keeps, of each byte, the offset in the outermost text, the kind, and the name
 * if it is unknown. It lives in the arena.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_WORD_H
#define PROCPEN_BLOCKLIST_COMMAND_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "blocklist/command/list.h"
#include "shell/arena.h"
#include "shell/script.h"

static inline bool word_is(const struct shell_word *w, const char *text)
{
	return str_is(w->text.s, text);
}

/* Is it in @list, a string constant (command/list)? */
static inline bool word_in(const struct shell_word *w, const char *list)
{
	return list_has(list, w->text.s, w->text.len);
}

/* Is it the standard input, as a file: /dev/stdin? */
static inline bool word_is_input(const struct shell_word *w)
{
	return word_in(w, " /dev/stdin /dev/fd/0 /proc/self/fd/0 ");
}

/* The same, or the - that many programs take for it? */
static inline bool word_is_stdin(const struct shell_word *w)
{
	return word_in(w, " - ") || word_is_input(w);
}

static inline bool word_begins(const struct shell_word *w, const char *text)
{
	return (*w->text.s == *text || !*text) &&
	       strncmp(w->text.s, text, strlen(text)) == 0;
}

static inline bool word_unknown_at(const struct shell_word *w, size_t i)
{
	return i < w->text.len &&
	       (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS);
}

static inline bool word_has_unknown(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (word_unknown_at(w, i))
			return true;
	return false;
}

/* Is one of words[1..count) in @list? */
bool words_have(const struct shell_word *words, size_t count, const char *list);
/* Does one of words[1..count) begin with a single dash and have one of @letters? */
bool words_have_letter(const struct shell_word *words, size_t count, const char *letters);

/* The string constant @text as a word of @kind, at the place of @near (or NULL: 0). */
struct shell_word word_fixed(const char *text, uint8_t kind, const struct shell_word *near,
			     struct shell_arena *arena);

/* @count words joined by single spaces. */
struct shell_word word_join(const struct shell_word *words, size_t count,
			    struct shell_arena *arena);

/* @count words, at least one, as one word, reported where the first of them is. */
struct shell_word word_concat_all(const struct shell_word *words, size_t count,
				  struct shell_arena *arena);

/* The same of two. */
struct shell_word word_concat(const struct shell_word *a, const struct shell_word *b,
			      struct shell_arena *arena);

/* Shell text for the same words: each in quotes, joined by spaces. */
struct shell_word word_quote(const struct shell_word *words, size_t count,
			     struct shell_budget *budget, struct shell_arena *arena);

/*
 * @word with each @old, of @len bytes, replaced by @value. Takes a step of @budget for each byte
 * of @word and of the result; if that is the end of it, @word itself.
 */
struct shell_word word_replace(const struct shell_word *word, const char *old, size_t len,
			       const struct shell_word *value, struct shell_budget *budget,
			       struct shell_arena *arena);

/* A word that is built piece by piece. All zero: empty. */
struct word_builder {
	char *s;
	uint32_t *at;
	uint8_t *kind;
	size_t len;
	struct shell_unknown *unknowns; /* room for one per byte, made when needed */
	size_t unknown_count;
	size_t room;
	struct shell_arena *arena;
};

/* Add @more, of which nothing is needed afterwards, to @b, which stays in @arena. Takes at least a
 * step of @budget for each byte; without these, or without memory, nothing is added. */
void word_grow(struct word_builder *b, const struct shell_word *more, struct shell_budget *budget,
	       struct shell_arena *arena);

/* What it is now. It stays as it is when @b grows, but for the NUL at its end. */
struct shell_word word_grown(const struct word_builder *b);

/* Bytes [from, to) of @word. */
struct shell_word word_slice(const struct shell_word *word, size_t from, size_t to,
			     struct shell_arena *arena);

/* @place and @name with a slash between them. */
struct shell_word word_path(const struct shell_word *place, const struct shell_word *name,
			    struct shell_arena *arena);

/* PLACE and a glob: everything below @place. Wholly unknown if @place is NULL. */
struct shell_word word_below(const struct shell_word *place, struct shell_arena *arena);

/*
 * Split known text into words, or lines if @lines: all of them, unless @budget ends.
 * Returns how many; *@items is an array of them in @arena.
 */
size_t word_items(const struct shell_word *text, bool lines, struct shell_budget *budget,
		  struct shell_arena *arena, struct shell_word **items);

#endif
