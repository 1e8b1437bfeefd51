/*
 * cgroup_fs - the control group file systems: finds the server's own groups and reads,
 * writes and removes groups by directory descriptor.
 *
 * Knows no limits and no runs. Follows no symbolic link; every descriptor is
 * close-on-exec. Calls the kernel through struct cgroup_fs, so that tests can replace
 * it with a tree of ordinary files and their own behaviour.
 */
#ifndef PROCPEN_OS_CGROUP_FS_H
#define PROCPEN_OS_CGROUP_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_fs {
	const char *mountinfo; /* /proc/self/mountinfo */
	const char *self;      /* /proc/self/cgroup */
	/* Each returns 0, or -1 with errno. */
	int (*make)(int dir, const char *name);
	int (*remove)(int dir, const char *name);
	int (*write)(int dir, const char *file, const char *text);
	bool (*genuine)(int dir, int version); /* is it a control group of that version? */
};
extern const struct cgroup_fs cgroup_fs_kernel;

/* What a hierarchy can be used for. */
enum cgroup_role {
	CGROUP_ROLE_MEMORY,
	CGROUP_ROLE_CPU,
	CGROUP_ROLE_CPUACCT, /* counts processor time */
	CGROUP_ROLE_PIDS,
	CGROUP_ROLE_FREEZER, /* stops, or kills, all processes at once */
	CGROUP_ROLE_COUNT
};
extern const char *const cgroup_role_names[CGROUP_ROLE_COUNT]; /* the controllers' */

/* The server's own group in one hierarchy. */
struct cgroup_place {
	int dir;        /* owned */
	unsigned roles; /* version 1: bit per enum cgroup_role; version 2: 0 */
	char *path;     /* owned; for messages */
};

#define CGROUP_DEPTH_MAX 8 /* of groups that a command created inside its own */

/* One place for each role under version 1, and one of version 2. */
#define CGROUP_PLACES_MAX (CGROUP_ROLE_COUNT + 1)

/*
 * Find the server's groups of @version (1 or 2) and fill @places. Returns how many. If there
 * are none, @why gives the reason: not mounted, out of reach. *@shortage: some may be missing
 * because something ran out (err_is_shortage()). Release each place with cgroup_place_close().
 */
int cgroup_places_find(const struct cgroup_fs *fs, int version,
		       struct cgroup_place places[CGROUP_PLACES_MAX], bool *shortage, char *why,
		       size_t size);
void cgroup_place_close(struct cgroup_place *p);

/* Read a small file whole into @out as a C string, without its last newline. Returns its length,
 * or -1 with errno. */
int cgroup_read(int dir, const char *file, char *out, size_t size);

/* The number in @file, or in the line that begins with @key; -1: there is none. */
int64_t cgroup_read_number(int dir, const char *file, const char *key);
int64_t cgroup_find_number(const char *text, const char *key); /* the same, in @text */

/* Is @word one of the space-separated words in @text? */
bool cgroup_has_word(const char *text, const char *word);

int cgroup_write_number(const struct cgroup_fs *fs, int dir, const char *file, int64_t value);

/* "Permission denied (EACCES)"; good until the next call. */
const char *cgroup_error_text(int sys);

/* A directory below @dir, or -1 with errno. */
int cgroup_open_dir(int dir, const char *name);

/*
 * Open the group @name below @dir and lock it as owned by this process; the lock ends with the last
 * copy of the descriptor. Only the holder of its lock may remove a group, so @name means the
 * opened group as long as the lock is held. Returns the descriptor, or -1 with errno: EWOULDBLOCK
 * (another server holds it), ENOENT (it is gone, or was made again meanwhile).
 */
int cgroup_open_locked(int dir, const char *name);

/* Call @fn for each directory below @dir until it returns non-zero. Returns that value, or 0. */
int cgroup_each_child(int dir, int (*fn)(void *ctx, int dir, const char *name), void *ctx);

/* Remove @name below @dir with the groups that a command created in it. Returns 0, or -1 with
 * errno; EBUSY: it holds processes. */
int cgroup_remove_tree(const struct cgroup_fs *fs, int dir, const char *name);

/*
 * Send SIGKILL to every process listed in @dir and below, and repeat until the lists show no
 * new one. The caller must keep them from forking. Returns 0, or -1 if new ones kept coming.
 * Never signals a recycled pid where the kernel has pidfd_open (Linux 5.3).
 */
int cgroup_kill_listed(int dir);

/* The same for a group that cannot fork because it is being frozen: frozen processes die after
 * this writes @thaw to @file. */
int cgroup_kill_frozen(const struct cgroup_fs *fs, int dir, const char *file, const char *thaw);

#endif
