/*
 * A question leaves the list before its callback runs, so each is settled once.
 * Ids are 64 random bits behind a prefix: an answer can only come from whoever
 * read the question.
 */
#include "rpc/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/jsonw.h"
#include "base/mem.h"

#define QUESTIONS_MAX 4096 /* as many as requests may be open (limits.requests) */
#define QUESTION_BYTES_MAX (8u << 20) /* guard; whoever asks bounds what is shown */
#define ID_SIZE (sizeof("ask-") + IDS_INSTANCE_SIZE)

struct question {
	struct ask *ask;
	char id[ID_SIZE];
	ask_fn fn;
	void *ctx;
	uint64_t handle;
	int deadline_ms;
	ev_timer timer;
	struct question *next;
};

struct ask {
	struct ev_loop *loop;
	struct outq *out;
	struct question *questions;
	int count;
};

struct ask *ask_new(struct ev_loop *loop, struct outq *out)
{
	struct ask *a = mem_zalloc(sizeof(*a));

	a->loop = loop;
	a->out = out;
	return a;
}

/* Take the question at @at off the list; the caller frees it. */
static struct question *take(struct ask *a, struct question **at)
{
	struct question *q = *at;

	*at = q->next;
	a->count--;
	loop_timer_stop(a->loop, &q->timer);
	return q;
}

static void settle(struct ask *a, struct question **at, const json_t *result, const char *why)
{
	struct question *q = take(a, at);

	q->fn(q->ctx, q->handle, result, why);
	free(q);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct question *q = timer->data;
	struct question **at = &q->ask->questions;
	char why[64];

	(void)loop;
	(void)events;
	snprintf(why, sizeof(why), "nobody answered within %d ms", q->deadline_ms);
	while (*at != q)
		at = &(*at)->next;
	settle(q->ask, at, NULL, why);
}

static void send_question(struct ask *a, const struct question *q, const char *method,
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

int ask_send(struct ask *a, const char *method, const struct buf *params, int deadline_ms,
	     ask_fn fn, void *ctx, uint64_t handle)
{
	char random[IDS_INSTANCE_SIZE];
	struct question *q;

	if (a->count >= QUESTIONS_MAX || a->out->dead)
		return -1;
	q = mem_zalloc(sizeof(*q));
	q->ask = a;
	q->fn = fn;
	q->ctx = ctx;
	q->handle = handle;
	q->deadline_ms = deadline_ms;
	ids_instance(random);
	snprintf(q->id, sizeof(q->id), "ask-%s", random);
	ev_timer_init(&q->timer, on_deadline, 0.0, 0.0);
	q->timer.data = q;
	loop_timer_start(a->loop, &q->timer, deadline_ms);
	q->next = a->questions;
	a->questions = q;
	a->count++;
	send_question(a, q, method, params);
	return 0;
}

void ask_answer(struct ask *a, const json_t *message)
{
	const char *id = json_string_value(json_object_get(message, "id"));
	const json_t *result = json_object_get(message, "result");
	const json_t *error = json_object_get(message, "error");
	const char *text = json_string_value(json_object_get(error, "message"));
	struct question **at = &a->questions;
	char why[256];

	while (id && *at && strcmp((*at)->id, id))
		at = &(*at)->next;
	if (!id || !*at)
		return;
	if (error)
		result = NULL;
	snprintf(why, sizeof(why), "the client answered with an error%s%.160s", text ? ": " : "",
		 text ? text : "");
	settle(a, at, result, result ? NULL : why);
}

void ask_drop(struct ask *a, uint64_t handle)
{
	struct question **at = &a->questions;

	while (*at) {
		if ((*at)->handle == handle)
			free(take(a, at));
		else
			at = &(*at)->next;
	}
}

void ask_end(struct ask *a, const char *why)
{
	while (a->questions)
		settle(a, &a->questions, NULL, why);
}

void ask_free(struct ask *a)
{
	if (!a)
		return;
	while (a->questions)
		free(take(a, &a->questions));
	free(a);
}
