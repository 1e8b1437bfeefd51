/* sandbox - the operator's options, scope and places as options of os/sandbox/confine. */
#ifndef PROCPEN_SERVER_SANDBOX_H
#define PROCPEN_SERVER_SANDBOX_H

#include <sys/resource.h>

#include "os/sandbox/confine.h"
#include "policy/config.h"
#include "policy/scope.h"

/* What a server has that the sandbox is made of; all borrowed, the reaper for good. */
struct sandbox_inputs {
	const struct scope *scope;
	const char *state_dir, *instance;
	struct reaper *reaper;
	struct rlimit nofile; /* the descriptor limits that commands get */
};

/* Names that mean nothing would protect nothing: 0, or -1 with InvalidParams. */
int sandbox_check(const struct config *config, struct err *e);

/* Could a command write the record below @state_dir, or the directories of others there, by what
 * sandbox.writable names? 0 or -1. */
int sandbox_check_record(const struct config *config, const char *state_dir, struct err *e);

/* @config: checked. Never NULL. */
struct confine *sandbox_new(const struct config *config, const struct sandbox_inputs *in);

/* Called for an option that cannot be followed on this machine. */
typedef void sandbox_unmet_fn(void *ctx, const char *option, const char *reason,
			      const char *remedy);

/* Find them: what the operator has asked for must hold, or nothing may run. Tries the layers only
 * where an option needs one of them. */
void sandbox_each_unmet(const struct config *config, struct confine *c, sandbox_unmet_fn *fn,
			void *ctx);

/* At the start: 0, or -1 with SandboxUnavailable for the first of them. Names on stderr what is
 * followed but not there yet, and that root's commands would write where they like. */
int sandbox_check_machine(const struct config *config, struct confine *c, struct err *e);

#endif
