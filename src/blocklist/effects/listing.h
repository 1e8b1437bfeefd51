/*
 * listing - commands that list all processes, packages or disks, and commands that end them.
 *
 * ps -e, dpkg -l and lsblk list all processes, packages and disks of the machine; kill,
 * apt purge and wipefs end what they are given. This module classifies the commands;
 * effects/dataflow follows the list from one to the other.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_LISTING_H
#define PROCPEN_BLOCKLIST_EFFECTS_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/script.h"

/* The bit of FLOW_LISTS (command/table) for what the command @words lists, or 0. */
unsigned listing_of(const struct shell_word *words, size_t count);

/* Does the filter @c drop lines, so that its output no longer lists everything? */
bool listing_picks(const struct shell_command *c);

/* Does the filter @c put @text before each line: awk '{print "/"$1}', sed 's|^|/|'? */
bool listing_puts_before(const struct shell_command *c, const char *text, size_t len);

/* The effect that @words have on the items of a list in @flow (FLOW_LISTS), or NULL. */
const char *listing_taken(const struct shell_word *words, size_t count, unsigned flow);

#endif
