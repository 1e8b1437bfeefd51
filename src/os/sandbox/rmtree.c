/*
 * A tree may be deeper than any stack, path or descriptor limit: a directory at
 * DEPTH_MAX is moved up to the top, where the next pass finds it. Passes repeat as
 * long as one changes anything. So any depth is removed, and also entries that a list
 * misses while others are removed.
 */
#include "os/sandbox/rmtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/sandbox/mount_id.h"

#define DEPTH_MAX 16
#define COUNT_MAX 100000 /* entries to count at most after the deadline, because counting takes time
			  * too */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_PATH (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct removal {
	int top;                /* where deep directories are moved */
	uint64_t mount;         /* never enter another one */
	int64_t until_us;
	unsigned long changes;  /* of this pass */
	unsigned names;
	struct rmtree_rest *rest;
};

static bool rmtree_in_time(struct removal *r)
{
	if (!r->rest->late)
		r->rest->late = clock_mono_us() >= r->until_us;
	return !r->rest->late;
}

/* Count @name as left because of @error (0: the time is up). */
static void rmtree_note_left(struct removal *r, const char *name, int error)
{
	r->rest->left++;
	if (!error || r->rest->error)
		return;
	r->rest->error = error;
	snprintf(r->rest->name, sizeof(r->rest->name), "%s", name);
}

/* ---- directories ---- */

/* Commands may have removed our own access rights. By descriptor: chmod(2) follows links. */
static int rmtree_make_accessible(int fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0700);
}

/* Open @dir again, to read it from its start and change it. */
static int rmtree_reopen(int dir)
{
	int fd = openat(dir, ".", OPEN_DIRECTORY);

	if (fd < 0 && errno == EACCES && !rmtree_make_accessible(dir))
		fd = openat(dir, ".", OPEN_DIRECTORY);
	if (fd >= 0)
		(void)!fchmod(fd, 0700);
	return fd;
}

static int rmtree_open_dir(const struct removal *r, int at, const char *name)
{
	AUTO_CLOSE int path = openat(at, name, OPEN_PATH);
	uint64_t mount;

	if (path < 0)
		return -1;
	errno = EBUSY; /* as rmdir(2) says of a mount point */
	return mount_id(path, &mount) || mount != r->mount ? -1 : rmtree_reopen(path);
}

/* Without write permission a directory cannot be moved to another parent (rename(2)). */
static int rmtree_move(int at, const char *name, int top, const char *there)
{
	AUTO_CLOSE int path = -1;

	if (!renameat(at, name, top, there))
		return 0;
	if (errno != EACCES)
		return -1;
	path = openat(at, name, OPEN_PATH);
	return path < 0 || rmtree_make_accessible(path) ? -1 : renameat(at, name, top, there);
}

/* Move to the top under a new name; commands may already use such names. */
static void rmtree_move_up(struct removal *r, int at, const char *name)
{
	char there[32];
	int result;

	do {
		snprintf(there, sizeof(there), ".procpen-%u", r->names++);
		result = rmtree_move(at, name, r->top, there);
	} while (result && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) &&
		 rmtree_in_time(r));
	if (result)
		rmtree_note_left(r, name, errno);
	else
		r->changes++;
}

/* ---- the walk ---- */

static void rmtree_empty_dir(struct removal *r, int dir, int depth);

static void rmtree_remove_dir(struct removal *r, int at, const char *name, int depth)
{
	int fd;

	if (depth >= DEPTH_MAX) {
		rmtree_move_up(r, at, name);
		return;
	}
	fd = rmtree_open_dir(r, at, name);
	if (fd < 0) { /* ENOTDIR, though rmdir() found a directory: an immutable file */
		rmtree_note_left(r, name, errno == ENOTDIR ? EPERM : errno);
		return;
	}
	rmtree_empty_dir(r, fd, depth + 1);
	if (!unlinkat(at, name, AT_REMOVEDIR))
		r->changes++;
	else
		rmtree_note_left(r, name, r->rest->late ? 0 : errno);
}

static void rmtree_remove_entry(struct removal *r, int at, const char *name, int depth)
{
	int error;

	if (!unlinkat(at, name, 0)) {
		r->changes++;
		return;
	}
	error = errno;
	if (error == ENOENT)
		return;
	if (error != EISDIR && error != EPERM) {
		rmtree_note_left(r, name, error);
		return;
	}
	if (!unlinkat(at, name, AT_REMOVEDIR))
		r->changes++;
	else if (errno == ENOTDIR)
		rmtree_note_left(r, name, error);
	else
		rmtree_remove_dir(r, at, name, depth);
}

/* Closes @dir. Uses one descriptor per level, because descriptors may be short. */
static void rmtree_empty_dir(struct removal *r, int dir, int depth)
{
	const struct dirent *entry;
	DIR *list = fdopendir(dir);

	if (!list) {
		close(dir);
		return;
	}
	while ((entry = readdir(list))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (rmtree_in_time(r))
			rmtree_remove_entry(r, dir, entry->d_name, depth);
		else if (r->rest->left < COUNT_MAX)
			rmtree_note_left(r, entry->d_name, 0);
		else
			break;
	}
	closedir(list);
}

int rmtree_empty(int dir, int64_t until_us, struct rmtree_rest *rest)
{
	struct removal r = { .top = dir, .until_us = until_us, .rest = rest };
	int copy;

	do {
		*rest = (struct rmtree_rest){ 0 };
		r.changes = 0;
		copy = mount_id(dir, &r.mount) ? -1 : rmtree_reopen(dir);
		if (copy < 0)
			rmtree_note_left(&r, ".", errno);
		else
			rmtree_empty_dir(&r, copy, 0);
	} while (r.changes && !rest->late);
	return rest->left ? -1 : 0;
}
