#include "proc/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

void lines_begin(struct lines *l, const struct output *o, uint64_t offset)
{
	*l = (struct lines){ .offset = offset, .number = !offset, .gap = true };
	lines_continue(l, o);
}

void lines_begin_at(struct lines *l, const struct output *o, const struct lines_place *place)
{
	lines_begin(l, o, place->offset);
	l->number = place->lines + 1;
}

void lines_end(struct lines *l)
{
	free(l->bytes);
	l->bytes = NULL;
	l->from = l->len = 0;
	buf_release(&l->repaired);
}

void lines_continue(struct lines *l, const struct output *o)
{
	l->end = o->total;
	if (l->bytes)
		return;
	l->bytes = mem_realloc(NULL, LINES_ROOM); /* zeroing it would cost more than a short line */
	buf_init(&l->repaired, LINES_MAX * strlen(UTF8_REPLACEMENT));
}

bool lines_skip(struct lines *l, const struct output *o, uint64_t offset)
{
	size_t room = offset - l->offset < LINES_MAX ? (size_t)(offset - l->offset) : LINES_MAX;
	uint64_t at = l->offset;
	ssize_t got = room ? output_read(o, &at, l->bytes, room) : 0;

	if (room && (got <= 0 || at != l->offset)) {
		l->number = 0;
		l->offset = offset;
		l->gap = true;
		return true;
	}
	l->offset += (uint64_t)got;
	for (ssize_t i = 0; i < got; i++)
		l->number += l->bytes[i] == '\n';
	return l->offset == offset;
}

static void lines_repair(struct lines *l, struct line *line)
{
	size_t used;

	buf_clear(&l->repaired);
	for (size_t at = 0; at < line->len; at += used)
		if (utf8_next(line->text + at, line->len - at, &used) == UTF8_VALID)
			buf_add(&l->repaired, line->text + at, used);
		else
			buf_adds(&l->repaired, UTF8_REPLACEMENT);
	line->text = l->repaired.data;
	line->len = l->repaired.len;
}

/* Does @text draw over itself or have escapes? */
static bool lines_is_drawn(const char *text, size_t len)
{
	return memchr(text, '\x1b', len) || memchr(text, '\r', len) || memchr(text, '\b', len);
}

static void lines_clean(struct lines *l, struct line *line)
{
	buf_clear(&l->repaired);
	term_clean(line->text, line->len, &l->repaired);
	line->text = l->repaired.len ? l->repaired.data : "";
	line->len = l->repaired.len;
}

/* Fill @line with the next @len bytes; @newline: and skip one byte more. */
static void lines_emit(struct lines *l, size_t len, bool newline, struct line *line)
{
	char *text = l->bytes + l->from;

	*line = (struct line){ .offset = l->offset, .number = l->number, .follows = !l->gap,
			       .goes_on = l->torn && !l->gap, .text = text, .len = len };
	l->from += len + newline;
	l->offset += len + newline;
	l->number += newline && l->number;
	while (line->len && text[line->len - 1] == '\r')
		line->len--;
	/* What a carriage return leads back to is the start of the line, whatever came before. */
	line->no_head = l->torn && !memchr(text, '\r', line->len);
	l->gap = l->torn = false;
	if (lines_is_drawn(text, line->len))
		lines_clean(l, line);
	else if (!utf8_valid(line->text, line->len))
		lines_repair(l, line);
}

enum more { MORE, MORE_AFTER_GAP, NO_MORE };

/* Append more bytes of the stream to the buffer. At a gap it adds nothing: *@at is the end of the
 * gap. */
static enum more lines_read_more(struct lines *l, const struct output *o, uint64_t *at)
{
	uint64_t next = l->offset + (l->len - l->from);
	size_t room;
	ssize_t got;

	memmove(l->bytes, l->bytes + l->from, l->len - l->from);
	l->len -= l->from;
	l->from = 0;
	*at = next;
	if (next >= l->end)
		return NO_MORE;
	room = LINES_ROOM - l->len < l->end - next ? LINES_ROOM - l->len
						     : (size_t)(l->end - next);
	got = output_read(o, at, l->bytes + l->len, room);
	if (got <= 0 || *at >= l->end)
		return NO_MORE;
	if (*at != next)
		return MORE_AFTER_GAP;
	l->len += (size_t)got;
	return MORE;
}

bool lines_next(struct lines *l, const struct output *o, struct line *line)
{
	size_t held = 0;
	enum more more;
	uint64_t at;

	for (;;) {
		size_t len = l->len - l->from;
		const char *newline = len ? memchr(l->bytes + l->from, '\n', len) : NULL;

		if (newline) {
			lines_emit(l, (size_t)(newline - l->bytes) - l->from, true, line);
			return true;
		}
		if (len == LINES_ROOM) {
			len = LINES_MAX - utf8_partial_tail(l->bytes, LINES_MAX);
			lines_emit(l, len, false, line);
			line->no_tail = l->torn = true;
			return true;
		}
		more = lines_read_more(l, o, &at);
		if (more == NO_MORE && l->grows)
			held = utf8_partial_tail(l->bytes, l->len);
		if (more != MORE && l->len > held) {
			lines_emit(l, l->len - held, false, line);
			line->open = more == NO_MORE;
			line->no_tail = more == MORE_AFTER_GAP;
			return true;
		}
		if (more == NO_MORE)
			return false;
		if (more == MORE_AFTER_GAP) {
			l->lost += at - l->offset;
			l->offset = at;
			l->number = 0;
			l->gap = l->torn = true;
		}
	}
}

void lines_unread(struct lines *l, const struct line *line)
{
	l->offset = line->offset;
	l->number = line->number;
	l->gap = !line->follows;
	l->torn = line->no_head || line->goes_on;
	lines_end(l);
}
