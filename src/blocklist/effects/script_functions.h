/*
 * script_functions - the first parameter of a function of the text, as far as calls give it
 * constants.
 *
 * Knows def f(x) of Python and Ruby, function f(x) of JavaScript and PHP, and f = (x) =>. Follows
 * no other parameter, and no variable that a call passes on.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_FUNCTIONS_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_FUNCTIONS_H

#include "blocklist/effects/script_vars.h"

/* Remember what calls anywhere in the text give the functions that it defines. */
void script_note_functions(struct script_reader *r);

/* Token @i is read: if it is the parameter of such a function, it is a variable up to the end of
 * the function's body, which is the next line that is indented no deeper. */
void script_enter_function(struct script_reader *r, size_t i);

#endif
