/*
 * jsonw - a small streaming JSON writer.
 *
 * For: answers. Text goes straight from its source into the output buffer,
 * escaped and with invalid UTF-8 repaired on the way (base/utf8.h), so a result
 * never holds a second copy of a process's output.
 * Refuses to: build ill-formed JSON. Nesting errors are bugs and abort. When
 * the buffer is full the text is cut; look at buf.full before using it.
 *
 * With an outline (base/outline.h) it notes what it writes there too, so that a result that is
 * written once can be shown as JSON and as text.
 *
 * Keys are our own ASCII constants and are not escaped.
 */
#ifndef PROCPEN_BASE_JSONW_H
#define PROCPEN_BASE_JSONW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/outline.h"

#define JSONW_DEPTH_MAX 16

struct jsonw {
	struct buf *out;
	int depth;
	bool need_comma[JSONW_DEPTH_MAX];
	char closer[JSONW_DEPTH_MAX]; /* '}' or ']' */
	bool in_string;
	struct outline *outline; /* of the value that is written; or NULL */
};

/* Start writing one value at the end of @out. */
void jsonw_init(struct jsonw *w, struct buf *out);

/* Containers. @key is NULL inside arrays and at the root, for these and all values below. */
void jsonw_object(struct jsonw *w, const char *key);
void jsonw_end_object(struct jsonw *w);
void jsonw_array(struct jsonw *w, const char *key);
void jsonw_end_array(struct jsonw *w);

/* Scalars. jsonw_str(): a C string, NULL writes null. jsonw_strn(): @len bytes. */
void jsonw_str(struct jsonw *w, const char *key, const char *text);
void jsonw_strn(struct jsonw *w, const char *key, const char *bytes, size_t len);
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_double(struct jsonw *w, const char *key, double value); /* shortest form; finite only */
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_null(struct jsonw *w, const char *key);

/* A finished JSON text (ours, or dumped by jansson) as the value. */
void jsonw_raw(struct jsonw *w, const char *key, const char *json, size_t len);
void jsonw_json(struct jsonw *w, const char *key, const json_t *value); /* compact dump */

/*
 * A string in pieces: open, any number of jsonw_piece(), close. A character
 * split between two pieces must not happen: callers cut at characters
 * (utf8_cut, utf8_partial_tail); what is left ill-formed becomes U+FFFD.
 */
void jsonw_open_str(struct jsonw *w, const char *key);
void jsonw_piece(struct jsonw *w, const char *bytes, size_t len);

/* A piece that is JSON already: the string @json with its quotes. */
void jsonw_piece_json(struct jsonw *w, const char *json, size_t len);

/* Take back what the open string got since the buffer had @len bytes. Not with an outline. */
void jsonw_cut_str(struct jsonw *w, size_t len);

/* As jsonw_piece(); len % 3 == 0 except in the last piece. */
void jsonw_base64(struct jsonw *w, const void *bytes, size_t len);
void jsonw_close_str(struct jsonw *w);

/* Bytes that @len bytes of text take between the quotes, after repair and escaping. */
size_t jsonw_escaped_size(const char *bytes, size_t len);

/* "2026-11-21T08:00:00.123Z" (ISO 8601, UTC) from CLOCK_REALTIME in ms; 0 writes null. */
void jsonw_time(struct jsonw *w, const char *key, int64_t wall_ms);

#endif
