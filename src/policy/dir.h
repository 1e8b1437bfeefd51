/*
 * dir - finds what a path leads to, by descriptor.
 */
#ifndef PROCPEN_POLICY_DIR_H
#define PROCPEN_POLICY_DIR_H

#include <stdbool.h>

/*
 * An O_PATH, close-on-exec descriptor of the directory @path, relative to @base; -1 with errno.
 * Symbolic links are followed, magic ones are not (ELOOP): for us /proc/self/cwd is another
 * directory than for the client. See openat2(2), RESOLVE_NO_MAGICLINKS.
 */
int dir_open(int base, const char *path);

/*
 * Called for each thing on the way, in order: directories, links, and what the path names. @name:
 * what it is called in the directory @dir (-1 for the first). @fd: an O_PATH descriptor of it, of a
 * link itself; borrowed.
 */
typedef void (*dir_visit_fn)(void *ctx, int dir, const char *name, int fd);

/*
 * Walk @path name by name, from the root or from @base. No name is looked up twice, so what was
 * visited is what the path leads to, whatever others rename meanwhile. Links as for dir_open().
 * Returns an O_PATH, close-on-exec descriptor of what it names, of any type; -1 with errno.
 */
int dir_walk(int base, const char *path, dir_visit_fn visit, void *ctx);

/* @path from the root: a relative one is taken from the working directory. Heap; NULL with errno
 * where that cannot be told. */
char *dir_absolute(const char *path);

/* Do two paths lead to one file, or directory? */
bool dir_is_same(const char *a, const char *b);

/* As realpath(3), which looks each name up from the root again: commands can make links of so many
 * names that it takes seconds. But a directory before ".." has to be searchable. Heap; NULL with
 * errno. */
char *dir_real(const char *path);

/* The path of what @fd is open to, or @fallback (or NULL) without /proc. Heap. */
char *dir_name(int fd, const char *fallback);

#endif
