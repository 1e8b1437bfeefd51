/*
 * run_key - idempotency keys of process.run.
 *
 * A key stands for one start: every request with it waits for the run of the first one. A request
 * holds its key while it is open; the first one owns it. Until the owner has started a run the
 * others are pending. A key is free again (nobody finds it) when its owner ends without a run, when
 * the record of the run goes, and when the run was cancelled.
 *
 * Only digests are kept: of the key, and of the parameters as compared (after defaults and aliases,
 * without intent, yield_ms and the key).
 */
#ifndef PROCPEN_CAP_RUN_KEY_H
#define PROCPEN_CAP_RUN_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "policy/config.h"
#include "proc/proctab.h"
#include "rpc/req.h"

#define RUN_KEY_CHAINS 256

struct run_key {
	unsigned char name[DIGEST_SIZE], params[DIGEST_SIZE];
	uint64_t owner;    /* handle of the first request; 0 when that has ended */
	uint64_t seq;      /* the run; 0: not started yet */
	unsigned holders;  /* open requests */
	bool free;         /* not in the table any more */
	struct err why;    /* the owner failed before a start, with this */
	struct run_key *next;
};

/*
 * Digest the parameters of @r as they are compared: after defaults and aliases, without those in
 * @left_out (NULL-terminated).
 */
void run_key_digest_params(const struct config *config, const struct req *r,
			   const char *const *left_out, unsigned char digest[DIGEST_SIZE]);

/* All keys of one server; empty: all zero. */
struct run_keys {
	struct run_key *chains[RUN_KEY_CHAINS];
	size_t count;
};

void run_keys_release(struct run_keys *keys); /* after the last request */

/*
 * Let @r hold the key @name: a new one that it owns, or that of a request before. Returns NULL with
 * InvalidParams if that one had other parameters.
 */
struct run_key *run_key_hold(struct run_keys *keys, struct proctab *procs,
			     const struct config *config, const struct req *r, const char *name,
			     struct err *e);

/* Nobody finds the key from now on. */
void run_key_free(struct run_keys *keys, struct run_key *key);

/* A request that held the key has ended. */
void run_key_drop(struct run_key *key);

/* The record of run @seq goes. */
void run_key_forget(struct run_keys *keys, uint64_t seq);

#endif
