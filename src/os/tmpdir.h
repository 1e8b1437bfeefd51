/*
 * tmpdir - one private directory for the temporary files of a server's commands.
 *
 *   <parent>/tmp                  ours alone; refused if kind, owner or mode say otherwise
 *   <parent>/tmp/<instance>       what commands get; made when first needed
 *   <parent>/tmp/<instance>.lock  locked while its server lives; no command can write it
 *
 * Removed with the server. A lock file that nobody locks tells of a server that was
 * killed: the next one removes what that one has left. Nothing else is ever removed:
 * not what lies beside tmp/, and in it nothing without such a lock file of ours.
 * Removal takes a bounded time per call; what is left then is for the next server.
 */
#ifndef PROCPEN_OS_TMPDIR_H
#define PROCPEN_OS_TMPDIR_H

#include <stdint.h>

#include "base/err.h"

/* Its place below @parent. */
#define TMPDIR_PLACE "tmp"

struct tmpdir;

/* Below @parent (made when needed), named by ids_instance(). Touches nothing yet. */
struct tmpdir *tmpdir_new(const char *parent, const char *instance);

/* The same for commands that run as other users, in <parent>/tmp-users: they may pass through it,
 * each to a directory of its own, <path>/<uid>. Only root can make these, below a @parent that all
 * may pass through. */
struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance);
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e);

/* Make it, and clean up after dead servers. 0, or -1 with SandboxUnavailable. Idempotent, and may
 * be called again after a failure. */
int tmpdir_make(struct tmpdir *t, struct err *e);

/* Its absolute path; exists after tmpdir_make(). */
const char *tmpdir_path(const struct tmpdir *t);

/* Remove what was made, and free. */
void tmpdir_free(struct tmpdir *t);

#endif
