#include "policy/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define RESERVE_BYTES (1 << 20)  /* room for about 1,500 lines */
#define RESERVE_STEP (256 << 10) /* more of it, so that few lines have to allocate */

/* "20261121T080000Z", which sorts like the time. */
static void audit_file_write_time(char out[CLOCK_TEXT_SIZE])
{
	char *to = out;

	clock_wall_text(clock_wall_ms(), out);
	for (const char *from = out; *from && *from != '.'; from++)
		if (*from != '-' && *from != ':')
			*to++ = *from;
	memcpy(to, "Z", 2);
}

/* The name of the next file of this process. */
static void audit_file_take_name(struct audit_file *f)
{
	char start[CLOCK_TEXT_SIZE], part[16] = "";

	audit_file_write_time(start);
	if (++f->part > 1)
		snprintf(part, sizeof(part), "-%04u", f->part);
	free(f->path);
	f->path = mem_printf("%s/%s-%s%s.jsonl", f->dir, start, f->instance, part);
}

void audit_file_init(struct audit_file *f, char *dir, const char *instance)
{
	*f = (struct audit_file){
		.dir = dir, .instance = mem_strdup(instance), .fd = -1, .left = -1,
		.lock = -1, .max_bytes = INT64_MAX,
	};
	memset(f->chain.prev, '0', sizeof(f->chain.prev) - 1);
	audit_file_take_name(f);
}

const char *audit_file_name(const struct audit_file *f)
{
	return strrchr(f->path, '/') + 1;
}

int audit_file_fail(const struct audit_file *f, const char *path, int sys, const char *why,
		    struct err *e)
{
	if (sys)
		err_sys(e, ERR_PERMISSION_DENIED, sys,
			"cannot write the audit log: %s \"%.256s\"", why, path);
	else
		err_set(e, ERR_PERMISSION_DENIED,
			"cannot write the audit log: \"%.256s\" %s", path, why);
	err_detail(e, "audit_log", json_string(f->path));
	if (sys == ENOSPC || sys == EDQUOT)
		return err_hint(e, "Space ran out where the audit log is, and nothing starts "
				   "unrecorded: tell the user to free some there, then retry; the "
				   "operator can choose another place with --state-dir.");
	return err_hint(e, "The operator can free space, repair the directory, choose another one "
			   "with --state-dir, or run without the audit log with --set "
			   "audit.required=false.");
}

/* Create @path and its missing parents. */
static int audit_file_make_directories(const char *path)
{
	AUTO_FREE char *copy = mem_strdup(path);

	for (char *p = copy + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		bool last = *p == '\0';

		*p = '\0';
		if (mkdir(copy, 0700) != 0 && errno != EEXIST)
			return -1;
		if (last)
			return 0;
		*p = '/';
	}
}

int audit_file_open_directory(struct audit_file *f, struct err *e)
{
	struct stat st;

	if (audit_file_make_directories(f->dir) != 0)
		return audit_file_fail(f, f->dir, errno, "cannot create", e);
	int fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return audit_file_fail(f, f->dir, errno, "cannot open", e);
	if (fstat(fd, &st) != 0) {
		audit_file_fail(f, f->dir, errno, "cannot inspect", e);
	} else if (st.st_uid != geteuid()) {
		audit_file_fail(f, f->dir, 0, "belongs to another user", e);
	} else if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		audit_file_fail(f, f->dir, 0, "is writable by other users", e);
		err_hint(e, "Nothing was started: they could remove records. chmod go-w %.256s, or "
			    "choose another place with --state-dir.", f->dir);
	} else {
		f->dir_dev = st.st_dev;
		f->dir_ino = st.st_ino;
		return fd;
	}
	close(fd);
	return -1;
}

static int audit_file_open(struct audit_file *f, struct err *e)
{
	AUTO_CLOSE int dir = audit_file_open_directory(f, e);
	struct stat st;

	if (dir < 0)
		return -1;
	/* O_EXCL: a file of this name that exists already is not ours. */
	f->fd = openat(dir, audit_file_name(f),
		       O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return audit_file_fail(f, f->path, errno, "cannot create", e);
	if (!fstat(f->fd, &st)) {
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	}
	audit_dir_hold(f->fd);
	mem_cleanup_close(&f->left);
	return 0;
}

/* Truncate a part of a line that a failed write may have left. */
static int audit_file_mend(struct audit_file *f)
{
	if (!f->torn)
		return 0;
	f->reserved_to = 0; /* ftruncate(2) frees it */
	if (ftruncate(f->fd, f->length) != 0)
		return -1;
	f->torn = false;
	return 0;
}

/* Has the log been unlinked or changed? Then it would record nothing. */
static bool audit_file_is_tampered(const struct audit_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && (st.st_nlink == 0 || st.st_size != f->length);
}

/*
 * Does its path still lead to the file, as the last line left it? Then neither it nor its directory
 * was touched, and one look tells. The times are not asked for: since Linux 6.13 a write after a
 * look at them has to record a fresh one. Where statx(2) fails, it is not as left.
 */
static bool audit_file_is_as_left(const struct audit_file *f)
{
	struct statx st;

	/* not every C library wraps it */
	return f->ino &&
	       !syscall(SYS_statx, AT_FDCWD, f->path, 0, STATX_INO | STATX_SIZE, &st) &&
	       st.stx_ino == f->ino && st.stx_size == (uint64_t)f->length &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == f->dev;
}

/* Keep at least RESERVE_BYTES allocated behind the last line. If the disk is full, the next line
 * tries again. */
static void audit_file_reserve(struct audit_file *f)
{
	const off_t size = RESERVE_BYTES + RESERVE_STEP;

	if (!f->reserves || f->reserved_to - f->length >= RESERVE_BYTES)
		return;
	if (!fallocate(f->fd, FALLOC_FL_KEEP_SIZE, f->length, size))
		f->reserved_to = f->length + size;
	else if (errno == EOPNOTSUPP || errno == ENOSYS)
		f->reserves = false;
}

static void audit_file_count(struct audit_file *f, const struct buf *line)
{
	f->chain.seq++;
	f->chain.file[0] = '\0';
	digest_text(line->data, line->len - 1, f->chain.prev);
}

/* A line is one write(2). After a part of it the next write says what is in the way: space
 * (ENOSPC), a quota (EDQUOT) or a limit (EFBIG). 0, or -1 with errno. */
static int audit_file_write(const struct audit_file *f, const struct buf *line)
{
	size_t done = 0;

	while (done < line->len) {
		ssize_t n = write(f->fd, line->data + done, line->len - done);

		if (!n)
			errno = ENOSPC;
		if (n <= 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int audit_file_append(struct audit_file *f, const struct buf *line, struct err *e)
{
	if (f->fd < 0 && audit_file_open(f, e) != 0)
		return -1;
	if (audit_file_mend(f) != 0)
		return audit_file_fail(f, f->path, errno, "cannot repair", e);
	if (!f->as_left && audit_file_is_tampered(f)) {
		audit_file_fail(f, f->path, 0, "was removed or changed by another process", e);
		return err_hint(e, "Nothing was started. The operator can see with `procpen audit "
				   "verify` what was changed, and restart procpen, which then "
				   "begins a new file; with --state-dir in another place.");
	}
	f->as_left = false;
	if (!audit_file_write(f, line)) {
		f->length += (off_t)line->len;
		audit_file_count(f, line);
		audit_file_reserve(f);
		return 0;
	}
	int sys = errno;

	f->torn = true;
	audit_file_mend(f);
	return audit_file_fail(f, f->path, sys, "cannot write", e);
}

/* The next line begins another file, and names this one. */
static void audit_file_leave(struct audit_file *f)
{
	mem_cleanup_close(&f->left);
	mem_cleanup_close(&f->lock);
	f->left = f->fd;
	f->fd = -1;
	f->ino = 0;
	f->as_left = false;
	f->length = f->reserved_to = 0;
	f->torn = false;
	if (f->shared)
		return;
	snprintf(f->chain.file, sizeof(f->chain.file), "%s", audit_file_name(f));
	audit_file_take_name(f);
}

enum audit_file_place audit_file_check(struct audit_file *f)
{
	struct stat dir, file;
	bool there;

	f->as_left = audit_file_is_as_left(f);
	if (f->as_left)
		return AUDIT_FILE_THERE;
	there = f->fd >= 0 && !stat(f->dir, &dir);
	if (f->fd < 0 || (there && dir.st_dev == f->dir_dev && dir.st_ino == f->dir_ino) ||
	    (!there && errno != ENOENT) || fstat(f->fd, &file) != 0)
		return AUDIT_FILE_THERE;
	audit_file_leave(f);
	return file.st_nlink ? AUDIT_FILE_MOVED : AUDIT_FILE_REMOVED;
}

/* Another process may have made the file longer: do not cut off what shows that. */
static void audit_file_release(const struct audit_file *f)
{
	if (f->reserved_to > f->length && !audit_file_is_tampered(f))
		(void)!ftruncate(f->fd, f->length);
}

void audit_file_turn(struct audit_file *f)
{
	if (f->fd < 0 || f->length < f->max_bytes || f->torn || audit_file_is_tampered(f))
		return;
	audit_file_release(f);
	audit_file_leave(f);
}

void audit_file_close(struct audit_file *f)
{
	if (f->fd >= 0) {
		audit_file_release(f);
		close(f->fd);
	}
	mem_cleanup_close(&f->left);
	mem_cleanup_close(&f->lock);
	free(f->instance);
	free(f->dir);
	free(f->path);
}
