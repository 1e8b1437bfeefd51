#include "os/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/pid_list.h"

/* Read a small file as a C string. Length, or -1. */
static ssize_t read_text(const char *path, char *out, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, out, size - 1);
	if (n < 0)
		return -1;
	out[n] = '\0';
	return n;
}

int procfs_stat(pid_t pid, struct procfs_stat *st)
{
	char path[64], text[1024], *at;
	long parent;
	unsigned long utime, stime;
	long cutime, cstime, threads, rss;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return -1;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	if (!at || sscanf(at + 1,
			  " %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d "
			  "%ld %*d %*u %*u %ld",
			  &st->state, &parent, &utime, &stime, &cutime, &cstime, &threads,
			  &rss) != 8)
		return -1;
	st->parent = (pid_t)parent;
	st->threads = threads;
	st->child_ticks = (uint64_t)(cutime + cstime);
	st->cpu_ticks = utime + stime + st->child_ticks;
	st->rss_bytes = (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int procfs_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes)
{
	char path[64], text[512];
	const char *r, *w;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return -1;
	r = strstr(text, "\nread_bytes: ");
	w = strstr(text, "\nwrite_bytes: ");
	if (!r || !w)
		return -1;
	*read_bytes = strtoull(r + 13, NULL, 10);
	*write_bytes = strtoull(w + 14, NULL, 10);
	return 0;
}

struct children {
	pid_t *out;
	int count, max;
};

static void add_child(void *ctx, pid_t pid)
{
	struct children *c = ctx;

	if (pid && c->count < c->max)
		c->out[c->count++] = pid;
}

/* Append the pids in the children file @path to the @count in @out; the new count, or -1. */
static int add_children(const char *path, pid_t *out, int count, int max)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct children c = { out, count, max };

	if (fd < 0)
		return -1;
	pid_list_read(fd, add_child, &c); /* of a process that ends, what it could be told */
	return c.count;
}

static int children_by_scan(pid_t pid, pid_t *out, int max)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (dir && count < max && (entry = readdir(dir))) {
		struct procfs_stat st;
		int candidate = atoi(entry->d_name);

		if (candidate > 0 && !procfs_stat(candidate, &st) && st.parent == pid)
			out[count++] = candidate;
	}
	if (dir)
		closedir(dir);
	return dir ? count : -1;
}

int procfs_children(pid_t pid, pid_t *out, int max)
{
	char path[300];
	struct dirent *entry;
	bool listed = false;
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && count < max && (entry = readdir(dir))) {
		int more;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
		more = add_children(path, out, count, max);
		if (more < 0)
			continue;
		listed = true;
		count = more;
	}
	if (dir)
		closedir(dir);
	return listed ? count : children_by_scan(pid, out, max);
}

static bool is_listed(const pid_t *pids, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Append the children of @pid that are not yet among the @count in @out; the new count, or -1. */
static int add_new_children(pid_t pid, pid_t *out, int count, int max)
{
	int kept = count, more = procfs_children(pid, out + count, max - count);

	for (int i = count; i < count + more; i++)
		if (!is_listed(out, kept, out[i]))
			out[kept++] = out[i];
	return more < 0 ? -1 : kept;
}

/* The children of one that ends while we look become those of @pid: look there again. */
int procfs_tree(pid_t pid, pid_t *out, int max)
{
	int done = 0, count = add_new_children(pid, out, 0, max), more;

	while (done < count) {
		for (; done < count; done++) {
			more = add_new_children(out[done], out, count, max);
			count = more > count ? more : count;
		}
		more = add_new_children(pid, out, count, max);
		count = more > count ? more : count;
	}
	return count;
}

/* The last number in the NSpid line, or 0. */
static pid_t innermost(pid_t pid)
{
	char path[40], text[4096];
	const char *line, *last;
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	last = line + strcspn(line + 1, "\n");
	while (last > line && *last >= '0' && *last <= '9')
		last--;
	return (pid_t)atoi(last + 1);
}

pid_t procfs_find_inner(pid_t keeper, pid_t inner)
{
	pid_t pids[64]; /* the command is the first of them: far more than it takes */
	int count = procfs_children(keeper, pids, (int)COUNT_OF(pids));

	for (int i = 0; i < count; i++)
		if (innermost(pids[i]) == inner)
			return pids[i];
	return 0;
}
