/*
 * effects - which reader knows what a program does.
 *
 * Most programs have none: what the rules of the table say of them is all there is.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_EFFECTS_H
#define PROCPEN_BLOCKLIST_EFFECTS_EFFECTS_H

#include "blocklist/command/action.h"

/*
 * What @cmd does according to its next reader; *@step is 0 at first. False: there is none
 * any more. @out is empty, and holds the actions of that reader only.
 */
bool effects_read(const struct command *cmd, unsigned *step, struct action_list *out);

#endif
