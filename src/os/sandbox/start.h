/*
 * start - starts a command in its layers, with an idle shim or a new one.
 *
 * The only way to start a command for a request. If the kernel refuses new namespaces
 * (their number is limited), start_command() tries once more without them, which fails
 * if they are required.
 */
#ifndef PROCPEN_OS_SANDBOX_START_H
#define PROCPEN_OS_SANDBOX_START_H

#include "os/sandbox/confine.h"
#include "os/spawn/pool.h"
#include "os/spawn/spawn.h"

/*
 * @request: everything but plan, clone_flags and descriptors. @pool may be NULL. @seq names
 * the control group. On success *@run holds the run's layers (call confine_run_release()
 * at its end) and *@spawned the shim. Returns 0, or -1 with the error of spawn_start() or
 * confine_enter(); then nothing is left to release.
 */
int start_command(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		  struct pool *pool, struct spawn_request *request, struct confine_run *run,
		  struct spawn_result *spawned, struct err *e);

/* Prepare the layers and have @pool make a shim for runs with @wanted ahead. What fails is left to
 * the first run. */
void start_make_ready(struct confine *confine, const struct confine_request *wanted,
		      struct pool *pool);

/*
 * Discard idle shims and control groups beyond @keep, with the descriptors that they hold. Returns
 * true if there were any: a failed start may have needed these, so try it once more.
 */
bool start_drop_idle(struct confine *confine, struct pool *pool, size_t keep);

#endif
