#include "proc/usage.h"

#include <unistd.h>

#include "os/procfs.h"

/* The two figures come from different sources with different rounding: never below 0. */
static int64_t usage_since(uint64_t now, uint64_t before)
{
	return now > before ? (int64_t)(now - before) : 0;
}

void usage_live(pid_t shim_pid, const struct spawn_past *past, int max, struct usage *u)
{
	static pid_t pids[USAGE_TREE_MAX];
	int64_t tick_ms = 1000 / sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0, rss = 0, io_read = 0, io_write = 0, r, w;
	struct procfs_stat st;
	int count;

	u->alive = -1;
	if (shim_pid <= 0)
		return;
	/* Do not count the shim's own time, only that of the processes it reaped. */
	if (!procfs_stat(shim_pid, &st))
		ticks = st.child_ticks;
	if (!procfs_io(shim_pid, &r, &w)) {
		io_read = r;
		io_write = w;
	}
	count = procfs_tree(shim_pid, pids, max);
	if (count >= 0)
		u->alive = 0;
	for (int i = 0; i < count; i++) {
		if (procfs_stat(pids[i], &st))
			continue;
		u->alive += (st.state != 'Z' || st.threads > 1) && st.state != 'X';
		ticks += st.cpu_ticks;
		rss += st.rss_bytes;
		if (!procfs_io(pids[i], &r, &w)) {
			io_read += r;
			io_write += w;
		}
	}
	u->cpu_ms = usage_since(ticks * (uint64_t)tick_ms, past->cpu_us / 1000);
	u->io_read_bytes = usage_since(io_read, past->io_read_bytes);
	u->io_write_bytes = usage_since(io_write, past->io_write_bytes);
	u->memory_bytes = (int64_t)rss;
	if ((int64_t)rss > u->memory_peak_bytes)
		u->memory_peak_bytes = (int64_t)rss;
}
