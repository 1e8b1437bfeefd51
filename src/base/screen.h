/*
 * screen - what text draws: rows of cells under a cursor, as a terminal has them, and above them
 * the rows that have scrolled off.
 *
 * For: base/term.h, which reads the text, and its callers, which take the result. A cell refers to
 * its bytes in the text, so the text must live as long as the screen.
 *
 * Differs from a terminal's screen where a reader wants it to: what scrolls off stays; a row that a
 * full one goes on in is the same line; rows that only the cursor has passed are left out; the
 * alternate screen begins below what was there, and its last picture stays when it ends.
 *
 * Not libvterm: it has a screen of fixed size, with a buffer of rows that scroll off, and no notion
 * of which rows a program has drawn, which lines go on, or where in its input a page may end.
 *
 * Refuses to: take more than @json_max bytes as JSON; a drawing that would is not done, and says
 * so. SCREEN_WORK bounds its time and memory.
 *
 * Ownership: the struct lives in the caller's memory; screen_end() frees what it holds.
 */
#ifndef PROCPEN_BASE_SCREEN_H
#define PROCPEN_BASE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SCREEN_WORK (1u << 18) /* cells and rows made, moved or erased beside those drawn */

/* Of a terminal; 0: not known, lines have no width and the cursor reaches back 1,000 rows. */
struct screen_size {
	uint16_t cols, rows;
};

struct cell {
	uint32_t at;   /* of its bytes in the text; with len 0 its code point: ASCII or U+FFFD */
	uint8_t len;
	uint8_t width; /* columns; 0: the character before it reaches over it */
	bool blank;    /* nothing was drawn here */
};

struct screen_row {
	struct cell *cells;
	uint32_t len, room;
	bool drawn; /* it is a part of the text */
	bool joins; /* it goes on the row above */
};

/* A place where the text may be cut: nothing behind @at has changed a row before @row. */
struct screen_cut {
	size_t row, at;
	size_t json; /* of the rows before */
};

struct screen {
	const char *text;
	struct screen_row *rows;
	size_t count, room;
	size_t top;          /* the first row that the cursor reaches */
	size_t row, col;     /* the cursor */
	size_t cols, height;
	size_t first, last;  /* rows [first, last) of the screen scroll; last 0: all */
	size_t saved_row, saved_col;
	bool alternate;
	bool no_wrap;        /* the last column is drawn over where a full row would go on */
	size_t json, json_max, work;
	struct screen_cut *cuts;
	size_t cut_count, cut_room;
};

void screen_begin(struct screen *s, struct screen_size size, size_t json_max);
void screen_end(struct screen *s);

/* Draw @c at the cursor, which moves behind it. False: there is no room. */
bool screen_put(struct screen *s, const struct cell *c);

/* Draw the @n ASCII characters at @at in the text, in a row that has some already. Returns how
 * many: the next one is for screen_put(). */
size_t screen_put_run(struct screen *s, size_t at, size_t n);

/* Draw @c @n times more. False: there is no room. */
bool screen_repeat(struct screen *s, const struct cell *c, size_t n);

/* Make the character before the cursor longer by @len bytes, which follow it in the text at @at (a
 * combining character). False if they do not. */
bool screen_combine(struct screen *s, size_t at, size_t len);

/* Go to the next tab stop; a TAB at @at in the text fills what is empty there. False: as above. */
bool screen_tab(struct screen *s, uint32_t at);

/* Go over @n tab stops; back if it is negative. */
void screen_go_tabs(struct screen *s, long n);

/* End the line; the text goes on at @at. False: there is no room. */
bool screen_line_feed(struct screen *s, size_t at);

/* Move the cursor: to @row of the screen and @col, or by so many. It stops at the edges. */
void screen_go(struct screen *s, size_t row, size_t col);
void screen_move(struct screen *s, long rows, long cols);
void screen_save(struct screen *s);
void screen_restore(struct screen *s);

/* Erase in the row, or on the screen, as EL and ED (ECMA-48): 0 from the cursor on, 1 up to it, 2
 * all. */
void screen_erase_row(struct screen *s, unsigned what);
void screen_erase(struct screen *s, unsigned what);

/* Cells from the cursor on: insert @n blanks, delete @n, blank @n (ICH, DCH, ECH). */
void screen_insert_cells(struct screen *s, size_t n);
void screen_delete_cells(struct screen *s, size_t n);
void screen_blank_cells(struct screen *s, size_t n);

/* Rows [first, last) of the screen scroll from now on, and the cursor goes home. */
void screen_set_region(struct screen *s, size_t first, size_t last);

/* Scroll them by @n rows: @up, or down. From the cursor on with @here (DL, IL). */
void screen_scroll(struct screen *s, size_t n, bool up, bool here);
void screen_reverse_index(struct screen *s); /* up a row, scrolling down at the first one */

/* The alternate screen begins, or ends; the text goes on at @at. */
void screen_alternate(struct screen *s, bool on, size_t at);

/* The last cut up to @at with at most @json bytes before it; all 0 if there is none. */
struct screen_cut screen_cut_before(const struct screen *s, size_t at, size_t json);

/* Add the text of rows [@from, @end). The last one is a whole line if the cursor is below it. */
void screen_write(const struct screen *s, size_t from, size_t end, struct buf *out);

#endif
