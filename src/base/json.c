/*
 * jansson stops at the first fault. If that fault violates only one of our own rules
 * (a duplicate, a NUL in a name, a number out of range, and a lone surrogate,
 * which jansson calls a syntax error), the text is parsed a second time without the
 * rule, because text that is also malformed further on must be reported as malformed.
 *
 * The raw walkers below rely on that: they see valid JSON, so finding the end of a value needs no
 * more than strings and brackets. A text with too many values is not parsed and may be anything:
 * there they find something or nothing, within its bounds.
 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/json_long.h"
#include "base/mem.h"

#define WHY_SIZE 160
#define BOM "\xef\xbb\xbf"
#define ESCAPE_LEN 6 /* of \\uhhhh */

static size_t json_text_bom_len(const char *text, size_t len)
{
	return len >= 3 && !memcmp(text, BOM, 3) ? 3 : 0;
}

/* Measure what parsing @text will cost without building anything: its depth, and how many values it
 * has. */
static void json_text_measure(const char *text, size_t len, int *depth_max, size_t *values)
{
	int depth = 0;

	*depth_max = 0;
	*values = 1;
	for (size_t at = 0; at < len; at++) {
		switch (text[at]) {
		case '"':
			at = json_long_skip(text, len, at) - 1;
			break;
		case '[':
		case '{':
			if (++depth > *depth_max)
				*depth_max = depth;
			++*values;
			break;
		case ',':
			++*values;
			break;
		case ']':
		case '}':
			depth--;
			break;
		}
	}
}

static bool json_text_is_our_rule(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);

	return code == json_error_duplicate_key || code == json_error_null_byte_in_key ||
	       code == json_error_numeric_overflow ||
	       !strncmp(error->text, "invalid Unicode '", strlen("invalid Unicode '"));
}

static size_t json_text_skip_digits(const char *text, size_t at)
{
	while (text[at] >= '0' && text[at] <= '9')
		at++;
	return at;
}

/* Length of the number at the start of @text (NUL-terminated); 0 if there is none. */
static size_t json_text_number_len(const char *text)
{
	size_t at = text[0] == '-', start = at, digits;

	at = text[at] == '0' ? at + 1 : json_text_skip_digits(text, at);
	if (at == start)
		return 0;
	if (text[at] == '.') {
		digits = json_text_skip_digits(text, at + 1);
		if (digits == at + 1)
			return 0;
		at = digits;
	}
	if (text[at] == 'e' || text[at] == 'E') {
		start = at + 1 + (text[at + 1] == '+' || text[at + 1] == '-');
		digits = json_text_skip_digits(text, start);
		if (digits == start)
			return 0;
		at = digits;
	}
	return at;
}

static bool json_text_out_of_range(const char *number, size_t len)
{
	errno = 0;
	if (memchr(number, '.', len) || memchr(number, 'e', len) || memchr(number, 'E', len))
		return isinf(strtod(number, NULL));
	strtoll(number, NULL, 10);
	return errno == ERANGE;
}

/* The code unit of the escape \\uhhhh at the start of @text (at least six bytes), or -1. */
static long json_text_code_unit(const char *text)
{
	char hex[5] = { 0 }, *end;
	long unit;

	if (text[0] != '\\' || text[1] != 'u')
		return -1;
	memcpy(hex, text + 2, 4);
	unit = strtol(hex, &end, 16);
	return end == hex + 4 && hex[0] != '+' && hex[0] != '-' && hex[0] != ' ' ? unit : -1;
}

static bool json_text_is_high(long unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool json_text_is_low(long unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/*
 * Replace every escaped NUL and every lone surrogate in the string at @at by an escaped space.
 * Returns the offset after the string.
 */
static size_t json_text_defuse_string(char *text, size_t len, size_t at)
{
	size_t end = json_long_skip(text, len, at);
	long unit;

	for (at++; at + ESCAPE_LEN < end; at++) {
		if (text[at] != '\\')
			continue;
		unit = json_text_code_unit(text + at);
		if (json_text_is_high(unit) && at + 2 * ESCAPE_LEN < end &&
		    json_text_is_low(json_text_code_unit(text + at + ESCAPE_LEN))) {
			at += 2 * ESCAPE_LEN - 1;
			continue;
		}
		if (!unit || json_text_is_high(unit) || json_text_is_low(unit))
			memcpy(text + at + 2, "0020", 4);
		at++; /* skip the second byte: an escaped backslash starts no escape */
	}
	return end;
}

/*
 * Is @text valid without our own rules? In a copy of it an escaped NUL or a lone surrogate becomes
 * a space, and a number out of range 0.
 */
static bool json_text_is_valid(const char *text, size_t len)
{
	AUTO_FREE char *copy = mem_strndup(text, len);
	size_t at = 0, number;
	json_t *value;
	bool valid;

	while (at < len) {
		if (copy[at] == '"') {
			at = json_text_defuse_string(copy, len, at);
			continue;
		}
		number = json_text_number_len(copy + at);
		if (number && json_text_out_of_range(copy + at, number)) {
			memset(copy + at, ' ', number);
			copy[at] = '0';
		}
		at += number ? number : 1;
	}
	value = json_loadb(copy, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	valid = value;
	json_decref(value);
	return valid;
}

static void json_text_explain(const json_error_t *error, char why[WHY_SIZE])
{
	/* The precision leaves room for the position. */
	snprintf(why, WHY_SIZE, "%.120s (byte %d)", error->text, error->position);
}

/* Refuse before parsing what would cost too much, and a NUL, which jansson accepts after a number.
 * Returns 0, or -1 with *fault and @why. */
static int json_text_check(const char *text, size_t len, int depth_max, enum json_fault *fault,
			   char why[WHY_SIZE])
{
	size_t values;
	int depth;

	*fault = JSON_MALFORMED;
	json_text_measure(text, len, &depth, &values);
	if (depth > depth_max) {
		snprintf(why, WHY_SIZE, "nested deeper than %d levels", depth_max);
		return -1;
	}
	if (values > JSON_VALUES_MAX) {
		*fault = JSON_TOO_MANY;
		snprintf(why, WHY_SIZE, "more than %d values in one text", JSON_VALUES_MAX);
		return -1;
	}
	if (len && memchr(text, '\0', len)) {
		snprintf(why, WHY_SIZE, "a NUL byte in the text");
		return -1;
	}
	return 0;
}

void json_text_seed(void)
{
	size_t seed;

	/* GRND_NONBLOCK: early in boot; 0 lets jansson find one. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = 0;
	json_object_seed(seed);
}

json_t *json_text_parse(const char *text, size_t len, int depth_max, enum json_fault *fault,
			char why[WHY_SIZE])
{
	size_t bom = json_text_bom_len(text, len);
	json_error_t error;
	json_t *value;

	text += bom;
	len -= bom;
	if (json_text_check(text, len, depth_max, fault, why))
		return NULL;
	value = json_long_parse(text, len, &error);
	if (value) {
		*fault = JSON_OK;
		return value;
	}
	json_text_explain(&error, why);
	if (!json_text_is_our_rule(&error))
		return NULL;
	if (json_text_is_valid(text, len))
		*fault = JSON_REFUSED;
	return NULL;
}

static size_t json_text_skip_space(const char *text, size_t len, size_t at)
{
	while (at < len && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* The offset after the value that starts at @at. */
static size_t json_text_skip_value(const char *text, size_t len, size_t at)
{
	int depth = 0;

	do {
		if (at < len && text[at] == '"') {
			at = json_long_skip(text, len, at);
			continue;
		}
		if (at < len && (text[at] == '{' || text[at] == '[')) {
			depth++;
			at++;
		} else if (at < len && (text[at] == '}' || text[at] == ']')) {
			depth--;
			at++;
		} else if (depth) {
			at++;
		} else {
			while (at < len && !strchr(",]} \t\r\n", text[at]))
				at++;
		}
	} while (depth && at < len);
	return at;
}

/* Does the string token @token (with its quotes) spell @name? It is of letters, so the only escape
 * of a character is \\uhhhh. */
static bool json_text_spells(const char *token, size_t len, const char *name)
{
	size_t at = 1;

	for (; *name && at + 1 < len; name++) {
		bool escaped = token[at] == '\\' && at + ESCAPE_LEN < len;

		if ((escaped ? json_text_code_unit(token + at) : token[at]) != *name)
			return false;
		at += escaped ? ESCAPE_LEN : 1;
	}
	return !*name && at + 1 == len;
}

bool json_raw_next_member(const char *text, size_t len, size_t *pos, struct json_raw_member *m)
{
	size_t at = *pos, key, value;

	if (!at) {
		at = json_text_skip_space(text, len, json_text_bom_len(text, len));
		if (at >= len || text[at] != '{')
			return false;
	}
	/* @at is at the brace or comma before the member, or at the end. */
	key = json_text_skip_space(text, len, at + 1);
	if (key >= len || text[key] != '"')
		return false;
	at = json_long_skip(text, len, key);
	m->name = text + key;
	m->name_len = at - key;
	value = json_text_skip_space(text, len, json_text_skip_space(text, len, at) + 1);
	at = json_text_skip_value(text, len, value);
	m->value = text + value;
	m->value_len = at - value;
	*pos = json_text_skip_space(text, len, at);
	return value < len;
}

const char *json_raw_member(const char *text, size_t len, const char *name, size_t *token_len)
{
	struct json_raw_member m;
	size_t pos = 0;

	while (json_raw_next_member(text, len, &pos, &m))
		if (json_text_spells(m.name, m.name_len, name)) {
			*token_len = m.value_len;
			return m.value;
		}
	return NULL;
}

const char *json_raw_sole_member(const char *text, size_t len, const char *name, size_t *token_len)
{
	const char *token = NULL;
	struct json_raw_member m;
	size_t pos = 0;

	while (json_raw_next_member(text, len, &pos, &m)) {
		if (!json_text_spells(m.name, m.name_len, name))
			continue;
		if (token && (m.value_len != *token_len || memcmp(m.value, token, m.value_len)))
			return NULL;
		token = m.value;
		*token_len = m.value_len;
	}
	return token;
}

const char *json_raw_element(const char *text, size_t len, size_t *pos, size_t *element_len)
{
	size_t at = *pos, start;

	if (!at) {
		at = json_text_skip_space(text, len, json_text_bom_len(text, len));
		if (at >= len || text[at] != '[')
			return NULL;
	}
	/* @at is at the bracket or comma before the element, or at the end. */
	if (at >= len || text[at] == ']')
		return NULL;
	start = json_text_skip_space(text, len, at + 1);
	if (start >= len || text[start] == ']')
		return NULL;
	at = json_text_skip_value(text, len, start);
	*element_len = at - start;
	*pos = json_text_skip_space(text, len, at);
	return text + start;
}

const char *json_get_str(const json_t *object, const char *name, const char *fallback)
{
	const json_t *value = json_object_get(object, name);

	return json_is_string(value) ? json_string_value(value) : fallback;
}

size_t json_get_strlen(const json_t *object, const char *name)
{
	return json_string_length(json_object_get(object, name));
}

int64_t json_get_int(const json_t *object, const char *name, int64_t fallback)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_real(value) && fabs(json_real_value(value)) < 9.2e18)
		return (int64_t)json_real_value(value);
	return fallback;
}

double json_get_num(const json_t *object, const char *name, double fallback)
{
	const json_t *value = json_object_get(object, name);

	return json_is_number(value) ? json_number_value(value) : fallback;
}

bool json_get_bool(const json_t *object, const char *name, bool fallback)
{
	const json_t *value = json_object_get(object, name);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}
