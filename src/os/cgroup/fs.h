/*
 * cgroup_fs - the control group file systems: where our own groups are, and what
 * is done there, by directory descriptors.
 *
 * Knows no limits and no runs. No symbolic link is followed; every descriptor is
 * close-on-exec. The kernel is reached through struct cgroup_fs, so that tests
 * can put a tree of ordinary files, and its behaviour, in its place.
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

/* What a hierarchy is good for. */
enum cgroup_role {
	CGROUP_ROLE_MEMORY,
	CGROUP_ROLE_CPU,
	CGROUP_ROLE_CPUACCT, /* counts processor time */
	CGROUP_ROLE_PIDS,
	CGROUP_ROLE_FREEZER, /* stops, or kills, all at once */
	CGROUP_ROLE_COUNT
};
extern const char *const cgroup_role_names[CGROUP_ROLE_COUNT]; /* the controllers' */

/* The server's own group in one hierarchy. */
struct cgroup_place {
	int version;
	int dir;        /* owned */
	unsigned roles; /* version 1: bit per enum cgroup_role; version 2: 0 */
	char *path;     /* owned; for messages */
};

/* One place for each role under version 1, and one of version 2. */
#define CGROUP_PLACES_MAX (CGROUP_ROLE_COUNT + 1)

/*
 * Fill @places; how many. @why says what stood in the way when there is none of
 * @version (1 or 2): not mounted, out of reach. Each is given to cgroup_place_close().
 */
int cgroup_places_find(const struct cgroup_fs *fs, int version,
		       struct cgroup_place places[CGROUP_PLACES_MAX], char *why, size_t size);
void cgroup_place_close(struct cgroup_place *p);

/* The whole small file as a C string, without its last newline: its length, or -1 with errno. */
int cgroup_read(int dir, const char *file, char *out, size_t size);

/* The number in @file, or in its line that begins with @key; -1 when there is none. */
int64_t cgroup_read_number(int dir, const char *file, const char *key);
int64_t cgroup_find_number(const char *text, const char *key); /* the same in a text */

/* Is @word one of the space-separated words in @text? */
bool cgroup_has_word(const char *text, const char *word);

int cgroup_write_number(const struct cgroup_fs *fs, int dir, const char *file, int64_t value);

/* "Permission denied (EACCES)"; good until the next call. */
const char *cgroup_error_text(int sys);

/* A directory below @dir, or -1 with errno. */
int cgroup_open_dir(int dir, const char *name);

/* Say that a live server owns the group, by a lock that ends with it. 0, or -1: another has it. */
int cgroup_lock(int dir);

/* Call @fn for each directory below @dir until it returns non-zero; that, or 0. */
int cgroup_each_child(int dir, int (*fn)(void *ctx, int dir, const char *name), void *ctx);

/* Remove @name below @dir with the groups that a command made in it. 0, or -1 with errno;
 * EBUSY: somebody lives in it. */
int cgroup_remove_tree(const struct cgroup_fs *fs, int dir, const char *name);

/*
 * SIGKILL for every process listed in @dir and below, again until a look finds no new
 * one; the caller sees to it that they cannot fork. 0, or -1 when there was no end of it.
 * Never signals a recycled pid where the kernel has pidfd_open (Linux 5.3).
 */
int cgroup_kill_listed(int dir);

/* The same in a group that cannot fork because it freezes: what is frozen dies when @thaw, written
 * to @file, lets it go. */
int cgroup_kill_frozen(const struct cgroup_fs *fs, int dir, const char *file, const char *thaw);

#endif
