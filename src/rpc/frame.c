/*
 * frame_next() returns messages in place and advances `start`. frame_reserve() moves the
 * rest to the front: once per read, not once per message.
 */
#include "rpc/frame.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define KEEP_BYTES (256u << 10) /* a larger buffer is freed when it is empty */

void frame_init(struct frame *f, size_t line_max)
{
	memset(f, 0, sizeof(*f));
	buf_init(&f->buf, line_max + FRAME_HEADER_MAX + FRAME_RESERVE_MAX);
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

/* No JSON text begins like either, so whole names decide, and so does any other byte. */
static void frame_decide(struct frame *f)
{
	static const char *const names[] = { "Content-Length:", "Content-Type:" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		size_t len = strlen(names[i]);

		if (strncasecmp(f->buf.data, names[i], f->buf.len < len ? f->buf.len : len))
			continue;
		if (f->buf.len < len)
			return; /* more bytes will tell */
		f->headed = true;
		f->scanned = 0;
	}
	f->decided = true;
}

void frame_commit(struct frame *f, size_t used)
{
	buf_commit(&f->buf, used);
	if (!f->decided && f->buf.len)
		frame_decide(f);
}

static bool frame_is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r' && line[i] != '\n')
			return false;
	return true;
}

/* ---- messages behind headers ---- */

static bool frame_break(struct frame *f, const char *why)
{
	f->broken = why;
	return false;
}

/* A byte of a header's name: RFC 9110, section 5.6.2. */
static bool frame_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool frame_is_named(const char *line, size_t name_len, const char *name)
{
	return name_len == strlen(name) && !strncasecmp(line, name, name_len);
}

/* Decimal digits with blanks around them, below 10^18. */
static bool frame_read_length(struct frame *f, const char *text, size_t len)
{
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	while (len && (*text == ' ' || *text == '\t'))
		text++, len--;
	if (f->has_length)
		return frame_break(f, "Content-Length stands twice before one message");
	f->has_length = len && len <= 18;
	f->body_bytes = 0;
	for (size_t i = 0; i < len && f->has_length; i++) {
		f->has_length = text[i] >= '0' && text[i] <= '9';
		f->body_bytes = f->body_bytes * 10 + (uint64_t)(text[i] - '0');
	}
	return f->has_length || frame_break(f, "Content-Length is not a number of bytes");
}

/* One header, without its line end. */
static bool frame_read_field(struct frame *f, const char *line, size_t len)
{
	size_t name = 0;

	while (name < len && frame_is_name_byte(line[name]))
		name++;
	if (!name || name == len || line[name] != ':')
		return frame_break(f, "a header is not `Name: value`, or the empty line between "
				      "headers and message is missing");
	if (frame_is_named(line, name, "Content-Length"))
		return frame_read_length(f, line + name + 1, len - name - 1);
	return true;
}

static bool frame_end_header(struct frame *f)
{
	f->in_body = f->has_length;
	f->has_length = false;
	f->header_bytes = 0;
	return f->in_body || frame_break(f, "no Content-Length stands before a message");
}

/* The bytes of a header line that is not whole. What cannot become one need not be waited for. */
static bool frame_wait_for_header(struct frame *f, const char *line, size_t have)
{
	f->scanned = have;
	if (have && *line != '\r' && !frame_is_name_byte(*line))
		frame_read_field(f, line, have);
	return false;
}

/* Read headers as far as they are here. Returns true once they are over, with a body to come. */
static bool frame_read_header(struct frame *f)
{
	for (;;) {
		const char *line = f->buf.data + f->start;
		size_t have = f->buf.len - f->start;
		const char *newline = have ? memchr(line + f->scanned, '\n', have - f->scanned)
					   : NULL;
		size_t len = newline ? (size_t)(newline - line) : have;

		if (f->header_bytes + len >= FRAME_HEADER_MAX)
			return frame_break(f, "the headers of a message take more than "
					      "4096 bytes");
		if (!newline)
			return frame_wait_for_header(f, line, have);
		f->start += len + 1;
		f->header_bytes += len + 1;
		f->scanned = 0;
		if (len && line[len - 1] == '\r')
			len--;
		if (!len)
			return frame_end_header(f);
		if (!frame_read_field(f, line, len))
			return false;
	}
}

/* The message behind the headers, or what is here of one that is skipped. */
static enum frame_result frame_read_body(struct frame *f, const char **line, size_t *len)
{
	size_t have = f->buf.len - f->start;
	bool whole = have >= f->body_bytes;

	if (!f->skipping && f->body_bytes > f->line_max) {
		f->skipping = true;
		return FRAME_TOO_LONG;
	}
	if (!f->skipping && !whole)
		return FRAME_NONE;
	*line = f->buf.data + f->start;
	*len = whole ? (size_t)f->body_bytes : have;
	f->start += *len;
	f->body_bytes -= *len;
	f->in_body = !whole;
	if (f->skipping || frame_is_blank(*line, *len)) {
		f->skipping = f->skipping && !whole;
		return FRAME_NONE;
	}
	return FRAME_LINE;
}

/* The input has ended, and no whole message is left. */
static void frame_check_end(struct frame *f)
{
	if (f->in_body && !f->skipping)
		frame_break(f, "the input ended inside a message");
	else if (f->header_bytes || f->start < f->buf.len)
		frame_break(f, "the input ended inside the headers of a message");
}

static enum frame_result frame_next_headed(struct frame *f, bool eof, const char **line,
					   size_t *len)
{
	bool reported = f->broken;

	while (!f->broken && (f->in_body || frame_read_header(f))) {
		enum frame_result result = frame_read_body(f, line, len);

		if (result != FRAME_NONE)
			return result;
		if (f->in_body)
			break;
	}
	if (eof && !f->broken)
		frame_check_end(f);
	if (f->broken)
		f->start = f->buf.len;
	return f->broken && !reported ? FRAME_BROKEN : FRAME_NONE;
}

/* ---- lines ---- */

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

static enum frame_result frame_next_line(struct frame *f, bool eof, const char **line, size_t *len)
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

enum frame_result frame_next(struct frame *f, bool eof, const char **line, size_t *len)
{
	return f->headed ? frame_next_headed(f, eof, line, len)
			 : frame_next_line(f, eof, line, len);
}
