/*
 * blocklist_walk - everything that a command would run, one by one.
 *
 * The structural layer: parses shell text, follows pipes, substitutions and known
 * standard input, opens wrappers (blocklist/wrap), texts of other languages
 * (blocklist/code) and of find, keeps the working directory, and asks
 * blocklist/rules about what remains. Stops at the first finding. Text that
 * is too deep or too large, or no shell text, is a finding of its own.
 */
#ifndef PROCPEN_BLOCKLIST_WALK_H
#define PROCPEN_BLOCKLIST_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/files.h"
#include "blocklist/rules.h"
#include "shell/arena.h"
#include "shell/parse.h"

struct blocklist_walk {
	struct shell_arena arena;
	struct shell_budget budget;
	struct blocklist_rules rules;
	struct blocklist_finding finding;
	bool no_shell; /* outermost text that is none for a shell is not run */
	unsigned depth;
	const struct shell_word *input; /* standard input of the outermost command, or NULL */
	unsigned input_flow; /* where the input of the nested text comes from */
	struct blocklist_files files; /* what the text wrote before */
	const struct shell_assign *variables; /* of the request's environment */
	size_t variable_count;
};

/*
 * For a verdict on @bytes of text: command, standard input and variables. They say how much
 * work it may take: a verdict on more work than that is text.too_complex, never "allowed".
 */
void blocklist_walk_init(struct blocklist_walk *w, size_t bytes);
void blocklist_walk_release(struct blocklist_walk *w);

/* Judge shell text. @args: its $0, $1, ...; @input: its standard input, or NULL. True: a finding.
 */
bool blocklist_walk_text(struct blocklist_walk *w, const struct shell_text *text,
			 const struct shell_word *args, size_t arg_count,
			 const struct shell_word *input);

/* Judge a program with its words, run without a shell. */
bool blocklist_walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct shell_word *input);

#endif
