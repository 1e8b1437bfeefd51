/*
 * usage - the resource usage of a run.
 *
 * Final numbers come from the run's shim: its rusage of reaped children and
 * its own /proc/self/io cover the whole tree, as every orphan becomes its child.
 * They miss processes whose parent ignores SIGCHLD (the kernel drops their
 * accounting). Live numbers are read from /proc for the tree as it is now.
 */
#ifndef PROCPEN_PROC_USAGE_H
#define PROCPEN_PROC_USAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "os/procfs.h"
#include "os/spawn/spawn.h"

struct usage {
	int64_t cpu_ms;
	int64_t memory_peak_bytes; /* largest resident size of one process; live: of the sum seen */
	int64_t io_read_bytes;     /* storage, not page cache (proc(5), /proc/PID/io) */
	int64_t io_write_bytes;
	int alive;                 /* processes of the tree; -1: they could not be listed */
};

#define USAGE_TREE_MAX 4096

/*
 * Add up the tree below @shim_pid into @u, less the usage of earlier commands of the shim (@past).
 * Only `alive` changes, to -1, if the shim is gone (@shim_pid 0) or its tree cannot be read.
 * memory_peak_bytes never decreases. Reads at most @max processes (up to USAGE_TREE_MAX). Returns
 * the bytes that the tree has resident now, 0 if that is not known.
 */
int64_t usage_live(pid_t shim_pid, const struct spawn_past *past, int max, struct usage *u);

/* The processes below @shim_pid that the last usage_live() has read, so that a look at them need
 * not list them again. Returns how many, or -1: they could not be listed, or those of another shim
 * were. */
int usage_processes(pid_t shim_pid, const struct procfs_process **processes);

#endif
