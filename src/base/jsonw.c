/*
 * Escaping copies runs: everything that may stand in a JSON string as it is,
 * valid UTF-8 included, goes out in one piece. Eight plain ASCII bytes at a time
 * are recognised by arithmetic on one word, which is what most output is.
 */
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

void jsonw_init(struct jsonw *w, struct buf *out)
{
	*w = (struct jsonw){ .out = out };
}

/* What comes before a value: a comma, and its key. */
static void before_value(struct jsonw *w, const char *key)
{
	int top = w->depth - 1;

	BUG_IF(w->in_string);
	BUG_IF((key != NULL) != (top >= 0 && w->closer[top] == '}'));
	if (top >= 0) {
		if (w->need_comma[top])
			buf_addc(w->out, ',');
		w->need_comma[top] = true;
	}
	if (key) {
		buf_addc(w->out, '"');
		buf_adds(w->out, key);
		buf_add(w->out, "\":", 2);
	}
}

static void open_container(struct jsonw *w, const char *key, char opener, char closer)
{
	before_value(w, key);
	BUG_IF(w->depth == JSONW_DEPTH_MAX);
	w->need_comma[w->depth] = false;
	w->closer[w->depth] = closer;
	w->depth++;
	buf_addc(w->out, opener);
}

static void close_container(struct jsonw *w, char closer)
{
	BUG_IF(w->in_string || !w->depth || w->closer[w->depth - 1] != closer);
	w->depth--;
	buf_addc(w->out, closer);
}

void jsonw_object(struct jsonw *w, const char *key)
{
	open_container(w, key, '{', '}');
}

void jsonw_end_object(struct jsonw *w)
{
	close_container(w, '}');
}

void jsonw_array(struct jsonw *w, const char *key)
{
	open_container(w, key, '[', ']');
}

void jsonw_end_array(struct jsonw *w)
{
	close_container(w, ']');
}

/* All of the next eight bytes printable ASCII but quote and backslash? */
static bool eight_plain(const char *s)
{
	uint64_t v, quote, backslash, below, zero;

	memcpy(&v, s, sizeof(v));
	quote = v ^ EACH_BYTE('"');
	backslash = v ^ EACH_BYTE('\\');
	/* The high bit of a byte of x - EACH(n) is set where x < n, given no high bit in x. */
	below = v - EACH_BYTE(0x20);
	zero = (quote - EACH_BYTE(1)) | (backslash - EACH_BYTE(1));
	return !((v | below | zero) & EACH_BYTE(0x80));
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Length of the run at the start of @s that needs no change. */
static size_t plain_run(const char *s, size_t len)
{
	size_t at = 0, used;

	while (at < len) {
		if (len - at >= 8 && eight_plain(s + at))
			at += 8;
		else if (is_plain((unsigned char)s[at]))
			at++;
		else if ((unsigned char)s[at] >= 0x80 &&
			 utf8_next(s + at, len - at, &used) == UTF8_VALID)
			at += used;
		else
			break;
	}
	return at;
}

/* What the bytes at @s become, which are not plain; *@used of them. */
static const char *replacement(const char *s, size_t len, size_t *used, char text[8])
{
	static const char letters[][3] = {
		['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
		['\n'] = "\\n", ['\r'] = "\\r",	 ['\t'] = "\\t",
	};
	unsigned char c = (unsigned char)s[0];

	if (c >= 0x80) {
		utf8_next(s, len, used);
		return UTF8_REPLACEMENT;
	}
	*used = 1;
	if (c < COUNT_OF(letters) && letters[c][0])
		return letters[c];
	snprintf(text, 8, "\\u%04x", c);
	return text;
}

/* Escape into @out (or nowhere, when NULL); returns the size of the result. */
static size_t escape(struct buf *out, const char *s, size_t len)
{
	size_t at = 0, size = 0, run, used;
	const char *instead;
	char text[8];

	while (at < len) {
		run = plain_run(s + at, len - at);
		if (run && out)
			buf_add(out, s + at, run);
		at += run;
		size += run;
		if (at == len)
			break;
		instead = replacement(s + at, len - at, &used, text);
		if (out)
			buf_adds(out, instead);
		at += used;
		size += strlen(instead);
	}
	return size;
}

size_t jsonw_escaped_size(const char *bytes, size_t len)
{
	return escape(NULL, bytes, len);
}

void jsonw_open_str(struct jsonw *w, const char *key)
{
	before_value(w, key);
	w->in_string = true;
	buf_addc(w->out, '"');
}

void jsonw_piece(struct jsonw *w, const char *bytes, size_t len)
{
	BUG_IF(!w->in_string);
	escape(w->out, bytes, len);
}

void jsonw_close_str(struct jsonw *w)
{
	BUG_IF(!w->in_string);
	w->in_string = false;
	buf_addc(w->out, '"');
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

void jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	before_value(w, key);
	buf_addf(w->out, "%lld", (long long)value);
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
	before_value(w, key);
	buf_adds(w->out, text);
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	before_value(w, key);
	buf_adds(w->out, value ? "true" : "false");
}

void jsonw_null(struct jsonw *w, const char *key)
{
	before_value(w, key);
	buf_adds(w->out, "null");
}

void jsonw_raw(struct jsonw *w, const char *key, const char *json, size_t len)
{
	before_value(w, key);
	buf_add(w->out, json, len);
}

static int dump_piece(const char *bytes, size_t len, void *out)
{
	return buf_add(out, bytes, len);
}

void jsonw_json(struct jsonw *w, const char *key, const json_t *value)
{
	before_value(w, key);
	json_dump_callback(value, dump_piece, w->out, JSON_COMPACT | JSON_ENCODE_ANY);
}

void jsonw_base64(struct jsonw *w, const void *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const unsigned char *s = bytes;
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
	buf_commit(w->out, (size_t)(to - w->out->data) - w->out->len);
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
