/*
 * script - harmful calls in the text of another language.
 *
 * For one-liners of Python, Perl, Ruby, JavaScript, PHP, awk and their like. Reads
 * strings, names and brackets, no grammar: calls that run a command, remove, write
 * or open files, change modes, signal processes, fork, or evaluate what they fetch
 * or decode, with the constant strings they are given. Ignores strings that are only
 * compared or printed. Does not see computed values.
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
