/*
 * Who may remove a directory is decided by its lock file alone: commands can do to
 * their directory what they like, its mode included, but its lock file lies beside
 * it, where they cannot write. It is there before the directory and leaves after it,
 * so a server that is killed at any point leaves nothing that nobody would remove.
 */
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
#include "base/ids.h"
#include "base/mem.h"
#include "os/rmtree.h"

#define USERS_PLACE "tmp-users"
#define LOCK_SUFFIX ".lock"
#define LOCK_NAME_SIZE (IDS_INSTANCE_SIZE + sizeof(LOCK_SUFFIX) - 1)
#define LOCK_MODE 0200 /* whoever can open it could lock it */
#define LOCK_ATTEMPTS 16
#define STALE_US 20000 /* for what others left, at a first start */
#define OWN_US 300000  /* for our own, at the end */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct tmpdir {
	char *parent, *place_path, *path;
	bool for_users;
	mode_t mode; /* of what we make: users pass through */
	int place;   /* <parent>/tmp, or for users; -1: not opened */
	int lock;    /* our lock file, locked */
	int fd;      /* the directory; -1: not made */
};

static struct tmpdir *new_directory(const char *parent, const char *instance, bool for_users)
{
	struct tmpdir *t = mem_zalloc(sizeof(*t));

	t->parent = mem_strdup(parent);
	t->for_users = for_users;
	t->mode = for_users ? 0711 : 0700;
	t->place = t->lock = t->fd = -1;
	/* The two have different modes, and their parents may be one. */
	if (asprintf(&t->place_path, "%s/%s", parent, for_users ? USERS_PLACE : TMPDIR_PLACE) < 0 ||
	    asprintf(&t->path, "%s/%s", t->place_path, instance) < 0)
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

const char *tmpdir_path(const struct tmpdir *t)
{
	return t->path;
}

static const char *place_of(const struct tmpdir *t)
{
	return t->place_path + strlen(t->parent) + 1;
}

static const char *instance_of(const struct tmpdir *t)
{
	return t->path + strlen(t->place_path) + 1;
}

/* ---- the place ---- */

static int hint(const struct tmpdir *t, struct err *e)
{
	return err_hint(e, t->for_users ? "the operator can put it right, or take sandbox.user and "
					  "sandbox.users away"
					: "the operator can put it right, or name another place: "
					  "--state-dir DIR");
}

static int failed(const struct tmpdir *t, struct err *e)
{
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
		"the private temporary directory %.300s cannot be made",
		t->place < 0 ? t->place_path : t->path);
	return hint(t, e);
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
	return t->for_users ? chmod(copy, t->mode) : 0; /* whatever the umask is */
}

/* Only what nobody else can change, or a name in it would prove nothing. Mode 0700 will always do:
 * it is what mkdir() makes, before the mode for users is set. */
static int check_place(const struct tmpdir *t, int place, struct err *e)
{
	struct stat st;
	mode_t mode;

	if (fstat(place, &st) < 0)
		return failed(t, e);
	mode = st.st_mode & 07777 & ~(mode_t)S_ISGID; /* inherited from the directory above */
	if (st.st_uid == geteuid() && (mode == t->mode || mode == 0700))
		return fchmod(place, t->mode) < 0 ? failed(t, e) : 0;
	if (st.st_uid != geteuid())
		err_set(e, ERR_SANDBOX_UNAVAILABLE,
			"%.300s cannot be the place of the private temporary directory: it "
			"belongs to uid %u", t->place_path, st.st_uid);
	else
		err_set(e, ERR_SANDBOX_UNAVAILABLE,
			"%.300s cannot be the place of the private temporary directory: its mode "
			"is %04o instead of %04o", t->place_path, mode, t->mode);
	return hint(t, e);
}

static int open_place(struct tmpdir *t, struct err *e)
{
	AUTO_CLOSE int parent = -1, place = -1;

	if (t->place >= 0)
		return 0;
	if (make_parents(t))
		return failed(t, e);
	parent = open(t->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || (mkdirat(parent, place_of(t), 0700) < 0 && errno != EEXIST))
		return failed(t, e);
	place = openat(parent, place_of(t), OPEN_DIRECTORY);
	if (place < 0)
		return failed(t, e);
	if (check_place(t, place, e))
		return -1;
	t->place = place;
	place = -1;
	return 0;
}

/* ---- the lock ---- */

static void lock_name(const char *instance, char name[LOCK_NAME_SIZE])
{
	snprintf(name, LOCK_NAME_SIZE, "%s" LOCK_SUFFIX, instance);
}

static bool is_lock(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       (st->st_mode & 07777) == LOCK_MODE && st->st_nlink == 1 && !st->st_size;
}

/* The lock file of @instance, locked: its descriptor, or -1 with errno: EAGAIN while somebody else
 * has it, EPERM if it is not what we make. */
static int lock(int place, const char *instance, int flags)
{
	char name[LOCK_NAME_SIZE];
	struct stat st;
	int fd, error = 0;

	lock_name(instance, name);
	fd = openat(place, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, LOCK_MODE);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		error = errno;
	else if (!st.st_nlink)
		error = EAGAIN; /* who had it has just removed it */
	else if (!is_lock(&st))
		error = EPERM;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

/* Whoever cleans up may meet our lock file before we hold it: it removes it then, at once. */
static int lock_own(const struct tmpdir *t)
{
	int fd = -1;

	for (int attempt = 0; attempt < LOCK_ATTEMPTS && fd < 0; attempt++) {
		if (attempt)
			usleep(1000);
		fd = lock(t->place, instance_of(t), O_CREAT);
		if (fd < 0 && errno != EAGAIN)
			return -1;
	}
	return fd;
}

static void unlink_lock(const struct tmpdir *t, const char *instance)
{
	char name[LOCK_NAME_SIZE];

	lock_name(instance, name);
	unlinkat(t->place, name, 0);
}

/* ---- removing ---- */

/* The directory @fd of @instance, then its lock file, which stays with what is left. */
static void remove_directory(const struct tmpdir *t, const char *instance, int fd, int64_t until_us)
{
	struct rmtree_rest rest;

	if (!rmtree_empty(fd, until_us, &rest) &&
	    (!unlinkat(t->place, instance, AT_REMOVEDIR) || errno == ENOENT))
		unlink_lock(t, instance);
}

/* With the lock held. What is no directory of ours beside a lock of ours is left alone. */
static void remove_stale(const struct tmpdir *t, const char *instance, int64_t until_us)
{
	AUTO_CLOSE int fd = openat(t->place, instance,
				   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		unlink_lock(t, instance);
	else if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid())
		remove_directory(t, instance, fd, until_us);
}

/* ---- after dead servers ---- */

/* The instance that a lock file is named after. */
static bool is_lock_name(const char *name, char instance[IDS_INSTANCE_SIZE])
{
	size_t len = strlen(name);

	if (len != LOCK_NAME_SIZE - 1 || strcmp(name + IDS_INSTANCE_SIZE - 1, LOCK_SUFFIX))
		return false;
	memcpy(instance, name, IDS_INSTANCE_SIZE - 1);
	instance[IDS_INSTANCE_SIZE - 1] = '\0';
	return ids_is_instance(instance);
}

static void visit(const struct tmpdir *t, const char *instance, int64_t until_us)
{
	AUTO_CLOSE int held = lock(t->place, instance, 0);

	if (held >= 0)
		remove_stale(t, instance, until_us);
}

static void clean_up(const struct tmpdir *t)
{
	int64_t until_us = clock_mono_us() + STALE_US;
	int copy = openat(t->place, ".", OPEN_DIRECTORY);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	char instance[IDS_INSTANCE_SIZE];
	const struct dirent *entry;

	if (!list && copy >= 0)
		close(copy);
	while (list && clock_mono_us() < until_us && (entry = readdir(list)))
		if (is_lock_name(entry->d_name, instance))
			visit(t, instance, until_us);
	if (list)
		closedir(list);
}

/* ---- the directory ---- */

static int make_directory(struct tmpdir *t)
{
	if (mkdirat(t->place, instance_of(t), 0700) < 0)
		return -1;
	t->fd = openat(t->place, instance_of(t), OPEN_DIRECTORY);
	if (t->fd >= 0 && !fchmod(t->fd, t->mode))
		return 0;
	mem_cleanup_close(&t->fd);
	return -1;
}

/* All or nothing. */
static int make_locked(struct tmpdir *t)
{
	int saved;

	t->lock = lock_own(t);
	if (t->lock < 0)
		return -1;
	if (!make_directory(t))
		return 0;
	saved = errno;
	unlinkat(t->place, instance_of(t), AT_REMOVEDIR);
	unlink_lock(t, instance_of(t));
	mem_cleanup_close(&t->lock);
	errno = saved;
	return -1;
}

int tmpdir_make(struct tmpdir *t, struct err *e)
{
	if (t->fd >= 0)
		return 0;
	if (open_place(t, e))
		return -1;
	clean_up(t); /* first: what is removed may be the room that is missing */
	if (!make_locked(t))
		return 0;
	failed(t, e);
	mem_cleanup_close(&t->place); /* it may be another one when this is tried again */
	return -1;
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
	fd = openat(t->fd, name, OPEN_DIRECTORY);
	return fd < 0 || fchown(fd, uid, gid) < 0 ? failed(t, e) : 0;
}

void tmpdir_free(struct tmpdir *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		remove_directory(t, instance_of(t), t->fd, clock_mono_us() + OWN_US);
	mem_cleanup_close(&t->fd);
	mem_cleanup_close(&t->lock);
	mem_cleanup_close(&t->place);
	free(t->parent);
	free(t->place_path);
	free(t->path);
	free(t);
}
