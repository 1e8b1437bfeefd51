/*
 * Checks open descriptors, not names: finds the place of a directory by walking ".." from its
 * descriptor and comparing device and inode. So links, "..", similar prefixes and directories that
 * are swapped during the check need no special cases.
 */
#include "policy/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/dir.h"

/* Directories between a path and the root that are followed. */
#define DEPTH_MAX 8192

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct scope {
	struct scope_dir **dirs; /* the accessible ones, the workspace first */
	char **names;           /* canonical paths of them; NULL-terminated */
	size_t count;
};

/* ---- names ---- */

/* The path of the request as an absolute path. Heap. */
static char *scope_requested_name(const struct scope *s, const char *path)
{
	const char *base = s->names[0];

	return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", base, path);
}

/* ---- where a directory lies ---- */

static bool scope_dir_is(const struct scope_dir *dir, const struct stat *st)
{
	return st->st_dev == dir->dev && st->st_ino == dir->ino;
}

static bool scope_is_accessible(const struct scope *s, const struct stat *st)
{
	for (size_t i = 0; i < s->count; i++)
		if (scope_dir_is(s->dirs[i], st))
			return true;
	return false;
}

static bool scope_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is @fd an accessible directory, or below one? */
static bool scope_lies_inside(const struct scope *s, int fd)
{
	struct stat here, above;
	int cur = fd, up;
	bool inside = false;

	if (fstat(fd, &here) != 0)
		return false;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		inside = scope_is_accessible(s, &here);
		if (inside)
			break;
		up = openat(cur, "..", OPEN_DIR);
		if (cur != fd)
			close(cur);
		cur = up;
		if (up < 0 || fstat(up, &above) != 0)
			break;
		/* Only the root is its own parent. */
		if (scope_is_same(&above, &here))
			break;
		here = above;
	}
	if (cur != fd && cur >= 0)
		close(cur);
	return inside;
}

/* ---- life ---- */

/* Takes @fd. */
static struct scope_dir *scope_dir_new(int fd, const struct stat *st)
{
	struct scope_dir *dir = mem_zalloc(sizeof(*dir));

	*dir = (struct scope_dir){ .fd = fd, .holders = 1, .dev = st->st_dev, .ino = st->st_ino };
	return dir;
}

void scope_dir_drop(struct scope_dir **dir)
{
	if (*dir && !--(*dir)->holders) {
		close((*dir)->fd);
		free(*dir);
	}
	*dir = NULL;
}

static int scope_add_directory(struct scope *s, const char *path, struct err *e)
{
	struct stat st;
	int fd = open(path, OPEN_DIR);

	if (fd < 0 || fstat(fd, &st) != 0) {
		err_sys(e, ERR_INVALID_PARAMS, errno,
			"cannot use \"%.256s\" as a directory to work in", path);
		if (fd >= 0)
			close(fd);
		return err_hint(e, "Name a directory that exists: the first of --workspace DIR, "
				   "PROCPEN_WORKSPACE and CLAUDE_PROJECT_DIR counts; --allow-dir "
				   "DIR is for further ones.");
	}
	if (scope_is_accessible(s, &st)) {
		close(fd);
		return 0;
	}
	s->dirs = mem_realloc(s->dirs, (s->count + 1) * sizeof(*s->dirs));
	s->names = mem_realloc(s->names, (s->count + 2) * sizeof(*s->names));
	s->dirs[s->count] = scope_dir_new(fd, &st);
	s->names[s->count] = dir_name(fd, path);
	s->names[++s->count] = NULL;
	return 0;
}

struct scope *scope_new(const char *workspace, char *const *extra, struct err *e)
{
	struct scope *s = mem_zalloc(sizeof(*s));
	int status = 0;

	s->names = mem_zalloc(sizeof(*s->names));
	if (!workspace)
		return s;
	status = scope_add_directory(s, workspace, e);
	for (; status == 0 && extra && *extra; extra++)
		status = scope_add_directory(s, *extra, e);
	if (status != 0) {
		scope_free(s);
		return NULL;
	}
	return s;
}

void scope_free(struct scope *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		scope_dir_drop(&s->dirs[i]);
		free(s->names[i]);
	}
	free(s->dirs);
	free(s->names);
	free(s);
}

const char *scope_workspace(const struct scope *s)
{
	return s->names[0];
}

const char *const *scope_directories(const struct scope *s)
{
	return (const char *const *)s->names;
}

/* Open the directory that @path, a canonical path, leads to without any link; -1: it does not. */
static int scope_open_canonical(const char *path)
{
	AUTO_CLOSE int fd = open(path, OPEN_DIR | O_NOFOLLOW);
	AUTO_FREE char *name = fd < 0 ? NULL : dir_name(fd, "");
	int opened = fd;

	if (!name || strcmp(name, path) != 0)
		return -1;
	fd = -1;
	return opened;
}

bool scope_renew(struct scope *s, bool *in_place)
{
	bool renewed = false;
	struct stat st;

	*in_place = false;
	for (size_t i = 0; i < s->count; i++) {
		bool there = !lstat(s->names[i], &st);
		bool same = there && scope_dir_is(s->dirs[i], &st);
		int fd = there && !same ? scope_open_canonical(s->names[i]) : -1;

		if (i == 0)
			*in_place = same || fd >= 0;
		if (fd < 0)
			continue;
		scope_dir_drop(&s->dirs[i]);
		fstat(fd, &st);
		s->dirs[i] = scope_dir_new(fd, &st);
		renewed = true;
	}
	return renewed;
}

/* ---- questions ---- */

/*
 * Could the missing part @rest of a path lead out of the directory where it starts, once another
 * process creates it?
 */
static bool scope_may_leave(const char *rest)
{
	for (const char *p = rest; (p = strstr(p, "..")); p += 2)
		if ((p == rest || p[-1] == '/') && (p[2] == '/' || p[2] == '\0'))
			return true;
	return false;
}

/* What follows the directory @name in the absolute @path; NULL: it does not lie there. */
static const char *scope_rest_of(const char *name, const char *path)
{
	size_t len = strcmp(name, "/") ? strlen(name) : 0;

	return strncmp(path, name, len) || (path[len] && path[len] != '/') ? NULL : path + len;
}

static bool scope_dir_is_gone(const struct scope_dir *dir)
{
	struct stat st;

	return !fstat(dir->fd, &st) && !st.st_nlink;
}

/* Has @s's workspace been removed? What has its name by now is no directory, or a link leads to
 * it, or scope_renew() has not been called yet. */
static bool scope_is_gone(const struct scope *s)
{
	return scope_dir_is_gone(s->dirs[0]);
}

static int scope_fail_gone(const struct scope *s, size_t i, struct err *e)
{
	err_set(e, ERR_BAD_DIRECTORY, "the %s \"%.256s\" was removed after the server's start",
		i ? "accessible directory" : "workspace", s->names[i]);
	return err_hint(e, "Commands can run %sagain as soon as there is a directory at that path.",
			i ? "there " : "");
}

/* What is wrong with the entry @name of the directory @dir, which does not open as a directory, or
 * opens as one that is @shut; NULL: that depends on what a link leads to, or passes by itself. */
static const char *scope_fault_of(int dir, const char *name, bool shut)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT	       ? "does not exist"
		       : errno == EACCES       ? "lies in a directory that the server may not enter"
		       : errno == ENAMETOOLONG ? "is longer than the name of a file may be"
					       : NULL;
	if (S_ISDIR(st.st_mode))
		return shut ? "may not be entered by the server" : NULL;
	return S_ISLNK(st.st_mode) ? NULL : "is not a directory";
}

/* Is nothing found from @dir, not even what it lies in? O_PATH opens such a directory all the
 * same. */
static bool scope_is_shut(int dir)
{
	struct stat st;

	return fstatat(dir, ".", &st, 0) && errno == EACCES;
}

/*
 * Why does @path not open, if it lies inside? Cuts @path behind the first name that is at fault.
 * NULL: it may lie outside. A path with ".." may pass there on its way, and a link may lead there:
 * what is there must not show, so these always may. Not for one that has more links than the kernel
 * follows: name by name it would follow all of them.
 */
static const char *scope_find_fault(const struct scope *s, char *path)
{
	AUTO_CLOSE int at = dir_open(s->dirs[0]->fd, *path == '/' ? "/" : ".");
	char *name = path + strspn(path, "/"), *end, after;

	if (scope_may_leave(path) || strlen(path) >= PATH_MAX)
		return NULL;
	for (; at >= 0 && *name; name = end + strspn(end, "/")) {
		bool shut;
		int deeper;

		end = name + strcspn(name, "/");
		after = *end;
		*end = '\0';
		deeper = dir_open(at, name);
		shut = deeper >= 0 && scope_is_shut(deeper);
		if (deeper < 0 || shut) {
			mem_cleanup_close(&deeper);
			return scope_lies_inside(s, at) ? scope_fault_of(at, name, shut) : NULL;
		}
		*end = after;
		mem_cleanup_close(&at);
		at = deeper;
	}
	return NULL;
}

/* Running out of descriptors is not PathOutOfScope. */
static int scope_fail_open(const struct scope *s, const char *path, int sys, struct err *e)
{
	AUTO_FREE char *at = mem_strdup(path);
	const char *fault;

	if (sys == EMFILE || sys == ENFILE)
		return err_sys(e, ERR_LIMIT_REACHED, sys, "working_directory cannot be opened now");
	if (scope_is_gone(s))
		return scope_fail_gone(s, 0, e);
	for (size_t i = 1; i < s->count; i++)
		if (scope_rest_of(s->names[i], path) && scope_dir_is_gone(s->dirs[i]))
			return scope_fail_gone(s, i, e);
	fault = sys == ELOOP ? NULL : scope_find_fault(s, at);
	if (fault) {
		err_set(e, ERR_BAD_DIRECTORY, "working_directory \"%.256s\": %.256s %s", path, at,
			fault);
		return *path == '~' || *path == '$'
			? err_hint(e, "No shell expands it: name the directory without ~ and $.")
			: -1;
	}
	err_set(e, ERR_PATH_OUT_OF_SCOPE,
		"working_directory \"%.256s\" is not a directory inside the accessible directories",
		path);
	return err_hint(e, "Call agent.session for the workspace and the accessible directories.");
}

bool scope_is_in_place(const struct scope *s)
{
	struct stat st;

	return !lstat(s->names[0], &st) && scope_dir_is(s->dirs[0], &st);
}

/* The common case: nothing to check, it is the directory that was opened at start. Its name by
 * descriptor only if it has changed: that takes the kernel four times as long as a lstat(2). */
static int scope_open_workspace(const struct scope *s, bool in_place, struct scope_dir **dir,
				char **name, struct err *e)
{
	if (!in_place && scope_is_gone(s))
		return scope_fail_gone(s, 0, e);
	*dir = s->dirs[0];
	(*dir)->holders++;
	*name = in_place ? mem_strdup(s->names[0]) : dir_name((*dir)->fd, s->names[0]);
	return 0;
}

int scope_open(const struct scope *s, const char *path, bool in_place, struct scope_dir **dir,
	       char **name, struct err *e)
{
	if (!path || path[0] == '\0')
		return scope_open_workspace(s, in_place, dir, name, e);
	if (path[0] != '/' && scope_is_gone(s))
		return scope_fail_gone(s, 0, e);
	int opened = dir_open(s->dirs[0]->fd, path);

	if (opened < 0)
		return scope_fail_open(s, path, errno, e);
	errno = 0;
	if (!scope_lies_inside(s, opened)) {
		int sys = errno;

		close(opened);
		return scope_fail_open(s, path, sys, e);
	}
	AUTO_FREE char *requested = scope_requested_name(s, path);

	*name = dir_name(opened, requested);
	*dir = scope_dir_new(opened, &(struct stat){ 0 }); /* compared by its descriptor */
	return 0;
}

int scope_beneath(const struct scope *s, const char *path, int *fd, const char **dir,
		  const char **rest, struct err *e)
{
	*rest = *path == '/' || scope_may_leave(path) ? NULL : path;
	for (size_t i = 0; !*rest && i < s->count && !scope_may_leave(path); i++) {
		*rest = scope_rest_of(s->names[i], path);
		*fd = s->dirs[i]->fd;
		*dir = s->names[i];
	}
	if (*rest)
		return 0;
	err_set(e, ERR_PATH_OUT_OF_SCOPE, "\"%.256s\" is not the path of a file inside the "
		"accessible directories, written without \"..\" and links", path);
	return err_hint(e, "Call agent.session for the workspace and the accessible directories.");
}

/* The end of a name of @path between @from and @to, near the middle; @from: there is none. */
static size_t scope_middle(const char *path, size_t from, size_t to)
{
	size_t middle = from + (to - from) / 2, at = middle;

	while (at > from && (path[at] != '/' || path[at - 1] == '/'))
		at--;
	if (at > from)
		return at;
	for (at = middle + 1; at < to; at++)
		if (path[at] == '/' && path[at - 1] != '/')
			return at;
	return from;
}

/*
 * How much of @path there is, as a directory: *@fd is open to it. *@missing: how much there is not,
 * up to the next name. By halves, because each look takes the kernel milliseconds where commands
 * have made links of thousands of names.
 */
static size_t scope_find_existing(char *path, int *fd, size_t *missing)
{
	size_t there = 0, end = strlen(path);

	*fd = open(path[0] == '/' ? "/" : ".", OPEN_DIR);
	*missing = end;
	for (size_t at = end; at > there; at = scope_middle(path, there, *missing)) {
		char after = path[at];
		int next;

		path[at] = '\0';
		next = open(path, OPEN_DIR);
		path[at] = after;
		if (next < 0) {
			*missing = at;
			continue;
		}
		mem_cleanup_close(fd);
		*fd = next;
		there = at;
	}
	return there;
}

bool scope_covers(const struct scope *s, const char *path)
{
	AUTO_FREE char *existing = mem_strdup(path);
	AUTO_CLOSE int fd = -1;
	size_t missing, there = scope_find_existing(existing, &fd, &missing);
	struct stat st;

	/* A dangling link, or no root: another process decides where it will lead. */
	existing[missing] = '\0';
	if (fd < 0 || (there < missing && !lstat(existing, &st) && S_ISLNK(st.st_mode)))
		return true;
	return scope_lies_inside(s, fd) || scope_may_leave(path + there);
}

/* scope_covers() of @name in the directory @dir, open as @fd, which is not covered. Most are
 * directories or missing, and these lie where @dir does. */
static bool scope_finds_entry(const struct scope *s, const char *dir, int fd, const char *name)
{
	AUTO_FREE char *path = NULL;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return false;
	} else if (S_ISDIR(st.st_mode)) {
		return scope_is_accessible(s, &st);
	}
	path = mem_printf("%s/%s", dir, name);
	return scope_covers(s, path);
}

bool scope_covers_any(const struct scope *s, const char *dir, const char *const *names)
{
	AUTO_CLOSE int fd = open(dir, OPEN_DIR);
	bool covers;

	/* What is missing holds none of @names: one walk judges all. */
	if (fd < 0)
		return scope_covers(s, dir);
	covers = scope_lies_inside(s, fd);
	for (; !covers && *names; names++)
		covers = scope_finds_entry(s, dir, fd, *names);
	return covers;
}

const char *scope_find_below(const struct scope *s, const char *path)
{
	AUTO_CLOSE int fd = open(path, OPEN_DIR);
	struct scope_dir dir, *dirs[] = { &dir };
	const struct scope above = { .dirs = dirs, .count = 1 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	dir = (struct scope_dir){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino };
	for (size_t i = 0; i < s->count; i++)
		if (scope_lies_inside(&above, s->dirs[i]->fd))
			return s->names[i];
	return NULL;
}
