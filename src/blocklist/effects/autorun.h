/*
 * autorun - files whose text is run without anybody asking.
 *
 * A shell's start-up files, cron's and systemd's, git's hooks: text that is written there
 * is run, and text from afar that is put there is.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H
#define PROCPEN_BLOCKLIST_EFFECTS_AUTORUN_H

#include "blocklist/command/action.h"

/* What the command at @at writes there, by > and by tee. */
void autorun_read(const struct place *at, struct action_list *out);

/* Where the command begins in a line of a crontab, with a column for the user or not. */
size_t autorun_cron_skip(const char *s, bool user);

#endif
