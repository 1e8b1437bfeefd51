#include "os/shim/rusage.h"

#include "os/shim/procread.h"

/* What was written and read so far, in storage (proc(5), /proc/PID/io). */
struct io {
	uint64_t read, written;
};

static uint64_t cpu_us, maxrss_kib;
static int io_fd;
static struct io told;   /* the last that was read: nothing of ours is added between two commands */
static struct io before; /* of that, what earlier commands did */

void rusage_start(int fd)
{
	cpu_us = maxrss_kib = 0;
	io_fd = fd;
	before = told;
}

void rusage_add(const struct kernel_rusage *usage)
{
	cpu_us += (uint64_t)(usage->utime_s + usage->stime_s) * 1000000 +
		  (uint64_t)(usage->utime_us + usage->stime_us);
	if ((uint64_t)usage->maxrss_kib > maxrss_kib)
		maxrss_kib = (uint64_t)usage->maxrss_kib;
}

uint64_t rusage_cpu_us(void)
{
	return cpu_us;
}

void rusage_report(struct shim_report *report)
{
	const char *text;

	report->cpu_us = cpu_us;
	report->maxrss_kib = maxrss_kib;
	if (io_fd < 0)
		return;
	if (procread_file(io_fd, &text) > 0)
		procread_io(text, &told.read, &told.written);
	report->io_read_bytes = told.read - before.read;
	report->io_write_bytes = told.written - before.written;
}
