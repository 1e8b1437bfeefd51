#include "os/shim/rusage.h"

#define BLOCK_BYTES 512

static uint64_t cpu_us, maxrss_kib;
static uint64_t blocks_read, blocks_written;

void rusage_start(void)
{
	cpu_us = maxrss_kib = blocks_read = blocks_written = 0;
}

void rusage_add(const struct kernel_rusage *usage)
{
	cpu_us += (uint64_t)(usage->utime_s + usage->stime_s) * 1000000 +
		  (uint64_t)(usage->utime_us + usage->stime_us);
	if ((uint64_t)usage->maxrss_kib > maxrss_kib)
		maxrss_kib = (uint64_t)usage->maxrss_kib;
	blocks_read += (uint64_t)usage->blocks_read;
	blocks_written += (uint64_t)usage->blocks_written;
}

uint64_t rusage_cpu_us(void)
{
	return cpu_us;
}

void rusage_report(struct shim_report *report)
{
	report->cpu_us = cpu_us;
	report->maxrss_kib = maxrss_kib;
	report->io_read_bytes = blocks_read * BLOCK_BYTES;
	report->io_write_bytes = blocks_written * BLOCK_BYTES;
}
