/*
 * script_code - calls that run code which the text computes.
 *
 * Not those of constants, which script_run adds, nor methods of other objects that have such a
 * name.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_CODE_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_CODE_H

#include "blocklist/effects/script_text.h"

/* Is the call at token @i one of its own or of a known module: not re.exec(x), model.eval() or
 * $db->exec(x)? */
bool script_is_function(const struct script_text *t, size_t i);

/* Does the call at token @i run the text that it is given: exec(x), eval x, then(eval)? A block is
 * none. */
bool script_runs_code(const struct script_text *t, size_t i);

#endif
