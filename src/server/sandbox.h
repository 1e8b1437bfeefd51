/* sandbox - turns the operator's options and the scope into options of os/sandbox/confine. */
#ifndef PROCPEN_SERVER_SANDBOX_H
#define PROCPEN_SERVER_SANDBOX_H

#include <stdbool.h>
#include <sys/resource.h>

#include "os/sandbox/confine.h"
#include "policy/config.h"
#include "policy/scope.h"

/* The server's parts that the sandbox needs; all borrowed, the reaper for its whole life. */
struct sandbox_inputs {
	const struct scope *scope;
	const char *state_dir, *instance;
	struct reaper *reaper;
	struct ev_loop *loop;
	struct cgroup_own *own; /* opened with the first preparation; must outlive the sandbox */
	struct rlimit nofile; /* the descriptor limits that commands get */
};

/* Refuse layers and paths that could have no effect: 0, or -1 with InvalidParams. */
int sandbox_check(const struct config *config, struct err *e);

/* Refuse a sandbox.writable, or a place in the shared memory, that lets a command write the audit
 * log or the temporary directories below @state_dir: 0 or -1. */
int sandbox_check_record(const struct config *config, const char *state_dir, struct err *e);

/* Does a request that names no user run as root? */
bool sandbox_runs_as_root(const struct config *config);

/* @config: checked. Never NULL. */
struct confine *sandbox_new(const struct config *config, const struct sandbox_inputs *in);

/* Called for an option that this machine cannot satisfy. */
typedef void sandbox_unmet_fn(void *ctx, const char *option, const char *reason,
			      const char *remedy);

/* Find these options: unless all of them hold, nothing may run. Probes the layers only if an option
 * needs one. */
void sandbox_each_unmet(const struct config *config, struct confine *c, sandbox_unmet_fn *fn,
			void *ctx);

/* At the start: 0, or -1 with SandboxUnavailable for the first of them. Warns on stderr of paths
 * and users that do not exist, and of commands that would run as an unconfined root. */
int sandbox_check_machine(const struct config *config, struct confine *c, struct err *e);

#endif
