/*
 * permit - rules that the shim adds to a ruleset of Landlock, for what it has mounted.
 *
 * The server makes the ruleset before the mounts are there, and Landlock goes by what is mounted
 * (landlock(7)). The ruleset is this shim's alone.
 */
#ifndef PROCPEN_OS_SHIM_PERMIT_H
#define PROCPEN_OS_SHIM_PERMIT_H

#include <stdint.h>

/* Let @ruleset permit @rights to the file @fd, or below that directory; to @path. -1: there is no
 * ruleset, and nothing is done. Returns 0 or a negative errno. */
long permit_fd(uint64_t rights, int ruleset, long fd);
long permit_path(uint64_t rights, int ruleset, const char *path);

#endif
