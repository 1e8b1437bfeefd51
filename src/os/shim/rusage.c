#include "os/shim/rusage.h"

#include "os/shim/procread.h"

/* Bytes read from and written to storage so far (proc(5), /proc/PID/io). */
struct io {
	uint64_t read, written;
};

static uint64_t cpu_us, maxrss_kib;
static int io_fd;
static struct io total;  /* of all commands, at the last report; none is added between commands */
static struct io before; /* the part of earlier commands */

void rusage_start(int fd)
{
	cpu_us = maxrss_kib = 0;
	io_fd = fd;
	before = total;
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
		procread_io(text, &total.read, &total.written);
	report->io_read_bytes = total.read - before.read;
	report->io_write_bytes = total.written - before.written;
}
