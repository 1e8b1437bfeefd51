/*
 * A token is "v1." and the hex of
 *
 *	nonce (16)  expiry (8)  shown (32)  mac (32)
 *
 * mac signs the first three and the digest of the request. That digest is not in the
 * token: it is computed again from the request that brings the token back.
 */
#include "policy/approval.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"

#define PREFIX "v1."
#define KEY_SIZE 32
#define NONCE_SIZE 16
#define USED_MAX 4096

struct payload {
	unsigned char nonce[NONCE_SIZE];
	unsigned char expiry[8]; /* monotonic ms, big end first */
	unsigned char shown[DIGEST_SIZE];
};

struct token {
	struct payload payload;
	unsigned char mac[DIGEST_SIZE];
};

struct used {
	unsigned char nonce[NONCE_SIZE];
	int64_t expiry;
};

struct approval {
	unsigned char key[KEY_SIZE];
	bool has_key; /* generated on first use */
	struct used *used;
	size_t used_count;
};

_Static_assert(sizeof(PREFIX) + 2 * sizeof(struct token) <= APPROVAL_SIZE, "a token must fit");

struct approval *approval_new(void)
{
	return mem_zalloc(sizeof(struct approval));
}

void approval_free(struct approval *a)
{
	if (!a)
		return;
	explicit_bzero(a->key, sizeof(a->key));
	free(a->used);
	free(a);
}

static int approval_random_bytes(void *bytes, size_t len)
{
	return getrandom(bytes, len, GRND_NONBLOCK) == (ssize_t)len ? 0 : -1;
}

static void approval_put_time(unsigned char out[8], int64_t ms)
{
	for (int i = 7; i >= 0; i--, ms >>= 8)
		out[i] = (unsigned char)(ms & 0xff);
}

static int64_t approval_get_time(const unsigned char in[8])
{
	uint64_t ms = 0;

	for (int i = 0; i < 8; i++)
		ms = ms << 8 | in[i];
	return (int64_t)ms;
}

static void approval_sign(const struct approval *a, const struct payload *p,
			  const unsigned char request[DIGEST_SIZE], unsigned char mac[DIGEST_SIZE])
{
	unsigned char bytes[sizeof(*p) + DIGEST_SIZE];

	memcpy(bytes, p, sizeof(*p));
	memcpy(bytes + sizeof(*p), request, DIGEST_SIZE);
	digest_sign(a->key, sizeof(a->key), bytes, sizeof(bytes), mac);
}

int approval_issue(struct approval *a, const unsigned char request[DIGEST_SIZE],
		   const unsigned char shown[DIGEST_SIZE], int64_t ttl_ms, char out[APPROVAL_SIZE])
{
	struct token t;

	if (!a->has_key && approval_random_bytes(a->key, sizeof(a->key)))
		return -1;
	a->has_key = true;
	if (approval_random_bytes(t.payload.nonce, sizeof(t.payload.nonce)))
		return -1;
	approval_put_time(t.payload.expiry, clock_mono_ms() + ttl_ms);
	memcpy(t.payload.shown, shown, DIGEST_SIZE);
	approval_sign(a, &t.payload, request, t.mac);
	memcpy(out, PREFIX, strlen(PREFIX));
	digest_hex((const unsigned char *)&t, sizeof(t), out + strlen(PREFIX));
	return 0;
}

static void approval_forget_expired(struct approval *a, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->used_count; i++)
		if (a->used[i].expiry > now)
			a->used[kept++] = a->used[i];
	a->used_count = kept;
}

/* Remember that the token was used. Returns 0, or -1 if it was used before or memory is full. */
static int approval_use_up(struct approval *a, const struct payload *p, int64_t now, struct err *e)
{
	struct used *u;

	approval_forget_expired(a, now);
	for (size_t i = 0; i < a->used_count; i++)
		if (!memcmp(a->used[i].nonce, p->nonce, NONCE_SIZE))
			return err_set(e, ERR_INVALID_PARAMS,
				       "requestState was used before: an answer is good for one "
				       "call");
	if (a->used_count == USED_MAX)
		return err_set(e, ERR_INVALID_PARAMS,
			       "requestState is refused: too many were used within a short time");
	if (!(a->used_count & (a->used_count - 1))) /* at 0, 1, 2, 4, ...: room for twice as many */
		a->used = mem_realloc(a->used, (2 * a->used_count + 1) * sizeof(*a->used));
	u = &a->used[a->used_count++];
	memcpy(u->nonce, p->nonce, NONCE_SIZE);
	u->expiry = approval_get_time(p->expiry);
	return 0;
}

static int approval_parse(const char *text, struct token *t)
{
	size_t prefix = strlen(PREFIX);

	if (strncmp(text, PREFIX, prefix) || strlen(text) != prefix + 2 * sizeof(*t))
		return -1;
	return digest_unhex(text + prefix, (unsigned char *)t, sizeof(*t));
}

int approval_redeem(struct approval *a, const char *token, const unsigned char request[DIGEST_SIZE],
		    unsigned char shown[DIGEST_SIZE], struct err *e)
{
	int64_t now = clock_mono_ms();
	unsigned char mac[DIGEST_SIZE];
	struct token t;

	if (!a->has_key || approval_parse(token, &t))
		return err_set(e, ERR_INVALID_PARAMS,
			       "requestState was not issued by this server");
	approval_sign(a, &t.payload, request, mac);
	if (!digest_equal(mac, t.mac, DIGEST_SIZE))
		return err_set(e, ERR_INVALID_PARAMS,
			       "requestState was changed, or was issued for another call");
	if (approval_get_time(t.payload.expiry) <= now)
		return err_set(e, ERR_INVALID_PARAMS, "requestState has expired");
	if (approval_use_up(a, &t.payload, now, e))
		return -1;
	memcpy(shown, t.payload.shown, DIGEST_SIZE);
	return 0;
}
