/*
 * rpc - the JSON-RPC 2.0 envelope.
 *
 * Source: https://www.jsonrpc.org/specification. Turns one line into messages and
 * answers invalid input itself (-32700, -32600). Knows no method: it passes each
 * message to the route function, which server/server.c sets.
 *
 * Input that is not a message and has no id is answered with id null, but only
 * RPC_GARBAGE_MAX times in a row: two programs that answer each other's errors
 * would never stop.
 */
#ifndef PROCPEN_RPC_RPC_H
#define PROCPEN_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/jsonw.h"
#include "rpc/req.h"

/* Longer ids are refused: every answer repeats its id, and answers are bounded. */
#define RPC_ID_MAX 1024
#define RPC_BATCH_ID_MAX 256 /* a thousand answers must fit into one line */

#define RPC_GARBAGE_MAX 16

#define RPC_DEPTH_MAX 64 /* nested arrays and objects of a message */

/* Write a text of ours into the open string of @w as the client's dialect has it. NULL in place of
 * one: as it is. */
typedef void (*rpc_write_fn)(struct jsonw *w, const char *text, size_t len);

/* One well-formed message; everything in it is borrowed. */
struct rpc_message {
	json_t *root;
	const char *method; /* NULL: a response to a question (rpc/ask.h) */
	json_t *params;     /* inside root; object, array or NULL */
	const char *id;     /* raw token, or NULL for a notification; not NUL-terminated */
	size_t id_len;
	struct req_batch *batch;
	bool duplicate_id; /* an open request has this id: only that one may be answered with it */
	rpc_write_fn write; /* texts of an error that refuses it; set by the route function */
};

typedef void (*rpc_route_fn)(void *ctx, struct rpc_message *m);

/* The first three members are set by the owner, the rest is zero at first. */
struct rpc {
	struct reqtab *reqs;
	rpc_route_fn route;
	void *ctx;

	json_t *array;           /* a batch whose elements are not all handled yet, or NULL */
	struct req_batch *batch;
	const char *text;        /* its line */
	size_t len, pos, index;  /* length, where the next element starts, its number */
	int garbage;             /* inputs in a row that were no message and had no id */
};

/*
 * Handle one line of input. A batch is only begun: as long as rpc_more() returns
 * true it has elements left, and @line must stay where it is. Each call handles one.
 */
void rpc_line(struct rpc *rpc, const char *line, size_t len);
bool rpc_more(struct rpc *rpc);

/* Free a batch that was not finished (the server ends). */
void rpc_release(struct rpc *rpc);

/*
 * A new request for @m, which has an id, in dialect @d. It holds its own reference to the
 * root. NULL: @m was refused and has been answered with the reason.
 */
struct req *rpc_request(struct reqtab *t, const struct dialect *d, const struct rpc_message *m);

/* An over-long message was skipped: answer -32700 with id null. */
void rpc_too_long(struct rpc *rpc, size_t line_max);

/* The input is broken (rpc/frame.h) because of @why, and nothing more is read: answer -32700 with
 * id null, however much input was refused before. */
void rpc_broken_input(struct rpc *rpc, const char *why);

/*
 * Write {"jsonrpc":"2.0","id":<id>,"error":{code,message,data{type,hint,retryable,actions,
 * details}}}
 * into @line; of an error that MCP defines, the members of details also stand in data directly.
 * @id NULL writes null. @partial: written as the detail `result`; or NULL. @write: for message,
 * hint and actions.
 */
void rpc_write_error(struct buf *line, const char *id, size_t id_len, const struct err *e,
		     const struct result *partial, rpc_write_fn write);

/*
 * "actions" of @e: those of its type but e->left_out; `retry` alone where something ran out, which
 * has nothing to do with its type; none where no call helps.
 */
void rpc_write_actions(struct jsonw *w, const struct err *e, rpc_write_fn write);

/* "details" of @e; @partial as above. */
void rpc_write_details(struct jsonw *w, const struct err *e, const struct result *partial);

/* Write @notice (struct dialect.notify) with the id of @r. */
void rpc_write_notice(struct jsonw *w, const char *key, const struct req *r,
		      const struct buf *notice);

/* {"jsonrpc":"2.0","id":<id>,"result":<result>}; takes the result's JSON. */
void rpc_write_result(struct buf *line, const char *id, struct result *result);

/* Begin {"jsonrpc":"2.0","method":<method>,"params":{ in the empty @line; the caller adds members,
 * and close ends both objects. */
void rpc_open_notification(struct jsonw *w, struct buf *line, const char *method);
void rpc_close_notification(struct jsonw *w);

/*
 * Answer @m with an error (nothing for a notification); releases @e. If its id is a
 * duplicate, that is the error, and the answer's id is null.
 */
void rpc_refuse(struct reqtab *t, const struct rpc_message *m, struct err *e);

/* Refuse a notification that came with an id, as a request. Returns false if @m is none. */
bool rpc_refuse_notification(struct reqtab *t, const struct rpc_message *m);

#endif
