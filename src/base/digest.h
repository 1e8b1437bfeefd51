/*
 * digest - SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), over nettle.
 *
 * For: tokens that leave the program and must come back unchanged, and digests
 * of what they stand for.
 */
#ifndef PROCPEN_BASE_DIGEST_H
#define PROCPEN_BASE_DIGEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define DIGEST_SIZE 32
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1) /* in hex, with a NUL */

/* Digest of @len bytes. */
void digest_bytes(const void *bytes, size_t len, unsigned char out[DIGEST_SIZE]);
void digest_text(const void *bytes, size_t len, char out[DIGEST_TEXT_SIZE]);

/* Digest of all of @args, which ends with NULL, each with its NUL. */
void digest_args(const char *const *args, char out[DIGEST_TEXT_SIZE]);

/*
 * Digest of @value in one spelling: compact, members sorted. Returns 0, or -1 if that has more than
 * @max bytes.
 */
int digest_json(const json_t *value, size_t max, unsigned char out[DIGEST_SIZE]);

/* Keyed digest of @len bytes. A key longer than 64 bytes is digested first, as the RFC says. */
void digest_sign(const void *key, size_t key_len, const void *bytes, size_t len,
		 unsigned char out[DIGEST_SIZE]);

/* Compare @len bytes in a time that does not depend on where they differ. */
bool digest_equal(const void *a, const void *b, size_t len);

/* Write @len bytes as lower-case hex with a NUL: @out holds 2 * len + 1. */
void digest_hex(const unsigned char *bytes, size_t len, char *out);

/* Read exactly 2 * @len lower-case hex digits. Returns 0, or -1 for any other text. */
int digest_unhex(const char *text, unsigned char *bytes, size_t len);

#endif
