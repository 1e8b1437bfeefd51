/*
 * script_files - calls that remove, move, write or open files, or change their modes.
 *
 * Adds their constant arguments, and where a call has none, what a loop of the text lists: glob(),
 * os.walk(), the arguments of the program, names on its standard input. Does not see which of them
 * the call gets.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_FILES_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_FILES_H

#include "blocklist/effects/script_vars.h"

/* Do @effect to the arguments behind token @i, the name of a call. */
void script_read_remove(struct script_reader *r, size_t i, const char *effect);

/* Add what the call at token @i does to files, if it is such a call. */
void script_read_files(struct script_reader *r, size_t i);

#endif
