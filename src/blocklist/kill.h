/*
 * blocklist_kill - whom kill, pkill and killall would signal.
 *
 * Their words do not fit the table: a negative number is a signal in one place
 * and a group of processes in another.
 */
#ifndef PROCPEN_BLOCKLIST_KILL_H
#define PROCPEN_BLOCKLIST_KILL_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/script.h"

/* The effect of the command as rules name it: "kill_all", "kill_init", "kill_pattern"; or NULL. */
const char *blocklist_kill_effect(const struct shell_word *words, size_t count);
const char *blocklist_pkill_effect(const struct shell_word *words, size_t count);

#endif
