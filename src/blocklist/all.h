/*
 * blocklist_all - lists of everything there is of a kind, and what takes them.
 *
 * ps -e, dpkg -l, lsblk, /etc/passwd: programs that list all processes, packages,
 * disks, accounts of the machine; and kill, apt purge, wipefs, userdel: programs that
 * end what such a list names, by its items, one after the other. How a list gets from
 * the one to the other is the business of blocklist/flow.
 */
#ifndef PROCPEN_BLOCKLIST_ALL_H
#define PROCPEN_BLOCKLIST_ALL_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/table.h"
#include "shell/script.h"

/* What of enum blocklist_flow (blocklist/table) @c lists, if its program does so. */
unsigned blocklist_all_listed(const struct shell_command *c);

/* Does this filter leave out lines, so that what goes through is no list of all any more? */
bool blocklist_all_picks(const struct shell_command *c);

/* The effect of @words on a list of @flow that is among them, or NULL. */
const char *blocklist_all_taken(const struct shell_word *words, size_t count, unsigned flow);

#endif
