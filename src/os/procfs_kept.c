#include "os/procfs_kept.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/mem.h"
#include "os/shim/procread.h"

static const char *const names[PROCFS_FILES] = {
	[PROCFS_STAT] = "/stat", [PROCFS_IO] = "/io", [PROCFS_SYSCALL] = "/syscall",
};

static struct procfs_kept {
	pid_t root, pid; /* pid 0: this place is free */
	int fds[PROCFS_FILES]; /* 0: not open */
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

bool procfs_kept_add(pid_t root, pid_t pid)
{
	static size_t oldest;
	struct procfs_kept *k = procfs_kept_find(pid);

	if (k && k->root == root)
		return true;
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

long procfs_kept_read(pid_t pid, enum procfs_file file, const char **text)
{
	struct procfs_kept *k = procfs_kept_find(pid);

	if (!k)
		return procread_of(pid, names[file], text);
	return procfs_kept_open(k, file) < 0 ? -1 : procread_file(k->fds[file], text);
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
