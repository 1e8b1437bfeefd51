/*
 * shell_wrap - programs that run a command given in their words.
 *
 * Opens one level: sudo, env, timeout, xargs, ssh, sh -c, su -c, python -c, ... as
 * the table's wrappers say, and tells what is inside: the words of a command, shell
 * text, the text of another language, or that it is read from standard input.
 * What is inside is not judged here, and nothing is looked up.
 */
#ifndef PROCPEN_BLOCKLIST_WRAP_H
#define PROCPEN_BLOCKLIST_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/args.h"
#include "blocklist/table.h"
#include "shell/arena.h"
#include "shell/script.h"

enum shell_wrap_kind {
	WRAP_NOTHING, /* no command is in it */
	WRAP_WORDS,   /* a command: @words */
	WRAP_TEXT,    /* shell text: @texts; @words are its $0, $1, ... */
	WRAP_STDIN,   /* a shell that reads its text from standard input; @words its $0, $1 ... */
	WRAP_FILE,    /* a shell that reads the file words[0] */
	WRAP_CODE,    /* text of another language: @texts */
	WRAP_CODE_STDIN,
	WRAP_CODE_FILE,
};

struct shell_wrap {
	enum shell_wrap_kind kind;
	const struct shell_word *words;
	size_t count;
	const struct shell_word *texts;
	size_t text_count;
	const struct shell_word *also; /* the same words as a command, for a text made of words */
	size_t also_count;
	const struct shell_assign *assigns; /* of env and sudo */
	size_t assign_count;
	const struct shell_word *directory; /* it runs there, or NULL */
	size_t directory_skip;
	bool fed;                 /* words from standard input are added (xargs) */
	bool whole;               /* not split at blanks and lines */
	bool lines;               /* split at lines only */
	const char *placeholder;  /* where: in place of this text; NULL: behind the last word */
	size_t placeholder_len;
};

/* Open @words, whose program is @wrapper. What is built lives in @arena. @args is scratch. */
void shell_wrap_open(const struct blocklist_wrapper *wrapper, const struct shell_word *words,
		     size_t count, struct blocklist_args *args, struct shell_arena *arena,
		     struct shell_wrap *out);

/* @count words joined by single spaces, as one word that remembers where each byte is from. */
struct shell_word shell_wrap_join(const struct shell_word *words, size_t count,
				  struct shell_arena *arena);

/* The same, but each word in quotes, so that it is shell text for the same words. */
struct shell_word shell_wrap_quote(const struct shell_word *words, size_t count,
				   struct shell_arena *arena);

/* A longer text is not put together. */
#define SHELL_WRAP_TEXT_MAX (1u << 20)

/* A copy of @word in which each @old is replaced by @value. If it would be too long, @word
 * itself, and @arena is exhausted. */
struct shell_word shell_wrap_replace(const struct shell_word *word, const char *old, size_t len,
				     const struct shell_word *value, struct shell_arena *arena);

/* Bytes [from, to) of @word as a word. */
struct shell_word shell_wrap_slice(const struct shell_word *word, size_t from, size_t to,
				   struct shell_arena *arena);

#endif
