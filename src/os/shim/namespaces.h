/*
 * namespaces - sets up the new namespaces that the shim was cloned into, before it
 * clones the command: the maps of a user namespace, a file system that is read-only
 * except for the plan's paths, its own /proc, the loopback device.
 *
 * A command may have replaced the files at these paths. So each path is opened without
 * following symbolic links and must be the file (device, inode) that the plan names.
 */
#ifndef PROCPEN_OS_SHIM_NAMESPACES_H
#define PROCPEN_OS_SHIM_NAMESPACES_H

#include "os/shim/proto.h"

/* Returns 0, or a negative errno with the stage of the failure in *@stage. */
long namespaces_enter(const struct shim_plan *plan, enum shim_stage *stage);

/* Enter a new network namespace, with its loopback device up. The old one ends with the last socket
 * that somebody keeps. Returns 0 or a negative errno. */
long namespaces_renew_network(void);

/* The size of the directory of message queues (mq_overview(7)), which grows with each queue in the
 * IPC namespace; -1: not known. */
int64_t namespaces_queues_size(void);

/* Open @path as a directory (O_PATH, close-on-exec) in the shim's mount namespace. It must be the
 * directory that @same refers to. Returns a descriptor, which stays open until the exec, or a
 * negative errno (ESTALE: another). */
long namespaces_open_same(const char *path, int same);

/* A command whose directory was @path is over. After two in a row keep it open, so that
 * namespaces_open_same() need not walk there again for the next. The mounts of the namespace never
 * change, so the same directory is reached by the same way. */
void namespaces_keep_directory(const char *path);

#endif
