/*
 * jsonw - a small streaming JSON writer.
 *
 * For: answers. Text goes straight from its source into the output buffer, escaped and with invalid
 * UTF-8 repaired on the way (base/utf8.h), so a result never holds a second copy of a process's
 * output.
 *
 * Refuses to: build ill-formed JSON. Nesting errors are bugs and abort. A full buffer cuts the
 * text: check buf.full before using it.
 *
 * With an outline (base/outline.h) it records there what it writes, so that a result that is
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
	struct outline *outline; /* records the value being written; or NULL */
};

/* Start writing one value at the end of @out. */
void jsonw_init(struct jsonw *w, struct buf *out);

/* Containers. Here and below @key is NULL inside arrays and at the root. */
void jsonw_object(struct jsonw *w, const char *key);
void jsonw_end_object(struct jsonw *w);
void jsonw_array(struct jsonw *w, const char *key);
void jsonw_end_array(struct jsonw *w);

/* Scalars. jsonw_str(): a C string, NULL writes null. jsonw_strn(): @len bytes. */
void jsonw_str(struct jsonw *w, const char *key, const char *text);
void jsonw_strn(struct jsonw *w, const char *key, const char *bytes, size_t len);
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_int_or_null(struct jsonw *w, const char *key, bool known, int64_t value);
void jsonw_double(struct jsonw *w, const char *key, double value); /* shortest form; finite only */
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_null(struct jsonw *w, const char *key);

/* Write a complete JSON text as the value. */
void jsonw_raw(struct jsonw *w, const char *key, const char *json, size_t len);
void jsonw_take(struct jsonw *w, const char *key, struct buf *json); /* see buf_take() */
void jsonw_json(struct jsonw *w, const char *key, const json_t *value); /* compact dump */

/* Write the members of the object @json, a complete JSON text, as members of the open object. Not
 * with an outline. */
void jsonw_members(struct jsonw *w, const struct buf *json);

/*
 * A string in pieces: open, any number of jsonw_piece(), close. The caller cuts between characters
 * (utf8_cut, utf8_partial_tail); any ill-formed sequence in a piece becomes U+FFFD.
 */
void jsonw_open_str(struct jsonw *w, const char *key);
void jsonw_piece(struct jsonw *w, const char *bytes, size_t len);
void jsonw_piece_str(struct jsonw *w, const char *text);

/* The string @json (with its quotes) as a piece, copied without escaping again. */
void jsonw_piece_json(struct jsonw *w, const char *json, size_t len);

/* Remove from the open string what was written since the buffer had @len bytes. Not with an
 * outline. */
void jsonw_cut_str(struct jsonw *w, size_t len);

/* A piece in base64; len % 3 == 0 except in the last piece. */
void jsonw_base64(struct jsonw *w, const void *bytes, size_t len);
void jsonw_close_str(struct jsonw *w);

/* The size of @len bytes of text after repair and escaping, without quotes. */
size_t jsonw_escaped_size(const char *bytes, size_t len);

/* Write CLOCK_REALTIME in ms as "2026-11-21T08:00:00.123Z" (ISO 8601, UTC); 0 as null. */
void jsonw_time(struct jsonw *w, const char *key, int64_t wall_ms);

#endif
