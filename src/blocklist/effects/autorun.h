/*
 * autorun - files that a shell, cron, systemd or git runs by itself.
 *
 * Text written to a shell's start-up file, a crontab, a systemd unit or a git hook counts
 * as run, and so does text from the network that is stored there.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H
#define PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H

#include "blocklist/command/action.h"

/* Add what the command at @at writes to such files, by > and by tee. */
void autorun_read(const struct place *at, struct action_list *out);

/* Where the command begins in a line of a crontab, with a column for the user or not. */
size_t autorun_cron_skip(const char *s, bool user);

#endif
