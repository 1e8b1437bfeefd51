/*
 * confine_mounts - which paths of a mount namespace stay writable or are hidden.
 *
 * Turns the operator's lists into the entries of a plan (os/shim/proto.h). What is
 * writable is there when the table is built, and keeps the identity that it has then:
 * what a command puts in its place later is not mistaken for it. What is hidden may
 * come, go and lead elsewhere at any time: confine_mounts_look() follows it.
 */
#ifndef PROCPEN_OS_SANDBOX_MOUNTS_H
#define PROCPEN_OS_SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct confine_mounts {
	uint8_t *entries;
	size_t size; /* at most SHIM_PATHS_MAX */
	int left_out; /* entries that did not fit or do not exist */
	int unhidden; /* paths that should be hidden and stay visible: no room, a writable path
		       * lies inside, or they are in /proc, which is mounted anew */
	char visible[384]; /* which of these is the first, and why; empty: all are hidden */

	/* private to confine_mounts.c */
	char **writable;      /* canonical */
	char **listed;        /* to be hidden, as the operator writes them */
	char **hidden;        /* what these were at the last look, canonical */
	size_t writable_size; /* of the entries for these */
	int writable_left_out;
};

/*
 * Both lists: absolute paths, NULL-terminated, may be NULL; those of @hidden without
 * "..". Links in them are resolved; a path inside another writable one is left to
 * that; what is hidden never covers a writable path.
 */
void confine_mounts_build(struct confine_mounts *m, const char *const *writable,
			  const char *const *hidden);

/* Look again where the hidden paths lead; were the entries changed for it? */
bool confine_mounts_look(struct confine_mounts *m);

void confine_mounts_release(struct confine_mounts *m);

#endif
