/*
 * outq - the bounded queue to the client.
 *
 * Lines are written as soon as the client takes them and never block. Above the
 * high mark the owner is told to stop reading requests, below the low mark to go
 * on; timers and children go on meanwhile. Answers are never dropped: they are
 * bounded because requests are. Notifications may be refused by outq_room().
 */
#ifndef PROCPEN_RPC_OUTQ_H
#define PROCPEN_RPC_OUTQ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "os/loop.h"
#include "os/stdio.h"

struct outq {
	struct ev_loop *loop;
	const struct stdio_end *end;
	struct buf buf;
	size_t sent;      /* bytes of buf already written */
	size_t high, low;
	bool stopped;     /* above the high mark, not yet below the low one */
	bool grown;       /* a larger pipe was asked for */
	bool dead;        /* the client is gone (EPIPE) or the stream failed */
	ev_io io;
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

#endif
