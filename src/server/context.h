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
#include "os/cgroup/own.h"
#include "os/loop.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "policy/audit.h"
#include "policy/config.h"
#include "policy/config_load.h"
#include "policy/project.h"
#include "policy/rulebook.h"
#include "policy/run_shell.h"
#include "policy/scope.h"

struct context_options {
	const char *workspace;   /* NULL: by the rules of docs/protocol.md */
	const char *state_dir;   /* NULL: audit_default_dir() */
	char *const *directories; /* further accessible directories, NULL-terminated, or NULL */
	const char *config_file; /* of --config, or NULL */
	struct config config;    /* of the command line; moved into the context, then all zero */
	bool may_lack_workspace; /* none found is not an error, but context.no_workspace */
	bool only_judges; /* nor is one in which no server would start: then there is none */
};

struct context {
	struct config config;
	bool configured; /* it was read */
	struct config_files config_files;
	struct project project;
	struct rulebook book;
	char instance[IDS_INSTANCE_SIZE];
	struct rlimit nofile; /* as it was before we raised it */
	struct scope *scope;
	char *const *directories;  /* borrowed from the options */
	struct err no_workspace;   /* why no command could start; ERR_NONE: it could */
	char *git_common_dir; /* worktree_common_dir(), or NULL */
	struct git_config *git_config;
	struct run_shell shell;
	char **env_base; /* env_base_new() */
	char *state_dir;
	struct audit_sink *sink; /* until the audit log has it */
	struct audit *audit;
	struct ev_loop *loop;
	struct reaper *reaper;
	struct confine *confine;
	struct cgroup_own own; /* the memory limit of this process */
};

/* Descriptors that must be free at the start. A server with one run under every kind of limit holds
 * 52, with control groups of version 1 the most. */
#define CONTEXT_DESCRIPTORS_MIN 56

/* Read the packs into @book (NULL: only their names), and refuse values that no machine accepts:
 * 0, or -1 with InvalidParams for the first that config->faults does not take. rulebook_release()
 * in either case. */
int context_check_config(const struct config *config, struct rulebook *book, struct err *e);

/* Read the configuration, take the descriptor that audit.sink names, and set the signals, umask,
 * limits and subreaper of this process. Call it before opening anything. 0, or -1: LimitReached
 * (too few descriptors are free for any run), or InvalidParams. */
int context_set_up_process(struct context *ctx, struct context_options *options, struct err *e);

/* Read the configuration if that was not done, find the workspace and build the rest; changes no
 * file. 0 or -1; context_close() in either case. @ctx: zeroed, or context_set_up_process(). */
int context_open(struct context *ctx, struct context_options *options, struct err *e);

/* Check that this machine can do what the options require: 0 or -1. Call it after context_open(),
 * before the first command. */
int context_check(struct context *ctx, struct err *e);

/*
 * Make @path, which the client names, the workspace of a context that has none and in which nothing
 * was started. The sandbox is a new one: whoever uses it must be freed before and made anew after
 * it. 0 or -1; then there is still none.
 */
int context_set_workspace(struct context *ctx, const char *path, struct err *e);

/* The gate of this context; @procs and @reqs are borrowed like everything in it. */
struct cap context_cap(const struct context *ctx, struct proctab *procs, struct reqtab *reqs);

/* How the table of runs keeps their output and records, as the options say. */
struct proctab_options context_runs(const struct context *ctx);

/* In two steps, because the users of the loop are freed between them. */
void context_stop(struct context *ctx);  /* reaper and sandbox; the temporary directory goes */
void context_close(struct context *ctx); /* the rest */

#endif
