/*
 * tree - who belongs to a run, and is it dead.
 *
 * The server's side of one shim (os/shim/). The shim's reports are passed
 * on as they come; `on_empty` is called exactly once, after the last of them,
 * when no process of the run is left or when those left could not be killed.
 *
 * A shim that is to kill its tree says when nothing can get away from it any
 * more. If it does not say so soon, because it is stopped or its tree leaves it no
 * processor, we do it: as init of a PID namespace it is killed itself, which ends
 * all of that; else the run's control group is killed, where there is one.
 *
 * If the shim dies before its time (the command may have its uid and kill it),
 * its orphans become our children and os/reaper reaps them. If it is found
 * stopped or stuck when its time is over, it is killed itself and the same
 * reaping follows; one that is still at work gets more time.
 */
#ifndef PROCPEN_PROC_TREE_H
#define PROCPEN_PROC_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/loop.h"
#include "os/reaper.h"
#include "os/shim/proto.h"

struct tree {
	struct ev_loop *loop;
	struct reaper *reaper;
	pid_t shim_pid;    /* 0: not started, or reaped */
	ev_io control;
	ev_timer escalate;
	bool alive;          /* on_empty has not been called */
	bool is_init;        /* the shim is init of a PID namespace; set before the start */
	bool killing;        /* SHIM_KILL was sent */
	bool sealed;         /* nothing can get away from the kill by forking any more */
	int kill_timeouts;  /* how often a working shim was given more time */
	bool given_up;       /* the shim was killed by us, to end its tree or because it hung */
	bool lost;           /* the shim died before its time: what it knew is unknown */
	bool reaping_orphans; /* the shim is gone and its orphans are hunted */
	bool reported_empty; /* the shim's last report has come */
	uint32_t survivors;  /* processes that could not be killed */
	void (*on_report)(void *ctx, const struct shim_report *report);
	void (*on_listener)(void *ctx, int fd); /* takes the descriptor; NULL: it is closed */
	/* Before on_empty: the shim stays for another command, as @last says. Takes the socket
	 * and the pid; NULL: the socket is closed, and the shim leaves. */
	void (*on_shim)(void *ctx, pid_t shim_pid, int control_fd,
			  const struct shim_report *last);
	void (*on_empty)(void *ctx);
	void (*kill_group)(void *ctx); /* SIGKILL for all of its control group; NULL: it has none */
	void *ctx;
};

/* The shim runs: take over its control socket. The hooks and ctx are set before. */
void tree_start(struct tree *t, struct ev_loop *loop, struct reaper *reaper, pid_t shim_pid,
		int control_fd);

/* SIGKILL for the whole tree. Once is enough. */
void tree_kill(struct tree *t);

/* Ask for @signal to the command's process group; SHIM_SIGNALED tells the outcome. 0 or -1 with
 * errno: the shim cannot be asked. */
int tree_signal(struct tree *t, int signal);

/* The same, to every process of the tree. */
int tree_signal_all(struct tree *t, int signal);

/* Stop watching (the server is exiting); shims see the closed socket and kill what is left. */
void tree_release(struct tree *t);

#endif
