#include "os/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/rmtree.h"

#define PREFIX "tmp-"
#define STALE_US 20000 /* for what others left, at a first start */
#define OWN_US 300000  /* for our own, at the end */

struct tmpdir {
	char *parent, *path;
	bool passable; /* others may pass through it */
	int fd; /* holds the lock; -1: not made */
};

static struct tmpdir *new_directory(const char *parent, const char *instance, bool passable)
{
	struct tmpdir *t = mem_zalloc(sizeof(*t));

	t->parent = mem_strdup(parent);
	t->passable = passable;
	t->fd = -1;
	if (asprintf(&t->path, "%s/" PREFIX "%s", parent, instance) < 0)
		abort();
	return t;
}

struct tmpdir *tmpdir_new(const char *parent, const char *instance)
{
	return new_directory(parent, instance, false);
}

struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance)
{
	return new_directory(parent, instance, true);
}

/* Its owner may have locked a directory; its owner are we. By descriptor: chmod(2) follows a
 * link. */
static int unlock_directory(int at, const char *name)
{
	AUTO_CLOSE int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : chmod(path, 0700);
}

static int open_directory(int at, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, flags);

	if (fd < 0 && errno == EACCES && !unlock_directory(at, name))
		fd = openat(at, name, flags);
	return fd;
}

static void remove_tree(int parent, const char *name, int fd, int64_t for_us)
{
	struct rmtree_rest rest;

	rmtree_empty(fd, clock_mono_us() + for_us, &rest);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_stale(int parent, const char *name, int64_t for_us)
{
	AUTO_CLOSE int fd = open_directory(parent, name);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		remove_tree(parent, name, fd, for_us);
}

/* Whoever holds no lock on its directory is dead. */
static void clean_up(int parent)
{
	int64_t until = clock_mono_us() + STALE_US;
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!list) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while (clock_mono_us() < until && (entry = readdir(list)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			remove_stale(parent, entry->d_name, until - clock_mono_us());
	closedir(list);
}

static int failed(const struct tmpdir *t, struct err *e)
{
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
		"the private temporary directory %.300s cannot be made", t->path);
	return err_hint(e, t->passable ? "the operator must let the server write there, or take "
					 "sandbox.user and sandbox.users away"
				       : "the operator can name a place that the server's user can "
					 "write: --state-dir DIR");
}

/* The record's own directory is made by whoever writes the record; here only what is missing. */
static int make_parents(const struct tmpdir *t)
{
	AUTO_FREE char *copy = mem_strdup(t->parent);

	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -1;
		*at = '/';
	}
	if (mkdir(copy, 0700) < 0)
		return errno == EEXIST ? 0 : -1;
	return t->passable ? chmod(copy, 0711) : 0; /* whatever the umask is */
}

/* Another server that is cleaning up may take the new directory for a dead one's before we hold
 * its lock: then it is gone when we get it, and made once more. */
static int make_locked(struct tmpdir *t)
{
	struct stat st;

	for (int attempt = 0; attempt < 8; attempt++) {
		if (mkdir(t->path, 0700) < 0 && errno != EEXIST)
			return -1;
		t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (t->fd < 0 && errno != ENOENT)
			return -1;
		if (t->fd >= 0 && !flock(t->fd, LOCK_EX) && !fstat(t->fd, &st) && st.st_nlink)
			return t->passable ? fchmod(t->fd, 0711) : 0;
		mem_cleanup_close(&t->fd);
	}
	return -1;
}

int tmpdir_make(struct tmpdir *t, struct err *e)
{
	AUTO_CLOSE int parent = -1;

	if (t->fd >= 0)
		return 0;
	if (make_parents(t))
		return failed(t, e);
	parent = open(t->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return failed(t, e);
	clean_up(parent);
	return make_locked(t) ? failed(t, e) : 0;
}

/* In a directory that nobody else can write, so what is there already is ours. */
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	char name[16];

	if (tmpdir_make(t, e))
		return -1;
	snprintf(name, sizeof(name), "%" PRIu32, uid);
	if (mkdirat(t->fd, name, 0700) < 0 && errno != EEXIST)
		return failed(t, e);
	fd = openat(t->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fchown(fd, uid, gid) < 0 ? failed(t, e) : 0;
}

const char *tmpdir_path(const struct tmpdir *t)
{
	return t->path;
}

void tmpdir_free(struct tmpdir *t)
{
	AUTO_CLOSE int parent = -1;

	if (!t)
		return;
	if (t->fd >= 0) {
		parent = open(t->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (parent >= 0)
			remove_tree(parent, strrchr(t->path, '/') + 1, t->fd, OWN_US);
		close(t->fd);
	}
	free(t->parent);
	free(t->path);
	free(t);
}
