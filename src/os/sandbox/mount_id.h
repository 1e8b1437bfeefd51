/* mount_id - which mount a descriptor is on. A device number would not do: a bind mount has that
 * of its source. */
#ifndef PROCPEN_OS_SANDBOX_MOUNT_ID_H
#define PROCPEN_OS_SANDBOX_MOUNT_ID_H

#include <stdint.h>

/* 0 with the mount's number as /proc/self/mountinfo has it, or -1. O_PATH will do for @fd. */
int mount_id(int fd, uint64_t *id);

#endif
