/*
 * confine - the layers between a command and the machine, as an ordered table.
 *
 * Each mechanism is one file of this folder (and os/cgroup/), and one or more
 * rows in layers.c. A layer is probed once, by really entering it (a trial: the
 * shim does everything but the exec), prepared once, and entered in the
 * command's own process by the shim, which is told how through the plan
 * (os/shim/proto.h). What is missing is reported with its reason; what a run asks
 * for or the operator requires and cannot be had makes its start fail
 * (SandboxUnavailable). Nothing runs half confined without saying so.
 *
 * All of it is lazy: a server that never runs a command never tries anything.
 */
#ifndef PROCPEN_OS_SANDBOX_CONFINE_H
#define PROCPEN_OS_SANDBOX_CONFINE_H

#include "base/err.h"
#include "os/sandbox/types.h"

struct confine;

struct confine *confine_new(const struct confine_options *options);
/* Before the reaper goes. Removes the temporary directory, see tmpdir_free(). */
void confine_free(struct confine *c);

/*
 * Probe and build what is not probed and built yet; takes milliseconds the first
 * time. Returns 0 or -1 (SandboxUnavailable: why nothing can run). Idempotent; a
 * failure for want of time, memory or descriptors is tried again by the next call.
 */
int confine_prepare(struct confine *c, struct err *e);

/*
 * Write everything but path, working directory and announce into @plan, and the
 * parent's part into @run (zeroed first; release it always). @seq names the run's
 * control group. Returns 0 or -1: SandboxUnavailable.
 */
int confine_enter(struct confine *c, const struct confine_request *request, uint64_t seq,
		  struct shim_plan *plan, struct confine_run *run, struct err *e);
void confine_run_release(struct confine_run *run);

/* Let go of what earlier runs have left for later ones; was there anything? */
bool confine_drop_idle(struct confine *c);

/* Calls @fn for each layer of @applied, in order, as it is reported: "seccomp:default",
 * "landlock:7" ... @layer is good during the call. */
void confine_each_applied(const struct confine *c, const struct confine_applied *applied,
			  void (*fn)(void *ctx, const char *layer), void *ctx);

/* The private temporary directory of such a run, heap; NULL: none. It exists after
 * confine_enter(). */
char *confine_temporary(const struct confine *c, const struct confine_request *request);

/* Can a run write below @path, so that caches may stay where they are? */
bool confine_can_write(const struct confine *c, const char *path);

/* The descriptor limit, control groups and all else that only reports ask for; prepares. */
void confine_probe_all(struct confine *c);

/* What runs of the operator's profile enter when they ask for nothing. */
void confine_usual(const struct confine *c, struct confine_applied *applied);

/* Why no run of the operator's profile can have @layer, and the one thing to do about it (NULL:
 * there is none). NULL: it can be had. After confine_prepare(). */
const char *confine_lacks(const struct confine *c, enum confine_layer layer, const char **remedy);

/* Where neither of the layers that keep files can be had. */
#define CONFINE_OPEN "nothing confines the files that commands write: " \
	"neither Landlock nor a mount namespace can be had"
#define CONFINE_OPEN_AS_ROOT \
	"commands run as root and nothing confines the files that they write: " \
	"neither Landlock nor a mount namespace can be had"

/* NULL: runs can have one of them. Else which of the two sentences is true. After
 * confine_prepare(). */
const char *confine_open(const struct confine *c);

/* The second of them, once, when it is true and the operator has not asked for it by the profile
 * none; else NULL. Tries namespaces only where the kernel has no Landlock, so a server may ask at
 * its start. What it takes for granted then it knows once a run was prepared. */
const char *confine_warning(struct confine *c);

/* Which of the paths to be hidden stays visible, and why; NULL: none. After confine_prepare(). */
const char *confine_visible(const struct confine *c);

/* Calls @fn for each layer that cannot be had: why, and the one thing to do about it. */
void confine_each_missing(const struct confine *c,
			  void (*fn)(void *ctx, const char *layer, const char *reason,
				     const char *remedy),
			  void *ctx);

/* What stays open in spite of the active layers, one sentence each. */
void confine_each_gap(const struct confine *c, void (*fn)(void *ctx, const char *gap), void *ctx);

/* The bit of a layer by its name without detail ("landlock"), or -1. */
int confine_layer_find(const char *name);

#endif
