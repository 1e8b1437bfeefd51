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
	struct slices_job job; /* of a call with state_filter, as are the next five */
	struct cap *c;
	struct req *r;
	uint64_t *runs;   /* on record: what is deleted */
	const char **ids; /* of them, in the one allocation; ended by NULL */
	size_t count, done;
	int64_t deleted;
	uint64_t bytes_freed;
};

static void process_delete_task_free(void *task)
{
	struct delete_task *t = task;

	slices_drop(&t->job);
	free(t->runs);
	free(t->ids);
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
	if (one)
		err_invalid(e, "state_filter", "process_id and state_filter exclude each other");
	else
		err_invalid(e, "process_id", "neither process_id nor state_filter is given");
	return err_hint(e, "Give process_id for one run, or state_filter (all, completed, killed, "
			   "timed_out) for all finished runs of that state.");
}

static int process_delete_resolve(struct cap_call *call, struct err *e)
{
	struct proctab *procs = call->c->procs;
	const char *id = json_get_str(call->r->params, "process_id", NULL);
	const struct proc *p = id ? proctab_find(procs, id, e) : NULL;

	if (!id)
		return 0;
	return p ? proctab_check_over(procs, p, e) : -1;
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

	return p->phase == PROC_SETTLED && !p->tree_alive &&
	       (!strcmp(filter, "all") || !strcmp(filter, names_state(p->state)));
}

/* The record of the call names the runs, and only these are deleted. */
static bool process_delete_judge(struct cap_call *call)
{
	struct delete_task *t = call->r->task;
	struct proctab *procs = call->c->procs;
	size_t max = 0;
	char *text;

	if (!json_object_get(call->r->params, "state_filter"))
		return true;
	for (struct proc *p = NULL; (p = proctab_next(procs, p));)
		max += process_delete_matches(call->r, p);
	t->runs = mem_zalloc((max + 1) * sizeof(*t->runs));
	t->ids = mem_zalloc((max + 1) * (sizeof(*t->ids) + IDS_TEXT_SIZE));
	text = (char *)(t->ids + max + 1);
	for (struct proc *p = NULL; (p = proctab_next(procs, p));) {
		if (!process_delete_matches(call->r, p))
			continue;
		t->runs[t->count] = p->seq;
		t->ids[t->count++] = strcpy(text, p->id);
		text += IDS_TEXT_SIZE;
	}
	call->event.state_filter = json_get_str(call->r->params, "state_filter", NULL);
	call->event.process_ids = t->ids;
	return true;
}

static void process_delete_answer_now(void *cap, struct req *r)
{
	(void)cap;
	process_delete_write_result(r);
	req_ok(r);
}

/* Delete until @until_us. Answers when nothing is left to delete. */
static bool process_delete_work(void *data, int64_t until_us)
{
	struct delete_task *t = data;
	struct proctab *procs = t->c->procs;

	while (t->done < t->count) {
		struct proc *p = proctab_get(procs, t->runs[t->done++]);
		ERR_LOCAL(skipped);

		if (p)
			(void)process_delete_one(procs, t, p, &skipped); /* survivors: it stays */
		err_release(&skipped);
		if (t->done < t->count && clock_mono_us() >= until_us)
			return true;
	}
	process_delete_answer_now(t->c, t->r);
	return false;
}

static enum cap_outcome process_delete_start_many(struct cap *c, struct req *r)
{
	struct delete_task *t = r->task;

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
	.resolve = process_delete_resolve,
	.judge = process_delete_judge,
	.start = process_delete_start,
};
