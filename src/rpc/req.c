/*
 * Open requests are on one list (oldest first) and on two hash chains, by handle
 * and by id. A request leaves all of them before its answer is queued, so code that
 * the answer triggers cannot find it.
 */
#include "rpc/req.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/slab.h"
#include "base/str.h"

#define CHAINS 256
#define KEEP_BYTES (64u << 10) /* a larger answer buffer is freed after use */

/* Whole numbers that a double holds, and int64_t too. */
#define REAL_ID_MAX 9.2e18

struct reqtab {
	struct ev_loop *loop;
	struct slab slab; /* requests, and what lives as long */
	struct outq *out;
	int count;
	int waiting_max, held[REQ_SLOTS];
	uint64_t last_handle;
	struct req *first, *last;
	struct req *by_id[CHAINS], *by_handle[CHAINS];
	struct result result; /* being written, of the request with this handle */
	uint64_t result_of;
	struct buf line; /* the answer being written */
	void (*on_end)(void *ctx, uint64_t handle);
	void *on_end_ctx;
	void (*on_fail)(void *ctx, struct err *e);
	void *on_fail_ctx;
};

struct req_batch {
	struct reqtab *tab;
	size_t count, left;
	struct buf answers;
};

static unsigned req_id_chain(const char *key, size_t len)
{
	uint32_t hash = str_hash(key, len);

	return (hash ^ hash >> 16) % CHAINS;
}

struct reqtab *reqtab_new(struct ev_loop *loop, struct outq *out, int waiting_max)
{
	struct reqtab *t = mem_zalloc(sizeof(*t));

	t->loop = loop;
	t->out = out;
	t->waiting_max = waiting_max;
	result_init(&t->result, REQ_LINE_MAX);
	buf_init(&t->line, REQ_LINE_MAX);
	return t;
}

struct outq *reqtab_outq(struct reqtab *t)
{
	return t->out;
}

void reqtab_on_end(struct reqtab *t, void (*fn)(void *ctx, uint64_t handle), void *ctx)
{
	t->on_end = fn;
	t->on_end_ctx = ctx;
}

void reqtab_on_fail(struct reqtab *t, void (*fn)(void *ctx, struct err *e), void *ctx)
{
	t->on_fail = fn;
	t->on_fail_ctx = ctx;
}

struct req *reqtab_first(struct reqtab *t)
{
	return t->first;
}

int reqtab_count(const struct reqtab *t)
{
	return t->count;
}

bool reqtab_full(const struct reqtab *t, enum req_slot slot)
{
	return slot == REQ_SLOT_WAIT && t->held[slot] >= t->waiting_max;
}

/* Answer the oldest REQ_SLOT_END request with the state so far: its effect goes on without it. */
static void req_answer_oldest_end(struct reqtab *t)
{
	struct req *r = t->first;

	while (r && !(r->slot == REQ_SLOT_END && r->answer_now))
		r = r->next;
	if (r)
		r->answer_now(r->answer_now_ctx, r);
}

int req_take_slot(struct req *r, enum req_slot slot, struct err *e)
{
	struct reqtab *t = r->tab;

	if (slot == REQ_SLOT_NONE || r->slot != REQ_SLOT_NONE)
		return 0;
	if (slot == REQ_SLOT_END && t->held[slot] >= REQ_SLOT_END_MAX)
		req_answer_oldest_end(t);
	if (!reqtab_full(t, slot)) {
		r->slot = slot;
		t->held[slot]++;
		return 0;
	}
	err_set(e, ERR_LIMIT_REACHED, "too many requests are waiting; at most %d may wait at once",
		t->held[slot]);
	err_detail(e, "limit", json_string("limits.requests"));
	err_detail(e, "limit_value", json_integer(t->held[slot]));
	return err_hint(e, "Wait for an answer and retry, or end a run that a request waits for; "
			   "the operator can raise limits.requests.");
}

struct req *req_find(struct reqtab *t, uint64_t handle)
{
	struct req *r = t->by_handle[handle % CHAINS];

	while (r && r->handle != handle)
		r = r->handle_next;
	return r;
}

/* Has the value of the raw token @id no other spelling, apart from escapes and fractions? */
static bool req_id_is_canonical(const char *id, size_t len)
{
	if (*id == '"')
		return !memchr(id, '\\', len);
	for (size_t i = 0; i < len; i++)
		if (id[i] < '0' || id[i] > '9')
			return false;
	return true;
}

/* The canonical spelling of the raw token @id: heap, or NULL where @id is it. */
static char *req_id_key(const char *id, size_t len)
{
	char text[32], *key;
	json_t *value;
	double real;

	if (req_id_is_canonical(id, len))
		return NULL;
	value = json_loadb(id, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	BUG_IF(!value);
	real = json_real_value(value);
	if (!json_is_real(value)) {
		key = json_dumps(value, JSON_ENCODE_ANY);
		BUG_IF(!key);
	} else {
		if (fabs(real) < REAL_ID_MAX)
			snprintf(text, sizeof(text), "%lld", (long long)real);
		else
			snprintf(text, sizeof(text), "%.17g", real);
		key = mem_strdup(text);
	}
	json_decref(value);
	return key;
}

struct req *req_find_id(struct reqtab *t, const char *id, size_t len)
{
	AUTO_FREE char *key = req_id_key(id, len);
	struct req *r;

	if (key) {
		id = key;
		len = strlen(key);
	}
	r = t->by_id[req_id_chain(id, len)];
	while (r && (strncmp(r->key, id, len) != 0 || r->key[len]))
		r = r->id_next;
	return r;
}

struct req *req_find_value(struct reqtab *t, const json_t *id)
{
	AUTO_FREE char *token = NULL;

	if (json_is_string(id) || json_is_number(id))
		token = json_dumps(id, JSON_ENCODE_ANY);
	return token ? req_find_id(t, token, strlen(token)) : NULL;
}

static void req_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct req *r = timer->data;

	(void)loop;
	(void)events;
	r->on_timer(r->on_timer_ctx, r);
}

static void req_link(struct reqtab *t, struct req *r)
{
	struct req **chain = &t->by_id[req_id_chain(r->key, strlen(r->key))];

	r->id_next = *chain;
	*chain = r;
	chain = &t->by_handle[r->handle % CHAINS];
	r->handle_next = *chain;
	*chain = r;
	r->prev = t->last;
	if (t->last)
		t->last->next = r;
	else
		t->first = r;
	t->last = r;
	t->count++;
}

static void req_unlink(struct reqtab *t, struct req *r)
{
	struct req **at = &t->by_id[req_id_chain(r->key, strlen(r->key))];

	while (*at != r)
		at = &(*at)->id_next;
	*at = r->id_next;
	at = &t->by_handle[r->handle % CHAINS];
	while (*at != r)
		at = &(*at)->handle_next;
	*at = r->handle_next;
	*(r->prev ? &r->prev->next : &t->first) = r->next;
	*(r->next ? &r->next->prev : &t->last) = r->prev;
	t->count--;
	if (r->slot != REQ_SLOT_NONE)
		t->held[r->slot]--;
}

void req_duplicate_id(struct err *e, const json_t *id)
{
	err_set(e, ERR_INVALID_REQUEST,
		"a request with this id is still open");
	err_hint(e, "Give every request its own id until it is answered.");
	err_detail(e, "id", json_incref((json_t *)(uintptr_t)id));
}

struct req *req_new(struct reqtab *t, const struct dialect *d, const char *id, size_t id_len,
		    json_t *root, struct req_batch *batch, struct err *e)
{
	struct req *r;

	if (req_find_id(t, id, id_len)) {
		req_duplicate_id(e, json_object_get(root, "id"));
		json_decref(root);
		return NULL;
	}
	r = slab_zalloc(&t->slab, sizeof(*r));
	r->tab = t;
	r->handle = ++t->last_handle;
	r->dialect = d;
	r->id = mem_strndup(id, id_len);
	r->key = req_id_key(id, id_len);
	if (!r->key)
		r->key = r->id;
	r->root = root;
	r->batch = batch;
	r->share = batch ? batch->count : 1;
	r->since_ms = clock_mono_ms();
	loop_timer_init(&r->timer, req_on_timer, r);
	req_link(t, r);
	return r;
}

void *req_zalloc(struct req *r, size_t size)
{
	return slab_zalloc(&r->tab->slab, size);
}

/* Remove the request from the table. */
static void req_end(struct req *r)
{
	struct reqtab *t = r->tab;

	req_unlink(t, r);
	loop_timer_stop(t->loop, &r->timer);
	if (t->on_end)
		t->on_end(t->on_end_ctx, r->handle);
}

/* Free the request, which has ended, and what it owns. */
static void req_free(struct req *r)
{
	if (r->task && r->task_free)
		r->task_free(r->task);
	json_decref(r->root);
	free(r->extra);
	if (r->call)
		slab_free(r->call);
	if (r->key != r->id)
		free(r->key);
	free(r->id);
	slab_free(r);
}

bool req_fits(const struct req_batch *b, size_t len)
{
	if (b) /* a bracket or comma before each answer, and a bracket after the last */
		len += b->answers.len + 2 + (b->left - 1) * REQ_BATCH_EACH;
	return len <= REQ_LINE_MAX;
}

void req_too_large(struct err *e)
{
	err_set(e, ERR_INTERNAL_ERROR, "the answer does not fit into a line of %u bytes",
		REQ_LINE_MAX);
	err_hint(e, "Ask for less at once (limit, stdout_lines, smaller batches).");
}

/* Free a large result before its line is queued, so that at most two copies exist. */
static void req_forget_result(struct reqtab *t)
{
	t->result_of = 0;
	if (t->result.json.cap > KEEP_BYTES || t->result.outline.texts.cap > KEEP_BYTES)
		result_release(&t->result);
}

static bool req_is_silent(const struct req *r)
{
	return r->cancelled && r->dialect->silent_cancel;
}

/* End the request and send t->line (empty: no answer). The answer does not wait until all that the
 * request had is freed. */
static void req_finish(struct req *r)
{
	struct reqtab *t = r->tab;
	struct req_batch *batch = r->batch;

	req_forget_result(t);
	if (!req_is_silent(r) && (t->line.full || !req_fits(batch, t->line.len))) {
		ERR_LOCAL(e);

		req_too_large(&e);
		buf_clear(&t->line);
		r->dialect->fail(r, &e, NULL, &t->line);
		err_release(&e);
	}
	req_end(r);
	if (batch)
		batch_add(batch, t->line.data, t->line.len);
	else if (t->line.len)
		outq_push(t->out, t->line.data, t->line.len);
	buf_clear(&t->line);
	if (t->line.cap > KEEP_BYTES)
		buf_release(&t->line);
	req_free(r);
}

struct jsonw *req_result(struct req *r)
{
	struct reqtab *t = r->tab;

	BUG_IF(t->result_of);
	t->result_of = r->handle;
	return result_begin(&t->result, r->dialect->outlined);
}

/* The result of @r, whole. */
static struct result *req_take_result(struct req *r)
{
	struct reqtab *t = r->tab;

	BUG_IF(t->result_of != r->handle);
	result_end(&t->result);
	t->line.full = t->result.json.full; /* a cut result must not go out as an answer */
	return &t->result;
}

void req_ok(struct req *r)
{
	struct result *result = req_take_result(r);

	if (!req_is_silent(r))
		r->dialect->ok(r, result, &r->tab->line);
	req_finish(r);
}

static void req_fail_with(struct req *r, struct err *e, const struct result *partial)
{
	if (r->on_fail)
		r->on_fail(r, e);
	if (r->tab->on_fail)
		r->tab->on_fail(r->tab->on_fail_ctx, e);
	if (!req_is_silent(r))
		r->dialect->fail(r, e, partial, &r->tab->line);
	err_release(e);
	req_finish(r);
}

void req_fail(struct req *r, struct err *e)
{
	req_fail_with(r, e, NULL);
}

void req_fail_partial(struct req *r, struct err *e)
{
	req_fail_with(r, e, req_take_result(r));
}

void req_question(struct req *r, const struct buf *notice)
{
	r->dialect->question(r, notice, &r->tab->line);
	req_finish(r);
}

void req_cancel(struct req *r)
{
	ERR_LOCAL(e);

	if (r->cancelled)
		return;
	r->cancelled = true;
	if (r->on_cancel) {
		r->on_cancel(r->on_cancel_ctx, r);
		return;
	}
	err_set(&e, ERR_CANCELLED, "the client cancelled this request");
	req_fail(r, &e);
}

void req_confirmed(struct reqtab *t, uint64_t handle, const struct req_answer *answer)
{
	struct req *r = req_find(t, handle);

	if (r)
		r->on_confirmed(r, answer);
}

enum req_remember req_read_remember(const json_t *value)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";

	if (!value || json_is_null(value) || !strcmp(text, "once"))
		return REQ_ONCE;
	return !strcmp(text, "session") && json_string_length(value) == strlen(text)
		       ? REQ_SESSION : REQ_UNKNOWN_TIME;
}

void req_timer(struct req *r, double ms, void (*fn)(void *ctx, struct req *r), void *ctx)
{
	r->on_timer = fn;
	r->on_timer_ctx = ctx;
	loop_timer_start(r->tab->loop, &r->timer, ms);
}

size_t req_page_bytes(const struct req *r)
{
	return r->dialect->page_bytes / r->share;
}

size_t req_list_bytes(const struct req *r)
{
	return r->dialect->list_bytes / r->share;
}

size_t req_text_bytes(const struct req *r)
{
	return r->dialect->text_bytes / r->share;
}

void reqtab_free(struct reqtab *t)
{
	if (!t)
		return;
	while (t->first) {
		struct req *first = t->first;
		struct req_batch *batch = first->batch;

		req_end(first);
		req_free(first);
		if (batch)
			batch_add(batch, NULL, 0);
	}
	slab_release(&t->slab);
	result_release(&t->result);
	buf_release(&t->line);
	free(t);
}

struct req_batch *batch_new(struct reqtab *t, size_t count)
{
	struct req_batch *b = mem_zalloc(sizeof(*b));

	b->tab = t;
	b->count = b->left = count;
	buf_init(&b->answers, REQ_LINE_MAX);
	return b;
}

void batch_add(struct req_batch *b, const char *answer, size_t len)
{
	BUG_IF(!b->left);
	if (len) {
		buf_addc(&b->answers, b->answers.len ? ',' : '[');
		buf_add(&b->answers, answer, len);
	}
	if (--b->left)
		return;
	if (b->answers.len) {
		buf_addc(&b->answers, ']');
		outq_push(b->tab->out, b->answers.data, b->answers.len);
	}
	BUG_IF(b->answers.full); /* the caller checked req_fits() */
	buf_release(&b->answers);
	free(b);
}

void reqtab_send(struct reqtab *t, struct req_batch *batch, const char *line, size_t len)
{
	if (batch)
		batch_add(batch, line, len);
	else
		outq_push(t->out, line, len);
}
