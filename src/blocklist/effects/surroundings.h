/*
 * surroundings - effects of a command besides its words.
 *
 * Redirections, variables whose text a program runs (PAGER, GIT_SSH_COMMAND), text written to
 * files that run by themselves (effects/autorun), and a shell whose output goes to the network.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SURROUNDINGS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SURROUNDINGS_H

#include "blocklist/command/action.h"

/* Add these actions of the command at @at. */
void surroundings_read(const struct place *at, struct action_list *out);

/* Add what the @count variables of @assigns make a program run: PAGER='rm -rf ~' man x. */
void surroundings_assigns(const struct shell_assign *assigns, size_t count,
			  struct action_list *out);

#endif
