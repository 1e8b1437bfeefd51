/* process.monitor: the record of a run, at once or when it has ended. */
#include "base/json.h"
#include "cap/cap.h"
#include "cap/denied_calls.h"
#include "cap/run_members.h"

static void process_monitor_write_result(struct jsonw *w, struct proc *p)
{
	run_members_head(w, p);
	run_members_times(w, p);
	run_members_usage(w, proc_usage(p));
	run_members_pid(w, p);
	run_members_alive(w, &p->usage);
	jsonw_bool(w, "matched", p->phase == PROC_SETTLED);
	denied_calls_write(w, p);
}

static void process_monitor_answer(struct req *r, struct proc *p)
{
	process_monitor_write_result(req_result(r), p);
	req_ok(r);
}

static bool process_monitor_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	(void)c;
	(void)events;
	process_monitor_answer(r, p);
	return false;
}

/* wait_ms is over: answer with the record as it is. The table keeps live runs. */
static void process_monitor_on_timer(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	struct err e = ERR_INIT;
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), &e);

	if (p)
		process_monitor_answer(r, p);
	else
		req_fail(r, &e);
}

static enum cap_outcome process_monitor_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), call->e);
	int64_t wait_ms = json_get_int(r->params, "wait_ms", 0);

	if (!p)
		return CAP_FAILED;
	if (!wait_ms || p->phase == PROC_SETTLED) {
		process_monitor_write_result(req_result(r), p);
		return CAP_DONE;
	}
	r->run = p->seq;
	r->answer_now = process_monitor_on_timer;
	r->answer_now_ctx = c;
	wait_add(&c->waits, r, p, PROC_EVENT_SETTLED | PROC_EVENT_FAILED, process_monitor_on_event);
	req_timer(r, (double)wait_ms, process_monitor_on_timer, c);
	return CAP_WAITING;
}

const struct cap_ops cap_process_monitor = {
	.start = process_monitor_start,
};
