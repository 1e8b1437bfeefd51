/*
 * The raw walkers see valid JSON, which json_text_parse() has accepted, so finding the end of a
 * value needs no more than strings and brackets. A text with too many values is not parsed to its
 * end and may be anything: there they find something or nothing, within its bounds.
 */
#include "base/json.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "base/json_token.h"
#include "base/utf8.h"

#define FEW_MEMBERS 4

void json_text_seed(void)
{
	size_t seed;

	/* GRND_NONBLOCK: early in boot; 0 lets jansson find one. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = 0;
	json_object_seed(seed);
}

static bool json_text_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t json_text_skip_space(const char *text, size_t len, size_t at)
{
	while (at < len && json_text_is_space(text[at]))
		at++;
	return at;
}

/* The offset after the value that starts at @at. */
static size_t json_text_skip_value(const char *text, size_t len, size_t at)
{
	int depth = 0;

	do {
		if (at < len && text[at] == '"') {
			at = json_token_skip_string(text, len, at);
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
			while (at < len && text[at] && text[at] != ',' && text[at] != ']' &&
			       text[at] != '}' && !json_text_is_space(text[at]))
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
		bool escaped = token[at] == '\\' && at + JSON_ESCAPE_LEN < len;

		if ((escaped ? json_token_unit(token + at, len - at) : token[at]) != *name)
			return false;
		at += escaped ? JSON_ESCAPE_LEN : 1;
	}
	return !*name && at + 1 == len;
}

bool json_raw_next_member(const char *text, size_t len, size_t *pos, struct json_raw_member *m)
{
	size_t at = *pos, key, value;

	if (!at) {
		at = json_text_skip_space(text, len, utf8_bom(text, len));
		if (at >= len || text[at] != '{')
			return false;
	}
	/* @at is at the brace or comma before the member, or at the end. */
	key = json_text_skip_space(text, len, at + 1);
	if (key >= len || text[key] != '"')
		return false;
	at = json_token_skip_string(text, len, key);
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
		at = json_text_skip_space(text, len, utf8_bom(text, len));
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

/* The member @name. To compare the names of a few takes half as long as jansson's hash. */
static const json_t *json_get(const json_t *object, const char *name)
{
	json_t *o = (json_t *)(uintptr_t)object; /* which an iterator could change */
	const char *key;

	if (json_object_size(object) > FEW_MEMBERS)
		return json_object_get(object, name);
	for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at)) {
		key = json_object_iter_key(at);
		if (*key == *name && !strcmp(key, name))
			return json_object_iter_value(at);
	}
	return NULL;
}

const char *json_get_str(const json_t *object, const char *name, const char *fallback)
{
	const json_t *value = json_get(object, name);

	return json_is_string(value) ? json_string_value(value) : fallback;
}

int64_t json_get_int(const json_t *object, const char *name, int64_t fallback)
{
	const json_t *value = json_get(object, name);

	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_real(value) && fabs(json_real_value(value)) < 9.2e18)
		return (int64_t)json_real_value(value);
	return fallback;
}

double json_get_num(const json_t *object, const char *name, double fallback)
{
	const json_t *value = json_get(object, name);

	return json_is_number(value) ? json_number_value(value) : fallback;
}

bool json_get_bool(const json_t *object, const char *name, bool fallback)
{
	const json_t *value = json_get(object, name);

	return json_is_boolean(value) ? json_is_true(value) : fallback;
}
