/*
 * command - the command's own process, from the shim's clone to its exec.
 *
 * It shares the shim's memory until then, so a failure is told through the
 * struct. Confinement is entered here, in the order of the plan's layers, and
 * what cannot be entered ends the start: nothing runs half confined.
 */
#ifndef PROCPEN_OS_SHIM_COMMAND_H
#define PROCPEN_OS_SHIM_COMMAND_H

#include "os/shim/proto.h"

#define COMMAND_STACK 3072 /* of the child; on our own stack, whose page is there anyway */

/* sched_setattr(2), the part that all kernels know. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3];
};

struct command {
	struct shim_plan *plan;
	char **argv, **envp;
	const char *path; /* of the program */
	const char *cwd;  /* with SHIM_MOUNTS: the working directory by name, "" otherwise */
	struct scheduling scheduling; /* what it runs with; size 0: with what it inherits */
	long timer_slack;             /* the same, in nanoseconds (prctl(2)); 0: what it inherits */
	volatile int stage; /* enum shim_stage of a failure; 0: the exec succeeded */
	volatile int error; /* its errno */
};

/* Install the plan's filter in this process. 0, or 1 with the failure in @c. */
int command_install_filter(struct command *c);

/* Clone the command's process. Its pid once it executes or has failed (see @c), or a negative
 * errno. */
int command_start(struct command *c, char stack[COMMAND_STACK]);

/* Wipe @c's arguments and environment where they are our own, as the kernel put them there. */
void command_wipe(const struct command *c);

#endif
