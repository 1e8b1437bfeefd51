#include "base/base64.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

static int base64_value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

char *base64_decode(const char *text, size_t len, size_t *out_len)
{
	size_t pad = 0, to = 0;
	uint32_t bits = 0;
	char *out;

	if (len % 4)
		return NULL;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	out = mem_zalloc(len / 4 * 3 + 1);
	for (size_t i = 0; i < len; i++) {
		int value = i >= len - pad ? 0 : base64_value_of(text[i]);

		if (value < 0) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (uint32_t)value;
		if (i % 4 == 3) {
			out[to++] = (char)(bits >> 16);
			out[to++] = (char)(bits >> 8);
			out[to++] = (char)bits;
		}
	}
	*out_len = to - pad;
	return out;
}
