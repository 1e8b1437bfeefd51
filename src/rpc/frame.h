/*
 * frame - bytes to lines.
 *
 * Lines end in \n; one \r before it is dropped; blank lines are skipped; a last
 * line without newline counts at end of file. A line longer than the maximum is
 * skipped to its newline and reported once, as soon as it is known to be too long.
 *
 * The owner reads every whole line before it reserves room again, so the frame
 * never holds more than one unfinished line and one read.
 */
#ifndef PROCPEN_RPC_FRAME_H
#define PROCPEN_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct frame {
	struct buf buf;
	size_t line_max;
	size_t start;    /* bytes at the front of buf that frame_next() has returned */
	size_t scanned;  /* bytes from start on that hold no newline */
	bool skipping;   /* inside an over-long line */
};

enum frame_result { FRAME_NONE, FRAME_LINE, FRAME_TOO_LONG };

/* The most that frame_reserve() may be asked for at once. */
#define FRAME_RESERVE_MAX (1u << 20)

void frame_init(struct frame *f, size_t line_max);
void frame_release(struct frame *f);

/* Room for at least @len bytes of input; then frame_commit() what was read. Never NULL. */
char *frame_reserve(struct frame *f, size_t len);
void frame_commit(struct frame *f, size_t used);

/*
 * The next line: *@line points into the frame and is good until the next call of
 * any frame function. @eof: no more input will come.
 */
enum frame_result frame_next(struct frame *f, bool eof, const char **line, size_t *len);

#endif
