/*
 * start - a command in its layers: confine, then a shim that waits or a new one.
 *
 * The one way to start anything for a request. When the kernel has just refused
 * new namespaces (their number is limited) it tries once more without them, which
 * fails where they are required.
 */
#ifndef PROCPEN_OS_SANDBOX_START_H
#define PROCPEN_OS_SANDBOX_START_H

#include "os/sandbox/confine.h"
#include "os/spawn/pool.h"
#include "os/spawn/spawn.h"

/*
 * @request: all but plan, clone_flags and descriptors. @pool may be NULL. @seq names
 * the control group. On success *@run has what the run holds (confine_run_release()
 * at its end) and *@spawned the shim. Returns 0, or -1 with what spawn_start() or
 * confine_enter() say; nothing is left then.
 */
int start_command(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		  struct pool *pool, struct spawn_request *request, struct confine_run *run,
		  struct spawn_result *spawned, struct err *e);

/*
 * What waits for later runs holds descriptors; a start that failed may need them. Lets go
 * of all that; true: there was some, try once more.
 */
bool start_drop_idle(struct confine *confine, struct pool *pool);

#endif
