/*
 * Open requests are on one list (oldest first) and on two hash chains, by handle
 * and by raw id token. A request leaves all of them before its answer is queued,
 * so whatever the answer sets off finds it gone.
 */
#include "rpc/req.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHAINS 256
#define KEEP_BYTES (64u << 10) /* a larger answer buffer is given back after use */

/*
 * Answers are kept within 1 MiB by the capabilities (req_text_bytes); this is
 * the guard behind that, below the 10 MiB at which client libraries hang up.
 */
#define ANSWER_MAX (8u << 20)
#define BATCH_MAX (32u << 20) /* ANSWER_MAX of results, and an error for each element */

struct reqtab {
	struct ev_loop *loop;
	struct outq *out;
	int max, count;
	uint64_t last_handle;
	struct req *first, *last;
	struct req *by_id[CHAINS], *by_handle[CHAINS];
	struct buf line; /* the answer being written */
	void (*on_end)(void *ctx, uint64_t handle);
	void *on_end_ctx;
};

struct req_batch {
	struct reqtab *tab;
	size_t count, left;
	struct buf answers;
};

/* FNV-1a */
static unsigned id_chain(const char *id, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)id[i]) * 16777619u;
	return (hash ^ hash >> 16) % CHAINS;
}

struct reqtab *reqtab_new(struct ev_loop *loop, struct outq *out, int max)
{
	struct reqtab *t = mem_zalloc(sizeof(*t));

	t->loop = loop;
	t->out = out;
	t->max = max;
	buf_init(&t->line, ANSWER_MAX);
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

struct req *reqtab_first(struct reqtab *t)
{
	return t->first;
}

int reqtab_count(const struct reqtab *t)
{
	return t->count;
}

struct req *req_find(struct reqtab *t, uint64_t handle)
{
	struct req *r = t->by_handle[handle % CHAINS];

	while (r && r->handle != handle)
		r = r->handle_next;
	return r;
}

struct req *req_find_id(struct reqtab *t, const char *id, size_t len)
{
	struct req *r = t->by_id[id_chain(id, len)];

	while (r && (strncmp(r->id, id, len) || r->id[len]))
		r = r->id_next;
	return r;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct req *r = timer->data;

	(void)loop;
	(void)events;
	r->on_timer(r->on_timer_ctx, r);
}

static void link_request(struct reqtab *t, struct req *r)
{
	struct req **chain = &t->by_id[id_chain(r->id, strlen(r->id))];

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

static void unlink_request(struct reqtab *t, struct req *r)
{
	struct req **at = &t->by_id[id_chain(r->id, strlen(r->id))];

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
}

static int check_new(struct reqtab *t, const char *id, size_t id_len, const json_t *root,
		     struct err *e)
{
	if (req_find_id(t, id, id_len)) {
		err_set(e, ERR_INVALID_REQUEST,
			"a request with this id is still open: its answer could not be told from "
			"this one's");
		err_hint(e, "Give every request its own id until it is answered.");
		err_detail(e, "id", json_incref(json_object_get(root, "id")));
		return -1;
	}
	if (t->count < t->max)
		return 0;
	err_set(e, ERR_LIMIT_REACHED, "%d requests are open, the most that are taken at once",
		t->count);
	return err_hint(e, "Wait for an answer and retry; the operator can raise limits.requests.");
}

struct req *req_new(struct reqtab *t, const struct dialect *d, const char *id, size_t id_len,
		    json_t *root, struct req_batch *batch, struct err *e)
{
	struct req *r;

	if (check_new(t, id, id_len, root, e)) {
		json_decref(root);
		return NULL;
	}
	r = mem_zalloc(sizeof(*r));
	r->tab = t;
	r->handle = ++t->last_handle;
	r->dialect = d;
	r->id = mem_strndup(id, id_len);
	r->root = root;
	r->batch = batch;
	r->share = batch ? batch->count : 1;
	ev_timer_init(&r->timer, on_timer, 0.0, 0.0);
	r->timer.data = r;
	link_request(t, r);
	return r;
}

/* Take the request out of the table and free what it owns. */
static void end_request(struct req *r)
{
	struct reqtab *t = r->tab;

	unlink_request(t, r);
	loop_timer_stop(t->loop, &r->timer);
	if (t->on_end)
		t->on_end(t->on_end_ctx, r->handle);
	if (r->task && r->task_free)
		r->task_free(r->task);
	json_decref(r->root);
	free(r->extra);
	free(r->id);
	free(r);
}

static bool batch_fits(const struct req_batch *b, size_t len)
{
	return b->answers.len + len <= ANSWER_MAX;
}

/* The answer is in t->line (empty: none): end the request and send it. */
static void finish(struct req *r)
{
	struct reqtab *t = r->tab;
	struct req_batch *batch = r->batch;

	if (t->line.full || (batch && !batch_fits(batch, t->line.len))) {
		struct err e = ERR_INIT;

		err_set(&e, ERR_INTERNAL_ERROR, "the answer is larger than %u bytes", ANSWER_MAX);
		err_hint(&e, "Ask for less at once (limit, stdout_lines, smaller batches).");
		buf_clear(&t->line);
		r->dialect->fail(r, &e, &t->line);
		err_release(&e);
	}
	end_request(r);
	if (batch)
		batch_add(batch, t->line.data, t->line.len);
	else if (t->line.len)
		outq_push(t->out, t->line.data, t->line.len);
	buf_clear(&t->line);
	if (t->line.cap > KEEP_BYTES)
		buf_release(&t->line);
}

static bool is_silent(const struct req *r)
{
	return r->cancelled && r->dialect->silent_cancel;
}

void req_ok(struct req *r, const struct buf *result)
{
	if (!is_silent(r))
		r->dialect->ok(r, result, &r->tab->line);
	finish(r);
}

void req_fail(struct req *r, struct err *e)
{
	if (!is_silent(r))
		r->dialect->fail(r, e, &r->tab->line);
	err_release(e);
	finish(r);
}

void req_cancel(struct req *r)
{
	struct err e = ERR_INIT;

	if (r->cancelled)
		return;
	r->cancelled = true;
	if (r->on_cancel) {
		r->on_cancel(r->on_cancel_ctx, r);
		return;
	}
	err_set(&e, ERR_PERMISSION_DENIED, "cancelled by the client");
	err_hint(&e, "Send the request again if it is still wanted.");
	req_fail(r, &e);
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
		struct req_batch *batch = t->first->batch;

		end_request(t->first);
		if (batch)
			batch_add(batch, NULL, 0);
	}
	buf_release(&t->line);
	free(t);
}

struct req_batch *batch_new(struct reqtab *t, size_t count)
{
	struct req_batch *b = mem_zalloc(sizeof(*b));

	b->tab = t;
	b->count = b->left = count;
	buf_init(&b->answers, BATCH_MAX);
	return b;
}

size_t batch_count(const struct req_batch *b)
{
	return b->count;
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
