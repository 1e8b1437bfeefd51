/*
 * output_text - writes stored bytes as text of a reply: trailing lines, or a page.
 *
 * Both cut between characters, repair invalid UTF-8 (base/utf8.h) and stay within an encoded size,
 * because one raw byte can take six in JSON.
 */
#ifndef PROCPEN_PROC_OUTPUT_TEXT_H
#define PROCPEN_PROC_OUTPUT_TEXT_H

#include "base/jsonw.h"
#include "proc/output.h"

struct output_tail {
	uint64_t lines;
	size_t max_bytes;   /* of the text, after repair */
	size_t max_encoded; /* after escaping */
	bool final;         /* the stream has ended: write an unfinished character, too */
	bool clean;         /* write the text that a terminal shows (base/term.h) */
	uint64_t from;      /* with clean: nothing before it */
};

/*
 * Write the trailing lines as the string member @key; a bound cuts their start. A newline at the
 * end ends the last line and does not start another one. Returns true if the stream holds more than
 * was written (truncated).
 */
bool output_write_tail(const struct output *o, struct jsonw *w, const char *key,
		       const struct output_tail *tail);

/* Add the trailing lines of the clean text to @text, in any case of the last 64 KiB. Returns the
 * offset where it begins: a guess if one line, or one screen, is longer than @tail allows. */
uint64_t output_clean_tail(const struct output *o, const struct output_tail *tail,
			   struct buf *text);

struct output_page {
	uint64_t offset;     /* in: the wanted start; out: the real one */
	uint64_t next;       /* out: offset of the next page */
	size_t max_bytes;    /* in: raw */
	size_t max_encoded;  /* in: of the JSON between the quotes */
	size_t max_text;     /* in: of the text after repair */
	bool base64;         /* in: write raw bytes as base64, not text */
	bool clean;          /* in: write what a terminal shows (base/term.h; text only) */
	uint64_t end;        /* in: write no byte from here on, and the last ones in any case, even
			      * if they are a part of a character; 0: the end of the stream */
	bool final;          /* in: the stream has ended: write an unfinished character as U+FFFD */
	size_t encoded, text; /* out: used of max_encoded and max_text */
	uint64_t line_end;   /* out: of unchanged text: behind its last newline; 0: it has none */
};

/*
 * Write one page as the string member @key. A bound ends the page after a line if that line ends in
 * the second half of what the bound allows, else after a character; base64 may end at any byte.
 * Every page makes progress while bytes are kept at the offset (one whole character may exceed the
 * bounds), except at an unfinished character of a live stream. With an outline (base/jsonw.h) a
 * bound must be at most 64 KiB.
 *
 * A clean page is drawn on an empty screen of the stream's terminal, from at most 256 KiB. A bound
 * ends it before what is still drawn over, if that leaves anything, and at the end of a live stream
 * an unfinished escape sequence of up to TERM_ESCAPE_MAX waits, too.
 */
void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page);

/* Add the text of a clean page to @text, as output_write_page() does. */
void output_clean_page(const struct output *o, struct output_page *page, struct buf *text);

/* Where text up to @end ends: before a character that @end cuts. */
uint64_t output_whole_end(const struct output *o, uint64_t end);

/* Is there anything to see in a page at page->offset? Reads also base64, clean and final. */
bool output_has_page(const struct output *o, const struct output_page *page);

/* Absolute offset of the last @lines lines (kept bytes only; never inside the hole). */
uint64_t output_tail_offset(const struct output *o, uint64_t lines);

/* Where a page of the last @lines lines begins that takes @max raw bytes (more than
 * TERM_ESCAPE_MAX). If these do not reach to the end because a line is drawn over for so long: at a
 * later redraw, from which they do. */
uint64_t output_tail_page(const struct output *o, uint64_t lines, size_t max, bool clean);

#endif
