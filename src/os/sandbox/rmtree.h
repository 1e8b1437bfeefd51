/*
 * rmtree - removes everything below a directory, whatever commands have left there.
 *
 * Works by descriptors alone: it follows no link, enters no other mount, and cannot be
 * led elsewhere by a process that moves or swaps files meanwhile. Handles any depth (path,
 * stack and descriptors stay bounded) and any mode of the user's own directories. Counts
 * what it cannot remove, and says why.
 */
#ifndef PROCPEN_OS_SANDBOX_RMTREE_H
#define PROCPEN_OS_SANDBOX_RMTREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct rmtree_rest {
	bool late;           /* the time was up; `left` is then a lower bound */
	unsigned long left;  /* entries that are still there */
	int error;           /* why the first of them could not be removed; 0: only `late` */
	char name[NAME_MAX + 1]; /* its name */
};

/*
 * Empty the directory @dir (may be O_PATH; stays open) until @until_us on clock_mono_us(). A system
 * call in progress at that time is not interrupted. Returns 0 if @dir is empty, else -1 with @rest.
 */
int rmtree_empty(int dir, int64_t until_us, struct rmtree_rest *rest);

#endif
