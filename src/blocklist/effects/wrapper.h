/*
 * wrapper - programs that run a command given in their words.
 *
 * Opens one level: sudo, env, timeout, xargs, ssh, sh -c, su -c, python -c, ... as the
 * table's wrappers say. What is inside is the words of a command, shell text, text of
 * another language, or what is read from a file or from standard input.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_WRAPPER_H
#define PROCPEN_BLOCKLIST_EFFECTS_WRAPPER_H

#include "blocklist/command/action.h"

void wrapper_read(const struct blocklist_wrapper *wrapper, const struct command *cmd,
		  struct action_list *out);

#endif
