/*
 * tmpdir - one private directory for the temporary files of a server's commands.
 *
 *   <parent>/tmp                  ours alone; refused if kind, owner or mode say otherwise
 *   <parent>/tmp/<instance>       what commands get; made when first needed
 *   <parent>/tmp/<instance>.lock  locked while its server lives; no command can write it
 *
 * Removed with the server, as far as the time for its end goes. A lock file that
 * nobody locks tells of a server that was killed or had no time: a process of low
 * priority, which dies with its server, removes what that one has left. Nothing else
 * is ever removed: not what lies beside tmp/, and in it nothing without such a lock
 * file of ours. What stays is named on stderr, because no request is there to be
 * answered.
 */
#ifndef PROCPEN_OS_SANDBOX_TMPDIR_H
#define PROCPEN_OS_SANDBOX_TMPDIR_H

#include <stdint.h>

#include "base/err.h"

/* Its place below @parent. */
#define TMPDIR_PLACE "tmp"

struct reaper;
struct tmpdir;

/* Below @parent (made when needed), named by ids_instance(). @reaper is told of the process that
 * cleans up; NULL: nothing is cleaned up. Touches nothing yet. */
struct tmpdir *tmpdir_new(const char *parent, const char *instance, struct reaper *reaper);

/* The same for commands that run as other users, in <parent>/tmp-users: they may pass through it,
 * each to a directory of its own, <path>/<uid>. Only root can make these, below a @parent that all
 * may pass through. */
struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance,
				    struct reaper *reaper);
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e);

/* Make it, and begin to clean up after dead servers. 0, or -1 with SandboxUnavailable. Idempotent,
 * and may be called again after a failure. */
int tmpdir_make(struct tmpdir *t, struct err *e);

/* Its absolute path; exists after tmpdir_make(). */
const char *tmpdir_path(const struct tmpdir *t);

/* Remove what was made, and wait for what cleans up, for a second in all; then free. The reaper
 * must still be there. */
void tmpdir_free(struct tmpdir *t);

#endif
