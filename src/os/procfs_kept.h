/*
 * procfs_kept - files of /proc that stay open from one look at a tree of processes to the next,
 * because to open one takes longer than to read it.
 *
 * Such a file belongs to the process that it was opened for: when that is gone a read fails with
 * ESRCH, and a list of children is empty, whoever has its pid by then. What a file shows, and to
 * whom, the kernel decides at each read (proc(5)).
 *
 * The root of a tree, a shim, nearly always sleeps. If it has not run since the last look, which
 * its clock tells (clock_getcpuclockid(3)), its files show what they showed and are not read.
 *
 * Bounded: the files of PROCFS_KEPT processes; a further one takes the place of the oldest.
 */
#ifndef PROCPEN_OS_PROCFS_KEPT_H
#define PROCPEN_OS_PROCFS_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/shim/procread.h"

#define PROCFS_KEPT 16

enum procfs_file {
	PROCFS_STAT,
	PROCFS_IO,
	PROCFS_CHILDREN,
	PROCFS_SYSCALL,
	PROCFS_FILES,
};

/* A look at @pid, of the tree below @root, begins. Returns whether its files are kept already, and
 * so may belong to a process that has gone. If not, keep them once they are read. */
bool procfs_kept_again(pid_t root, pid_t pid);
void procfs_kept_add(pid_t root, pid_t pid);

/* Close the files of @pid; of the tree below @root. */
void procfs_kept_drop(pid_t pid);
void procfs_kept_drop_tree(pid_t root);

/* Read a file of @pid as procread_of() does; if @pid was not added, the file is closed again. */
long procfs_kept_read(pid_t pid, enum procfs_file file, const char **text);

/* As procread_stat(). */
int procfs_kept_stat(pid_t pid, struct procread_stat *stat);

/* Storage bytes of @pid and its reaped children (/proc/PID/io). 0 or -1. */
int procfs_kept_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes);

/* Call @fn with each child of the first thread of @pid, which was added, until it returns false.
 * Returns 0, or -1 when the list could not be opened: @pid is gone, or the kernel has none. */
int procfs_kept_children(pid_t pid, bool (*fn)(void *ctx, int child), void *ctx);

#endif
