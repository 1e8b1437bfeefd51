#include "rpc/plain.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "rpc/rpc.h"

/* A reply line is to stay within 1 MiB; texts leave room for the rest of the result. */
#define TEXT_BYTES ((1u << 20) - (64u << 10))
#define NOTICE_BYTES_MAX (8u << 20) /* guard; the gate bounds what is shown */

/* How to ask, and who wants to know. There is one gate, and it asks for all requests. */
static struct {
	struct ask *ask;
	void (*answer)(void *ctx, uint64_t handle, bool allowed, const char *why);
} confirmation;

void plain_set_ask(struct ask *ask)
{
	confirmation.ask = ask;
}

static void write_ok(const struct req *r, const struct buf *result, struct buf *line)
{
	rpc_write_result(line, r->id, result->data, result->len);
}

static void write_fail(const struct req *r, const struct err *e, struct buf *line)
{
	rpc_write_error(line, r->id, strlen(r->id), e);
}

/* One notice per request, so it is bounded as answers are and need not ask for room. */
static void notify(struct reqtab *t, const struct req *r, const struct buf *json)
{
	struct buf line;
	struct jsonw w;

	(void)r;
	buf_init(&line, NOTICE_BYTES_MAX);
	jsonw_init(&w, &line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_str(&w, "method", "capability.notify");
	jsonw_raw(&w, "params", json->data, json->len);
	jsonw_end_object(&w);
	outq_push(reqtab_outq(t), line.data, line.len);
	buf_release(&line);
}

/* Only {"allow": true} allows. */
static void on_answer(void *ctx, uint64_t handle, const json_t *result, const char *why)
{
	const json_t *allow = json_object_get(result, "allow");

	if (json_is_false(allow))
		why = "the client's answer was no";
	else if (result)
		why = "the client's answer was not {\"allow\": true}";
	confirmation.answer(ctx, handle, json_is_true(allow), json_is_true(allow) ? NULL : why);
}

static enum req_asked confirm(struct reqtab *t, struct req *r, const struct buf *json,
			      int deadline_ms,
			      void (*answer)(void *ctx, uint64_t handle, bool allowed,
					     const char *why),
			      void *ctx)
{
	(void)t;
	if (!confirmation.ask)
		return REQ_CANNOT_ASK;
	confirmation.answer = answer;
	return ask_send(confirmation.ask, "capability.confirm", json, deadline_ms, on_answer, ctx,
			r->handle)
		       ? REQ_CANNOT_ASK
		       : REQ_ASKED;
}

const struct dialect plain_dialect = {
	.name = "plain",
	.page_bytes = TEXT_BYTES,
	.text_bytes = TEXT_BYTES,
	.list_bytes = TEXT_BYTES,
	.summary_bytes = 16384,
	.yield_ms = 0,
	.eof_ms = 300000, /* a pipeline: nobody is there to end it, and the results are wanted */
	.wait_max_ms = 0,
	.silent_cancel = false,
	.ok = write_ok,
	.fail = write_fail,
	.notify = notify,
	.confirm = confirm,
};
