#include "proc/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/output_text.h"

#define READ_MAX (256 * 1024)     /* per wake-up, so that a flood never starves the rest */
#define LOUD_BYTES (1024 * 1024)  /* output beyond which a larger pipe pays */
#define LOUD_PIPE (1024 * 1024)
#define LOUD_PIPE_LESS (256 * 1024)

#define LOUD_MANY 4               /* with more loud pumps, larger pipes only make turns longer */
#define READ_LESS (64 * 1024)     /* per wake-up while there are many */
#define GROUP 8                   /* loud pumps that are served in one turn of the loop */
#define FEW_BYTES 1024            /* a pipe that gave fewer is empty now */
#define PTY_HELD (64 * 1024)      /* more than the kernel holds of what a terminal wrote */

static unsigned loud_count; /* pumps that are loud and open */
static unsigned loud_last;  /* numbers them */

/* Many loud pumps take turns, so that the loop serves requests, timers and ends of runs between two
 * groups of them. The descriptor of one that waits stays ready, so the loop does not sleep. */
static bool pump_has_turn(const struct pump *p)
{
	unsigned groups = (loud_count + GROUP - 1) / GROUP;

	return !p->loud || p->number % groups == ev_iteration(p->loop) % groups;
}

/* Make fewer, larger moves for a run that writes much. The kernel refuses when the user's quota of
 * pipe pages is used up: then keep the size. */
static void pump_grow_pipe(struct pump *p)
{
	p->loud = true;
	p->number = loud_last++;
	if (++loud_count > LOUD_MANY)
		return;
	if (fcntl(p->io.fd, F_SETPIPE_SZ, LOUD_PIPE) < 0)
		(void)fcntl(p->io.fd, F_SETPIPE_SZ, LOUD_PIPE_LESS);
}

/* What will be stored next; asked before, because then the bytes at the cut are kept. */
static struct arrival pump_expect(const struct pump *p)
{
	struct arrival next = { .offset = p->out->total, .is_err = p->is_err };

	if (p->arrivals)
		next.cut = (uint8_t)(next.offset - output_whole_end(p->out, next.offset));
	return next;
}

/* Note @next if something was stored. */
static void pump_note(const struct pump *p, struct arrival *next)
{
	int64_t ms = clock_mono_ms() - p->start_ms;

	next->ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
	if (p->arrivals && p->out->total > next->offset)
		arrivals_note(p->arrivals, next);
}

/* As output_fill(). At the end of a terminal lock it (pty(7)), so that nobody opens it again before
 * it is closed, and read what came until then: what is written later would be lost. */
static ssize_t pump_fill(const struct pump *p, size_t max)
{
	ssize_t n = output_fill(p->out, p->io.fd, max);

	if (n < 0 && errno == EIO && p->is_terminal && !ioctl(p->io.fd, TIOCSPTLCK, &(int){ 1 }))
		n = output_fill(p->out, p->io.fd, max);
	return n;
}

/* Of @left bytes those that a fill has moved, which may be more. */
static size_t pump_part(ssize_t moved, size_t left)
{
	if (moved < 0)
		return 0;
	return (size_t)moved < left ? (size_t)moved : left;
}

/* @late: as loop_close_late() does. So does one that still holds the write end: it is of a command
 * so short that its answer comes next, and that need not wait for the kernel. */
static void pump_close_by(struct pump *p, bool late)
{
	if (!pump_open(p))
		return;
	if (late || p->held >= 0)
		loop_close_late(p->loop, &p->io, p->held);
	else
		loop_close(p->loop, &p->io);
	p->held = -1;
	loud_count -= p->loud;
	p->loud = false;
}

static void pump_on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct pump *p = io->data;
	size_t left = loud_count > LOUD_MANY ? READ_LESS : READ_MAX;
	ssize_t few = p->is_terminal ? 1 : FEW_BYTES, n;
	struct arrival next;
	bool over;

	if (!loop_refused(loop, io, revents) && !pump_has_turn(p))
		return;
	next = pump_expect(p);
	do {
		n = pump_fill(p, left);
		left -= pump_part(n, left);
	} while (n >= few && left);
	over = n == 0 || (n < 0 && errno != EAGAIN);
	pump_note(p, &next);
	if (over)
		pump_close_by(p, p->is_terminal);
	else if (!p->loud && p->out->total >= LOUD_BYTES)
		pump_grow_pipe(p);
	p->on_data(p->ctx, p->out->total > next.offset);
}

void pump_start(struct pump *p, struct ev_loop *loop, int fd, int held, struct output *out)
{
	p->held = held;
	p->loop = loop;
	p->out = out;
	ev_io_init(&p->io, pump_on_readable, fd, EV_READ);
	p->io.data = p;
	ev_io_start(loop, &p->io);
}

void pump_look(struct pump *p)
{
	if (pump_open(p))
		ev_feed_event(p->loop, &p->io, EV_READ);
}

void pump_let_go(struct pump *p)
{
	mem_cleanup_close(&p->held);
}

/* How much is left to read. Of a terminal some bytes are still on their way to where FIONREAD
 * counts them. */
static size_t pump_count_waiting(const struct pump *p)
{
	int waiting = 0;

	if (p->is_terminal)
		return PTY_HELD;
	return ioctl(p->io.fd, FIONREAD, &waiting) < 0 || waiting < 0 ? READ_MAX : (size_t)waiting;
}

bool pump_drain(struct pump *p)
{
	struct arrival next;
	size_t left = 0;
	ssize_t n;

	if (!pump_open(p))
		return true;
	next = pump_expect(p);
	n = pump_fill(p, READ_MAX); /* of most commands that is all */
	/* Bytes in the pipe now were written before the event that caused the drain, or soon after
	 * it: to read until it is empty could take as long as somebody writes. */
	if (n > 0)
		left = pump_count_waiting(p);
	while (n > 0 && left) {
		n = pump_fill(p, left);
		left -= pump_part(n, left);
	}
	if (n > 0)
		n = pump_fill(p, READ_MAX); /* the end of file, or a little more */
	pump_note(p, &next);
	if (n > 0 || (n < 0 && errno != EIO))
		return false;
	pump_close_by(p, p->is_terminal);
	return true;
}

/* Bytes in the pipe of @fd, which may be either end; 0 without one. */
static uint64_t pump_count_bytes(int fd)
{
	int bytes = 0;

	return fd >= 0 && !ioctl(fd, FIONREAD, &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}

bool pump_open(const struct pump *p)
{
	return p->loop && p->io.fd >= 0;
}

bool pump_has_bytes(const struct pump *p)
{
	return pump_open(p) && pump_count_bytes(p->io.fd);
}

void pump_close(struct pump *p)
{
	pump_close_by(p, false);
}

/* Another read end of the pipe that @fd writes to. We never read from it. A command of our user may
 * have changed its mode. */
static int pump_feed_open_rest(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)fchmod(fd, 0600);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void pump_feed_stop(struct feed *f)
{
	loop_close(f->loop, &f->io);
	buf_release(&f->pending);
	f->sent = 0;
	f->awaits = false;
}

static void pump_feed_count_refused(struct feed *f)
{
	size_t queued = feed_queued(f), offered = queued < f->offered ? queued : f->offered;

	f->hung_up = true;
	f->refused = queued > offered;
	f->unread = feed_unread(f) - offered;
}

/* The last reader is gone. */
static void pump_feed_refuse(struct feed *f)
{
	pump_feed_count_refused(f);
	pump_feed_stop(f);
}

/* Watch for room in the pipe; with an empty queue for its hang-up, which epoll reports whatever
 * events were asked for (epoll_ctl(2), EPOLLERR). A write end is never readable; our end of a
 * terminal is, and its hang-up is the end of the output. */
static void pump_feed_watch(struct feed *f)
{
	int events = feed_queued(f) ? EV_WRITE : EV_READ;

	if (ev_is_active(&f->io) && (f->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(f->loop, &f->io);
	if (f->is_terminal && events == EV_READ)
		return;
	ev_io_set(&f->io, f->io.fd, events);
	ev_io_start(f->loop, &f->io);
}

/*
 * The queue is empty. The bytes in a pipe that is closed on this side can be counted only from the
 * other side.
 */
static void pump_feed_drained(struct feed *f)
{
	buf_release(&f->pending);
	f->sent = 0;
	if (!f->ending)
		return;
	if (!f->is_terminal)
		f->rest_fd = pump_feed_open_rest(f->io.fd);
	pump_feed_stop(f);
}

/* Write what the pipe takes. SIGPIPE is ignored (server/context.c), so a write without a reader
 * fails with EPIPE. */
static void pump_feed_write(struct feed *f)
{
	while (feed_queued(f)) {
		ssize_t n = write(f->io.fd, f->pending.data + f->sent, feed_queued(f));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			pump_feed_refuse(f);
			return;
		}
		f->sent += (size_t)n;
	}
	if (!feed_queued(f))
		pump_feed_drained(f);
	if (f->io.fd >= 0)
		pump_feed_watch(f);
}

static void pump_feed_on_ready(struct ev_loop *loop, ev_io *io, int revents)
{
	struct feed *f = io->data;
	bool refused = loop_refused(loop, io, revents);

	if (feed_queued(f))
		pump_feed_write(f);
	else if (!refused)
		pump_feed_refuse(f);
}

void feed_start(struct feed *f, struct ev_loop *loop, int fd)
{
	f->loop = loop;
	ev_io_init(&f->io, pump_feed_on_ready, fd, EV_READ);
	f->io.data = f;
	buf_init(&f->pending, SIZE_MAX);
}

void feed_start_ahead(struct feed *f, struct ev_loop *loop)
{
	feed_start(f, loop, -1);
	f->awaits = true;
}

void feed_connect(struct feed *f, int fd)
{
	f->awaits = false;
	ev_io_set(&f->io, fd, EV_READ);
	pump_feed_write(f);
}

bool feed_open(const struct feed *f)
{
	return f->loop && (f->io.fd >= 0 || f->awaits) && !f->ending;
}

void feed_add(struct feed *f, const void *bytes, size_t len, bool end)
{
	buf_consume(&f->pending, f->sent);
	f->sent = 0;
	buf_add(&f->pending, bytes, len);
	f->ending = end;
	if (!f->awaits)
		pump_feed_write(f);
}

void feed_offer(struct feed *f, const void *bytes, size_t len, size_t taken, bool end)
{
	f->offered = len - taken;
	feed_add(f, bytes, len, end);
	f->offered = 0;
}

size_t feed_queued(const struct feed *f)
{
	return f->pending.len - f->sent;
}

uint64_t feed_unread(const struct feed *f)
{
	if (f->is_terminal) /* FIONREAD would count the output */
		return f->unread + feed_queued(f);
	return f->unread + feed_queued(f) +
	       pump_count_bytes(f->io.fd >= 0 ? f->io.fd : f->rest_fd);
}

bool feed_refused(const struct feed *f)
{
	struct pollfd end = { .fd = f->io.fd };

	if (f->refused || f->is_terminal || f->io.fd < 0 || !feed_queued(f) ||
	    poll(&end, 1, 0) < 1)
		return f->refused;
	return end.revents & POLLERR; /* poll(2): the read end is closed */
}

void feed_hang_up(struct feed *f, bool late)
{
	if (!f->loop || f->io.fd < 0)
		return;
	pump_feed_count_refused(f);
	if (late)
		loop_close_late(f->loop, &f->io, -1);
	pump_feed_stop(f);
}

void feed_close(struct feed *f)
{
	if (f->loop && (f->io.fd >= 0 || f->awaits))
		pump_feed_stop(f);
	mem_cleanup_close(&f->rest_fd);
}
