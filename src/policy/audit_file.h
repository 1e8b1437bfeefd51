/*
 * audit_file - the file of one audit log: opened late, appended to by whole lines.
 *
 * A line is one write(2), so the file holds all of it or nothing: a part that a full disk leaves is
 * truncated. Refuses a directory that another user can change, a file that exists already, and to
 * go on with a file that another process has removed or changed.
 *
 * A server's file has a reserve: blocks allocated behind its last line (fallocate(2); ext4, xfs,
 * btrfs and tmpfs can). With it a full disk does not at once keep commands from starting, so that
 * one of them can free space.
 */
#ifndef PROCPEN_POLICY_AUDIT_FILE_H
#define PROCPEN_POLICY_AUDIT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct audit_file {
	char *dir;  /* <state>/audit; owned, like path */
	char *path; /* the file in it */
	int fd;       /* -1 before the first line */
	off_t length; /* of the complete lines */
	bool torn;    /* an incomplete line may follow them */
	bool reserves;     /* keep a reserve */
	off_t reserved_to; /* the blocks before this offset are allocated */
	dev_t dir_dev;     /* the directory that the file was made in */
	ino_t dir_ino;
};

/* Append @line, which ends in a newline; the first one creates the file. 0, or -1 with
 * PermissionDenied: the path and why it cannot be written. */
int audit_file_append(struct audit_file *f, const struct buf *line, struct err *e);

/* Where the file is by now. */
enum audit_file_place {
	AUDIT_FILE_THERE,   /* as it should, or not made yet */
	AUDIT_FILE_MOVED,   /* the whole directory was moved, and another is at its path */
	AUDIT_FILE_REMOVED, /* with its directory */
};

/*
 * If the whole directory was removed or replaced, forget the file: the next line begins a new one
 * in a new directory. A file that was removed alone is left, and audit_file_append() refuses.
 */
enum audit_file_place audit_file_check(struct audit_file *f);

/* Give the reserve back, close the file and free the names. */
void audit_file_close(struct audit_file *f);

#endif
