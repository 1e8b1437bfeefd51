/*
 * budget - what one verdict may cost.
 *
 * Time is counted in steps of 3 ns or less, memory in bytes of one arena. Whoever has
 * spent them stops, and the verdict is text.too_complex: nothing is allowed because
 * nobody looked.
 */
#ifndef PROCPEN_BLOCKLIST_BUDGET_H
#define PROCPEN_BLOCKLIST_BUDGET_H

#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

/* For a verdict on @bytes of text: command, standard input and variables. */
void budget_init(struct shell_budget *b, struct shell_arena *arena, size_t bytes);

/* Steps to read @words as options and operands. */
size_t budget_of_words(const struct shell_word *words, size_t count);

#endif
