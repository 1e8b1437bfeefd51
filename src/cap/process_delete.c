/*
 * process.delete: removes the record of a finished run, or of all finished runs of a state. Freeing
 * the output of many runs takes long, so a call with state_filter works in turns (cap/slices.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "proc/names.h"

struct delete_task {
	struct slices_job job; /* of a call with state_filter, as are the next three */
	struct cap *c;
	struct req *r;
	uint64_t before; /* records from this number on were passed, or are newer than the call */
	int64_t deleted;
	uint64_t bytes_freed;
};

static void process_delete_task_free(void *task)
{
	struct delete_task *t = task;

	slices_drop(&t->job);
	free(t);
}

static int process_delete_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct delete_task *t = mem_zalloc(sizeof(*t));
	bool one = json_object_get(r->params, "process_id") != NULL;
	bool many = json_object_get(r->params, "state_filter") != NULL;

	r->task = t;
	r->task_free = process_delete_task_free;
	if (one != many)
		return 0;
	err_set(e, ERR_INVALID_PARAMS, one ? "process_id and state_filter exclude each other"
					   : "neither process_id nor state_filter is given");
	return err_hint(e, "Give process_id for one run, or state_filter (all, completed, killed, "
			   "timed_out) for all finished runs of that state.");
}

static void process_delete_write_result(struct req *r)
{
	const struct delete_task *t = r->task;
	struct jsonw *w = req_result(r);

	jsonw_int(w, "deleted", t->deleted);
	jsonw_int(w, "bytes_freed", (int64_t)t->bytes_freed);
}

/* Frees @p. */
static int process_delete_one(struct proctab *procs, struct delete_task *t, struct proc *p,
			      struct err *e)
{
	uint64_t bytes;

	if (proctab_delete(procs, p, &bytes, e))
		return -1;
	t->deleted++;
	t->bytes_freed += bytes;
	return 0;
}

static bool process_delete_matches(const struct req *r, const struct proc *p)
{
	const char *filter = json_get_str(r->params, "state_filter", "");

	return !strcmp(filter, "all") || !strcmp(filter, names_state(p->state));
}

static void process_delete_answer_now(void *cap, struct req *r)
{
	(void)cap;
	process_delete_write_result(r);
	req_ok(r);
}

/* Delete until @until_us. Answers when no record is left to look at. */
static bool process_delete_work(void *data, int64_t until_us)
{
	struct delete_task *t = data;
	struct proctab *procs = t->c->procs;

	for (struct proc *p = proctab_next(procs, NULL), *older; p; p = older) {
		struct err skipped = ERR_INIT;

		older = proctab_next(procs, p);
		if (p->seq >= t->before)
			continue;
		t->before = p->seq;
		if (process_delete_matches(t->r, p))
			(void)process_delete_one(procs, t, p, &skipped); /* one that lives stays */
		err_release(&skipped);
		if (older && clock_mono_us() >= until_us)
			return true;
	}
	process_delete_answer_now(t->c, t->r);
	return false;
}

static enum cap_outcome process_delete_start_many(struct cap *c, struct req *r)
{
	struct delete_task *t = r->task;
	const struct proc *newest = proctab_next(c->procs, NULL);

	t->before = newest ? newest->seq + 1 : 0;
	t->c = c;
	t->r = r;
	t->job = (struct slices_job){ .work = process_delete_work, .data = t };
	r->answer_now = process_delete_answer_now;
	r->answer_now_ctx = c;
	slices_add(&c->slices, c->loop, &t->job);
	return CAP_WAITING;
}

static enum cap_outcome process_delete_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	const char *id = json_get_str(r->params, "process_id", NULL);
	struct proc *p;

	if (!id)
		return process_delete_start_many(c, r);
	p = proctab_find(c->procs, id, call->e);
	if (!p || process_delete_one(c->procs, r->task, p, call->e))
		return CAP_FAILED;
	process_delete_write_result(r);
	return CAP_DONE;
}

const struct cap_ops cap_process_delete = {
	.prepare = process_delete_prepare,
	.start = process_delete_start,
};
