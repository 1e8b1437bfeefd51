/*
 * input - known text on a command's standard input, and who runs it.
 *
 * Sources: here-documents, echo into a pipe or >(...), and descriptors opened earlier in
 * the text. Reads nothing from the machine.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_INPUT_H
#define PROCPEN_BLOCKLIST_EFFECTS_INPUT_H

#include "blocklist/command/action.h"
#include "blocklist/effects/dataflow.h"

/* Longer input is not handed to the parser, which would read it for every command. */
#define INPUT_PARSED_MAX (32u << 10)

/*
 * Fill the input of @at. @outer: the input of the whole text, or NULL; @outer_flow: what that
 * is. @flows: those of @at, which keep what goes into a >(...).
 */
void input_find(struct place *at, struct dataflow *flows, const struct shell_word *outer,
		unsigned outer_flow, struct shell_arena *arena);

/* /dev/fd/3: what is known of a descriptor that the command at @at is given; or NULL. */
const struct shell_word *input_descriptor(const struct place *at, const struct shell_word *file);

/* sh, at, python: @cmd runs its standard input. @words: its $0, $1, ... */
void input_run(const struct command *cmd, const struct shell_word *words, size_t count,
	       unsigned flags, struct action_list *out);

#endif
