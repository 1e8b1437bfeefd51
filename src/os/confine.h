/*
 * confine - the layers between a command and the machine, as an ordered table.
 *
 * Each mechanism is one file (os/confine_<name>.c) and one row in confine.c:
 * prepared once per server, entered in the command's own process by the shim,
 * which is told how through the plan (os/shim_proto.h). A layer that cannot be
 * prepared makes every start fail (SandboxUnavailable); one that cannot be
 * entered makes that start fail in its stage. Nothing runs half confined.
 *
 * Preparing is lazy: a server that never runs a command never builds a filter.
 */
#ifndef PROCPEN_OS_CONFINE_H
#define PROCPEN_OS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "os/shim_proto.h"

struct confine;

/* What the operator decides; copied. */
struct confine_options {
	uint32_t umask;
	struct rlimit nofile; /* descriptor limits given back to children */
};

struct confine *confine_new(const struct confine_options *options);
void confine_free(struct confine *c);

/* Build what is not built yet. Returns 0 or -1 (SandboxUnavailable: layer, why). Idempotent. */
int confine_prepare(struct confine *c, struct err *e);

/* Write all layers into @plan (flags, umask, rlimits, filter). Prepares when needed. */
int confine_fill(struct confine *c, struct shim_plan *plan, struct err *e);

/* Layers as reported: names of applied ones ("seccomp:default", ...), NULL-terminated, static. */
const char *const *confine_active(const struct confine *c);

/* Layers that are not applied: calls @fn for each with its reason. */
void confine_each_missing(const struct confine *c,
			  void (*fn)(void *ctx, const char *layer, const char *reason), void *ctx);

#endif
