/*
 * procfs - the few facts about other processes that we read from /proc (proc(5)).
 *
 * A process may vanish at any moment; every reader then says so. No number read
 * here is used to signal a process that is not our own child.
 */
#ifndef PROCPEN_OS_PROCFS_H
#define PROCPEN_OS_PROCFS_H

#include <stdint.h>
#include <sys/types.h>

struct procfs_stat {
	char state;          /* 'R', 'S', 'Z' ... */
	pid_t parent;
	long threads;        /* a zombie with more than one lives on in the others */
	uint64_t cpu_ticks;  /* its own and its reaped children's, user and system */
	uint64_t child_ticks; /* of these, the reaped children's */
	uint64_t rss_bytes;
};

/* 0, or -1 when the process is gone or unreadable. */
int procfs_stat(pid_t pid, struct procfs_stat *st);

/* Storage bytes of @pid and its reaped children (/proc/PID/io). 0 or -1. */
int procfs_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes);

/* Up to @max children of all threads of @pid into @out; how many, or -1 when they cannot be
 * listed (no descriptor, no memory). Falls back to a scan of /proc where the kernel lacks the
 * children file, and for a process that is gone. */
int procfs_children(pid_t pid, pid_t *out, int max);

/* The child of @shim that has the number @inner in the innermost PID namespace (proc(5), NSpid
 * in /proc/PID/status), as we number it; 0: gone, or not told. */
pid_t procfs_find_inner(pid_t shim, pid_t inner);

/* Everything below @pid, a sub-reaper, up to @max; how many, or -1 as above. */
int procfs_tree(pid_t pid, pid_t *out, int max);

#endif
