#include "base/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define HEIGHT_MAX 1000
#define COLS_MAX 1000 /* where the cursor moves to without a width */
#define TAB 8
#define NEWLINE 2 /* bytes of JSON */
#define ROW_WORK 4
#define REPLACEMENT 0xfffd

static const struct cell screen_blank = { .at = ' ', .width = 1, .blank = true };

void screen_begin(struct screen *s, struct screen_size size, size_t json_max)
{
	*s = (struct screen){
		.cols = size.cols, .height = size.rows ? size.rows : HEIGHT_MAX,
		.json_max = json_max, .count = 1, .room = 16,
	};
	s->rows = mem_zalloc(s->room * sizeof(*s->rows));
}

void screen_end(struct screen *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].cells);
	free(s->rows);
	free(s->cuts);
}

/* ---- cuts ---- */

static void screen_add_cut(struct screen *s, size_t at)
{
	if (s->cut_count == s->cut_room) {
		s->cut_room = s->cut_room ? 2 * s->cut_room : 64;
		s->cuts = mem_realloc(s->cuts, s->cut_room * sizeof(*s->cuts));
	}
	s->cuts[s->cut_count++] = (struct screen_cut){ s->row, at, s->json };
}

/* Row @row may change: the text cannot be cut behind it. */
static void screen_touch(struct screen *s, size_t row)
{
	while (s->cut_count && s->cuts[s->cut_count - 1].row > row)
		s->cut_count--;
}

struct screen_cut screen_cut_before(const struct screen *s, size_t at, size_t json)
{
	for (size_t i = s->cut_count; i-- > 0;)
		if (s->cuts[i].at <= at && s->cuts[i].json <= json)
			return s->cuts[i];
	return (struct screen_cut){ 0, 0, 0 };
}

/* ---- cells ---- */

/* Bytes of @c as JSON. */
static size_t screen_cost(const struct screen *s, const struct cell *c)
{
	char first;

	if (!c->width)
		return 0;
	if (!c->len)
		return c->at == REPLACEMENT ? strlen(UTF8_REPLACEMENT) : 1;
	first = s->text[c->at];
	return c->len > 1 ? c->len : 1u + (first == '"' || first == '\\' || first == '\t');
}

static bool screen_has_room(const struct screen *s, size_t more)
{
	return !s->json || s->json + more <= s->json_max;
}

static void screen_set(struct screen *s, struct screen_row *r, size_t col, const struct cell *c)
{
	s->json -= screen_cost(s, &r->cells[col]);
	s->json += screen_cost(s, c);
	r->cells[col] = *c;
}

/* The row has changed up to @end: if that is its end, its line does not go on in the next row. */
static void screen_end_line(struct screen *s, struct screen_row *r, size_t end)
{
	if (end >= s->cols && r + 1 < s->rows + s->count)
		r[1].joins = false;
}

static void screen_blank_range(struct screen *s, struct screen_row *r, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < r->len; i++)
		screen_set(s, r, i, &screen_blank);
	screen_end_line(s, r, to);
	s->work += to - from;
}

static void screen_reserve(struct screen_row *r, size_t len)
{
	if (len <= r->room)
		return;
	r->room = len < 2 * r->room ? 2 * r->room : (uint32_t)(len + 40);
	r->cells = mem_realloc(r->cells, r->room * sizeof(*r->cells));
}

/* Give the row blanks up to @len. */
static void screen_extend(struct screen *s, struct screen_row *r, size_t len)
{
	screen_reserve(r, len);
	if (len > r->len + 8)
		s->work += len - r->len;
	while (r->len < len) {
		r->cells[r->len++] = screen_blank;
		s->json++;
	}
}

/* A wide character that goes on at @col is about to lose a part: blank it. */
static void screen_split(struct screen *s, struct screen_row *r, size_t col)
{
	size_t from = col, to = col;

	if (col >= r->len || r->cells[col].width)
		return;
	while (!r->cells[from].width)
		from--;
	while (to < r->len && !r->cells[to].width)
		to++;
	screen_blank_range(s, r, from, to);
}

static void screen_truncate(struct screen *s, struct screen_row *r, size_t len)
{
	screen_split(s, r, len);
	if (r->len > len && len < s->cols)
		screen_end_line(s, r, r->len);
	s->work += r->len > len ? r->len - len : 0;
	while (r->len > len)
		s->json -= screen_cost(s, &r->cells[--r->len]);
}

static void screen_show(struct screen *s, struct screen_row *r)
{
	s->json += r->drawn ? 0 : NEWLINE;
	r->drawn = true;
}

static void screen_hide(struct screen *s, struct screen_row *r)
{
	s->json -= r->drawn ? NEWLINE : 0;
	r->drawn = r->joins = false;
}

/* ---- rows ---- */

/* Insert @n empty rows, which may be the last ones. */
static void screen_insert_rows(struct screen *s, size_t at, size_t n)
{
	while (s->count + n > s->room) {
		s->room *= 2;
		s->rows = mem_realloc(s->rows, s->room * sizeof(*s->rows));
	}
	memmove(s->rows + at + n, s->rows + at, (s->count - at) * sizeof(*s->rows));
	memset(s->rows + at, 0, n * sizeof(*s->rows));
	s->work += s->count - at + n * ROW_WORK;
	s->count += n;
	if (at + n < s->count)
		s->rows[at + n].joins = false;
}

static void screen_delete_rows(struct screen *s, size_t at, size_t n)
{
	struct screen_row *r = &s->rows[at];

	for (size_t i = 0; i < n; i++) {
		screen_truncate(s, &r[i], 0);
		screen_hide(s, &r[i]);
		free(r[i].cells);
	}
	s->count -= n;
	memmove(r, r + n, (s->count - at) * sizeof(*r));
	if (at < s->count)
		r->joins = false;
	s->work += s->count - at + n;
}

/* Rows up to @row are there. */
static void screen_need(struct screen *s, size_t row)
{
	if (s->count <= row)
		screen_insert_rows(s, s->count, row + 1 - s->count);
}

static struct screen_row *screen_row(struct screen *s)
{
	return &s->rows[s->row];
}

enum scroll { SCROLL_OFF, SCROLL_UP, SCROLL_DOWN };

/* Scroll rows [first, last) of the screen by @n. OFF: up, and what leaves the screen at its top
 * stays above it. */
static void screen_scroll_rows(struct screen *s, size_t first, size_t last, size_t n,
			       enum scroll how)
{
	size_t from = s->top + first, to = s->top + last;

	n = n < last - first ? n : last - first;
	screen_need(s, to - 1);
	screen_touch(s, from);
	if (how == SCROLL_DOWN) {
		screen_delete_rows(s, to - n, n);
		screen_insert_rows(s, from, n);
		return;
	}
	screen_insert_rows(s, to, n);
	if (how == SCROLL_OFF && !first)
		s->top += n;
	else
		screen_delete_rows(s, from, n);
}

/* Where the rows that scroll end. */
static size_t screen_region_end(const struct screen *s)
{
	return s->last ? s->last : s->height;
}

/* The cursor goes a row down. True: to a row that is new, below all others. */
static bool screen_index(struct screen *s)
{
	size_t bottom = s->top + s->height - 1;

	if (s->last && s->row == s->top + s->last - 1) {
		screen_scroll_rows(s, s->first, s->last, 1, SCROLL_OFF);
		s->row = s->top + s->last - 1;
		return false;
	}
	if (s->row == bottom && s->last)
		return false;
	if (++s->row < s->count)
		return false;
	screen_insert_rows(s, s->row, 1);
	if (s->count - s->top > s->height)
		s->top = s->count - s->height;
	return true;
}

void screen_reverse_index(struct screen *s)
{
	if (s->row == s->top + s->first)
		screen_scroll_rows(s, s->first, screen_region_end(s), 1, SCROLL_DOWN);
	else
		screen_move(s, -1, 0);
}

void screen_scroll(struct screen *s, size_t n, bool up, bool here)
{
	size_t last = screen_region_end(s), row = s->row - s->top;
	enum scroll how = !up ? SCROLL_DOWN : here ? SCROLL_UP : SCROLL_OFF;

	if (here && (row < s->first || row >= last))
		return;
	screen_scroll_rows(s, here ? row : s->first, last, n, how);
	s->row = s->top + row;
}

void screen_set_region(struct screen *s, size_t first, size_t last)
{
	last = last && last < s->height ? last : s->height;
	if (first + 1 >= last)
		return;
	s->first = first;
	s->last = first || last < s->height ? last : 0;
	screen_go(s, 0, 0);
}

/* ---- the cursor ---- */

static size_t screen_last_col(const struct screen *s)
{
	if (s->cols)
		return s->cols - 1;
	return s->col < COLS_MAX ? COLS_MAX - 1 : s->col;
}

void screen_go(struct screen *s, size_t row, size_t col)
{
	size_t last = screen_last_col(s);

	s->row = s->top + (row < s->height ? row : s->height - 1);
	s->col = col < last ? col : last;
	screen_need(s, s->row);
	screen_touch(s, s->row);
}

static size_t screen_add(size_t place, long by)
{
	return by < 0 && (size_t)-by > place ? 0 : (size_t)((long)place + by);
}

void screen_move(struct screen *s, long rows, long cols)
{
	size_t last = screen_last_col(s), col = s->col < last ? s->col : last;

	screen_go(s, screen_add(s->row - s->top, rows), screen_add(col, cols));
}

bool screen_tab(struct screen *s, uint32_t at)
{
	size_t stop = (s->col / TAB + 1) * TAB, last = screen_last_col(s);
	struct cell c = { .at = at, .len = 1 };

	stop = stop < last ? stop : last;
	if (s->col < stop && s->col >= screen_row(s)->len) {
		c.width = (uint8_t)(stop - s->col);
		return screen_put(s, &c);
	}
	s->col = s->col < stop ? stop : s->col;
	return true;
}

void screen_go_tabs(struct screen *s, long n)
{
	size_t stops = s->col / TAB + (n < 0 && s->col % TAB);

	screen_go(s, s->row - s->top, TAB * screen_add(stops, n));
}

void screen_save(struct screen *s)
{
	s->saved_row = s->row - s->top;
	s->saved_col = s->col;
}

void screen_restore(struct screen *s)
{
	screen_go(s, s->saved_row, s->saved_col);
}

/* ---- drawing ---- */

/* The row is full: the line goes on in the next one. */
static void screen_wrap(struct screen *s)
{
	screen_index(s);
	s->col = 0;
	screen_row(s)->joins = true;
}

/* Below all that was drawn, at a place that is not a cut yet. */
static bool screen_begins_line(const struct screen *s)
{
	return s->row + 1 == s->count && !s->rows[s->row].drawn && !s->rows[s->row].joins &&
	       !s->col && s->row && !s->alternate && !s->last &&
	       (!s->cut_count || s->cuts[s->cut_count - 1].row < s->row);
}

bool screen_put(struct screen *s, const struct cell *c)
{
	static const struct cell rest = { .at = ' ' };
	struct screen_row *r;
	size_t end;

	if (s->cols && s->col + c->width > s->cols) {
		if (s->no_wrap && s->cols >= c->width)
			s->col = s->cols - c->width;
		else
			screen_wrap(s);
	}
	r = screen_row(s);
	if (!screen_has_room(s, screen_cost(s, c) + (r->drawn ? 0 : NEWLINE) +
					(s->col > r->len ? s->col - r->len : 0)))
		return false;
	if (c->len && screen_begins_line(s))
		screen_add_cut(s, c->at);
	end = s->col + c->width;
	if (s->col < r->len) {
		screen_split(s, r, s->col);
		screen_split(s, r, end);
	}
	screen_extend(s, r, end);
	screen_set(s, r, s->col, c);
	for (size_t i = s->col + 1; i < end; i++)
		screen_set(s, r, i, &rest);
	screen_show(s, r);
	screen_end_line(s, r, end);
	s->col = end;
	return true;
}

size_t screen_put_run(struct screen *s, size_t at, size_t n)
{
	struct screen_row *r = screen_row(s);
	size_t done = 0;

	if (s->cols && n > s->cols - s->col)
		n = s->cols - s->col;
	if (!r->drawn || s->col > r->len || !screen_has_room(s, 2 * n))
		return 0;
	screen_reserve(r, s->col + n);
	for (struct cell *c = r->cells + s->col; done < n; c++, done++) {
		bool old = s->col + done < r->len;

		if (old && (c->width != 1 || (s->col + done + 1 < r->len && !c[1].width)))
			break;
		s->json -= old ? screen_cost(s, c) : 0;
		*c = (struct cell){ .at = (uint32_t)(at + done), .len = 1, .width = 1 };
		s->json += screen_cost(s, c);
		r->len += !old;
	}
	s->col += done;
	screen_end_line(s, r, s->col);
	return done;
}

bool screen_repeat(struct screen *s, const struct cell *c, size_t n)
{
	if (!screen_has_room(s, n * (screen_cost(s, c) + NEWLINE)))
		return false;
	s->work += n;
	while (n--)
		screen_put(s, c);
	return true;
}

bool screen_combine(struct screen *s, size_t at, size_t len)
{
	struct screen_row *r = screen_row(s);
	size_t col = s->col;
	struct cell *c;

	if (!col || col > r->len)
		return false;
	while (--col && !r->cells[col].width)
		;
	c = &r->cells[col];
	if (!c->len || c->at + c->len != at || c->len + len > UINT8_MAX)
		return false;
	s->json -= screen_cost(s, c);
	c->len = (uint8_t)(c->len + len);
	s->json += screen_cost(s, c);
	return true;
}

/*
 * A terminal leaves the cursor in its column. Outside the alternate screen text without CR is
 * nearly always meant to begin a line there.
 */
bool screen_line_feed(struct screen *s, size_t at)
{
	struct screen_row *r = screen_row(s);

	if (!r->drawn && !screen_has_room(s, NEWLINE))
		return false;
	screen_show(s, r);
	if (!s->alternate)
		s->col = 0;
	if (screen_index(s) && !s->alternate)
		screen_add_cut(s, at);
	return true;
}

/* ---- erasing ---- */

/* A row that has lost all is left out, until something is drawn there. */
static void screen_empty_row(struct screen *s, struct screen_row *r)
{
	screen_truncate(s, r, 0);
	screen_hide(s, r);
}

void screen_erase_row(struct screen *s, unsigned what)
{
	struct screen_row *r = screen_row(s);

	if (what == 1 && s->col + 1 < r->len) {
		screen_split(s, r, s->col + 1);
		screen_blank_range(s, r, 0, s->col + 1);
	} else if (what == 0 && s->col) {
		screen_truncate(s, r, s->col);
	} else if (what <= 2) {
		screen_empty_row(s, r);
	}
}

static void screen_erase_rows(struct screen *s, size_t from, size_t to)
{
	screen_touch(s, from);
	for (size_t i = from; i < to; i++)
		screen_empty_row(s, &s->rows[i]);
	s->work += to - from;
}

void screen_erase(struct screen *s, unsigned what)
{
	if (what > 2)
		return; /* what has scrolled off stays */
	if (what != 2)
		screen_erase_row(s, what);
	if (what != 1)
		screen_erase_rows(s, s->row + !what, s->count);
	if (what != 0)
		screen_erase_rows(s, s->top, s->row);
}

void screen_blank_cells(struct screen *s, size_t n)
{
	struct screen_row *r = screen_row(s);

	screen_split(s, r, s->col);
	screen_split(s, r, s->col + n);
	if (s->col < r->len)
		screen_blank_range(s, r, s->col, s->col + n < r->len ? s->col + n : r->len);
}

void screen_insert_cells(struct screen *s, size_t n)
{
	struct screen_row *r = screen_row(s);
	size_t old = r->len;

	if (s->col >= r->len || !screen_has_room(s, n))
		return;
	screen_split(s, r, s->col);
	screen_extend(s, r, old + n);
	memmove(r->cells + s->col + n, r->cells + s->col, (old - s->col) * sizeof(*r->cells));
	for (size_t i = s->col; i < s->col + n; i++)
		r->cells[i] = screen_blank; /* counted when the row was extended */
	s->work += old - s->col + n;
	if (s->cols)
		screen_truncate(s, r, r->len < s->cols ? r->len : s->cols);
}

void screen_delete_cells(struct screen *s, size_t n)
{
	struct screen_row *r = screen_row(s);
	size_t end = s->col + n, old = r->len;

	if (s->col >= old)
		return;
	if (end >= old) {
		screen_truncate(s, r, s->col);
		return;
	}
	screen_split(s, r, s->col);
	screen_split(s, r, end);
	for (size_t i = s->col; i < end; i++)
		s->json -= screen_cost(s, &r->cells[i]);
	memmove(r->cells + s->col, r->cells + end, (old - end) * sizeof(*r->cells));
	r->len -= (uint32_t)n;
	s->work += old - s->col;
}

void screen_alternate(struct screen *s, bool on, size_t at)
{
	if (s->rows[s->count - 1].drawn)
		screen_insert_rows(s, s->count, 1);
	s->row = s->top = s->count - 1;
	s->col = s->first = s->last = s->saved_row = s->saved_col = 0;
	s->alternate = on;
	if (!on)
		screen_add_cut(s, at);
}

/* ---- the result ---- */

static void screen_write_literal(uint32_t code, struct buf *out)
{
	if (code == REPLACEMENT)
		buf_adds(out, UTF8_REPLACEMENT);
	else
		buf_addc(out, (char)code);
}

/* Neighbours in the row that are neighbours in the text are copied at once. */
static void screen_write_cells(const struct screen *s, const struct cell *c, const struct cell *end,
			       struct buf *out)
{
	while (c < end) {
		size_t from = c->at, len = c->len;

		if (!c->width) {
			c++;
			continue;
		}
		if (!c->len) {
			screen_write_literal((c++)->at, out);
			continue;
		}
		while (++c < end && (!c->width || (c->len && c->at == from + len)))
			len += c->width ? c->len : 0;
		buf_add(out, s->text + from, len);
	}
}

static bool screen_is_space(const struct screen *s, const struct cell *c)
{
	return c->blank || (c->len == 1 && s->text[c->at] == ' ');
}

/* Blanks at the end were never drawn; spaces that fill a row to its end are there to erase. At the
 * start of the text the column is not known. */
static void screen_write_row(const struct screen *s, size_t i, struct buf *out)
{
	const struct screen_row *r = &s->rows[i];
	const struct cell *from = r->cells, *end = r->cells + r->len;
	bool filled = s->cols && r->len >= s->cols && (i + 1 == s->count || !r[1].joins);

	while (end > from && (filled ? screen_is_space(s, end - 1) : end[-1].blank))
		end--;
	while (!i && from < end && from->blank)
		from++;
	screen_write_cells(s, from, end, out);
}

void screen_write(const struct screen *s, size_t from, size_t end, struct buf *out)
{
	bool open = false;
	size_t last = 0;

	for (size_t i = from; i < end; i++) {
		if (!s->rows[i].drawn)
			continue;
		if (open && !s->rows[i].joins)
			buf_addc(out, '\n');
		screen_write_row(s, i, out);
		open = true;
		last = i;
	}
	if (open && s->row > last)
		buf_addc(out, '\n');
}
