#include "os/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/shim/procread.h"

#define TREE_LOOKS 4 /* at the root's children; a tree at rest needs two */

int procfs_stat(pid_t pid, struct procfs_stat *st)
{
	struct procread_stat stat;

	if (procread_stat(pid, &stat))
		return -1;
	st->state = stat.state;
	st->parent = stat.parent;
	st->threads = stat.threads;
	st->child_ticks = stat.child_ticks;
	st->cpu_ticks = stat.cpu_ticks + stat.child_ticks;
	st->rss_bytes = stat.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

uint64_t procfs_own_us(pid_t pid)
{
	const char *text;

	return procread_of(pid, "/schedstat", &text) > 0 ? strtoull(text, NULL, 10) / 1000 : 0;
}

int procfs_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes)
{
	const char *text;

	if (procread_of(pid, "/io", &text) <= 0)
		return -1;
	return procread_io(text, read_bytes, write_bytes);
}

struct children {
	pid_t parent, *out;
	int count, max;
};

/* Returns whether there is room for more. */
static bool procfs_add_child(void *ctx, int pid)
{
	struct children *c = ctx;

	if (pid && c->count < c->max)
		c->out[c->count++] = pid;
	return c->count < c->max;
}

static bool procfs_add_if_child(void *ctx, const char *name)
{
	struct children *c = ctx;
	int pid = (int)procread_number(&name);
	struct procread_stat stat;

	if (pid && !procread_stat(pid, &stat) && stat.parent == c->parent)
		procfs_add_child(c, pid);
	return c->count < c->max;
}

/* Has the kernel lists of children (CONFIG_PROC_CHILDREN)? Needs no descriptor. */
static bool procfs_has_lists(void)
{
	static bool has;

	has = has || !access("/proc/thread-self/children", F_OK);
	return has;
}

static bool procfs_is_gone(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return access(path, F_OK) && errno == ENOENT;
}

int procfs_children(pid_t pid, pid_t *out, int max)
{
	struct children c = { .parent = pid, .out = out, .max = max };

	if (!procread_children(pid, procfs_add_child, &c))
		return c.count;
	if (procfs_has_lists())
		return procfs_is_gone(pid) ? 0 : -1;
	return procread_processes(procfs_add_if_child, &c) ? -1 : c.count;
}

static bool procfs_pids_contain(const pid_t *pids, int count, pid_t pid)
{
	for (int i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Append the children of @pid that are not yet among the @count in @out; the new count, or -1. */
static int procfs_add_new_children(pid_t pid, pid_t *out, int count, int max)
{
	int kept = count, more = procfs_children(pid, out + count, max - count);

	for (int i = count; i < count + more; i++)
		if (!procfs_pids_contain(out, kept, out[i]))
			out[kept++] = out[i];
	return more < 0 ? -1 : kept;
}

/*
 * When a process ends during the walk, its children become those of @pid: list @pid again. A tree
 * that does nothing but fork and leave has new ones at each look, so the looks are bounded.
 */
int procfs_tree(pid_t pid, pid_t *out, int max)
{
	int done = 0, count = procfs_add_new_children(pid, out, 0, max), more;

	for (int look = 0; done < count && look < TREE_LOOKS; look++) {
		for (; done < count; done++) {
			more = procfs_add_new_children(out[done], out, count, max);
			count = more > count ? more : count;
		}
		more = procfs_add_new_children(pid, out, count, max);
		count = more > count ? more : count;
	}
	return count;
}

int procfs_no_new_privs(pid_t pid)
{
	const char *text, *line;

	if (procread_of(pid, "/status", &text) <= 0)
		return -1;
	line = procread_line(text, "NoNewPrivs:");
	return line ? procread_number(&line) != 0 : -1;
}

/* The last number in the NSpid line, or 0. */
static pid_t procfs_innermost_pid(pid_t pid)
{
	const char *text, *line, *last;

	if (procread_of(pid, "/status", &text) <= 0)
		return 0;
	line = procread_line(text, "NSpid:");
	if (!line)
		return 0;
	last = line + strcspn(line, "\n");
	while (last > line && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return (pid_t)procread_number(&last);
}

pid_t procfs_find_inner(pid_t shim, pid_t inner)
{
	pid_t pids[64]; /* more than enough: the command is the first child */
	int count = procfs_children(shim, pids, (int)COUNT_OF(pids));

	for (int i = 0; i < count; i++)
		if (procfs_innermost_pid(pids[i]) == inner)
			return pids[i];
	return 0;
}
