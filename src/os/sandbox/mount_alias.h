/*
 * mount_alias - under which other names files show, because their file system is mounted in several
 * places (bind mounts).
 *
 * Knows mounts only: hard links, and the layers below an overlay, are other files to it.
 */
#ifndef PROCPEN_OS_SANDBOX_MOUNT_ALIAS_H
#define PROCPEN_OS_SANDBOX_MOUNT_ALIAS_H

/*
 * The other names of each of @paths, or of a part of it: absolute and canonical, outside of that
 * path, NULL-terminated; the caller frees them (mem_list_free()). @paths: NULL-terminated, absolute
 * and canonical, need not exist. None if the mounts cannot be read.
 */
char **mount_alias_find(char *const *paths);

#endif
