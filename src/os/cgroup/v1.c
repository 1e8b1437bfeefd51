/* Version 1: a directory in each controller's own hierarchy. */
#include "os/cgroup/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

static bool v1_has_file(int dir, const char *file)
{
	return faccessat(dir, file, F_OK, 0) == 0;
}

/* Limit memory plus swap where the kernel counts swap; else turn swapping off for this group. The
 * kernel refuses memsw below the memory limit, so set memory first. */
static int v1_limit_memory(const struct cgroup_fs *fs, int dir, int64_t bytes)
{
	if (cgroup_write_number(fs, dir, "memory.limit_in_bytes", bytes))
		return -1;
	if (v1_has_file(dir, "memory.memsw.limit_in_bytes"))
		return cgroup_write_number(fs, dir, "memory.memsw.limit_in_bytes", bytes);
	return cgroup_write_number(fs, dir, "memory.swappiness", 0);
}

/* Is the parent's quota no more than @q? */
static bool v1_parent_quota_is_tighter(int dir, struct cgroup_quota q)
{
	int64_t quota = cgroup_read_number(dir, "../cpu.cfs_quota_us", NULL);
	int64_t period = cgroup_read_number(dir, "../cpu.cfs_period_us", NULL);

	return quota > 0 && period > 0 && quota * q.period_us <= q.quota_us * period;
}

static int v1_limit_cpu(const struct cgroup_fs *fs, int dir, int64_t permille)
{
	struct cgroup_quota q = cgroup_quota_of(permille);

	if (cgroup_write_number(fs, dir, "cpu.cfs_period_us", q.period_us))
		return -1;
	if (!cgroup_write_number(fs, dir, "cpu.cfs_quota_us", q.quota_us))
		return 0;
	/* The kernel refuses more than the parent has; then the parent's quota already holds. */
	if (errno != EINVAL)
		return -1;
	if (v1_parent_quota_is_tighter(dir, q))
		return 0;
	errno = EINVAL;
	return -1;
}

static int v1_watch_oom(const struct cgroup_fs *fs, int dir, int *source)
{
	AUTO_CLOSE int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	AUTO_CLOSE int control =
		openat(dir, "memory.oom_control", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[32];
	int fd;

	*source = -1;
	if (event < 0 || control < 0)
		return -1;
	snprintf(text, sizeof(text), "%d %d", event, control);
	if (fs->write(dir, "cgroup.event_control", text))
		return -1;
	fd = event;
	event = -1;
	return fd;
}

/* Has this group ever come near its limit? Recent kernels no longer count failcnt. */
static bool v1_was_full(int dir)
{
	int64_t limit = cgroup_read_number(dir, "memory.limit_in_bytes", NULL);

	return cgroup_read_number(dir, "memory.failcnt", NULL) > 0 ||
	       cgroup_read_number(dir, "memory.memsw.failcnt", NULL) > 0 ||
	       cgroup_read_number(dir, "memory.max_usage_in_bytes", NULL) >= limit - limit / 16 ||
	       cgroup_read_number(dir, "memory.memsw.max_usage_in_bytes", NULL) >=
		       limit - limit / 16;
}

/* The counter includes kills because the whole machine ran out of memory; those do not reach the
 * group's limit. */
static int64_t v1_oom_kills(int dir, int fd, int source)
{
	int64_t kills = cgroup_read_number(dir, "memory.oom_control", "oom_kill");
	uint64_t events;
	ssize_t n;

	(void)source;
	if (fd >= 0) {
		n = read(fd, &events, sizeof(events));
		(void)n; /* empty is fine: callers ask at any time */
	}
	return kills > 0 && !v1_was_full(dir) ? 0 : kills;
}

static int64_t v1_memory_peak(int dir)
{
	return cgroup_read_number(dir, "memory.max_usage_in_bytes", NULL);
}

static int64_t v1_cpu_us(int dir)
{
	int64_t ns = cgroup_read_number(dir, "cpuacct.usage", NULL);

	return ns < 0 ? -1 : ns / 1000;
}

/* Stop forks (pids.max) or freeze the group first: then the list is complete. */
static int v1_kill(const struct cgroup_fs *fs, int pids, int freezer)
{
	if (pids >= 0 && !fs->write(pids, "pids.max", "0"))
		return cgroup_kill_listed(pids);
	if (freezer < 0)
		return -1;
	fs->write(freezer, "freezer.state", "FROZEN");
	return cgroup_kill_frozen(fs, freezer, "freezer.state", "THAWED");
}

const struct cgroup_ops cgroup_ops_v1 = {
	.version = 1,
	/* Not cgroup.procs: a thread that moves itself by `tasks` needs no kernel grace period. */
	.join_file = "tasks",
	.limit_memory = v1_limit_memory,
	.limit_cpu = v1_limit_cpu,
	.watch_oom = v1_watch_oom,
	.oom_kills = v1_oom_kills,
	.memory_peak = v1_memory_peak,
	.cpu_us = v1_cpu_us,
	.kill = v1_kill,
};
