/*
 * pump - moves bytes between the server and a run's pipes without ever waiting.
 *
 * struct pump: one output pipe into its store. struct feed: bytes into the command's stdin, then
 * end of file. Both own their descriptor once started. Our end of a terminal serves for both: one
 * duplicate for each.
 */
#ifndef PROCPEN_PROC_PUMP_H
#define PROCPEN_PROC_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "os/loop.h"
#include "proc/arrivals.h"
#include "proc/output.h"

struct pump {
	struct ev_loop *loop;
	ev_io io;           /* fd -1: at end of file, or not started */
	int held;           /* the pipe's other end, see pump_start(); -1: none */
	struct output *out;
	struct arrivals *arrivals; /* where to note what comes; or NULL */
	int64_t start_ms;   /* of the run, clock_mono_ms() */
	bool is_err;        /* the stream */
	bool is_terminal;   /* it comes from a terminal, whose end is EIO (pty(7)) */
	bool loud;          /* has written much, and is counted in loud_count */
	unsigned number;    /* of a loud pump: says in which turns it is served */
	void (*on_data)(void *ctx, bool stored); /* bytes were stored, or end of file came */
	void *ctx;
};

/* Watch @fd (non-blocking, which the pump now owns) and store its bytes in @out. is_terminal is set
 * before. The pump also owns @held, the write end of the pipe or -1, and keeps it until
 * pump_let_go() or pump_close(): until then there is no end of file that would wake the server. */
void pump_start(struct pump *p, struct ev_loop *loop, int fd, int held, struct output *out);
void pump_let_go(struct pump *p);

/* Store the bytes that are in the pipe now. No callback. Returns true at end of file. */
bool pump_drain(struct pump *p);

/* Read once more in this turn of the loop: what the command answers to its input may be there by
 * the end of it, and the echo of a terminal is. Saves a turn for it. */
void pump_look(struct pump *p);

bool pump_open(const struct pump *p);
bool pump_has_bytes(const struct pump *p); /* that were not read yet */
void pump_close(struct pump *p);

/*
 * A queue in front of a pipe. Its memory is freed whenever it is empty. It has no limit of its
 * own: who adds asks feed_queued() first.
 */
struct feed {
	struct ev_loop *loop;
	ev_io io;           /* fd -1: not started, or closed */
	struct buf pending; /* its first @sent bytes are in the pipe */
	size_t sent;
	size_t offered;   /* bytes at the end of `pending` that feed_offer() can still refuse */
	bool is_terminal; /* our end of one; set before the start. Closing it ends no file */
	bool awaits;     /* feed_connect() */
	bool ending;     /* nothing more comes: end of file when the queue is empty */
	bool hung_up;    /* the command closed its stdin ... */
	bool refused;    /* ... before all was written */
	int rest_fd;     /* a read end, to count by; -1: none */
	uint64_t unread; /* when the command closed its stdin */
};

/* Take over the non-blocking pipe end @fd, and close it as soon as the last reader is gone. */
void feed_start(struct feed *f, struct ev_loop *loop, int fd);

/* The same, where the pipe end comes later, by feed_connect(): until then all bytes wait. */
void feed_start_ahead(struct feed *f, struct ev_loop *loop);
void feed_connect(struct feed *f, int fd);

/* Can bytes or the end be added? */
bool feed_open(const struct feed *f);

/* Write @len bytes, and with @end close the pipe behind them: at once what fits, the rest as the
 * command reads. @f must be open. f->hung_up: the command has closed its stdin. */
void feed_add(struct feed *f, const void *bytes, size_t len, bool end);

/* The same for bytes that the caller refuses if f->hung_up is set by then: what of them was not
 * written does not count as left unread. The first @taken of them it has taken before, which do. */
void feed_offer(struct feed *f, const void *bytes, size_t len, size_t taken, bool end);
void feed_close(struct feed *f);

/* The terminal has ended, which shows at its output only: close it, as if the last reader of a pipe
 * were gone. @late: it is locked, so it may be closed behind the answer (os/loop.h). */
void feed_hang_up(struct feed *f, bool late);

/* Did the command close its stdin before all was written? */
bool feed_refused(const struct feed *f);

/* Bytes that wait for room in the pipe. */
size_t feed_queued(const struct feed *f);

/* Bytes that the command has not read: not yet, or never when it is over. */
uint64_t feed_unread(const struct feed *f);

#endif
