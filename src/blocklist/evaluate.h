/*
 * evaluate - judge each command that a text would run, in turn.
 *
 * The structural layer, and its only loop: parses shell text, takes each command's actions
 * from the readers in blocklist/effects, asks blocklist/rules about what is run and
 * touched, in the working directory that blocklist/directories keeps. What a command runs in
 * turn goes onto a stack of frames on the heap, so nested texts take no C stack. The loop
 * alone knows order, depth and budget. Stops at the first finding. Text that is too deep,
 * too large or not valid shell is a finding too.
 */
#ifndef PROCPEN_BLOCKLIST_EVALUATE_H
#define PROCPEN_BLOCKLIST_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/blocklist.h"
#include "blocklist/directories.h"
#include "blocklist/effects/files.h"
#include "blocklist/rules.h"
#include "shell/arena.h"
#include "shell/parse.h"

struct evaluation_frame;

struct evaluation {
	struct shell_arena arena;
	struct shell_budget budget;
	struct rules rules;
	struct args args; /* scratch of readers */
	struct finding finding;
	const struct blocklist_input *in; /* how it is judged: its texts are given apart */
	const struct shell_word *input; /* standard input of the outermost command, or NULL */
	size_t input_len; /* of it */
	struct directories directories; /* of the command at hand */
	uint32_t reached; /* the last place in the input where a command began */
	bool input_is_text, input_is_code; /* a command reads it as a program */
	bool input_was_read; /* at all; else the verdict is the same for any */
	struct written_files files; /* what the text wrote before */
	const struct shell_assign *variables; /* of the request's environment */
	size_t variable_count;
	struct shell_arena stack;     /* of frames: DEPTH_MAX bounds it, not the budget */
	struct evaluation_frame *top; /* what is judged; NULL: nothing */
};

/*
 * For a verdict on @in, which has @bytes of text: command, standard input and variables. They say
 * how much work it may take: a verdict on more work than that is text.too_complex, never
 * "allowed". @e borrows @in.
 */
void evaluation_init(struct evaluation *e, const struct blocklist_input *in, size_t bytes);
void evaluation_release(struct evaluation *e);

/* Judge shell text. @args: its $0, $1, ...; @input: its standard input, or NULL. True: a finding.
 */
bool evaluate_text(struct evaluation *e, const struct shell_text *text,
		   const struct shell_word *args, size_t arg_count,
		   const struct shell_word *input);

/* Judge a program with its words, run without a shell. */
bool evaluate_program(struct evaluation *e, const struct shell_word *words, size_t count,
		      const struct shell_word *input);

#endif
