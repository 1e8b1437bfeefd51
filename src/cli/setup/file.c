#include "cli/setup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define BYTES_MAX (8u << 20) /* the largest file that is read */
#define BACKUPS_MAX 1000
#define MODE_NEW 0600 /* the file may hold keys */

static int setup_file_fail(struct err *e, const char *what, const char *path)
{
	err_sys(e, ERR_PERMISSION_DENIED, errno, "cannot %s %.400s", what, path);
	return err_hint(e, "Name another file with --file FILE, or print the entry without "
			   "--write.");
}

static int setup_file_read_all(int fd, struct setup_file *file, struct err *e)
{
	for (;;) {
		char *room = buf_reserve(&file->text, 64u << 10);
		ssize_t n = room ? read(fd, room, 64u << 10) : 0;

		if (!room)
			return err_set(e, ERR_INVALID_PARAMS, "%.400s is larger than %u bytes",
				       file->path, BYTES_MAX);
		if (n < 0)
			return setup_file_fail(e, "read", file->path);
		buf_commit(&file->text, (size_t)n);
		if (!n)
			return 0;
	}
}

int setup_file_read(struct setup_file *file, const char *path, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	memset(file, 0, sizeof(*file));
	buf_init(&file->text, BYTES_MAX + (64u << 10));
	file->path = realpath(path, NULL);
	if (!file->path && errno == ENOENT) {
		struct stat st;

		file->path = mem_strdup(path);
		if (path[strlen(path) - 1] == '/')
			return err_set(e, ERR_INVALID_PARAMS, "%.400s is the name of a directory",
				       path);
		if (!lstat(path, &st))
			return err_set(e, ERR_INVALID_PARAMS,
				       "%.400s is a dangling symbolic link", path);
		return 0;
	}
	if (!file->path)
		return setup_file_fail(e, "find", path);
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &file->st))
		return setup_file_fail(e, "open", file->path);
	if (!S_ISREG(file->st.st_mode))
		return err_set(e, ERR_INVALID_PARAMS, "%.400s is not a regular file", file->path);
	if (file->st.st_nlink > 1)
		return err_set(e, ERR_INVALID_PARAMS,
			       "%.400s has other names (hard links), which would keep the old "
			       "content",
			       file->path);
	file->exists = true;
	return setup_file_read_all(fd, file, e);
}

/* Create the missing folders above @path. */
static int setup_file_make_folders(const char *path, struct err *e)
{
	AUTO_FREE char *folder = mem_strdup(path);

	for (char *c = strchr(folder + 1, '/'); c; c = strchr(c + 1, '/')) {
		*c = '\0';
		if (mkdir(folder, 0700) && errno != EEXIST)
			return setup_file_fail(e, "create the directory", folder);
		*c = '/';
	}
	return 0;
}

static int setup_file_write_all(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return fsync(fd);
}

/* Create a file with the mode and owner of the old one. Removes it if it cannot be written. */
static int setup_file_write_new(const struct setup_file *file, const char *path,
				const struct buf *text, struct err *e)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_NEW);

	if (fd < 0)
		return -1;
	if (file->exists && (fchown(fd, file->st.st_uid, file->st.st_gid) ||
			     fchmod(fd, file->st.st_mode & 07777)))
		setup_file_fail(e, "set the owner and mode of", path);
	else if (setup_file_write_all(fd, text))
		setup_file_fail(e, "write", path);
	else
		return 0;
	unlink(path);
	return -1;
}

/* Save the old content in the same directory, under a new name. */
static int setup_file_save(const struct setup_file *file, char **backup, struct err *e)
{
	for (int i = 0; i < BACKUPS_MAX; i++) {
		char number[16] = "";

		if (i)
			snprintf(number, sizeof(number), ".%d", i);
		*backup = mem_printf("%s.before-procpen%s", file->path, number);
		if (!setup_file_write_new(file, *backup, &file->text, e))
			return 0;
		if (e->type || errno != EEXIST)
			break;
		free(*backup);
		*backup = NULL;
	}
	if (!e->type)
		setup_file_fail(e, "make a copy of", file->path);
	free(*backup);
	*backup = NULL;
	return -1;
}

static bool setup_file_is_unchanged(const struct setup_file *file)
{
	struct stat now;

	if (lstat(file->path, &now))
		return !file->exists && errno == ENOENT;
	return file->exists && now.st_dev == file->st.st_dev && now.st_ino == file->st.st_ino &&
	       now.st_size == file->st.st_size &&
	       now.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec;
}

/* Rename the new file over the old one, or remove it. */
static int setup_file_put(const struct setup_file *file, const char *fresh, struct err *e)
{
	if (!setup_file_is_unchanged(file)) {
		err_set(e, ERR_INVALID_PARAMS, "another process has just changed %.400s",
			file->path);
		err_hint(e, "End the host that uses it and try again.");
	} else if (rename(fresh, file->path)) {
		setup_file_fail(e, "replace", file->path);
	} else {
		return 0;
	}
	unlink(fresh);
	return -1;
}

static int setup_file_write_over(struct setup_file *file, const struct buf *text, char **backup,
				 struct err *e)
{
	AUTO_FREE char *fresh = mem_printf("%s.procpen-%d", file->path, (int)getpid());

	if (setup_file_make_folders(file->path, e) ||
	    (file->exists && setup_file_save(file, backup, e)))
		return -1;
	if (setup_file_write_new(file, fresh, text, e))
		return e->type ? -1 : setup_file_fail(e, "create", fresh);
	return setup_file_put(file, fresh, e);
}

int setup_file_replace(struct setup_file *file, const struct buf *text, char **backup,
		       struct err *e)
{
	sigset_t ending, before;
	int result;

	*backup = NULL;
	signal(SIGXFSZ, SIG_IGN); /* a file size limit then fails the write, which cleans up */
	sigemptyset(&ending);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGQUIT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, &before); /* until no half-written file is left */
	result = setup_file_write_over(file, text, backup, e);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

void setup_file_release(struct setup_file *file)
{
	free(file->path);
	buf_release(&file->text);
	memset(file, 0, sizeof(*file));
}
