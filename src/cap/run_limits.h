/*
 * run_limits - the limits of one run: what the request asks for, within what the
 * operator allows.
 *
 * cpu_limit and memory_limit are for the whole tree; without them the operator's
 * defaults hold, and without those the allowance itself. `limits` are rlimits, which
 * each process has for itself; no higher than the server's own hard ones. What is
 * above is refused with the number, never cut silently.
 */
#ifndef PROCPEN_CAP_RUN_LIMITS_H
#define PROCPEN_CAP_RUN_LIMITS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "os/sandbox/confine.h"
#include "policy/config.h"
#include "proc/proc.h"

struct run_limits {
	struct shim_rlimit rlimits[SHIM_RLIMITS_MAX];
};

/*
 * Fill the limits of @request from checked parameters and options. It borrows @l.
 * Returns 0, or -1 with InvalidParams: above the allowance or the hard limit, an
 * unknown rlimit, a bad value.
 */
int run_limits_read(const struct config *config, const json_t *params, struct run_limits *l,
		    struct confine_request *request, struct err *e);

/* "allowances" of agent.session: the most that a request may ask for; null: no bound. */
void run_limits_write(struct jsonw *w, const struct config *config);

/* Was @p ended by a limit? */
bool run_limits_struck(const struct proc *p);

/* ResourceLimitExceeded for such a run: which limit, its number, and what was seen. */
void run_limits_error(const struct proc *p, struct err *e);

/* Sentences into the open array of warnings. */
void run_limits_warn(struct jsonw *w, const struct proc *p);

#endif
