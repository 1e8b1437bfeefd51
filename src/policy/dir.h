/*
 * dir - opens a directory by a path from a client.
 */
#ifndef PROCPEN_POLICY_DIR_H
#define PROCPEN_POLICY_DIR_H

/*
 * An O_PATH, close-on-exec descriptor of the directory @path, relative to @base; -1 with errno.
 * Symbolic links are followed, magic ones are not (ELOOP): for us /proc/self/cwd is another
 * directory than for the client. See openat2(2), RESOLVE_NO_MAGICLINKS.
 */
int dir_open(int base, const char *path);

#endif
