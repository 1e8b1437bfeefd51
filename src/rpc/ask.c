/*
 * A question leaves the list before its callback runs, so each is settled once.
 * An id is a prefix and 64 random bits, so only a reader of the question can answer it.
 */
#include "rpc/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "rpc/rpc.h"

#define QUESTIONS_MAX (4096 + REQ_SLOT_END_MAX) /* one for each open request (limits.requests) */
#define QUESTION_BYTES_MAX (8u << 20) /* guard; the caller of ask_send() bounds what it shows */
#define ID_SIZE (sizeof("ask-") + IDS_INSTANCE_SIZE)

struct question {
	struct ask *ask;
	char id[ID_SIZE];
	ask_fn fn;
	void *ctx;
	uint64_t handle; /* of the request that waits for a human; 0: none does */
	int deadline_ms;
	bool mcp; /* withdraw with notifications/cancelled when no answer is wanted any more */
	ev_timer timer;
	struct question *next;
};

struct ask {
	struct ev_loop *loop;
	struct outq *out;
	struct question *questions;
	int count;
	const char *ended; /* why no answer can come any more; NULL: one can */
};

struct ask *ask_new(struct ev_loop *loop, struct outq *out)
{
	struct ask *a = mem_zalloc(sizeof(*a));

	a->loop = loop;
	a->out = out;
	return a;
}

/* Take the question at @at off the list; the caller frees it. */
static struct question *ask_unlink(struct ask *a, struct question **at)
{
	struct question *q = *at;

	*at = q->next;
	a->count--;
	loop_timer_stop(a->loop, &q->timer);
	return q;
}

/* Send notifications/cancelled: no answer is wanted any more. */
static void ask_withdraw(struct ask *a, const struct question *q, const char *why)
{
	struct buf line;
	struct jsonw w;

	if (!q->mcp)
		return;
	buf_init(&line, QUESTION_BYTES_MAX);
	rpc_open_notification(&w, &line, "notifications/cancelled");
	jsonw_str(&w, "requestId", q->id);
	jsonw_str(&w, "reason", why);
	rpc_close_notification(&w);
	outq_push(a->out, line.data, line.len);
	buf_release(&line);
}

/* End a question that got no answer. */
static void ask_give_up(struct ask *a, struct question **at, const char *why)
{
	struct question *q = ask_unlink(a, at);

	ask_withdraw(a, q, why);
	q->fn(q->ctx, q->handle, NULL, why);
	free(q);
}

static void ask_settle(struct ask *a, struct question **at, const json_t *result, const char *why)
{
	struct question *q = ask_unlink(a, at);

	q->fn(q->ctx, q->handle, result, why);
	free(q);
}

static void ask_on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct question *q = timer->data;
	struct question **at = &q->ask->questions;
	char why[64];

	(void)loop;
	(void)events;
	snprintf(why, sizeof(why), "nobody answered within %d ms%s", q->deadline_ms,
		 q->handle ? " (confirm.timeout_ms)" : "");
	while (*at != q)
		at = &(*at)->next;
	ask_give_up(q->ask, at, why);
}

static void ask_send_question(struct ask *a, const struct question *q, const char *method,
			      const struct buf *params)
{
	struct buf line;
	struct jsonw w;

	buf_init(&line, QUESTION_BYTES_MAX);
	jsonw_init(&w, &line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_str(&w, "id", q->id);
	jsonw_str(&w, "method", method);
	jsonw_raw(&w, "params", params->data, params->len);
	jsonw_end_object(&w);
	outq_push(a->out, line.data, line.len);
	buf_release(&line);
}

static int ask_send_new(struct ask *a, const char *method, const struct buf *params,
			int deadline_ms, ask_fn fn, void *ctx, uint64_t handle, bool mcp)
{
	char random[IDS_INSTANCE_SIZE];
	struct question *q;

	if (a->count >= QUESTIONS_MAX || a->out->dead)
		return -1;
	if (a->ended) {
		fn(ctx, handle, NULL, a->ended);
		return 0;
	}
	q = mem_zalloc(sizeof(*q));
	q->ask = a;
	q->fn = fn;
	q->ctx = ctx;
	q->handle = handle;
	q->mcp = mcp;
	q->deadline_ms = deadline_ms;
	ids_instance(random);
	snprintf(q->id, sizeof(q->id), "ask-%s", random);
	loop_timer_init(&q->timer, ask_on_deadline, q);
	loop_timer_start(a->loop, &q->timer, deadline_ms);
	q->next = a->questions;
	a->questions = q;
	a->count++;
	ask_send_question(a, q, method, params);
	return 0;
}

int ask_send(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
	     ask_fn fn, void *ctx, uint64_t handle)
{
	return ask_send_new(a, method, params, deadline_ms, fn, ctx, handle, false);
}

int ask_send_mcp(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
		 ask_fn fn, void *ctx, uint64_t handle)
{
	return ask_send_new(a, method, params, deadline_ms, fn, ctx, handle, true);
}

static bool ask_is_id(const struct question *q, const json_t *id)
{
	return json_is_string(id) && json_string_length(id) == strlen(q->id) &&
	       !strcmp(json_string_value(id), q->id);
}

void ask_answer(struct ask *a, const json_t *message)
{
	const json_t *id = json_object_get(message, "id");
	const json_t *result = json_object_get(message, "result");
	const json_t *error = json_object_get(message, "error");
	const char *text = json_string_value(json_object_get(error, "message"));
	struct question **at = &a->questions;
	char why[256];

	while (*at && !ask_is_id(*at, id))
		at = &(*at)->next;
	if (!*at)
		return;
	if (error && !json_is_null(error))
		result = NULL;
	snprintf(why, sizeof(why), "the client answered with an error%s%.160s", text ? ": " : "",
		 text ? text : "");
	ask_settle(a, at, result, result ? NULL : why);
}

void ask_drop(struct ask *a, uint64_t handle)
{
	struct question **at = &a->questions;

	while (*at) {
		struct question *q = *at;

		if (q->handle != handle) {
			at = &q->next;
			continue;
		}
		ask_unlink(a, at);
		ask_withdraw(a, q, "the request that asked has ended");
		free(q);
	}
}

void ask_end(struct ask *a, const char *why)
{
	a->ended = why;
	while (a->questions)
		ask_give_up(a, &a->questions, why);
}

void ask_free(struct ask *a)
{
	if (!a)
		return;
	while (a->questions)
		free(ask_unlink(a, &a->questions));
	free(a);
}
