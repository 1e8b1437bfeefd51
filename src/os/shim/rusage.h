/*
 * rusage - resource usage of the reaped processes of the current command.
 *
 * The kernel's own sums cover the shim's whole life, and a shim may serve one command
 * after another. So this module adds up every reaped process itself.
 */
#ifndef PROCPEN_OS_SHIM_RUSAGE_H
#define PROCPEN_OS_SHIM_RUSAGE_H

#include <stdint.h>

#include "os/shim/proto.h"

/* getrusage(2). Blocks are of 512 bytes on every file system: Linux counts the bytes of proc(5),
 * /proc/PID/io, read_bytes and write_bytes, and divides. */
struct kernel_rusage {
	long utime_s, utime_us, stime_s, stime_us;
	long maxrss_kib;
	long unused[6];
	long blocks_read, blocks_written;
	long rest[5];
};

/* A command begins. */
void rusage_start(void);

/* Add a reaped process; @usage includes the children that it had reaped. */
void rusage_add(const struct kernel_rusage *usage);

/* Processor time of all reaped processes, in microseconds. */
uint64_t rusage_cpu_us(void);

/* Write the usage to @report. */
void rusage_report(struct shim_report *report);

#endif
