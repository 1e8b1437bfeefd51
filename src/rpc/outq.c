/*
 * A line is appended to one buffer and written from its front; the descriptor is
 * watched for writing only while the client does not read. `on_change` is called last,
 * when the queue is consistent, and must not push.
 *
 * epoll(7) always reports EPOLLERR and EPOLLHUP, and libev passes them to a read watcher. So
 * `hangup` watches the output for reading, although there is nothing to read: it wakes when the
 * last reader of the pipe or socket closes it. If input and output are one socket or terminal, the
 * first byte of input wakes it too; it is then stopped, because it would wake for every byte.
 */
#include "rpc/outq.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define KEEP_BYTES (256u << 10) /* a larger buffer is freed when it is empty */
#define LONG_PIPE (1 << 20) /* pipe size to request once a line did not fit; refusal is fine */
#define DIRECT_BYTES (16u << 10) /* write longer lines from where they are, without a copy */
#define SHIFT_BYTES (1u << 20)  /* drop written bytes from the front once there are this many */

/*
 * Answers are bounded by the number of open requests and the size of one answer,
 * far below this. A client that lets so much pile up counts as gone.
 */
#define HARD_MAX ((size_t)1 << 30)

size_t outq_pending(const struct outq *q)
{
	return q->buf.len - q->sent;
}

/* A write to a terminal whose other side is closed fails with EIO (hung_up_tty_write() in Linux),
 * as on a failing disk; only poll(2) reports the hangup. */
static bool outq_is_reader_gone(const struct outq *q, int error)
{
	return error == ECONNRESET || (error == EIO && stdio_abandoned(q->end));
}

static void outq_stop(struct outq *q)
{
	ev_io_stop(q->loop, &q->io);
	ev_io_stop(q->loop, &q->hangup);
}

static void outq_fail(struct outq *q, int error)
{
	q->dead = true;
	q->error = outq_is_reader_gone(q, error) ? EPIPE : error;
	outq_stop(q);
	buf_release(&q->buf);
	q->sent = 0;
}

static void outq_drop_sent(struct outq *q)
{
	if (!outq_pending(q)) {
		buf_clear(&q->buf);
		q->sent = 0;
		if (q->buf.cap > KEEP_BYTES)
			buf_release(&q->buf);
	} else if (q->sent >= SHIFT_BYTES && q->sent > q->buf.len / 2) {
		buf_consume(&q->buf, q->sent);
		q->sent = 0;
	}
}

/* Write as much as the client accepts now. */
static void outq_flush(struct outq *q)
{
	while (outq_pending(q)) {
		ssize_t n = stdio_write(q->end, q->buf.data + q->sent, outq_pending(q));

		if (n > 0) {
			q->sent += (size_t)n;
			q->written += (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN) {
			outq_fail(q, errno);
			return;
		}
		ev_io_start(q->loop, &q->io);
		break;
	}
	outq_drop_sent(q);
	if (!outq_pending(q))
		ev_io_stop(q->loop, &q->io);
}

/* Call on_change if a mark was crossed or the client has gone. */
static void outq_notify_change(struct outq *q, bool was_dead)
{
	bool was_stopped = q->stopped;

	if (q->dead || outq_pending(q) <= q->low)
		q->stopped = false;
	else if (outq_pending(q) > q->high)
		q->stopped = true;
	if ((q->stopped != was_stopped || q->dead != was_dead) && q->on_change)
		q->on_change(q->ctx);
}

static void outq_on_writable(struct ev_loop *loop, ev_io *io, int events)
{
	struct outq *q = io->data;

	(void)loop_refused(loop, io, events);
	outq_flush(q);
	outq_notify_change(q, false);
}

void outq_check_reader(struct outq *q)
{
	bool was_dead = q->dead;

	if (!q->dead && stdio_abandoned(q->end))
		outq_fail(q, EPIPE);
	outq_notify_change(q, was_dead);
}

static void outq_on_hangup(struct ev_loop *loop, ev_io *io, int events)
{
	struct outq *q = io->data;

	if (!loop_refused(loop, io, events))
		ev_io_stop(loop, io); /* if still alive, input woke it, and would again */
	outq_check_reader(q);
}

void outq_init(struct outq *q, struct ev_loop *loop, const struct stdio_end *end, size_t high,
	       void (*on_change)(void *ctx), void *ctx)
{
	memset(q, 0, sizeof(*q));
	q->loop = loop;
	q->end = end;
	q->high = high;
	q->low = high / 4;
	q->on_change = on_change;
	q->ctx = ctx;
	buf_init(&q->buf, HARD_MAX);
	ev_io_init(&q->io, outq_on_writable, end->fd, EV_WRITE);
	ev_io_init(&q->hangup, outq_on_hangup, end->fd, EV_READ);
	q->io.data = q->hangup.data = q;
	ev_io_start(loop, &q->hangup);
}

void outq_release(struct outq *q)
{
	if (q->loop)
		outq_stop(q);
	buf_release(&q->buf);
	q->sent = 0;
}

/* The queue is empty: write a long line without a copy, and queue what does not fit the pipe. */
static size_t outq_write_directly(struct outq *q, const char *line, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = stdio_write(q->end, line + done, len - done);
		if (n <= 0)
			break; /* full, or an error that outq_flush() will meet again */
		done += (size_t)n;
	}
	q->written += done;
	if (done < len && !q->grown) { /* a reader of long lines then wakes less often */
		q->grown = true;
		(void)fcntl(q->end->fd, F_SETPIPE_SZ, LONG_PIPE);
	}
	return done;
}

/* Queue what of these bytes cannot be written at once. Returns 0, or -1 when there is no room. */
static int outq_add(struct outq *q, const char *bytes, size_t len)
{
	size_t done = 0;

	if (len >= DIRECT_BYTES && !outq_pending(q))
		done = outq_write_directly(q, bytes, len);
	return buf_add(&q->buf, bytes + done, len - done);
}

/* The header of a line of @len bytes, see rpc/frame.h. It goes first if a long line is to go
 * directly. */
static int outq_add_header(struct outq *q, size_t len)
{
	if (buf_addf(&q->buf, "Content-Length: %zu\r\n\r\n", len))
		return -1;
	if (len >= DIRECT_BYTES && !ev_is_active(&q->io))
		outq_flush(q);
	return 0;
}

void outq_push(struct outq *q, const char *line, size_t len)
{
	if (q->dead)
		return;
	if ((q->headed && outq_add_header(q, len)) || outq_add(q, line, len) ||
	    (!q->headed && buf_addc(&q->buf, '\n')))
		outq_fail(q, ENOBUFS);
	else if (!ev_is_active(&q->io))
		outq_flush(q);
	outq_notify_change(q, false);
}

bool outq_room(const struct outq *q, size_t len)
{
	return !q->dead && outq_pending(q) < q->high && len < q->high - outq_pending(q);
}

bool outq_empty(const struct outq *q)
{
	return !outq_pending(q);
}

uint64_t outq_progress(const struct outq *q)
{
	return q->written - stdio_unread(q->end);
}
