/*
 * script_network - names that mean a connection: what fetches text, and shells for another machine.
 *
 * Knows libraries by name. Which text goes where is not followed: names that stand in one text
 * count together.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_NETWORK_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_NETWORK_H

#include "blocklist/effects/script_text.h"

/* Is token @i the name of something that fetches? */
bool script_fetches(const struct script_text *t, size_t i);

/* Does the text open a connection and run a shell on it? */
bool script_is_remote_shell(const struct script_text *t);

#endif
