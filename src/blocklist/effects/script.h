/*
 * script - harmful calls in the text of another language.
 *
 * For one-liners of Python, Perl, Ruby, JavaScript, PHP, awk and their like. Reads
 * strings, names and brackets, no grammar. Finds calls that run a command, remove, write
 * or open files, change modes, signal processes, fork, or evaluate fetched or decoded
 * text, with their constant arguments; each kind has its file, script_*. Ignores strings
 * that are only compared or printed. Does not see computed values.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_H

#include "blocklist/command/action.h"

/*
 * Add the actions of the program @text, which the command at @at runs with the arguments in
 * @at. @awk: the language is awk, where ">" writes. Exhausts the arena of @out if @text takes
 * too many steps to read.
 */
void script_read(const struct shell_word *text, bool awk, const struct place *at,
		 struct action_list *out);

#endif
