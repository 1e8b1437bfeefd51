#include "base/digest.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>

void digest_bytes(const void *bytes, size_t len, unsigned char out[DIGEST_SIZE])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, bytes);
	sha256_digest(&ctx, DIGEST_SIZE, out);
}

void digest_text(const void *bytes, size_t len, char out[DIGEST_TEXT_SIZE])
{
	unsigned char digest[DIGEST_SIZE];

	digest_bytes(bytes, len, digest);
	digest_hex(digest, sizeof(digest), out);
}

void digest_args(const char *const *args, char out[DIGEST_TEXT_SIZE])
{
	unsigned char digest[DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	for (; *args; args++)
		sha256_update(&ctx, strlen(*args) + 1, (const uint8_t *)*args);
	sha256_digest(&ctx, sizeof(digest), digest);
	digest_hex(digest, sizeof(digest), out);
}

struct digest_json_state {
	struct sha256_ctx ctx;
	size_t left;
};

static int digest_add_json(const char *bytes, size_t len, void *digest)
{
	struct digest_json_state *d = digest;

	if (len > d->left)
		return -1;
	d->left -= len;
	sha256_update(&d->ctx, len, (const uint8_t *)bytes);
	return 0;
}

int digest_json(const json_t *value, size_t max, unsigned char out[DIGEST_SIZE])
{
	struct digest_json_state digest = { .left = max };

	sha256_init(&digest.ctx);
	if (json_dump_callback(value, digest_add_json, &digest, JSON_COMPACT | JSON_SORT_KEYS))
		return -1;
	sha256_digest(&digest.ctx, DIGEST_SIZE, out);
	return 0;
}

void digest_sign(const void *key, size_t key_len, const void *bytes, size_t len,
		 unsigned char out[DIGEST_SIZE])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key_len, key);
	hmac_sha256_update(&ctx, len, bytes);
	hmac_sha256_digest(&ctx, DIGEST_SIZE, out);
	explicit_bzero(&ctx, sizeof(ctx));
}

bool digest_equal(const void *a, const void *b, size_t len)
{
	return memeql_sec(a, b, len);
}

void digest_hex(const unsigned char *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

static int digest_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int digest_unhex(const char *text, unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int high = digest_digit(text[2 * i]),
		    low = high < 0 ? -1 : digest_digit(text[2 * i + 1]);

		if (low < 0)
			return -1;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return text[2 * len] ? -1 : 0;
}
