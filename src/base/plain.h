/*
 * plain - runs of plain bytes: printable ASCII that a JSON string holds as it is.
 *
 * For: passing over and copying long strings eight bytes at a time, because most text is plain.
 * Everything else in a string (quotes, escapes, controls, characters beyond ASCII) is the caller's.
 */
#ifndef PROCPEN_BASE_PLAIN_H
#define PROCPEN_BASE_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_EACH_BYTE(n) (UINT64_C(0x0101010101010101) * (n))

/* Printable ASCII other than quote and backslash? (0x7f needs no escape: RFC 8259, section 7.) */
static inline bool plain_byte(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The high bit of each byte of @v that is not plain, up to the first one at least. */
static inline uint64_t plain_others(uint64_t v)
{
	uint64_t quote, backslash, below, zero;

	quote = v ^ PLAIN_EACH_BYTE('"');
	backslash = v ^ PLAIN_EACH_BYTE('\\');
	/* The high bit of a byte of x - EACH(n) is set where x < n, given no high bit in x. A byte
	 * that borrows spoils only those after it. */
	below = v - PLAIN_EACH_BYTE(0x20);
	zero = (quote - PLAIN_EACH_BYTE(1)) | (backslash - PLAIN_EACH_BYTE(1));
	return (v | below | zero) & PLAIN_EACH_BYTE(0x80);
}

/* How many of the next eight bytes are plain before one that is not: 0 to 8. */
static inline size_t plain_of_eight(const char *s)
{
	uint64_t v, other;

	memcpy(&v, s, sizeof(v));
	other = plain_others(le64toh(v));
	return other ? (size_t)__builtin_ctzll(other) / 8 : 8;
}

/* The number of plain bytes at the start of @s. */
static inline size_t plain_length(const char *s, size_t len)
{
	size_t at = 0, n = 8;

	for (; n == 8 && len - at >= 8; at += n)
		n = plain_of_eight(s + at);
	while (n == 8 && at < len && plain_byte((unsigned char)s[at]))
		at++;
	return at;
}

/*
 * Copy the plain bytes at the start of @s to @to, which has room for @len bytes: copies whole words
 * before it checks them, the last one over the end of the one before. Returns their number.
 */
static inline size_t plain_copy(char *to, const char *s, size_t len)
{
	size_t at = 0, n;

	while (len >= 8) {
		memcpy(to + at, s + at, 8);
		n = plain_of_eight(s + at);
		at += n;
		if (n < 8 || at == len)
			return at;
		at = at < len - 8 ? at : len - 8;
	}
	for (; at < len && plain_byte((unsigned char)s[at]); at++)
		to[at] = s[at];
	return at;
}

#endif
