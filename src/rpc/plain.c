#include "rpc/plain.h"

#include <string.h>

#include "base/jsonw.h"
#include "rpc/rpc.h"

/* Keeps a reply line within 1 MiB: texts leave room for the rest of the result. */
#define TEXT_BYTES ((1u << 20) - (64u << 10))
#define NOTICE_BYTES_MAX (8u << 20) /* guard; the gate bounds a notice */

static void plain_write_ok(const struct req *r, struct result *result, struct buf *line)
{
	rpc_write_result(line, r->id, result);
}

static void plain_write_fail(const struct req *r, const struct err *e, const struct result *partial,
			     struct buf *line)
{
	rpc_write_error(line, r->id, strlen(r->id), e, partial, NULL);
}

/* One notice per request, so notices are bounded as answers are: do not ask for room. */
static void plain_notify(const struct req *r, const struct buf *notice)
{
	struct buf line;
	struct jsonw w;

	buf_init(&line, NOTICE_BYTES_MAX);
	jsonw_init(&w, &line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_str(&w, "method", "capability.notify");
	rpc_write_notice(&w, "params", r, notice);
	jsonw_end_object(&w);
	outq_push(reqtab_outq(r->tab), line.data, line.len);
	buf_release(&line);
}

/* Only {"allow": true} is a yes. */
static void plain_on_answer(void *reqs, uint64_t handle, const json_t *result, const char *why)
{
	const json_t *allow = json_object_get(result, "allow");
	struct req_answer answer = {
		.allowed = json_is_true(allow),
		.why = why,
		.remember = req_read_remember(json_object_get(result, "remember")),
	};

	if (json_is_false(allow))
		answer.why = "the client's answer was no";
	else if (result)
		answer.why = answer.allowed ? NULL
					    : "the client's answer was not {\"allow\": true}";
	req_confirmed(reqs, handle, &answer);
}

static enum req_asked plain_confirm(struct req *r, const struct buf *notice, int deadline_ms)
{
	struct buf params;
	struct jsonw w;
	int failed;

	buf_init(&params, NOTICE_BYTES_MAX);
	jsonw_init(&w, &params);
	rpc_write_notice(&w, NULL, r, notice);
	failed = ask_send(r->dialect->ctx, "capability.confirm", &params, deadline_ms,
			  plain_on_answer, r->tab, r->handle);
	buf_release(&params);
	return failed ? REQ_CANNOT_ASK : REQ_ASKED;
}

struct dialect plain_dialect(struct ask *ask)
{
	return (struct dialect){
		.ctx = ask,
		.page_bytes = TEXT_BYTES,
		.text_bytes = TEXT_BYTES,
		.list_bytes = TEXT_BYTES,
		.summary_bytes = 1048576,
		.eof_ms = 300000, /* `printf | procpen` closes its input at once and still wants
				   * results */
		.events = true,
		.ok = plain_write_ok,
		.fail = plain_write_fail,
		.notify = plain_notify,
		.confirm = plain_confirm,
	};
}
