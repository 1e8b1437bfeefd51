/*
 * tally - how many processes beside the command a kill ended.
 *
 * The shim counts those that it collects. A process that is killed while its parent lives may be
 * collected by that parent, or by the kernel if the parent ignores SIGCHLD. So the shim notes such
 * a process before it kills it; one that it never collects counts too.
 *
 * Where a kill cannot know, because it reached processes that were not noted, the tally is lost. A
 * number that the kernel uses again within one kill may count once: the whole pid space must have
 * been used up meanwhile.
 */
#ifndef PROCPEN_OS_SHIM_TALLY_H
#define PROCPEN_OS_SHIM_TALLY_H

#include <stdbool.h>

#include "os/shim/proto.h"

/* Note @pid, if it lives and was not noted yet. Returns whether it is new. */
bool tally_note(int pid);

/* Note all other processes of a PID namespace whose init we are, in place of those noted before.
 * Beyond the first 128 it only counts them: if fewer are collected than that, the tally is lost.
 * Returns whether @pid is the only one, which is taken to be alive. */
bool tally_note_namespace(int pid);

/* We have collected @pid. @by_signal: it died of one; @counts: it is not the command. */
void tally_collected(int pid, bool by_signal, bool counts);

/* From now on the number is a lower bound. */
void tally_lose(void);

/* Has the kill ended nothing but the command, and is nothing noted that was not collected? */
bool tally_is_none(void);

/* Fill in `live` and `uncounted`. */
void tally_report(struct shim_report *report);

#endif
