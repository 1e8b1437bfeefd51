/*
 * Copies runs of bytes that need no escape, valid UTF-8 included, in one piece. Recognises eight
 * plain ASCII bytes at a time by arithmetic on one word, because most output is plain ASCII.
 */
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/utf8.h"

#define PART_BYTES 1024 /* escaped at once, into room reserved before */
#define SHORT 64        /* most strings are: names, words, paths, times, ids */
#define ESCAPED_MAX 6   /* bytes that stand for one */

void jsonw_init(struct jsonw *w, struct buf *out)
{
	*w = (struct jsonw){ .out = out };
}

static void jsonw_write_key(struct buf *out, const char *key)
{
	size_t len = strlen(key);
	char *to = buf_reserve(out, len + 3);

	if (!to)
		return;
	*to = '"';
	memcpy(to + 1, key, len);
	memcpy(to + 1 + len, "\":", 2);
	buf_commit(out, len + 3);
}

static void jsonw_separate(struct jsonw *w)
{
	bool *need_comma = &w->need_comma[w->depth - 1];

	if (*need_comma)
		buf_addc(w->out, ',');
	*need_comma = true;
}

/* Write what comes before a value: a comma, and its key. */
static void jsonw_before_value(struct jsonw *w, const char *key)
{
	BUG_IF(w->in_string);
	BUG_IF((key != NULL) != (w->depth && w->closer[w->depth - 1] == '}'));
	if (w->depth)
		jsonw_separate(w);
	if (key)
		jsonw_write_key(w->out, key);
}

/* The same, and record @kind and @number in the outline. */
static void jsonw_begin_value(struct jsonw *w, const char *key, enum outline_kind kind,
			      int64_t number)
{
	jsonw_before_value(w, key);
	if (w->outline)
		outline_open(w->outline, w->depth,
			     &(struct outline_value){ .key = key, .kind = kind, .number = number,
						      .json = w->out->len });
}

static void jsonw_end_value(struct jsonw *w)
{
	if (w->outline)
		outline_close(w->outline, w->depth, w->out->len);
}

static void jsonw_open_container(struct jsonw *w, const char *key, char opener, char closer)
{
	jsonw_begin_value(w, key, opener == '{' ? OUTLINE_OBJECT : OUTLINE_ARRAY, 0);
	BUG_IF(w->depth == JSONW_DEPTH_MAX);
	w->need_comma[w->depth] = false;
	w->closer[w->depth] = closer;
	w->depth++;
	buf_addc(w->out, opener);
}

static void jsonw_close_container(struct jsonw *w, char closer)
{
	BUG_IF(w->in_string || !w->depth || w->closer[w->depth - 1] != closer);
	w->depth--;
	buf_addc(w->out, closer);
	jsonw_end_value(w);
}

void jsonw_object(struct jsonw *w, const char *key)
{
	jsonw_open_container(w, key, '{', '}');
}

void jsonw_end_object(struct jsonw *w)
{
	jsonw_close_container(w, '}');
}

void jsonw_array(struct jsonw *w, const char *key)
{
	jsonw_open_container(w, key, '[', ']');
}

void jsonw_end_array(struct jsonw *w)
{
	jsonw_close_container(w, ']');
}

/* Write what stands for the first character or ill-formed sequence of @s, which is not plain, at
 * *@to, and move that behind it. Returns the bytes of @s that it took. */
static size_t jsonw_put_special(char **to, const char *s, size_t len)
{
	static const char letters[256] = {
		['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
	};
	unsigned char c = (unsigned char)*s;
	size_t used = 1;
	bool valid;

	if (c >= 0x80) {
		valid = utf8_next(s, len, &used) == UTF8_VALID;
		*to = mempcpy(*to, valid ? s : UTF8_REPLACEMENT, valid ? used : 3);
		return used;
	}
	*(*to)++ = '\\';
	if (letters[c]) {
		*(*to)++ = letters[c];
		return 1;
	}
	*to = mempcpy(*to, "u00", 3);
	*(*to)++ = (char)('0' + (c >> 4)); /* below 0x20: 0 or 1 */
	*(*to)++ = "0123456789abcdef"[c & 15];
	return 1;
}

/* Escape the characters of @s that begin in its first @part bytes, into room for ESCAPED_MAX times
 * as many and 7 more. Returns the bytes of @s that it took. */
static size_t jsonw_escape_part(char **to, const char *s, size_t part, size_t len)
{
	size_t at = 0, run;

	while (at < part) {
		run = plain_copy(*to, s + at, part - at);
		*to += run;
		for (at += run; at < part && !plain_byte((unsigned char)s[at]);)
			at += jsonw_put_special(to, s + at, len - at);
	}
	return at;
}

static void jsonw_escape(struct buf *out, const char *s, size_t len)
{
	char one[ESCAPED_MAX + 7], *room, *end;
	size_t part, fits, used;

	if (len <= SHORT && len <= out->max - out->len && plain_length(s, len) == len) {
		buf_add(out, s, len);
		return;
	}
	for (; len && !out->full; s += used, len -= used) {
		fits = (out->max - out->len) / sizeof(one);
		part = len < PART_BYTES ? len : PART_BYTES;
		part = part < fits ? part : fits;
		room = end = part ? buf_reserve(out, part * sizeof(one)) : one;
		used = jsonw_escape_part(&end, s, part ? part : 1, len);
		if (part)
			buf_commit(out, (size_t)(end - room));
		else
			buf_add(out, one, (size_t)(end - one));
	}
}

size_t jsonw_escaped_size(const char *bytes, size_t len)
{
	size_t at = 0, total = 0, run;
	char text[ESCAPED_MAX], *end;

	while (at < len) {
		run = plain_length(bytes + at, len - at);
		total += run;
		for (at += run; at < len && !plain_byte((unsigned char)bytes[at]);) {
			end = text;
			at += jsonw_put_special(&end, bytes + at, len - at);
			total += (size_t)(end - text);
		}
	}
	return total;
}

void jsonw_open_str(struct jsonw *w, const char *key)
{
	jsonw_begin_value(w, key, OUTLINE_TEXT, 0);
	w->in_string = true;
	buf_addc(w->out, '"');
}

void jsonw_piece(struct jsonw *w, const char *bytes, size_t len)
{
	BUG_IF(!w->in_string);
	jsonw_escape(w->out, bytes, len);
	if (w->outline)
		outline_add_text(w->outline, bytes, len);
}

void jsonw_piece_str(struct jsonw *w, const char *text)
{
	jsonw_piece(w, text, strlen(text));
}

void jsonw_piece_json(struct jsonw *w, const char *json, size_t len)
{
	BUG_IF(!w->in_string || w->outline || len < 2);
	buf_add(w->out, json + 1, len - 2);
}

void jsonw_cut_str(struct jsonw *w, size_t len)
{
	BUG_IF(!w->in_string || w->outline || len > w->out->len);
	buf_truncate(w->out, len);
}

void jsonw_close_str(struct jsonw *w)
{
	BUG_IF(!w->in_string);
	w->in_string = false;
	buf_addc(w->out, '"');
	jsonw_end_value(w);
}

void jsonw_strn(struct jsonw *w, const char *key, const char *bytes, size_t len)
{
	jsonw_open_str(w, key);
	jsonw_piece(w, bytes, len);
	jsonw_close_str(w);
}

void jsonw_str(struct jsonw *w, const char *key, const char *text)
{
	if (text)
		jsonw_strn(w, key, text, strlen(text));
	else
		jsonw_null(w, key);
}

/* Without printf, which took a fifth of a list of 1,000 runs. */
static void jsonw_digits(struct buf *out, int64_t value)
{
	char text[24], *at = text + sizeof(text);
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	buf_add(out, at, (size_t)(text + sizeof(text) - at));
}

void jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	jsonw_begin_value(w, key, OUTLINE_INT, value);
	jsonw_digits(w->out, value);
	jsonw_end_value(w);
}

void jsonw_int_or_null(struct jsonw *w, const char *key, bool known, int64_t value)
{
	if (known)
		jsonw_int(w, key, value);
	else
		jsonw_null(w, key);
}

void jsonw_double(struct jsonw *w, const char *key, double value)
{
	char text[40];

	BUG_IF(!isfinite(value));
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
			break;
	}
	jsonw_begin_value(w, key, OUTLINE_OTHER, 0);
	buf_adds(w->out, text);
	jsonw_end_value(w);
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	jsonw_begin_value(w, key, OUTLINE_BOOL, value);
	buf_adds(w->out, value ? "true" : "false");
	jsonw_end_value(w);
}

void jsonw_null(struct jsonw *w, const char *key)
{
	jsonw_begin_value(w, key, OUTLINE_NULL, 0);
	buf_adds(w->out, "null");
	jsonw_end_value(w);
}

void jsonw_raw(struct jsonw *w, const char *key, const char *json, size_t len)
{
	jsonw_begin_value(w, key, OUTLINE_OTHER, 0);
	buf_add(w->out, json, len);
	jsonw_end_value(w);
}

void jsonw_take(struct jsonw *w, const char *key, struct buf *json)
{
	jsonw_begin_value(w, key, OUTLINE_OTHER, 0);
	buf_take(w->out, json);
	jsonw_end_value(w);
}

static int jsonw_dump_piece(const char *bytes, size_t len, void *out)
{
	return buf_add(out, bytes, len);
}

void jsonw_json(struct jsonw *w, const char *key, const json_t *value)
{
	if (json_is_string(value) && !w->outline) { /* the most, and faster than jansson */
		jsonw_strn(w, key, json_string_value(value), json_string_length(value));
		return;
	}
	jsonw_begin_value(w, key, OUTLINE_OTHER, 0);
	json_dump_callback(value, jsonw_dump_piece, w->out, JSON_COMPACT | JSON_ENCODE_ANY);
	jsonw_end_value(w);
}

void jsonw_members(struct jsonw *w, const struct buf *json)
{
	BUG_IF(w->in_string || w->outline || !w->depth || w->closer[w->depth - 1] != '}');
	BUG_IF(json->len < 2);
	if (json->len == 2)
		return;
	jsonw_separate(w);
	buf_add(w->out, json->data + 1, json->len - 2);
}

void jsonw_base64(struct jsonw *w, const void *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const unsigned char *s = bytes;
	size_t written;
	char *to;

	BUG_IF(!w->in_string);
	to = buf_reserve(w->out, (len + 2) / 3 * 4);
	if (!to)
		return;
	for (; len >= 3; len -= 3, s += 3) {
		*to++ = digits[s[0] >> 2];
		*to++ = digits[(s[0] & 3) << 4 | s[1] >> 4];
		*to++ = digits[(s[1] & 15) << 2 | s[2] >> 6];
		*to++ = digits[s[2] & 63];
	}
	if (len) {
		unsigned char second = len == 2 ? s[1] : 0;

		*to++ = digits[s[0] >> 2];
		*to++ = digits[(s[0] & 3) << 4 | second >> 4];
		*to++ = len == 2 ? digits[(second & 15) << 2] : '=';
		*to++ = '=';
	}
	written = (size_t)(to - w->out->data) - w->out->len;
	if (w->outline)
		outline_add_text(w->outline, to - written, written);
	buf_commit(w->out, written);
}

void jsonw_time(struct jsonw *w, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (!wall_ms) {
		jsonw_null(w, key);
		return;
	}
	clock_wall_text(wall_ms, text);
	jsonw_str(w, key, text);
}
