#include "proc/output_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

#define PIECE_BYTES (64 * 1024)
#define REPLACED_TEXT 3 /* bytes of U+FFFD, which stands for one byte or more */
#define UNIT_MAX 3        /* more bytes that a cut character may have */
#define ENCODED_MAX 6     /* bytes of JSON for one raw byte, at most */
#define REPAIRED_MAX 3    /* bytes of repaired text for one raw byte, at most */
#define CLEAN_BYTES (256 * 1024) /* drawn for a page; and JSON of a clean tail */

static size_t output_text_least(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* The offset where the last @lines lines of @text begin. */
static size_t output_text_lines_start(const char *text, size_t len, uint64_t lines)
{
	size_t at = len;

	if (!lines)
		return len;
	if (at && text[at - 1] == '\n')
		at--; /* the newline at the end of the last line */
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

/* The escaped size of the first character of @text, and its raw size. */
static size_t output_text_first_size(const char *text, size_t len, size_t *used)
{
	utf8_next(text, len, used);
	return jsonw_escaped_size(text, *used);
}

/* The bytes to drop at the start so that the rest, escaped, fits @budget. */
static size_t output_text_drop_to_fit(const char *text, size_t len, size_t budget)
{
	/* Each raw byte takes at least one byte: what lies further back than the budget cannot
	 * fit. */
	size_t at = len > budget ? len - budget : 0, size, used;

	at += at ? utf8_partial_head(text + at, len - at) : 0;
	size = jsonw_escaped_size(text + at, len - at);
	while (size > budget && at < len) {
		size -= output_text_first_size(text + at, len - at, &used);
		at += used;
	}
	return at;
}

/* The size of the first character of @text after repair, and its raw size. */
static size_t output_text_first_repaired(const char *text, size_t len, size_t *used)
{
	return utf8_next(text, len, used) == UTF8_VALID ? *used : REPLACED_TEXT;
}

/* The bytes to drop at the start so that the rest, repaired, has at most @max. */
static size_t output_text_drop_repaired(const char *text, size_t len, size_t max)
{
	size_t size = 0, at, used;

	for (at = 0; at < len; at += used)
		size += output_text_first_repaired(text + at, len - at, &used);
	for (at = 0; size > max; at += used)
		size -= output_text_first_repaired(text + at, len - at, &used);
	return at;
}

/* The first byte of the kept part that reaches to the end of the stream. */
static uint64_t output_text_last_part_start(const struct output *o)
{
	uint64_t from, to;

	return output_evicted(o, &from, &to) ? to : 0;
}

/* The largest cut at or before @max that splits neither a character nor an ill-formed sequence that
 * becomes one U+FFFD, so that all pages together are the text of the whole. */
static size_t output_text_cut_at_unit(const char *text, size_t len, size_t max)
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

/* How many of the @len bytes make a page of at most @max bytes. */
static size_t output_text_page_length(const char *text, size_t len, size_t max, bool final)
{
	size_t used, n = output_text_cut_at_unit(text, len, max);

	if (n == len && !final)
		n -= utf8_partial_tail(text, n);
	if (!n && len && max && (utf8_next(text, len, &used) != UTF8_PARTIAL || final))
		n = used; /* the first unit is longer than the page */
	return n;
}

/* The room left in a page. */
struct room {
	size_t encoded, text;
};

/* The size of @text after repair. */
static size_t output_text_repaired_size(const char *text, size_t len)
{
	size_t size = 0, used;

	for (size_t at = 0; at < len; at += used)
		size += utf8_next(text + at, len - at, &used) == UTF8_VALID
				? used
				: strlen(UTF8_REPLACEMENT);
	return size;
}

/* Take the room that @text needs. If there is not enough, return false and take none. */
static bool output_text_take_room(struct room *room, const char *text, size_t len)
{
	size_t encoded = jsonw_escaped_size(text, len), size = encoded;

	if (room->text < room->encoded) /* else the bound has no effect: text never takes more than
					 * its JSON */
		size = output_text_repaired_size(text, len);

	if (encoded > room->encoded || size > room->text)
		return false;
	room->encoded -= encoded;
	room->text -= size;
	return true;
}

/* The longest prefix, in whole units, that fits @room. */
static size_t output_text_prefix_that_fits(const char *text, size_t len, struct room room)
{
	size_t at = 0, step = len, part;

	if (len <= room.encoded / ENCODED_MAX && (len <= room.text / REPAIRED_MAX ||
						  room.text >= room.encoded))
		return len; /* fast path for most of a large page */
	while (step && at < len) {
		part = output_text_cut_at_unit(text + at, len - at, step);
		if (part && output_text_take_room(&room, text + at, part))
			at += part;
		else
			step = step > 8 ? step / 2 : step - 1; /* a unit has up to four bytes */
	}
	return at;
}

/*
 * Read up to @len bytes at *@at. *@last: none follow, because the stream or the part before the
 * hole ends here.
 */
static size_t output_text_read_piece(const struct output *o, const struct output_page *page,
				     uint64_t *at, char *bytes, size_t len, bool *last)
{
	ssize_t got = output_read(o, at, bytes, len);
	size_t n = got > 0 ? (size_t)got : 0;
	uint64_t from, to;

	if (page->end && *at + n >= page->end) {
		*last = true;
		return *at < page->end ? (size_t)(page->end - *at) : 0;
	}
	*last = (page->final && *at + n == o->total) ||
		(output_evicted(o, &from, &to) && *at + n == from);
	return n;
}

/* The offset behind the last newline of @text; 0 if there is none. */
static size_t output_text_whole_lines(const char *text, size_t len)
{
	const char *newline = len ? memrchr(text, '\n', len) : NULL;

	return newline ? (size_t)(newline + 1 - text) : 0;
}

/* A page of text on its way into the reply, piece by piece. */
struct text_writer {
	const struct output *o;
	struct jsonw *w;
	struct output_page *page;
	size_t left;           /* raw */
	size_t json;           /* size of the JSON at the start of the page */
	uint64_t line_end;     /* raw offset behind the last newline written ... */
	size_t line_end_json;  /* ... and the size of the JSON there */
	size_t line_end_text;  /* ... and page->text */
};

/* Should a page that a bound cuts at @end stop at @line_end instead? */
static bool output_text_ends_line(const struct output_page *page, uint64_t line_end, uint64_t end)
{
	return (line_end - page->offset) * 2 > end - page->offset;
}

/* A bound cuts the page after @n bytes of @piece: return how many of them to write so that it ends
 * at a line. */
static size_t output_text_cut_at_line(struct text_writer *t, const char *piece, size_t n)
{
	uint64_t end = t->page->next + n;
	size_t lines = output_text_whole_lines(piece, n);

	if (lines && output_text_ends_line(t->page, t->page->next + lines, end))
		return lines;
	if (lines || !t->line_end || !output_text_ends_line(t->page, t->line_end, end))
		return n;
	jsonw_cut_str(t->w, t->line_end_json);
	t->page->next = t->line_end;
	t->page->text = t->line_end_text;
	return 0;
}

static struct room output_text_room_left(const struct text_writer *t)
{
	return (struct room){
		.encoded = t->page->max_encoded - (t->w->out->len - t->json),
		.text = t->page->max_text - t->page->text,
	};
}

static void output_text_write_part(struct jsonw *w, struct output_page *page, const char *text,
				   size_t len)
{
	jsonw_piece(w, text, len);
	if (page->max_text < page->max_encoded)
		page->text += output_text_repaired_size(text, len);
}

/* Write @n bytes of a piece and record where its last line ends. */
static void output_text_write_lines(struct text_writer *t, const char *piece, size_t n)
{
	size_t lines = output_text_whole_lines(piece, n);

	output_text_write_part(t->w, t->page, piece, lines);
	if (lines) {
		t->line_end = t->page->next + lines;
		t->line_end_json = t->w->out->len;
		t->line_end_text = t->page->text;
	}
	output_text_write_part(t->w, t->page, piece + lines, n - lines);
	t->page->next += n;
}

/* Write the next piece. Returns false at the end of the page. */
static bool output_text_write_piece(struct text_writer *t)
{
	static char piece[PIECE_BYTES + UNIT_MAX];
	size_t max = t->left < PIECE_BYTES ? t->left : PIECE_BYTES, len, n, fits;
	bool last, over;

	len = output_text_read_piece(t->o, t->page, &t->page->next, piece, max + UNIT_MAX, &last);
	n = output_text_page_length(piece, len, max, last);
	fits = output_text_prefix_that_fits(piece, n, output_text_room_left(t));
	if (!fits && n && t->page->next == t->page->offset)
		utf8_next(piece, n, &fits); /* a page always takes at least one unit */
	t->left -= max;
	over = fits < n || (!t->left && len > max);
	if (over)
		fits = output_text_cut_at_line(t, piece, fits);
	output_text_write_lines(t, piece, fits);
	return !over && t->left && n && !(last && n == len);
}

/* Copy the text in pieces straight from the store into the reply. */
static void output_text_write_utf8(const struct output *o, struct jsonw *w,
				   struct output_page *page)
{
	struct text_writer t = {
		.o = o, .w = w, .page = page, .left = page->max_bytes, .json = w->out->len,
	};
	bool last;

	/* The first read may move the offset to the end of the hole. */
	output_text_read_piece(o, page, &page->offset, NULL, 0, &last);
	page->next = page->offset;
	while (output_text_write_piece(&t))
		;
	page->line_end = t.line_end;
}

/* ---- clean text ---- */

/* Bytes of a stream that a clean page is drawn from. */
struct drawn {
	char *bytes;
	size_t len;
	size_t hold; /* see term_draw() */
	size_t max;  /* of them for the page; those behind show what is still drawn over */
	size_t json; /* of the page */
};

/* Draw up to where both bounds, and @ahead bytes more, end. Returns where. */
static size_t output_text_draw(struct term *term, const struct output *o, const struct drawn *d,
			       size_t ahead)
{
	term_begin(term, o->range->screen, d->json + ahead);
	return term_draw(term, d->bytes, d->len, d->max + ahead, d->hold);
}

/* Write what is drawn up to the last place before the bounds where nothing is drawn over; where
 * there is none, up to the bounds. Returns how many bytes that takes. */
static size_t output_text_draw_page(const struct output *o, const struct drawn *d, struct buf *text)
{
	struct screen_cut cut;
	struct term term;
	size_t end = output_text_draw(&term, o, d, TERM_ESCAPE_MAX);

	cut = screen_cut_before(&term.screen, d->max, d->json);
	if (!term.full && end <= d->max && term.screen.json <= d->json) {
		cut = (struct screen_cut){ term.screen.count, end, 0 };
	} else if (!cut.at) {
		term_end(&term);
		end = output_text_draw(&term, o, d, 0);
		cut = (struct screen_cut){ term.screen.count, end, 0 };
	}
	screen_write(&term.screen, 0, cut.row, text);
	term_end(&term);
	return cut.at;
}

void output_clean_page(const struct output *o, struct output_page *page, struct buf *text)
{
	uint64_t rest = o->total > page->offset ? o->total - page->offset : 0;
	struct drawn d = {
		.max = output_text_least(page->max_bytes, CLEAN_BYTES),
		.json = output_text_least(page->max_text, page->max_encoded),
	};
	size_t room = output_text_least(rest, d.max + TERM_ESCAPE_MAX);
	bool last;

	d.bytes = mem_zalloc(room + 1);
	d.len = output_text_read_piece(o, page, &page->offset, d.bytes, room, &last);
	if (!last)
		d.hold = d.len == room && rest > room ? room - 1 : TERM_ESCAPE_MAX;
	page->next = page->offset + output_text_draw_page(o, &d, text);
	free(d.bytes);
}

static void output_text_write_clean(const struct output *o, struct jsonw *w,
				    struct output_page *page)
{
	struct buf text;

	buf_init(&text, w->out->max);
	output_clean_page(o, page, &text);
	output_text_write_part(w, page, text.data, text.len);
	buf_release(&text);
}

/* Where to begin to draw the end of @o: at a line, if one begins in the first half. */
static uint64_t output_text_tail_bytes(const struct output *o, const struct output_tail *tail,
				       char *bytes, size_t *len)
{
	uint64_t first = output_text_last_part_start(o), offset;
	const char *newline;
	ssize_t got;

	first = tail->from > first ? tail->from : first;
	offset = o->total > first + PIECE_BYTES ? o->total - PIECE_BYTES : first;
	got = output_read(o, &offset, bytes, PIECE_BYTES);
	*len = got > 0 ? (size_t)got : 0;
	newline = offset > first && *len ? memchr(bytes, '\n', *len / 2) : NULL;
	if (!newline)
		return offset;
	*len -= (size_t)(newline + 1 - bytes);
	memmove(bytes, newline + 1, *len);
	return offset + (size_t)(newline + 1 - bytes);
}

/* Draw the end of @bytes: less of it if all is more work than a screen may be. Returns where. */
static size_t output_text_draw_tail(struct term *term, const struct output *o, const char *bytes,
				    size_t len)
{
	size_t at = 0;

	for (;;) {
		term_begin(term, o->range->screen, CLEAN_BYTES);
		if (term_draw(term, bytes + at, len - at, len - at, 0) == len - at)
			return at;
		term_end(term);
		at += (len - at + 1) / 2;
	}
}

static bool output_text_tail_fits(const struct buf *text, const struct output_tail *tail)
{
	return text->len <= tail->max_bytes &&
	       !output_text_lines_start(text->data, text->len, tail->lines);
}

/* Write the rows from the first cut on from which they fit, else from the last one before any; all
 * where there is none but behind them. */
static struct screen_cut output_text_fit_rows(const struct screen *s,
					      const struct output_tail *tail, struct buf *text)
{
	size_t low = 0, high = s->cut_count, last;
	struct screen_cut cut = { 0, 0, 0 };

	screen_write(s, 0, s->count, text);
	if (output_text_tail_fits(text, tail) || !high)
		return cut;
	high -= s->cuts[high - 1].row + 1 == s->count && !s->rows[s->count - 1].drawn;
	if (!high)
		return cut;
	last = high - 1;
	while (low < high) {
		size_t mid = (low + high) / 2;

		buf_clear(text);
		screen_write(s, s->cuts[mid].row, s->count, text);
		if (output_text_tail_fits(text, tail))
			high = mid;
		else
			low = mid + 1;
	}
	cut = s->cuts[low < last ? low : last];
	buf_clear(text);
	screen_write(s, cut.row, s->count, text);
	return cut;
}

uint64_t output_clean_tail(const struct output *o, const struct output_tail *tail,
			   struct buf *text)
{
	AUTO_FREE char *bytes = mem_zalloc(PIECE_BYTES);
	struct term term;
	size_t len, from, start;
	uint64_t shown, offset = output_text_tail_bytes(o, tail, bytes, &len);

	if (!len || !tail->lines)
		return o->total;
	from = output_text_draw_tail(&term, o, bytes, len);
	offset += from + output_text_fit_rows(&term.screen, tail, text).at;
	term_end(&term);
	if (!text->len)
		return offset;
	start = output_text_lines_start(text->data, text->len, tail->lines);
	start += text->len - start > tail->max_bytes ? text->len - start - tail->max_bytes : 0;
	start += utf8_partial_head(text->data + start, text->len - start);
	start += output_text_drop_to_fit(text->data + start, text->len - start, tail->max_encoded);
	buf_consume(text, start);
	offset += start;
	shown = (text->len + REPLACED_TEXT - 1) / REPLACED_TEXT;
	shown = shown < o->total ? o->total - shown : 0; /* a screen can have more blanks */
	return offset < shown ? offset : shown;
}

static bool output_text_write_clean_tail(const struct output *o, struct jsonw *w, const char *key,
					 const struct output_tail *tail)
{
	uint64_t offset;
	struct buf text;

	buf_init(&text, CLEAN_BYTES);
	offset = output_clean_tail(o, tail, &text);
	jsonw_strn(w, key, text.len ? text.data : "", text.len);
	buf_release(&text);
	return offset > 0;
}

bool output_write_tail(const struct output *o, struct jsonw *w, const char *key,
		       const struct output_tail *tail)
{
	uint64_t first = output_text_last_part_start(o), offset;
	size_t start = 0, len, room;
	AUTO_FREE char *text = NULL;
	ssize_t n;

	if (tail->clean)
		return output_text_write_clean_tail(o, w, key, tail);
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
	start = output_text_lines_start(text, len, tail->lines);
	if (!start && offset)
		start = utf8_partial_head(text, len); /* the byte bound may have cut a character */
	start += output_text_drop_repaired(text + start, len - start, tail->max_bytes);
	start += output_text_drop_to_fit(text + start, len - start, tail->max_encoded);
	jsonw_strn(w, key, text + start, len - start);
	return offset + start > 0;
}

/* ---- pages ---- */

static void output_text_write_base64(const struct output *o, struct jsonw *w,
				     struct output_page *page)
{
	size_t left = page->max_text < page->max_encoded ? page->max_text : page->max_encoded, n;
	static char piece[PIECE_BYTES / 3 * 3];
	bool last;

	left = left / 4 * 3 < page->max_bytes ? left / 4 * 3 : page->max_bytes;
	page->next = page->offset;
	for (bool first = true; left; first = false) {
		n = left < sizeof(piece) ? left : sizeof(piece);
		n = output_text_read_piece(o, page, &page->next, piece, n, &last);
		if (first)
			page->offset = page->next;
		jsonw_base64(w, piece, n);
		page->next += n;
		left -= n;
		if (n < sizeof(piece) || last)
			break;
	}
}

void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page)
{
	size_t start;

	/* Each raw byte takes at least one byte of each bound, unless escapes go. */
	if (page->base64 || !page->clean) {
		page->max_bytes = output_text_least(page->max_bytes, page->max_encoded);
		page->max_bytes = output_text_least(page->max_bytes, page->max_text);
	}
	page->text = 0;
	page->line_end = 0;
	jsonw_open_str(w, key);
	start = w->out->len;
	if (page->base64)
		output_text_write_base64(o, w, page);
	else if (page->clean)
		output_text_write_clean(o, w, page);
	else
		output_text_write_utf8(o, w, page);
	page->encoded = w->out->len - start;
	if (page->base64 || page->max_text >= page->max_encoded)
		page->text = page->encoded;
	jsonw_close_str(w);
}

uint64_t output_whole_end(const struct output *o, uint64_t end)
{
	uint64_t at = end > UNIT_MAX ? end - UNIT_MAX : 0, begin = at;
	char bytes[UNIT_MAX];
	ssize_t n = output_read(o, &at, bytes, (size_t)(end - begin));

	return n > 0 && at + (uint64_t)n == end ? end - utf8_partial_tail(bytes, (size_t)n) : end;
}

bool output_has_page(const struct output *o, const struct output_page *page)
{
	char bytes[TERM_ESCAPE_MAX + 1];
	size_t max = page->clean ? sizeof(bytes) : UNIT_MAX + 1, n;
	uint64_t offset = page->offset;
	bool last;

	n = output_text_read_piece(o, page, &offset, bytes, max, &last);
	if (!n || page->base64 || last)
		return n;
	if (page->clean && n <= TERM_ESCAPE_MAX && term_is_silent(bytes, n))
		return false;
	return utf8_partial_tail(bytes, n) < n;
}

uint64_t output_tail_offset(const struct output *o, uint64_t lines)
{
	char chunk[16 * 1024];
	uint64_t first = output_text_last_part_start(o), end = o->total;

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

/* Where the first redraw in @text begins; @len: there is none, or a line ends. */
static size_t output_text_find_redraw(const char *text, size_t len, bool clean)
{
	if (memchr(text, '\n', len))
		return len;
	for (size_t at = 0; at + 1 < len; at++)
		if (text[at] == '\r' || (clean && text[at] == '\x1b'))
			return at + (text[at] == '\r');
	return len;
}

uint64_t output_tail_page(const struct output *o, uint64_t lines, size_t max, bool clean)
{
	uint64_t offset = output_tail_offset(o, lines), at;
	char bytes[TERM_ESCAPE_MAX];
	size_t len, redraw;
	ssize_t n;

	max = clean ? output_text_least(max, CLEAN_BYTES) : max;
	if (o->total - offset <= max || max <= sizeof(bytes))
		return offset;
	at = o->total - max;
	n = output_read(o, &at, bytes, sizeof(bytes));
	len = n > 0 ? (size_t)n : 0;
	redraw = output_text_find_redraw(bytes, len, clean);
	return redraw < len ? at + redraw : offset;
}
