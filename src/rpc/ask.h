/*
 * ask - requests of ours to the client, and their answers.
 *
 * For: capability.confirm and MCP's elicitation. Each question has an id of
 * our own that nobody can guess, one deadline, and is settled once: by its
 * answer, by its deadline, or by ask_drop(). Unknown, late and repeated answers
 * are ignored.
 */
#ifndef PROCPEN_RPC_ASK_H
#define PROCPEN_RPC_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "rpc/outq.h"

struct ask;

/* @result: the answer's result, or NULL (then @why says: error answer, deadline). */
typedef void (*ask_fn)(void *ctx, uint64_t handle, const json_t *result, const char *why);

struct ask *ask_new(struct ev_loop *loop, struct outq *out);
void ask_free(struct ask *a);

/*
 * Send method and params (JSON object text). @fn is called once with @handle.
 * Returns 0, or -1 when too many questions are open or the client is gone.
 */
int ask_send(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
	     ask_fn fn, void *ctx, uint64_t handle);

/*
 * The same in MCP, where a question that nobody waits for any more (its deadline,
 * its request's end, the server's) is taken back with notifications/cancelled.
 */
int ask_send_mcp(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
		 ask_fn fn, void *ctx, uint64_t handle);

/* A response arrived (no method, with id). */
void ask_answer(struct ask *a, const json_t *message);

/* The request @handle ended: forget its question without calling back. */
void ask_drop(struct ask *a, uint64_t handle);

/* No answer will be waited for any more: every open question ends unanswered, with @why. */
void ask_end(struct ask *a, const char *why);

#endif
