#include "os/cgroup/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define CHILDREN_MAX 1024 /* directories visited in one group */

const char *const cgroup_role_names[CGROUP_ROLE_COUNT] = {
	[CGROUP_ROLE_MEMORY] = "memory", [CGROUP_ROLE_CPU] = "cpu",
	[CGROUP_ROLE_CPUACCT] = "cpuacct", [CGROUP_ROLE_PIDS] = "pids",
	[CGROUP_ROLE_FREEZER] = "freezer",
};

static int fs_kernel_make(int dir, const char *name)
{
	return mkdirat(dir, name, 0755);
}

static int fs_kernel_remove(int dir, const char *name)
{
	return unlinkat(dir, name, AT_REMOVEDIR);
}

static int fs_kernel_write(int dir, const char *file, const char *text)
{
	AUTO_CLOSE int fd = openat(dir, file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	const size_t len = strlen(text);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	do /* version 1 sets no memory limit while a signal is pending */
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -1;
}

static bool fs_kernel_genuine(int dir, int version)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) &&
	       fs.f_type == (version == 2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

const struct cgroup_fs cgroup_fs_kernel = {
	.mountinfo = "/proc/self/mountinfo",
	.self = "/proc/self/cgroup",
	.make = fs_kernel_make,
	.remove = fs_kernel_remove,
	.write = fs_kernel_write,
	.genuine = fs_kernel_genuine,
};

int cgroup_read(int dir, const char *file, char *out, size_t size)
{
	AUTO_CLOSE int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	out[0] = '\0';
	if (fd < 0)
		return -1;
	while (n > 0 && len < size - 1) {
		n = read(fd, out + len, size - 1 - len);
		if (n < 0)
			return -1;
		len += (size_t)n;
	}
	if (len && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	return (int)len;
}

int64_t cgroup_find_number(const char *text, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	const char *line = text;
	int64_t value = 0;

	while (len && line && (strncmp(line, key, len) != 0 || line[len] != ' ')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line)
		return -1;
	line += len ? len + 1 : 0;
	if (*line < '0' || *line > '9')
		return -1;
	for (; *line >= '0' && *line <= '9'; line++) {
		if (value > (INT64_MAX - 9) / 10)
			return -1;
		value = value * 10 + (*line - '0');
	}
	return value;
}

int64_t cgroup_read_number(int dir, const char *file, const char *key)
{
	char text[1024];

	return cgroup_read(dir, file, text, sizeof(text)) < 0 ? -1 : cgroup_find_number(text, key);
}

bool cgroup_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

int cgroup_write_number(const struct cgroup_fs *fs, int dir, const char *file, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return fs->write(dir, file, text);
}

const char *cgroup_error_text(int sys)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s (%s)", strerror(sys), err_sys_name(sys));
	return text;
}

int cgroup_open_dir(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cgroup_open_locked(int dir, const char *name)
{
	int group = cgroup_open_dir(dir, name);
	struct stat opened, named;

	if (group < 0)
		return -1;
	if (!flock(group, LOCK_EX | LOCK_NB) && !fstat(group, &opened) &&
	    !fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW)) {
		if (opened.st_ino == named.st_ino)
			return group;
		errno = ENOENT;
	}
	mem_cleanup_close(&group);
	return -1;
}

int cgroup_each_child(int dir, int (*fn)(void *ctx, int dir, const char *name), void *ctx)
{
	int copy = cgroup_open_dir(dir, "."), result = 0;
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!list) {
		mem_cleanup_close(&copy);
		return 0;
	}
	for (int i = 0; !result && i < CHILDREN_MAX && (entry = readdir(list));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			result = fn(ctx, dir, entry->d_name);
			i++;
		}
	closedir(list);
	return result;
}

struct removal {
	const struct cgroup_fs *fs;
	int depth;
};

static int fs_remove_below(void *ctx, int dir, const char *name)
{
	const struct removal *above = ctx;
	struct removal below = { above->fs, above->depth + 1 };
	AUTO_CLOSE int child = -1;

	if (!above->fs->remove(dir, name) || errno == ENOENT)
		return 0;
	if (errno != EBUSY || below.depth > CGROUP_DEPTH_MAX)
		return -1;
	child = cgroup_open_dir(dir, name);
	if (child < 0)
		return -1;
	if (cgroup_each_child(child, fs_remove_below, &below))
		return -1;
	return above->fs->remove(dir, name);
}

int cgroup_remove_tree(const struct cgroup_fs *fs, int dir, const char *name)
{
	struct removal r = { fs, 0 };

	return fs_remove_below(&r, dir, name);
}
