/*
 * engine - what every way of running a command needs: the place, the record, the
 * loop, the sandbox and the gate. The server speaks a protocol over it; `procpen run` and
 * `procpen doctor` use it for one command, or none.
 */
#ifndef PROCPEN_SERVER_ENGINE_H
#define PROCPEN_SERVER_ENGINE_H

#include <sys/resource.h>

#include "base/err.h"
#include "base/ids.h"
#include "cap/cap.h"
#include "os/loop.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "policy/audit.h"
#include "policy/config.h"
#include "policy/scope.h"

struct engine_options {
	const char *workspace;   /* NULL: found by the rules of docs/protocol.md */
	const char *state_dir;   /* NULL: audit_default_dir() */
	char *const *directories; /* further accessible directories, NULL-terminated, or NULL */
	struct config config;    /* moved into the engine; all zero afterwards */
};

struct engine {
	struct config config;
	char instance[IDS_INSTANCE_SIZE];
	struct rlimit nofile; /* as it was before we raised it */
	struct scope *scope;
	char *state_dir;
	struct audit *audit;
	struct ev_loop *loop;
	struct reaper *reaper;
	struct confine *confine;
};

/* What this process itself is: signals that must not end it, mask, limits, sub-reaper. Before
 * anything is opened. */
void engine_set_up_process(struct engine *n);

/* Find the place and make everything else; touches no file. 0, or -1; engine_close() in any case.
 * @n: zeroed, then engine_set_up_process(). */
int engine_open(struct engine *n, struct engine_options *options, struct err *e);

/* Refuse to run anything without what the options demand of this machine: 0 or -1. After
 * engine_open(); before the first command. */
int engine_check(struct engine *n, struct err *e);

/* The gate of this engine; @procs and @reqs are borrowed like everything in it. */
struct cap engine_cap(const struct engine *n, struct proctab *procs, struct reqtab *reqs);

/* In two steps, because what uses the loop has to be taken down between them. */
void engine_stop(struct engine *n);  /* reaper and sandbox; the temporary directory goes */
void engine_close(struct engine *n); /* the rest */

#endif
