/*
 * proctab - all runs: start, find by id, limits, retention, shutdown.
 *
 * Owns every struct proc. A record lives while its tree does, and until more than `finished_max`
 * records are finished. All runs share the log budget: beyond it finished runs lose their logs, and
 * if running runs alone exceed it, their tails stop growing.
 * Finished runs also lose their logs when these hold more than `spools_max` descriptors, and when
 * the kernel has killed a process for lack of memory under the limit of the server itself.
 *
 * Of finished runs the oldest goes first: the one that finished first, however long it has run. So
 * clients have time to ask about an end, and nothing is dropped at the moment it ends.
 */
#ifndef PROCPEN_PROC_PROCTAB_H
#define PROCPEN_PROC_PROCTAB_H

#include "os/cgroup/own.h"
#include "os/loop.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "proc/proc.h"

typedef void (*proctab_hook)(void *ctx, struct proc *p, unsigned events);

struct proctab_options {
	int running_max;
	int finished_max;
	uint64_t head_bytes, tail_bytes, budget_bytes;
	size_t stdin_max; /* bytes that may wait for one command */
	int drain_ms;
	int spools_max; /* finished runs that may keep a log, which holds a descriptor */
	/* Borrowed: the server's memory limit, a part of which bounds budget_bytes. Read after the
	 * first start, which opens it. NULL: unknown. */
	const struct cgroup_own *own;
	bool ahead;             /* start shims ahead for the next runs (os/spawn/pool.h) */
};

struct proctab;

struct proctab *proctab_new(struct ev_loop *loop, struct reaper *reaper, struct confine *confine,
			    const char *instance, const struct proctab_options *options);
void proctab_free(struct proctab *t); /* after the last run, or at the server's exit */

/* Call @hook for every event of every run. Set it once. */
void proctab_set_hook(struct proctab *t, proctab_hook hook, void *ctx);

/*
 * Start a run. Returns its record (owned by the table) in phase STARTING, or
 * NULL with @e: LimitReached, SpawnFailed, SandboxUnavailable.
 */
struct proc *proctab_start(struct proctab *t, const struct proc_spec *spec, struct err *e);

/* Make ready what the first run with @usual needs, if there was no run yet. Nothing depends on
 * it. */
void proctab_make_ready(struct proctab *t, const struct confine_request *usual);

/* Start the writer of a log file for a run, to be given to proctab_start(); spec->seq is filled in
 * here. NULL with @e as log_file_new(), or LimitReached if no run may start. */
struct log_file *proctab_open_log(struct proctab *t, const struct log_file_spec *spec,
				  struct err *e);

/* Find a run by its id. NULL with ProcessNotFound. */
struct proc *proctab_find(struct proctab *t, const char *id, struct err *e);
struct proc *proctab_look_up(struct proctab *t, const char *id); /* the same, without an error */
struct proc *proctab_get(struct proctab *t, uint64_t seq); /* NULL if gone */

/* Newest first: the next older record than @after (NULL: the newest). */
struct proc *proctab_next(struct proctab *t, const struct proc *after);

/* Can the record of @p be removed? Returns 0, or -1 with ProcessRunning while a process of the run
 * lives. */
int proctab_check_over(const struct proctab *t, const struct proc *p, struct err *e);

/*
 * Remove the record of @p, with PROC_EVENT_REMOVED, and set *@bytes to the bytes of output that it
 * kept. Returns 0, or -1 as proctab_check_over() does.
 */
int proctab_delete(struct proctab *t, struct proc *p, uint64_t *bytes, struct err *e);

/* What runs use, beside what the kernel has counted for reaped children of the server. */
struct proctab_usage {
	int64_t cpu_us, io_read_bytes, io_write_bytes; /* of live runs, and of idle shims */
	int64_t memory_bytes;                          /* resident now */
	int64_t memory_limit; /* of the server's group; INT64_MAX: none; 0: not looked up yet */
	int starting;                                  /* runs whose command has yet to begin ... */
	int running;                                   /* ... and the others that are not over */
	uint64_t bytes_written, bytes_kept;            /* output of all records */
};

/*
 * Add up. Reads the usage of live runs until @until_us (clock_mono_us()), of one in any case, and
 * takes that of the others as last read; the next call begins with these.
 */
void proctab_usage(struct proctab *t, int64_t until_us, struct proctab_usage *u);

/* The number of runs with a live process, which running_max limits. */
int proctab_trees(const struct proctab *t);

/* A lower bound of the processes of all runs that may be alive; *@bare: how many of them belong to
 * runs with neither a PID namespace nor a control group. */
int proctab_alive(const struct proctab *t, int *bare);

/* Kill everything (reason server_shutdown) and refuse new starts; the hook reports each end. */
void proctab_shutdown(struct proctab *t);

/* No client waits for anything: give up what was kept for the rest of a burst. Else that goes after
 * a few seconds without a start. */
void proctab_rest(struct proctab *t);

/* After proctab_shutdown(), when the time is over: end the runs that wait for their log file
 * alone. */
void proctab_give_up_files(struct proctab *t);

#endif
