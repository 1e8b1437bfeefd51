/*
 * procread - reads facts about processes from /proc (proc(5)) without a C library: the
 * server and the shim both link this file.
 *
 * A process may vanish at any moment; every function reports that. Results are in static
 * buffers: use one thread only, and call nothing of this module from a callback unless
 * the function says that it is allowed.
 */
#ifndef PROCPEN_OS_SHIM_PROCREAD_H
#define PROCPEN_OS_SHIM_PROCREAD_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the current directory is the /proc that is read. */
void procread_from_here(void);

/* ---- texts; each is a C string, valid until the next call ---- */

/* Read the beginning of the open file @fd. Returns its length; 0 or negative: nothing was read. */
long procread_file(int fd, const char **text);

/* The same for /proc/PID/NAME; @name begins with a slash. */
long procread_of(int pid, const char *name, const char **text);

/* The rest of the line in @text that begins with @name, without leading blanks; NULL: no such
 * line. */
const char *procread_line(const char *text, const char *name);

/* Parse the decimal number at *@at and move *@at past it; 0 if there is none. */
uint64_t procread_number(const char **at);

/* Skip @fields blanks from *@at on, then parse the number there and move *@at past it. */
uint64_t procread_field(const char **at, int fields);

/* Append to the C string that ends at @at. Returns its new end. */
char *procread_put(char *at, const char *text);
char *procread_put_number(char *at, unsigned number);

/* ---- lists ---- */

/* Call @fn with each number in the file @fd, from its beginning, until it returns false. Reads
 * lists of any length. Returns 0, or -errno if reading failed before the end. */
long procread_numbers(int fd, bool (*fn)(void *ctx, int number), void *ctx);

/* Call @fn with each name in /proc that does not begin with a dot, until it returns false. @fn may
 * call this module, except to read a directory. Returns 0 or -errno. */
long procread_processes(bool (*fn)(void *ctx, const char *name), void *ctx);

/* Call @fn with an open /proc/PID/task/TID/NAME of each thread until it returns false. @fn may call
 * this module, except to read a directory. Returns how many files could be opened. */
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
	uint64_t child_ticks; /* the time of the children it has waited for */
	uint64_t rss_pages;
	bool ignores_children; /* it ignores SIGCHLD: the kernel drops the time of dead children */
};

/* 0, or -1 when the process is gone or unreadable. */
int procread_stat(int pid, struct procread_stat *stat);

/* The same from the @text of a stat file, of the length @n; 0 or negative: it was not read. */
int procread_parse_stat(const char *text, long n, struct procread_stat *stat);

/* Is the process alive? One whose first thread has ended shows as a zombie with more threads. */
bool procread_shows_life(const struct procread_stat *stat);

/* Storage bytes in the @text of an io file: of a process and its reaped children. 0 or -1. */
int procread_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes);

#endif
