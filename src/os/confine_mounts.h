/*
 * confine_mounts - which paths of a mount namespace stay writable or are hidden.
 *
 * Turns the operator's lists into the entries of a plan (os/shim_proto.h): each
 * with the identity of the file it means now, so that what a command puts in its
 * place later is not mistaken for it.
 */
#ifndef PROCPEN_OS_CONFINE_MOUNTS_H
#define PROCPEN_OS_CONFINE_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

struct confine_mounts {
	uint8_t *entries;
	size_t size; /* at most SHIM_PATHS_MAX */
	int left_out; /* entries that did not fit or do not exist */
	int unhidden; /* paths that should be hidden and stay visible: no room, a writable path
		       * lies inside, or they are in /proc, which is mounted anew */
};

/*
 * Both lists: absolute paths, NULL-terminated, may be NULL. Links in them are
 * resolved; a path inside another writable one is left to that; what is hidden
 * never covers a writable path.
 */
void confine_mounts_build(struct confine_mounts *m, const char *const *writable,
			  const char *const *hidden);
void confine_mounts_release(struct confine_mounts *m);

#endif
