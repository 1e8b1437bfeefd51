#include "base/term.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define CTRL(letter) ((letter) & 0x1f)
#define ESC '\x1b'
#define DEL 0x7f
#define REPLACEMENT 0xfffd
#define NUMBERS 4
#define RUN_MAX 256 /* characters drawn at once: a row may take fewer */
#define NUMBER_MAX 9999

/* ---- where sequences end ---- */

/* The character behind ESC. One of C1 stands for both. */
static char term_kind(const char *text)
{
	return (char)(text[0] == ESC ? text[1] : text[1] - 0x40);
}

/* A string (OSC, DCS, SOS, PM, APC) ends with BEL or ESC \. Only the data of a DCS has newlines;
 * what else breaks one off is no part of it. 0: it goes on. */
static size_t term_string_end(const char *text, size_t len)
{
	bool dcs = term_kind(text) == 'P';

	for (size_t at = 2; at < len; at++) {
		if (text[at] == '\a' || text[at] == CTRL('X') || text[at] == CTRL('Z'))
			return at + 1;
		if (text[at] == ESC && at + 1 == len)
			return 0;
		if (text[at] == ESC)
			return text[at + 1] == '\\' ? at + 2 : at;
		if (text[at] == '\n' && !dcs)
			return at;
	}
	return 0;
}

static size_t term_skip(const char *text, size_t len, size_t at, char from, char to)
{
	while (at < len && text[at] >= from && text[at] <= to)
		at++;
	return at;
}

/* The bytes of the sequence at the start of @text (ESC, or a character of C1); 0: it goes on behind
 * @len. What it cannot have breaks it off. */
static size_t term_sequence_end(const char *text, size_t len)
{
	size_t at = 2;
	char kind;

	if (len < 2)
		return 0;
	kind = term_kind(text);
	if (memchr("]PX^_", kind, 5))
		return term_string_end(text, len);
	if (kind == '[') {
		at = term_skip(text, len, at, 0x30, 0x3f);
		at = term_skip(text, len, at, 0x20, 0x2f);
		return at == len ? 0 : text[at] >= 0x40 && text[at] <= 0x7e ? at + 1 : at;
	}
	if (text[0] != ESC || (kind >= 0x30 && kind <= 0x7e))
		return at;
	if (kind < 0x20 || kind > 0x2f)
		return 1;
	at = term_skip(text, len, at, 0x20, 0x2f);
	return at == len ? 0 : text[at] >= 0x30 && text[at] <= 0x7e ? at + 1 : at;
}

/* A character of C1: U+0080 to U+009F. */
static bool term_is_c1(const char *text, size_t len)
{
	return len > 1 && text[0] == '\xc2' && (unsigned char)text[1] < 0xa0;
}

/* ---- what sequences do ---- */

/* CSI: a mark, numbers, and a letter that says what it does. */
struct csi {
	char mark, final;
	unsigned numbers[NUMBERS]; /* 0: left out */
};

static struct csi term_read_csi(const char *text, size_t len)
{
	struct csi c = { .final = text[len - 1] };
	size_t at = 2, n = 0;

	if (memchr("<=>?", text[at], 4))
		c.mark = text[at++];
	for (; at + 1 < len; at++) {
		unsigned *number = &c.numbers[n < NUMBERS ? n : NUMBERS - 1];

		if (text[at] == ';')
			n++;
		else if (text[at] >= '0' && text[at] <= '9' && n < NUMBERS)
			*number = *number * 10 + (unsigned)(text[at] - '0');
		else if (text[at] < 0x30)
			c.mark = text[at]; /* an intermediate: another function */
		*number = *number < NUMBER_MAX ? *number : NUMBER_MAX;
	}
	return c;
}

static void term_set_modes(struct term *t, const struct csi *c, size_t at)
{
	for (size_t i = 0; c->mark == '?' && i < NUMBERS; i++)
		if (c->numbers[i] == 47 || c->numbers[i] == 1047 || c->numbers[i] == 1049)
			screen_alternate(&t->screen, c->final == 'h', at);
		else if (c->numbers[i] == 7)
			t->screen.no_wrap = c->final == 'l';
}

/* Cursor movement; false: it is something else. */
static bool term_move(struct screen *s, const struct csi *c)
{
	long n = c->numbers[0] ? (long)c->numbers[0] : 1;

	switch (c->final) {
	case 'A': screen_move(s, -n, 0); return true;
	case 'B': case 'e': screen_move(s, n, 0); return true;
	case 'C': case 'a': screen_move(s, 0, n); return true;
	case 'D': screen_move(s, 0, -n); return true;
	case 'E': screen_go(s, s->row - s->top + (size_t)n, 0); return true;
	case 'F': screen_move(s, -n, -(long)s->col); return true;
	case 'G': case '`': screen_go(s, s->row - s->top, (size_t)n - 1); return true;
	case 'd': screen_go(s, (size_t)n - 1, s->col); return true;
	case 'H': case 'f':
		screen_go(s, (size_t)n - 1, c->numbers[1] ? c->numbers[1] - 1 : 0);
		return true;
	case 'I': screen_go_tabs(s, n); return true;
	case 'Z': screen_go_tabs(s, -n); return true;
	case 's': screen_save(s); return true;
	case 'u': screen_restore(s); return true;
	default: return false;
	}
}

static void term_change(struct screen *s, const struct csi *c)
{
	size_t n = c->numbers[0] ? c->numbers[0] : 1;

	switch (c->final) {
	case 'J': screen_erase(s, c->numbers[0]); break;
	case 'K': screen_erase_row(s, c->numbers[0]); break;
	case 'L': screen_scroll(s, n, false, true); break;
	case 'M': screen_scroll(s, n, true, true); break;
	case 'S': screen_scroll(s, n, true, false); break;
	case 'T': screen_scroll(s, n, false, false); break;
	case 'P': screen_delete_cells(s, n); break;
	case '@': screen_insert_cells(s, n); break;
	case 'X': screen_blank_cells(s, n); break;
	case 'r': screen_set_region(s, n - 1, c->numbers[1]); break;
	default: break;
	}
}

/* REP: the last character @n times more. */
static bool term_repeat(struct term *t, size_t n)
{
	return !t->last.width || screen_repeat(&t->screen, &t->last, n);
}

static bool term_do_csi(struct term *t, const char *text, size_t len, size_t at)
{
	struct csi c = term_read_csi(text, len);

	if (c.final == 'h' || c.final == 'l')
		term_set_modes(t, &c, at + len);
	if (c.mark && (c.mark != '?' || (c.final != 'J' && c.final != 'K')))
		return true; /* a function of another kind */
	if (c.final == 'b')
		return term_repeat(t, c.numbers[0] ? c.numbers[0] : 1);
	if (!term_move(&t->screen, &c))
		term_change(&t->screen, &c);
	return true;
}

/* RIS */
static void term_reset(struct term *t)
{
	struct screen *s = &t->screen;

	s->first = s->last = 0;
	s->no_wrap = false;
	t->lines[0] = t->lines[1] = t->shifted = false;
	screen_erase(s, 2);
	screen_go(s, 0, 0);
}

/* False: there is no room. */
static bool term_do_sequence(struct term *t, const char *text, size_t len, size_t at)
{
	struct screen *s = &t->screen;

	if (len < 2)
		return true;
	switch (term_kind(text)) {
	case '[':
		return text[len - 1] < 0x40 || len < 3 || term_do_csi(t, text, len, at);
	case '(':
	case ')':
		t->lines[text[1] == ')'] = len == 3 && text[2] == '0';
		break;
	case '7': screen_save(s); break;
	case '8': screen_restore(s); break;
	case 'D':
	case 'E': return screen_line_feed(s, at + len);
	case 'M': screen_reverse_index(s); break;
	case 'c': term_reset(t); break;
	default: break;
	}
	return true;
}

/* ---- characters ---- */

static bool term_put(struct term *t, uint32_t at, size_t len, unsigned width)
{
	t->last = (struct cell){ .at = at, .len = (uint8_t)len, .width = (uint8_t)width };
	return screen_put(&t->screen, &t->last);
}

/* DEC's special graphics, as terminfo(5) has them for terminals without. */
static uint32_t term_line_character(char c)
{
	static const char characters[] = "+:....'###++++" "+~---_++++|<>*!fo";

	return (unsigned char)characters[c - '`'];
}

static bool term_put_ascii(struct term *t, char c, size_t at)
{
	if (t->lines[t->shifted] && c >= '`' && c <= '~')
		return term_put(t, term_line_character(c), 0, 1);
	return term_put(t, (uint32_t)at, 1, 1);
}

/* Columns of the characters that do not take one: what most terminals and wcwidth(3) take, as far
 * as programs use them. */
static const struct term_block {
	uint32_t from, to;
	unsigned width;
} term_blocks[] = {
	{ 0x300, 0x36f, 0 }, { 0x483, 0x489, 0 }, { 0x591, 0x5bd, 0 }, { 0x64b, 0x65f, 0 },
	{ 0x93c, 0x93c, 0 }, { 0x941, 0x948, 0 }, { 0x94d, 0x94d, 0 }, { 0xe31, 0xe31, 0 },
	{ 0xe34, 0xe3a, 0 }, { 0xe47, 0xe4e, 0 }, { 0x1100, 0x115f, 2 }, { 0x1160, 0x11ff, 0 },
	{ 0x200b, 0x200f, 0 }, { 0x202a, 0x202e, 0 }, { 0x2060, 0x206f, 0 },
	{ 0x20d0, 0x20ff, 0 }, { 0x231a, 0x231b, 2 }, { 0x2329, 0x232a, 2 },
	{ 0x23e9, 0x23ec, 2 }, { 0x23f0, 0x23f0, 2 }, { 0x23f3, 0x23f3, 2 },
	{ 0x25fd, 0x25fe, 2 }, { 0x2614, 0x2615, 2 }, { 0x2648, 0x2653, 2 },
	{ 0x267f, 0x267f, 2 }, { 0x2693, 0x2693, 2 }, { 0x26a1, 0x26a1, 2 },
	{ 0x26aa, 0x26ab, 2 }, { 0x26bd, 0x26be, 2 }, { 0x26c4, 0x26c5, 2 },
	{ 0x26ce, 0x26ce, 2 }, { 0x26d4, 0x26d4, 2 }, { 0x26ea, 0x26ea, 2 },
	{ 0x26f2, 0x26f3, 2 }, { 0x26f5, 0x26f5, 2 }, { 0x26fa, 0x26fa, 2 },
	{ 0x26fd, 0x26fd, 2 }, { 0x2705, 0x2705, 2 }, { 0x270a, 0x270b, 2 },
	{ 0x2728, 0x2728, 2 }, { 0x274c, 0x274c, 2 }, { 0x274e, 0x274e, 2 },
	{ 0x2753, 0x2755, 2 }, { 0x2757, 0x2757, 2 }, { 0x2795, 0x2797, 2 },
	{ 0x27b0, 0x27b0, 2 }, { 0x27bf, 0x27bf, 2 }, { 0x2b1b, 0x2b1c, 2 },
	{ 0x2b50, 0x2b50, 2 }, { 0x2b55, 0x2b55, 2 }, { 0x2e80, 0x3029, 2 },
	{ 0x302a, 0x302d, 0 }, { 0x302e, 0x303e, 2 }, { 0x3041, 0x3096, 2 },
	{ 0x3099, 0x309a, 0 }, { 0x309b, 0xa4cf, 2 }, { 0xa960, 0xa97c, 2 },
	{ 0xac00, 0xd7a3, 2 }, { 0xf900, 0xfaff, 2 }, { 0xfe00, 0xfe0f, 0 },
	{ 0xfe10, 0xfe19, 2 }, { 0xfe20, 0xfe2f, 0 }, { 0xfe30, 0xfe6f, 2 },
	{ 0xfeff, 0xfeff, 0 }, { 0xff00, 0xff60, 2 }, { 0xffe0, 0xffe6, 2 },
	{ 0x16fe0, 0x1b2ff, 2 }, { 0x1f004, 0x1f004, 2 }, { 0x1f0cf, 0x1f0cf, 2 },
	{ 0x1f18e, 0x1f18e, 2 }, { 0x1f191, 0x1f19a, 2 }, { 0x1f200, 0x1f64f, 2 },
	{ 0x1f680, 0x1f6ff, 2 }, { 0x1f7e0, 0x1f7f0, 2 }, { 0x1f900, 0x1f9ff, 2 },
	{ 0x1fa70, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 }, { 0xe0001, 0xe01ef, 0 },
};

static int term_compare_block(const void *code, const void *block)
{
	const struct term_block *b = block;

	return *(const uint32_t *)code < b->from ? -1 : *(const uint32_t *)code > b->to;
}

static unsigned term_width(uint32_t code)
{
	const struct term_block *b = code < term_blocks[0].from ? NULL
		: bsearch(&code, term_blocks, COUNT_OF(term_blocks), sizeof(term_blocks[0]),
			  term_compare_block);

	return b ? b->width : 1;
}

static bool term_put_character(struct term *t, const char *text, size_t at, size_t len)
{
	unsigned width = term_width(utf8_code_point(text + at, len));

	if (!width && screen_combine(&t->screen, at, len))
		return true;
	return term_put(t, (uint32_t)at, len, width ? width : 1);
}

/* A control character; those that show nothing go. False: there is no room. */
static bool term_control(struct term *t, char c, size_t at)
{
	struct screen *s = &t->screen;

	switch (c) {
	case '\n':
	case '\v':
	case '\f': return screen_line_feed(s, at + 1);
	case '\t': return screen_tab(s, (uint32_t)at);
	case '\r': s->col = 0; break;
	case '\b': screen_move(s, 0, -1); break;
	case CTRL('N'): t->shifted = true; break;
	case CTRL('O'): t->shifted = false; break;
	default: break;
	}
	return true;
}

/* ---- text ---- */

/* The bytes of the character or sequence at @at; 0: it is unfinished. */
static size_t term_unit(const char *text, size_t len, size_t at, enum utf8_kind *kind)
{
	size_t used = 1;

	*kind = UTF8_VALID;
	if (text[at] == ESC || term_is_c1(text + at, len - at))
		return term_sequence_end(text + at, len - at);
	if ((unsigned char)text[at] < 0x80)
		return 1;
	*kind = utf8_next(text + at, len - at, &used);
	return *kind == UTF8_PARTIAL ? 0 : used;
}

/* Draw ASCII characters, most of all text, at once as far as that goes. Returns how many. */
static size_t term_draw_plain(struct term *t, const char *text, size_t len, size_t at)
{
	size_t n = 0;

	if (t->lines[t->shifted])
		return 0;
	while (n < len && n < RUN_MAX && text[at + n] >= ' ' && text[at + n] <= '~')
		n++;
	n = n ? screen_put_run(&t->screen, at, n) : 0;
	if (n)
		t->last = (struct cell){ .at = (uint32_t)(at + n - 1), .len = 1, .width = 1 };
	return n;
}

/* Draw the character or sequence of @len bytes at @at. False: there is no room. */
static bool term_draw_unit(struct term *t, const char *text, size_t at, size_t len,
			   enum utf8_kind kind)
{
	unsigned char c = (unsigned char)text[at];

	if (kind != UTF8_VALID)
		return term_put(t, REPLACEMENT, 0, 1);
	if (c == ESC || term_is_c1(text + at, len))
		return term_do_sequence(t, text + at, len, at);
	if (c >= 0x80)
		return term_put_character(t, text, at, len);
	if (c < ' ' || c == DEL)
		return term_control(t, (char)c, at);
	return term_put_ascii(t, (char)c, at);
}

/* The text ends within a character, which shows as U+FFFD, or within a sequence, which does not. */
static void term_draw_rest(struct term *t, enum utf8_kind kind)
{
	if (kind == UTF8_PARTIAL)
		t->full = !term_put(t, REPLACEMENT, 0, 1);
}

size_t term_draw(struct term *t, const char *text, size_t len, size_t stop, size_t hold)
{
	enum utf8_kind kind;
	size_t at = 0, unit;

	t->screen.text = text;
	for (; at < len && at < stop && !t->full; at += unit) {
		unit = term_draw_plain(t, text, (stop < len ? stop : len) - at, at);
		if (unit)
			continue;
		unit = term_unit(text, len, at, &kind);
		if (!unit) {
			if (len - at <= hold)
				return at;
			term_draw_rest(t, kind);
			return t->full ? at : len;
		}
		if (at && at + unit > stop)
			return at;
		t->full = !term_draw_unit(t, text, at, unit, kind);
		if (t->full)
			return at;
		t->full = t->screen.work > SCREEN_WORK;
	}
	return at;
}

void term_begin(struct term *t, struct screen_size size, size_t json_max)
{
	*t = (struct term){ .full = false };
	screen_begin(&t->screen, size, json_max);
}

void term_end(struct term *t)
{
	screen_end(&t->screen);
}

size_t term_strip(char *text, size_t len)
{
	size_t to = 0, end;

	for (size_t at = 0; at < len; at += end) {
		end = 1;
		if (text[at] == ESC)
			end = term_sequence_end(text + at, len - at);
		else
			text[to++] = text[at];
		if (!end)
			break; /* the rest is unfinished */
	}
	return to;
}

bool term_is_silent(const char *text, size_t len)
{
	bool silent = true;
	struct term t;

	term_begin(&t, (struct screen_size){ 0, 0 }, SIZE_MAX);
	term_draw(&t, text, len, len, len);
	for (size_t i = 0; i < t.screen.count && silent; i++)
		silent = !t.screen.rows[i].drawn;
	term_end(&t);
	return silent;
}

void term_clean(const char *text, size_t len, struct buf *out)
{
	struct term t;

	term_begin(&t, (struct screen_size){ 0, 0 }, out->max);
	term_draw(&t, text, len, len, 0);
	screen_write(&t.screen, 0, t.screen.count, out);
	term_end(&t);
}
