/*
 * proctree - who is below the shim, and what memory they have, from /proc (proc(5)).
 */
#ifndef PROCPEN_OS_SHIM_PROCTREE_H
#define PROCPEN_OS_SHIM_PROCTREE_H

#include <stdint.h>

#include "os/shim/procread.h"

/* @pid is our own. Looks once whether the kernel lists children (CONFIG_PROC_CHILDREN). */
void proctree_init(int pid);

/* Our own children; *@pids is good until the next call. How many. One system call, mostly. */
int proctree_children(const int **pids);

/* Everything below us, breadth first; *@pids is good until the next call. How many. */
int proctree_list(const int **pids);

/* As init of a PID namespace whose /proc is there: all processes in it but us, the dead that nobody
 * has collected included; what is beyond 128 is not counted. */
uint32_t proctree_others(void);

/* Does @pid exist, and is it no zombie? */
int proctree_is_live(int pid);

/*
 * Visit every live process below us once. All are listed before the first visit: one that dies of
 * a visit may hide its children for a while (those of a process with threads pass from one thread
 * to the next). Who was not there then is visited afterwards, until nobody new turns up, or the
 * tree proves to grow without end. @visit may not call this module.
 */
void proctree_walk(void (*visit)(void *ctx, int pid, const struct procread_stat *stat),
		   void *ctx);

/* Has @pid got a SIGSTOP that it has not yet acted upon? */
int proctree_stop_pending(int pid);

struct proctree_memory {
	uint64_t resident; /* bytes in memory, each page counted in full */
	uint64_t private;  /* of these, what belongs to no file and no shared memory */
};

/* Cheap. 0, or -1 when the process is gone. */
int proctree_memory(int pid, struct proctree_memory *memory);

/*
 * Dear (the kernel walks the page tables): its share of anonymous and shared memory, swap
 * included, files not. A page that n processes map counts 1/n for each, so that the sum over a
 * tree is true. -1 when it cannot be had.
 */
int64_t proctree_proportional(int pid);

#endif
