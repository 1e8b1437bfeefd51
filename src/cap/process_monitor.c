/* process.monitor: the record of a run, at once or when what the call waits for has come. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/denied_calls.h"
#include "cap/run_log.h"
#include "cap/run_members.h"
#include "cap/run_result.h"
#include "cap/run_warnings.h"
#include "cap/until.h"
#include "proc/input_wait.h"

struct monitor_task {
	struct until *until;
	uint64_t seq;
	bool over; /* wait_ms has passed, or was 0 */
};

static void process_monitor_free_task(void *task)
{
	struct monitor_task *t = task;

	until_free(t->until);
	free(t);
}

static int process_monitor_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct monitor_task *t = mem_zalloc(sizeof(*t));

	r->task = t;
	r->task_free = process_monitor_free_task;
	t->until = until_new(r, e);
	return t->until ? 0 : -1;
}

static void process_monitor_write_result(const struct cap *c, struct req *r, struct proc *p,
					 enum until_found found)
{
	const struct monitor_task *t = r->task;
	struct jsonw *w = req_result(r);

	run_members_record(w, p, RUN_MEMBERS_COMMAND_MAX, proc_usage(p));
	if (p->rare->stdin_unread)
		jsonw_int(w, "stdin_unread", (int64_t)p->rare->stdin_unread);
	run_log_members(w, p);
	run_warnings_write_end(w, c, p);
	jsonw_bool(w, "matched", found == UNTIL_MET);
	until_write(t->until, p, w);
	denied_calls_write(w, p);
}

static void process_monitor_answer(const struct cap *c, struct req *r, struct proc *p,
				   enum until_found found)
{
	const struct monitor_task *t = r->task;
	ERR_LOCAL(e);

	process_monitor_write_result(c, r, p, found);
	if (found != UNTIL_STOPPED) {
		req_ok(r);
		return;
	}
	until_error(t->until, &e);
	req_fail_partial(r, &e);
}

static enum until_found process_monitor_look(const struct req *r, const struct proc *p)
{
	const struct monitor_task *t = r->task;
	enum until_look how = UNTIL_GO_ON;

	if (t->over && wait_ms(r) > 0)
		how = UNTIL_NOW;
	else if (t->over || p->phase == PROC_SETTLED)
		how = UNTIL_ALL;
	return until_look(t->until, p, how);
}

/* Look, and answer if it is decided. Returns whether to go on waiting. */
static bool process_monitor_decide(const struct cap *c, struct req *r, struct proc *p)
{
	enum until_found found = process_monitor_look(r, p);

	if (found == UNTIL_OPEN)
		return true;
	process_monitor_answer(c, r, p, found);
	return false;
}

static bool process_monitor_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	if (!(events & PROC_EVENT_FAILED))
		return process_monitor_decide(c, r, p);
	run_result_fail(r, p);
	return false;
}

static void process_monitor_on_change(struct cap *c, struct req *r)
{
	const struct monitor_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);
	ERR_LOCAL(e);

	if (p) {
		process_monitor_decide(c, r, p);
		return;
	}
	err_set(&e, ERR_PROCESS_NOT_FOUND, "the run was forgotten while it was searched");
	req_fail(r, &e);
}

static void process_monitor_on_timer(void *ctx, struct req *r)
{
	struct monitor_task *t = r->task;

	t->over = true;
	process_monitor_on_change(ctx, r);
}

/* With what is known now. */
static void process_monitor_answer_now(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct monitor_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p)
		process_monitor_answer(c, r, p, UNTIL_UNMET);
	else
		process_monitor_on_change(c, r);
}

static enum cap_outcome process_monitor_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), call->e);
	struct monitor_task *t = r->task;
	enum until_found found;

	if (!p)
		return CAP_FAILED;
	t->seq = p->seq;
	t->over = wait_ms(r) <= 0;
	until_begin(t->until, c, r, p, process_monitor_on_change);
	found = process_monitor_look(r, p);
	if (found != UNTIL_OPEN) {
		process_monitor_write_result(c, r, p, found);
		return CAP_DONE;
	}
	input_wait_note(p); /* the answer can compare with now */
	r->run = p->seq;
	r->answer_now = process_monitor_answer_now;
	r->answer_now_ctx = c;
	wait_add(&c->waits, r, p, until_events(t->until), process_monitor_on_event);
	if (!t->over)
		req_timer(r, wait_ms(r), process_monitor_on_timer, c);
	return CAP_WAITING;
}

const struct cap_ops cap_process_monitor = {
	.prepare = process_monitor_prepare,
	.start = process_monitor_start,
};
