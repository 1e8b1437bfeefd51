#include "policy/installed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/dir.h"
#include "policy/env.h"

struct installed_look {
	const struct installed *in;
	bool writable;
	char *last; /* what was visited last, if it is not a link; owned */
};

/* A dir_visit_fn. A link is replaced in its directory; what it leads to is visited next. Other
 * directories need no look: what is writable is so with all that is below. */
static void installed_visit(void *ctx, int dir, const char *name, int fd)
{
	struct installed_look *look = ctx;
	AUTO_FREE char *path = dir_name(fd, name);
	char *slash = strrchr(path, '/');
	struct stat st;

	(void)dir;
	if (fstat(fd, &st) || !slash) {
		look->writable = true;
	} else if (S_ISLNK(st.st_mode)) {
		slash[slash == path] = '\0';
		look->writable |= look->in->can_write(look->in->ctx, path);
	} else {
		free(look->last);
		look->last = path;
		path = NULL;
	}
}

/* Can a run change what @path leads to? Of a path that is not there, could it make it? */
static bool installed_is_open(const struct installed *in, const char *path)
{
	struct installed_look look = { .in = in };
	AUTO_CLOSE int end = dir_walk(AT_FDCWD, path, installed_visit, &look);

	(void)end;
	look.writable |= !look.last || in->can_write(in->ctx, look.last);
	free(look.last);
	return look.writable;
}

static const char *installed_check(const struct installed *in, const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || access(path, X_OK))
		return "no such program is installed";
	return installed_is_open(in, path) ? "the program, or the way to it, is where commands may "
					     "write" : NULL;
}

/* The first directory of PATH that has @name, as execvp(3) finds it. */
static const char *installed_search(struct installed *in, const char *name, char **path)
{
	const char *start = env_base_path(), *dir = start;

	for (size_t len; ; dir += len + 1) {
		AUTO_FREE char *folder = mem_strndup(dir, len = strcspn(dir, ":"));
		AUTO_FREE char *candidate = mem_printf("%s/%s", folder, name);

		if (folder[0] != '/')
			return "PATH has a relative directory before it";
		if (dir >= start + in->closed && installed_is_open(in, folder))
			return "PATH has a directory, at or before it, where commands may write";
		if (dir >= start + in->closed)
			in->closed = (size_t)(dir - start) + len + 1;
		if (!access(candidate, X_OK)) {
			*path = candidate;
			candidate = NULL;
			return installed_check(in, *path);
		}
		if (!dir[len])
			return "no such program is in PATH";
	}
}

const char *installed_lacks(struct installed *in, const char *name, char **path)
{
	*path = NULL;
	if (name[0] != '/' && strchr(name, '/'))
		return "its path is relative";
	if (name[0] != '/')
		return installed_search(in, name, path);
	*path = mem_strdup(name);
	return installed_check(in, name);
}
