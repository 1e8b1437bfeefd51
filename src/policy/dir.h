/*
 * dir - opening a directory by a path that somebody else wrote.
 */
#ifndef PROCPEN_POLICY_DIR_H
#define PROCPEN_POLICY_DIR_H

/*
 * An O_PATH, close-on-exec descriptor of the directory @path, relative to @base; -1 with errno.
 * Symbolic links are followed, magic ones are not (ELOOP): /proc/self/cwd means another directory
 * for us than for whoever wrote it. See openat2(2), RESOLVE_NO_MAGICLINKS.
 */
int dir_open(int base, const char *path);

#endif
