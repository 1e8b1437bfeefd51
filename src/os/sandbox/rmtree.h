/*
 * rmtree - remove everything below a directory, whatever commands have left there.
 *
 * Works on descriptors alone: it follows no link, enters no other mount, and what
 * somebody moves or swaps meanwhile leads it nowhere else. Neither depth (path,
 * stack and descriptors stay bounded) nor the mode of the user's own directories
 * stops it. What it cannot remove it counts, and says why.
 */
#ifndef PROCPEN_OS_SANDBOX_RMTREE_H
#define PROCPEN_OS_SANDBOX_RMTREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct rmtree_rest {
	bool late;           /* the time was over; entries are then counted in part */
	unsigned long left;  /* entries that are still there */
	int error;           /* why the first of them could not be removed; 0: only for the time */
	char name[NAME_MAX + 1]; /* its name */
};

/*
 * Empty @dir, a directory (O_PATH will do; it stays open) that nobody needs any more, before
 * @until_us on clock_mono_us(); the end of a single system call is waited for. Returns 0 when it
 * is empty, else -1 with @rest.
 */
int rmtree_empty(int dir, int64_t until_us, struct rmtree_rest *rest);

#endif
