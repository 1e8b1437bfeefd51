/*
 * Table 3-7 of Unicode: the lead byte determines the length and the range of the second byte; all
 * later bytes are 80..BF. The first byte that does not fit ends the maximal subpart and is then
 * checked as a lead byte.
 */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define UTF8_ESCAPE_SIZE 16

static bool utf8_is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* The length of a character by its lead byte (0: not a lead byte), and the range of its second
 * byte. */
static size_t utf8_sequence(unsigned char lead, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	if (lead < 0xe0)
		return 2;
	if (lead == 0xe0)
		*low = 0xa0; /* below: overlong */
	else if (lead == 0xed)
		*high = 0x9f; /* above: surrogates */
	else if (lead == 0xf0)
		*low = 0x90; /* below: overlong */
	else if (lead == 0xf4)
		*high = 0x8f; /* above: beyond U+10FFFF */
	return lead < 0xf0 ? 3 : 4;
}

enum utf8_kind utf8_next(const char *s, size_t len, size_t *used)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned char low, high;
	size_t need = utf8_sequence(u[0], &low, &high);

	*used = 1;
	if (!need)
		return UTF8_INVALID;
	while (*used < need) {
		if (*used == len)
			return UTF8_PARTIAL;
		if (u[*used] < low || u[*used] > high)
			return UTF8_INVALID;
		low = 0x80;
		high = 0xbf;
		++*used;
	}
	return UTF8_VALID;
}

size_t utf8_bom(const char *s, size_t len)
{
	return len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3) ? 3 : 0;
}

bool utf8_valid(const char *s, size_t len)
{
	size_t at = 0, used;

	while (at < len) {
		if (utf8_next(s + at, len - at, &used) != UTF8_VALID)
			return false;
		at += used;
	}
	return true;
}

/* Offset of the last lead byte within 3 bytes of the end; len if there is none. */
static size_t utf8_last_lead(const char *s, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++)
		if (!utf8_is_continuation((unsigned char)s[len - back]))
			return len - back;
	return len;
}

size_t utf8_partial_tail(const char *s, size_t len)
{
	size_t at = utf8_last_lead(s, len), used;

	if (at < len && utf8_next(s + at, len - at, &used) == UTF8_PARTIAL)
		return len - at;
	return 0;
}

size_t utf8_partial_head(const char *s, size_t len)
{
	size_t n = 0;

	while (n < 3 && n < len && utf8_is_continuation((unsigned char)s[n]))
		n++;
	return n;
}

size_t utf8_cut(const char *s, size_t len, size_t max)
{
	size_t at, used;

	if (max >= len)
		return len;
	at = utf8_last_lead(s, max);
	if (at < max && utf8_next(s + at, len - at, &used) == UTF8_VALID && at + used > max)
		return at;
	return max;
}

uint32_t utf8_code_point(const char *s, size_t len)
{
	uint32_t c = (unsigned char)*s;

	if (len == 1)
		return c;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

/* Unicode 15: Default_Ignorable_Code_Point, Zs but U+0020, Zl, Zp, Cc, format controls, and two
 * signs without ink. */
bool utf8_is_hidden(const char *s, size_t len)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{ 0, 0x1f },	      { 0x7f, 0xa0 },	    { 0xad, 0xad },	  { 0x34f, 0x34f },
		{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x1680, 0x1680 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x2000, 0x200f },
		{ 0x2028, 0x202f },   { 0x205f, 0x206f },   { 0x2800, 0x2800 },
		{ 0x3000, 0x3000 },   { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
		{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d159, 0x1d159 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};
	uint32_t c = utf8_code_point(s, len);

	for (size_t i = 0; i < COUNT_OF(ranges); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

/* @code as JSON escapes it: 6 or 12 bytes and a NUL. */
static size_t utf8_escape(uint32_t code, char text[UTF8_ESCAPE_SIZE])
{
	if (code < 0x10000)
		return (size_t)snprintf(text, UTF8_ESCAPE_SIZE, "\\u%04x", (unsigned)code);
	code -= 0x10000;
	return (size_t)snprintf(text, UTF8_ESCAPE_SIZE, "\\u%04x\\u%04x",
				0xd800u | (unsigned)(code >> 10 & 0x3ff),
				0xdc00u | (unsigned)(code & 0x3ff));
}

/* Are all of these printable ASCII? In a form that compilers make a few vector operations of. */
static bool utf8_is_plain_block(const char *s, size_t len)
{
	unsigned char other = 0;

	for (size_t i = 0; i < len; i++)
		other |= (unsigned char)(s[i] - ' ') > '~' - ' ';
	return !other;
}

size_t utf8_plain_len(const char *s, size_t len)
{
	enum { BLOCK = 64 };
	size_t n = 0;

	while (len - n >= BLOCK && utf8_is_plain_block(s + n, BLOCK))
		n += BLOCK;
	while (len - n >= 8 && utf8_is_plain_block(s + n, 8))
		n += 8;
	while (n < len && s[n] >= ' ' && s[n] <= '~')
		n++;
	return n;
}

/* What stands for the first characters of @s, at most @room of plain ones: its text, and the size
 * of both. */
static const char *utf8_shown(const char *s, size_t len, size_t room, size_t *used, size_t *size,
			      char text[UTF8_ESCAPE_SIZE])
{
	*used = *size = utf8_plain_len(s, len < room ? len : room);
	if (*used)
		return s;
	if (utf8_next(s, len, used) != UTF8_VALID) {
		*size = strlen(UTF8_REPLACEMENT);
		return UTF8_REPLACEMENT;
	}
	*size = *used;
	if (!utf8_is_hidden(s, *used))
		return s;
	*size = utf8_escape(utf8_code_point(s, *used), text);
	return text;
}

size_t utf8_show(char *to, size_t size, const char *s, size_t len)
{
	char text[UTF8_ESCAPE_SIZE];
	size_t written = 0, used, shown;

	for (size_t at = 0; at < len; at += used) {
		const char *from = utf8_shown(s + at, len - at, size - written, &used, &shown,
					      text);

		if (shown > size - written)
			break;
		memcpy(to + written, from, shown);
		written += shown;
	}
	return written;
}

bool utf8_is_shell_word(const char *text)
{
	size_t len = strlen(text), used;

	for (size_t at = 0; at < len; at += used)
		if (utf8_next(text + at, len - at, &used) != UTF8_VALID || text[at] == '\'' ||
		    utf8_is_hidden(text + at, used))
			return false;
	return true;
}
