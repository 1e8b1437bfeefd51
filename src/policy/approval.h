/*
 * approval - tokens that carry a question out to a client and its answer back.
 *
 * For: confirmations in a protocol without sessions. The question goes out with a
 * token; the answer arrives in a new request that repeats the token. The client is
 * not trusted: a token is authenticated with a key that never leaves this process,
 * bound to the request and to the text that the human was shown, expires, and is
 * good for one answer.
 *
 * Refuses to: keep state for open questions. Only used tokens are remembered, until
 * they expire; when there are too many of them, every further token is refused.
 */
#ifndef PROCPEN_POLICY_APPROVAL_H
#define PROCPEN_POLICY_APPROVAL_H

#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

#define APPROVAL_SIZE 192 /* bytes of a token with its NUL */

struct approval;

struct approval *approval_new(void);
void approval_free(struct approval *a);

/*
 * Make a token, valid for @ttl_ms, for a request with digest @request and a text shown to a human
 * with digest @shown. Returns 0, or -1 if the system has no random bytes for the key: then no
 * question can be asked.
 */
int approval_issue(struct approval *a, const unsigned char request[DIGEST_SIZE],
		   const unsigned char shown[DIGEST_SIZE], int64_t ttl_ms, char out[APPROVAL_SIZE]);

/*
 * Redeem @token for a request with digest @request. Returns 0 and fills @shown, or -1 with
 * InvalidParams: another server issued it, it belongs to another request, it expired, or it was
 * used before.
 */
int approval_redeem(struct approval *a, const char *token, const unsigned char request[DIGEST_SIZE],
		    unsigned char shown[DIGEST_SIZE], struct err *e);

#endif
