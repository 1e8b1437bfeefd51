/*
 * lines - reads the kept bytes of a stream line by line, as text to match patterns with.
 *
 * A line comes without its newline, escapes and redrawn parts (base/term.h), as valid UTF-8; one
 * that draws several rows of a screen has newlines between these. One longer than LINES_MAX comes
 * in parts of that many bytes. Line numbers are known as long as nothing before the line was lost.
 *
 * The stream may grow and lose bytes between two calls; the reader stops at the bytes written after
 * lines_begin(), and lines_continue() lets it go on with these.
 *
 * Ownership: the reader owns its buffers until lines_end(). It keeps its place without them.
 */
#ifndef PROCPEN_PROC_LINES_H
#define PROCPEN_PROC_LINES_H

#include "base/buf.h"
#include "proc/output.h"

#define LINES_MAX (64u << 10)
#define LINES_ROOM (LINES_MAX + 1) /* with the newline of the longest line */

struct line {
	uint64_t offset;  /* of its first byte in the stream */
	uint64_t number;  /* from 1; 0: unknown */
	bool follows;     /* it directly follows the previous line in the stream */
	bool goes_on;     /* so, and is a further part of that one */
	bool open;        /* it has no newline yet: the stream ends here for now */
	bool no_head;     /* its text may begin within a line, behind a hole or another part ... */
	bool no_tail;     /* ... or end within one, before such */
	const char *text; /* valid until the next call */
	size_t len;
};

struct lines {
	uint64_t offset; /* of the next line */
	uint64_t end;
	uint64_t number;
	bool grows;      /* set by the caller: more may be written. Then the bytes of a last
			  * character that is not complete are left for later */
	bool gap;        /* bytes are missing before the next line */
	bool torn;       /* the next line may begin within a line */
	uint64_t lost;   /* bytes that were no longer kept when their turn came */
	char *bytes;     /* LINES_ROOM bytes; [from, len) are read and not returned yet */
	size_t from, len;
	struct buf repaired;
};

/* How many lines end before @offset. All zero: the start of the stream. */
struct lines_place {
	uint64_t offset;
	uint64_t lines;
};

/* Start at @offset, which may be inside the hole. */
void lines_begin(struct lines *l, const struct output *o, uint64_t offset);
void lines_begin_at(struct lines *l, const struct output *o, const struct lines_place *place);
void lines_end(struct lines *l); /* accepts a zeroed reader */

/* Go on, also after lines_end(), with what was written since. */
void lines_continue(struct lines *l, const struct output *o);

/* Go from a place whose lines are numbered towards @offset, by one read: to number those from there
 * on. Returns whether it is reached. */
bool lines_skip(struct lines *l, const struct output *o, uint64_t offset);

/* Read the next line of @o; false at the end. The last line needs no newline. */
bool lines_next(struct lines *l, const struct output *o, struct line *line);

/* @line, just read and open, is the next one again, when more of it may have come. Ends the reader
 * as lines_end() does. */
void lines_unread(struct lines *l, const struct line *line);

#endif
