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
	size_t max_encoded;  /* in: between the quotes of its JSON */
	size_t max_text;     /* in: of the text itself, once it is repaired */
	bool base64;         /* in: raw bytes as base64, else text */
	bool clean;          /* in: without terminal escapes and redrawn lines (text only) */
	bool final;          /* in: no more bytes will come; an unfinished character is then
			      * written as U+FFFD */
	size_t encoded, text; /* out: what it took of max_encoded and max_text */
};

/*
 * Write one page as the string member @key. A bound cuts text behind the last line end if that lies
 * in the second half of what the bound allows, else behind a character; base64 is cut at any byte.
 * Makes progress whenever bytes are kept at the offset (one whole character may pass the bounds),
 * except for an unfinished character of a live stream. With an outline (base/jsonw.h) a bound of
 * at most 64 KiB is needed.
 */
void output_write_page(const struct output *o, struct jsonw *w, const char *key,
		       struct output_page *page);

/* Would a page at @offset hold anything? */
bool output_has_page(const struct output *o, uint64_t offset, bool base64, bool final);

/* Absolute offset where the last @lines lines begin (kept bytes only; never inside the hole). */
uint64_t output_tail_offset(const struct output *o, uint64_t lines);

#endif
