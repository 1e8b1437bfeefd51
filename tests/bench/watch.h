/*
 * watch - what /proc says about the server, its shims and its jobs.
 *
 * procpen hides its memory map and descriptors from all but root: those figures
 * are NAN for anybody else.
 */
#ifndef PROCPEN_BENCH_WATCH_H
#define PROCPEN_BENCH_WATCH_H

#include <sys/types.h>

double watch_cpu_us(pid_t pid);                        /* of its one thread */
double watch_status_kb(pid_t pid, const char *field);  /* "VmHWM", "RssAnon" ... */
double watch_pss_kb(pid_t pid);
double watch_fds(pid_t pid);

/* Children of @pid: how many, and *@pss_kb of them all together unless NULL. */
int watch_children(pid_t pid, double *pss_kb);

/* Processes that have @word in their command line. */
int watch_count(const char *word);

#endif
