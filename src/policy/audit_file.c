#include "policy/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define RESERVE_BYTES (1 << 20)  /* room for about 1,500 lines */
#define RESERVE_STEP (256 << 10) /* more of it, so that few lines have to allocate */

static int audit_file_fail(const struct audit_file *f, const char *path, int sys, const char *why,
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

/* Open the audit directory. Refuse one that another user can change. */
static int audit_file_open_directory(struct audit_file *f, struct err *e)
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

	if (dir < 0)
		return -1;
	/* O_EXCL: a file of this name that exists already is not ours. */
	f->fd = openat(dir, strrchr(f->path, '/') + 1,
		       O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return audit_file_fail(f, f->path, errno, "cannot create", e);
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

int audit_file_append(struct audit_file *f, const struct buf *line, struct err *e)
{
	if (f->fd < 0 && audit_file_open(f, e) != 0)
		return -1;
	if (audit_file_mend(f) != 0)
		return audit_file_fail(f, f->path, errno, "cannot repair", e);
	if (audit_file_is_tampered(f))
		return audit_file_fail(f, f->path, ESTALE, "another process removed or changed", e);
	ssize_t n;

	do {
		n = write(f->fd, line->data, line->len);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line->len) {
		f->length += n;
		audit_file_reserve(f);
		return 0;
	}
	int sys = n < 0 ? errno : ENOSPC;

	f->torn = true;
	audit_file_mend(f);
	return audit_file_fail(f, f->path, sys, "cannot write", e);
}


enum audit_file_place audit_file_check(struct audit_file *f)
{
	struct stat dir, file;
	bool there = f->fd >= 0 && !stat(f->dir, &dir);

	if (f->fd < 0 || (there && dir.st_dev == f->dir_dev && dir.st_ino == f->dir_ino) ||
	    (!there && errno != ENOENT) || fstat(f->fd, &file) != 0 || (!there && file.st_nlink))
		return AUDIT_FILE_THERE;
	close(f->fd);
	f->fd = -1;
	f->length = f->reserved_to = 0;
	f->torn = false;
	return file.st_nlink ? AUDIT_FILE_MOVED : AUDIT_FILE_REMOVED;
}

/* Another process may have made the file longer: do not cut off what shows that. */
static void audit_file_release(const struct audit_file *f)
{
	if (f->reserved_to > f->length && !audit_file_is_tampered(f))
		(void)!ftruncate(f->fd, f->length);
}

void audit_file_close(struct audit_file *f)
{
	if (f->fd >= 0) {
		audit_file_release(f);
		close(f->fd);
	}
	free(f->dir);
	free(f->path);
}
