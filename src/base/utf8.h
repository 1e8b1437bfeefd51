/*
 * utf8 - validate, repair and cut UTF-8 (RFC 3629; Unicode 15 section 3.9).
 *
 * Repair replaces every maximal subpart of an ill-formed sequence (Unicode, table 3-8) by one
 * U+FFFD.
 */
#ifndef PROCPEN_BASE_UTF8_H
#define PROCPEN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of sequence at the start of a range of bytes. */
enum utf8_kind {
	UTF8_VALID,   /* one whole character */
	UTF8_INVALID, /* a maximal ill-formed subpart */
	UTF8_PARTIAL, /* the start of a character, cut by the end of the range */
};

/*
 * Classify the first character of @s (@len > 0). *@used: bytes of the character, of the ill-formed
 * subpart, or of the cut character (the rest of the range).
 */
enum utf8_kind utf8_next(const char *s, size_t len, size_t *used);

bool utf8_valid(const char *s, size_t len);

/* The bytes of a byte order mark at the start of @s, 0 or 3. */
size_t utf8_bom(const char *s, size_t len);

/* Bytes at the end of @s that start a character without finishing it (0 to 3). */
size_t utf8_partial_tail(const char *s, size_t len);

/* Continuation bytes at the start of @s (0 to 3): the rest of a character cut before @s. */
size_t utf8_partial_head(const char *s, size_t len);

/* Largest n <= max such that s[0..n) does not end inside a valid character. */
size_t utf8_cut(const char *s, size_t len, size_t max);

/* The code point of the valid character @s of @len bytes. */
uint32_t utf8_code_point(const char *s, size_t len);

/* Is the valid character @s of @len bytes one that is invisible, looks like a plain space, which it
 * is not for a shell, or changes how its neighbours are shown? Controls are. */
bool utf8_is_hidden(const char *s, size_t len);

/* Is @text, in single quotes, one word for a shell and the same to every eye: UTF-8 without hidden
 * characters and single quotes? */
bool utf8_is_shell_word(const char *text);

/* The bytes at the start of @s that are printable ASCII, which utf8_show() only copies. */
size_t utf8_plain_len(const char *s, size_t len);

/*
 * Copy @s to @to with every hidden character as JSON escapes it ("\\u202e", beyond U+FFFF as a
 * surrogate pair) and every ill-formed subpart repaired: what it shows is what it has. For stderr
 * and files that people read. Of JSON text it makes JSON text of the same value. Stops before the
 * first character that does not fit into @size; 6 * @len bytes hold all. Returns the bytes written,
 * without a NUL.
 */
size_t utf8_show(char *to, size_t size, const char *s, size_t len);

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
