#include "os/shim/proctree.h"

#include <stdbool.h>
#include <stddef.h>

#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "os/shim/sys.h"

#define TREE_MAX 8192 /* processes listed in one pass; the next pass sees the rest */
#define WALK_PASSES 50 /* over a tree that grows during a walk */
#define WALK_QUIET 3 /* passes that find nothing new: a list of children may skip one whose siblings
		      * end meanwhile (proc_pid_task(5)) */

static int self_pid;
static int children_fd = -1; /* our own children: open early, in case descriptors run out */
static int tree[TREE_MAX] SHIM_LARGE;
static uint64_t page_bytes; /* 0: not read yet */

/* Append @pid to tree[]; *@ctx is its count. Drops @pid when full: the next pass sees the rest. */
static bool proctree_append(void *ctx, int pid)
{
	int *count = ctx;

	if (pid && *count < TREE_MAX)
		tree[(*count)++] = pid;
	return true;
}

/* Append the children of all threads of @pid; the new count. */
static int proctree_add_children_of(int pid, int count)
{
	procread_children(pid, proctree_append, &count);
	return count;
}

static bool proctree_append_own_child(void *ctx, const char *name)
{
	int pid = (int)procread_number(&name);
	struct procread_stat stat;

	if (pid && !procread_stat(pid, &stat) && stat.parent == self_pid)
		proctree_append(ctx, pid);
	return true;
}

/* Without CONFIG_PROC_CHILDREN: find our children by a scan of /proc. Deeper descendants become our
 * children when their parents die. */
static int proctree_add_children_by_scan(int count)
{
	procread_processes(proctree_append_own_child, &count);
	return count;
}

static int proctree_add_own_children(int count)
{
	if (children_fd < 0)
		return proctree_add_children_by_scan(count);
	procread_numbers(children_fd, proctree_append, &count);
	return count;
}

int proctree_children(const int **pids)
{
	*pids = tree;
	return proctree_add_own_children(0);
}

static bool proctree_append_other(void *ctx, const char *name)
{
	int *count = ctx, pid = (int)procread_number(&name);

	return pid == self_pid || (proctree_append(ctx, pid) && *count < PROCTREE_OTHERS_MAX);
}

int proctree_others(const int **pids)
{
	int count = 0;

	*pids = tree;
	procread_processes(proctree_append_other, &count);
	return count;
}

int proctree_list(const int **pids)
{
	int count = proctree_children(pids);

	if (children_fd < 0)
		return count;
	for (int i = 0; i < count; i++)
		count = proctree_add_children_of(tree[i], count);
	return count;
}

static bool proctree_stop_at_first(void *ctx, int pid)
{
	(void)ctx;
	(void)pid;
	return false;
}

int proctree_sees_below(int pid)
{
	return children_fd >= 0 && !procread_children(pid, proctree_stop_at_first, NULL);
}

bool proctree_is_hidden(int pid)
{
	const char *text;
	long n = procread_of(pid, "/stat", &text);

	return (n == -ENOENT || n == -EPERM) && sys2(__NR_kill, pid, 0) != -ESRCH;
}

int proctree_stat(int pid, struct procread_stat *stat)
{
	if (!procread_stat(pid, stat))
		return 0;
	if (!proctree_is_hidden(pid))
		return -1;
	*stat = (struct procread_stat){
		.state = 'S', .threads = 1,
		.parent = self_pid, .group = (int)sys1(__NR_getpgid, pid),
	};
	return 0;
}

int proctree_is_live(int pid)
{
	struct procread_stat stat;

	return !proctree_stat(pid, &stat) && procread_shows_life(&stat);
}

/* ---- a walk ---- */

static bool proctree_contains(int pid, int count)
{
	for (int i = 0; i < count; i++)
		if (tree[i] == pid)
			return true;
	return false;
}

/* Remove duplicates from the entries appended after the first @known. Returns the new count. */
static int proctree_keep_new(int known, int count)
{
	int kept = known;

	for (int i = known; i < count; i++)
		if (!proctree_contains(tree[i], kept))
			tree[kept++] = tree[i];
	return kept;
}

/* Append the descendants that are not among the first @known entries. Returns the new count. */
static int proctree_add_new(int known)
{
	int count = proctree_keep_new(known, proctree_add_own_children(known));

	for (int i = 0; i < count && children_fd >= 0; i++)
		count = proctree_keep_new(count, proctree_add_children_of(tree[i], count));
	return count;
}

/* Is @pid still ours? Only if its parent is: the kernel may have reused the number. */
static bool proctree_is_member(int pid, int count, struct procread_stat *stat)
{
	return !proctree_stat(pid, stat) && procread_shows_life(stat) &&
	       (stat->parent == self_pid || proctree_contains(stat->parent, count));
}

void proctree_walk(void (*visit)(void *ctx, int pid, const struct procread_stat *stat),
		   void *ctx)
{
	int count = proctree_add_new(0), visited = 0;

	for (int pass = 0, quiet = 0; quiet < WALK_QUIET && pass < WALK_PASSES; pass++) {
		quiet = visited < count ? 0 : quiet + 1;
		for (; visited < count; visited++) {
			struct procread_stat stat;

			if (proctree_is_member(tree[visited], count, &stat))
				visit(ctx, tree[visited], &stat);
		}
		count = proctree_add_new(count);
	}
}

static uint64_t proctree_line_kib(const char *text, const char *name)
{
	const char *at = procread_line(text, name);

	return at ? procread_number(&at) : 0;
}

int proctree_stop_pending(int pid)
{
	const unsigned bit = SIGSTOP - 1, place = 15 - bit / 4; /* 16 digits, the highest first */
	const char *text, *at = NULL;
	unsigned digit;

	if (procread_of(pid, "/status", &text) > 0)
		at = procread_line(text, "ShdPnd:");
	for (unsigned i = 0; at && i < 16; i++)
		if (!at[i])
			return 0;
	if (!at)
		return 0;
	digit = (unsigned)(at[place] <= '9' ? at[place] - '0' : at[place] - 'a' + 10);
	return digit >> bit % 4 & 1;
}

/* statm counts pages, which have 16 or 64 KiB on some machines. */
static void proctree_read_page_size(void)
{
	int fd = (int)sys4(__NR_openat, AT_FDCWD, "/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0);
	const char *text;

	if (fd >= 0 && procread_file(fd, &text) > 0)
		page_bytes = proctree_line_kib(text, "KernelPageSize:") * 1024;
	if (fd >= 0)
		sys1(__NR_close, fd);
	if (!page_bytes)
		page_bytes = 4096;
}

struct pages {
	uint64_t resident, shared;
};

/* The second and third field of the @text of a statm. */
static struct pages proctree_parse_statm(const char *text)
{
	struct pages pages = { .resident = procread_field(&text, 1) };

	pages.shared = procread_field(&text, 1);
	return pages;
}

static bool proctree_parse_statm_of_thread(void *ctx, int fd)
{
	struct pages *pages = ctx;
	const char *text;

	if (procread_file(fd, &text) > 0)
		*pages = proctree_parse_statm(text);
	return !pages->resident;
}

int proctree_memory(int pid, struct proctree_memory *memory)
{
	struct pages pages;
	const char *text;

	if (!page_bytes)
		proctree_read_page_size();
	if (procread_of(pid, "/statm", &text) <= 0)
		return -1;
	pages = proctree_parse_statm(text);
	/* If the first thread has ended, read statm of any that has not. */
	if (!pages.resident)
		procread_threads(pid, "/statm", proctree_parse_statm_of_thread, &pages);
	memory->resident = pages.resident * page_bytes;
	memory->private =
		(pages.resident > pages.shared ? pages.resident - pages.shared : 0) * page_bytes;
	return 0;
}

int64_t proctree_proportional(int pid)
{
	const char *text;
	uint64_t kib;

	if (procread_of(pid, "/smaps_rollup", &text) <= 0)
		return -1;
	kib = proctree_line_kib(text, "Pss_Anon:") + proctree_line_kib(text, "Pss_Shmem:");
	/* Kernels before 5.3 have neither line; every process has anonymous memory. */
	return kib ? (int64_t)((kib + proctree_line_kib(text, "SwapPss:")) * 1024) : -1;
}

/* Without this file (CONFIG_PROC_CHILDREN) children are found by scanning /proc. */
void proctree_init(int pid)
{
	char path[64];
	char *at = procread_put_number(procread_put(path, "/proc/self/task/"), (unsigned)pid);

	self_pid = pid;
	procread_put(at, "/children");
	children_fd = (int)sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}
