/*
 * proctab - all runs: start, find by id, limits, retention, shutdown.
 *
 * Owns every struct proc. A record lives until more than `finished_max` records
 * are finished (oldest go first) and never goes while
 * its tree is alive. The log budget is shared by all: the logs of finished runs are given
 * up oldest first; when running runs alone exceed it, their tails stop growing. They
 * are given up too when they hold more descriptors than `spools_max`.
 */
#ifndef PROCPEN_PROC_PROCTAB_H
#define PROCPEN_PROC_PROCTAB_H

#include "os/loop.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "proc/proc.h"

typedef void (*proctab_hook)(void *ctx, struct proc *p, unsigned events);

struct proctab_options {
	int running_max;
	int finished_max;
	uint64_t head_bytes, tail_bytes, budget_bytes;
	int drain_ms;
	int spools_max; /* finished runs that may keep a log: each holds a descriptor */
	bool ahead;             /* keep shims ready for the next runs (os/spawn/pool.h) */
};

struct proctab;

struct proctab *proctab_new(struct ev_loop *loop, struct reaper *reaper, struct confine *confine,
			    const char *instance, const struct proctab_options *options);
void proctab_free(struct proctab *t); /* runs must be over, or the server is exiting */

/* Whom to tell. One hook; set once. */
void proctab_set_hook(struct proctab *t, proctab_hook hook, void *ctx);

/*
 * Start a run. Returns its record (owned by the table) in phase STARTING, or
 * NULL with @e: LimitReached, SpawnFailed, SandboxUnavailable.
 */
struct proc *proctab_start(struct proctab *t, const struct proc_spec *spec, struct err *e);

/* By the id clients use. NULL with ProcessNotFound. */
struct proc *proctab_find(struct proctab *t, const char *id, struct err *e);
struct proc *proctab_get(struct proctab *t, uint64_t seq); /* NULL if gone */

/* Newest first: the next older record than @after (NULL: the newest). */
struct proc *proctab_next(struct proctab *t, const struct proc *after);

/* Runs with any process alive; what running_max limits. */
int proctab_trees(const struct proctab *t);

/* Processes of all runs that may be alive, at least; *@bare: of these, those of runs that had
 * neither a PID namespace nor a control group. */
int proctab_alive(const struct proctab *t, int *bare);

/* Kill everything (reason server_shutdown) and refuse new starts; ends come by the hook. */
void proctab_shutdown(struct proctab *t);

#endif
