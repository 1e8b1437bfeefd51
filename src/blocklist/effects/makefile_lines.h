/*
 * makefile_lines - the lines of a makefile as make takes them.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_LINES_H
#define PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_LINES_H

#include <stddef.h>

#include "blocklist/command/action.h"

/*
 * The lines of @text that are not empty, unless @out's budget ends. A line that a backslash
 * continues holds the next one, too: in a recipe without the TAB at its start.
 * Returns how many; *@lines is an array of them in @out's arena.
 */
size_t makefile_lines(const struct shell_word *text, struct action_list *out,
		      struct shell_word **lines);

#endif
