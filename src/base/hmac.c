#include "base/hmac.h"

#include <sha2.h>
#include <string.h>

#define BLOCK 64

void hmac_digest(const void *bytes, size_t len, unsigned char out[HMAC_SIZE])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, bytes, len);
	SHA256Final(out, &ctx);
}

struct hmac_json {
	SHA2_CTX ctx;
	size_t left;
};

static int hmac_add_json(const char *bytes, size_t len, void *digest)
{
	struct hmac_json *d = digest;

	if (len > d->left)
		return -1;
	d->left -= len;
	SHA256Update(&d->ctx, (const unsigned char *)bytes, len);
	return 0;
}

int hmac_digest_json(const json_t *value, size_t max, unsigned char out[HMAC_SIZE])
{
	struct hmac_json digest = { .left = max };

	SHA256Init(&digest.ctx);
	if (json_dump_callback(value, hmac_add_json, &digest, JSON_COMPACT | JSON_SORT_KEYS))
		return -1;
	SHA256Final(out, &digest.ctx);
	return 0;
}

/* One of the two passes of HMAC: hash the padded key, then the bytes. */
static void hmac_pass(const unsigned char block[BLOCK], unsigned char pad, const void *bytes,
		      size_t len, unsigned char out[HMAC_SIZE])
{
	unsigned char key[BLOCK];
	SHA2_CTX ctx;

	for (size_t i = 0; i < BLOCK; i++)
		key[i] = block[i] ^ pad;
	SHA256Init(&ctx);
	SHA256Update(&ctx, key, sizeof(key));
	SHA256Update(&ctx, bytes, len);
	SHA256Final(out, &ctx);
	explicit_bzero(key, sizeof(key));
}

void hmac_sign(const void *key, size_t key_len, const void *bytes, size_t len,
	       unsigned char out[HMAC_SIZE])
{
	unsigned char block[BLOCK] = { 0 }, inner[HMAC_SIZE];

	if (key_len > BLOCK)
		hmac_digest(key, key_len, block);
	else
		memcpy(block, key, key_len);
	hmac_pass(block, 0x36, bytes, len, inner);
	hmac_pass(block, 0x5c, inner, sizeof(inner), out);
	explicit_bzero(block, sizeof(block));
}

bool hmac_equal(const void *a, const void *b, size_t len)
{
	const volatile unsigned char *x = a, *y = b;
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

void hmac_hex(const unsigned char *bytes, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

static int hmac_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hmac_unhex(const char *text, unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int high = hmac_digit(text[2 * i]),
		    low = high < 0 ? -1 : hmac_digit(text[2 * i + 1]);

		if (low < 0)
			return -1;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return text[2 * len] ? -1 : 0;
}
