/*
 * process.kill. SIGTERM (the default), and any signal with force_after, asks the whole
 * run to end: every process gets it, and after force_after SIGKILL ends the rest. That
 * deadline belongs to the run (proc/proc.h), not to the call: wait_ms, a cancelled call
 * or a client that has gone do not change it. SIGKILL goes to the whole tree at once. In
 * a run with a terminal SIGHUP goes to every process, as if it had hung up, but it stays
 * open for what they still write. Any other signal goes to the command's process group
 * and may end nothing: the answer comes with the end of the run or after a second.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/run_members.h"
#include "proc/names.h"

#define FORCE_AFTER_MS 10000.0 /* default of force_after with SIGTERM */
#define LAST_PROCESSES_MS 100.0 /* for processes that end just after the command */
#define OUTCOME_MS 1000.0 /* for the shim to report whether it sent the signal */

struct kill_task {
	int signal;
	bool whole;            /* to every process of the run; else to the command's group */
	double force_after_ms; /* 0: never */
	double wait_ms;        /* the request's bound on the answer; below 0: none */
	int64_t began_ms;
	uint64_t seq;
	int sent;              /* the signal, once a process has received it; else 0 */
	bool outcome_known;    /* the shim has reported whether the signal was sent */
	bool due;              /* answer as soon as the outcome is known */
	bool after_exit;       /* sent after the command had ended, to its leftover processes */
};

/* ---- parameters ---- */

static int process_kill_read_signal(const json_t *params, int *number, struct err *e)
{
	const json_t *value = json_object_get(params, "signal");

	if (json_is_integer(value)) {
		*number = (int)json_integer_value(value);
		return 0;
	}
	*number = names_signal_number(json_get_str(params, "signal", "SIGTERM"));
	if (*number)
		return 0;
	err_invalid(e, "signal", "signal names no signal: %.64s",
		    json_get_str(params, "signal", ""));
	return err_hint(e, "Use a name like SIGTERM, TERM or SIGKILL, or a number from 1 to 64.");
}

static int process_kill_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct kill_task *t = mem_zalloc(sizeof(*t));
	double force_after = json_get_num(r->params, "force_after", -1);

	r->task = t;
	r->task_free = free;
	if (process_kill_read_signal(r->params, &t->signal, e))
		return -1;
	t->whole = t->signal == SIGTERM || force_after >= 0;
	if (force_after >= 0)
		t->force_after_ms = force_after * 1000;
	else if (t->signal == SIGTERM)
		t->force_after_ms = FORCE_AFTER_MS;
	t->wait_ms = json_get_num(r->params, "wait_ms", -1);
	return 0;
}

/* Does this call end the whole tree in any case? */
static bool process_kill_escalates(const struct kill_task *t)
{
	return t->signal == SIGKILL || t->force_after_ms > 0;
}

static double process_kill_earlier_ms(double a_ms, double b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* The time left for the answer; below 0: no bound. A run that nothing forces is watched for
 * PROC_LIVES_ON_MS from the signal on, which counts from now: its state must not speak of this call
 * once the answer has said that it lives on. */
static double process_kill_left_ms(const struct req *r, const struct kill_task *t)
{
	double ms = t->wait_ms;

	if (r->dialect->wait_max_ms)
		ms = process_kill_earlier_ms(ms, r->dialect->wait_max_ms);
	if (ms >= 0) {
		ms -= (double)(clock_mono_ms() - t->began_ms);
		ms = ms < 0 ? 0 : ms;
	}
	return process_kill_escalates(t) ? ms : process_kill_earlier_ms(ms, PROC_LIVES_ON_MS);
}

/* ---- the answer ---- */

/* The last signal that is known to have reached a process. */
static int process_kill_signal_sent(const struct kill_task *t, const struct proc *p)
{
	return p->forced ? SIGKILL : t->sent;
}

/* Does @signal end a process that does not handle it? */
static bool process_kill_ends(int signal)
{
	return signal != SIGCONT && signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN &&
	       signal != SIGTTOU && signal != SIGCHLD && signal != SIGURG && signal != SIGWINCH;
}

/* Does a signal that comes now go to what the command has left? Where SIGKILL has begun to take all
 * of the run, the cause of that is the end of these processes too. */
static bool process_kill_is_after_exit(const struct proc *p)
{
	return p->exited && p->phase != PROC_KILLING;
}

/* Is the run gone because procpen killed it, for this call or for an earlier one?
 * An end by a limit, by itself, or by a timeout that came before the signal does not count. */
static bool process_kill_has_killed(const struct kill_task *t, const struct proc *p)
{
	if (p->usage.alive || p->phase != PROC_SETTLED || proc_is_ending(p))
		return false; /* while it ends, one may fork behind the look at the others */
	if (t->after_exit && t->sent)
		return p->forced || t->force_after_ms > 0 || process_kill_ends(t->signal);
	if (p->reason == PROC_REASON_KILLED_BY_REQUEST || p->reason == PROC_REASON_CANCELLED ||
	    p->reason == PROC_REASON_SERVER_SHUTDOWN)
		return true;
	return p->forced && (t->after_exit || p->reason == PROC_REASON_EXITED ||
			     p->reason == PROC_REASON_SIGNALED);
}

static void process_kill_answer(struct req *r, struct proc *p)
{
	const struct kill_task *t = r->task;
	const struct usage *usage = proc_usage(p);
	int sent = process_kill_signal_sent(t, p);
	struct jsonw *w = req_result(r);

	jsonw_bool(w, "killed", process_kill_has_killed(t, p));
	jsonw_str(w, "signal_sent", sent ? names_signal(sent) : NULL);
	jsonw_bool(w, "forced", p->forced);
	jsonw_int(w, "waited_ms", clock_mono_ms() - t->began_ms);
	jsonw_bool(w, "pending", proc_is_ending(p));
	jsonw_str(w, "process_id", p->id);
	jsonw_str(w, "state", names_state(p->state));
	jsonw_str(w, "reason", names_reason(p->reason));
	run_members_tree(w, p);
	run_members_alive(w, usage);
	req_ok(r);
}

/* ---- waiting for it ---- */

/* The time is over: answer, but wait up to OUTCOME_MS more until the signal's outcome is known. */
static void process_kill_on_due(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	struct kill_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (!t->outcome_known && !t->due) {
		t->due = true;
		req_timer(r, OUTCOME_MS, process_kill_on_due, c);
	} else if (p) {
		process_kill_answer(r, p);
	}
}

static void process_kill_answer_now(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct kill_task *t = r->task;

	process_kill_answer(r, proctab_get(c->procs, t->seq)); /* not NULL: the table keeps live
							        * runs */
}

/* The shim has reported the signal's outcome. Returns false when the request was answered. */
static bool process_kill_on_signaled(struct cap *c, struct req *r, struct proc *p)
{
	struct kill_task *t = r->task;
	ERR_LOCAL(e);
	double left_ms;

	t->outcome_known = true;
	if (!p->live->signal_error) {
		t->sent = t->signal;
		t->after_exit = process_kill_is_after_exit(p);
	} else if (!p->exited) {
		err_sys(&e, ERR_KILL_FAILED, p->live->signal_error, "%s could not be sent to %s",
			names_signal(t->signal), p->id);
		err_detail(&e, "errno", json_string(err_sys_name(p->live->signal_error)));
		cap_fail(r->call, &e);
		return false;
	} /* else it ended by itself first; the end of the tree answers */
	left_ms = process_kill_left_ms(r, t);
	if (left_ms != 0) {
		if (left_ms > 0)
			req_timer(r, left_ms, process_kill_on_due, c);
		return true;
	}
	process_kill_answer(r, p);
	return false;
}

/* The command has ended; give its other processes a moment to end too. */
static void process_kill_wait_for_last(struct cap *c, struct req *r)
{
	struct kill_task *t = r->task;
	double left_ms = process_kill_earlier_ms(process_kill_left_ms(r, t), LAST_PROCESSES_MS);

	t->outcome_known = true;
	req_timer(r, left_ms, process_kill_on_due, c);
}

static bool process_kill_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	struct kill_task *t = r->task;
	ERR_LOCAL(e);

	if (events & PROC_EVENT_FAILED) {
		err_set(&e, ERR_PROCESS_ALREADY_EXITED, "%s never began: %s", p->id,
			p->rare->failure->message);
		err_hint(&e, "Nothing of it ran, so there is nothing to end.");
		e.lasting = true; /* its record goes: there is no state to look at */
		cap_fail(r->call, &e);
		return false;
	}
	if (events & PROC_EVENT_EMPTY) {
		process_kill_answer(r, p);
		return false;
	}
	if ((events & PROC_EVENT_SIGNALED) && !t->outcome_known &&
	    p->live->signal_tried == t->signal)
		return process_kill_on_signaled(c, r, p);
	if ((events & PROC_EVENT_SETTLED) && !process_kill_escalates(t))
		process_kill_wait_for_last(c, r);
	return true;
}

/* ---- the call ---- */

static int process_kill_check_alive(const struct proc *p, struct err *e)
{
	if (p->tree_alive)
		return 0;
	if (p->rare->survivors) {
		err_set(e, ERR_KILL_FAILED, "%u processes of %s got SIGKILL and did not end",
			p->rare->survivors, p->id);
		return err_hint(e, "They wait in the kernel, most likely for a device or a file "
				   "server: nothing else can end them. Tell the user.");
	}
	return err_set(e, ERR_PROCESS_ALREADY_EXITED, "%s has ended and left nothing behind",
		       p->id);
}

static struct proc *process_kill_find(const struct cap_call *call, struct err *e)
{
	const char *id = json_get_str(call->r->params, "process_id", "");
	struct proc *p = proctab_find(call->c->procs, id, e);

	return p && process_kill_check_alive(p, e) ? NULL : p;
}

static int process_kill_resolve(struct cap_call *call, struct err *e)
{
	return process_kill_find(call, e) ? 0 : -1;
}

static void process_kill_force(struct kill_task *t, struct proc *p)
{
	t->signal = SIGKILL;
	t->outcome_known = true;
	t->after_exit = process_kill_is_after_exit(p);
	proc_kill_tree(p, PROC_REASON_KILLED_BY_REQUEST);
}

/* Once the command has ended it has no process group to signal: signal the whole run. */
static int process_kill_send_signal(struct kill_task *t, struct proc *p, struct err *e)
{
	int result;

	if (t->signal == SIGKILL) {
		process_kill_force(t, p);
		return 0;
	}
	if (t->whole || p->exited || (t->signal == SIGHUP && proc_has_terminal(p)))
		result = proc_end(p, t->signal, t->force_after_ms, e);
	else
		result = proc_signal(p, t->signal, e);
	if (!result || e->sys == EAGAIN)
		return result;
	err_release(e); /* the shim has gone, so the run is being killed: wait for its end */
	process_kill_force(t, p);
	return 0;
}

static enum cap_outcome process_kill_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct proc *p = process_kill_find(call, call->e);
	struct kill_task *t = r->task;
	double after_ms;

	if (!p)
		return CAP_FAILED;
	r->run = t->seq = p->seq;
	t->began_ms = clock_mono_ms();
	if (process_kill_send_signal(t, p, call->e))
		return CAP_FAILED;
	r->answer_now = process_kill_answer_now;
	r->answer_now_ctx = c;
	after_ms = process_kill_left_ms(r, t);
	if (after_ms >= 0)
		req_timer(r, after_ms, process_kill_on_due, c);
	wait_add(&c->waits, r, p,
		 PROC_EVENT_SIGNALED | PROC_EVENT_SETTLED | PROC_EVENT_EMPTY | PROC_EVENT_FAILED,
		 process_kill_on_event);
	return CAP_WAITING;
}

const struct cap_ops cap_process_kill = {
	.prepare = process_kill_prepare,
	.resolve = process_kill_resolve,
	.start = process_kill_start,
};
