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

#define PART_BYTES 256 /* escaped at once, on the stack */
#define ESCAPED_MAX 6  /* bytes that stand for one */

void jsonw_init(struct jsonw *w, struct buf *out)
{
	*w = (struct jsonw){ .out = out };
}

/* Out of line: few writers have an outline. */
__attribute__((noinline)) static void jsonw_note(struct jsonw *w, const char *key,
						 enum outline_kind kind, int64_t number,
						 size_t json)
{
	outline_open(w->outline, w->depth,
		     &(struct outline_value){ .key = key, .kind = kind, .number = number,
					      .json = json });
}

/*
 * Write what comes before a value of @len bytes, a comma and its key, and record @kind and @number
 * in the outline. Returns the room for the value, which buf_commit_to() ends, or NULL: the buffer
 * is full.
 */
static char *jsonw_begin(struct jsonw *w, const char *key, size_t key_len, size_t len,
			 enum outline_kind kind, int64_t number)
{
	bool comma = w->need_comma[w->depth];
	size_t before = comma + (key ? key_len + 3 : 0);
	char *to;

	BUG_IF(w->in_string);
	BUG_IF((key != NULL) != (w->closer[w->depth] == '}'));
	if (w->outline)
		jsonw_note(w, key, kind, number, w->out->len + before);
	w->need_comma[w->depth] = w->depth > 0;
	to = buf_reserve(w->out, before + len);
	if (!to)
		return NULL;
	if (comma)
		*to++ = ',';
	if (key) {
		*to++ = '"';
		to = mempcpy(to, key, key_len);
		*to++ = '"';
		*to++ = ':';
	}
	return to;
}

/* Write what comes before a value, and its first byte. */
static void jsonw_begin_with(struct jsonw *w, const char *key, char first, enum outline_kind kind)
{
	char *to = jsonw_begin(w, key, jsonw_key_len(key), 1, kind, 0);

	if (to) {
		*to = first;
		buf_commit_to(w->out, to + 1);
	}
}

static void jsonw_end(struct jsonw *w)
{
	if (w->outline)
		outline_close(w->outline, w->depth, w->out->len);
}

/* Write a value that is JSON. */
static void jsonw_put(struct jsonw *w, const char *key, size_t key_len, enum outline_kind kind,
		      int64_t number, const char *json, size_t len)
{
	char *to = jsonw_begin(w, key, key_len, len, kind, number);

	if (to)
		buf_commit_to(w->out, mempcpy(to, json, len));
	jsonw_end(w);
}

static void jsonw_open_container(struct jsonw *w, const char *key, char opener, char closer)
{
	jsonw_begin_with(w, key, opener, opener == '{' ? OUTLINE_OBJECT : OUTLINE_ARRAY);
	BUG_IF(w->depth == JSONW_DEPTH_MAX);
	w->depth++;
	w->need_comma[w->depth] = false;
	w->closer[w->depth] = closer;
}

static void jsonw_close_container(struct jsonw *w, char closer)
{
	BUG_IF(w->in_string || w->closer[w->depth] != closer);
	w->depth--;
	buf_addc(w->out, closer);
	jsonw_end(w);
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
 * as many. Returns the bytes of @s that it took. */
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

/* Over the stack: there is room for the longest, and the buffer gets no more than it needs. */
__attribute__((noinline)) static void jsonw_escape(struct buf *out, const char *s, size_t len)
{
	char escaped[PART_BYTES * ESCAPED_MAX], *end;
	size_t used;

	for (; len && !out->full; s += used, len -= used) {
		end = escaped;
		used = jsonw_escape_part(&end, s, len < PART_BYTES ? len : PART_BYTES, len);
		buf_add(out, escaped, (size_t)(end - escaped));
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
	jsonw_begin_with(w, key, '"', OUTLINE_TEXT);
	w->in_string = true;
}

/* Most text is plain; no other gets shorter. */
void jsonw_piece(struct jsonw *w, const char *bytes, size_t len)
{
	char *to = buf_reserve(w->out, len);
	size_t plain;

	BUG_IF(!w->in_string);
	if (to) {
		plain = plain_copy(to, bytes, len);
		buf_commit_to(w->out, to + plain);
		if (plain < len)
			jsonw_escape(w->out, bytes + plain, len - plain);
	}
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
	jsonw_end(w);
}

/* In one go if it is plain. */
void jsonw_put_strn(struct jsonw *w, const char *key, size_t key_len, const char *bytes, size_t len)
{
	char *to = jsonw_begin(w, key, key_len, len + 2, OUTLINE_TEXT, 0);
	size_t plain;

	if (to) {
		*to++ = '"';
		plain = plain_copy(to, bytes, len);
		to += plain;
		if (plain == len)
			*to++ = '"';
		buf_commit_to(w->out, to);
		if (plain < len) {
			jsonw_escape(w->out, bytes + plain, len - plain);
			buf_addc(w->out, '"');
		}
	}
	if (w->outline)
		outline_add_text(w->outline, bytes, len);
	jsonw_end(w);
}

void jsonw_put_str(struct jsonw *w, const char *key, size_t key_len, const char *text)
{
	if (text)
		jsonw_put_strn(w, key, key_len, text, strlen(text));
	else
		jsonw_put_null(w, key, key_len);
}

/* Without printf, which took a fifth of a list of 1,000 runs. */
void jsonw_put_int(struct jsonw *w, const char *key, size_t key_len, int64_t value)
{
	char text[24], *at = text + sizeof(text);
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	jsonw_put(w, key, key_len, OUTLINE_INT, value, at, (size_t)(text + sizeof(text) - at));
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
	jsonw_raw(w, key, text, strlen(text));
}

void jsonw_put_bool(struct jsonw *w, const char *key, size_t key_len, bool value)
{
	jsonw_put(w, key, key_len, OUTLINE_BOOL, value, value ? "true" : "false", 5 - value);
}

void jsonw_put_null(struct jsonw *w, const char *key, size_t key_len)
{
	jsonw_put(w, key, key_len, OUTLINE_NULL, 0, "null", 4);
}

void jsonw_raw(struct jsonw *w, const char *key, const char *json, size_t len)
{
	jsonw_put(w, key, jsonw_key_len(key), OUTLINE_OTHER, 0, json, len);
}

void jsonw_take(struct jsonw *w, const char *key, struct buf *json)
{
	jsonw_raw(w, key, "", 0); /* its key */
	buf_take(w->out, json);
	jsonw_end(w);
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
	jsonw_raw(w, key, "", 0); /* its key */
	json_dump_callback(value, jsonw_dump_piece, w->out, JSON_COMPACT | JSON_ENCODE_ANY);
	jsonw_end(w);
}

void jsonw_members(struct jsonw *w, const struct buf *json)
{
	BUG_IF(w->in_string || w->outline || w->closer[w->depth] != '}');
	BUG_IF(json->len < 2);
	if (json->len == 2)
		return;
	if (w->need_comma[w->depth])
		buf_addc(w->out, ',');
	w->need_comma[w->depth] = true;
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
