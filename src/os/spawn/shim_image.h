/*
 * shim_image - the shim's program, embedded in procpen.
 *
 * It runs from a sealed memory file, so that no file on disk has to be found, trusted
 * or kept in step. Where memory files may not be executed (vm.memfd_noexec=2), it runs
 * from the file libexec/procpen-shim beside the program.
 */
#ifndef PROCPEN_OS_SPAWN_SHIM_IMAGE_H
#define PROCPEN_OS_SPAWN_SHIM_IMAGE_H

#include "base/err.h"

/* A read-only, close-on-exec descriptor of the image for execveat(2); opened once per server,
 * owned by this module. -1 with SpawnFailed (stage "shim"). */
int shim_image_fd(struct err *e);

#endif
