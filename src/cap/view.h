/*
 * view - a run as the members of a result object, the same in every capability.
 */
#ifndef PROCPEN_CAP_VIEW_H
#define PROCPEN_CAP_VIEW_H

#include "base/jsonw.h"
#include "proc/proc.h"

#define VIEW_COMMAND_LIST_MAX 256 /* bytes of the command shown in a list of runs */

/* "process_id", "command", "state", "reason", "exit_code" and "signal". */
void view_head(struct jsonw *w, const struct proc *p);

/* "command": at most @max bytes, cut at a character, with an ellipsis when cut. */
void view_command(struct jsonw *w, const struct proc *p, size_t max);

/* "started_at", "ended_at" (null until the state is final), "duration_ms". */
void view_times(struct jsonw *w, const struct proc *p);

/* "pid": null when over. */
void view_pid(struct jsonw *w, const struct proc *p);

/* "resource_usage". */
void view_usage(struct jsonw *w, const struct usage *u);

/* "alive": processes now, as @u was looked at; null when that is unknown. */
void view_alive(struct jsonw *w, const struct usage *u);

/* "leftover", "survivors". */
void view_tree(struct jsonw *w, const struct proc *p);

#endif
