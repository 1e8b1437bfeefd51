#include "os/shim/procread.h"

#include <stddef.h>

#include <asm/signal.h>
#include <linux/fcntl.h>

#include "os/shim/sys.h"

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static char scratch[4096] SHIM_LARGE;

/* The kernel fills a page of a list, but for its last part (fs/seq_file.c), so a read of no more
 * bytes than that was the last. */
#define LAST_MAX 2048

/* Where the name in a stat file ends at the latest: a pid of ten digits, " (", 64 bytes of a
 * worker's name (proc(5), "comm"), and some more. */
#define NAME_END_MAX 96

static const char *procread_root = "/proc/";

void procread_from_here(void)
{
	procread_root = "./";
}

/* ---- texts ---- */

char *procread_put(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

char *procread_put_number(char *at, unsigned number)
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

uint64_t procread_number(const char **at)
{
	const char *text = *at;
	uint64_t number = 0;

	while (*text >= '0' && *text <= '9')
		number = number * 10 + (uint64_t)(*text++ - '0');
	*at = text;
	return number;
}

uint64_t procread_field(const char **at, int fields)
{
	const char *text = *at;

	for (; fields && *text; fields--) {
		while (*text && *text != ' ')
			text++;
		text += *text == ' ';
	}
	*at = text;
	return procread_number(at);
}

const char *procread_line(const char *text, const char *name)
{
	for (;; text++) {
		size_t n = 0;

		while (name[n] && text[n] == name[n])
			n++;
		if (!name[n]) {
			for (text += n; *text == ' ' || *text == '\t'; text++)
				;
			return text;
		}
		while (*text && *text != '\n')
			text++;
		if (!*text)
			return NULL;
	}
}

static int procread_open_file(const char *path, int flags)
{
	return (int)sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags, 0);
}

long procread_file(int fd, const char **text)
{
	long n = sys4(__NR_pread64, fd, scratch, sizeof(scratch) - 1, 0);

	scratch[n > 0 ? n : 0] = '\0';
	*text = scratch;
	return n;
}

long procread_of(int pid, const char *name, const char **text)
{
	char path[40];
	int fd;
	long n;

	procread_put(procread_put_number(procread_put(path, procread_root), (unsigned)pid), name);
	fd = procread_open_file(path, 0);
	if (fd < 0)
		return fd;
	n = procread_file(fd, text);
	sys1(__NR_close, fd);
	return n;
}

/* ---- lists ---- */

long procread_numbers(int fd, bool (*fn)(void *ctx, int number), void *ctx)
{
	bool inside = false;
	int number = 0;
	long n, at = 0;

	do {
		n = sys4(__NR_pread64, fd, scratch, sizeof(scratch), at);
		for (long i = 0; i < n; i++) {
			if (scratch[i] >= '0' && scratch[i] <= '9') {
				number = number * 10 + (scratch[i] - '0');
				inside = true;
				continue;
			}
			if (inside && !fn(ctx, number))
				return 0;
			inside = false;
			number = 0;
		}
		at += n;
	} while (n > LAST_MAX);
	if (n >= 0 && inside)
		fn(ctx, number);
	return n < 0 ? n : 0;
}

static long procread_directory(const char *path, bool (*fn)(void *ctx, const char *name), void *ctx)
{
	static char entries[2048] SHIM_LARGE;
	int fd = procread_open_file(path, O_DIRECTORY);
	bool more = true;
	long n = 0;

	if (fd < 0)
		return fd;
	while (more && (n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; more && at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);

			at += entry->reclen;
			if (entry->name[0] != '.')
				more = fn(ctx, entry->name);
		}
	sys1(__NR_close, fd);
	return n < 0 ? n : 0;
}

long procread_processes(bool (*fn)(void *ctx, const char *name), void *ctx)
{
	return procread_directory(procread_root, fn, ctx);
}

/* A walk over the threads of a process. */
struct threads {
	char path[64];
	char *tail; /* in it, where a thread's name goes */
	const char *name;
	bool (*fn)(void *ctx, int fd);
	void *ctx;
	int opened;
};

static bool procread_open_of_thread(void *ctx, const char *thread)
{
	struct threads *t = ctx;
	bool more;
	int fd;

	procread_put(procread_put(t->tail, thread), t->name);
	fd = procread_open_file(t->path, 0);
	if (fd < 0)
		return true;
	t->opened++;
	more = t->fn(t->ctx, fd);
	sys1(__NR_close, fd);
	return more;
}

static void procread_begin_threads(struct threads *t, int pid)
{
	t->tail = procread_put_number(procread_put(t->path, procread_root), (unsigned)pid);
	t->tail = procread_put(t->tail, "/task/");
}

int procread_threads(int pid, const char *name, bool (*fn)(void *ctx, int fd), void *ctx)
{
	struct threads t = { .name = name, .fn = fn, .ctx = ctx };

	procread_begin_threads(&t, pid);
	procread_directory(t.path, procread_open_of_thread, &t);
	return t.opened;
}

struct children {
	bool (*fn)(void *ctx, int child);
	void *ctx;
	bool more;
};

static bool procread_visit_child(void *ctx, int child)
{
	struct children *c = ctx;

	c->more = c->fn(c->ctx, child);
	return c->more;
}

static bool procread_visit_children_of_thread(void *ctx, int fd)
{
	struct children *c = ctx;

	procread_numbers(fd, procread_visit_child,
			 c); /* a thread may end meanwhile: use what was read */
	return c->more;
}

int procread_children(int pid, bool (*fn)(void *ctx, int child), void *ctx)
{
	struct children c = { fn, ctx, true };

	return procread_threads(pid, "/children", procread_visit_children_of_thread, &c) ? 0 : -1;
}

/* ---- facts ---- */

int procread_parse_stat(const char *text, long n, struct procread_stat *stat)
{
	const char *at;

	if (n <= 0)
		return -1;
	/* The last one, because the name may hold some; only numbers follow. */
	for (at = text + (n < NAME_END_MAX ? n : NAME_END_MAX); at > text && *at != ')'; at--)
		;
	if (at[0] != ')' || at[1] != ' ')
		return -1;
	stat->state = at[2];
	stat->parent = (int)procread_field(&at, 2); /* 4th of all fields */
	stat->group = (int)procread_field(&at, 1);
	stat->cpu_ticks = procread_field(&at, 9); /* utime, 14th */
	stat->cpu_ticks += procread_field(&at, 1);
	stat->child_ticks = procread_field(&at, 1); /* cutime, 16th */
	stat->child_ticks += procread_field(&at, 1);
	stat->threads = (uint32_t)procread_field(&at, 3); /* num_threads, 20th */
	stat->rss_pages = procread_field(&at, 4); /* 24th */
	stat->ignores_children = procread_field(&at, 9) >> (SIGCHLD - 1) & 1; /* sigignore, 33rd */
	return 0;
}

int procread_stat(int pid, struct procread_stat *stat)
{
	const char *text = NULL;
	long n = procread_of(pid, "/stat", &text);

	return procread_parse_stat(text, n, stat);
}

bool procread_shows_life(const struct procread_stat *stat)
{
	return (stat->state != 'Z' || stat->threads > 1) && stat->state != 'X';
}

int procread_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes)
{
	const char *r = procread_line(text, "read_bytes:");
	const char *w = r ? procread_line(r, "write_bytes:") : NULL;

	if (!w)
		return -1;
	*read_bytes = procread_number(&r);
	*write_bytes = procread_number(&w);
	return 0;
}
