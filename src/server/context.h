/*
 * context - what every way of running a command needs: the workspace, the audit log, the
 * loop, the sandbox and the gate. The server speaks a protocol over it; `procpen run` and
 * `procpen doctor` use it for one command, or none.
 */
#ifndef PROCPEN_SERVER_CONTEXT_H
#define PROCPEN_SERVER_CONTEXT_H

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

struct context_options {
	const char *workspace;   /* NULL: found by the rules of docs/protocol.md */
	const char *state_dir;   /* NULL: audit_default_dir() */
	char *const *directories; /* further accessible directories, NULL-terminated, or NULL */
	struct config config;    /* moved into the context; all zero afterwards */
};

struct context {
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
void context_set_up_process(struct context *ctx);

/* Find the place and make everything else; touches no file. 0, or -1; context_close() in any case.
 * @ctx: zeroed, then context_set_up_process(). */
int context_open(struct context *ctx, struct context_options *options, struct err *e);

/* Refuse to run anything without what the options demand of this machine: 0 or -1. After
 * context_open(); before the first command. */
int context_check(struct context *ctx, struct err *e);

/* The gate of this context; @procs and @reqs are borrowed like everything in it. */
struct cap context_cap(const struct context *ctx, struct proctab *procs, struct reqtab *reqs);

/* In two steps, because what uses the loop has to be taken down between them. */
void context_stop(struct context *ctx);  /* reaper and sandbox; the temporary directory goes */
void context_close(struct context *ctx); /* the rest */

#endif
