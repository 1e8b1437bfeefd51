/*
 * tree - watches and kills the process tree of one run.
 *
 * The server's side of one shim (os/shim/). Passes the shim's reports on as they come,
 * and calls `on_empty` exactly once, after the last of them, when no process of the run
 * is left or when those left could not be killed.
 *
 * During a kill the shim sends SHIM_KILLING when no process can escape it any more. If
 * that does not come soon, because the shim is stopped or its tree leaves it no
 * processor, the server helps: it kills a shim that is init of a PID namespace, which
 * ends all processes in it; else it kills the run's control group, if there is one.
 *
 * If the shim dies before its tree (the command may have its uid and kill it), its
 * orphans become our children and os/reaper kills them. If it is stopped after SEAL_MS
 * or stuck after KILL_TIMEOUT_MS, the server kills the shim and the same follows; a working
 * shim gets more time.
 */
#ifndef PROCPEN_PROC_TREE_H
#define PROCPEN_PROC_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/loop.h"
#include "os/reaper.h"
#include "os/shim/proto.h"

/* Numbers for descriptors that will come with reports, kept until then: recvmsg(2) drops those that
 * find none, and by then the command runs. */
struct tree_room {
	int fds[4]; /* a listener, both ends of a terminal, and a duplicate for what is typed */
	int count;
};

struct tree {
	struct ev_loop *loop;
	struct reaper *reaper;
	pid_t shim_pid;    /* 0: not started, or reaped */
	ev_io control;
	struct tree_room room; /* set before the start */
	ev_timer escalate;
	bool alive;          /* on_empty has not been called */
	bool is_init;        /* the shim is init of a PID namespace; set before the start */
	bool killing;        /* the shim was told that no request follows, so that it kills */
	bool sealed;         /* no process can escape the kill by forking any more */
	int kill_timeouts;   /* how often a working shim got more time */
	bool given_up;       /* we killed the shim, to end its tree or because it hung */
	bool lost;           /* the shim died before its tree: its last report is missing */
	bool reaping_orphans; /* the shim is gone, and reaper_sweep() kills its orphans */
	bool asked;          /* something was sent after the plan */
	bool reported;       /* a report has come */
	bool unread;         /* the shim died without having read all that was sent */
	bool reported_empty; /* the shim's last report has come */
	uint32_t survivors;  /* processes that could not be killed */
	void (*on_report)(void *ctx, const struct shim_report *report);
	void (*on_listener)(void *ctx, int fd); /* now owns the descriptor; NULL: it is closed */
	void (*on_terminal)(void *ctx, int ours, int theirs); /* likewise, both of SHIM_TYPING */
	/* Before on_empty, if @last says that the shim is reusable. Takes the socket and the
	 * pid; NULL: the socket is closed, and the shim exits. */
	void (*on_shim)(void *ctx, pid_t shim_pid, int control_fd,
			const struct shim_report *last);
	void (*on_empty)(void *ctx);
	void (*kill_group)(void *ctx); /* SIGKILL for all of its control group; NULL: it has none */
	void *ctx;
};

/* Keep @count numbers. Returns 0, or -1 with errno: it has fewer. */
int tree_room_take(struct tree_room *room, int count);

void tree_room_release(struct tree_room *room);

/* Take over a running shim and its control socket. Set the hooks and ctx before. */
void tree_start(struct tree *t, struct ev_loop *loop, struct reaper *reaper, pid_t shim_pid,
		int control_fd);

/* Handle the reports that have come, before a timer judges without them: a server that was stopped
 * wakes for its timers first. False: no more will come, and @t may be gone. */
bool tree_look(struct tree *t);

/* Send SIGKILL to the whole tree. Further calls do nothing. */
void tree_kill(struct tree *t);

/* Ask the shim to send @signal to the command's process group; SHIM_SIGNALED reports the outcome.
 * Returns 0, or -1 with errno: the shim cannot be reached. */
int tree_signal(struct tree *t, int signal);

/* The same, to every process of the tree. */
int tree_signal_all(struct tree *t, int signal);

/* In on_empty: did the shim die before it took its plan? Then the command certainly did not run.
 * (A socket that is closed with unread messages resets its peer.) */
bool tree_never_began(const struct tree *t);

/* Stop watching (the server is exiting); shims see the closed socket and kill what is left. */
void tree_release(struct tree *t);

#endif
