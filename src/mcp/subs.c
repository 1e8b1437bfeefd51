#include "mcp/subs.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "mcp/resources.h"
#include "mcp/tasks.h"
#include "mcp/tool_names.h"

#define EVERY_MS 200
#define ITEMS_MAX 256     /* of one listener */
#define LISTENERS_MAX 32
#define LINE_MAX_BYTES (8u << 20) /* never reached: the lines are bounded */

enum kind { RESOURCE, TASK, LIST };

/* One thing that a listener watches. */
struct item {
	uint64_t key; /* of a resource and a task that of the run */
	char *name;   /* URI or task id, as the client wrote it; of a list its method */
	enum kind kind;
	bool dirty;
	bool gone;    /* a resource that is no more: to be said once, then forgotten */
};

struct listener {
	uint64_t handle; /* its request; 0: the handshake session */
	char *id;        /* raw token of that request; NULL: the session */
	struct item *items;
	size_t count;
	struct listener *next;
};

struct mcp_subs {
	struct mcp *m;
	struct dialect listening;
	struct listener session;
	struct listener *first; /* listeners of the stateless era */
	int count;
	ev_timer timer;
	int64_t flushed_ms;
};

/* ---- items ---- */

static void mcp_subs_add_item(struct listener *l, uint64_t key, const char *name, enum kind kind)
{
	struct item *item;

	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].kind == kind && !strcmp(l->items[i].name, name))
			return;
	if (!(l->count & (l->count - 1))) /* at 0, 1, 2, 4, ...: room for twice as many */
		l->items = mem_realloc(l->items, (2 * l->count + 1) * sizeof(*l->items));
	item = &l->items[l->count++];
	*item = (struct item){ .key = key, .name = mem_strdup(name), .kind = kind,
			       .dirty = kind == TASK };
}

static void mcp_subs_remove_item(struct listener *l, size_t i)
{
	free(l->items[i].name);
	l->items[i] = l->items[--l->count];
}

static void mcp_subs_clear_items(struct listener *l)
{
	while (l->count)
		mcp_subs_remove_item(l, 0);
	free(l->items);
	l->items = NULL;
	free(l->id);
	l->id = NULL;
}

/* ---- sending ---- */

static void mcp_subs_begin_item(struct jsonw *w, struct buf *line, const struct listener *l,
				const char *method)
{
	buf_init(line, LINE_MAX_BYTES);
	rpc_open_notification(w, line, method);
	if (!l->id)
		return;
	jsonw_object(w, "_meta");
	jsonw_raw(w, MCP_META "subscriptionId", l->id, strlen(l->id));
	jsonw_end_object(w);
}

static const char *mcp_subs_method_of(const struct item *item)
{
	if (item->kind == LIST)
		return item->name;
	return item->kind == TASK ? "notifications/tasks" : "notifications/resources/updated";
}

/* Returns false if the client is too far behind. */
static bool mcp_subs_send_item(struct mcp_subs *s, const struct listener *l,
			       const struct item *item)
{
	bool there = true, sent;
	struct buf line;
	struct jsonw w;

	mcp_subs_begin_item(&w, &line, l, mcp_subs_method_of(item));
	if (item->kind == TASK)
		there = mcp_tasks_write(s->m->tasks, &w, item->key);
	else if (item->kind == RESOURCE)
		jsonw_str(&w, "uri", item->name);
	rpc_close_notification(&w);
	sent = !there || mcp_notify(s->m, &line);
	buf_release(&line);
	return sent;
}

static bool mcp_subs_flush_listener(struct mcp_subs *s, struct listener *l)
{
	bool all = true;

	for (size_t i = 0; i < l->count;) {
		struct item *item = &l->items[i];

		if (item->dirty)
			item->dirty = !mcp_subs_send_item(s, l, item);
		all &= !item->dirty;
		if (item->gone && !item->dirty)
			mcp_subs_remove_item(l, i); /* the last one takes its place */
		else
			i++;
	}
	return all;
}

static void mcp_subs_plan(struct mcp_subs *s)
{
	int64_t wait = s->flushed_ms + EVERY_MS - clock_mono_ms();

	if (!loop_timer_is_set(&s->timer))
		loop_timer_start(s->m->cap->loop, &s->timer, wait > 0 ? (double)wait : 0);
}

static void mcp_subs_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct mcp_subs *s = timer->data;
	bool all;

	(void)loop;
	(void)events;
	s->flushed_ms = clock_mono_ms();
	all = mcp_subs_flush_listener(s, &s->session);
	for (struct listener *l = s->first; l; l = l->next)
		all &= mcp_subs_flush_listener(s, l);
	if (!all)
		mcp_subs_plan(s);
}

/* ---- the answer of a stateless listener ---- */

/* The answer to a listener that the server ends: its id, no other member. */
static void mcp_subs_answer_end(const struct req *r, struct result *result, struct buf *line)
{
	const struct mcp_shape *shape = &mcp_shapes[MCP_2026_07_28];
	struct jsonw w;

	(void)result;
	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "complete");
	mcp_open_meta(&w, shape);
	jsonw_raw(&w, MCP_META "subscriptionId", r->id, strlen(r->id));
	jsonw_end_object(&w);
	mcp_close_result(&w);
}

static void mcp_subs_answer_fail(const struct req *r, const struct err *e,
				 const struct result *partial, struct buf *line)
{
	(void)partial;
	rpc_write_error(line, r->id, strlen(r->id), e, NULL, mcp_tool_names_write);
}

/* ---- life ---- */

struct mcp_subs *mcp_subs_new(struct mcp *m)
{
	struct mcp_subs *s = mem_zalloc(sizeof(*s));

	s->m = m;
	s->listening = (struct dialect){
		.ctx = m,
		.silent_cancel = true,
		.ok = mcp_subs_answer_end,
		.fail = mcp_subs_answer_fail,
	};
	s->flushed_ms = -EVERY_MS;
	loop_timer_init(&s->timer, mcp_subs_on_timer, s);
	return s;
}

void mcp_subs_free(struct mcp_subs *s)
{
	if (!s)
		return;
	loop_timer_stop(s->m->cap->loop, &s->timer);
	while (s->first)
		mcp_subs_drop(s, s->first->handle);
	mcp_subs_clear_items(&s->session);
	free(s);
}

void mcp_subs_drop(struct mcp_subs *s, uint64_t handle)
{
	for (struct listener **at = &s->first; *at; at = &(*at)->next) {
		struct listener *l = *at;

		if (l->handle != handle)
			continue;
		*at = l->next;
		s->count--;
		mcp_subs_clear_items(l);
		free(l);
		return;
	}
}

static bool mcp_subs_mark_item(struct listener *l, uint64_t key, bool over)
{
	bool any = false;

	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].key == key && (over || l->items[i].kind != TASK))
			any = l->items[i].dirty = true;
	return any;
}

void mcp_subs_changed(struct mcp_subs *s, uint64_t key, bool over)
{
	bool any = mcp_subs_mark_item(&s->session, key, over);

	for (struct listener *l = s->first; l; l = l->next)
		any |= mcp_subs_mark_item(l, key, over);
	if (any)
		mcp_subs_plan(s);
}

/* The run with @key is about to be forgotten. A task is shown as it is now or never. */
static bool mcp_subs_end_items(struct mcp_subs *s, struct listener *l, uint64_t key)
{
	bool any = false;

	for (size_t i = l->count; i-- > 0;) {
		struct item *item = &l->items[i];

		if (item->key != key || item->kind == LIST)
			continue;
		if (item->kind == RESOURCE) {
			any = item->dirty = item->gone = true;
			continue;
		}
		if (item->dirty)
			(void)mcp_subs_send_item(s, l, item);
		mcp_subs_remove_item(l, i);
	}
	return any;
}

void mcp_subs_gone(struct mcp_subs *s, uint64_t key)
{
	bool any = mcp_subs_end_items(s, &s->session, key);

	for (struct listener *l = s->first; l; l = l->next)
		any |= mcp_subs_end_items(s, l, key);
	if (any)
		mcp_subs_plan(s);
}

/* Add the lists that @filter asks for; NULL: all, for a session, which does not ask. */
static void mcp_subs_add_lists(struct listener *l, const json_t *filter)
{
	for (const struct mcp_list *list = mcp_offer.lists; list && list->filter; list++)
		if (!filter || json_is_true(json_object_get(filter, list->filter)))
			mcp_subs_add_item(l, list->key, list->method, LIST);
}

/* ---- handshake ---- */

/* The run of the resource that a message names, or 0 when it was refused. */
static uint64_t mcp_subs_wanted(struct mcp *m, const struct rpc_message *message,
				enum mcp_revision revision, const char **uri)
{
	ERR_LOCAL(e);
	uint64_t run;

	*uri = mcp_text(message->params, "uri");
	if (!*uri) {
		mcp_refuse(m, message, "`uri` must be a string");
		return 0;
	}
	run = mcp_resources_run(m, *uri, NULL);
	if (!run) {
		mcp_resources_refuse(m, message, *uri, &mcp_shapes[revision]);
		return 0;
	}
	if (mcp_resources_open(m, "process.logs"))
		return run;
	cap_permit(m->cap, cap_find(m->cap, "process.logs"), message->id, message->id_len,
		   proctab_get(m->cap->procs, run)->id, &e);
	rpc_refuse(m->reqs, message, &e);
	return 0;
}

/* Drop items whose run the table has dropped: they will not change any more. */
static void mcp_subs_forget_gone(struct mcp *m, struct listener *l)
{
	for (size_t i = l->count; i-- > 0;)
		if (l->items[i].kind == RESOURCE && !mcp_resources_run(m, l->items[i].name, NULL))
			mcp_subs_remove_item(l, i);
}

void mcp_subs_subscribe(struct mcp *m, const struct rpc_message *message,
		        enum mcp_revision revision)
{
	struct mcp_subs *s = m->subs;
	const char *uri;
	uint64_t run = mcp_subs_wanted(m, message, revision, &uri);
	ERR_LOCAL(e);

	if (!run)
		return;
	if (s->session.count == ITEMS_MAX)
		mcp_subs_forget_gone(m, &s->session);
	if (s->session.count == ITEMS_MAX) {
		err_set(&e, ERR_LIMIT_REACHED, "%d resources are subscribed to, the maximum",
			ITEMS_MAX);
		err_hint(&e, "Unsubscribe from some first.");
		rpc_refuse(m->reqs, message, &e);
		return;
	}
	mcp_subs_add_item(&s->session, run, uri, RESOURCE);
	mcp_reply_empty(m, message, &mcp_shapes[revision]);
}

void mcp_subs_unsubscribe(struct mcp *m, const struct rpc_message *message,
			  enum mcp_revision revision)
{
	struct listener *l = &m->subs->session;
	const char *uri = mcp_text(message->params, "uri");

	if (!uri) {
		mcp_refuse(m, message, "`uri` must be a string");
		return;
	}
	for (size_t i = l->count; i-- > 0;)
		if (l->items[i].kind == RESOURCE && !strcmp(l->items[i].name, uri))
			mcp_subs_remove_item(l, i);
	mcp_reply_empty(m, message, &mcp_shapes[revision]);
}

void mcp_subs_reset(struct mcp_subs *s)
{
	mcp_subs_clear_items(&s->session);
	mcp_subs_add_lists(&s->session, NULL);
}

/* ---- stateless ---- */

/* The strings of a member of the filter. Returns -1 when it is malformed. */
static int mcp_subs_read_names(const json_t *filter, const char *name, const json_t **names)
{
	const json_t *value;
	size_t i;

	*names = json_object_get(filter, name);
	if (*names && (!json_is_array(*names) || json_array_size(*names) > ITEMS_MAX / 2))
		return -1;
	json_array_foreach(*names, i, value)
		if (!json_is_string(value) ||
		    strlen(json_string_value(value)) != json_string_length(value))
			return -1;
	return 0;
}

static void mcp_subs_add_resources(struct mcp *m, struct listener *l, const json_t *uris)
{
	const json_t *value;
	size_t i;

	if (!mcp_resources_open(m, "process.logs"))
		return;
	json_array_foreach(uris, i, value) {
		const char *uri = json_string_value(value);
		uint64_t run = mcp_resources_run(m, uri, NULL);

		if (run)
			mcp_subs_add_item(l, run, uri, RESOURCE);
	}
}

static void mcp_subs_add_tasks(struct mcp *m, struct listener *l, const json_t *ids)
{
	const json_t *value;
	size_t i;

	json_array_foreach(ids, i, value) {
		const char *id = json_string_value(value);
		uint64_t run = mcp_tasks_key(m->tasks, id);

		if (run)
			mcp_subs_add_item(l, run, id, TASK);
	}
}

static void mcp_subs_write_honoured(struct jsonw *w, const struct listener *l, const char *key,
				    enum kind kind)
{
	jsonw_array(w, key);
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].kind == kind)
			jsonw_str(w, NULL, l->items[i].name);
	jsonw_end_array(w);
}

/* Send the first message of a subscription: the part of the filter that the server honours. */
static void mcp_subs_acknowledge(struct mcp *m, const struct listener *l, const json_t *filter)
{
	const struct mcp_list *list = mcp_offer.lists;
	struct buf line;
	struct jsonw w;

	mcp_subs_begin_item(&w, &line, l, "notifications/subscriptions/acknowledged");
	jsonw_object(&w, "notifications");
	for (; list && list->filter; list++)
		if (json_is_true(json_object_get(filter, list->filter)))
			jsonw_bool(&w, list->filter, true);
	if (json_object_get(filter, "resourceSubscriptions"))
		mcp_subs_write_honoured(&w, l, "resourceSubscriptions", RESOURCE);
	if (json_object_get(filter, "taskIds"))
		mcp_subs_write_honoured(&w, l, "taskIds", TASK);
	jsonw_end_object(&w);
	rpc_close_notification(&w);
	outq_push(reqtab_outq(m->reqs), line.data, line.len);
	buf_release(&line);
}

static void mcp_subs_open_listener(struct mcp *m, const struct rpc_message *message,
				   const json_t *uris, const json_t *tasks)
{
	const json_t *filter = json_object_get(message->params, "notifications");
	struct req *r = rpc_request(m->reqs, &m->subs->listening, message);
	ERR_LOCAL(e);
	struct listener *l;

	if (!r)
		return;
	if (req_take_slot(r, REQ_SLOT_WAIT, &e)) {
		req_fail(r, &e);
		return;
	}
	l = mem_zalloc(sizeof(*l));
	l->handle = r->handle;
	l->id = mem_strdup(r->id);
	l->next = m->subs->first;
	m->subs->first = l;
	m->subs->count++;
	mcp_subs_add_lists(l, filter);
	mcp_subs_add_resources(m, l, uris);
	mcp_subs_add_tasks(m, l, tasks);
	mcp_subs_acknowledge(m, l, filter);
	mcp_subs_plan(m->subs); /* report a task that has already ended at once */
}

void mcp_subs_listen(struct mcp *m, const struct rpc_message *message,
		     enum mcp_revision revision)
{
	const json_t *filter = json_object_get(message->params, "notifications");
	const json_t *uris, *tasks;
	ERR_LOCAL(e);

	(void)revision; /* only one has this method */
	if (!json_is_object(filter) ||
	    mcp_subs_read_names(filter, "resourceSubscriptions", &uris) ||
	    mcp_subs_read_names(filter, "taskIds", &tasks)) {
		mcp_refuse(m, message,
			   "`notifications` must be an object; its resourceSubscriptions and "
			   "taskIds arrays of at most %d strings", ITEMS_MAX / 2);
	} else if (tasks && !mcp_declares_tasks(message->root)) {
		mcp_refuse_without_tasks(m, message);
	} else if (m->subs->count >= LISTENERS_MAX) {
		err_set(&e, ERR_LIMIT_REACHED, "%d subscriptions are open, the maximum",
			LISTENERS_MAX);
		err_hint(&e, "Cancel one first.");
		rpc_refuse(m->reqs, message, &e);
	} else {
		mcp_subs_open_listener(m, message, uris, tasks);
	}
}

void mcp_subs_end(struct mcp_subs *s)
{
	mcp_subs_reset(s);
	while (s->first) {
		struct req *r = req_find(s->m->reqs, s->first->handle);

		if (r) {
			req_result(r); /* without members */
			req_ok(r);     /* drops the listener */
		} else {
			mcp_subs_drop(s, s->first->handle);
		}
	}
}
