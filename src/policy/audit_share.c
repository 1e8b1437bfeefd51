#include "policy/audit_share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"

#define LOCK_NAME "run.lock"
#define LOCK_MODE 0200 /* any process that can open it could lock it */
/* Some two seconds. Counted, not measured: while a whole machine stands still, who holds the lock
 * cannot give it back. */
#define LOCK_TRIES 1000
#define TAIL_MAX (1 << 20) /* no line of ours is as long */
#define DAY_LEN 8

/* ---- the lock ---- */

static int audit_share_open_lock(struct audit_file *f, struct err *e)
{
	AUTO_CLOSE int dir = -1;

	if (f->lock >= 0)
		return 0;
	dir = audit_file_open_directory(f, e);
	if (dir < 0)
		return -1;
	f->lock = openat(dir, LOCK_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			 LOCK_MODE);
	if (f->lock < 0)
		return audit_file_fail(f, f->dir, errno, "cannot open " LOCK_NAME " in", e);
	(void)fchmod(f->lock, LOCK_MODE); /* a command may have changed it */
	return 0;
}

static int audit_share_lock(struct audit_file *f, struct err *e)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	if (audit_share_open_lock(f, e))
		return -1;
	for (int tries = 1; flock(f->lock, LOCK_EX | LOCK_NB); tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return audit_file_fail(f, f->dir, errno, "cannot lock " LOCK_NAME " in", e);
		if (tries >= LOCK_TRIES)
			return audit_file_fail(f, f->dir, EAGAIN,
					       "another process keeps " LOCK_NAME " locked in", e);
		nanosleep(&pause, NULL);
	}
	return 0;
}

void audit_share_finish(struct audit_file *f)
{
	if (f->shared && f->lock >= 0)
		flock(f->lock, LOCK_UN);
}

/* ---- the end of a log ---- */

/* The number of the line at @text, or 0. */
static uint64_t audit_share_read_seq(const char *text, size_t len)
{
	json_t *line = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL);
	int64_t seq = json_integer_value(json_object_get(line, "seq"));

	json_decref(line);
	return seq > 0 ? (uint64_t)seq : 0;
}

/* The start of the last line of @text, without its newline. */
static size_t audit_share_last_line(const char *text, size_t len)
{
	const char *newline = len ? memrchr(text, '\n', len) : NULL;

	return newline ? (size_t)(newline + 1 - text) : 0;
}

/* Set @chain to the end of a log, @text; is its last line torn? */
static bool audit_share_parse_tail(const char *text, size_t len, struct audit_chain *chain)
{
	bool torn = text[len - 1] != '\n';
	size_t end = torn ? len : len - 1, start = audit_share_last_line(text, end);

	digest_text(text + start, end - start, chain->prev);
	if (torn && start) {
		end = start - 1;
		start = audit_share_last_line(text, end);
		chain->seq = audit_share_read_seq(text + start, end - start) + 1;
	} else {
		chain->seq = torn ? 1 : audit_share_read_seq(text + start, end - start);
	}
	return torn;
}

/* Set f->chain to the end of the log @fd of @size bytes, called @name. 0 whole, 1 torn, -1. */
static int audit_share_read_tail(struct audit_file *f, int fd, off_t size, const char *name,
				 struct err *e)
{
	size_t len = size < TAIL_MAX ? (size_t)size : TAIL_MAX;
	AUTO_FREE char *text = mem_zalloc(len + 1);
	ssize_t n = pread(fd, text, len, size - (off_t)len);

	if (n != (ssize_t)len)
		return audit_file_fail(f, name, n < 0 ? errno : ESTALE, "cannot read", e);
	if (len == TAIL_MAX && !audit_share_last_line(text, len - 1))
		return audit_file_fail(f, name, 0, "ends in a line that is none of procpen: move "
						   "the file away", e);
	return audit_share_parse_tail(text, len, &f->chain);
}

/* ---- which log ---- */

static void audit_share_set_path(struct audit_file *f, const char *name)
{
	size_t size = strlen(f->dir) + strlen(name) + 2;

	free(f->path);
	f->path = mem_zalloc(size);
	snprintf(f->path, size, "%s/%s", f->dir, name);
}

/* The name of today's log. */
static void audit_share_name_today(char name[AUDIT_DIR_NAME_MAX])
{
	char now[CLOCK_TEXT_SIZE];

	clock_wall_text(clock_wall_ms(), now);
	snprintf(name, AUDIT_DIR_NAME_MAX, "%.4s%.2s%.2s" AUDIT_DIR_RUN ".jsonl", now, now + 5,
		 now + 8);
}

/* The name behind that of @last: of today, or the next part of its day. */
static void audit_share_name_next(const char *last, char name[AUDIT_DIR_NAME_MAX])
{
	const char *part = last + DAY_LEN + strlen(AUDIT_DIR_RUN);

	audit_share_name_today(name);
	if (!*last || audit_dir_compare(name, last) > 0)
		return;
	snprintf(name, AUDIT_DIR_NAME_MAX, "%.*s" AUDIT_DIR_RUN "-%04lu.jsonl", DAY_LEN, last,
		 (*part == '-' ? strtoul(part + 1, NULL, 10) : 1) + 1);
}

/* Name the newest log before @bound, or of all without it; "" if there is none. 0 or -1. */
static int audit_share_find_last(struct audit_file *f, int dir, const char *bound,
				 char last[AUDIT_DIR_NAME_MAX], struct err *e)
{
	struct audit_dir_names list;

	*last = '\0';
	if (audit_dir_list(dir, &list))
		return audit_file_fail(f, f->dir, errno, "cannot list", e);
	for (size_t i = list.count; i-- > 0 && !*last;)
		if (audit_dir_is_shared(list.names[i]) &&
		    (!bound || audit_dir_compare(list.names[i], bound) < 0))
			strcpy(last, list.names[i]);
	audit_dir_release(&list);
	return 0;
}

/* ---- one file ---- */

static const char *audit_share_refusal(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "is not a regular file";
	if (st->st_uid != geteuid())
		return "belongs to another user";
	if (st->st_nlink != 1)
		return "has another name too, or none";
	return st->st_mode & 07177 ? "may be used by other users" : NULL;
}

/* Open the log @name with @flags. Descriptor; -1 with errno or, if it is not as we make it, @e. */
static int audit_share_open(struct audit_file *f, int dir, const char *name, int flags,
			    struct stat *st, struct err *e)
{
	int fd = openat(dir, name, flags | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	const char *refusal = NULL;

	if (fd < 0 || (!fstat(fd, st) && !(refusal = audit_share_refusal(st))))
		return fd;
	if (refusal)
		audit_file_fail(f, name, 0, refusal, e);
	close(fd);
	errno = EPERM;
	return -1;
}

static int audit_share_fail_open(struct audit_file *f, struct err *e)
{
	return e->type ? -1 : audit_file_fail(f, f->path, errno, "cannot open", e);
}

/* Make the next line of f->fd, which is empty, follow the log before it. */
static int audit_share_follow(struct audit_file *f, int dir, struct err *e)
{
	char last[AUDIT_DIR_NAME_MAX];
	struct stat st;

	f->chain.seq = 0;
	memset(f->chain.prev, '0', sizeof(f->chain.prev) - 1);
	if (audit_share_find_last(f, dir, audit_file_name(f), last, e))
		return -1;
	if (!*last)
		return 0;
	AUTO_CLOSE int fd = audit_share_open(f, dir, last, O_RDONLY, &st, e);

	if (fd < 0)
		return audit_share_fail_open(f, e);
	strcpy(f->chain.file, last);
	return st.st_size && audit_share_read_tail(f, fd, st.st_size, last, e) < 0 ? -1 : 0;
}

/* Make f->fd, with a size of @size, ready for a line. */
static int audit_share_continue(struct audit_file *f, off_t size, struct err *e)
{
	int torn = audit_share_read_tail(f, f->fd, size, f->path, e);

	if (torn < 0)
		return -1;
	f->chain.file[0] = '\0';
	if (torn && write(f->fd, "\n", 1) != 1)
		return audit_file_fail(f, f->path, errno, "cannot write", e);
	f->length = size + torn;
	return 0;
}

static bool audit_share_is_open(const struct stat *st)
{
	return st->st_mode & S_IWUSR;
}

/* No more lines for f->fd; its mode tells others. */
static void audit_share_seal(struct audit_file *f)
{
	(void)!fchmod(f->fd, 0400);
	close(f->fd);
	f->fd = -1;
}

/* Open the log called @name, unless it is full or of a day before; then f->fd is -1. */
static int audit_share_try(struct audit_file *f, int dir, const char *name, struct err *e)
{
	char today[AUDIT_DIR_NAME_MAX];
	struct stat st;

	audit_share_name_today(today);
	audit_share_set_path(f, name);
	f->fd = audit_share_open(f, dir, name, O_RDWR, &st, e);
	if (f->fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : audit_share_fail_open(f, e);
	if (!audit_share_is_open(&st)) { /* root can open it all the same */
		close(f->fd);
		f->fd = -1;
	} else if (strncmp(name, today, DAY_LEN) < 0 || st.st_size >= f->max_bytes) {
		audit_share_seal(f);
	} else {
		f->length = -1; /* the end is not read yet */
	}
	return 0;
}

/* Open the log to append to; a new one follows the last. */
static int audit_share_find(struct audit_file *f, struct err *e)
{
	AUTO_CLOSE int dir = audit_file_open_directory(f, e);
	char name[AUDIT_DIR_NAME_MAX], last[AUDIT_DIR_NAME_MAX];
	struct stat st;

	if (dir < 0)
		return -1;
	audit_share_name_today(name);
	if (audit_share_try(f, dir, name, e) || f->fd >= 0)
		return f->fd < 0 ? -1 : 0;
	if (audit_share_find_last(f, dir, NULL, last, e))
		return -1;
	if (*last && (audit_share_try(f, dir, last, e) || f->fd >= 0))
		return f->fd < 0 ? -1 : 0;
	audit_share_name_next(last, name);
	audit_share_set_path(f, name);
	f->fd = audit_share_open(f, dir, name, O_RDWR | O_CREAT | O_EXCL, &st, e);
	if (f->fd < 0)
		return audit_share_fail_open(f, e);
	f->length = -1;
	return 0;
}

/* Is the open file still the one to append to? Else close it. */
static void audit_share_check(struct audit_file *f)
{
	struct stat st;

	if (f->fd < 0 || fstat(f->fd, &st))
		return;
	if (audit_share_is_open(&st) && st.st_size < f->max_bytes)
		return;
	if (audit_share_is_open(&st))
		audit_share_seal(f);
	else
		close(f->fd);
	f->fd = -1;
}

int audit_share_begin(struct audit_file *f, struct err *e)
{
	struct stat st;

	if (audit_share_lock(f, e))
		return -1;
	audit_share_check(f);
	if (f->fd < 0 && audit_share_find(f, e))
		return -1;
	if (fstat(f->fd, &st))
		return audit_file_fail(f, f->path, errno, "cannot inspect", e);
	f->torn = false;
	if (st.st_size == f->length)
		return 0;
	if (st.st_size)
		return audit_share_continue(f, st.st_size, e);
	f->length = 0;
	AUTO_CLOSE int dir = audit_file_open_directory(f, e);

	return dir < 0 ? -1 : audit_share_follow(f, dir, e);
}
