/*
 * wrapper - programs that run a command given in their words.
 *
 * Opens one level of sudo, env, timeout, xargs, ssh, sh -c, su -c, python -c, ... as the
 * table's wrappers say. Inside is a command's words, shell text, text of another
 * language, a file, or standard input.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_WRAPPER_H
#define PROCPEN_BLOCKLIST_EFFECTS_WRAPPER_H

#include "blocklist/command/action.h"

void wrapper_read(const struct blocklist_wrapper *wrapper, const struct command *cmd,
		  struct action_list *out);

#endif
