#include "policy/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define LINKS_MAX 40       /* like the kernel's, path_resolution(7) */
#define PROC_ROOT_INODE 1  /* its own links (self, mounts) are ordinary ones */

/* The directory that a walk has reached, and the rest of the path. */
struct walk {
	int at;
	char rest[2 * PATH_MAX];
	int links;
};

/* All links below /proc/PID are magic. */
static bool dir_leads_elsewhere(int dir)
{
	struct statfs fs;
	struct stat st;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC && !fstat(dir, &st) &&
	       st.st_ino != PROC_ROOT_INODE;
}

static int dir_move_to(struct walk *w, int fd)
{
	if (fd < 0)
		return -1;
	mem_cleanup_close(&w->at);
	w->at = fd;
	return 0;
}

/* Prepend @target to the rest of the path. */
static int dir_follow(struct walk *w, const char *target, size_t len)
{
	size_t left = strlen(w->rest);

	errno = ELOOP;
	if (dir_leads_elsewhere(w->at) || ++w->links > LINKS_MAX)
		return -1;
	errno = ENAMETOOLONG;
	if (len + 1 + left >= sizeof(w->rest))
		return -1;
	memmove(w->rest + len + 1, w->rest, left + 1);
	memcpy(w->rest, target, len);
	w->rest[len] = '/';
	return target[0] == '/' ? dir_move_to(w, open("/", OPEN_DIR)) : 0;
}

/* Enter the first name of the rest of the path, which is not empty. */
static int dir_step(struct walk *w)
{
	char name[NAME_MAX + 1], target[PATH_MAX];
	size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/");
	ssize_t linked;

	errno = ENAMETOOLONG;
	if (len > NAME_MAX)
		return -1;
	memcpy(name, w->rest + slashes, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
	if (!len)
		return 0;
	linked = readlinkat(w->at, name, target, sizeof(target));
	if (linked == sizeof(target))
		return -1;
	if (linked >= 0)
		return dir_follow(w, target, (size_t)linked);
	/* ENOTDIR if the name has become a link since. */
	return dir_move_to(w, openat(w->at, name, OPEN_DIR | O_NOFOLLOW));
}

/* The same where openat2(2) is missing or filtered. */
static int dir_open_by_steps(int base, const char *path)
{
	struct walk w = { .at = -1 };

	errno = strlen(path) < PATH_MAX ? ENOENT : ENAMETOOLONG;
	if (!*path || errno == ENAMETOOLONG)
		return -1;
	strcpy(w.rest, path);
	if (dir_move_to(&w, *path == '/' ? open("/", OPEN_DIR) : openat(base, ".", OPEN_DIR)))
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

int dir_open(int base, const char *path)
{
	struct open_how how = { .flags = OPEN_DIR, .resolve = RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = dir_open_by_steps(base, path);
	return fd;
}
