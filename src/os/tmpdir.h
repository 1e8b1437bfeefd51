/*
 * tmpdir - one private directory for the temporary files of a server's commands.
 *
 * Made when it is first needed, mode 0700, below a directory that only the user
 * can write; removed with the server. What a killed server left behind is removed
 * by the next one: a lock on the directory tells who still lives. Removal takes a
 * bounded time per call; what is left then is for the next server.
 */
#ifndef PROCPEN_OS_TMPDIR_H
#define PROCPEN_OS_TMPDIR_H

#include <stdint.h>

#include "base/err.h"

struct tmpdir;

/* Below @parent (made when needed), named after @instance. Touches nothing yet. */
struct tmpdir *tmpdir_new(const char *parent, const char *instance);

/* The same for commands that run as other users: they may pass through it, each to a directory of
 * its own, <path>/<uid>. Only root can make these, below a @parent that all may pass through. */
struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance);
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e);

/* Make it, and clean up after dead servers. 0, or -1 with SandboxUnavailable. Idempotent. */
int tmpdir_make(struct tmpdir *t, struct err *e);

/* Its absolute path; exists after tmpdir_make(). */
const char *tmpdir_path(const struct tmpdir *t);

/* Remove what was made, and free. */
void tmpdir_free(struct tmpdir *t);

#endif
