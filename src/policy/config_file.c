#include "policy/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/dir.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* A look at each thing on the way. */
struct config_look {
	struct config_file *file;
	struct err fault;   /* the first */
	int fd;             /* to read the file; -1: it is not reached */
	int unread;         /* errno of opening it; 0 */
	struct stat target; /* what was looked at last */
};

static const char *config_file_kind(mode_t mode)
{
	return S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "link" : "file";
}

/* @st: of what is called @name. Another user may change it, or put another in its place. */
static void config_file_blame(struct config_look *look, const struct stat *st, const char *name)
{
	const char *kind = config_file_kind(st->st_mode);
	bool foreign = st->st_uid && st->st_uid != geteuid();
	bool open = !S_ISLNK(st->st_mode) && (st->st_mode & OTHERS_WRITE) &&
		    !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX));

	if (look->fault.type || (!foreign && !open))
		return;
	if (foreign) {
		err_set(&look->fault, ERR_INVALID_PARAMS,
			"the %s %.300s belongs to user %u, who is neither root nor the user that "
			"procpen runs as", kind, name, st->st_uid);
		err_hint(&look->fault, "That user could decide what commands may do: use a file of "
				       "your own in a directory of your own.");
		return;
	}
	err_set(&look->fault, ERR_INVALID_PARAMS, "other users may write the %s %.300s (mode %04o)",
		kind, name, st->st_mode & 07777);
	err_hint(&look->fault, "They could decide what commands may do: chmod go-w %.300s", name);
}

/* A second name of a file may lie where commands write, if need be after a chmod. */
static void config_file_blame_links(struct config_look *look, const struct stat *st,
				    const char *name)
{
	if (look->fault.type || st->st_nlink < 2 || st->st_uid != geteuid())
		return;
	err_set(&look->fault, ERR_INVALID_PARAMS, "the file %.300s has %lu names (hard links)",
		name, (unsigned long)st->st_nlink);
	err_hint(&look->fault, "One of them may lie where commands can write: use a copy of it.");
}

static void config_file_note(struct config_file *file, const struct stat *st)
{
	size_t size = (file->count + 1) * sizeof(*file->steps);

	file->steps = mem_realloc(file->steps, size);
	file->steps[file->count++] = (struct config_step){ .dev = st->st_dev, .ino = st->st_ino };
}

/* A dir_visit_fn. Only a regular file is opened: to open a device may have effects. What is opened
 * is looked at again: from there on only this descriptor counts. */
static void config_file_visit(void *ctx, int dir, const char *name, int fd)
{
	struct config_look *look = ctx;
	AUTO_FREE char *path = dir_name(fd, name);
	struct stat st = { 0 };

	if (fstat(fd, &st))
		return;
	mem_cleanup_close(&look->fd);
	if (S_ISREG(st.st_mode)) {
		look->fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
						     O_CLOEXEC);
		look->unread = look->fd < 0 || fstat(look->fd, &st) ? errno : 0;
		config_file_blame_links(look, &st, path);
	}
	look->target = st;
	config_file_note(look->file, &st);
	config_file_blame(look, &st, path);
}

static int config_file_fail_size(const char *path, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "%.400s is larger than 1 MiB", path);
	return err_hint(e, "A configuration of a few keys is short: is it the right file?");
}

/* Append what @look has opened. */
static int config_file_take(const struct config_look *look, const char *path, struct buf *text,
			    struct err *e)
{
	char *room;
	ssize_t got = 1;

	while (got > 0) {
		room = buf_reserve(text, 4096);
		if (!room)
			return config_file_fail_size(path, e);
		got = read(look->fd, room, 4096);
		if (got < 0 && errno != EINTR)
			return err_sys(e, ERR_INVALID_PARAMS, errno, "cannot read %.400s", path);
		buf_commit(text, got > 0 ? (size_t)got : 0);
		got = got < 0 ? 1 : got;
	}
	return text->len > CONFIG_FILE_MAX ? config_file_fail_size(path, e) : 0;
}

/* What the walk has found: 0, or -1 with @e. */
static int config_file_judge(struct config_look *look, const char *path, struct err *e)
{
	if (!S_ISREG(look->target.st_mode)) {
		err_set(e, ERR_INVALID_PARAMS, "%.400s is not a regular file", path);
		return err_hint(e, "Name a regular file.");
	}
	if (look->fault.type) {
		*e = look->fault;
		err_init(&look->fault);
		return -1;
	}
	if (look->unread) {
		err_sys(e, ERR_INVALID_PARAMS, look->unread, "cannot read %.400s", path);
		return err_hint(e, "What it forbids is unknown, so nothing starts: make it "
				   "readable, or remove it.");
	}
	return 0;
}

static int config_file_fail_walk(const char *path, struct err *e)
{
	int sys = errno;

	err_sys(e, ERR_INVALID_PARAMS, sys, "cannot look for %.400s", path);
	if (sys == ELOOP)
		return err_hint(e, "Name a regular file: procpen follows no link in a circle, and "
				   "none below /proc/PID, such as /dev/stdin and <(COMMAND).");
	return err_hint(e, "Whether it is there, and what it forbids, is unknown, so nothing "
			   "starts.");
}

/* Is there nothing called @path? A link that leads nowhere is something. */
static bool config_file_is_absent(const char *path)
{
	struct stat st;

	return lstat(path, &st) && errno == ENOENT;
}

int config_file_read(struct config_file *file, const char *path, struct buf *text, struct err *e)
{
	struct config_look look = { .file = file, .fd = -1 };
	AUTO_CLOSE int end = -1;
	int status = 1;

	if (config_file_is_absent(path))
		return 0;
	file->path = dir_absolute(path); /* the way to the working directory counts too */
	if (!file->path)
		file->path = mem_strdup(path);
	end = dir_walk(AT_FDCWD, file->path, config_file_visit, &look);
	if (end < 0)
		status = config_file_fail_walk(path, e);
	else if (config_file_judge(&look, path, e) || config_file_take(&look, path, text, e))
		status = -1;
	mem_cleanup_close(&look.fd);
	err_release(&look.fault);
	return status;
}

void config_file_release(struct config_file *file)
{
	free(file->path);
	free(file->steps);
	*file = (struct config_file){ 0 };
}

void config_file_add_name(struct config_file *file, const char *path)
{
	AUTO_FREE char *front = mem_strdup(path);
	char *slash;
	struct stat st;

	do {
		if (!stat(*front ? front : "/", &st))
			config_file_note(file, &st);
		slash = strrchr(front, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
}

bool config_file_lies_in(const struct config_file *file, const char *path)
{
	struct stat st;

	if (!file->count || stat(path, &st))
		return false;
	for (size_t i = 0; i < file->count; i++)
		if (file->steps[i].dev == st.st_dev && file->steps[i].ino == st.st_ino)
			return true;
	return false;
}
