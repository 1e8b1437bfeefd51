#include "proc/usage.h"

#include <unistd.h>

#include "os/procfs_kept.h"

/* The two figures come from different sources with different rounding: never below 0. */
static int64_t usage_since(int64_t now, int64_t before)
{
	return now > before ? now - before : 0;
}

static struct procfs_process usage_tree[USAGE_TREE_MAX];
static int usage_count; /* in it, the shim included; 0: none, -1: they could not be listed */

/* Not the shim's own time and memory, only the time of the processes that it reaped. */
static int64_t usage_add(const struct procfs_process *process, bool is_shim, struct usage *u,
			 int64_t *resident)
{
	const struct procread_stat *stat = &process->stat;
	uint64_t r, w;

	if (stat->state == 'X') /* gone since it was listed */
		return 0;
	if (!procfs_kept_io(process->pid, &r, &w)) {
		u->io_read_bytes += (int64_t)r;
		u->io_write_bytes += (int64_t)w;
	}
	if (is_shim)
		return (int64_t)stat->child_ticks;
	u->alive += procread_shows_life(stat);
	*resident += (int64_t)stat->rss_pages * sysconf(_SC_PAGESIZE);
	return (int64_t)(stat->cpu_ticks + stat->child_ticks);
}

int64_t usage_live(pid_t shim_pid, const struct spawn_past *past, int max, struct usage *u)
{
	int64_t tick_ms = 1000 / sysconf(_SC_CLK_TCK), ticks = 0;
	int64_t peak = u->memory_peak_bytes, resident = 0;

	usage_count = shim_pid > 0 ? procfs_tree(shim_pid, usage_tree, max) : -1;
	if (usage_count < 0) {
		u->alive = -1;
		return 0;
	}
	*u = (struct usage){ 0 };
	for (int i = 0; i < usage_count; i++)
		ticks += usage_add(&usage_tree[i], !i, u, &resident);
	u->cpu_ms = usage_since(ticks * tick_ms, (int64_t)past->cpu_us / 1000);
	u->io_read_bytes = usage_since(u->io_read_bytes, (int64_t)past->io_read_bytes);
	u->io_write_bytes = usage_since(u->io_write_bytes, (int64_t)past->io_write_bytes);
	u->memory_peak_bytes = resident > peak ? resident : peak;
	return resident;
}

int usage_processes(pid_t shim_pid, const struct procfs_process **processes)
{
	*processes = usage_tree + 1;
	return usage_count > 0 && usage_tree[0].pid == shim_pid ? usage_count - 1 : -1;
}
