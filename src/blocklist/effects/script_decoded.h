/*
 * script_decoded - decoded text that is run: os.system(b64decode("...")).
 *
 * Follows it through variables, one set from the other, by their names alone: no scopes, no
 * members. Does not decode it.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_DECODED_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_DECODED_H

#include "blocklist/effects/script_vars.h"

/* Does the text run what it decodes? @runs_code: it runs code that it computes, which decoded text
 * anywhere in it may be. */
bool script_runs_decoded(struct script_reader *r, bool runs_code);

#endif
