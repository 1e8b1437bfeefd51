#include "mcp/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/digest.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "mcp/task_source.h"
#include "mcp/tools.h"

#define POLL_MS 1000
#define LONE_MAX 256 /* tasks whose run never started */
#define TAG_BYTES 16
#define ID_SIZE (IDS_TEXT_SIZE + 1 + 2 * TAG_BYTES)

struct mcp_tasks {
	struct mcp *m;
	unsigned char key[DIGEST_SIZE]; /* of the tags; generated on first use */
	bool has_key;
	struct mcp_task *first;
};

struct mcp_tasks *mcp_tasks_new(struct mcp *m)
{
	struct mcp_tasks *t = mem_zalloc(sizeof(*t));

	t->m = m;
	return t;
}

static void mcp_tasks_free_task(struct mcp_task *task)
{
	mcp_task_release(task);
	free(task);
}

void mcp_tasks_free(struct mcp_tasks *t)
{
	if (!t)
		return;
	while (t->first) {
		struct mcp_task *next = t->first->next;

		mcp_tasks_free_task(t->first);
		t->first = next;
	}
	explicit_bzero(t->key, sizeof(t->key));
	free(t);
}

/* Drop tasks that are gone for their source, and the oldest of those without a run. */
static void mcp_tasks_sweep(struct mcp_tasks *t)
{
	struct mcp_task **at = &t->first; /* the newest */
	struct mcp_task_look look;
	int lone = 0;

	while (*at) {
		struct mcp_task *task = *at;

		mcp_task_look(t->m, task, &look);
		lone += look.lone;
		if (look.status != MCP_TASK_GONE && (!look.lone || lone <= LONE_MAX)) {
			at = &task->next;
			continue;
		}
		*at = task->next;
		mcp_tasks_free_task(task);
	}
}

/* ---- ids ---- */

static void mcp_tasks_write_id(const struct mcp_tasks *t, const char *name, char id[ID_SIZE])
{
	unsigned char tag[DIGEST_SIZE];
	char hex[2 * TAG_BYTES + 1];

	digest_sign(t->key, sizeof(t->key), name, strlen(name), tag);
	digest_hex(tag, TAG_BYTES, hex);
	snprintf(id, ID_SIZE, "%s-%s", name, hex);
}

/* Compares the public part first; the rest is secret and of a fixed length. */
static bool mcp_tasks_is_id(const struct mcp_tasks *t, const struct mcp_task *task, const char *id)
{
	size_t len = strlen(task->name);
	char own[ID_SIZE];

	if (strlen(id) != len + 1 + 2 * TAG_BYTES || strncmp(id, task->name, len))
		return false;
	mcp_tasks_write_id(t, task->name, own);
	return digest_equal(id + len, own + len, 1 + 2 * TAG_BYTES);
}

static struct mcp_task *mcp_tasks_find_id(struct mcp_tasks *t, const char *id)
{
	struct mcp_task *task;

	mcp_tasks_sweep(t);
	for (task = t->first; task; task = task->next)
		if (mcp_tasks_is_id(t, task, id))
			break;
	return task;
}

static struct mcp_task *mcp_tasks_find_key(const struct mcp_tasks *t, uint64_t key)
{
	struct mcp_task *task = t->first;

	while (task && task->key != key)
		task = task->next;
	return task;
}

uint64_t mcp_tasks_key(struct mcp_tasks *t, const char *id)
{
	const struct mcp_task *task = mcp_tasks_find_id(t, id);

	return task ? task->key : 0;
}

/* ---- a task as JSON ---- */

static void mcp_tasks_write_head(struct jsonw *w, const struct mcp_tasks *t,
				 const struct mcp_task *task, const struct mcp_task_look *look)
{
	static const char *const names[] = {
		[MCP_TASK_WORKING] = "working",	    [MCP_TASK_INPUT_REQUIRED] = "input_required",
		[MCP_TASK_COMPLETED] = "completed", [MCP_TASK_FAILED] = "failed",
		[MCP_TASK_CANCELLED] = "cancelled",
	};
	char id[ID_SIZE];

	mcp_tasks_write_id(t, task->name, id);
	jsonw_str(w, "taskId", id);
	jsonw_str(w, "status", names[look->status]);
	if (*look->message)
		jsonw_str(w, "statusMessage", look->message);
	jsonw_time(w, "createdAt", task->created_ms);
	jsonw_time(w, "lastUpdatedAt", look->changed_ms);
	jsonw_null(w, "ttlMs");
	jsonw_int(w, "pollIntervalMs", POLL_MS);
}

bool mcp_tasks_write(struct mcp_tasks *t, struct jsonw *w, uint64_t key)
{
	struct mcp_task *task = mcp_tasks_find_key(t, key);
	struct mcp_task_look look = { .status = MCP_TASK_GONE };

	if (task)
		mcp_task_look(t->m, task, &look);
	if (look.status == MCP_TASK_GONE)
		return false;
	mcp_tasks_write_head(w, t, task, &look);
	mcp_task_write(t->m, w, task, &look);
	return true;
}

/* ---- creating ---- */

static struct mcp_task *mcp_tasks_create(struct mcp_tasks *t, const struct req *r)
{
	struct mcp_task begun = { 0 }, *task;

	if (!mcp_declares_tasks(r->root))
		return NULL;
	if (!t->has_key)
		t->has_key = getrandom(t->key, sizeof(t->key), GRND_NONBLOCK) == sizeof(t->key);
	/* Without a key an id could be guessed: then there is no task, but the result. */
	if (!t->has_key || !mcp_task_begin(t->m, r, &begun))
		return NULL;
	mcp_tasks_sweep(t);
	task = mcp_tasks_find_key(t, begun.key);
	if (task) { /* a repeat of a call: the run has one */
		mcp_task_release(&begun);
		return task;
	}
	task = mem_zalloc(sizeof(*task));
	*task = begun;
	task->next = t->first;
	t->first = task;
	return task;
}

bool mcp_tasks_answer(struct mcp_tasks *t, const struct req *r, const struct result *result,
		      struct buf *line)
{
	const struct mcp_shape *shape = &mcp_shapes[MCP_2026_07_28];
	const struct mcp_task *task = mcp_tasks_create(t, r);
	struct mcp_task_look look;
	struct jsonw w;

	if (!task)
		return false;
	mcp_task_look(t->m, task, &look);
	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "task");
	mcp_tasks_write_head(&w, t, task, &look);
	mcp_open_meta(&w, shape);
	jsonw_str(&w, "dev.procpen/process_id", task->name);
	jsonw_raw(&w, MCP_RESULT_KEY, result->json.data, result->json.len);
	jsonw_end_object(&w);
	mcp_close_result(&w);
	return true;
}

void mcp_tasks_on_end(struct mcp_tasks *t, const struct proc *run)
{
	const struct mcp_task *task = mcp_tasks_find_key(t, run->seq);

	if (task)
		mcp_task_on_end(task, run);
}

/* ---- methods ---- */

/* The task that a request names, or NULL when the request was refused. */
static struct mcp_task *mcp_tasks_wanted(struct mcp *m, const struct rpc_message *message)
{
	const char *id = mcp_text(message->params, "taskId");
	struct mcp_task *task;

	if (!mcp_declares_tasks(message->root)) {
		mcp_refuse_without_tasks(m, message);
		return NULL;
	}
	if (!id) {
		mcp_refuse(m, message, "`taskId` must be a string");
		return NULL;
	}
	task = mcp_tasks_find_id(m->tasks, id);
	if (!task)
		mcp_refuse(m, message, "there is no task `%.80s`: it never existed, or its run was "
				       "forgotten", id);
	return task;
}

void mcp_tasks_get(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision)
{
	const struct mcp_task *task = mcp_tasks_wanted(m, message);
	struct mcp_reply reply;

	if (!task)
		return;
	mcp_reply_begin(&reply, message, &mcp_shapes[revision]);
	mcp_tasks_write(m->tasks, &reply.w, task->key);
	mcp_reply_send(m, &reply);
}

void mcp_tasks_update(struct mcp *m, const struct rpc_message *message,
		      enum mcp_revision revision)
{
	const json_t *responses = json_object_get(message->params, "inputResponses");
	const struct mcp_task *task = mcp_tasks_wanted(m, message);

	if (!task)
		return;
	if (!json_is_object(responses)) {
		mcp_refuse(m, message, "`inputResponses` must be an object");
		return;
	}
	mcp_task_update(m, task, responses);
	mcp_reply_empty(m, message, &mcp_shapes[revision]);
}

void mcp_tasks_cancel(struct mcp *m, const struct rpc_message *message,
		      enum mcp_revision revision)
{
	const struct mcp_task *task = mcp_tasks_wanted(m, message);
	ERR_LOCAL(e);

	if (!task)
		return;
	if (mcp_task_cancel(m, message, task, &e))
		rpc_refuse(m->reqs, message, &e);
	else
		mcp_reply_empty(m, message, &mcp_shapes[revision]);
}
