/*
 * command - the command's own process, from the shim's clone to its exec.
 *
 * The process shares the shim's memory until its exec, so it reports a failure in
 * struct command. It enters the layers of the plan in order; the first that fails ends
 * the start: nothing runs half confined.
 */
#ifndef PROCPEN_OS_SHIM_COMMAND_H
#define PROCPEN_OS_SHIM_COMMAND_H

#include <linux/capability.h>

#include "os/shim/proto.h"

#define COMMAND_STACK 3072 /* the child's stack, part of the shim's: costs no further page */

struct command_capabilities {
	struct __user_cap_data_struct halves[2];
};

/* The first version of struct sched_attr (sched_setattr(2)), which all kernels accept. */
struct command_scheduling {
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
	void *filter;     /* the instructions to install, each of 8 bytes ... */
	uint32_t filter_len; /* ... and how many; 0: none, or the command inherits them */
	uint64_t bounding;            /* the shim's bounding set, as far as it was cut */
	struct command_capabilities inherited; /* by its process, if ... */
	int inherits;                          /* ... command_prepare_shim() has read them */
	int (*await)(struct command *c); /* the process waits with this for all of the above, -1:
					  * it is not needed; NULL: there is nothing to wait for */
	volatile int taken; /* what it waited for is out of the socket; it executes next */
	int unwanted;       /* the server wanted a kill, or was gone, before that */
	long shim;          /* the pid of the shim that has cloned it */
	uint32_t umask;     /* of the shim, which its process inherits, ... */
	int no_new_privs;   /* ... as this: it is set */
	int signal_fd;      /* a signalfd(2) of SIGCHLD and ... */
	int timer_fd;       /* ... a timerfd_create(2), both nonblocking: see command_sleeps() */
	volatile int alarm; /* the timer is set, and the shim has not seen it expire */
	int watches;        /* its process calls sockets_watch() */
	int reachable;      /* commands can change the shim's attributes */
	const struct command_scheduling *scheduling; /* to restore after a clone by a real-time
						      * shim; NULL: what the kernel resets it to */
	long timer_slack_ns;    /* likewise; 0: it is as it was */
	int raised;         /* the shim runs under SCHED_FIFO */
	int null_fd;        /* of its process that waits: /dev/null, for stdin; -1: open it then */
	int ruleset;        /* of Landlock, which the process enters before it waits; -1: none */
	volatile int stage; /* enum shim_stage of a failure; 0: the exec succeeded */
	volatile int error; /* its errno */
};

/* Put the pid and group of the shim into the rules of the filter that protect it (SHIM_OWN_PID), if
 * they are not in there yet. */
void command_name_shim(const struct command *c, uint32_t shim);

/* Install @c's filter in this process. 0, or 1 with the failure in @c. */
int command_install_filter(struct command *c);

/*
 * Cut the shim's own bounding set to what the plan leaves to commands. They inherit it, which saves
 * each a call per capability; one whose plan leaves it less cuts the rest itself. Note which
 * capabilities they inherit. 0, or 1 with the failure in @c.
 */
int command_prepare_shim(struct command *c);

/* Open @c's timer, or leave -1 there: there is none, or something around the server refuses to set
 * it, so that it would never wake the shim. */
void command_open_timer(struct command *c);

/* True if the shim has the descriptors that came with the plan, and must close them. */
int command_leaves_fds(const struct command *c);

/* True if the shim sleeps until the command has ended or has run for SHIM_ANNOUNCE_MS; where the
 * plan says SHIM_ANNOUNCE, until its exec. The process must wait for its plan, unwatched. */
int command_sleeps(const struct command *c);

/* Empty a signalfd(2): wait4(2) says more than its records. Returns whether one was of something
 * else than a death or a stop for a tracer: of job control, or sent by a process. */
int command_drain_signal_fd(int signal_fd);

/* Clone the command's process. Returns its pid when it executes, has failed or was not needed (see
 * @c), or a negative errno; if command_sleeps(), not before that sleep is over. */
int command_start(struct command *c, char stack[COMMAND_STACK]);

/* Wipe the shim's own argv and environment, which are @c's. */
void command_wipe(const struct command *c);

#endif
