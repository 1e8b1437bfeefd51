/*
 * outq - the bounded queue to the client.
 *
 * Writes never block. Above the high mark `stopped` is set and the owner stops reading
 * requests; at the low mark it goes on. Timers and children are served all the time.
 * Answers are never dropped: they are bounded because requests are. Notifications
 * may be refused by outq_room().
 *
 * The queue is dead once its reader has gone or a write failed; `error` says which. A reader that
 * leaves while the queue is empty is noticed too, if the kernel reports it.
 */
#ifndef PROCPEN_RPC_OUTQ_H
#define PROCPEN_RPC_OUTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "os/loop.h"
#include "os/stdio.h"

struct outq {
	struct ev_loop *loop;
	const struct stdio_end *end;
	struct buf buf;
	size_t sent;      /* bytes of buf already written */
	uint64_t written; /* bytes ever written */
	size_t high, low;
	bool stopped;     /* above the high mark, not yet below the low one */
	bool grown;       /* a larger pipe was asked for */
	bool headed;      /* lines go out behind headers (rpc/frame.h); set by the owner */
	bool dead;        /* the reader has gone or a write failed: nothing will be written */
	int error;        /* why: EPIPE when the reader has gone, else the errno of the write */
	ev_io io;         /* active while bytes are queued that the client does not accept */
	ev_io hangup;     /* wakes when the reader closes its end, see outq.c */
	void (*on_change)(void *ctx); /* stopped or dead changed; set once */
	void *ctx;
};

void outq_init(struct outq *q, struct ev_loop *loop, const struct stdio_end *end, size_t high,
	       void (*on_change)(void *ctx), void *ctx);
void outq_release(struct outq *q);

/* Queue one line (its newline, or its header, is added) and try to write. Ignored once dead. */
void outq_push(struct outq *q, const char *line, size_t len);

/* May a notification of @len bytes be queued without passing the high mark? */
bool outq_room(const struct outq *q, size_t len);

bool outq_empty(const struct outq *q);
size_t outq_pending(const struct outq *q); /* bytes that are queued and not written */

/*
 * A number that changes whenever the reader reads, even too little to let us write more, as far as
 * the kernel reports it (see stdio_unread()). It also changes with every write.
 */
uint64_t outq_progress(const struct outq *q);

/* Mark the queue dead if no reader is left. */
void outq_check_reader(struct outq *q);

#endif
