#include "proc/output_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

#define PIECE_BYTES (64 * 1024)
#define UNIT_MAX 3        /* bytes that may be needed to finish a character at a cut */
#define ESCAPE_MAX 4096   /* a longer escape sequence is cut like text */

/* Start of the last @lines lines of @text: behind the newline before them. */
static size_t lines_start(const char *text, size_t len, uint64_t lines)
{
	size_t at = len;

	if (!lines)
		return len;
	if (at && text[at - 1] == '\n')
		at--; /* it ends the last line */
	while (at) {
		const char *newline = memrchr(text, '\n', at);

		if (!newline)
			return 0;
		at = (size_t)(newline - text);
		if (!--lines)
			return at + 1;
	}
	return 0;
}

/* Escaped size of the first character of @text, and its raw bytes. */
static size_t first_size(const char *text, size_t len, size_t *used)
{
	utf8_next(text, len, used);
	return jsonw_escaped_size(text, *used);
}

/* How many bytes to drop at the start so that the rest takes at most @budget when escaped. */
static size_t drop_to_fit(const char *text, size_t len, size_t budget)
{
	/* A byte takes at least one: what lies further back than the budget cannot fit. */
	size_t at = len > budget ? len - budget : 0, size, used;

	at += at ? utf8_partial_head(text + at, len - at) : 0;
	size = jsonw_escaped_size(text + at, len - at);
	while (size > budget && at < len) {
		size -= first_size(text + at, len - at, &used);
		at += used;
	}
	return at;
}

/* The longest prefix in whole characters that takes at most @budget when escaped. */
static size_t prefix_that_fits(const char *text, size_t len, size_t budget)
{
	size_t size = 0, at = 0, used;

	if (len <= budget && jsonw_escaped_size(text, len) <= budget)
		return len;
	while (at < len) {
		size += first_size(text + at, len - at, &used);
		if (size > budget && at)
			break;
		at += used;
	}
	return at;
}

/* First kept byte of the part that reaches to the end of the stream. */
static uint64_t last_part_start(const struct output *o)
{
	uint64_t from, to;

	return output_evicted(o, &from, &to) ? to : 0;
}

bool output_write_tail(const struct output *o, struct jsonw *w, const char *key,
		       const struct output_tail *tail)
{
	uint64_t first = last_part_start(o), offset;
	size_t start = 0, len, room;
	AUTO_FREE char *text = NULL;
	ssize_t n;

	offset = o->total - first > tail->max_bytes ? o->total - tail->max_bytes : first;
	room = (size_t)(o->total - offset);
	if (!room || !tail->lines) {
		jsonw_strn(w, key, "", 0);
		return o->total > 0;
	}
	text = mem_zalloc(room);
	n = output_read(o, &offset, text, room);
	len = n > 0 ? (size_t)n : 0;
	if (!tail->final)
		len -= utf8_partial_tail(text, len);
	start = lines_start(text, len, tail->lines);
	if (!start && offset)
		start = utf8_partial_head(text, len); /* cut by bytes, maybe inside a character */
	start += drop_to_fit(text + start, len - start, tail->max_encoded);
	jsonw_strn(w, key, text + start, len - start);
	return offset + start > 0;
}

/* The largest cut at or before @max that splits neither a character nor an ill-formed sequence that
 * becomes one U+FFFD, so that pages put together are the text of the whole. */
static size_t cut_at_unit(const char *text, size_t len, size_t max)
{
	size_t used;

	if (max >= len)
		return len;
	for (size_t back = 1; back <= 3 && back <= max; back++) {
		size_t at = max - back;

		if ((unsigned char)text[at] < 0xc0)
			continue; /* only a lead byte starts a longer unit */
		utf8_next(text + at, len - at, &used);
		return at + used > max ? at : max;
	}
	return max;
}

/* How much of @len bytes that were read makes a page of at most @max bytes. */
static size_t page_length(const char *text, size_t len, size_t max, bool final)
{
	size_t used, n = cut_at_unit(text, len, max);

	if (n == len && !final)
		n -= utf8_partial_tail(text, n);
	if (!n && len && max && (utf8_next(text, len, &used) != UTF8_PARTIAL || final))
		n = used; /* the first unit alone is longer than the page */
	return n;
}

/* Bytes at the end that start an escape sequence which the next page finishes; never all. */
static size_t unfinished_escape(const char *text, size_t len)
{
	size_t window = len < ESCAPE_MAX ? len : ESCAPE_MAX;
	const char *escape = window ? memrchr(text + len - window, '\x1b', window) : NULL;
	size_t tail = escape ? len - (size_t)(escape - text) : 0;

	return tail && tail < len && !term_escape_ends(escape, tail) ? tail : 0;
}

/*
 * Read up to @len bytes at *@at. *@last: nothing follows them, because the stream
 * is over or the hole begins.
 */
static size_t read_piece(const struct output *o, const struct output_page *page, uint64_t *at,
			 char *bytes, size_t len, bool *last)
{
	ssize_t got = output_read(o, at, bytes, len);
	size_t n = got > 0 ? (size_t)got : 0;
	uint64_t from, to;

	*last = (page->final && *at + n == o->total) ||
		(output_evicted(o, &from, &to) && *at + n == from);
	return n;
}

/* Text goes in pieces straight from the store into the reply. */
static void write_text(const struct output *o, struct jsonw *w, struct output_page *page)
{
	size_t left = page->max_bytes, start = w->out->len, len, max, n, written, used;
	static char piece[PIECE_BYTES + UNIT_MAX];
	bool last;

	/* The first read may move the offset behind the hole. */
	len = read_piece(o, page, &page->offset, piece, 0, &last);
	page->next = page->offset;
	do {
		max = left < PIECE_BYTES ? left : PIECE_BYTES;
		len = read_piece(o, page, &page->next, piece, max + UNIT_MAX, &last);
		n = page_length(piece, len, max, last);
		used = w->out->len - start;
		written = used < page->max_encoded
				  ? jsonw_piece_upto(w, piece, n, page->max_encoded - used)
				  : 0;
		if (!written && n && page->next == page->offset) {
			utf8_next(piece, n, &written); /* every page makes progress */
			jsonw_piece(w, piece, written);
		}
		page->next += written;
		left -= max;
	} while (left && n && written == n && !(last && n == len));
	page->encoded = w->out->len - start;
}

/* Cleaning looks at the page as a whole. */
static void write_clean(const struct output *o, struct jsonw *w, struct output_page *page)
{
	uint64_t left = o->total > page->offset ? o->total - page->offset : 0;
	size_t room = left < page->max_bytes + UNIT_MAX ? (size_t)left : page->max_bytes + UNIT_MAX;
	AUTO_FREE char *text = mem_zalloc(room + 1);
	size_t start = w->out->len, len, n;
	bool last;

	len = read_piece(o, page, &page->offset, text, room, &last);
	n = page_length(text, len, page->max_bytes, last);
	n = prefix_that_fits(text, n, page->max_encoded);
	if (!last || n < len)
		n -= unfinished_escape(text, n);
	page->next = page->offset + n;
	jsonw_piece(w, text, term_clean(text, n));
	page->encoded = w->out->len - start;
}

static void write_base64(const struct output *o, struct jsonw *w, struct output_page *page)
{
	size_t left = page->max_encoded / 4 * 3, start = w->out->len, n;
	static char piece[PIECE_BYTES / 3 * 3];
	bool last;

	left = left < page->max_bytes ? left : page->max_bytes;
	page->next = page->offset;
	for (bool first = true; left; first = false) {
		n = left < sizeof(piece) ? left : sizeof(piece);
		n = read_piece(o, page, &page->next, piece, n, &last);
		if (first)
			page->offset = page->next;
		jsonw_base64(w, piece, n);
		page->next += n;
		left -= n;
		if (n < sizeof(piece) || last)
			break;
	}
	page->encoded = w->out->len - start;
}

void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page)
{
	jsonw_open_str(w, key);
	if (page->base64)
		write_base64(o, w, page);
	else if (page->clean)
		write_clean(o, w, page);
	else
		write_text(o, w, page);
	jsonw_close_str(w);
}

uint64_t output_tail_offset(const struct output *o, uint64_t lines)
{
	char chunk[16 * 1024];
	uint64_t first = last_part_start(o), end = o->total;

	if (!lines)
		return end;
	for (bool at_end = true; end > first; at_end = false) {
		uint64_t offset = end - first > sizeof(chunk) ? end - sizeof(chunk) : first;
		ssize_t n = output_read(o, &offset, chunk, (size_t)(end - offset));

		if (n <= 0)
			return end;
		for (ssize_t i = n - 1; i >= 0; i--) {
			if (chunk[i] != '\n' || (at_end && i == n - 1))
				continue;
			if (!--lines)
				return offset + (uint64_t)i + 1;
		}
		end = offset;
	}
	return first;
}
