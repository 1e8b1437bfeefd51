#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cap/cap.h"
#include "cli/run_args.h"
#include "os/stdio.h"
#include "server/context.h"

#define STATUS_REFUSED 77
#define STATUS_TIMEOUT 124
#define STATUS_FAILED 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

#define REQUEST_ID "1" /* on record; there is one request */

/* The terminal as a client: one call of process.run, answered by an exit status. */
struct terminal {
	struct context context;
	struct proctab *procs;
	struct reqtab *reqs;
	struct cap cap;
	struct dialect dialect;
	ev_signal signals[3];
	bool interrupted;
	int status;
};

/* ---- the exit status ---- */

static int cli_run_status_of_error(const struct err *e)
{
	const char *stage = json_string_value(json_object_get(e->details, "stage"));

	switch (e->type) {
	case ERR_COMMAND_NOT_FOUND:
		return STATUS_NOT_FOUND;
	case ERR_COMMAND_BLOCKED:
	case ERR_INVALID_COMMAND:
	case ERR_PERMISSION_DENIED:
	case ERR_PROTECTED_VARIABLE:
	case ERR_PATH_OUT_OF_SCOPE:
	case ERR_BAD_DIRECTORY:
		return STATUS_REFUSED;
	case ERR_SPAWN_FAILED:
		if (strcmp(stage ? stage : "", "exec"))
			return STATUS_FAILED;
		return e->sys == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	default:
		return STATUS_FAILED;
	}
}

static int cli_run_status_of_run(const struct proc *p)
{
	if (p->failure)
		return cli_run_status_of_error(p->failure);
	if (p->state == PROC_STATE_TIMED_OUT)
		return STATUS_TIMEOUT;
	/* The command's own exit status means nothing once a limit has struck. */
	if (!p->exited || p->limits.struck != PROC_REASON_RUNNING)
		return STATUS_SIGNAL + SIGKILL;
	return WIFEXITED(p->wait_status) ? WEXITSTATUS(p->wait_status)
					 : STATUS_SIGNAL + WTERMSIG(p->wait_status);
}

static void cli_run_name_outcome(const struct proc *p, char *text, size_t size)
{
	snprintf(text, size, "exit status %d", cli_run_status_of_run(p));
}

/* ---- messages ---- */

/* Print @e; returns the exit status. Leaves out the hint of a limit that struck, because it names
 * parameters of a request. */
/* What to do, for people: other hints, and the default of a type, speak of requests. */
static const char *cli_run_hint(const struct err *e)
{
	switch (e->type) {
	case ERR_RESOURCE_LIMIT_EXCEEDED:
		return "";
	case ERR_PATH_OUT_OF_SCOPE:
		return "Name a directory in the workspace, or open another one: --allow-dir DIR.";
	case ERR_BAD_DIRECTORY:
		return *e->hint ? e->hint
				: "Name a directory that exists with --cwd, or create it first.";
	case ERR_PROTECTED_VARIABLE:
		return "Leave it out of --env; a command may set it for itself.";
	case ERR_SANDBOX_UNAVAILABLE:
		return *e->hint ? e->hint : "`procpen doctor` shows all layers.";
	default:
		return e->hint;
	}
}

static int cli_run_say(const struct err *e)
{
	const char *hint = cli_run_hint(e);
	size_t len = strlen(e->message);

	fprintf(stderr, "procpen: %s%s%s%s\n", e->message,
		len && e->message[len - 1] == '.' ? "" : ".", *hint ? " " : "", hint);
	return cli_run_status_of_error(e);
}

static void cli_run_say_end(const struct proc *p)
{
	if (p->survivors)
		fprintf(stderr, "procpen: %u processes of the command could not be killed\n",
			p->survivors);
	if (p->state == PROC_STATE_TIMED_OUT)
		fputs("procpen: ended by --timeout\n", stderr);
}

/* ---- the dialect ---- */

/* The command has written to the terminal itself. */
static void cli_run_on_result(const struct req *r, const struct result *result, struct buf *line)
{
	(void)r;
	(void)result;
	(void)line;
}

static void cli_run_on_error(const struct req *r, const struct err *e, const struct result *partial,
			     struct buf *line)
{
	struct terminal *t = r->dialect->ctx;

	(void)partial;
	(void)line;
	t->status = cli_run_say(e);
}

/* Only the user of the command line could confirm, who has typed the command already. */
static enum req_asked cli_run_confirm(struct req *r, json_t *notice, int deadline_ms)
{
	(void)notice;
	(void)deadline_ms;
	req_confirmed(r->tab, r->handle, false,
		      "its tier is confirm, and nobody can be asked here");
	return REQ_ASKED;
}

/* ---- the run ---- */

/* The run ends with its command: kill what the command left behind. */
static void cli_run_on_run(void *ctx, struct proc *p, unsigned events)
{
	struct terminal *t = ctx;

	if (events & PROC_EVENT_SETTLED)
		proc_kill_tree(p, PROC_REASON_SERVER_SHUTDOWN);
	if (events & PROC_EVENT_EMPTY) {
		cli_run_say_end(p);
		t->status = cli_run_status_of_run(p);
	}
}

/* Like a shell in the foreground: the first SIGINT goes to the command, the second ends the run. */
static void cli_run_on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct terminal *t = w->data;
	struct proc *p = proctab_next(t->procs, NULL);
	struct err ignored = ERR_INIT;

	(void)loop;
	(void)revents;
	if (w->signum == SIGINT && !t->interrupted && p && !p->exited &&
	    !proc_signal(p, SIGINT, &ignored)) {
		t->interrupted = true;
		return;
	}
	err_release(&ignored);
	proctab_shutdown(t->procs);
}

/* Call it before the start: a signal may arrive as soon as the command runs. */
static void cli_run_watch_signals(struct terminal *t)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		ev_signal_init(&t->signals[i], cli_run_on_signal, numbers[i]);
		t->signals[i].data = t;
		ev_signal_start(t->context.loop, &t->signals[i]);
	}
}

static void cli_run_build(struct terminal *t)
{
	const struct proctab_options one = { .running_max = 1, .finished_max = 1 };
	struct context *ctx = &t->context;

	t->procs = proctab_new(ctx->loop, ctx->reaper, ctx->confine, ctx->instance, &one);
	t->reqs = reqtab_new(ctx->loop, NULL, 1);
	t->cap = context_cap(ctx, t->procs, t->reqs);
	t->cap.name_outcome = cli_run_name_outcome;
	t->cap.on_run = cli_run_on_run;
	t->cap.on_run_ctx = t;
	proctab_set_hook(t->procs, cap_on_proc_event, &t->cap);
	t->dialect = (struct dialect){
		.name = "terminal",
		.ctx = t,
		.from_operator = true,
		.ok = cli_run_on_result,
		.fail = cli_run_on_error,
		.confirm = cli_run_confirm,
	};
}

static void cli_run_tear_down(struct terminal *t)
{
	wait_release(&t->cap.waits);
	proctab_free(t->procs);
	reqtab_free(t->reqs);
}

/* @e: this machine cannot do what the options require. */
static int cli_run_refuse(struct terminal *t, const json_t *params, const struct err *e)
{
	cap_refused_as(&t->cap, cap_find(&t->cap, "process.run"), params, REQUEST_ID,
		       strlen(REQUEST_ID), e->type);
	return cli_run_say(e);
}

/* Ask the gate for @params, and stay until nothing of the run is left. */
static int cli_run_call(struct terminal *t, json_t *params)
{
	struct err ignored = ERR_INIT;
	struct req *r = req_new(t->reqs, &t->dialect, REQUEST_ID, strlen(REQUEST_ID),
				json_incref(params), NULL, &ignored);

	r->row = cap_find(&t->cap, "process.run");
	r->params = params;
	cli_run_watch_signals(t);
	cap_call(&t->cap, r);
	while (reqtab_count(t->reqs) || proctab_trees(t->procs))
		ev_run(t->context.loop, EVRUN_ONCE);
	return t->status;
}

/* A descriptor of a directory would give access to the mounts outside the sandbox. */
static bool cli_run_passes_directory(void)
{
	struct stat st;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
			return true;
	return false;
}

static int cli_run_carry_out(struct run_args *args, struct terminal *t)
{
	struct err e = ERR_INIT;
	int status;

	if (cli_run_passes_directory())
		return run_args_complain("a directory as standard input or output leads out of the "
					 "sandbox",
					 NULL);
	if (context_set_up_process(&t->context, &e) || stdio_guard(&e) ||
	    context_open(&t->context, &args->cli.options, &e)) {
		status = cli_run_say(&e);
	} else {
		cli_run_build(t);
		status = context_check(&t->context, &e) ? cli_run_refuse(t, args->params, &e)
							: cli_run_call(t, args->params);
		cli_run_tear_down(t);
	}
	err_release(&e);
	return status;
}

int cli_run(int argc, char **argv)
{
	struct run_args args = { 0 };
	struct terminal t = { 0 };
	int status = run_args_read(&args, argc, argv);

	if (status == CLI_GO_ON) {
		status = cli_run_carry_out(&args, &t);
		context_close(&t.context);
	}
	run_args_release(&args);
	return status;
}
