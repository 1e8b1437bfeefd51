/*
 * script_names - which calls run a command or remove files, by their names in many languages.
 *
 * Follows other names that a text gives them in one step: s = os.system, import rmtree as r. Does
 * not follow functions that it defines, nor names that it computes.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_NAMES_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_NAMES_H

#include "blocklist/effects/script_vars.h"

/* Lists (command/list) of calls that run a command, of those among them whose names mean little
 * else, and of calls that remove a tree or one file. */
extern const char script_runs[];
extern const char script_sure_runs[];
extern const char script_removes_tree[];
extern const char script_removes[];

/* The effect of script_removes. It is told from others by its address: where a text says
 * "recursive", these calls remove trees. */
extern const char script_removed[];

/* Remember the name that gets the call at token @i, if one does. */
void script_note_alias(struct script_reader *r, size_t i);
/* Remember the names of all calls that the text imports under another one. */
void script_note_renames(struct script_reader *r);

/* Is token @i such a name? *@effect: as in r->alias_effects. */
bool script_renamed(const struct script_reader *r, size_t i, const char **effect);

#endif
