/*
 * One pass over the text. What breaks only a rule of our own (a duplicate, a NUL in a name, a
 * number out of range, half of a surrogate pair) is noted and something else taken for it, and the
 * pass goes on, because text that is also malformed further on must be reported as malformed.
 *
 * jansson's parser looks at each character several times. In a string, most of any text, this one
 * looks at eight bytes at a time (base/plain), and copies only what has an escape.
 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_token.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/utf8.h"

#define WHY_SIZE 160
#define NAME_SHOWN 80 /* bytes */
#define END (-1) /* of the text, where a byte is looked for */

struct json_parse {
	const char *text;
	size_t len, at;
	int depth, depth_max;
	size_t values;
	struct buf decoded; /* the last string that has escapes */
	enum json_fault fault; /* JSON_REFUSED: so far only our own rules are broken */
	char *why;
};

static json_t *json_parse_value(struct json_parse *p);

/* ---- faults ---- */

static void json_parse_explain(struct json_parse *p, enum json_fault fault, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void json_parse_explain(struct json_parse *p, enum json_fault fault, const char *fmt, ...)
{
	va_list ap;

	p->fault = fault;
	va_start(ap, fmt);
	vsnprintf(p->why, WHY_SIZE, fmt, ap);
	va_end(ap);
}

/* Valid JSON that we refuse, if nothing else is wrong. */
static void json_parse_refuse(struct json_parse *p, size_t at, const char *what)
{
	if (p->fault == JSON_OK)
		json_parse_explain(p, JSON_REFUSED, "%s (byte %zu)", what, at + 1);
}

static void json_parse_malformed(struct json_parse *p, size_t at, const char *what)
{
	json_parse_explain(p, JSON_MALFORMED, "%s (byte %zu)", what, at + 1);
}

/* @expected is not what stands here. */
static void json_parse_unexpected(struct json_parse *p, const char *expected)
{
	unsigned char c = p->at < p->len ? (unsigned char)p->text[p->at] : 0;

	if (p->at >= p->len)
		json_parse_explain(p, JSON_MALFORMED, "%s expected, and the text ends", expected);
	else if (c > ' ' && c < 0x7f)
		json_parse_explain(p, JSON_MALFORMED, "%s expected, not %c (byte %zu)", expected, c,
				   p->at + 1);
	else
		json_parse_explain(p, JSON_MALFORMED, "%s expected, not the byte 0x%02x (byte %zu)",
				   expected, c, p->at + 1);
}

/* ---- strings ---- */

static void json_parse_add_character(struct buf *to, uint32_t c)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	char bytes[4];

	for (size_t i = len; i-- > 1; c >>= 6)
		bytes[i] = (char)(0x80 | (c & 0x3f));
	bytes[0] = (char)(lead[len] | c);
	buf_add(to, bytes, len);
}

/* The half of a surrogate pair that comes first, and the other one. */
static bool json_parse_is_high(int32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool json_parse_is_low(int32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* \\uhhhh at @at, or two of them. Returns the bytes that it took; 0: it is none. */
static size_t json_parse_unit(struct json_parse *p, size_t at)
{
	int32_t unit = json_token_unit(p->text + at, p->len - at), low;

	if (unit < 0)
		return 0;
	if (json_parse_is_high(unit)) {
		low = json_token_unit(p->text + at + JSON_ESCAPE_LEN,
				       p->len - at - JSON_ESCAPE_LEN);
		if (json_parse_is_low(low)) {
			unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
			json_parse_add_character(&p->decoded, (uint32_t)unit);
			return 2 * (size_t)JSON_ESCAPE_LEN;
		}
	}
	if (json_parse_is_high(unit) || json_parse_is_low(unit)) {
		json_parse_refuse(p, at, "half of a surrogate pair");
		unit = 0xfffd;
	}
	json_parse_add_character(&p->decoded, (uint32_t)unit);
	return JSON_ESCAPE_LEN;
}

/* The escape at @at. Returns the bytes that it took; 0: it is none. */
static size_t json_parse_escape(struct json_parse *p, size_t at)
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	char c = at + 1 < p->len ? p->text[at + 1] : '\0';
	const char *found = c ? strchr(letters, c) : NULL;
	size_t used = found ? 2 : json_parse_unit(p, at);

	if (found)
		buf_addc(&p->decoded, bytes[found - letters]);
	if (!used)
		json_parse_malformed(p, at, "this is not an escape");
	return used;
}

/* The offset after the bytes from @at on that stand for themselves in a string. */
static size_t json_parse_skip_plain(const struct json_parse *p, size_t at)
{
	size_t used;

	for (;;) {
		at += plain_length(p->text + at, p->len - at);
		if (at == p->len || (unsigned char)p->text[at] < 0x80)
			return at;
		while (at < p->len && (unsigned char)p->text[at] >= 0x80) {
			if (utf8_next(p->text + at, p->len - at, &used) != UTF8_VALID)
				return at;
			at += used;
		}
	}
}

/* Why does the string end at @at, where it should not? */
static void json_parse_bad_string(struct json_parse *p, size_t at)
{
	if (at == p->len)
		json_parse_malformed(p, p->at, "a string does not end"); /* from its quote on */
	else if ((unsigned char)p->text[at] >= 0x80)
		json_parse_malformed(p, at, "invalid UTF-8");
	else
		json_parse_malformed(p, at, "a control character in a string");
}

/* The string whose quote is here: *@bytes lie in the text, or in p->decoded until the next string.
 * Returns 0, or -1. */
static int json_parse_string(struct json_parse *p, const char **bytes, size_t *len)
{
	size_t from = p->at + 1, at = json_parse_skip_plain(p, from), used;

	buf_clear(&p->decoded);
	while (at < p->len && p->text[at] == '\\') {
		buf_add(&p->decoded, p->text + from, at - from);
		used = json_parse_escape(p, at);
		if (!used)
			return -1;
		from = at + used;
		at = json_parse_skip_plain(p, from);
	}
	if (at == p->len || p->text[at] != '"') {
		json_parse_bad_string(p, at);
		return -1;
	}
	*bytes = p->text + from;
	*len = at - from;
	if (from != p->at + 1) { /* there was an escape */
		buf_add(&p->decoded, *bytes, *len);
		*bytes = p->decoded.data;
		*len = p->decoded.len;
	}
	p->at = at + 1;
	return 0;
}

/* ---- numbers ---- */

static size_t json_parse_skip_digits(const struct json_parse *p, size_t at)
{
	while (at < p->len && p->text[at] >= '0' && p->text[at] <= '9')
		at++;
	return at;
}

static bool json_parse_is(const struct json_parse *p, size_t at, const char *one_of)
{
	return at < p->len && p->text[at] && strchr(one_of, p->text[at]);
}

/* The offset after the number that is here; sets @real. p->at: there is none. */
static size_t json_parse_number_end(const struct json_parse *p, bool *real)
{
	size_t start = p->at + (p->text[p->at] == '-'), at, digits;

	at = json_parse_is(p, start, "0") ? start + 1 : json_parse_skip_digits(p, start);
	if (at == start)
		return p->at;
	if (json_parse_is(p, at, ".")) {
		*real = true;
		digits = json_parse_skip_digits(p, at + 1);
		if (digits == at + 1)
			return p->at;
		at = digits;
	}
	if (json_parse_is(p, at, "eE")) {
		*real = true;
		start = at + 1 + json_parse_is(p, at + 1, "+-");
		at = json_parse_skip_digits(p, start);
		if (at == start)
			return p->at;
	}
	return at;
}

static json_t *json_parse_number(struct json_parse *p)
{
	bool real = false;
	size_t end = json_parse_number_end(p, &real), at = p->at;
	char text[64], *number = text;
	AUTO_FREE char *longer = NULL;
	double value = 0;
	long long whole = 0;

	if (end == at) {
		json_parse_malformed(p, at, "this is not a number");
		return NULL;
	}
	/* strtod(3) must not read on */
	if (end - at < sizeof(text))
		*(char *)mempcpy(text, p->text + at, end - at) = '\0';
	else
		number = longer = mem_strndup(p->text + at, end - at);
	p->at = end;
	errno = 0;
	if (real)
		value = strtod(number, NULL);
	else
		whole = strtoll(number, NULL, 10);
	if (real ? isinf(value) : errno == ERANGE) {
		json_parse_refuse(p, at, real ? "a number beyond the range of a double" :
						"an integer outside the signed 64-bit range");
		return json_integer(0);
	}
	return real ? json_real(value) : json_integer(whole);
}

/* ---- values ---- */

/* The next byte that is no white space, or END. */
static int json_parse_next(struct json_parse *p)
{
	while (p->at < p->len && (p->text[p->at] == ' ' || p->text[p->at] == '\n' ||
				  p->text[p->at] == '\r' || p->text[p->at] == '\t'))
		p->at++;
	return p->at < p->len ? (unsigned char)p->text[p->at] : END;
}

/* Pass over the bracket of an array or object. Returns 0, or -1: it is nested too deep. */
static int json_parse_open(struct json_parse *p)
{
	p->at++;
	if (++p->depth <= p->depth_max)
		return 0;
	json_parse_explain(p, JSON_MALFORMED, "nested deeper than %d levels", p->depth_max);
	return -1;
}

/* After an element: is there another one? 1 or 0, past the comma or @closer; -1: neither is
 * here. */
static int json_parse_more(struct json_parse *p, char closer)
{
	int c = json_parse_next(p);

	if (c != ',' && c != closer) {
		json_parse_unexpected(p, closer == ']' ? ", or ]" : ", or }");
		return -1;
	}
	p->at++;
	p->depth -= c == closer;
	return c == ',';
}

static int json_parse_element(struct json_parse *p, json_t *array)
{
	json_t *value = json_parse_value(p);

	return value && !json_array_append_new(array, value) ? 0 : -1;
}

/* A member whose name is read: its value. */
static int json_parse_member_value(struct json_parse *p, json_t *object, const char *name,
				   size_t len, size_t at)
{
	size_t members = json_object_size(object);
	json_t *value;

	if (json_parse_next(p) != ':') {
		json_parse_unexpected(p, "a colon");
		return -1;
	}
	p->at++;
	value = json_parse_value(p);
	if (!value)
		return -1;
	if (memchr(name, '\0', len))
		json_parse_refuse(p, at, "a NUL in a member name");
	if (json_object_setn_new_nocheck(object, name, len, value))
		return -1;
	if (json_object_size(object) == members && p->fault == JSON_OK)
		json_parse_explain(p, JSON_REFUSED, "the member \"%.*s\" occurs twice (byte %zu)",
				   (int)utf8_cut(name, len, NAME_SHOWN), name, at + 1);
	return 0;
}

static int json_parse_member(struct json_parse *p, json_t *object)
{
	AUTO_FREE char *copy = NULL;
	const char *name;
	size_t at, len;

	if (json_parse_next(p) != '"') {
		json_parse_unexpected(p, "a member name in quotes");
		return -1;
	}
	at = p->at;
	if (json_parse_string(p, &name, &len))
		return -1;
	if (name == p->decoded.data) /* the value may have escapes, too */
		name = copy = memcpy(mem_realloc(NULL, len + 1), name, len);
	return json_parse_member_value(p, object, name, len, at);
}

/* An array or object, which is empty so far, with each element that @element reads into it.
 * NULL: something is wrong. */
static json_t *json_parse_container(struct json_parse *p, json_t *container, char closer,
				    int (*element)(struct json_parse *p, json_t *container))
{
	int more = json_parse_open(p) ? -1 : 1;

	if (more > 0 && json_parse_next(p) == closer) {
		p->at++;
		p->depth--;
		return container;
	}
	while (more > 0)
		more = element(p, container) ? -1 : json_parse_more(p, closer);
	if (more == 0)
		return container;
	json_decref(container);
	return NULL;
}

static json_t *json_parse_string_value(struct json_parse *p)
{
	const char *bytes;
	size_t len;

	return json_parse_string(p, &bytes, &len) ? NULL : json_stringn_nocheck(bytes, len);
}

/* Is @word here? Passes over it. */
static bool json_parse_word(struct json_parse *p, const char *word)
{
	size_t len = strlen(word);

	if (p->len - p->at < len || memcmp(p->text + p->at, word, len))
		return false;
	p->at += len;
	return true;
}

static json_t *json_parse_other(struct json_parse *p, int c)
{
	if (c == '-' || (c >= '0' && c <= '9'))
		return json_parse_number(p);
	if (json_parse_word(p, "true"))
		return json_true();
	if (json_parse_word(p, "false"))
		return json_false();
	if (json_parse_word(p, "null"))
		return json_null();
	json_parse_unexpected(p, "a value");
	return NULL;
}

static json_t *json_parse_value(struct json_parse *p)
{
	int c = json_parse_next(p);

	if (++p->values > JSON_VALUES_MAX) {
		json_parse_explain(p, JSON_TOO_MANY, "more than %d values in one text",
				   JSON_VALUES_MAX);
		return NULL;
	}
	if (c == '{')
		return json_parse_container(p, json_object(), '}', json_parse_member);
	if (c == '[')
		return json_parse_container(p, json_array(), ']', json_parse_element);
	return c == '"' ? json_parse_string_value(p) : json_parse_other(p, c);
}

json_t *json_text_parse(const char *text, size_t len, int depth_max, enum json_fault *fault,
			char why[WHY_SIZE])
{
	size_t bom = utf8_bom(text, len);
	struct json_parse p = { .text = text, .len = len, .at = bom, .depth_max = depth_max,
				.why = why };
	json_t *value;

	buf_init(&p.decoded, len);
	value = json_parse_value(&p);
	if (value && json_parse_next(&p) != END)
		json_parse_unexpected(&p, "the end of the text");
	buf_release(&p.decoded);
	if (!value && p.fault == JSON_OK)
		mem_exhausted(); /* jansson had none */
	*fault = p.fault;
	if (p.fault == JSON_OK)
		return value;
	json_decref(value);
	return NULL;
}
