#include "os/procfs_kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "os/shim/procread.h"

static const char *const names[PROCFS_FILES] = {
	[PROCFS_STAT] = "/stat", [PROCFS_IO] = "/io", [PROCFS_SYSCALL] = "/syscall",
	[PROCFS_SCHEDSTAT] = "/schedstat",
};

#define SHOWN_FILES (PROCFS_IO + 1)

/* What a file showed, if it is not longer. */
struct shown {
	char text[512];
	size_t len; /* 0: not known */
};

static struct procfs_kept {
	pid_t root, pid; /* pid 0: this place is free */
	int fds[PROCFS_FILES]; /* 0: not open */
	bool rests; /* it is the root, and has not run since the last look */
	struct shown ran, shown[SHOWN_FILES];
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

static void procfs_kept_note(struct shown *s, const char *text, long n)
{
	s->len = n > 0 && (size_t)n < sizeof(s->text) ? (size_t)n : 0;
	memcpy(s->text, text, s->len);
	s->text[s->len] = '\0';
}

/* Its times on a processor, and how often it was there (Documentation/scheduler/sched-stats.rst).
 * Read before the other files: what it does meanwhile shows next time. */
static bool procfs_kept_has_rested(struct procfs_kept *k)
{
	const char *text = "";
	long n = procfs_kept_read_file(k, PROCFS_SCHEDSTAT, &text);
	bool same = n > 0 && (size_t)n == k->ran.len && !memcmp(k->ran.text, text, k->ran.len);

	procfs_kept_note(&k->ran, text, n);
	return same;
}

bool procfs_kept_add(pid_t root, pid_t pid)
{
	static size_t oldest;
	struct procfs_kept *k = procfs_kept_find(pid);

	if (k && k->root == root) {
		k->rests = pid == root && procfs_kept_has_rested(k);
		return true;
	}
	if (!k)
		k = procfs_kept_find(0);
	if (!k)
		k = &procfs_kept_all[oldest++ % PROCFS_KEPT];
	procfs_kept_free(k);
	k->root = root;
	k->pid = pid;
	return false;
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
	struct shown *shown;
	long n;

	if (!k)
		return procread_of(pid, names[file], text);
	if (file >= SHOWN_FILES || !k->ran.len)
		return procfs_kept_read_file(k, file, text);
	shown = &k->shown[file];
	if (k->rests && shown->len) {
		*text = shown->text;
		return (long)shown->len;
	}
	n = procfs_kept_read_file(k, file, text);
	procfs_kept_note(shown, n > 0 ? *text : "", n);
	return n;
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
