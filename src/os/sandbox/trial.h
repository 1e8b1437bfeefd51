/*
 * confine_trial - does a plan work here? Found out by doing all of it but the exec.
 *
 * What a kernel, a container or a security module allows cannot be told from
 * versions or settings (some allow a namespace and refuse what it is for), so a
 * shim is started with the real plan and its report decides.
 */
#ifndef PROCPEN_OS_SANDBOX_TRIAL_H
#define PROCPEN_OS_SANDBOX_TRIAL_H

#include "os/shim/proto.h"

struct confine_trial {
	int stage; /* enum shim_stage where it failed; SHIM_STAGE_FORK: the clone failed */
	int error; /* errno */
};

/*
 * Try @plan (as confine_enter() fills it) with @clone_flags and descriptors.
 * Waits up to two seconds. Returns 0, or -1 with the place of the failure in @t.
 */
int confine_trial_run(struct shim_plan *plan, int clone_flags, const int *fds, int fd_count,
		      struct confine_trial *t);

#endif
