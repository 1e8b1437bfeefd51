#include "base/json_token.h"

#include "base/plain.h"
#include "base/str.h"

size_t json_token_skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"';) {
		size_t plain = plain_length(text + at, len - at);

		at += plain ? plain : text[at] == '\\' ? 2 : 1;
	}
	return at < len ? at + 1 : len;
}

int32_t json_token_unit(const char *s, size_t len)
{
	int32_t unit = 0;

	if (len < JSON_ESCAPE_LEN || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (size_t i = 2; i < JSON_ESCAPE_LEN && unit >= 0; i++) {
		int digit = str_hex_digit(s[i]);

		unit = digit < 0 ? -1 : unit << 4 | digit;
	}
	return unit;
}
