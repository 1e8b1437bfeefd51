/*
 * ask - requests from procpen to the client, and their answers.
 *
 * For: capability.confirm and MCP's elicitation. Each question has an id that
 * cannot be guessed and one deadline, and is settled once: by its answer, by its
 * deadline, or by ask_drop(). Unknown, late and repeated answers are ignored.
 */
#ifndef PROCPEN_RPC_ASK_H
#define PROCPEN_RPC_ASK_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "rpc/outq.h"

struct ask;

/* @result: the answer's result, or NULL with the reason in @why (error answer, deadline ...). */
typedef void (*ask_fn)(void *ctx, uint64_t handle, const json_t *result, const char *why);

struct ask *ask_new(struct ev_loop *loop, struct outq *out);
void ask_free(struct ask *a);

/*
 * Send method and params (JSON object text). @fn is called once with @handle; before this returns
 * where no answer can come any more.
 * Returns 0, or -1 when too many questions are open or the client has gone.
 */
int ask_send(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
	     ask_fn fn, void *ctx, uint64_t handle);

/*
 * The same in MCP, where a question whose answer is not wanted any more (deadline, end of its
 * request or of the server) is withdrawn with notifications/cancelled.
 */
int ask_send_mcp(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
		 ask_fn fn, void *ctx, uint64_t handle);

/* A response arrived (no method, with id). */
void ask_answer(struct ask *a, const json_t *message);

/* The request @handle ended: forget its question without calling back. */
void ask_drop(struct ask *a, uint64_t handle);

/* End every open question without an answer, because of @why (static), and every later one at once,
 * before it is sent. */
void ask_end(struct ask *a, const char *why);

#endif
