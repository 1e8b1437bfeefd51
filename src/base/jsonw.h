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
#include <string.h>

#include "base/buf.h"
#include "base/outline.h"

#define JSONW_DEPTH_MAX 16

struct jsonw {
	struct buf *out;
	int depth;
	bool need_comma[JSONW_DEPTH_MAX + 1]; /* at each depth */
	char closer[JSONW_DEPTH_MAX + 1]; /* '}' or ']'; NUL at the root */
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
#define jsonw_str(w, key, text) jsonw_put_str(w, JSONW_KEY(key), text)
#define jsonw_strn(w, key, bytes, len) jsonw_put_strn(w, JSONW_KEY(key), bytes, len)
#define jsonw_int(w, key, value) jsonw_put_int(w, JSONW_KEY(key), value)
#define jsonw_int_or_null(w, key, known, value) \
	((known) ? jsonw_int(w, key, value) : jsonw_null(w, key))
#define jsonw_bool(w, key, value) jsonw_put_bool(w, JSONW_KEY(key), value)
#define jsonw_null(w, key) jsonw_put_null(w, JSONW_KEY(key))
void jsonw_double(struct jsonw *w, const char *key, double value); /* shortest form; finite only */

/* What these call: the compiler knows the length of a literal key. */
#define JSONW_KEY(key) (key), jsonw_key_len(key)
static inline size_t jsonw_key_len(const char *key)
{
	return key ? strlen(key) : 0;
}
void jsonw_put_str(struct jsonw *w, const char *key, size_t key_len, const char *text);
void jsonw_put_strn(struct jsonw *w, const char *key, size_t key_len, const char *bytes,
		    size_t len);
void jsonw_put_int(struct jsonw *w, const char *key, size_t key_len, int64_t value);
void jsonw_put_bool(struct jsonw *w, const char *key, size_t key_len, bool value);
void jsonw_put_null(struct jsonw *w, const char *key, size_t key_len);

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
