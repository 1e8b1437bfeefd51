#include "os/procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/procfs_kept.h"

#define TREE_LOOKS 4 /* at the root's children; a tree at rest needs one */

/* The processor time of a look, and what is enough of it where others leave us so little that the
 * look has already taken TREE_SLOW_US. */
#define TREE_US 250000
#define TREE_SHORT_US 20000
#define TREE_SLOW_US 1000000

uint64_t procfs_own_us(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* A look through all processes for the children of one. */
struct scan {
	pid_t parent;
	bool (*fn)(void *ctx, int child);
	void *ctx;
};

static bool procfs_scan_process(void *ctx, const char *name)
{
	const struct scan *s = ctx;
	int pid = (int)procread_number(&name);
	struct procread_stat stat;

	return !pid || procread_stat(pid, &stat) || stat.parent != s->parent || s->fn(s->ctx, pid);
}

/* Has the kernel lists of children (CONFIG_PROC_CHILDREN)? Needs no descriptor. */
static bool procfs_has_lists(void)
{
	static bool has;

	has = has || !access("/proc/thread-self/children", F_OK);
	return has;
}

bool procfs_is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Call @fn with each child of @pid until it returns false. 0, or -1: they cannot be listed. */
static int procfs_each_child(pid_t pid, bool (*fn)(void *ctx, int child), void *ctx)
{
	struct scan s = { pid, fn, ctx };

	if (!procread_children(pid, fn, ctx))
		return 0;
	if (procfs_has_lists())
		return procfs_is_gone(pid) ? 0 : -1;
	return procread_processes(procfs_scan_process, &s) ? -1 : 0;
}

struct children {
	pid_t *out;
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

int procfs_children(pid_t pid, pid_t *out, int max)
{
	struct children c = { out, 0, max };

	return procfs_each_child(pid, procfs_add_child, &c) ? -1 : c.count;
}

/* ---- trees ---- */

struct walk {
	struct procfs_process *out;
	int count, max;
	struct clock_work work;
	bool lost; /* a process ended before its children were seen */
	bool lives; /* one below the root does */
};

static bool procfs_is_late(struct walk *w)
{
	int64_t used = clock_work_used_us(&w->work);

	return used >= TREE_US ||
	       (used >= TREE_SHORT_US && clock_mono_us() - w->work.begin_us >= TREE_SLOW_US);
}

static bool procfs_add_process(void *ctx, int pid)
{
	struct walk *w = ctx;

	for (int i = 0; i < w->count; i++)
		if (w->out[i].pid == pid)
			return true;
	if (pid && w->count < w->max)
		w->out[w->count++] = (struct procfs_process){ .pid = pid };
	return w->count < w->max && !procfs_is_late(w);
}

/* The children of the first thread, most often the only one, then what @p is. Returns whether it is
 * gone. */
static bool procfs_look(struct walk *w, struct procfs_process *p, bool *listed)
{
	*listed = !procfs_kept_children(p->pid, procfs_add_process, w);
	return procfs_kept_stat(p->pid, &p->stat);
}

/* Look at files that the last look has left open, or that are opened for this one: not those of a
 * process that has gone, as most have where processes only fork and leave, for a file that is not
 * there is dear. */
static bool procfs_look_kept(struct walk *w, struct procfs_process *p, bool *listed)
{
	bool old;

	do {
		old = procfs_kept_again(w->out[0].pid, p->pid);
		if (!old && procfs_is_gone(p->pid))
			return true;
		if (!old)
			procfs_kept_add(w->out[0].pid, p->pid);
		if (!procfs_look(w, p, listed))
			return false;
		procfs_kept_drop(p->pid);
	} while (old); /* another process may have the pid by now */
	return true;
}

/* Add the children of @p, then read what it is: if it still lives, they were all there. */
static void procfs_visit(struct walk *w, struct procfs_process *p)
{
	bool listed = false, gone = procfs_look_kept(w, p, &listed);

	if (!gone && (!listed || p->stat.threads > 1)) {
		(void)procfs_each_child(p->pid, procfs_add_process, w);
		gone = procread_stat(p->pid, &p->stat);
	}
	if (gone) /* or hidden */
		p->stat = (struct procread_stat){ .state = procfs_is_gone(p->pid) ? 'X' : 'S' };
	w->lost = w->lost || !procread_shows_life(&p->stat);
	w->lives = w->lives || (p != w->out && procread_shows_life(&p->stat));
}

/*
 * When a process ends, its children become those of @pid: list @pid again. A tree that does nothing
 * but fork and leave has new ones at each look, and a shim that does not get its turn has thousands
 * of zombies, so the looks are bounded.
 */
int procfs_tree(pid_t pid, struct procfs_process *out, int max)
{
	struct walk w = { .out = out, .max = max, .work = clock_work_begin() };
	bool seen_all;
	int done = 0;

	procfs_add_process(&w, pid);
	for (int look = 0; look < TREE_LOOKS; look++) {
		w.lost = false;
		for (; done < w.count && (!done || !procfs_is_late(&w)); done++)
			procfs_visit(&w, &out[done]);
		if (!out[0].stat.threads) /* gone, or not to be read */
			return procfs_each_child(pid, procfs_add_process, &w);
		if (!w.lost || procfs_is_late(&w))
			break;
		(void)procfs_each_child(pid, procfs_add_process, &w);
	}
	seen_all = !w.lost && w.count < max && !procfs_is_late(&w);
	return w.lives || seen_all ? done : -1;
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
