/*
 * namespaces - what the shim does inside the new namespaces it was cloned into,
 * before it clones the command: the maps of a user namespace, a file system that
 * is read-only but for the plan's paths, a /proc of its own, the loopback device.
 *
 * Nothing is followed that a command could have put there: each path is opened
 * without symbolic links and must be the file that the plan names.
 */
#ifndef PROCPEN_OS_SHIM_NAMESPACES_H
#define PROCPEN_OS_SHIM_NAMESPACES_H

#include "os/shim/proto.h"

/* Returns 0, or a negative errno with the stage of the failure in *@stage. */
long namespaces_enter(const struct shim_plan *plan, enum shim_stage *stage);

/* Open @path as a directory (O_PATH, close-on-exec) in our own mount namespace. It must be the
 * directory that @same is open on. A descriptor, or a negative errno (ESTALE: it is another). */
long namespaces_open_same(const char *path, int same);

#endif
