/*
 * stdio - takes the protocol off descriptors 0 and 1 at start, and sees to it that
 * no line to stderr (base/log) ever waits for a reader.
 *
 * Afterwards 0 is /dev/null, 1 is a copy of 2 (so nothing can ever print into
 * the protocol), 2 is as it was (or /dev/null when it was closed), 3 and 4 are
 * reserved for os/spawn/spawn, and every other descriptor is close-on-exec.
 *
 * Reads and writes never block: sockets are used with MSG_DONTWAIT; pipes and
 * devices are reopened for a file description of our own, because O_NONBLOCK
 * on the inherited one would also hit whoever shares it. Where that fails (a
 * terminal or pipe of another user, the master end of a terminal) the flag is set
 * and taken back at the end for 0 and 1. stderr is shared with more than the host,
 * so there a write that finds no room is interrupted after a millisecond, and none
 * is tried for a second after that. Files are read and written as they are.
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

/* Fill closed standard descriptors with /dev/null, so that no file of ours becomes one, and keep
 * all that we inherited beside them out of our children. 0 or -1. Before anything is opened. */
int stdio_guard(struct err *e);

/* Move the protocol ends, and let log lines go to stderr without waiting from now on, until the
 * process ends. Returns 0 or -1 (@e: which descriptor, why). */
int stdio_take(struct stdio *s, struct err *e);

/* In a forked child that is going to close the descriptors from 3 on, whatever signals it has
 * blocked: log lines go through @fd, a copy of where they went, and wait as little as before. */
void stdio_move_errors(int fd);

/* Put flags back and close both ends. */
void stdio_release(struct stdio *s);

/* As read(2)/write(2), never blocking, EINTR retried. write: EPIPE never raises a signal
 * as long as SIGPIPE is ignored by the caller. */
ssize_t stdio_read(const struct stdio_end *end, void *bytes, size_t len);
ssize_t stdio_write(const struct stdio_end *end, const void *bytes, size_t len);

/*
 * What is known of the other side without moving a byte; poll(2).
 *
 * hung_up: nobody will write more into this input, though bytes may still wait in it. So it is
 * from the start for a file.
 * abandoned: nobody is left who could read from this output.
 */
bool stdio_hung_up(const struct stdio_end *in);
bool stdio_abandoned(const struct stdio_end *out);

/*
 * Bytes that were written and that the other side has not read yet; 0 where nobody tells. Exact for
 * a pipe (FIONREAD, pipe(7)) and a serial line (TIOCOUTQ, ioctl_tty(2)), always 0 for a
 * pseudoterminal. A socket counts the memory they take, which falls in steps of at most some 64 KiB
 * (SIOCOUTQ, linux/sockios.h).
 */
size_t stdio_unread(const struct stdio_end *out);

#endif
