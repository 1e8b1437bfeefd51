/*
 * output - the store of one stream of one run.
 *
 * A short stream stays in the server's heap: most runs write little, and a thousand
 * records must not hold a thousand descriptors. Beyond OUTPUT_SMALL bytes the stream
 * moves into an unlinked memory file, and further bytes go there from the pipe by
 * splice(2), never through the heap; but by a copy while they come in pieces of less
 * than a page, which costs less, and who reads them at once has them. The store keeps
 * the first `head_max` bytes and the last `tail_max`; offsets are absolute and never
 * change. Byte o is in the file at base + o if o < head_max, else at
 * base + head_max + (o - head_max) mod tail_max.
 *
 * Kept: [0, head_end) and [tail_start, total). The hole [head_end, tail_start)
 * was overwritten and is reported as evicted; it is empty while no byte was lost.
 *
 * Ownership: the pipe's read end belongs to the caller (proc/proc); the spool
 * file is shared by both streams of a run and owned by struct spool.
 *
 * Why splice and not a mapping: a mapping's pages count as the server's resident
 * memory; this way a flood never shows in it. See docs/performance.md for figures.
 */
#ifndef PROCPEN_PROC_OUTPUT_H
#define PROCPEN_PROC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/screen.h"

#define OUTPUT_SMALL 4096 /* bytes of a stream that need no file */

/* The memory file of one run; created when a stream outgrows OUTPUT_SMALL. */
struct spool {
	int fd; /* -1: none yet, or evicted */
};

void spool_init(struct spool *s);
void spool_close(struct spool *s);

/* How a stream is kept, and which bytes of it. Apart from it, because short streams that lost
 * nothing may share one when they are over. */
struct output_range {
	struct spool *spool;
	uint64_t base;     /* where this stream's region starts in the spool */
	uint64_t head_max;
	uint64_t tail_max; /* may shrink once, see output_freeze() */
	uint64_t tail_from; /* bytes before it are not in the tail (they could not be stored) */
	bool spooled;      /* all that is kept is in the spool */
	bool frozen;
	bool unspliceable; /* splice(2) cannot read what it is written to */
	bool in_pieces;    /* the last bytes were less than a page */
	bool dropped;      /* the spool was evicted: nothing is kept */
	struct screen_size screen; /* of the terminal that writes it; all 0: none does */
};

struct output {
	struct output_range *range; /* the caller's */
	uint64_t total;    /* bytes read from the command so far */
	char *small;       /* all bytes before the hole, unless range->spooled; owned */
};

void output_init(struct output *o, struct output_range *range);
void output_release(struct output *o); /* the range and the spool are the caller's */

/* Bytes of the stream in the heap. */
size_t output_heap_bytes(const struct output *o);

/* Move these to @place, which holds them from now on: no output_release(), and no byte more. */
void output_move(struct output *o, char *place);

/*
 * Move up to @max bytes from @pipe_fd (non-blocking) into the store, or those of one read of 16 KiB
 * if that gives more. Returns the bytes moved, 0 at
 * end of file, or -1 with errno, EAGAIN if the pipe is empty. Counts bytes that the store cannot
 * take (ENOSPC, ENOMEM) as part of the hole.
 */
ssize_t output_fill(struct output *o, int pipe_fd, size_t max);

/* Bytes of this stream that can be read now. */
uint64_t output_kept(const struct output *o);

/* Freeze the tail (budget): fix its size at what it holds now, at least 64 KiB. */
void output_freeze(struct output *o);

/* Note that the spool is gone: if the stream was in it, everything up to total is evicted. */
void output_drop(struct output *o);

/* The hole: sets [*from, *to) and returns true if it is not empty. */
bool output_evicted(const struct output *o, uint64_t *from, uint64_t *to);

/*
 * Read kept bytes at absolute @offset: at most @len, never across the hole. An
 * offset inside the hole is moved to its end first (*@offset is updated). Returns
 * bytes read, 0 at the end of the stream, -1 on a read error.
 */
ssize_t output_read(const struct output *o, uint64_t *offset, void *bytes, size_t len);

#endif
