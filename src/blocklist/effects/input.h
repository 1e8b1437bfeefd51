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
 * Set at->input and at->input_flow. @outer: the input of the whole text, or NULL; @outer_flow:
 * its enum blocklist_flow. @flows: those of at->script.
 */
void input_find(struct place *at, const struct dataflow *flows, const struct shell_word *outer,
		unsigned outer_flow, struct shell_budget *budget, struct shell_arena *arena);

/*
 * The command at @at stands in @text, which a shell reads from its standard input: unless at->input
 * is set by now, or comes from elsewhere, set it to what is left of @text behind its line.
 */
void input_rest(struct place *at, const struct shell_word *text, struct shell_arena *arena);

/* The known text of @file, /dev/fd/N, if a redirection of the command at @at opens N; or NULL. */
const struct shell_word *input_descriptor(const struct place *at, const struct shell_word *file);

/*
 * sh, at, python: add that @cmd runs its standard input, with @words as $0, $1, ... @flags:
 * enum action_flag.
 */
void input_run(const struct command *cmd, const struct shell_word *words, size_t count,
	       unsigned flags, struct action_list *out);

#endif
