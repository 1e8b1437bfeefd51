/*
 * installed - is a program where no run can change it?
 *
 * An exception for a program is worth as much as the file that runs. So the program must be found
 * in the base PATH (or be named by its absolute path), and neither it nor a directory or link on
 * the way to it may be where runs write; nor may a directory of PATH before it, in which a run
 * could make another of its name.
 */
#ifndef PROCPEN_POLICY_INSTALLED_H
#define PROCPEN_POLICY_INSTALLED_H

#include <stdbool.h>
#include <stddef.h>

/* All zero but the first two. What is found about PATH is kept: no run can change it. */
struct installed {
	bool (*can_write)(void *ctx, const char *path); /* can a run write at or below @path? */
	void *ctx;
	size_t closed; /* bytes of PATH with directories where no run writes */
};

/* NULL: @name, a bare name or an absolute path, is such a program, and *@path (heap) is where it is
 * found. Else the reason why not, static. */
const char *installed_lacks(struct installed *in, const char *name, char **path);

#endif
