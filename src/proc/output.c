#include "proc/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define FROZEN_TAIL_MIN (64 * 1024)
#define PAGE_BYTES 4096

/* What was copied last, of any stream: a follower, a wait and the look for a whole character read
 * it at once. A new stream is copied first, so a range that is made anew finds nothing old. */
static struct {
	const struct output_range *of; /* NULL: nothing, or it is not stored */
	uint64_t offset;
	size_t len;
	char bytes[16 * 1024];
} output_last;

void spool_init(struct spool *s)
{
	s->fd = -1;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int output_spool_open(struct spool *s)
{
	if (s->fd < 0)
		s->fd = memfd_create("procpen-log", MFD_CLOEXEC);
	return s->fd;
}

void output_init(struct output *o, struct output_range *range)
{
	memset(o, 0, sizeof(*o));
	o->range = range;
}

void output_release(struct output *o)
{
	free(o->small);
	o->small = NULL;
}

size_t output_heap_bytes(const struct output *o)
{
	const struct output_range *r = o->range;

	if (!o->small)
		return 0;
	return (size_t)(o->total < r->head_max ? o->total : r->head_max); /* then comes the hole */
}

void output_move(struct output *o, char *place)
{
	size_t len = output_heap_bytes(o);

	if (len)
		memcpy(place, o->small, len);
	free(o->small);
	o->small = place;
}

/* The position of byte @offset in the spool; *@contiguous: bytes up to the next break there. */
static uint64_t output_spool_position(const struct output *o, uint64_t offset, uint64_t *contiguous)
{
	const struct output_range *r = o->range;
	uint64_t in_tail;

	if (offset < r->head_max) {
		*contiguous = r->head_max - offset;
		return r->base + offset;
	}
	in_tail = (offset - r->head_max) % r->tail_max;
	*contiguous = r->tail_max - in_tail;
	return r->base + r->head_max + in_tail;
}

/* The first byte of the tail that is kept. */
static uint64_t output_tail_start(const struct output *o)
{
	const struct output_range *r = o->range;
	uint64_t start = r->head_max;

	if (o->total > r->head_max + r->tail_max)
		start = o->total - r->tail_max;
	return start > r->tail_from ? start : r->tail_from;
}

/* Write @len bytes at @offset. False: the store cannot take them. */
static bool output_spool_store(struct output *o, uint64_t offset, const char *bytes, size_t len)
{
	uint64_t contiguous;

	while (len) {
		uint64_t at = output_spool_position(o, offset, &contiguous);
		size_t part = len < contiguous ? len : (size_t)contiguous;
		ssize_t n = pwrite(o->range->spool->fd, bytes, part, (off_t)at);

		if (n <= 0)
			return false;
		offset += (uint64_t)n;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* Keep @len bytes in the heap if the stream stays small. */
static bool output_keep_small(struct output *o, const char *bytes, size_t len)
{
	if (o->total + len > OUTPUT_SMALL || o->total + len > o->range->head_max)
		return false;
	o->small = mem_realloc(o->small, o->total + len);
	memcpy(o->small + o->total, bytes, len);
	return true;
}

/* The stream is no longer small: move it into the spool. */
static bool output_spill(struct output *o)
{
	struct output_range *r = o->range;
	uint64_t len = o->total < r->head_max ? o->total : r->head_max; /* then comes the hole */

	if (output_spool_open(r->spool) < 0 || !output_spool_store(o, 0, o->small, len))
		return false;
	output_release(o);
	r->spooled = true;
	return true;
}

static bool output_store(struct output *o, const char *bytes, size_t len)
{
	const struct output_range *r = o->range;

	if (r->dropped)
		return false;
	if (!r->spooled && output_keep_small(o, bytes, len))
		return true;
	return (r->spooled || output_spill(o)) && output_spool_store(o, o->total, bytes, len);
}

/*
 * Fill without splice: for a small stream, for one that comes in small pieces, for systems that
 * lack splice, and for a store that takes no more bytes. The last case still drains the pipe, so
 * that a full disk does not block the command; the hole begins there. Of a packet (O_DIRECT,
 * pipe(2)), which is a page at most, the kernel drops what a read has no room for: so none has
 * less.
 */
static ssize_t output_fill_by_copy(struct output *o, int pipe_fd)
{
	struct output_range *r = o->range;
	ssize_t n;

	output_last.of = NULL;
	n = read(pipe_fd, output_last.bytes, sizeof(output_last.bytes));
	if (n <= 0)
		return n;
	if (output_store(o, output_last.bytes, (size_t)n)) {
		output_last.of = r;
		output_last.offset = o->total;
		output_last.len = (size_t)n;
	} else {
		if (o->total < r->head_max)
			r->head_max = o->total;
		r->tail_from = o->total + (uint64_t)n;
	}
	o->total += (uint64_t)n;
	r->in_pieces = n < PAGE_BYTES;
	return n;
}

ssize_t output_fill(struct output *o, int pipe_fd, size_t max)
{
	uint64_t contiguous;
	loff_t at = (loff_t)output_spool_position(o, o->total, &contiguous);
	ssize_t n;

	if (o->range->dropped || !o->range->spooled || o->range->unspliceable ||
	    o->range->in_pieces)
		return output_fill_by_copy(o, pipe_fd);
	do
		n = splice(pipe_fd, NULL, o->range->spool->fd, &at,
			   max < contiguous ? max : (size_t)contiguous,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		o->total += (uint64_t)n;
		o->range->in_pieces = n < PAGE_BYTES;
	} else if (n < 0 && errno != EAGAIN) {
		o->range->unspliceable = errno == EINVAL; /* a terminal, see splice(2) */
		return output_fill_by_copy(o, pipe_fd);
	}
	return n;
}

uint64_t output_kept(const struct output *o)
{
	const struct output_range *r = o->range;

	if (r->dropped)
		return 0;
	if (o->total <= r->head_max)
		return o->total;
	return r->head_max + (o->total - output_tail_start(o));
}

void output_freeze(struct output *o)
{
	struct output_range *r = o->range;
	uint64_t tail = o->total > r->head_max ? o->total - r->head_max : 0;

	if (r->frozen || tail >= r->tail_max)
		return;
	r->frozen = true;
	tail = (tail + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	if (tail < FROZEN_TAIL_MIN)
		tail = FROZEN_TAIL_MIN;
	if (tail < r->tail_max)
		r->tail_max = tail; /* nothing has wrapped yet: no byte moves */
}

void output_drop(struct output *o)
{
	o->range->dropped = o->range->spooled;
}

bool output_evicted(const struct output *o, uint64_t *from, uint64_t *to)
{
	const struct output_range *r = o->range;

	*from = o->total < r->head_max ? o->total : r->head_max;
	*to = o->total < r->head_max ? o->total : output_tail_start(o);
	if (r->dropped) {
		*from = 0;
		*to = o->total;
	}
	return *to > *from;
}

ssize_t output_read(const struct output *o, uint64_t *offset, void *bytes, size_t len)
{
	uint64_t from, to, end = o->total, contiguous;
	size_t done = 0;

	if (output_evicted(o, &from, &to)) {
		if (*offset >= from && *offset < to)
			*offset = to;
		if (*offset < from)
			end = from;
	}
	if (*offset >= end || o->range->dropped || !len)
		return 0;
	if (len > end - *offset)
		len = (size_t)(end - *offset);
	if (!o->range->spooled) { /* the hole, if any, begins where the small bytes end */
		memcpy(bytes, o->small + *offset, len);
		return (ssize_t)len;
	}
	if (output_last.of == o->range && *offset >= output_last.offset &&
	    *offset + len <= output_last.offset + output_last.len) {
		memcpy(bytes, output_last.bytes + (*offset - output_last.offset), len);
		return (ssize_t)len;
	}
	while (done < len) {
		uint64_t at = output_spool_position(o, *offset + done, &contiguous);
		size_t want = len - done < contiguous ? len - done : (size_t)contiguous;
		ssize_t n = pread(o->range->spool->fd, (char *)bytes + done, want, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
