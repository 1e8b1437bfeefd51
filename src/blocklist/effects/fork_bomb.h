/*
 * fork_bomb - scripts that start processes without end.
 *
 * Finds functions that start themselves in new processes, directly or through one other
 * function, and endless loops that start processes and never wait. A call that is
 * conditional, or waits for its own child, is no fork bomb.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FORK_BOMB_H
#define PROCPEN_BLOCKLIST_EFFECTS_FORK_BOMB_H

#include <stdbool.h>
#include <stdint.h>

#include "shell/script.h"

/* True if @s is or holds one; [*start, *end) is its place in the outermost text. */
bool fork_bomb_find(const struct shell_script *s, uint32_t *start, uint32_t *end);

#endif
