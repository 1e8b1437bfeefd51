/*
 * fork_bomb - scripts that start processes without end.
 *
 * Functions that start themselves in new processes, alone or by way of another one,
 * and endless loops that start something and wait for nothing. What ends by itself,
 * because a call is behind a condition or waits for its own, is none.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FORK_BOMB_H
#define PROCPEN_BLOCKLIST_EFFECTS_FORK_BOMB_H

#include <stdbool.h>
#include <stdint.h>

#include "shell/script.h"

/* Is there one in @s? Then it stands at [*start, *end) of the outermost text. */
bool fork_bomb_find(const struct shell_script *s, uint32_t *start, uint32_t *end);

#endif
