/*
 * confine_trial - tests a plan on this machine by doing all of it but the exec.
 *
 * Versions and settings do not show what a kernel, a container or a security module
 * allows (some allow a namespace and refuse the mounts in it). So the trial starts a
 * shim with the real plan, and the shim's report decides.
 */
#ifndef PROCPEN_OS_SANDBOX_TRIAL_H
#define PROCPEN_OS_SANDBOX_TRIAL_H

#include "os/sandbox/types.h"

#define TRIAL_SECONDS 10

struct confine_trial {
	int stage; /* enum shim_stage where it failed; SHIM_STAGE_FORK: the clone failed */
	int error; /* errno; in SHIM_STAGE_PLAN: EAGAIN killed from outside, ETIMEDOUT too late */
};

/*
 * Try @plan with @run (as confine_enter() fills both). Waits up to TRIAL_SECONDS. Returns 0, or -1
 * with stage and errno of the failure in @t.
 */
int confine_trial_run(struct shim_plan *plan, const struct confine_run *run,
		      struct confine_trial *t);

#endif
