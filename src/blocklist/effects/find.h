/*
 * find - what find and fd do with what they find.
 *
 * Reads the places, the tests and the actions of their words. What an action gets
 * is a word that stands for it: "PLACE/" and a glob for all that is below a place.
 * Tests that pick files by name, owner and the like make it a word of nothing in
 * particular: a few files are not a whole directory. Only tests that hold for certain
 * count: each arm of an -o has to pick some, and one behind a ! or before a comma picks none.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FIND_H
#define PROCPEN_BLOCKLIST_EFFECTS_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"

/* @words is a command of find, or of fd if @is_fd. Names that it prints are ACTION_PRINT. */
void find_read(const struct shell_word *words, size_t count, bool is_fd, struct action_list *out);

#endif
