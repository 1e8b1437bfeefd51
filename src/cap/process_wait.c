/* process.wait: the end of several runs, of all or of any. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/run_members.h"
#include "proc/input_wait.h"

#define RUNS_MAX 256
#define LIVE_USAGE_MAX 20  /* runs whose usage is read now; reading a tree takes 0.1 ms */
#define INPUT_LOOKS_MAX 5  /* runs that are looked at for input; one of 200 processes takes 4 ms */
#define ENTRY_RESERVE 1024 /* encoded bytes of a run without its command and directory */
#define SHORT_RESERVE 220  /* of one that has no room for more, or an id */

struct waited_run {
	const char *id; /* in the parameters */
	uint64_t seq;   /* 0: its record has gone */
	bool awaits_input;
};

struct wait_task {
	struct waited_run runs[RUNS_MAX];
	size_t count;
	bool any;
};

static bool process_wait_is_named(const struct wait_task *t, uint64_t seq)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->runs[i].seq == seq)
			return true;
	return false;
}

static int process_wait_find_runs(struct proctab *procs, const json_t *ids, struct wait_task *t,
				  struct err *e)
{
	const json_t *id;
	size_t i;

	json_array_foreach(ids, i, id) {
		const struct proc *p = proctab_find(procs, json_string_value(id), e);

		if (!p)
			return -1;
		if (!process_wait_is_named(t, p->seq))
			t->runs[t->count++] = (struct waited_run){
				.id = json_string_value(id), .seq = p->seq };
	}
	return 0;
}

static int process_wait_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct wait_task *t = mem_zalloc(sizeof(*t));

	r->task = t;
	r->task_free = free;
	t->any = !strcmp(json_get_str(r->params, "mode", "all"), "any");
	if (json_array_size(json_object_get(r->params, "process_ids")))
		return 0;
	err_invalid(e, "process_ids", "process_ids is empty");
	return err_hint(e, "Name 1 to %d runs; process.list shows all.", RUNS_MAX);
}

/* NULL: its record has gone. */
static struct proc *process_wait_run(struct cap *c, const struct waited_run *run)
{
	return run->seq ? proctab_get(c->procs, run->seq) : NULL;
}

static bool process_wait_is_pending(struct cap *c, const struct waited_run *run)
{
	const struct proc *p = process_wait_run(c, run);

	return p && p->phase != PROC_SETTLED;
}

/* Is it what the call waits for? If not, *@first is a run that has not ended. */
static bool process_wait_is_met(struct cap *c, const struct wait_task *t, uint64_t *first)
{
	size_t pending = 0;

	for (size_t i = 0; i < t->count; i++)
		if (process_wait_is_pending(c, &t->runs[i]) && !pending++)
			*first = t->runs[i].seq;
	return t->any ? pending < t->count : !pending;
}

/* ---- the answer ---- */

static void process_wait_write_run(struct jsonw *w, struct proc *p, size_t budget, int *live_reads)
{
	const struct usage *usage = &p->usage;

	jsonw_object(w, NULL);
	if (w->out->len + ENTRY_RESERVE + strlen(p->settings->cwd) < budget) {
		if (p->tree_alive && (*live_reads)++ < LIVE_USAGE_MAX)
			usage = proc_usage(p);
		run_members_record(w, p, RUN_MEMBERS_COMMAND_LIST_MAX, usage);
	} else {
		run_members_head(w, p, 0);
		jsonw_int(w, "duration_ms", proc_duration_ms(p));
	}
	jsonw_end_object(w);
}

static void process_wait_write_ended(struct jsonw *w, struct cap *c, const struct req *r)
{
	const struct wait_task *t = r->task;
	size_t all = req_list_bytes(r), rest = t->count * SHORT_RESERVE;
	int live_reads = 0;

	jsonw_array(w, "ended");
	for (size_t i = 0; i < t->count; i++) {
		struct proc *p = process_wait_run(c, &t->runs[i]);

		if (p && p->phase == PROC_SETTLED)
			process_wait_write_run(w, p, all > rest ? all - rest : 0, &live_reads);
	}
	jsonw_end_array(w);
}

static void process_wait_write_ids(struct jsonw *w, const char *name, struct cap *c,
				   const struct wait_task *t, bool gone)
{
	jsonw_array(w, name);
	for (size_t i = 0; i < t->count; i++)
		if (gone ? !process_wait_run(c, &t->runs[i])
			 : process_wait_is_pending(c, &t->runs[i]))
			jsonw_str(w, NULL, t->runs[i].id);
	jsonw_end_array(w);
}

/* Which of those that have not ended wait for input? Returns whether any does. */
static bool process_wait_look_for_input(struct cap *c, struct wait_task *t)
{
	bool any = false;
	int looks = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct waited_run *run = &t->runs[i];
		struct proc *p = process_wait_is_pending(c, run) ? process_wait_run(c, run) : NULL;

		run->awaits_input = p && proc_takes_input(p) && looks++ < INPUT_LOOKS_MAX &&
				    input_wait_of(p, proc_usage(p)) == INPUT_WAIT_YES;
		any |= run->awaits_input;
	}
	return any;
}

static void process_wait_write_readers(struct jsonw *w, const struct wait_task *t)
{
	jsonw_array(w, "waits_for_input");
	for (size_t i = 0; i < t->count; i++)
		if (t->runs[i].awaits_input)
			jsonw_str(w, NULL, t->runs[i].id);
	jsonw_end_array(w);
}

static void process_wait_write_result(struct cap *c, struct req *r)
{
	struct wait_task *t = r->task;
	struct jsonw *w = req_result(r);
	bool gone = false;
	uint64_t first;

	process_wait_write_ended(w, c, r);
	process_wait_write_ids(w, "pending", c, t, false);
	if (process_wait_look_for_input(c, t))
		process_wait_write_readers(w, t);
	for (size_t i = 0; i < t->count; i++)
		gone |= !process_wait_run(c, &t->runs[i]);
	if (gone)
		process_wait_write_ids(w, "forgotten", c, t, true);
	jsonw_bool(w, "matched", process_wait_is_met(c, t, &first));
}

static void process_wait_answer(void *ctx, struct req *r)
{
	process_wait_write_result(ctx, r);
	req_ok(r);
}

/* ---- the wait ---- */

/* A run has ended; the waits for the others go on. */
static bool process_wait_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	struct wait_task *t = r->task;

	for (size_t i = 0; i < t->count && events & PROC_EVENT_FAILED; i++)
		if (t->runs[i].seq == p->seq)
			t->runs[i].seq = 0; /* its record goes with this event */
	if (process_wait_is_met(c, t, &r->run))
		process_wait_answer(c, r);
	return false;
}

static enum cap_outcome process_wait_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct wait_task *t = r->task;
	uint64_t first = 0;

	if (process_wait_find_runs(c->procs, json_object_get(r->params, "process_ids"), t,
				   call->e))
		return CAP_FAILED;
	if (process_wait_is_met(c, t, &first) || wait_ms(r) <= 0) {
		process_wait_write_result(c, r);
		return CAP_DONE;
	}
	(void)process_wait_look_for_input(c, t); /* the answer can compare with now */
	r->run = first;
	r->answer_now = process_wait_answer;
	r->answer_now_ctx = c;
	for (size_t i = 0; i < t->count; i++)
		if (process_wait_is_pending(c, &t->runs[i]))
			wait_add(&c->waits, r, process_wait_run(c, &t->runs[i]),
				 PROC_EVENT_SETTLED | PROC_EVENT_FAILED, process_wait_on_event);
	req_timer(r, wait_ms(r), process_wait_answer, c);
	return CAP_WAITING;
}

const struct cap_ops cap_process_wait = {
	.prepare = process_wait_prepare,
	.start = process_wait_start,
};
