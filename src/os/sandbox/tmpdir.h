/*
 * tmpdir - one private directory for the temporary files of a server's commands.
 *
 *   <parent>/tmp                  ours alone; refused if type, owner or mode differ
 *   <parent>/tmp/<instance>       for commands; created when first needed
 *   <parent>/tmp/<instance>.lock  locked while its server lives; no command can write it
 *
 * The server removes it at its end, as far as it has time. An unlocked lock file is that
 * of a server that was killed or ran out of time: a cleaner process of low priority, which
 * dies with its server, removes its directory. Nothing else is ever removed: nothing
 * beside tmp/, and nothing in it without such a lock file of ours. Files that remain are
 * named on stderr, because there is no request to answer.
 */
#ifndef PROCPEN_OS_SANDBOX_TMPDIR_H
#define PROCPEN_OS_SANDBOX_TMPDIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Its place below @parent. */
#define TMPDIR_PLACE "tmp"

/* In the directory, mode 1777: the /dev/shm of all commands, where mounts can be made. */
#define TMPDIR_SHARED_MEMORY ".shm"

struct reaper;
struct tmpdir;

/* Below @parent (created when needed); @instance is ids_instance(). @reaper watches the cleaner;
 * NULL: no cleanup of earlier servers. Touches nothing yet. */
struct tmpdir *tmpdir_new(const char *parent, const char *instance, struct reaper *reaper);

/* The same for commands that run as other users, in <parent>/tmp-users, which all users may search:
 * each has its own directory <path>/<uid>, made by tmpdir_make_for(). Only root can make these,
 * below a @parent that all users may search. */
struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance,
				    struct reaper *reaper);
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e);

/* Create it, and start the cleaner if dead servers left files. Returns 0, or -1 with
 * SandboxUnavailable. Idempotent; may be called again after a failure. */
int tmpdir_make(struct tmpdir *t, struct err *e);

/* Has another process removed or replaced it since? No command can. */
bool tmpdir_is_gone(const struct tmpdir *t);

/* Give up one that is gone, and say so on stderr: tmpdir_make() makes a new one. */
void tmpdir_forget(struct tmpdir *t);

/* Its absolute path; exists after tmpdir_make(). */
const char *tmpdir_path(const struct tmpdir *t);

/* Remove the directory and wait for the cleaner, for one second in all; then free. Call it before
 * reaper_free(). */
void tmpdir_free(struct tmpdir *t);

#endif
