#include "proc/output_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

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
	size_t size = jsonw_escaped_size(text, len), at = 0, used;

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

	if (jsonw_escaped_size(text, len) <= budget)
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

static void write_page_text(struct jsonw *w, const char *key, struct output_page *page, char *text,
			    size_t len)
{
	if (page->clean)
		len = term_clean(text, len);
	page->encoded = jsonw_escaped_size(text, len);
	jsonw_strn(w, key, text, len);
}

void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page)
{
	size_t extra = page->base64 ? 0 : 3; /* to finish a character at the end */
	size_t want = page->max_bytes;
	AUTO_FREE char *text = NULL;
	uint64_t left, from, to;
	size_t room, len, n;
	ssize_t got;

	if (page->base64 && want > page->max_encoded / 4 * 3)
		want = page->max_encoded / 4 * 3;
	left = o->total > page->offset ? o->total - page->offset : 0;
	room = left < want + extra ? (size_t)left : want + extra;
	text = mem_zalloc(room + 1);
	got = output_read(o, &page->offset, text, room);
	len = got > 0 ? (size_t)got : 0;
	if (page->base64) {
		jsonw_open_str(w, key);
		jsonw_base64(w, text, len);
		jsonw_close_str(w);
		page->encoded = (len + 2) / 3 * 4;
		page->next = page->offset + len;
		return;
	}
	/* Nothing will ever follow the last byte before the hole either. */
	bool final = page->final ||
		     (output_evicted(o, &from, &to) && page->offset + len == from);

	n = page_length(text, len, want, final);
	n = prefix_that_fits(text, n, page->max_encoded);
	page->next = page->offset + n;
	write_page_text(w, key, page, text, n);
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
