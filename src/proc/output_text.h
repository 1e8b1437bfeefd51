/*
 * output_text - stored bytes as text of a reply: trailing lines, and pages.
 *
 * Both cut at characters, repair invalid UTF-8 (base/utf8.h) and stay within an
 * encoded size, because one raw byte can become six in JSON.
 */
#ifndef PROCPEN_PROC_OUTPUT_TEXT_H
#define PROCPEN_PROC_OUTPUT_TEXT_H

#include "base/jsonw.h"
#include "proc/output.h"

struct output_tail {
	uint64_t lines;
	size_t max_bytes;   /* raw */
	size_t max_encoded; /* after escaping */
	bool final;         /* no more bytes will come: an unfinished character is written too */
};

/*
 * Write the trailing lines as the string member @key; the end is kept when a
 * bound cuts. A trailing newline ends the last line, it does not start one.
 * Returns true when the stream holds more than was written (truncated).
 */
bool output_write_tail(const struct output *o, struct jsonw *w, const char *key,
		       const struct output_tail *tail);

struct output_page {
	uint64_t offset;     /* in: wanted; out: where the page really starts */
	uint64_t next;       /* out: offset of the next page */
	size_t max_bytes;    /* in: raw */
	size_t max_encoded;  /* in: after encoding */
	bool base64;         /* in: raw bytes as base64, else text */
	bool clean;          /* in: without terminal escapes and redrawn lines (text only) */
	bool final;          /* in: no more bytes will come; an unfinished character is then
			      * written as U+FFFD */
	size_t encoded;      /* out: bytes between the quotes */
};

/* Write one page as the string member @key. Makes progress whenever bytes are kept at the offset
 * (one whole character may pass max_bytes), except for an unfinished character of a live stream. */
void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page);

/* Absolute offset where the last @lines lines begin (kept bytes only; never inside the hole). */
uint64_t output_tail_offset(const struct output *o, uint64_t lines);

#endif
