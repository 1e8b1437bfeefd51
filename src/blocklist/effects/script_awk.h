/*
 * script_awk - what only awk has: redirections, pipes, and fields of its input in system().
 *
 * Leaves to script_run what awk calls like other languages do.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_AWK_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_AWK_H

#include "blocklist/effects/script_vars.h"

/* Add what the string or name at token @i does in awk. */
void script_read_awk(struct script_reader *r, size_t i);

#endif
