/*
 * log_writer - the process that writes the log file of a run.
 *
 * It is a child of a shim of its own, in the layers of the run (user, Landlock, mounts,
 * filter), and does what the run itself could do: the server neither opens nor writes the
 * file. The data come through a pipe on its stdin.
 *
 * The path is relative to the working directory and is walked component by component,
 * with O_NOFOLLOW for each: no link is followed, and as ".." is refused, the file lies
 * beneath that directory. It must be a regular file with one link (inode(7)), or not be
 * there yet.
 */
#ifndef PROCPEN_OS_SHIM_LOG_WRITER_H
#define PROCPEN_OS_SHIM_LOG_WRITER_H

#include "os/shim/proto.h"

/*
 * Open the file @path of @plan, and clone the writer, a child of the caller's parent. The writer
 * reads its stdin to the end of file, stops when the file has log_bytes or a write fails, and ends
 * with SHIM_LOGGED. If the plan says so, the first byte is none of the file: at it the writer
 * truncates the file, which an end of file before it leaves as it is, and so does whoever has
 * written to it since it was opened. Returns 0, or a negative errno: ELOOP (a link on the path),
 * EMLINK (several links), EOPNOTSUPP (no regular file), EXDEV ("..") and those of open(2).
 */
long log_writer_start(struct shim_plan *plan, const char *path);

#endif
