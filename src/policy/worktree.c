#include "policy/worktree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "policy/dir.h"

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define GITFILE_PREFIX "gitdir: "

/* No user keeps a repository here, and access to one of these is access to the machine. */
static const char *const system_directories[] = {
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run",
	"/sbin", "/sys", "/usr",
};

/*
 * The one line of the regular file @name in @dir into @line, without its end. O_NONBLOCK: a FIFO
 * must not stop the server.
 */
static bool worktree_read_line(int dir, const char *name, char line[PATH_MAX], struct stat *st)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t len;

	if (fd < 0 || fstat(fd, st) || !S_ISREG(st->st_mode))
		return false;
	len = read(fd, line, PATH_MAX);
	if (len <= 0 || len == PATH_MAX || memchr(line, '\0', (size_t)len))
		return false;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	line[len] = '\0';
	return len && !strchr(line, '\n');
}

static bool worktree_holds(int dir, const char *name, mode_t type)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && (st.st_mode & S_IFMT) == type;
}

static bool worktree_is_repository(int common, uid_t owner)
{
	struct stat st;

	return !fstat(common, &st) && (st.st_uid == geteuid() || st.st_uid == owner) &&
	       worktree_holds(common, "HEAD", S_IFREG) &&
	       worktree_holds(common, "objects", S_IFDIR) &&
	       worktree_holds(common, "refs", S_IFDIR);
}

/* Does @gitdir name the file @gitfile, as the directory of the worktree that it belongs to does? */
static bool worktree_points_back(int gitdir, const struct stat *gitfile)
{
	char path[PATH_MAX];
	struct stat own, named;

	return worktree_read_line(gitdir, "gitdir", path, &own) &&
	       !fstatat(gitdir, path, &named, AT_SYMLINK_NOFOLLOW) &&
	       named.st_dev == gitfile->st_dev && named.st_ino == gitfile->st_ino;
}

/* May a hint name @common as a directory to open? */
static bool worktree_may_open(const char *common)
{
	AUTO_FREE char *home = getenv("HOME") ? realpath(getenv("HOME"), NULL) : NULL;

	for (size_t i = 0; i < COUNT_OF(system_directories); i++)
		if (str_path_lies_in(common, system_directories[i]))
			return false;
	return strcmp(common, "/") && !(home && str_path_lies_in(home, common)) &&
	       utf8_is_shell_word(common);
}

/* Has @gitdir, which lies two levels below @common, the name COMMON/worktrees/NAME? */
static bool worktree_is_named(const char *gitdir, const char *common)
{
	static const char below[] = "/worktrees/";
	size_t len = strlen(common);

	return str_path_lies_in(gitdir, common) &&
	       !strncmp(gitdir + len, below, sizeof(below) - 1);
}

char *worktree_common_dir(const struct scope *scope)
{
	AUTO_CLOSE int workspace = open(scope_workspace(scope), OPEN_DIR);
	AUTO_CLOSE int gitdir = -1;
	AUTO_CLOSE int common = -1;
	AUTO_FREE char *gitdir_name = NULL;
	AUTO_FREE char *common_name = NULL;
	char line[PATH_MAX];
	struct stat owner, gitfile;

	if (workspace < 0 || fstat(workspace, &owner) ||
	    !worktree_read_line(workspace, ".git", line, &gitfile) || gitfile.st_nlink != 1 ||
	    strncmp(line, GITFILE_PREFIX, strlen(GITFILE_PREFIX)))
		return NULL;
	gitdir = dir_open(workspace, line + strlen(GITFILE_PREFIX));
	if (gitdir < 0 || !worktree_points_back(gitdir, &gitfile))
		return NULL;
	common = openat(gitdir, "../..", OPEN_DIR);
	if (common < 0 || !worktree_is_repository(common, owner.st_uid))
		return NULL;
	gitdir_name = dir_name(gitdir, NULL);
	common_name = dir_name(common, NULL);
	if (!gitdir_name || !common_name || !worktree_is_named(gitdir_name, common_name) ||
	    !worktree_may_open(common_name) || scope_covers(scope, common_name))
		return NULL;
	return mem_strdup(common_name);
}
