/*
 * shell_parse - shell text to simple commands with resolved words.
 *
 * Reads what dash reads, with bash's common extensions, and never runs or looks
 * up anything: no file, no environment, no PATH. The result is flat: every simple
 * command of the text in the order of the text, wherever it stands (lists,
 * pipelines, groups, functions, loops, substitutions inside words, ...), each with
 * its words, assignments and redirections. Where dash and bash read a text
 * differently, the commands of both readings are there.
 *
 * A word is resolved as far as constants go: quotes, $'...', brace and tilde
 * expansion, variables and positional parameters that were given a constant
 * before, output of echo and printf, arithmetic. What cannot be known is one
 * character of kind SHELL_UNKNOWN at its place, so that a rule sees what is known
 * around it. Each character keeps the offset in the text it came from, so a
 * finding inside a nested string still has its span in the outermost text.
 *
 * A command is there once for each set of values that its words may have: loops
 * over constants, variables assigned in a branch, calls of functions of the text.
 * eval of a known text and aliases are opened here; every other wrapper is not.
 *
 * Bounded: depth, commands, bytes produced by expansion. A text beyond a bound, or
 * one that is no shell, is told by `trouble` and is never half a result.
 * All memory belongs to the script and goes with shell_script_free().
 */
#ifndef PROCPEN_SHELL_PARSE_H
#define PROCPEN_SHELL_PARSE_H

#include "shell/script.h"

/* What holds before the first command of a text. All of it may be zero. */
struct shell_setup {
	const struct shell_assign *variables; /* given by the environment, later ones win */
	size_t variable_count;
	const struct shell_word *args; /* $0, $1, ...; count 0: $0 is shell_path, and no others */
	size_t arg_count;
	const char *shell_path; /* what SHELL is; NULL: /bin/sh */
	enum shell_family family; /* what reads it, and sets its own variables */
	const struct shell_word *input; /* what is known of its standard input, or NULL */
	/*
	 * The text is one of @outer's commands' words (sh -c, a trap, su -c): what was assigned
	 * before that command holds; with @exported_only, only what the command's environment
	 * gets (exported, or assigned before its name). @outer must outlive the new script.
	 */
	const struct shell_script *outer;
	uint32_t outer_command;
	bool exported_only;
};

/*
 * Parse @text (any bytes; a NUL is SHELL_SYNTAX) into *@script, within @budget,
 * which is reduced. @setup may be NULL. Always leaves a script that must be freed.
 * Linear in the text.
 */
void shell_parse_with(const struct shell_text *text, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script);

/*
 * The same for a text that is a resolved word, such as the one behind sh -c: its
 * unknown characters stay unknown ones with their names, in quotes too. Takes a
 * level of the depth. If it does not parse, what is not known may be what it
 * lacks: that is no trouble, and the commands before the place are there.
 */
void shell_parse_word(const struct shell_word *word, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script);
void shell_script_free(struct shell_script *script);

#endif
