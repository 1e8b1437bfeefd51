/*
 * confine_mounts - which paths of a mount namespace stay writable, are hidden, or are read-only.
 *
 * Turns the operator's lists into the entries of a plan (os/shim/proto.h). Writable
 * paths must exist when the table is built. Their entries keep the device and inode of
 * then, so that a file that a command puts in their place later is not used. Hidden
 * paths may appear, vanish and lead elsewhere at any time; confine_mounts_refresh() updates
 * their entries. Other names of a hidden path, because its file system is mounted elsewhere too
 * (mount_alias), are hidden with it.
 *
 * A read-only path lies in a writable one, and so do the directories on the way to it, which
 * commands could rename: each is a mount point (SHIM_MOUNT_PIN). A symbolic link on that way cannot
 * be one. Like a hidden path it need not exist: the shim protects what it finds.
 */
#ifndef PROCPEN_OS_SANDBOX_MOUNTS_H
#define PROCPEN_OS_SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operator's writable paths: beside them, procpen's own have room. */
#define CONFINE_MOUNTS_WRITABLE_MAX 56

struct confine_mounts {
	uint8_t *entries;
	size_t size; /* less than SHIM_PATHS_MAX by the entries of confine_mounts_write() */
	int left_out; /* entries that did not fit or do not exist */
	int unhidden; /* places that should be hidden and stay visible: no room, a writable path
		       * lies inside, or they are in /proc, which is mounted anew */
	char visible[384]; /* the first of these, and why; empty: all are hidden */

	/* private to mounts.c */
	char **writable;      /* canonical */
	char **readonly;      /* those in a writable directory, canonical down to that */
	char *overfull;       /* the first of `readonly` without room in the table, or NULL */
	char **devices;       /* those of them that are device files */
	char **listed;        /* to be hidden: the operator's, and what they led to when built */
	char **hidden;        /* the same, canonical, at the last confine_mounts_refresh() */
	int mounts_fd;        /* mountinfo_watch(); open while there are entries */
	size_t fixed_size;    /* bytes of the entries that no refresh changes: all but the hidden */
	int fixed_left_out;
};

/* What a mount namespace is to hold. Absolute paths, NULL-terminated, each list may be NULL. */
struct confine_mounts_wish {
	const char *const *writable;
	const char *const *hidden;   /* without ".." */
	const char *const *readonly; /* likewise */
	const char *shared_memory;   /* the directory that commands find at /dev/shm, canonical;
				      * NULL: that of the host */
};

/*
 * Resolves links in hidden paths, and leaves out what of @writable is not there or no canonical
 * path, because a command may have made the link. A path inside another writable one gets no entry
 * of its own. A hidden path never covers a writable one, and what it leads to now stays hidden when
 * it leads elsewhere later. A read-only path outside of all writable ones needs no entry.
 */
void confine_mounts_build(struct confine_mounts *m, const struct confine_mounts_wish *wish);

/* The devices that hold no data and that all users may write; ended by NULL. */
extern const char *const confine_mounts_usual[];

/* Is a path that should be read-only that, or how can it be changed all the same? */
enum confine_mounts_hold {
	CONFINE_MOUNTS_HELD,
	CONFINE_MOUNTS_ABSENT,   /* it can be made: it does not exist yet */
	CONFINE_MOUNTS_LINK,     /* a link on the way to it can be replaced */
	CONFINE_MOUNTS_WRITABLE, /* it is writable by its own name, or contains such a path */
	CONFINE_MOUNTS_NO_ROOM,
};

/* Call @fn for each path that should be read-only, as it is at this moment. */
void confine_mounts_each_readonly(const struct confine_mounts *m,
				  void (*fn)(void *ctx, const char *path,
					     enum confine_mounts_hold hold),
				  void *ctx);

/* Is /dev/shm a directory, not behind a link, and apart from all @writable? Then another one can
 * lie over it. */
bool confine_mounts_can_cover_shm(const char *const *writable);

/* Resolve the hidden paths again. Returns true if the entries have changed. */
bool confine_mounts_refresh(struct confine_mounts *m);

/* Does the canonical @path lie in a read-only one, or is it one? */
bool confine_mounts_is_readonly(const struct confine_mounts *m, const char *path);

/*
 * Write the entries to @to, which has room for SHIM_PATHS_MAX bytes, and those of /dev, where the
 * usual devices stay devices, and what sandbox.writable lends. Returns the bytes.
 *
 * @no_pts: commands find no pseudo-terminal of the host, unless it lends /dev/pts
 */
size_t confine_mounts_write(const struct confine_mounts *m, bool no_pts, uint8_t *to);

void confine_mounts_release(struct confine_mounts *m);

#endif
