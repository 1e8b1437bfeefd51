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
 * expansion, variables and positional parameters with constant values, output of
 * echo and printf, arithmetic. An unknown part is one character of kind
 * SHELL_UNKNOWN in its place, so that a rule sees the known text around it. Each
 * character keeps its offset in the outermost text, so a finding inside a nested
 * string has its span there.
 *
 * A command is there once for each set of values that its words may have: loops
 * over constants, variables assigned in a branch, calls of functions of the text.
 * The parser opens eval of a known text and aliases, and no other wrapper.
 *
 * Bounded: depth, commands, bytes produced by expansion. `trouble` reports a text
 * beyond a bound, or invalid shell text; such a result is incomplete.
 * shell_script_free() frees all memory of the script.
 */
#ifndef PROCPEN_SHELL_PARSE_H
#define PROCPEN_SHELL_PARSE_H

#include "shell/script.h"

/* The state before the first command of a text. Every member may be zero. */
struct shell_setup {
	const struct shell_assign *variables; /* the environment; later ones win */
	size_t variable_count;
	const char *directory; /* absolute, where it starts: the value of PWD; NULL: unknown */
	const struct shell_word *args; /* $0, $1, ...; count 0: $0 is shell_path, there is no $1 */
	size_t arg_count;
	const char *shell_path; /* value of SHELL; NULL: /bin/sh */
	enum shell_family family; /* the shell that runs the text */
	const struct shell_word *input; /* its known standard input, or NULL */
	/*
	 * The text is a word of a command of @outer (sh -c, a trap, su -c), and sees the variables
	 * at that command, or with @at_end those where its script or subshell ends; with
	 * @exported_only, only those in the command's environment (exported, or assigned before its
	 * name). @outer must outlive the new script.
	 */
	const struct shell_script *outer;
	uint32_t outer_command;
	bool at_end, exported_only;
	bool outermost; /* it runs in the environment that procpen gives, with TMPDIR */
	bool in_code; /* it stands in a text of another language, whose variables it may name */
	/* Called with the start of each command that changes a variable, a function, an alias or
	 * an option. May be NULL. */
	void (*on_change)(void *ctx, uint32_t at);
	void *on_change_ctx;
};

/*
 * Parse @text (any bytes; a NUL is SHELL_SYNTAX) into *@script and charge @budget.
 * @setup may be NULL. *@script must be freed in any case. Linear in the text.
 */
void shell_parse_with(const struct shell_text *text, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script);

/*
 * The same for a text that is a resolved word, like the one after sh -c: its unknown
 * characters stay unknown and keep their names, in quotes too. Takes a level of the
 * depth. If a word with unknown characters does not parse, they may hold what is
 * missing: that is no trouble, and the script has the commands before the place.
 */
void shell_parse_word(const struct shell_word *word, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script);
void shell_script_free(struct shell_script *script);

/* Where a shell that reads @text from a pipe has nothing left to wait for. */
struct shell_lines {
	uint32_t *ends; /* behind the newlines after complete commands, ascending; heap */
	uint32_t *idle; /* for each: where it ends but for comments and empty lines; heap */
	size_t count;
	bool open;      /* what follows the last of them waits for more: it ends inside a quote, a
			 * here-document or a compound command, or in a backslash */
};

/* Read @text up to a syntax error. Runs and resolves nothing. Linear. shell_lines_free() frees. */
void shell_lines_read(const char *text, size_t len, struct shell_lines *lines);
void shell_lines_free(struct shell_lines *lines);

/* Where the last command that is complete ends; 0: there is none. */
static inline size_t shell_lines_end(const struct shell_lines *lines)
{
	return lines->count ? lines->ends[lines->count - 1] : 0;
}

/* The first of @lines that ends behind @at; their count: there is none. */
size_t shell_lines_find(const struct shell_lines *lines, size_t at);

/* shell_lines_end() of @text. *@open: does what follows wait for more? */
size_t shell_complete_end(const char *text, size_t len, bool *open);

#endif
