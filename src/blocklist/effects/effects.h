/*
 * effects - choose the reader for a program.
 *
 * Most programs have none: the rules of the table say everything about them.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_EFFECTS_H
#define PROCPEN_BLOCKLIST_EFFECTS_EFFECTS_H

#include "blocklist/command/action.h"

/*
 * Run the next reader of @cmd; *@step is 0 at first. @out must be empty and gets the
 * actions of this reader only. False: no reader is left.
 */
bool effects_read(const struct command *cmd, unsigned *step, struct action_list *out);

#endif
