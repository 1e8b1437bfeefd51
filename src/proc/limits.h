/*
 * limits - the limits in force for a run, and the proof that one of them struck.
 *
 * Three kinds of proof: the shim's report (it samples where no control group
 * counts), the group's counter of out-of-memory kills, and the wait status. A
 * SIGKILL alone proves nothing. The first limit that struck is kept.
 *
 * If the kernel kills one process for the memory limit, the whole run ends, even if
 * the command could go on: half a run is not a result. Limits that make a call fail
 * (processes of a group, open files) are left to the command to handle.
 *
 * Plain data, and one watcher for as long as the run lives.
 */
#ifndef PROCPEN_PROC_LIMITS_H
#define PROCPEN_PROC_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "os/loop.h"
#include "os/sandbox/confine.h"
#include "proc/names.h"
#include "proc/usage.h"

/* What enforces a limit. */
enum limits_holder {
	LIMITS_NONE,    /* there is no limit */
	LIMITS_GROUP,   /* a control group */
	LIMITS_RLIMIT,  /* the kernel, by an rlimit */
	LIMITS_SAMPLED, /* the shim, by sampling */
};

/* The limits as they were set; they do not change. */
struct limits {
	int64_t memory_bytes; /* 0: none, for all of these */
	int64_t tasks;
	int64_t cpu_seconds;  /* of one process, RLIMIT_CPU, the hard one; -1: none */
	int64_t cpu_soft;     /* the soft one; -1: none */
	int64_t file_bytes;   /* RLIMIT_FSIZE, the soft one; -1: the server's own */
	enum limits_holder memory, cpu, processes;
};

/* What became of them. */
struct limits_proof {
	enum proc_reason struck; /* the limit that is proven to have struck; RUNNING: none */
	bool ending;             /* the run is being killed: forks refused now are not counted */
	int64_t seen;            /* bytes or processes when it struck; -1: unknown */
	int64_t oom_kills;       /* > 0: the kernel killed processes for the group's memory */
	int64_t tasks_refused;   /* forks that the group refused */
};

/* Set @l to the limits that @request asks for, as @run enforces them. */
void limits_init(struct limits *l, const struct confine_request *request,
		 const struct confine_run *run);

/* No limit has struck. */
void limits_proof_init(struct limits_proof *proof);

/* Record a SHIM_LIMITED report: the shim is killing the run for a limit. */
void limits_reported(struct limits_proof *proof, const struct shim_report *report);

/* Read the counters of @group (may be NULL). True if the kernel killed for the memory limit. */
bool limits_check_group(struct limits_proof *proof, struct cgroup *group);

/* The soft RLIMIT_FSIZE that a command starts with; -1: none. */
int64_t limits_file_bytes(const struct limits *l);

/*
 * The limit that a wait status proves: by SIGXCPU, by SIGXFSZ of a command that started with such a
 * limit, or by SIGKILL of a command that has
 * used all the time of its RLIMIT_CPU (the kernel's action at the hard limit). RUNNING: none.
 */
enum proc_reason limits_of_status(const struct limits *l, int wait_status,
				  const struct usage *usage);

/* Call @fn for each limit in force: "memory_limit:cgroup", "cpu_limit:duty_cycle", ... */
void limits_each(const struct limits *l, void (*fn)(void *ctx, const char *text), void *ctx);

/* Call before a kill, which makes all forks in @group (may be NULL) fail. */
void limits_ending(struct limits_proof *proof, struct cgroup *group);

/* Overwrite the figures in @u that @group (may be NULL) counts. */
void limits_group_usage(const struct cgroup *group, struct usage *u);

/* Read how many forks @group (may be NULL) has refused, until limits_ending(). */
void limits_count_refused(struct limits_proof *proof, struct cgroup *group);

/* Calls on_struck when the kernel kills a process of a group for its memory limit. */
struct limits_watch {
	ev_io oom;      /* fd -1: nothing to watch */
	ev_timer again; /* retry: `oom` fires before the kill is counted */
	int retries;
	struct limits_proof *proof;
	struct cgroup *group;
	void (*on_struck)(void *ctx); /* may stop the watch */
	void *ctx;
};

/* @group may be NULL. Borrows everything until limits_watch_stop(), which may be called twice, and
 * before the start if oom.fd is -1. */
void limits_watch_start(struct limits_watch *w, struct ev_loop *loop, struct limits_proof *proof,
			struct cgroup *group, void (*on_struck)(void *ctx), void *ctx);
void limits_watch_stop(struct limits_watch *w, struct ev_loop *loop);

#endif
