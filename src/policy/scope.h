/*
 * scope - which directories a run may work in.
 *
 * Directories are opened at start and compared by identity (device and inode), never by name;
 * scope_renew() alone goes by the operator's name again. A requested directory is opened without
 * following magic links; its ancestors are walked upward by descriptor to one of the accessible
 * directories or the root; the same descriptor is then the working directory, so the run uses
 * exactly the directory that was checked.
 *
 * No error reveals whether a path outside exists. What is wrong with one that lies inside is said
 * only if the path can be judged without a look outside.
 */
#ifndef PROCPEN_POLICY_SCOPE_H
#define PROCPEN_POLICY_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct scope;

/* An open directory, which its holders share. The descriptor pins the inode: its number cannot be
 * used again. */
struct scope_dir {
	int fd; /* O_PATH, close-on-exec */
	unsigned holders;
	dev_t dev; /* of an accessible one */
	ino_t ino;
};

/* One holder less: the last one closes it. Sets *@dir, which may be NULL, to NULL. */
void scope_dir_drop(struct scope_dir **dir);

/*
 * @workspace and @extra (NULL-terminated, may be NULL) must be directories. NULL
 * with @e otherwise. Without @workspace no directory is accessible, and scope_open()
 * must not be called.
 */
struct scope *scope_new(const char *workspace, char *const *extra, struct err *e);
void scope_free(struct scope *s);

/*
 * Canonical paths: the workspace (NULL: there is none), and all accessible directories (workspace
 * first, each once), NULL-terminated.
 */
const char *scope_workspace(const struct scope *s);
const char *const *scope_directories(const struct scope *s);

/*
 * Take what is at the canonical path of an accessible directory now, if that is another directory
 * than was opened: it was removed and made again, or replaced. Returns true if there was one. Never
 * follows a link there, which a command may have made. *@in_place: as scope_is_in_place() has it.
 */
bool scope_renew(struct scope *s, bool *in_place);

/* Does the workspace have its name? Else another process has renamed or removed it. */
bool scope_is_in_place(const struct scope *s);

/*
 * Open @path (absolute, or relative to the workspace; NULL or "" means the workspace, which is in
 * place as @in_place has it). *@dir: for the caller to drop, and the same directory until then.
 * *@name: its canonical path, heap. Returns 0 or -1 with PathOutOfScope; BadDirectory when it lies
 * inside but is missing, no directory or not to be entered, or when the workspace was removed;
 * LimitReached when there is no descriptor left, which says nothing about the path.
 */
int scope_open(const struct scope *s, const char *path, bool in_place, struct scope_dir **dir,
	       char **name, struct err *e);

/*
 * Where a file is to be opened beneath an accessible directory, judged by @path alone: an absolute
 * one begins with a name of scope_directories(), a relative one lies beneath the directory that
 * *@fd and *@dir are when this is called. Sets *@fd (borrowed), *@dir and *@rest, the path
 * beneath it. Returns 0, or -1 with PathOutOfScope, also for a path with "..". The caller
 * must open *@rest without following links.
 */
int scope_beneath(const struct scope *s, const char *path, int *fd, const char **dir,
		  const char **rest, struct err *e);

/*
 * Would @path (which need not exist yet) lie in or be an accessible directory?
 * Judged by its nearest existing ancestor; a relative path counts from the
 * server's working directory. A path that cannot be judged (a dangling link, ".." after a
 * missing directory) counts as covered.
 */
bool scope_covers(const struct scope *s, const char *path);

/* scope_covers() of @dir or of one of @names in it (NULL-terminated). One walk to the root serves
 * all of them. */
bool scope_covers_any(const struct scope *s, const char *dir, const char *const *names);

/* The first accessible directory that is the directory @path or lies below it; NULL: none does, or
 * @path cannot be opened. Borrowed. */
const char *scope_find_below(const struct scope *s, const char *path);

#endif
