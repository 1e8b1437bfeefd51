/*
 * grants - answers of a human that count for the rest of the session.
 *
 * A grant is the keyed digest of what it binds (cap/grant.h) and a number. The key is made at first
 * use and never leaves the process, so a digest that a client sees tells nothing about the contents
 * of a file behind it, and none can be forged. At most 256 are kept: one more drops the oldest,
 * whose call is then asked for again. They end with the process.
 */
#ifndef PROCPEN_POLICY_GRANTS_H
#define PROCPEN_POLICY_GRANTS_H

#include <stddef.h>

#include "base/digest.h"

#define GRANTS_MAX 256
#define GRANTS_SECRET_SIZE 32

/* All zero: none. */
struct grants {
	unsigned char (*list)[DIGEST_SIZE]; /* a ring: grant N is in place (N - 1) % GRANTS_MAX */
	unsigned made;                    /* the number of the newest */
	unsigned char secret[GRANTS_SECRET_SIZE];
	bool has_secret;
};

void grants_release(struct grants *g);

/* Digest @len bytes that say what a grant binds. 0, or -1 if the system has no random bytes for
 * the key: then nothing can be remembered. */
int grants_digest(struct grants *g, const void *bytes, size_t len, unsigned char out[DIGEST_SIZE]);

/* The number of the newest grant for @digest; 0: there is none. */
unsigned grants_find(const struct grants *g, const unsigned char digest[DIGEST_SIZE]);

/* Add a grant for @digest. Returns its number, from 1. */
unsigned grants_add(struct grants *g, const unsigned char digest[DIGEST_SIZE]);

#endif
