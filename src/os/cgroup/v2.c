/* Version 2: one directory per run, beside the server's own leaf. */
#include "os/cgroup/v2.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/cgroup/ops.h"

/* The controllers that we use, by the role they serve. */
static const enum cgroup_role usable[] = {
	CGROUP_ROLE_MEMORY, CGROUP_ROLE_CPU, CGROUP_ROLE_PIDS,
};

/* Write, and accept that the kernel does not have the file. */
static int v2_write_if_there(const struct cgroup_fs *fs, int dir, const char *file,
			     const char *text)
{
	return fs->write(dir, file, text) && errno != ENOENT ? -1 : 0;
}

/* Turn swap off, because memory.max does not count it, and let the kernel kill the whole group
 * (memory.oom.group, Linux 4.19). */
static int v2_limit_memory(const struct cgroup_fs *fs, int dir, int64_t bytes)
{
	if (cgroup_write_number(fs, dir, "memory.max", bytes) ||
	    v2_write_if_there(fs, dir, "memory.swap.max", "0"))
		return -1;
	return v2_write_if_there(fs, dir, "memory.oom.group", "1");
}

static int v2_limit_cpu(const struct cgroup_fs *fs, int dir, int64_t permille)
{
	struct cgroup_quota q = cgroup_quota_of(permille);
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, q.quota_us, q.period_us);
	return fs->write(dir, "cpu.max", text);
}

static int64_t v2_oom_kills(int dir, int fd, int source)
{
	char text[512];
	ssize_t n;

	(void)dir;
	(void)fd;
	if (source < 0 || (n = pread(source, text, sizeof(text) - 1, 0)) < 0)
		return -1;
	text[n] = '\0';
	/* "oom 0": the group's limit was not reached; the whole machine ran out of memory. */
	return cgroup_find_number(text, "oom") == 0 ? 0 : cgroup_find_number(text, "oom_kill");
}

/* memory.events is always readable and signals changes by POLLPRI only, which the loop cannot
 * watch. So return an epoll instance that asks for EPOLLPRI alone. Reading the file rearms it. */
static int v2_watch_oom(const struct cgroup_fs *fs, int dir, int *source)
{
	struct epoll_event event = { .events = EPOLLPRI };
	AUTO_CLOSE int file = openat(dir, "memory.events", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int poll = epoll_create1(EPOLL_CLOEXEC);
	int fd;

	(void)fs;
	*source = -1;
	if (file < 0 || poll < 0 || v2_oom_kills(dir, -1, file) < 0)
		return -1;
	if (epoll_ctl(poll, EPOLL_CTL_ADD, file, &event) == 0) {
		fd = poll;
		poll = -1;
	} else {
		fd = -1; /* an ordinary file, or no watches left: read the counters without it */
	}
	*source = file;
	file = -1;
	return fd;
}

static int64_t v2_memory_peak(int dir)
{
	return cgroup_read_number(dir, "memory.peak", NULL); /* since Linux 5.19 */
}

static int64_t v2_cpu_us(int dir)
{
	return cgroup_read_number(dir, "cpu.stat", "usage_usec");
}

/* cgroup.kill needs Linux 5.14. Before that, freeze the group: it cannot fork, and SIGKILL still
 * works. */
static int v2_kill(const struct cgroup_fs *fs, int pids, int freezer)
{
	int dir = freezer >= 0 ? freezer : pids;

	if (!fs->write(dir, "cgroup.kill", "1"))
		return 0;
	if (errno != ENOENT || fs->write(dir, "cgroup.freeze", "1"))
		return -1;
	return cgroup_kill_frozen(fs, dir, "cgroup.freeze", "0");
}

const struct cgroup_ops cgroup_ops_v2 = {
	.version = 2,
	.join_file = "cgroup.procs",
	.limit_memory = v2_limit_memory,
	.limit_cpu = v2_limit_cpu,
	.watch_oom = v2_watch_oom,
	.oom_kills = v2_oom_kills,
	.memory_peak = v2_memory_peak,
	.cpu_us = v2_cpu_us,
	.kill = v2_kill,
};

/* Does any process but the server live in @home? An unreadable list counts as yes. */
static bool v2_has_other_processes(int home)
{
	char text[256], own[16];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	return cgroup_read(home, "cgroup.procs", text, sizeof(text)) < 0 || strcmp(text, own) != 0;
}

/* The roles whose controllers @file lists. */
static unsigned v2_controllers(int home, const char *file)
{
	char text[512];
	unsigned roles = 0;

	cgroup_read(home, file, text, sizeof(text));
	for (size_t i = 0; i < COUNT_OF(usable); i++)
		if (cgroup_has_word(text, cgroup_role_names[usable[i]]))
			roles |= 1U << usable[i];
	return roles;
}

/* Write "+name" or "-name" for each of @roles. Returns those that worked; errno is that of the
 * last failure. */
static unsigned v2_switch_controllers(const struct cgroup_fs *fs, int home, char sign,
				      unsigned roles)
{
	unsigned done = 0;
	char text[16];

	for (size_t i = 0; i < COUNT_OF(usable); i++) {
		if (!(roles & 1U << usable[i]))
			continue;
		snprintf(text, sizeof(text), "%c%s", sign, cgroup_role_names[usable[i]]);
		if (!fs->write(home, "cgroup.subtree_control", text))
			done |= 1U << usable[i];
	}
	return done;
}

static int v2_enter_leaf(const struct cgroup_fs *fs, struct cgroup_delegation *d)
{
	d->lock = -1;
	if (fs->make(d->home, d->leaf) && errno != EEXIST)
		return -1;
	d->lock = cgroup_open_locked(d->home, d->leaf);
	if (d->lock >= 0 && !fs->write(d->lock, "cgroup.procs", "0")) {
		d->moved = true;
		return 0;
	}
	mem_cleanup_close(&d->lock);
	fs->remove(d->home, d->leaf);
	return -1;
}

/* Disable the controllers first: a group that gives controllers to its children takes no
 * process. */
static void v2_leave_leaf(struct cgroup_delegation *d)
{
	const struct cgroup_fs *fs = d->fs;
	int saved = errno;

	v2_switch_controllers(fs, d->home, '-', d->enabled);
	d->enabled = 0;
	if (d->moved && !fs->write(d->home, "cgroup.procs", "0")) {
		mem_cleanup_close(&d->lock);
		fs->remove(d->home, d->leaf);
		d->moved = false;
	}
	errno = saved;
}

/* Enable @missing in the server's own group, which must hold no process: move into the leaf. */
static unsigned v2_enable_in_own(struct cgroup_delegation *d, unsigned missing, char *why,
				 size_t size)
{
	if (v2_has_other_processes(d->home)) {
		snprintf(why, size, "other processes live in the server's own control group, so no "
			 "controllers can be enabled in it");
		return 0;
	}
	if (v2_enter_leaf(d->fs, d)) {
		snprintf(why, size, "the server cannot move into a control group of its own: %s",
			 cgroup_error_text(errno));
		return 0;
	}
	d->enabled = v2_switch_controllers(d->fs, d->home, '+', missing);
	if (d->enabled != missing)
		snprintf(why, size, "not all controllers can be enabled in the server's control "
			 "group: %s", cgroup_error_text(errno));
	if (!d->enabled)
		v2_leave_leaf(d);
	return d->enabled;
}

/* The root group may hold processes and controllers at once. Other servers use these controllers
 * too, so never disable them. */
static unsigned v2_enable_in_root(const struct cgroup_delegation *d, unsigned missing, char *why,
				  size_t size)
{
	unsigned done = v2_switch_controllers(d->fs, d->home, '+', missing);

	if (done != missing)
		snprintf(why, size,
			 "not all controllers can be enabled in the root control group: %s",
			 cgroup_error_text(errno));
	return done;
}

unsigned cgroup_v2_enter(struct cgroup_delegation *d, char *why, size_t size)
{
	unsigned have = v2_controllers(d->home, "cgroup.controllers");
	unsigned enabled = v2_controllers(d->home, "cgroup.subtree_control");
	unsigned missing = have & ~enabled;
	char type[32];
	/* Only the root group has no type. */
	bool root = cgroup_read(d->home, "cgroup.type", type, sizeof(type)) < 0 && errno == ENOENT;

	if (!have) {
		snprintf(why, size,
			 "the server's control group has no memory, cpu or pids controller");
		return 0;
	}
	if (!missing)
		return enabled;
	if (root)
		return enabled | v2_enable_in_root(d, missing, why, size);
	if (strcmp(type, "domain") != 0) {
		snprintf(why, size, "the server's control group is of type \"%s\"", type);
		return enabled;
	}
	return enabled | v2_enable_in_own(d, missing, why, size);
}

void cgroup_v2_leave(struct cgroup_delegation *d)
{
	if (d->moved)
		v2_leave_leaf(d);
	mem_cleanup_close(&d->lock);
}
