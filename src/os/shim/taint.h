/*
 * taint - detects whether a command has changed its shim, or has left something to the next one.
 *
 * Without a PID namespace and the filter, a command of the same uid can change the shim's priority,
 * scheduling class, processors, I/O priority and limits, also while the shim waits for a command of
 * its own; with them, it can still queue signals for it. The next command must not inherit that, so
 * a tainted shim serves no other. The same holds for System V objects and message queues in the
 * IPC namespace that both would share, and for the devpts: terminals that somebody holds, changed
 * modes. (No command can write below the /proc/PID of a pooled shim: see os/spawn/pool.c.)
 */
#ifndef PROCPEN_OS_SHIM_TAINT_H
#define PROCPEN_OS_SHIM_TAINT_H

/* What commands of other runs can change of the shim. */
enum taint_reach {
	TAINT_NOTHING,
	TAINT_BUT_LIMITS, /* its attributes, but no limit: their filter forbids that */
	TAINT_ATTRIBUTES,
};

/* Record the present state as the clean one; of attributes the server's, where it can be seen. Call
 * it before the filter is installed. @own_ipc: the shim has an IPC namespace of its own; @own_pts:
 * pseudo-terminals. */
void taint_remember(enum taint_reach reach, int own_ipc, int own_pts);

/* True if nothing has changed since. Discards pending signals. */
int taint_none(void);

/* The same of the attributes that the calling process, a child of the shim, has inherited and that
 * matter to its command. @realtime: the shim is, so that the kernel has reset its child's time
 * slice and utilisation clamps, and these are not compared. */
int taint_none_inherited(int realtime);

#endif
