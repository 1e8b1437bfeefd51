/*
 * frame - bytes to messages.
 *
 * The first bytes of the input decide for all of it. If they are `Content-Length:` or
 * `Content-Type:`, in any case of letters, each message comes behind headers; else it is a line.
 *
 * Lines end in \n; one \r before it is dropped; blank lines are skipped; a last
 * line without newline counts at end of file. A line longer than the maximum is
 * skipped to its newline and reported once, as soon as it is known to be too long.
 *
 * Headers are those of the base protocol of the Language Server Protocol
 * (https://microsoft.github.io/language-server-protocol/specification#baseProtocol): lines
 * `Name: value`, an empty one, then Content-Length bytes. Other names are ignored, and a blank
 * message is skipped like a blank line. A message longer than the maximum is reported at its
 * headers and skipped. Headers that do not tell where the next message starts, more than
 * FRAME_HEADER_MAX bytes of them, and an end of file inside headers or message break the input:
 * that is reported once, and nothing after it is read.
 *
 * The owner reads every whole message before it reserves room again, so the frame
 * never holds more than one unfinished message and one read.
 */
#ifndef PROCPEN_RPC_FRAME_H
#define PROCPEN_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct frame {
	struct buf buf;
	size_t line_max;
	size_t start;    /* bytes at the front of buf that frame_next() has returned */
	size_t scanned;  /* bytes from start on that hold no newline */
	bool skipping;   /* inside an over-long line or message */
	bool decided;    /* enough bytes have come to tell lines from headers ... */
	bool headed;     /* ... and messages come behind headers */

	/* Of a message behind headers: */
	size_t header_bytes; /* read of its headers so far */
	bool has_length;     /* Content-Length was among them */
	bool in_body;        /* the headers are over */
	uint64_t body_bytes; /* Content-Length; while skipping: what is left to skip */
	const char *broken;  /* why no further message can be found, or NULL */
};

/* FRAME_BROKEN: @broken says why; the rest of the input is dropped. */
enum frame_result { FRAME_NONE, FRAME_LINE, FRAME_TOO_LONG, FRAME_BROKEN };

#define FRAME_HEADER_MAX 4096

/* The most that frame_reserve() may be asked for at once. */
#define FRAME_RESERVE_MAX (1u << 20)

/* @line_max: the longest message in bytes; not below 15, the longest name that decides. */
void frame_init(struct frame *f, size_t line_max);
void frame_release(struct frame *f);

/* Room for at least @len bytes of input; then frame_commit() what was read. Never NULL. */
char *frame_reserve(struct frame *f, size_t len);
void frame_commit(struct frame *f, size_t used);

/*
 * The next message, as a line or behind headers: *@line points into the frame and is good until
 * the next call of any frame function. @eof: no more input will come.
 */
enum frame_result frame_next(struct frame *f, bool eof, const char **line, size_t *len);

#endif
