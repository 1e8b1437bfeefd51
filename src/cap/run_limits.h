/*
 * run_limits - the limits of one run: those of the request, within the operator's
 * allowances.
 *
 * cpu_limit and memory_limit are for the whole tree; their default is the operator's
 * default, else the allowance itself. `limits` are rlimits, which hold for each process,
 * no higher than the server's own hard ones. A higher value is refused with the highest
 * allowed one, never lowered silently.
 */
#ifndef PROCPEN_CAP_RUN_LIMITS_H
#define PROCPEN_CAP_RUN_LIMITS_H

#include <jansson.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "os/sandbox/types.h"
#include "policy/config.h"
#include "proc/proc.h"

/*
 * Fill the limits of @request from checked parameters and options. It borrows *@rlimits, which
 * becomes a heap array of the caller's, or NULL if there is no rlimit, in either case of the
 * result. Returns 0, or -1 with InvalidParams: above the allowance or the hard limit, an unknown
 * rlimit, a bad value.
 */
int run_limits_read(const struct config *config, const json_t *params, struct shim_rlimit **rlimits,
		    struct confine_request *request, struct err *e);

/* Fill @request as run_limits_read() does for a run that asks for nothing. */
void run_limits_usual(const struct config *config, struct confine_request *request);

/* Remove what asks for the limits that a run gets anyway from @params, which run_limits_read() has
 * checked. */
void run_limits_drop_usual(const struct config *config, json_t *params);

/* How many seconds a run without timeout gets, or one in the @background without max_runtime;
 * 0: no limit. */
int64_t run_limits_usual_seconds(const struct config *config, bool background);

/* Write "allowances" of agent.session: the most that a request may ask for; null: no bound. */
void run_limits_write(struct jsonw *w, const struct config *config);

/* Did a limit end @p? */
bool run_limits_struck(const struct proc *p);

/* ResourceLimitExceeded for such a run: which limit, its number, and what was seen. */
void run_limits_error(const struct proc *p, struct err *e);

/* Which rlimits of @params bind no process of the run? For run_limits_warn_idle(); @request has the
 * user. */
unsigned run_limits_find_idle(const json_t *params, const struct confine_request *request);

/* Write sentences into the open array of warnings. */
void run_limits_warn_idle(struct jsonw *w, unsigned idle);
void run_limits_warn(struct jsonw *w, struct proc *p);

#endif
