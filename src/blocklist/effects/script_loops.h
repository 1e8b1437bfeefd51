/*
 * script_loops - the loops of a text in another language over what it lists.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_LOOPS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/effects/script_vars.h"

/* Has the loop that gives the name at token @i its items a condition by which it may leave out
 * some? */
bool script_loop_picks(struct script_reader *r, size_t i);
/* The same of the loop that goes over what the call at token @i lists. False: there is none. */
bool script_loop_over_picks(struct script_reader *r, size_t i);

/* Behind the loop that token @i is in the head of; behind a body without lines of its own that
 * begins at token @body. */
size_t script_loop_end(struct script_reader *r, size_t i);
size_t script_loop_body_end(struct script_reader *r, size_t body);

/* How deep the line of token @i is indented; SIZE_MAX: its start is too far. */
size_t script_indent(const struct script_text *t, size_t i);

#endif
