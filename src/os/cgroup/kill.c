/*
 * The kill by list. Between reading a pid and signalling it the process may end and
 * the kernel may reuse its number for a stranger. So open a pidfd for each pid, then
 * read the list again: a pid still listed has been in the group since its pidfd was
 * opened, or its pidfd refers to a dead process.
 */
#include "os/cgroup/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/shim/procread.h"

#define PASSES_MAX 32
#define HANDLES_MAX 64 /* open at once */
#define PIDS_MAX 65536 /* that one group may list */

struct pids {
	pid_t *all;
	size_t count, room;
};

static int kill_pids_compare(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static bool kill_pids_contain(const struct pids *p, pid_t pid)
{
	return p->count && bsearch(&pid, p->all, p->count, sizeof(pid), kill_pids_compare);
}

/* Skips 0 (a process of another PID namespace) and the server itself. */
static bool kill_pids_add(void *ctx, int pid)
{
	struct pids *p = ctx;

	if (pid <= 1 || pid == getpid() || p->count == PIDS_MAX)
		return true;
	if (p->count == p->room)
		p->all = mem_grow(p->all, &p->room, 64, sizeof(*p->all));
	p->all[p->count++] = pid;
	return true;
}

/* Read the list, sorted. 0 or -1 with errno. */
static int kill_pids_read(int dir, struct pids *p)
{
	AUTO_CLOSE int fd = openat(dir, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	long result;

	p->count = 0;
	if (fd < 0)
		return -1;
	result = procread_numbers(fd, kill_pids_add, p);
	if (p->count)
		qsort(p->all, p->count, sizeof(*p->all), kill_pids_compare);
	if (!result)
		return 0;
	errno = (int)-result;
	return -1;
}

/* 0, or -1 if the kill is not permitted. @handle is -1 on old kernels and when descriptors run
 * out. */
static int kill_pid(pid_t pid, int handle)
{
	long result = handle >= 0 ? syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0)
				  : kill(pid, SIGKILL);

	return result && errno != ESRCH ? -1 : 0;
}

/* Kill those of @pids (up to HANDLES_MAX) that a second read still lists. 0 or -1. */
static int kill_batch(int dir, const pid_t *pids, size_t count, struct pids *again)
{
	int handles[HANDLES_MAX], result;
	bool gone[HANDLES_MAX];

	for (size_t i = 0; i < count; i++) {
		handles[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
		gone[i] = handles[i] < 0 && errno == ESRCH;
	}
	result = kill_pids_read(dir, again);
	for (size_t i = 0; i < count; i++) {
		if (!gone[i] && kill_pids_contain(again, pids[i]) && kill_pid(pids[i], handles[i]))
			result = -1; /* go on with the others */
		mem_cleanup_close(&handles[i]);
	}
	return result;
}

static int kill_listed(int dir, const struct pids *now, struct pids *again)
{
	int result = 0;

	for (size_t i = 0; i < now->count; i += HANDLES_MAX) {
		size_t left = now->count - i;

		if (kill_batch(dir, now->all + i, left < HANDLES_MAX ? left : HANDLES_MAX, again))
			result = -1;
	}
	return result;
}

static bool kill_pids_any_new(const struct pids *now, const struct pids *before)
{
	for (size_t i = 0; i < now->count; i++)
		if (!kill_pids_contain(before, now->all[i]))
			return true;
	return false;
}

/* Kill one group without the groups below it. */
static int kill_one_group(int dir)
{
	struct pids now = { 0 }, before = { 0 }, again = { 0 };
	int result = 0, pass = 0;

	for (; pass < PASSES_MAX; pass++) {
		struct pids swap = before;

		before = now;
		now = swap;
		if (kill_pids_read(dir, &now)) {
			result = errno == EOPNOTSUPP ? result : -1; /* threaded: lists none */
			break;
		}
		if (!kill_pids_any_new(&now, &before))
			break;
		result = kill_listed(dir, &now, &again);
	}
	free(now.all);
	free(before.all);
	free(again.all);
	return pass == PASSES_MAX ? -1 : result;
}

struct walk {
	int depth;
	int result;
};

static int kill_below(void *ctx, int dir, const char *name)
{
	struct walk *above = ctx, below = { above->depth + 1, 0 };
	AUTO_CLOSE int child = cgroup_open_dir(dir, name);

	if (child < 0) {
		above->result = errno == ENOENT ? above->result : -1;
		return 0;
	}
	below.result = kill_one_group(child);
	if (below.depth < CGROUP_DEPTH_MAX)
		cgroup_each_child(child, kill_below, &below);
	else
		below.result = -1;
	above->result = below.result ? -1 : above->result;
	return 0;
}

int cgroup_kill_listed(int dir)
{
	struct walk top = { 0, kill_one_group(dir) };

	cgroup_each_child(dir, kill_below, &top);
	return top.result;
}

int cgroup_kill_frozen(const struct cgroup_fs *fs, int dir, const char *file, const char *thaw)
{
	int result = cgroup_kill_listed(dir);

	if (fs->write(dir, file, thaw))
		return -1;
	/* Some processes may not have been frozen yet. */
	return cgroup_kill_listed(dir) ? -1 : result;
}
