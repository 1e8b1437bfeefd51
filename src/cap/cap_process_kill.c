/*
 * process.kill. SIGTERM (the default) goes to the command's process group; when
 * the command is gone, or after force_after, what is left of the tree gets
 * SIGKILL, and the answer comes when the tree is empty. SIGKILL goes to the whole
 * tree at once. Any other signal need not end anything: its answer comes with the
 * command's end or after a second.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/jsonw.h"
#include "cap/cap.h"
#include "cap/view.h"
#include "proc/names.h"

#define OTHER_SIGNAL_WAIT_MS 1000

struct kill_task {
	int signal;
	double force_after_ms; /* 0: never */
	int sent;              /* the signal once the command's group has got it; else 0 */
	bool killed_tree;      /* SIGKILL was sent to the tree ... */
	bool kill_after_exit;  /* ... when the command was over: it may have found nobody */
	uint64_t seq;
};

static int read_signal(const json_t *params, int *number, struct err *e)
{
	const json_t *value = json_object_get(params, "signal");

	if (json_is_integer(value)) {
		*number = (int)json_integer_value(value);
		return 0;
	}
	*number = names_signal_number(json_get_str(params, "signal", "SIGTERM"));
	if (*number)
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "signal names no signal: %.64s",
		json_get_str(params, "signal", ""));
	return err_hint(e, "use a name like SIGTERM, TERM or SIGKILL, or a number from 1 to 64");
}

static int prepare(struct cap *c, struct req *r, struct err *e)
{
	struct kill_task *t = mem_zalloc(sizeof(*t));

	(void)c;
	r->task = t;
	r->task_free = free;
	if (read_signal(r->params, &t->signal, e))
		return -1;
	if (t->signal != SIGTERM && json_object_get(r->params, "force_after") &&
	    json_get_num(r->params, "force_after", 10) != 10) {
		err_set(e, ERR_INVALID_PARAMS, "force_after goes with SIGTERM only");
		return err_hint(e, "leave force_after out, or send SIGTERM");
	}
	t->force_after_ms = json_get_num(r->params, "force_after", 10) * 1000;
	return 0;
}

/* The last signal that really met a process. */
static int signal_sent(const struct kill_task *t, const struct proc *p)
{
	if (t->kill_after_exit && !p->killed_rest)
		return t->sent; /* there was no rest */
	return t->killed_tree ? SIGKILL : t->sent;
}

static void answer(struct req *r, struct proc *p)
{
	const struct kill_task *t = r->task;
	int sent = signal_sent(t, p);
	bool ended = p->state == PROC_STATE_KILLED && sent;
	bool cleaned = sent == SIGKILL && p->killed_rest;
	struct buf result;
	struct jsonw w;

	buf_init(&result, 64 * 1024);
	jsonw_init(&w, &result);
	jsonw_object(&w, NULL);
	jsonw_bool(&w, "killed", (ended || cleaned) && !p->survivors);
	jsonw_str(&w, "signal_sent", sent ? names_signal(sent) : NULL);
	jsonw_str(&w, "process_id", p->id);
	jsonw_str(&w, "state", names_state(p->state));
	jsonw_str(&w, "reason", names_reason(p->reason));
	view_tree(&w, p);
	jsonw_end_object(&w);
	req_ok(r, &result);
	buf_release(&result);
}

static void kill_rest(struct kill_task *t, struct proc *p)
{
	t->kill_after_exit = p->exited;
	t->killed_tree = true;
	proc_kill_tree(p, PROC_REASON_KILLED_BY_REQUEST);
}

static void on_force(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	struct kill_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p)
		kill_rest(t, p);
}

/* The signal was taken and the command lives on: that is an answer too. */
static void on_no_end(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct kill_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p)
		answer(r, p);
}

/* The signal's outcome is known. False when the request was answered. */
static bool on_signaled(struct req *r, struct proc *p)
{
	struct kill_task *t = r->task;
	struct err e = ERR_INIT;

	if (!p->signal_error) {
		t->sent = t->signal;
		return true;
	}
	if (p->exited)
		return true; /* it ended by itself first; the rest of this is its end */
	err_sys(&e, ERR_KILL_FAILED, p->signal_error, "%s could not be sent to %s",
		names_signal(t->signal), p->id);
	err_detail(&e, "errno", json_string(err_sys_name(p->signal_error)));
	req_fail(r, &e);
	return false;
}

static bool on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	struct kill_task *t = r->task;
	struct err e = ERR_INIT;

	(void)c;
	if (events & PROC_EVENT_FAILED) {
		err_set(&e, ERR_PROCESS_ALREADY_EXITED, "%s was never started", p->id);
		req_fail(r, &e);
		return false;
	}
	if ((events & PROC_EVENT_SIGNALED) && !t->sent && p->signal_tried == t->signal &&
	    !on_signaled(r, p))
		return false;
	if ((events & PROC_EVENT_EXITED) && t->signal == SIGTERM)
		kill_rest(t, p);
	if ((events & PROC_EVENT_EMPTY) ||
	    ((events & PROC_EVENT_SETTLED) && t->signal != SIGTERM && t->signal != SIGKILL)) {
		answer(r, p);
		return false;
	}
	return true;
}

static enum cap_outcome start(struct cap *c, struct req *r, struct buf *out, struct err *e)
{
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), e);
	struct kill_task *t = r->task;

	(void)out;
	if (!p)
		return CAP_FAILED;
	if (!p->tree_alive && p->survivors) {
		err_set(e, ERR_KILL_FAILED, "%u processes of %s took SIGKILL and did not end",
			p->survivors, p->id);
		err_hint(e, "They wait in the kernel, most likely for a device or a file server: "
			    "nothing else can end them. Tell the user.");
		return CAP_FAILED;
	}
	if (!p->tree_alive) {
		err_set(e, ERR_PROCESS_ALREADY_EXITED, "%s has ended and left nothing behind",
			p->id);
		return CAP_FAILED;
	}
	r->run = t->seq = p->seq;
	if (t->signal == SIGKILL || p->exited) {
		t->signal = SIGKILL;
		kill_rest(t, p);
	} else if (proc_signal(p, t->signal, e)) {
		err_release(e); /* its keeper is gone, and it is being killed: wait for that */
		t->signal = SIGKILL;
		kill_rest(t, p);
	} else if (t->signal == SIGTERM && t->force_after_ms > 0) {
		req_timer(r, t->force_after_ms, on_force, c);
	} else {
		req_timer(r, OTHER_SIGNAL_WAIT_MS, on_no_end, c);
	}
	wait_add(&c->waits, r, p,
		 PROC_EVENT_SIGNALED | PROC_EVENT_EXITED | PROC_EVENT_SETTLED | PROC_EVENT_EMPTY |
			 PROC_EVENT_FAILED,
		 on_event);
	return CAP_WAITING;
}

const struct cap_ops cap_process_kill = {
	.prepare = prepare,
	.start = start,
};
