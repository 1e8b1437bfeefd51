/*
 * proctree - lists the processes below the shim, and their memory, from /proc (proc(5)).
 */
#ifndef PROCPEN_OS_SHIM_PROCTREE_H
#define PROCPEN_OS_SHIM_PROCTREE_H

#include <stdint.h>

#include "os/shim/procread.h"

/* @pid is the shim's own. Checks whether the kernel lists children (CONFIG_PROC_CHILDREN). */
void proctree_init(int pid);

/* The shim's children; *@pids is valid until the next call. Returns how many. Mostly one system
 * call. */
int proctree_children(const int **pids);

/* All descendants, breadth first; *@pids is valid until the next call. Returns how many. */
int proctree_list(const int **pids);

#define PROCTREE_OTHERS_MAX 1024 /* listing more takes longer than a kill may wait */

/* For an init of a PID namespace with its own /proc: the other processes in it, zombies included,
 * at most PROCTREE_OTHERS_MAX; *@pids is valid until the next call. Returns how many. */
int proctree_others(const int **pids);

/* Can the children of @pid, which exists, be listed? */
int proctree_sees_below(int pid);

/*
 * As procread_stat(), for a process that was listed. /proc may hide one that is there (proc(5),
 * hidepid): an undumpable one, or another user's. Then 0 too, with what calls tell of it: that it
 * lives, and its process group. It counts as one thread, and as a child of ours, because it was
 * found in a list; its own children are not listed.
 */
int proctree_stat(int pid, struct procread_stat *stat);

/* Does it hide so? */
bool proctree_is_hidden(int pid);

/* Does @pid exist, and is it not a zombie? */
int proctree_is_live(int pid);

/*
 * Visit every live descendant once. Lists all before the first visit: one that a visit kills may
 * hide its children for a while (those of a process with threads pass from one thread to the
 * next). Then visits new ones until several passes have found none (a list may skip a child while
 * others end), or after so many passes that the tree seems to grow without end. @visit must not
 * call this module.
 */
void proctree_walk(void (*visit)(void *ctx, int pid, const struct procread_stat *stat),
		   void *ctx);

/* Is a SIGSTOP pending for @pid? */
int proctree_stop_pending(int pid);

struct proctree_memory {
	uint64_t resident; /* bytes in memory, each page counted in full */
	uint64_t private;  /* of these, what belongs to no file and no shared memory */
};

/* Cheap. 0, or -1 when the process is gone. */
int proctree_memory(int pid, struct proctree_memory *memory);

/*
 * Expensive (the kernel walks the page tables): the share of @pid in anonymous and shared memory,
 * with swap, without files. A page that n processes map counts 1/n for each, so that the sum over
 * a tree is exact. -1: not available.
 */
int64_t proctree_proportional(int pid);

#endif
