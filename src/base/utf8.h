/*
 * utf8 - validate, repair and cut UTF-8 (RFC 3629; Unicode 15 section 3.9).
 *
 * Repair means: every maximal subpart of an ill-formed sequence becomes one
 * U+FFFD ("maximal subpart" as Unicode defines it in table 3-8).
 */
#ifndef PROCPEN_BASE_UTF8_H
#define PROCPEN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* What stands at the start of a byte range. */
enum utf8_kind {
	UTF8_VALID,   /* one whole character */
	UTF8_INVALID, /* a maximal ill-formed subpart */
	UTF8_PARTIAL, /* the range ends inside what may still become a character */
};

/*
 * Look at the first character of @s (@len > 0). *@used: bytes of the character,
 * of the ill-formed subpart, or of the partial sequence (all that is left).
 */
enum utf8_kind utf8_next(const char *s, size_t len, size_t *used);

bool utf8_valid(const char *s, size_t len);

/* Bytes at the end of @s that start a character but do not finish it (0 to 3). */
size_t utf8_partial_tail(const char *s, size_t len);

/*
 * Bytes at the start of @s (0 to 3) that are continuation bytes, that is, the
 * rest of a character cut before @s. Used to start a tail at a character.
 */
size_t utf8_partial_head(const char *s, size_t len);

/* Largest n <= max such that s[0..n) does not end inside a valid character. */
size_t utf8_cut(const char *s, size_t len, size_t max);

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
