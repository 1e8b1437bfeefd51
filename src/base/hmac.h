/*
 * hmac - HMAC-SHA-256 (RFC 2104, FIPS 180-4) and the plain digest, over libmd.
 *
 * For: tokens that leave the program and must come back unchanged, and digests
 * of what they stand for.
 */
#ifndef PROCPEN_BASE_HMAC_H
#define PROCPEN_BASE_HMAC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define HMAC_SIZE 32

/* Digest of @len bytes. */
void hmac_digest(const void *bytes, size_t len, unsigned char out[HMAC_SIZE]);

/*
 * Digest of @value in one spelling: compact, members sorted. Returns 0, or -1 if that has more than
 * @max bytes.
 */
int hmac_digest_json(const json_t *value, size_t max, unsigned char out[HMAC_SIZE]);

/* Keyed digest of @len bytes. A key longer than 64 bytes is digested first, as the RFC says. */
void hmac_sign(const void *key, size_t key_len, const void *bytes, size_t len,
	       unsigned char out[HMAC_SIZE]);

/* Compare @len bytes in a time that does not depend on where they differ. */
bool hmac_equal(const void *a, const void *b, size_t len);

/* Write @len bytes as lower-case hex with a NUL: @out holds 2 * len + 1. */
void hmac_hex(const unsigned char *bytes, size_t len, char *out);

/* Read exactly 2 * @len lower-case hex digits. Returns 0, or -1 for any other text. */
int hmac_unhex(const char *text, unsigned char *bytes, size_t len);

#endif
