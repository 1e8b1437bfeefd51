/*
 * rusage - resource usage of the reaped processes of the current command.
 *
 * The kernel's own sums cover the shim's whole life, and a shim may serve one command
 * after another; so every reaped process is added up here.
 */
#ifndef PROCPEN_OS_SHIM_RUSAGE_H
#define PROCPEN_OS_SHIM_RUSAGE_H

#include <stdint.h>

#include "os/shim/proto.h"

/* getrusage(2). */
struct kernel_rusage {
	long utime_s, utime_us, stime_s, stime_us;
	long maxrss_kib;
	long rest[13];
};

/* A command begins. @io_fd: our own /proc/self/io, negative without one. */
void rusage_start(int io_fd);

/* A process was collected: @usage is of it and of all that it had collected. */
void rusage_add(const struct kernel_rusage *usage);

/* Processor time of all that were collected, in microseconds. */
uint64_t rusage_cpu_us(void);

/* Put all of it into @report. */
void rusage_report(struct shim_report *report);

#endif
