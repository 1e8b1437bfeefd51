/*
 * makefile_lines - the lines of a makefile as make takes them.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_LINES_H
#define PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_LINES_H

#include <stddef.h>

#include "blocklist/command/action.h"

/*
 * The lines of @text, which @cmd runs, that are not empty, unless @out's budget ends. Those of
 * recipes begin with a TAB, whatever .RECIPEPREFIX says at their place; where that is not known,
 * each line counts as none, and again as one. A line that a backslash continues holds the next
 * one, too: in a recipe without the TAB at its start.
 * Returns how many; *@lines is an array of them in @out's arena.
 */
size_t makefile_lines(const struct command *cmd, const struct shell_word *text,
		      struct action_list *out, struct shell_word **lines);

#endif
