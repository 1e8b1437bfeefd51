#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cli/answer.h"
#include "cli/run_args.h"
#include "cli/say.h"
#include "os/stdio.h"
#include "policy/git_config.h"
#include "rpc/plain.h"
#include "rpc/rpc.h"
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
	const struct cli_command *command;
	struct context context;
	struct proctab *procs;
	struct reqtab *reqs;
	struct cap cap;
	struct dialect dialect;
	ev_signal signals[4];
	bool json;
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
	case ERR_PROTECTED_VARIABLE:
	case ERR_PATH_OUT_OF_SCOPE:
	case ERR_BAD_DIRECTORY:
		return STATUS_REFUSED;
	case ERR_PERMISSION_DENIED:
		return json_object_get(e->details, "audit_log") ? STATUS_FAILED : STATUS_REFUSED;
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
	if (!p->exited || p->proof.struck != PROC_REASON_RUNNING)
		return STATUS_SIGNAL + SIGKILL;
	return WIFEXITED(p->wait_status) ? WEXITSTATUS(p->wait_status)
					 : STATUS_SIGNAL + WTERMSIG(p->wait_status);
}

static void cli_run_name_outcome(const struct proc *p, char *text, size_t size)
{
	snprintf(text, size, "exit status %d", cli_run_status_of_run(p));
}

/* ---- messages ---- */

/* The option of @command that stands for the parameter that @text begins with, or NULL. */
static const struct cli_option *cli_run_option_in(const struct cli_command *command,
						      const char *text)
{
	size_t len = strcspn(text, " :");

	for (const struct cli_option *o = command->options; o->name; o++)
		if (o->parameter && strlen(o->parameter) == len &&
		    !strncmp(o->parameter, text, len))
			return o;
	return NULL;
}

/* What to do about it on a command line; the errors' own hints are for clients where they name
 * parameters and calls. */
static const char *cli_run_hint(const struct err *e)
{
	switch (e->type) {
	case ERR_PATH_OUT_OF_SCOPE:
		return "Name a directory in the workspace, or open another one: --allow-dir DIR.";
	case ERR_BAD_DIRECTORY:
		return *e->hint ? e->hint
				: "Name a directory that exists with --cwd, or create it first.";
	case ERR_PERMISSION_DENIED:
		return *e->hint ? e->hint : "The tier is set with --set tier.process.run=TIER.";
	case ERR_PROTECTED_VARIABLE:
		return "Leave it out of --env; a command may set it for itself.";
	case ERR_SANDBOX_UNAVAILABLE:
		return *e->hint ? e->hint : "`procpen doctor` shows all layers.";
	case ERR_RESOURCE_LIMIT_EXCEEDED:
		return "";
	case ERR_INVALID_PARAMS:
		return json_object_get(e->details, "parameter") ? "" : e->hint;
	default:
		return e->hint;
	}
}

/* Report @e; returns the exit status. */
static int cli_run_say(const struct terminal *t, const struct err *e)
{
	const struct cli_option *option = cli_run_option_in(t->command, e->message);
	struct err said = { .type = e->type };

	snprintf(said.message, sizeof(said.message), "%s%s", option ? option->name : "",
		 e->message + (option ? strlen(option->parameter) : 0));
	snprintf(said.hint, sizeof(said.hint), "%s", cli_run_hint(e));
	say_error(t->command, &said);
	return cli_run_status_of_error(e);
}

static void cli_run_say_end(const struct terminal *t, const struct proc *p)
{
	AUTO_FREE char *changes = git_config_changes(t->cap.git_config, p->started_wall_ms);
	int64_t ms = proc_duration_ms(p);
	char after[32];

	if (ms < 1000)
		snprintf(after, sizeof(after), "%d ms", (int)ms);
	else
		snprintf(after, sizeof(after), "%.1f s", (double)ms / 1000);
	if (p->survivors)
		fprintf(stderr, "procpen run: %u processes of the command could not be killed\n",
			p->survivors);
	if (p->state == PROC_STATE_TIMED_OUT)
		fprintf(stderr,
			"procpen run: timed out after %s, killed with all that it started\n",
			after);
	if (changes && !t->json)
		fprintf(stderr, "procpen run: git settings changed that name what git executes, "
			"outside of the sandbox too: %s\n", changes);
}

/* ---- the dialect ---- */

/* Without --json the command has written to the terminal itself. */
static void cli_run_on_result(const struct req *r, struct result *result, struct buf *line)
{
	const struct terminal *t = r->dialect->ctx;

	(void)line;
	if (t->json)
		answer_print_json(result->json.data, result->json.len);
}

static void cli_run_print_error(const struct err *e, const struct result *partial)
{
	const char *error;
	struct buf line;
	size_t len;

	buf_init(&line, REQ_LINE_MAX);
	rpc_write_error(&line, NULL, 0, e, partial);
	error = json_raw_member(line.data, line.len, "error", &len);
	answer_print_json_error(error, len);
	buf_release(&line);
}

static void cli_run_on_error(const struct req *r, const struct err *e, const struct result *partial,
			     struct buf *line)
{
	struct terminal *t = r->dialect->ctx;

	(void)line;
	if (t->json)
		cli_run_print_error(e, partial);
	t->status = cli_run_say(t, e);
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
		cli_run_say_end(t, p);
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

/* Call it before the start: a signal may arrive as soon as the command runs. What is ignored stays
 * ignored: nohup(1) starts programs so, and shells the background jobs of a script. */
static void cli_run_watch_signals(struct terminal *t)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	_Static_assert(COUNT_OF(numbers) == COUNT_OF(t->signals), "one watcher for each");
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct sigaction before;

		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_IGN)
			continue;
		ev_signal_init(&t->signals[i], cli_run_on_signal, numbers[i]);
		t->signals[i].data = t;
		ev_signal_start(t->context.loop, &t->signals[i]);
	}
}

static void cli_run_build(struct terminal *t)
{
	struct context *ctx = &t->context;
	struct proctab_options one = context_runs(ctx);

	one.running_max = one.finished_max = 1;
	one.ahead = false;
	audit_shares(ctx->audit);
	t->procs = proctab_new(ctx->loop, ctx->reaper, ctx->confine, ctx->instance, &one);
	t->reqs = reqtab_new(ctx->loop, NULL, 1);
	t->cap = context_cap(ctx, t->procs, t->reqs);
	t->cap.name_outcome = cli_run_name_outcome;
	t->cap.on_run = cli_run_on_run;
	t->cap.on_run_ctx = t;
	t->cap.passes_output = !t->json;
	proctab_set_hook(t->procs, cap_on_proc_event, &t->cap);
	t->dialect = plain_dialect(NULL);
	t->dialect.name = "terminal";
	t->dialect.ctx = t;
	t->dialect.from_operator = true;
	t->dialect.shares_stdio = !t->json;
	t->dialect.ok = cli_run_on_result;
	t->dialect.fail = cli_run_on_error;
	t->dialect.notify = NULL;
	t->dialect.confirm = cli_run_confirm;
}

static void cli_run_tear_down(struct terminal *t)
{
	wait_release(&t->cap.waits);
	proctab_free(t->procs);
	reqtab_free(t->reqs);
}

/* @e: there is no request yet that it could answer. */
static int cli_run_fail(const struct terminal *t, const struct err *e)
{
	if (t->json)
		cli_run_print_error(e, NULL);
	return cli_run_say(t, e);
}

/* @e: this machine cannot do what the options require. */
static int cli_run_refuse(struct terminal *t, const json_t *params, const struct err *e)
{
	cap_refused_as(&t->cap, cap_find(&t->cap, "process.run"), params, REQUEST_ID,
		       strlen(REQUEST_ID), e->type);
	return cli_run_fail(t, e);
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
		return say_mistake(t->command, "a directory as standard input or output leads out "
					       "of the sandbox");
	if (context_set_up_process(&t->context, &args->options.context, &e) ||
	    stdio_guard(&e) ||
	    context_open(&t->context, &args->options.context, &e)) {
		status = cli_run_fail(t, &e);
	} else {
		cli_run_build(t);
		status = context_check(&t->context, &e) ? cli_run_refuse(t, args->params, &e)
							: cli_run_call(t, args->params);
		cli_run_tear_down(t);
	}
	err_release(&e);
	return status;
}

int cli_run(const struct cli_command *command, char **argv)
{
	struct run_args args = { 0 };
	struct terminal t = { .command = command };
	int status = run_args_read(&args, command, argv);

	if (status == CMDLINE_GO_ON) {
		t.json = args.json;
		status = cli_run_carry_out(&args, &t);
		context_close(&t.context);
		if (t.json && say_flush(command))
			status = STATUS_FAILED;
	}
	run_args_release(&args);
	return status;
}
