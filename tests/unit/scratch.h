/* scratch - a private temporary directory for one unit test, and files in it. */
#ifndef PROCPEN_TESTS_UNIT_SCRATCH_H
#define PROCPEN_TESTS_UNIT_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_PATH 256

struct scratch {
	char dir[64];            /* canonical: below /tmp */
	char path[SCRATCH_PATH]; /* the last answer of scratch_path() */
};

static inline void scratch_init(struct scratch *s)
{
	strcpy(s->dir, "/tmp/procpen-unit.XXXXXX");
	if (!mkdtemp(s->dir))
		abort();
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void scratch_release(struct scratch *s)
{
	nftw(s->dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* <dir>/@name, good until the next call. */
static inline const char *scratch_path(struct scratch *s, const char *name)
{
	snprintf(s->path, sizeof(s->path), "%s/%s", s->dir, name);
	return s->path;
}

/* The same in the caller's memory. */
static inline void scratch_copy(struct scratch *s, const char *name, char out[SCRATCH_PATH])
{
	memcpy(out, scratch_path(s, name), SCRATCH_PATH);
}

static inline void scratch_mkdir(struct scratch *s, const char *name)
{
	if (mkdir(scratch_path(s, name), 0700) != 0)
		abort();
}

static inline void scratch_file(struct scratch *s, const char *name, const char *text, mode_t mode)
{
	int fd = open(scratch_path(s, name), O_WRONLY | O_CREAT | O_TRUNC, mode);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fchmod(fd, mode) != 0)
		abort();
	close(fd);
}

static inline void scratch_link(struct scratch *s, const char *target, const char *name)
{
	if (symlink(target, scratch_path(s, name)) != 0)
		abort();
}

/* A link l0 in @name that leads to @name itself, by 38 links and 60,000 names. Where a mount is made
 * meanwhile, in any namespace, the kernel begins a lookup again but goes on counting its links, and
 * more than twenty may then be too many (ELOOP): try again. */
static inline void scratch_maze(struct scratch *s, const char *name)
{
	enum { DEEP = 800, LINKS = 38 };
	int top = open(scratch_path(s, name), O_PATH | O_DIRECTORY | O_CLOEXEC), at = dup(top);
	char target[5 * DEEP + 16], link[16];

	for (int i = 0; i < DEEP; i++) {
		int next = mkdirat(at, "a", 0700) ? -1 : openat(at, "a", O_PATH | O_CLOEXEC);

		close(at);
		at = next;
		memcpy(target + 2 * i, "a/", 2);
		memcpy(target + 2 * DEEP + 3 * i, "../", 3);
	}
	for (int i = 0; i < LINKS; i++) {
		snprintf(target + 5 * DEEP, 16, i + 1 < LINKS ? "l%d" : ".", i + 1);
		snprintf(link, sizeof(link), "l%d", i);
		if (at < 0 || symlinkat(target, top, link))
			abort();
	}
	close(at);
	close(top);
}

#endif
