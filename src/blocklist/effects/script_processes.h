/*
 * script_processes - calls that signal process 1 or all, and loops that start processes for ever.
 *
 * A fork whose child ends, or is waited for, is no fork bomb. Shell text is for fork_bomb.
 *
 * Private to blocklist/effects/script.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_PROCESSES_H
#define PROCPEN_BLOCKLIST_EFFECTS_SCRIPT_PROCESSES_H

#include "blocklist/effects/script_vars.h"

/* Remember the name at token @i if a loop gives it each process: for NAME in range(1, 65536). */
void script_note_processes(struct script_reader *r, size_t i);

/* Add what kill() at token @i does to process 1 or to all, if it is one. */
void script_read_kill(struct script_reader *r, size_t i);

/* Does the text fork, or start itself, in a loop? */
bool script_is_fork_bomb(struct script_reader *r);

#endif
