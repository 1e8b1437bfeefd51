/*
 * frame_next() returns lines in place and advances `start`. frame_reserve() moves the
 * rest to the front: once per read, not once per line.
 */
#include "rpc/frame.h"

#include <string.h>

#include "base/mem.h"

#define KEEP_BYTES (256u << 10) /* a larger buffer is freed when it is empty */

void frame_init(struct frame *f, size_t line_max)
{
	memset(f, 0, sizeof(*f));
	buf_init(&f->buf, line_max + 2 + FRAME_RESERVE_MAX);
	f->line_max = line_max;
}

void frame_release(struct frame *f)
{
	buf_release(&f->buf);
	f->start = f->scanned = 0;
	f->skipping = false;
}

char *frame_reserve(struct frame *f, size_t len)
{
	char *room;

	if (f->start) {
		buf_consume(&f->buf, f->start);
		f->start = 0;
	}
	if (!f->buf.len && f->buf.cap > KEEP_BYTES)
		buf_release(&f->buf);
	room = buf_reserve(&f->buf, len);
	BUG_IF(!room);
	return room;
}

void frame_commit(struct frame *f, size_t used)
{
	buf_commit(&f->buf, used);
}

static bool frame_is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

/* What to do with @line of @len bytes, newline excluded: return, skip (FRAME_NONE) or report. */
static enum frame_result frame_classify(const struct frame *f, const char *line, size_t *len)
{
	if (*len && line[*len - 1] == '\r')
		(*len)--;
	if (*len > f->line_max)
		return FRAME_TOO_LONG;
	return frame_is_blank(line, *len) ? FRAME_NONE : FRAME_LINE;
}

/* The buffer holds no newline. */
static enum frame_result frame_unfinished(struct frame *f, bool eof, const char **line, size_t *len)
{
	size_t have = f->buf.len - f->start;
	bool too_long = have > f->line_max + 1; /* one more may be the \r */

	f->scanned = have;
	if (!have || (!f->skipping && !too_long && !eof))
		return FRAME_NONE;
	*line = f->buf.data + f->start;
	*len = have;
	f->start = f->buf.len;
	f->scanned = 0;
	if (f->skipping)
		return FRAME_NONE;
	if (too_long) {
		f->skipping = true;
		return FRAME_TOO_LONG;
	}
	return frame_classify(f, *line, len);
}

enum frame_result frame_next(struct frame *f, bool eof, const char **line, size_t *len)
{
	while (f->start < f->buf.len) {
		const char *from = f->buf.data + f->start;
		size_t have = f->buf.len - f->start;
		const char *newline = memchr(from + f->scanned, '\n', have - f->scanned);
		enum frame_result result;

		if (!newline)
			break;
		*line = from;
		*len = (size_t)(newline - from);
		f->start += *len + 1;
		f->scanned = 0;
		if (f->skipping) {
			f->skipping = false;
			continue;
		}
		result = frame_classify(f, *line, len);
		if (result != FRAME_NONE)
			return result;
	}
	return frame_unfinished(f, eof, line, len);
}
