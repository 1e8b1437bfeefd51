/*
 * blocklist_code - what the text of another language would obviously do.
 *
 * For one-liners of Python, Perl, Ruby, JavaScript, PHP, awk and their like. Reads
 * strings, names and brackets, no grammar: calls that run a command, remove, write
 * or open files, change modes, signal processes, fork, or evaluate what they fetch
 * or decode, with the constant strings they are given. A string that is only
 * compared or printed is not looked at. What is computed is not seen.
 */
#ifndef PROCPEN_BLOCKLIST_CODE_H
#define PROCPEN_BLOCKLIST_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

enum blocklist_code_kind {
	CODE_SHELL,  /* words[0] is shell text that is run */
	CODE_WORDS,  /* a program is run with these words */
	CODE_EFFECT, /* @effect is done to words[0] */
	CODE_NESTED, /* words[0] is text of the same language that is run */
	CODE_INPUT,  /* its standard input is run as shell text, behind words[0] if there is one */
	CODE_EACH,   /* @effect is done to each of its arguments, or names on its input */
	CODE_FOUND,  /* @effect is there, whatever it is done to */
};

struct blocklist_code_call {
	enum blocklist_code_kind kind;
	const char *effect;
	struct shell_word *words;
	size_t count;
};

struct blocklist_code_calls {
	struct blocklist_code_call *list;
	size_t count, room;
	size_t steps; /* tokens looked at to read it, again and again */
};

/*
 * Read @text. @awk: the language is awk, where ">" writes. The result lives in @arena,
 * which is exhausted where the text is too tangled to be read in bounded time.
 */
struct blocklist_code_calls blocklist_code_read(const struct shell_word *text, bool awk,
						struct shell_arena *arena);

#endif
