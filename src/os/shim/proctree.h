/*
 * proctree - what the shim reads from /proc (proc(5)): who is below it, and io.
 */
#ifndef PROCPEN_OS_SHIM_PROCTREE_H
#define PROCPEN_OS_SHIM_PROCTREE_H

#include <stdint.h>

/* @pid is our own. Looks once whether the kernel lists children (CONFIG_PROC_CHILDREN). */
void proctree_init(int pid);

/* Our own children; *@pids is good until the next call. How many. One system call, mostly. */
int proctree_children(const int **pids);

/* Everything below us, breadth first; *@pids is good until the next call. How many. */
int proctree_list(const int **pids);

/* Does @pid exist, and is it no zombie? */
int proctree_is_live(int pid);

/* Storage bytes of an open /proc/self/io: our own and those of all that we have reaped. */
void proctree_io(int io_fd, uint64_t *read_bytes, uint64_t *write_bytes);

#endif
