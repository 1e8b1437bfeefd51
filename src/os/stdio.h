/*
 * stdio - moves the protocol off descriptors 0 and 1 at start, and keeps log lines
 * (base/log) from ever waiting for a reader of stderr.
 *
 * Afterwards 0 is /dev/null, 1 is a copy of 2 (so nothing can ever print into
 * the protocol), 2 is unchanged (or /dev/null if it was closed), 3 and 4 are
 * reserved for os/spawn/spawn, and every other descriptor is close-on-exec.
 *
 * Reads and writes never block: sockets are used with MSG_DONTWAIT; pipes and
 * devices are reopened for a file description of our own, because O_NONBLOCK
 * on the inherited one would also affect every process that shares it. If that fails (a
 * terminal or pipe of another user, the master end of a terminal), O_NONBLOCK is set
 * on the inherited description of 0 and 1 and removed at the end. Processes other than
 * the host share stderr, so a blocking write to it is interrupted after a millisecond,
 * and no other is tried for a second. Files are read and written as they are.
 */
#ifndef PROCPEN_OS_STDIO_H
#define PROCPEN_OS_STDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct stdio_end {
	int fd;
	bool is_socket;
	int restore_flags; /* file status flags to put back at the end, or -1 */
};

struct stdio {
	struct stdio_end in, out;
};

/* Open /dev/null on closed standard descriptors, so that no file of ours becomes one, and make all
 * other inherited descriptors close-on-exec. Call it before anything is opened. 0 or -1. */
int stdio_guard(struct err *e);

/* Move the protocol off 0 and 1, and write log lines to stderr without blocking until the process
 * ends. Returns 0 or -1 (@e: which descriptor, why). */
int stdio_take(struct stdio *s, struct err *e);

/* For a forked child that is about to close the descriptors from 3 on: make @fd a copy of the log's
 * descriptor and log through it, without blocking as before. Works with all signals blocked. */
void stdio_move_errors(int fd);

/* Put flags back and close both ends. */
void stdio_release(struct stdio *s);

/* Like read(2) and write(2), but never block and retry on EINTR. The caller must ignore SIGPIPE. */
ssize_t stdio_read(const struct stdio_end *end, void *bytes, size_t len);
ssize_t stdio_write(const struct stdio_end *end, const void *bytes, size_t len);

/*
 * The state of the other side, without moving a byte (poll(2)).
 *
 * stdio_hung_up: no writer of @in is left, though it may still hold bytes; always true for a file.
 * stdio_abandoned: no reader of @out is left.
 */
bool stdio_hung_up(const struct stdio_end *in);
bool stdio_abandoned(const struct stdio_end *out);

/*
 * Bytes that were written and that the other side has not read yet; 0 if the kernel does not say.
 * Exact for a pipe (FIONREAD, pipe(7)) and a serial line (TIOCOUTQ, ioctl_tty(2)), always 0 for a
 * pseudoterminal. A socket counts the memory they take, which falls in steps of at most some 64 KiB
 * (SIOCOUTQ, linux/sockios.h).
 */
size_t stdio_unread(const struct stdio_end *out);

#endif
