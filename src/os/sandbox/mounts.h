/*
 * confine_mounts - which paths of a mount namespace stay writable or are hidden.
 *
 * Turns the operator's lists into the entries of a plan (os/shim/proto.h). Writable
 * paths must exist when the table is built. Their entries keep the device and inode of
 * then, so that a file that a command puts in their place later is not used. Hidden
 * paths may appear, vanish and lead elsewhere at any time; confine_mounts_refresh() updates
 * their entries. Other names of a hidden path, because its file system is mounted elsewhere too
 * (mount_alias), are hidden with it.
 */
#ifndef PROCPEN_OS_SANDBOX_MOUNTS_H
#define PROCPEN_OS_SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct confine_mounts {
	uint8_t *entries;
	size_t size; /* less than SHIM_PATHS_MAX by the entries of confine_mounts_write() */
	int left_out; /* entries that did not fit or do not exist */
	int unhidden; /* places that should be hidden and stay visible: no room, a writable path
		       * lies inside, or they are in /proc, which is mounted anew */
	char visible[384]; /* the first of these, and why; empty: all are hidden */

	/* private to mounts.c */
	char **writable;      /* canonical */
	char **devices;       /* those of them that are device files */
	char **listed;        /* to be hidden: the operator's, and what they led to when built */
	char **hidden;        /* the same, canonical, at the last confine_mounts_refresh() */
	int mounts_fd;        /* mountinfo_watch(); open while there are entries */
	size_t writable_size; /* bytes of the entries of `writable` */
	int writable_left_out;
};

/*
 * Both lists: absolute paths, NULL-terminated, may be NULL; those of @hidden without
 * "..". Resolves links in those, and leaves out what of @writable is not there or no canonical
 * path, because a command may have made the link. A path inside another writable one gets no entry
 * of its own. A hidden path never covers a writable one. What a hidden path leads to now stays
 * hidden when it leads elsewhere later. @shared_memory:
 * the directory that commands find at /dev/shm, canonical, or NULL: that of the host.
 */
void confine_mounts_build(struct confine_mounts *m, const char *const *writable,
			  const char *const *hidden, const char *shared_memory);

/* Is /dev/shm a directory, not behind a link, and apart from all @writable? Then another one can
 * lie over it. */
bool confine_mounts_can_cover_shm(const char *const *writable);

/* Resolve the hidden paths again. Returns true if the entries have changed. */
bool confine_mounts_refresh(struct confine_mounts *m);

/*
 * Write the entries to @to, which has room for SHIM_PATHS_MAX bytes, and those of the device files
 * that stay devices: all in /dev, or with @usual_only those that hold no data and that all users
 * may write. Only root can do without the others: it alone may open the /dev/pts/ptmx that takes
 * the place of /dev/ptmx. Returns the bytes.
 */
size_t confine_mounts_write(const struct confine_mounts *m, bool usual_only, uint8_t *to);

void confine_mounts_release(struct confine_mounts *m);

#endif
