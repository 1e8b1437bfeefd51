/*
 * procfs - reads the few facts about other processes that the server needs from /proc (proc(5)),
 * beside those of os/shim/procread.
 *
 * A process may vanish at any moment; every function reports that. Never signal a pid read here
 * unless it is our own child: another process may have that number by then.
 */
#ifndef PROCPEN_OS_PROCFS_H
#define PROCPEN_OS_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/shim/procread.h"

/* Is there no process @pid? /proc may hide one that is there (proc(5), hidepid). */
bool procfs_is_gone(pid_t pid);

/* Processor time of @pid, without its children (clock_getcpuclockid(3)); 0 if it is gone. */
uint64_t procfs_own_us(pid_t pid);

/* Write up to @max children of all threads of @pid to @out. Returns how many, or -1 if they cannot
 * be listed (no descriptor, no memory, or /proc hides @pid). A process that is gone has none. Scans
 * /proc if the kernel has no lists of children (proc(5), /proc/PID/task/TID/children). */
int procfs_children(pid_t pid, pid_t *out, int max);

/* Can no exec give @pid new privileges (proc(5), NoNewPrivs in /proc/PID/status)? 1, 0, or -1 if
 * that is not known: the process is gone, or the kernel (before 4.10) does not report it. */
int procfs_no_new_privs(pid_t pid);

/* The pid, in our namespace, of the child of @shim that has the pid @inner in its innermost PID
 * namespace (proc(5), NSpid in /proc/PID/status). 0: gone, or the kernel does not report NSpid. */
pid_t procfs_find_inner(pid_t shim, pid_t inner);

struct procfs_process {
	pid_t pid;
	struct procread_stat stat;
};

/*
 * Write @pid, a sub-reaper, and up to @max - 1 of its descendants, each after its parent, to @out.
 * Returns how many (0: it is gone), or -1 as above. What ends meanwhile may be missing, or be there
 * as it last was; a descendant that /proc hides counts as alive, with no threads. The work is
 * bounded, by 250 ms of processor time too, so of a tree that forks without a pause some may be
 * missing (no kill relies on it); -1 if all that was seen of it has ended.
 */
int procfs_tree(pid_t pid, struct procfs_process *out, int max);

#endif
