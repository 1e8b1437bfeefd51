/*
 * confine - builds the sandbox of a command from layers, as an ordered table.
 *
 * A command's sandbox is the set of layers between it and the machine. To confine a
 * command is to enter these layers; functions of this folder are named confine_* for
 * that. Each mechanism is one file of this folder (and os/cgroup/) and one or more rows
 * in layers.c.
 *
 * A layer is probed once by entering it (a trial: the shim does everything but the
 * exec) and prepared once. Per run, confine_enter() writes it into the plan
 * (os/shim/proto.h), and the shim enters it in the command's own process. A missing
 * layer is reported with its reason. If a run asks for it or the operator requires it,
 * the start fails (SandboxUnavailable): nothing runs half confined without saying so.
 *
 * All of it is lazy: nothing is tried before a command comes, or cap/run_ahead makes one's
 * sandbox in the client's first silence.
 */
#ifndef PROCPEN_OS_SANDBOX_CONFINE_H
#define PROCPEN_OS_SANDBOX_CONFINE_H

#include "base/err.h"
#include "os/sandbox/types.h"

struct confine;

struct confine *confine_new(const struct confine_options *options);
/* Removes the temporary directory, see tmpdir_free(). Call it before reaper_free(). */
void confine_free(struct confine *c);

/*
 * Probe and build the layers; takes milliseconds the first time. Returns 0 or -1
 * (SandboxUnavailable: why nothing can run). Idempotent; after a failure for a shortage
 * (err_is_shortage()) or lack of time the next call tries again. Only the limit of namespaces
 * takes layers away, which may be 0 for good: half a minute later the next call tries them again.
 */
int confine_prepare(struct confine *c, struct err *e);

/*
 * Write everything but path, working directory and announce into @plan, and the
 * parent's part into @run (zeroed first; release it always). @seq names the run's
 * control group. Builds the layers anew when a writable directory or the temporary one was
 * removed and made again. Returns 0 or -1: SandboxUnavailable.
 */
int confine_enter(struct confine *c, const struct confine_request *request, uint64_t seq,
		  struct shim_plan *plan, struct confine_run *run, struct err *e);
void confine_run_release(struct confine_run *run);

/* Remove the idle control groups beyond @keep. Returns true if there were any. */
bool confine_drop_idle(struct confine *c, size_t keep);

/* Call @fn for each layer of @applied, in order, by its name with detail: "seccomp:default",
 * "landlock:7" ... */
void confine_each_applied(const struct confine *c, const struct confine_applied *applied,
			  confine_text_fn fn, void *ctx);

/* The private temporary directory of a run with @request, on the heap; NULL: none. It exists after
 * confine_enter(). */
char *confine_temporary(const struct confine *c, const struct confine_request *request);

/* The profile of a run with @request. */
enum confine_profile confine_profile(const struct confine *c,
				     const struct confine_request *request);

/* Can a run with a sandbox write below @path? True while that is not known. The other one takes
 * the path without links, NULL: there is nothing. */
bool confine_can_write(const struct confine *c, const char *path);
bool confine_can_write_resolved(const struct confine *c, const char *real);

/* Does the canonical @path lie in one that sandbox.readonly keeps from commands? */
bool confine_is_readonly(const struct confine *c, const char *path);

/* Prepare, and probe what else a report needs: the network namespace, control groups. */
void confine_probe_all(struct confine *c);

/* The layers of a run with @request, the usual one (cap/run_limits.h), which asks for no more than
 * the operator's limits. */
void confine_usual(const struct confine *c, const struct confine_request *request,
		   struct confine_applied *applied);

/* Why runs with the operator's profile cannot have @layer, with the one remedy in *@remedy (NULL:
 * none). NULL: it is available. Call it after confine_prepare(). */
const char *confine_lacks(const struct confine *c, enum confine_layer layer, const char **remedy);

/* For a machine with neither Landlock nor a mount namespace. */
#define CONFINE_OPEN "nothing confines the files that commands write: " \
	"neither Landlock nor a mount namespace is available"
#define CONFINE_OPEN_AS_ROOT \
	"commands run as root and nothing confines the files that they write: " \
	"neither Landlock nor a mount namespace is available"

/* CONFINE_OPEN or CONFINE_OPEN_AS_ROOT if no file layer is available, else NULL. Call it after
 * confine_prepare(). */
const char *confine_open(const struct confine *c);

/* confine_open() once, if the profile of a run with @request is not none; else NULL. Cheap enough
 * for a server's start: tries namespaces only if the kernel has no Landlock. Before
 * confine_prepare() it assumes that a kernel with Landlock can enforce it; after that it knows. */
const char *confine_warning(struct confine *c, const struct confine_request *request);

/* The first of the operator's writable paths for which there is no room; NULL: all have some. */
const char *confine_unwritable(const struct confine *c);

/* Why sandbox.hide does not hide the first path that stays visible; NULL: all are hidden. Call it
 * after confine_prepare(). */
const char *confine_visible(const struct confine *c);

/* Why sandbox.readonly does not hold for the first path that exists and can be changed, in @text;
 * false: all are read-only, or will be once they exist. Call it after confine_prepare(). */
#define CONFINE_CHANGEABLE_SIZE 384
bool confine_changeable(const struct confine *c, char text[CONFINE_CHANGEABLE_SIZE]);

/* Call @fn for each path that sandbox.hide hides from runs that start now with the operator's
 * profile, be it there or not. */
void confine_each_hidden(const struct confine *c, confine_text_fn fn, void *ctx);

/* Call @fn for each path that sandbox.readonly holds in these. */
void confine_each_readonly(const struct confine *c, confine_text_fn fn, void *ctx);

/* Call @fn for each path of sandbox.readonly that does not exist yet. */
void confine_each_absent(const struct confine *c, confine_text_fn fn, void *ctx);

/* Call @fn for each layer that is not available, with the reason and the one remedy. */
void confine_each_missing(const struct confine *c,
			  void (*fn)(void *ctx, const char *layer, const char *reason,
				     const char *remedy),
			  void *ctx);

/* Call @fn for each access that the active layers leave open, one sentence each. */
void confine_each_gap(const struct confine *c, confine_text_fn fn, void *ctx);

/* The bit of a layer by its name without detail ("landlock"), or -1. */
int confine_layer_find(const char *name);

#endif
