/*
 * Each long string that is a value becomes "" in a copy of the text. It is found again by its
 * place: strings are counted, member names included, first in the text and then in the parsed
 * value, in which jansson keeps members in the order of the text.
 *
 * Member names stay, because jansson must see duplicates.
 */
#include "base/json_long.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/utf8.h"

#define LONG_BYTES 32 /* of a string with its quotes; a text has at most JSON_VALUES_MAX cuts */
#define ESCAPE_LEN 6    /* of \\uhhhh */
#define FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY)

/* A string that was cut out. */
struct cut {
	size_t at, len; /* between the quotes */
	size_t number;  /* of strings before it */
};

struct json_long {
	const char *text;
	struct buf rest; /* the text without the cuts */
	struct cut *cuts;
	size_t count, next; /* the next to be put back */
	size_t strings;     /* passed so far */
	char *decoded;      /* room for the longest cut */
};

size_t json_long_skip(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"';) {
		size_t plain = plain_length(text + at, len - at);

		at += plain ? plain : text[at] == '\\' ? 2 : 1;
	}
	return at < len ? at + 1 : len;
}

/* ---- cutting ---- */

/* Is the string that ends at @at a member name? */
static bool json_long_is_name(const char *text, size_t len, size_t at)
{
	while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' ||
			    text[at] == '\n'))
		at++;
	return at < len && text[at] == ':';
}

static void json_long_add_cut(struct json_long *l, struct cut cut)
{
	if (!(l->count & (l->count + 1))) /* full: room for 1, 3, 7 ... */
		l->cuts = mem_realloc(l->cuts, 2 * (l->count + 1) * sizeof(*l->cuts));
	l->cuts[l->count++] = cut;
}

/* Fill @l->rest and @l->cuts. Returns the length of the longest cut; 0: there is none. */
static size_t json_long_cut(struct json_long *l, size_t len)
{
	size_t longest = 0, copied = 0, strings = 0, at = 0, end;
	const char *quote;

	while (at < len && (quote = memchr(l->text + at, '"', len - at))) {
		at = (size_t)(quote - l->text);
		end = json_long_skip(l->text, len, at);
		if (end - at >= LONG_BYTES && !json_long_is_name(l->text, len, end)) {
			struct cut cut = { at + 1, end - at - 2, strings };

			json_long_add_cut(l, cut);
			longest = cut.len > longest ? cut.len : longest;
			buf_add(&l->rest, l->text + copied, cut.at - copied);
			copied = end - 1;
		}
		strings++;
		at = end;
	}
	if (longest)
		buf_add(&l->rest, l->text + copied, len - copied);
	return longest;
}

/* ---- decoding ---- */

static int json_long_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code unit of the escape \\uhhhh at the start of @s, or -1. */
static int32_t json_long_code_unit(const char *s, size_t len)
{
	int32_t unit = 0;

	if (len < ESCAPE_LEN || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (size_t i = 2; i < ESCAPE_LEN && unit >= 0; i++) {
		int digit = json_long_hex_digit(s[i]);

		unit = digit < 0 ? -1 : unit << 4 | digit;
	}
	return unit;
}

static size_t json_long_encode(char *to, uint32_t c)
{
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = len; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(lead[len] | c);
	return len;
}

/* \\uhhhh, or two of them. Returns the bytes of @s that it took; 0: half of a surrogate pair, or no
 * digits. */
static size_t json_long_decode_unit(const char *s, size_t len, char **to)
{
	int32_t unit = json_long_code_unit(s, len), low;

	if (unit >= 0xd800 && unit <= 0xdbff) {
		low = json_long_code_unit(s + ESCAPE_LEN, len - ESCAPE_LEN);
		if (low < 0xdc00 || low > 0xdfff)
			return 0;
		unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
		*to += json_long_encode(*to, (uint32_t)unit);
		return 2 * ESCAPE_LEN;
	}
	if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
		return 0;
	*to += json_long_encode(*to, (uint32_t)unit);
	return ESCAPE_LEN;
}

/* Copy the characters beyond ASCII at the start of @s. Returns their bytes; 0: one is invalid. */
static size_t json_long_copy_characters(const char *s, size_t len, char **to)
{
	size_t at = 0, used;

	for (; at < len && (unsigned char)s[at] >= 0x80; at += used)
		if (utf8_next(s + at, len - at, &used) != UTF8_VALID)
			return 0;
	memcpy(*to, s, at);
	*to += at;
	return at;
}

/* Decode what stands at @s and is not plain: an escape, or characters beyond ASCII. Returns the
 * bytes that it took; 0: it may not stand in a string. */
static size_t json_long_decode_special(const char *s, size_t len, char **to)
{
	static const char escapes[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if ((unsigned char)*s >= 0x80)
		return json_long_copy_characters(s, len, to);
	if (*s != '\\' || len < 2)
		return 0;
	if (s[1] == 'u')
		return json_long_decode_unit(s, len, to);
	found = s[1] ? strchr(escapes, s[1]) : NULL;
	if (!found)
		return 0;
	*(*to)++ = bytes[found - escapes];
	return 2;
}

/* The string of @cut, or NULL. Decoded bytes are never more than raw ones. */
static json_t *json_long_decode(struct json_long *l, const struct cut *cut)
{
	const char *s = l->text + cut->at;
	char *to = l->decoded;
	size_t at = 0, used;

	while (at < cut->len) {
		used = plain_copy(to, s + at, cut->len - at);
		to += used;
		at += used;
		while (at < cut->len && !plain_byte((unsigned char)s[at])) {
			used = json_long_decode_special(s + at, cut->len - at, &to);
			if (!used)
				return NULL;
			at += used;
		}
	}
	return json_stringn_nocheck(l->decoded, (size_t)(to - l->decoded));
}

/* ---- putting back ---- */

static bool json_long_fill(struct json_long *l, json_t **value);

static bool json_long_fill_object(struct json_long *l, json_t *object)
{
	bool ok = true;

	for (void *i = json_object_iter(object); i && ok; i = json_object_iter_next(object, i)) {
		json_t *value = json_object_iter_value(i), *filled = value;

		l->strings++; /* the name */
		ok = json_long_fill(l, &filled);
		if (ok && filled != value)
			json_object_iter_set_new(object, i, filled);
	}
	return ok;
}

static bool json_long_fill_array(struct json_long *l, json_t *array)
{
	bool ok = true;

	for (size_t i = 0; i < json_array_size(array) && ok; i++) {
		json_t *value = json_array_get(array, i), *filled = value;

		ok = json_long_fill(l, &filled);
		if (ok && filled != value)
			json_array_set_new(array, i, filled);
	}
	return ok;
}

/* Put back what was cut out of *@value, or replace *@value if it is itself a cut. */
static bool json_long_fill(struct json_long *l, json_t **value)
{
	if (l->next == l->count)
		return true;
	if (json_is_object(*value))
		return json_long_fill_object(l, *value);
	if (json_is_array(*value))
		return json_long_fill_array(l, *value);
	if (!json_is_string(*value) || l->strings++ != l->cuts[l->next].number)
		return true;
	*value = json_long_decode(l, &l->cuts[l->next++]);
	return *value;
}

/* The value of the text, with its long strings put back. NULL: it has none, or something is
 * wrong. */
static json_t *json_long_assemble(struct json_long *l, size_t len)
{
	size_t longest = json_long_cut(l, len);
	json_t *value = longest ? json_loadb(l->rest.data, l->rest.len, FLAGS, NULL) : NULL;
	json_t *filled = value;

	if (!value)
		return NULL;
	l->decoded = mem_realloc(NULL, longest + 8); /* plain_copy() writes whole words */
	if (!json_long_fill(l, &filled))
		filled = NULL;
	if (filled != value)
		json_decref(value);
	return filled;
}

json_t *json_long_parse(const char *text, size_t len, json_error_t *error)
{
	struct json_long l = { .text = text };
	json_t *value = NULL;

	if (len >= LONG_BYTES) {
		buf_init(&l.rest, len);
		value = json_long_assemble(&l, len);
		free(l.decoded);
		free(l.cuts);
		buf_release(&l.rest);
	}
	return value ? value : json_loadb(text, len, FLAGS, error);
}
