/*
 * procread - what /proc tells of processes (proc(5)), read without a C library: the server
 * and the shim link this one file.
 *
 * A process may vanish at any moment; every reader then says so. What is read lies in
 * static buffers: one thread only, and a callback calls nothing of this module but where
 * it is said.
 */
#ifndef PROCPEN_OS_SHIM_PROCREAD_H
#define PROCPEN_OS_SHIM_PROCREAD_H

#include <stdbool.h>
#include <stdint.h>

/* ---- texts; each is a C string, good until the next call ---- */

/* The beginning of the open file @fd. Its length, or not more than 0. */
long procread_file(int fd, const char **text);

/* The same of /proc/PID/NAME; @name begins with a slash. */
long procread_of(int pid, const char *name, const char **text);

/* What stands in @text behind the beginning @name of a line and blanks; NULL: no such line. */
const char *procread_line(const char *text, const char *name);

/* The decimal number at *@at, which moves behind it; 0 if there is none. */
uint64_t procread_number(const char **at);

/* The number in the @fields-th field behind *@at, which moves behind it. */
uint64_t procread_field(const char **at, int fields);

/* Append to the C string that ends at @at; returns its new end. */
char *procread_put(char *at, const char *text);
char *procread_put_number(char *at, unsigned number);

/* ---- lists ---- */

/* Call @fn with each number in the file @fd, from its beginning, until it returns false. A long
 * list too: the kernel gives it in pieces. Returns 0, or -errno when the end was not reached. */
long procread_numbers(int fd, bool (*fn)(void *ctx, int number), void *ctx);

/* Call @fn with each name in the directory @path but those that begin with a dot, until it returns
 * false. It may read anything but another directory. Returns 0 or -errno. */
long procread_directory(const char *path, bool (*fn)(void *ctx, const char *name), void *ctx);

/* Call @fn with an open /proc/PID/task/TID/NAME of each thread until it returns false. It may read
 * anything but a directory. How many could be opened. */
int procread_threads(int pid, const char *name, bool (*fn)(void *ctx, int fd), void *ctx);

/* Call @fn with each child of each thread of @pid until it returns false. Returns 0, or -1 when no
 * list could be opened: the process is gone, or the kernel has none (CONFIG_PROC_CHILDREN). */
int procread_children(int pid, bool (*fn)(void *ctx, int child), void *ctx);

/* ---- facts ---- */

struct procread_stat {
	char state;           /* 'R', 'S', 'T', 'Z' ... */
	int parent, group;    /* pid of the parent, number of the process group */
	uint32_t threads;
	uint64_t cpu_ticks;   /* its own time, user and system, in 1/100 s */
	uint64_t child_ticks; /* that of the children it has waited for */
	uint64_t rss_pages;
	bool ignores_children; /* it ignores SIGCHLD: the kernel drops the time of those that end */
};

/* 0, or -1 when the process is gone or unreadable. */
int procread_stat(int pid, struct procread_stat *stat);

/* Does it live? Where the first thread has ended a zombie is seen, and the others live on. */
bool procread_shows_life(const struct procread_stat *stat);

/* Storage bytes in the @text of an io file: of a process and its reaped children. 0 or -1. */
int procread_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes);

#endif
