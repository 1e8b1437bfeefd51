/*
 * used - what the dead of the present command's tree have used.
 *
 * A keeper may serve one command after another, while the kernel adds up over the
 * keeper's whole life; so each process that is collected is counted here.
 */
#ifndef PROCPEN_OS_SHIM_USED_H
#define PROCPEN_OS_SHIM_USED_H

#include <stdint.h>

#include "os/shim/proto.h"

/* getrusage(2). */
struct kernel_rusage {
	long utime_s, utime_us, stime_s, stime_us;
	long maxrss_kib;
	long rest[13];
};

/* A command begins. @io_fd: our own /proc/self/io, negative without one. */
void used_start(int io_fd);

/* A process was collected: @usage is of it and of all that it had collected. */
void used_add(const struct kernel_rusage *usage);

/* Processor time of all that were collected, in microseconds. */
uint64_t used_cpu_us(void);

/* Put all of it into @report. */
void used_tell(struct shim_report *report);

#endif
