/*
 * audit_file - the file of one audit log: opened late, appended to by whole lines, and followed by
 * another when it is full.
 *
 * The chain of sequence numbers and hashes goes on from file to file: struct audit_chain is what
 * the next line has to name.
 *
 * A line is one write(2), so the file holds all of it or nothing: a part that a full disk leaves is
 * truncated. Refuses a directory that another user can change, a file that exists already, and to
 * go on with a file that another process has removed or changed.
 *
 * A server's file has a reserve: blocks allocated behind its last line (fallocate(2); ext4, xfs
 * and tmpfs can). With it a full disk does not at once keep commands from starting, so that
 * one of them can free space.
 */
#ifndef PROCPEN_POLICY_AUDIT_FILE_H
#define PROCPEN_POLICY_AUDIT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "policy/audit_dir.h"

/* What the next line follows. */
struct audit_chain {
	uint64_t seq; /* of the line before it */
	char prev[DIGEST_TEXT_SIZE]; /* hash of that line, hex */
	char file[AUDIT_DIR_NAME_MAX]; /* where that line is, if the next one begins a file */
};

struct audit_file {
	char *dir;  /* <state>/audit; owned, like path and instance */
	char *path; /* the file in it */
	char *instance;
	unsigned part;     /* files of this process so far, 1 from the start */
	int64_t max_bytes; /* a file so long is followed by another */
	struct audit_chain chain;
	bool shared; /* with other processes: policy/audit_share.h */
	int lock;    /* shared: of the lock file; -1: not open */
	int fd;       /* -1 before the first line */
	int left;     /* the file before, in use until there is another; -1: none */
	off_t length; /* of the complete lines */
	bool torn;    /* an incomplete line may follow them */
	bool reserves;     /* keep a reserve */
	off_t reserved_to; /* the blocks before this offset are allocated */
	dev_t dir_dev;     /* the directory that the file was made in */
	ino_t dir_ino;
	dev_t dev;    /* of the file */
	ino_t ino;    /* likewise; 0: not known, or the file is shared */
	bool as_left; /* found so, and no line was appended since */
};

/* A file of its own for @instance in @dir, which it owns from now on. Opens nothing yet. */
void audit_file_init(struct audit_file *f, char *dir, const char *instance);

/* If the file is full, make the next line begin another. A shared one: audit_share_begin(). */
void audit_file_turn(struct audit_file *f);

/* Append @line, which ends in a newline, and count and hash it in f->chain; the first one creates
 * the file. 0, or -1 with PermissionDenied: the path and why it cannot be written. */
int audit_file_append(struct audit_file *f, const struct buf *line, struct err *e);

/* Set @e: what failed with @path; @sys: errno or 0, then @why is a verb with its object. -1. */
int audit_file_fail(const struct audit_file *f, const char *path, int sys, const char *why,
		    struct err *e);

/* Make and open the directory. Refuses one that another user can change. Descriptor, or -1. */
int audit_file_open_directory(struct audit_file *f, struct err *e);

/* The base name of the path. */
const char *audit_file_name(const struct audit_file *f);

/* Where the file is by now. */
enum audit_file_place {
	AUDIT_FILE_THERE,   /* as it should, or not made yet */
	AUDIT_FILE_MOVED,   /* with its directory */
	AUDIT_FILE_REMOVED, /* with its directory */
};

/*
 * If the whole directory was removed, moved away or replaced, forget the file: the next line begins
 * a new one in a new directory. A file that was removed alone is left, and audit_file_append()
 * refuses.
 */
enum audit_file_place audit_file_check(struct audit_file *f);

/* Give the reserve back, close the file and free the names. */
void audit_file_close(struct audit_file *f);

#endif
