/*
 * budget - bounds on the work of one verdict.
 *
 * Counts time in steps of some ns, and memory in bytes of one arena. When either is
 * spent, reading stops and the verdict is text.too_complex: no command is allowed
 * unjudged.
 */
#ifndef PROCPEN_BLOCKLIST_BUDGET_H
#define PROCPEN_BLOCKLIST_BUDGET_H

#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

/* Set the limits for a verdict on @bytes of text: command, standard input and variables. */
void budget_init(struct shell_budget *b, struct shell_arena *arena, size_t bytes);

/* Steps to read @words as options and operands. */
size_t budget_of_words(const struct shell_word *words, size_t count);

#endif
