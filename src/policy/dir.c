#include "policy/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define LINKS_MAX 40       /* like the kernel's, path_resolution(7) */
#define PROC_ROOT_INODE 1  /* its own links (self, mounts) are ordinary ones */

/* What a walk has reached, and the rest of the path. */
struct walk {
	int at;
	char rest[2 * PATH_MAX];
	int links;
	dir_visit_fn visit; /* or NULL */
	void *ctx;
};

/* All links below /proc/PID are magic. */
static bool dir_leads_elsewhere(int dir)
{
	struct statfs fs;
	struct stat st;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC && !fstat(dir, &st) &&
	       st.st_ino != PROC_ROOT_INODE;
}

/* Go on at @fd, which is called @name in the directory where the walk is; -1: with errno. */
static int dir_move_to(struct walk *w, int fd, const char *name)
{
	if (fd < 0)
		return -1;
	if (w->visit)
		w->visit(w->ctx, w->at, name, fd);
	mem_cleanup_close(&w->at);
	w->at = fd;
	return 0;
}

/* Follow the link @link: put its target before the rest of the path. */
static int dir_follow(struct walk *w, int link)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link, "", target, sizeof(target));
	size_t left = strlen(w->rest);

	if (len < 0)
		return -1;
	errno = ELOOP;
	if (dir_leads_elsewhere(w->at) || ++w->links > LINKS_MAX)
		return -1;
	errno = ENAMETOOLONG;
	if (len == sizeof(target) || (size_t)len + left >= sizeof(w->rest))
		return -1;
	/* A slash at the end would ask for a directory. What is left begins with one. */
	memmove(w->rest + len, w->rest, left + 1);
	memcpy(w->rest, target, (size_t)len);
	return target[0] == '/' ? dir_move_to(w, open("/", OPEN_DIR), "/") : 0;
}

/* Take the first name off the rest of the path: 0 or -1. "": only slashes are left. */
static int dir_take_name(struct walk *w, char name[NAME_MAX + 1])
{
	size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/");

	errno = ENAMETOOLONG;
	if (len > NAME_MAX)
		return -1;
	memcpy(name, w->rest + slashes, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
	return 0;
}

static int dir_check_type(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	errno = ENOTDIR;
	return S_ISDIR(st.st_mode) ? 0 : -1;
}

/* Enter the first name of the rest of the path, which is not empty. */
static int dir_step(struct walk *w)
{
	char name[NAME_MAX + 1];
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int taken;

	if (dir_take_name(w, name))
		return -1;
	if (!*name)
		return dir_check_type(w->at);
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (S_ISLNK(st.st_mode)) {
		if (w->visit)
			w->visit(w->ctx, w->at, name, fd);
		return dir_follow(w, fd);
	}
	taken = fd;
	fd = -1;
	return dir_move_to(w, taken, name);
}

int dir_walk(int base, const char *path, dir_visit_fn visit, void *ctx)
{
	struct walk w = { .at = -1, .visit = visit, .ctx = ctx };
	bool absolute = *path == '/';

	errno = strlen(path) < PATH_MAX ? ENOENT : ENAMETOOLONG;
	if (!*path || errno == ENAMETOOLONG)
		return -1;
	strcpy(w.rest, path);
	if (dir_move_to(&w, absolute ? open("/", OPEN_DIR) : openat(base, ".", OPEN_DIR),
			absolute ? "/" : "."))
		return -1;
	while (*w.rest)
		if (dir_step(&w)) {
			int saved = errno;

			mem_cleanup_close(&w.at);
			errno = saved;
			return -1;
		}
	return w.at;
}

/* dir_open() where openat2(2) is missing or filtered. */
static int dir_open_by_steps(int base, const char *path)
{
	int fd = dir_walk(base, path, NULL, NULL);

	if (fd < 0 || !dir_check_type(fd))
		return fd;
	close(fd);
	errno = ENOTDIR;
	return -1;
}

int dir_open(int base, const char *path)
{
	struct open_how how = { .flags = OPEN_DIR, .resolve = RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = dir_open_by_steps(base, path);
	return fd;
}

char *dir_absolute(const char *path)
{
	AUTO_FREE char *here = *path == '/' ? mem_strdup("") : getcwd(NULL, 0);

	return here ? mem_printf("%s%s%s", here, here[strspn(here, "/")] ? "/" : "", path) : NULL;
}

bool dir_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *dir_name(int fd, const char *fallback)
{
	char link[64], name[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	if (len > 0 && (size_t)len < sizeof(name) && name[0] == '/')
		return mem_strndup(name, (size_t)len);
	return mem_strdup(fallback);
}

char *dir_real(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	char *name = fd >= 0 ? dir_name(fd, NULL) : NULL;

	if (name || (fd < 0 && errno != EMFILE && errno != ENFILE))
		return name;
	return realpath(path, NULL);
}
