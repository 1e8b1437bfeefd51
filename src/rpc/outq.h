/*
 * outq - the bounded queue to the client.
 *
 * Lines are written as soon as the client takes them and never block. Above the
 * high mark the owner is told to stop reading requests, below the low mark to go
 * on; timers and children go on meanwhile. Answers are never dropped: they are
 * bounded because requests are. Notifications may be refused by outq_room().
 *
 * The queue is dead once its reader is gone or writing failed; `error` says which. A reader that
 * goes while nothing is to be written is noticed too, where the kernel tells of it.
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
	bool dead;        /* the reader is gone or the stream failed: nothing will be written */
	int error;        /* why: EPIPE when the reader is gone, else the errno of the failure */
	ev_io io;         /* active while the client does not take what there is */
	ev_io gone;       /* hears of a reader that goes, see outq.c */
	void (*on_change)(void *ctx); /* stopped or dead changed; set once */
	void *ctx;
};

void outq_init(struct outq *q, struct ev_loop *loop, const struct stdio_end *end, size_t high,
	       void (*on_change)(void *ctx), void *ctx);
void outq_release(struct outq *q);

/* Queue one line (the newline is added) and try to write. Ignored once dead. */
void outq_push(struct outq *q, const char *line, size_t len);

/* May a notification of @len bytes be queued without passing the high mark? */
bool outq_room(const struct outq *q, size_t len);

bool outq_empty(const struct outq *q);
size_t outq_pending(const struct outq *q); /* bytes that are queued and not written */

/*
 * A number that changes as the reader takes bytes, also fewer than would let more be written, as
 * far as the kernel tells (see stdio_unread()). It changes with what is written, too.
 */
uint64_t outq_progress(const struct outq *q);

/* Look whether anybody is left who could read; the queue is dead if not. */
void outq_look(struct outq *q);

#endif
