/* mount_id - the mount that a descriptor is on. A device number would not do: a bind mount has that
 * of its source. */
#ifndef PROCPEN_OS_SANDBOX_MOUNT_ID_H
#define PROCPEN_OS_SANDBOX_MOUNT_ID_H

#include <stdint.h>

/* Returns 0 with the mount's number as in /proc/self/mountinfo, or -1. @fd may be O_PATH. */
int mount_id(int fd, uint64_t *id);

#endif
