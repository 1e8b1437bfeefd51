/*
 * process.run: resolve looks up directory, environment and program; start hands
 * them to the table. The answer comes from the run's events, from
 * the yield timer, or from a cancellation (which kills the run and lets its end
 * answer).
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/denied.h"
#include "cap/run_env.h"
#include "cap/run_limits.h"
#include "cap/run_user.h"
#include "cap/view.h"
#include "guard/env.h"
#include "guard/shell_words.h"
#include "os/confine_seccomp.h"
#include "proc/output_text.h"

#define START_LATE_MS 5000 /* a background run whose keeper is silent is answered all the same */

struct run_task {
	struct command command;
	char **envp;
	int cwd_fd;
	char *cwd, *path;
	struct user user;
	bool background, explain;
	struct confine_request confine;
	struct run_limits limits; /* what it borrows */
	int64_t timeout_ms, yield_ms;
	struct output_tail out_tail, err_tail;
	uint64_t seq; /* the run, once started */
};

static void task_free(void *task)
{
	struct run_task *t = task;

	command_release(&t->command);
	env_free(t->envp);
	mem_cleanup_close(&t->cwd_fd);
	free(t->cwd);
	free(t->path);
	users_release(&t->user);
	free(t);
}

static struct run_task *task_new(struct req *r)
{
	const json_t *params = r->params;
	struct run_task *t = mem_zalloc(sizeof(*t));
	size_t texts = req_text_bytes(r) / 2;

	t->cwd_fd = -1;
	t->background = json_get_bool(params, "background", false);
	t->timeout_ms = (int64_t)(json_get_num(params, "timeout", 300) * 1000 + 0.5);
	if (t->timeout_ms < 1)
		t->timeout_ms = 1;
	t->yield_ms = json_get_int(params, "yield_ms", r->dialect->yield_ms);
	t->explain = json_get_bool(params, "explain_denials", false);
	t->confine.explain = t->explain && confine_seccomp_can_notify();
	t->confine.network_off = !json_get_bool(params, "network", true);
	t->confine.strict = !strcmp(json_get_str(params, "profile", "default"), "strict");
	t->out_tail.lines = (uint64_t)json_get_int(params, "stdout_lines", 100);
	t->err_tail.lines =
		(uint64_t)json_get_int(params, "stderr_lines", (int64_t)t->out_tail.lines);
	t->out_tail.max_bytes = t->err_tail.max_bytes =
		(size_t)json_get_int(params, "max_output_bytes", 16384);
	t->out_tail.max_encoded = t->err_tail.max_encoded = texts;
	r->task = t;
	r->task_free = task_free;
	return t;
}

/* A shell would say 127 for a lone word that names nothing; here it is told before a start. */
static int check_shell_program(struct run_task *t, struct err *e)
{
	AUTO_FREE char *program = shell_words_program(t->command.text);
	AUTO_FREE char *found = NULL;
	struct err ignored = ERR_INIT;

	if (!program || !env_find_program(t->envp, t->cwd_fd, program, &found, &ignored))
		return 0;
	if (ignored.type == ERR_COMMAND_NOT_FOUND) {
		*e = ignored;
		return -1;
	}
	err_release(&ignored); /* found but not executable: the shell says that itself */
	return 0;
}

static int find_program(struct run_task *t, struct err *e)
{
	if (!t->command.shell)
		return env_find_program(t->envp, t->cwd_fd, t->command.argv[0], &t->path, e);
	t->path = mem_strdup("/bin/sh");
	return check_shell_program(t, e);
}

static int prepare(struct cap *c, struct req *r, struct err *e)
{
	struct run_task *t = task_new(r);

	if (run_limits_read(c->config, r->params, &t->limits, &t->confine, e))
		return -1;
	return command_read(&t->command, r->params, e);
}

static int resolve(struct cap *c, struct req *r, struct err *e)
{
	struct run_task *t = r->task;
	const struct run_env env = {
		.config = c->config, .confine = c->confine, .request = &t->confine,
		.user = &t->user,
		.environment = json_object_get(r->params, "environment"),
	};

	if (command_resolve(&t->command, e) ||
	    run_user_read(c->config, json_get_str(r->params, "user", NULL), &t->user, &t->confine,
			  e) ||
	    run_env_build(&env, &t->envp, e) ||
	    scope_open(c->scope, json_get_str(r->params, "working_directory", NULL), &t->cwd_fd,
		       &t->cwd, e))
		return -1;
	return find_program(t, e);
}

static void describe(const struct req *r, struct blocklist_input *judge, struct audit_event *event)
{
	const struct run_task *t = r->task;

	command_judge(&t->command, judge);
	event->command = t->command.shown;
	event->argv = (const char *const *)t->command.argv;
	event->cwd = t->cwd;
	event->user = t->user.name;
}

/* ---- the answer ---- */

static void write_warnings(struct jsonw *w, const struct proc *p, const struct run_task *t)
{
	bool settled = p->phase == PROC_SETTLED;
	char text[256];

	jsonw_array(w, "warnings");
	if (p->applied.profile == CONFINE_NONE)
		jsonw_str(w, NULL, "NOT SANDBOXED: the operator has set sandbox.profile=none; this "
				   "command could do whatever the user can do");
	run_limits_warn(w, p);
	if (t->background && t->command.stdin_bytes)
		jsonw_str(w, NULL, "stdin was ignored: a background run reads /dev/null");
	if (settled && p->tree_alive && p->leftover) {
		snprintf(text, sizeof(text),
			 "the command is over, but %u process%s of it still run%s%s; process.kill "
			 "ends them, and so does the end of the session",
			 p->leftover, p->leftover == 1 ? "" : "es", p->leftover == 1 ? "s" : "",
			 proc_output_open(p) ? " and can still write to its output" : "");
		jsonw_str(w, NULL, text);
	}
	if (p->survivors) {
		snprintf(text, sizeof(text), "%u process%s could not be killed", p->survivors,
			 p->survivors == 1 ? "" : "es");
		jsonw_str(w, NULL, text);
	}
	if (p->keeper_lost)
		jsonw_str(w, NULL, "the keeper of this run was killed from outside: how the "
				   "command ended, or whether it ran at all, is not known");
	denied_warn(w, p, t->explain);
	jsonw_end_array(w);
}

static void write_layer(void *ctx, const char *layer)
{
	jsonw_str(ctx, NULL, layer);
}

static void write_sandbox(struct jsonw *w, const struct cap *c, const struct proc *p)
{
	jsonw_array(w, "sandbox");
	confine_each_applied(c->confine, &p->applied, write_layer, w);
	limits_each(&p->limits, write_layer, w);
	jsonw_end_array(w);
}

static void write_output(struct jsonw *w, const struct proc *p, struct run_task *t)
{
	bool final = p->phase == PROC_SETTLED, out_cut, err_cut;

	t->out_tail.final = t->err_tail.final = final;
	out_cut = output_write_tail(&p->out, w, "stdout_summary", &t->out_tail);
	err_cut = output_write_tail(&p->err, w, "stderr_summary", &t->err_tail);
	jsonw_int(w, "stdout_size", (int64_t)p->out.total);
	jsonw_int(w, "stderr_size", (int64_t)p->err.total);
	jsonw_bool(w, "stdout_truncated", out_cut);
	jsonw_bool(w, "stderr_truncated", err_cut);
}

static void write_result(struct buf *out, const struct cap *c, struct proc *p, struct run_task *t)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "process_id", p->id);
	view_command(&w, p, VIEW_COMMAND_MAX);
	view_state(&w, p);
	view_end(&w, p);
	jsonw_bool(&w, "success", proc_exit_code(p) == 0);
	jsonw_bool(&w, "timed_out", p->state == PROC_STATE_TIMED_OUT);
	write_output(&w, p, t);
	view_times(&w, p);
	view_usage(&w, proc_usage(p));
	view_pid(&w, p);
	view_tree(&w, p);
	write_sandbox(&w, c, p);
	write_warnings(&w, p, t);
	denied_write(&w, p);
	jsonw_end_object(&w);
}

static void answer(struct cap *c, struct req *r, struct proc *p)
{
	struct err e = ERR_INIT;
	struct buf result;

	buf_init(&result, 16u * 1024 * 1024);
	write_result(&result, c, p, r->task);
	if (p->phase == PROC_SETTLED && run_limits_struck(p)) {
		run_limits_error(p, &result, &e); /* an error, with the whole result inside */
		req_fail(r, &e);
	} else {
		req_ok(r, &result);
	}
	buf_release(&result);
}

static bool on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	struct err e = ERR_INIT;

	if (events & PROC_EVENT_FAILED) {
		e = *p->failure;
		e.details = json_incref(e.details);
		req_fail(r, &e);
		return false;
	}
	if (r->cancelled && p->phase != PROC_SETTLED)
		return true; /* it is being killed: the answer is its end */
	answer(c, r, p);
	return false;
}

/* yield_ms is over: the run lives on, the client gets what there is. */
static void on_yield(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct run_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p && !r->cancelled)
		answer(c, r, p);
}

static void on_cancel(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct run_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p)
		proc_kill_tree(p, PROC_REASON_CANCELLED);
}

static enum cap_outcome start(struct cap *c, struct req *r, struct buf *out, struct err *e)
{
	struct run_task *t = r->task;
	struct proc_spec spec = {
		.command = t->command.shown,
		.origin = r->id,
		.path = t->path,
		.argv = t->command.argv,
		.envp = t->envp,
		.cwd_fd = t->cwd_fd,
		.cwd = t->cwd,
		.stdin_bytes = t->command.stdin_bytes,
		.stdin_len = t->command.stdin_len,
		.has_stdin = t->command.stdin_bytes && !t->background,
		.background = t->background,
		.timeout_ms = t->background ? 0 : t->timeout_ms,
		.confine = t->confine,
	};
	struct proc *p;

	(void)out;
	p = proctab_start(c->procs, &spec, e);
	if (!p)
		return CAP_FAILED;
	t->seq = p->seq;
	mem_cleanup_close(&t->cwd_fd);
	r->on_cancel = on_cancel;
	r->on_cancel_ctx = c;
	if (t->background) {
		wait_add(&c->waits, r, p,
			 PROC_EVENT_STARTED | PROC_EVENT_FAILED | PROC_EVENT_SETTLED, on_event);
		req_timer(r, START_LATE_MS, on_yield, c);
		return CAP_WAITING;
	}
	wait_add(&c->waits, r, p, PROC_EVENT_FAILED | PROC_EVENT_SETTLED, on_event);
	if (t->yield_ms)
		req_timer(r, (double)t->yield_ms, on_yield, c);
	return CAP_WAITING;
}

const struct cap_ops cap_process_run = {
	.prepare = prepare,
	.resolve = resolve,
	.start = start,
	.describe = describe,
};
