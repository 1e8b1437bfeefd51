/*
 * term - turns what a terminal is sent into the text that a person has seen there.
 *
 * Escape sequences go, and what is drawn over keeps its last state: carriage returns, backspaces,
 * and everything that moves the cursor or erases (ECMA-48, and of xterm(1)'s ctlseqs what programs
 * use), see base/screen.h. The result is valid UTF-8 of printable characters, TAB and newline;
 * ill-formed bytes become U+FFFD.
 */
#ifndef PROCPEN_BASE_TERM_H
#define PROCPEN_BASE_TERM_H

#include "base/screen.h"

#define TERM_ESCAPE_MAX 4096 /* an unfinished escape sequence is waited for up to this length */

struct term {
	struct screen screen;
	bool full;       /* it stopped because a bound of the screen was reached */
	bool lines[2];   /* G0 and G1 draw lines and corners instead of small letters */
	bool shifted;    /* G1 is in use */
	struct cell last; /* the last character drawn */
};

/* Begin with an empty screen, for text that takes at most @json_max bytes as JSON. */
void term_begin(struct term *t, struct screen_size size, size_t json_max);
void term_end(struct term *t);

/*
 * Draw @text: its characters and escape sequences that lie before @stop, the first one in any case.
 * An unfinished one at the end of all @len bytes is left if it has at most @hold bytes. Returns the
 * bytes drawn. Call it once.
 */
size_t term_draw(struct term *t, const char *text, size_t len, size_t stop, size_t hold);

/* Does @text draw nothing, unless more follows it? */
bool term_is_silent(const char *text, size_t len);

/* Remove escape sequences from @text, in place, and nothing else. Returns the new length. */
size_t term_strip(char *text, size_t len);

/* Add the clean text of @text, of lines without a known width, to @out, as far as there is room. */
void term_clean(const char *text, size_t len, struct buf *out);

#endif
