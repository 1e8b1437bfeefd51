/*
 * audit_dir - the directory of audit logs: the names in it, and which of them are in use.
 *
 * A log is a regular file whose name ends in .jsonl. Names begin with a time, so their order is
 * that of their making, as far as the clock was right.
 */
#ifndef PROCPEN_POLICY_AUDIT_DIR_H
#define PROCPEN_POLICY_AUDIT_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define AUDIT_DIR_NAME_MAX 96 /* bytes of the name of a log, with its NUL; others are not logs */

/* The name of a day's log of `procpen run` has this behind the day. */
#define AUDIT_DIR_RUN "-run"

struct audit_dir_names {
	char (*names)[AUDIT_DIR_NAME_MAX]; /* sorted, oldest first; owned */
	size_t count;
};

/* List the logs in @dir, which stays open. 0, or -1 with errno. Release it in any case. */
int audit_dir_list(int dir, struct audit_dir_names *list);
void audit_dir_release(struct audit_dir_names *list);

/*
 * Open the directory @path to read its logs, and list them. A descriptor, or -1 with BadDirectory:
 * there is no log, which procpen itself never leaves behind where it has recorded something; or
 * with PermissionDenied: it cannot be read. Release @list in any case.
 */
int audit_dir_open(const char *path, struct audit_dir_names *list, struct err *e);

/* As strcmp(), for names of logs: "a.jsonl" comes before "a-0002.jsonl"; and for bsearch(3). */
int audit_dir_compare(const char *a, const char *b);
int audit_dir_order(const void *a, const void *b);

/* Is @name that of a log? */
bool audit_dir_is_log(const char *name);

/* Is it one of `procpen run`, to which several processes append? */
bool audit_dir_is_shared(const char *name);

/* Mark the log @fd as in use while it is open, as far as its file system can. */
void audit_dir_hold(int fd);

/* Does a process write the log @fd? (fcntl(2), F_OFD_GETLK) */
bool audit_dir_is_held(int fd);

#endif
