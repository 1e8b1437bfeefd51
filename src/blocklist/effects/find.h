/*
 * find - the actions of find and fd.
 *
 * Reads start directories, tests and actions. An action's {} becomes a word: "DIR/" and a
 * glob for everything below DIR, or an unknown word if a test selects by name, owner and
 * the like, since a few files are not a whole directory. A test counts only where it must
 * hold: each arm of -o needs one; tests after ! or before a comma do not count.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FIND_H
#define PROCPEN_BLOCKLIST_EFFECTS_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"

/*
 * Add the actions of the command @words of find, or of fd if @is_fd. Each name that it prints
 * is an ACTION_PRINT.
 */
void find_read(const struct shell_word *words, size_t count, bool is_fd, struct action_list *out);

#endif
