#include "os/procfs_kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "os/shim/procread.h"

static const char *const names[PROCFS_FILES] = {
	[PROCFS_STAT] = "/stat", [PROCFS_IO] = "/io", [PROCFS_SYSCALL] = "/syscall",
};

static struct procfs_kept {
	pid_t root, pid; /* pid 0: this place is free */
	int fds[PROCFS_FILES]; /* 0: not open */
	/* Of the root, what its files have shown since it ran last. */
	clockid_t clock;     /* counts its time on a processor ... */
	struct timespec ran; /* ... which was this; zero: not known */
	bool has_stat, has_io;
	struct procread_stat stat;
	uint64_t read_bytes, write_bytes;
} procfs_kept_all[PROCFS_KEPT];

static struct procfs_kept *procfs_kept_find(pid_t pid)
{
	for (size_t i = 0; i < PROCFS_KEPT; i++)
		if (procfs_kept_all[i].pid == pid)
			return &procfs_kept_all[i];
	return NULL;
}

static void procfs_kept_free(struct procfs_kept *k)
{
	for (size_t i = 0; i < PROCFS_FILES; i++)
		if (k->fds[i] > 0)
			mem_cleanup_close(&k->fds[i]);
	*k = (struct procfs_kept){ 0 };
}

/* The open file; negative: it could not be opened. */
static int procfs_kept_open(struct procfs_kept *k, enum procfs_file file)
{
	char path[64];

	if (k->fds[file] > 0)
		return k->fds[file];
	if (file == PROCFS_CHILDREN)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)k->pid,
			 (int)k->pid);
	else
		snprintf(path, sizeof(path), "/proc/%d%s", (int)k->pid, names[file]);
	k->fds[file] = open(path, O_RDONLY | O_CLOEXEC);
	return k->fds[file];
}

static long procfs_kept_read_file(struct procfs_kept *k, enum procfs_file file, const char **text)
{
	return procfs_kept_open(k, file) < 0 ? -1 : procread_file(k->fds[file], text);
}

/* Its clock is read before its files: what it does meanwhile shows next time. */
static void procfs_kept_forget_if_it_ran(struct procfs_kept *k)
{
	struct timespec now;

	if (clock_gettime(k->clock, &now))
		now = (struct timespec){ 0 };
	if (now.tv_sec == k->ran.tv_sec && now.tv_nsec == k->ran.tv_nsec)
		return;
	k->has_stat = k->has_io = false;
	k->ran = now;
}

/* Is there a time at which its files would show the same? */
static bool procfs_kept_knows_when(const struct procfs_kept *k)
{
	return k->ran.tv_sec || k->ran.tv_nsec;
}

bool procfs_kept_again(pid_t root, pid_t pid)
{
	struct procfs_kept *k = procfs_kept_find(pid);

	if (!k || k->root != root)
		return false;
	if (pid == root)
		procfs_kept_forget_if_it_ran(k);
	return true;
}

void procfs_kept_add(pid_t root, pid_t pid)
{
	static size_t oldest;
	struct procfs_kept *k = procfs_kept_find(pid);

	if (!k)
		k = procfs_kept_find(0);
	if (!k)
		k = &procfs_kept_all[oldest++ % PROCFS_KEPT];
	procfs_kept_free(k);
	k->root = root;
	k->pid = pid;
	if (pid == root && clock_getcpuclockid(pid, &k->clock))
		k->clock = CLOCK_MONOTONIC; /* as if it ran all the time */
}

void procfs_kept_drop(pid_t pid)
{
	struct procfs_kept *k = procfs_kept_find(pid);

	if (k)
		procfs_kept_free(k);
}

void procfs_kept_drop_tree(pid_t root)
{
	for (size_t i = 0; i < PROCFS_KEPT; i++)
		if (root && procfs_kept_all[i].root == root)
			procfs_kept_free(&procfs_kept_all[i]);
}

long procfs_kept_read(pid_t pid, enum procfs_file file, const char **text)
{
	struct procfs_kept *k = procfs_kept_find(pid);

	return k ? procfs_kept_read_file(k, file, text) : procread_of(pid, names[file], text);
}

int procfs_kept_stat(pid_t pid, struct procread_stat *stat)
{
	struct procfs_kept *k = procfs_kept_find(pid);
	const char *text = NULL;
	long n;

	if (k && k->has_stat) {
		*stat = k->stat;
		return 0;
	}
	n = procfs_kept_read(pid, PROCFS_STAT, &text);
	if (procread_parse_stat(text, n, stat))
		return -1;
	if (k && procfs_kept_knows_when(k)) {
		k->has_stat = true;
		k->stat = *stat;
	}
	return 0;
}

int procfs_kept_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes)
{
	struct procfs_kept *k = procfs_kept_find(pid);
	const char *text;

	if (k && k->has_io) {
		*read_bytes = k->read_bytes;
		*write_bytes = k->write_bytes;
		return 0;
	}
	if (procfs_kept_read(pid, PROCFS_IO, &text) <= 0 ||
	    procread_io(text, read_bytes, write_bytes))
		return -1;
	if (k && procfs_kept_knows_when(k)) {
		k->has_io = true;
		k->read_bytes = *read_bytes;
		k->write_bytes = *write_bytes;
	}
	return 0;
}

int procfs_kept_children(pid_t pid, bool (*fn)(void *ctx, int child), void *ctx)
{
	struct procfs_kept *k = procfs_kept_find(pid);
	int fd = k ? procfs_kept_open(k, PROCFS_CHILDREN) : -1;

	if (fd < 0)
		return -1;
	(void)procread_numbers(fd, fn, ctx); /* a thread may end meanwhile: use what was read */
	return 0;
}
