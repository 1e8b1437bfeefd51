#include "base/jsonc.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json_token.h"
#include "base/mem.h"
#include "base/utf8.h"

size_t jsonc_skip_comment(const char *text, size_t len, size_t at)
{
	const char *end;

	if (at + 1 >= len || text[at] != '/')
		return at;
	if (text[at + 1] == '/') {
		end = memchr(text + at, '\n', len - at);
		return end ? (size_t)(end - text) : len;
	}
	if (text[at + 1] != '*')
		return at;
	end = memmem(text + at + 2, len - at - 2, "*/", 2);
	return end ? (size_t)(end - text) + 2 : at;
}

char *jsonc_blank(const char *text, size_t len, bool commas)
{
	char *plain = mem_strndup(text, len);
	size_t comma = len;

	for (size_t at = 0; at < len;) {
		size_t end = jsonc_skip_comment(plain, len, at);

		if (end > at) {
			for (; at < end; at++)
				if (plain[at] != '\n')
					plain[at] = ' ';
			continue;
		}
		if (plain[at] == '"') {
			at = json_token_skip_string(plain, len, at);
			comma = len;
			continue;
		}
		if (commas && (plain[at] == '}' || plain[at] == ']') && comma < len)
			plain[comma] = ' ';
		if (!strchr(" \t\r\n", plain[at]))
			comma = plain[at] == ',' ? at : len;
		at++;
	}
	return plain;
}

struct jsonc_place jsonc_place(const char *text, size_t at)
{
	struct jsonc_place place = { .line = 1, .column = 1 };
	size_t used;

	for (size_t i = utf8_bom(text, at); i < at; i += used) {
		utf8_next(text + i, at - i, &used);
		place.column = text[i] == '\n' ? 1 : place.column + 1;
		place.line += text[i] == '\n';
	}
	return place;
}

/* Where the token of @plain begins whose end jansson reports. No token spans two lines. */
static size_t jsonc_token_start(const char *plain, size_t len, size_t end)
{
	size_t at = end, next;

	while (at && plain[at - 1] != '\n')
		at--;
	for (; at < end; at = next) {
		next = at + 1;
		if (plain[at] == '"')
			next = json_token_skip_string(plain, len, at);
		else if (isalnum((unsigned char)plain[at]))
			while (next < len && (isalnum((unsigned char)plain[next]) ||
					      strchr("+-._", plain[next])))
				next++;
		if (next >= end)
			return at;
	}
	return end;
}

/* What jansson found, in words of ours where its own are those of a parser. */
static void jsonc_explain(const json_error_t *error, char why[JSONC_WHY_SIZE])
{
	const char *near = strstr(error->text, " near ");

	snprintf(why, JSONC_WHY_SIZE, "%.150s", error->text);
	if (json_error_code(error) == json_error_stack_overflow)
		snprintf(why, JSONC_WHY_SIZE, "nested too deep");
	if (json_error_code(error) == json_error_null_character)
		snprintf(why, JSONC_WHY_SIZE, "a NUL (\\u0000) in a string");
	if (json_error_code(error) == json_error_duplicate_key)
		snprintf(why, JSONC_WHY_SIZE, JSONC_DUPLICATE "%.130s", near ? near : "");
}

json_t *jsonc_parse(const char *text, size_t len, char **plain, struct jsonc_place *at,
		    char why[JSONC_WHY_SIZE])
{
	const char *nul = memchr(text, '\0', len); /* jansson accepts one after a number */
	json_error_t error;
	json_t *value;

	*plain = jsonc_blank(text, len, true);
	memset(*plain, ' ', utf8_bom(text, len));
	if (nul) {
		snprintf(why, JSONC_WHY_SIZE, "a NUL byte");
		*at = jsonc_place(text, (size_t)(nul - text));
		return NULL;
	}
	value = json_loadb(*plain, len, JSON_REJECT_DUPLICATES, &error);
	if (value)
		return value;
	jsonc_explain(&error, why);
	*at = jsonc_place(text, jsonc_token_start(*plain, len, (size_t)error.position));
	return NULL;
}
