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
	size_t max_bytes;   /* raw */
	size_t max_encoded; /* after escaping */
	bool final;         /* the stream has ended: write an unfinished character, too */
};

/*
 * Write the trailing lines as the string member @key; a bound cuts their start. A newline at the
 * end ends the last line and does not start another one. Returns true if the stream holds more than
 * was written (truncated).
 */
bool output_write_tail(const struct output *o, struct jsonw *w, const char *key,
		       const struct output_tail *tail);

struct output_page {
	uint64_t offset;     /* in: the wanted start; out: the real one */
	uint64_t next;       /* out: offset of the next page */
	size_t max_bytes;    /* in: raw */
	size_t max_encoded;  /* in: of the JSON between the quotes */
	size_t max_text;     /* in: of the text after repair */
	bool base64;         /* in: write raw bytes as base64, not text */
	bool clean;          /* in: remove terminal escapes and redrawn lines (text only) */
	uint64_t end;        /* in: write no byte from here on, and the last ones in any case, even
			      * if they are a part of a character; 0: the end of the stream */
	bool final;          /* in: the stream has ended: write an unfinished character as U+FFFD */
	size_t encoded, text; /* out: used of max_encoded and max_text */
};

/*
 * Write one page as the string member @key. A bound ends the page after a line if that line ends in
 * the second half of what the bound allows, else after a character; base64 may end at any byte.
 * Every page makes progress while bytes are kept at the offset (one whole character may exceed the
 * bounds), except at an unfinished character of a live stream. With an outline (base/jsonw.h) a
 * bound must be at most 64 KiB.
 */
void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page);

/* Where text up to @end ends: before a character that @end cuts. */
uint64_t output_whole_end(const struct output *o, uint64_t end);

/* Is there anything for a page at @offset? */
bool output_has_page(const struct output *o, uint64_t offset, bool base64, bool final);

/* Absolute offset of the last @lines lines (kept bytes only; never inside the hole). */
uint64_t output_tail_offset(const struct output *o, uint64_t lines);

#endif
