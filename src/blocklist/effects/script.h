/*
 * script - what the text of another language would obviously do.
 *
 * For one-liners of Python, Perl, Ruby, JavaScript, PHP, awk and their like. Reads
 * strings, names and brackets, no grammar: calls that run a command, remove, write
 * or open files, change modes, signal processes, fork, or evaluate what they fetch
 * or decode, with the constant strings they are given. A string that is only
 * compared or printed is not looked at. What is computed is not seen.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_H

#include "blocklist/command/action.h"

/*
 * Read @text, which a command at @at runs with the place's arguments. @awk: the language is
 * awk, where ">" writes. The arena is exhausted where the text is too tangled to be read in
 * bounded time.
 */
void script_read(const struct shell_word *text, bool awk, const struct place *at,
		 struct action_list *out);

#endif
