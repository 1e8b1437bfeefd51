/*
 * input - known text on a command's standard input.
 *
 * Sources: here-documents, echo into a pipe or >(...), and descriptors opened earlier in
 * the text. Reads nothing from the machine.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_INPUT_H
#define PROCPEN_BLOCKLIST_EFFECTS_INPUT_H

#include "blocklist/command/action.h"
#include "blocklist/effects/dataflow.h"

/* Longer input of the whole text is not parsed again for each command that may read it. */
#define INPUT_PARSED_MAX (32u << 10)

/*
 * Set at->input and at->input_flow, which is that of the whole text until then. @outer: the input
 * of the whole text, or NULL.
 */
void input_find(struct place *at, const struct shell_word *outer, struct shell_budget *budget,
		struct shell_arena *arena);

/*
 * The command at @at stands in @text, which a shell reads from its standard input: unless at->input
 * is set by now, or comes from elsewhere, set it to what is left of @text behind its line.
 */
void input_rest(struct place *at, const struct shell_word *text, struct shell_arena *arena);

/*
 * The redirection that opened N of @file, /dev/fd/N, for the command at @at: its own, or one of an
 * exec before it or a group around it. NULL: N is the standard input, or what opened it is not
 * known. *end: behind N in @file; 0: that is another path.
 */
const struct shell_redirect *input_opened(const struct place *at, const struct shell_word *file,
					  size_t *end);

/* The known text that @r lets a command read, or NULL. */
const struct shell_word *input_text(const struct shell_redirect *r);

/* The standard input that the command at @at has but for redirections of its own, if it is known;
 * @outer: that of the whole text. */
const struct shell_word *input_standard(const struct place *at, const struct shell_word *outer);

/*
 * sh, at, python: add that @cmd runs its standard input, with @words as $0, $1, ... @flags:
 * enum action_flag.
 */
void input_run(const struct command *cmd, const struct shell_word *words, size_t count,
	       unsigned flags, struct action_list *out);

#endif
