/*
 * autorun - files that a shell, cron, systemd or git runs by itself.
 *
 * Text written to a shell's start-up file, a crontab, a systemd unit or a git hook counts
 * as run; so does a download into one.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H
#define PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H

#include "blocklist/command/action.h"

/* Add the texts that the command at @at writes to such files, with > or tee. */
void autorun_read(const struct place *at, struct action_list *out);

/* Where the command begins in the crontab line @s; @user: it has a column for the user. */
size_t autorun_cron_skip(const char *s, bool user);

#endif
