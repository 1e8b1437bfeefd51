/*
 * reading - does a process wait for bytes of a file, its stdin for one?
 *
 * Read from /proc/PID/task/TID/syscall (proc(5)): the system call in which a thread sleeps, and its
 * arguments. That, the sets of poll(2) and select(2), and a process's descriptors are shown only of
 * a process that the server may trace (ptrace(2)): not of one that has changed its user or is
 * undumpable, which /proc may hide altogether (hidepid), and of none where a Linux Security Module
 * forbids it.
 *
 * Refuses to: guess. It reads at most READING_THREADS threads, and sets of READING_SET descriptors.
 */
#ifndef PROCPEN_OS_READING_H
#define PROCPEN_OS_READING_H

#include <stdbool.h>

#include "os/procfs.h"

#define READING_THREADS 256
#define READING_SET 1024

struct reading_file {
	int fd;        /* the file, open here, at either end ... */
	bool terminal; /* ... or /dev/tty too */
	bool stopped; /* a stopped process counts too: what has stopped it lets it go on */
};

/* A later value is stronger: it is the answer if it holds for any thread. */
enum reading {
	READING_NO,
	READING_UNKNOWN, /* a process does not show what it does */
	READING_POLLS,   /* sleeps until this file, or something else, has come */
	READING_BLOCKS,  /* sleeps in a read of it */
};

enum reading reading_of(const struct procfs_process *processes, int count,
			const struct reading_file *file);

#endif
