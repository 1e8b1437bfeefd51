/*
 * layers - the table of layers: the name of each, and what it writes into a plan.
 *
 * Private to src/os/sandbox. Does not probe the machine: probe.c finds out which layers
 * are available, and report.c describes them.
 */
#ifndef PROCPEN_OS_SANDBOX_LAYERS_H
#define PROCPEN_OS_SANDBOX_LAYERS_H

#include "base/err.h"
#include "os/sandbox/types.h"

struct confine;

/* One run being confined; all borrowed. */
struct layers_entry {
	struct confine *c;
	const struct confine_request *request;
	struct shim_plan *plan;
	struct confine_run *run;
};

/* The name of a layer without detail. */
const char *layers_name(enum confine_layer layer);

/* Make @plan and @run empty. */
void layers_clear(struct shim_plan *plan, struct confine_run *run);

/* Which of the usable layers a run with @request enters. */
void layers_choose(const struct confine *c, const struct confine_request *request,
		   struct confine_applied *applied);

/* Write the layers of @n->run->applied into the empty plan. 0, or -1: SandboxUnavailable. */
int layers_fill(struct layers_entry *n, struct err *e);

/* Make a ruleset of Landlock. Returns a descriptor that the caller owns, or -1. */
int layers_make_ruleset(const struct confine *c, struct err *e);

/* Set a limit in @plan; replaces an earlier one of the same kind. */
void layers_add_rlimit(struct shim_plan *plan, uint32_t resource, uint64_t soft, uint64_t hard);

#endif
