/*
 * run_members - writes a run as members of a result object, the same in every capability.
 */
#ifndef PROCPEN_CAP_RUN_MEMBERS_H
#define PROCPEN_CAP_RUN_MEMBERS_H

#include "base/jsonw.h"
#include "proc/proc.h"

#define RUN_MEMBERS_COMMAND_MAX 4096     /* bytes of the command shown for one run */
#define RUN_MEMBERS_COMMAND_LIST_MAX 256 /* bytes of the command shown in a list of runs */

/* "process_id", "command" (of @command_max bytes), "state", "reason", "exit_code", "signal". */
void run_members_head(struct jsonw *w, const struct proc *p, size_t command_max);

/* "command": at most @max bytes, cut at a character, with an ellipsis when cut. */
void run_members_command(struct jsonw *w, const struct proc *p, size_t max);

/* "started_at", "ended_at" (null until the state is final), "duration_ms". */
void run_members_times(struct jsonw *w, const struct proc *p);

/* "pid": null when the command has ended. */
void run_members_pid(struct jsonw *w, const struct proc *p);

/* "resource_usage". */
void run_members_usage(struct jsonw *w, const struct usage *u);

/* "alive": the number of processes when @u was read; null when unknown. */
void run_members_alive(struct jsonw *w, const struct usage *u);

/* A run as process.monitor shows it: its head with at most @command_max bytes of the command, its
 * times, @u as usage, pid, working_directory, alive and waits_for_input. */
void run_members_record(struct jsonw *w, struct proc *p, size_t command_max, const struct usage *u);

/* "leftover" (before the end as its usage was read last), "survivors". */
void run_members_tree(struct jsonw *w, const struct proc *p);

#endif
