#include "os/shim/proctree.h"

#include <stddef.h>

#include <linux/fcntl.h>

#include "os/shim/sys.h"

#define TREE_MAX 8192 /* processes looked at in one pass; the next pass sees the rest */

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int self_pid;
static int children_fd = -1; /* our own children: open early, in case descriptors run out */
static int tree[TREE_MAX];
static char scratch[4096];

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

static char *put_number(char *at, unsigned number)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

/* Leading decimal number at *@at, which moves behind it; 0 if there is none. */
static uint64_t take_number(const char **at)
{
	uint64_t number = 0;

	while (**at >= '0' && **at <= '9')
		number = number * 10 + (uint64_t)(*(*at)++ - '0');
	return number;
}

/* Read the whole of a small /proc file into scratch as a C string; its length or -errno. */
static long read_proc(const char *path)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return fd;
	n = sys3(__NR_read, fd, scratch, sizeof(scratch) - 1);
	sys1(__NR_close, fd);
	scratch[n > 0 ? n : 0] = '\0';
	return n;
}

/* State letter and parent of @pid from /proc/PID/stat; 0 if it is gone. */
static char state_of(int pid, int *parent)
{
	char path[40];
	const char *at;
	long n;

	put_text(put_number(put_text(path, "/proc/"), (unsigned)pid), "/stat");
	n = read_proc(path);
	if (n <= 0)
		return 0;
	at = scratch + n;
	while (at > scratch && *at != ')') /* the name may hold anything, also ')' */
		at--;
	if (at[0] != ')' || at[1] != ' ')
		return 0;
	if (parent) {
		const char *number = at + 4;

		*parent = (int)take_number(&number);
	}
	return at[2];
}

/* Append what the children file @fd lists to tree[]; the new count. */
static int add_listed(long fd, int count)
{
	int number = 0;
	long n, at = 0;

	for (; (n = sys4(__NR_pread64, fd, scratch, sizeof(scratch), at)) > 0; at += n)
		for (long i = 0; i < n; i++) {
			if (scratch[i] >= '0' && scratch[i] <= '9') {
				number = number * 10 + (scratch[i] - '0');
			} else if (number) {
				if (count < TREE_MAX)
					tree[count++] = number;
				number = 0;
			}
		}
	return count;
}

static int add_children(const char *path, int count)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return count;
	count = add_listed(fd, count);
	sys1(__NR_close, fd);
	return count;
}

/* Append the children of all threads of @pid. */
static int add_children_of(int pid, int count)
{
	static char entries[2048];
	char path[64], *tail;
	long fd, n;

	tail = put_text(put_number(put_text(path, "/proc/"), (unsigned)pid), "/task/");
	fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return count;
	while ((n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);

			at += entry->reclen;
			if (entry->name[0] == '.')
				continue;
			put_text(put_text(tail, entry->name), "/children");
			count = add_children(path, count);
		}
	sys1(__NR_close, fd);
	return count;
}

/* Without CONFIG_PROC_CHILDREN: our own children by a scan of /proc. Deeper ones follow when
 * their parents are dead and they are ours. */
static int add_children_by_scan(int count)
{
	static char entries[2048];
	long fd = sys4(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return count;
	while ((n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);
			const char *name = entry->name;
			int pid = (int)take_number(&name), parent = 0;

			at += entry->reclen;
			if (pid && state_of(pid, &parent) && parent == self_pid &&
			    count < TREE_MAX)
				tree[count++] = pid;
		}
	sys1(__NR_close, fd);
	return count;
}

int proctree_children(const int **pids)
{
	*pids = tree;
	return children_fd < 0 ? add_children_by_scan(0) : add_listed(children_fd, 0);
}

int proctree_list(const int **pids)
{
	int count = proctree_children(pids);

	if (children_fd < 0)
		return count;
	for (int i = 0; i < count; i++)
		count = add_children_of(tree[i], count);
	return count;
}

int proctree_is_live(int pid)
{
	char state = state_of(pid, NULL);

	return state && state != 'Z' && state != 'X';
}

void proctree_io(int io_fd, uint64_t *read_bytes, uint64_t *write_bytes)
{
	const char *at = scratch;
	long n = sys4(__NR_pread64, io_fd, scratch, sizeof(scratch) - 1, 0);
	uint64_t *value = NULL;

	scratch[n > 0 ? n : 0] = '\0';
	for (; *at; at++) {
		if (at != scratch && at[-1] != '\n')
			continue;
		value = at[0] == 'r' && at[1] == 'e' ? read_bytes
		      : at[0] == 'w' && at[1] == 'r' ? write_bytes
						     : NULL;
		while (*at && *at != ' ')
			at++;
		if (!*at)
			return;
		if (value) {
			at++;
			*value = take_number(&at);
			if (!*at)
				return;
		}
	}
}

/* Without this file (CONFIG_PROC_CHILDREN) children are found by scanning /proc. */
void proctree_init(int pid)
{
	char path[64];
	char *at = put_number(put_text(path, "/proc/self/task/"), (unsigned)pid);

	self_pid = pid;
	put_text(at, "/children");
	children_fd = (int)sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}
