#include "cli/run.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/run_events.h"
#include "cli/answer.h"
#include "cli/relay.h"
#include "cli/run_args.h"
#include "cli/say.h"
#include "os/stdio.h"
#include "rpc/plain.h"
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
	ev_signal signals[5], stop;
	ev_timer gone_on;    /* set for a turn after a stop */
	struct relay *relay; /* with --tty; else NULL */
	bool json;
	bool interrupted;
	struct err failure;  /* to be said at the end, when stderr is no raw terminal */
	struct cli_run_end {
		unsigned survivors;
		bool timed_out;
		int64_t ms;
		char *changes; /* of git's settings, owned; or NULL */
	} end;
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
	if (p->rare->failure)
		return cli_run_status_of_error(p->rare->failure);
	if (p->state == PROC_STATE_TIMED_OUT)
		return STATUS_TIMEOUT;
	/* The command's own exit status means nothing once a limit has struck. */
	if (!p->exited || p->rare->proof.struck != PROC_REASON_RUNNING)
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

	for (const struct cli_option *o = &cli_options[command->options]; *o->name; o++) {
		const char *parameter = strtab_get(o->parameter);

		if (parameter && strlen(parameter) == len && !strncmp(parameter, text, len))
			return o;
	}
	return NULL;
}

/* A layer is missing; the error has a hint of its own where the run could have it by asking. */
static const char *cli_run_layer_hint(const struct err *e)
{
	const char *layer = json_get_str(e->details, "layer", "");

	if (!*e->hint)
		return err_is_shortage(e->sys) ? "" : "`procpen doctor` shows all layers.";
	if (!strcmp(layer, "network_off"))
		return "Add --no-network or --strict, or switch the network off for all runs with "
		       "sandbox.network=false.";
	if (!strcmp(layer, "credentials"))
		return "Name an account with --user, or one for all runs with sandbox.user.";
	return e->hint;
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
	case ERR_PROTECTED_VARIABLE:
		return "Leave it out of --env; a command may set it for itself.";
	case ERR_SANDBOX_UNAVAILABLE:
		return cli_run_layer_hint(e);
	case ERR_RESOURCE_LIMIT_EXCEEDED:
		return "";
	case ERR_COMMAND_NOT_FOUND:
		return json_object_get(e->details, "parameter") ? "For a command line add --shell."
								: e->hint;
	case ERR_INVALID_PARAMS:
		if (!strcmp(json_get_str(e->details, "parameter", ""), "environment"))
			return "Use letters, digits and underscores, or leave out --shell.";
		return json_object_get(e->details, "parameter") ? "" : e->hint;
	default:
		return e->hint;
	}
}

/* Take out of a hint what only a model has to be told. */
static void cli_run_address_people(char *hint)
{
	char *at = strstr(hint, CAP_TO_MODEL), *rest = at ? at + strlen(CAP_TO_MODEL) : NULL;

	if (!rest)
		return;
	*rest = (char)toupper((unsigned char)*rest);
	memmove(at, rest, strlen(rest) + 1);
}

/* Keep what is to be said of @e, and the exit status. */
static void cli_run_note_failure(struct terminal *t, const struct err *e)
{
	t->failure.type = e->type;
	strcpy(t->failure.message, e->message);
	snprintf(t->failure.hint, sizeof(t->failure.hint), "%s", cli_run_hint(e));
	cli_run_address_people(t->failure.hint);
	t->status = cli_run_status_of_error(e);
}

/* The same of an error that answers the request: the option stands for the parameter at its
 * start. */
static void cli_run_note_refusal(struct terminal *t, const struct err *e)
{
	const struct cli_option *option = cli_run_option_in(t->command, e->message);

	cli_run_note_failure(t, e);
	if (option)
		snprintf(t->failure.message, sizeof(t->failure.message), "%s%s", option->name,
			 e->message + strlen(strtab_get(option->parameter)));
}

static void cli_run_say_end(const struct cli_run_end *end)
{
	char after[32];

	if (end->ms < 1000)
		snprintf(after, sizeof(after), "%d ms", (int)end->ms);
	else
		snprintf(after, sizeof(after), "%.1f s", (double)end->ms / 1000);
	if (end->survivors)
		fprintf(stderr, "procpen run: %u processes of the command could not be killed\n",
			end->survivors);
	if (end->timed_out)
		fprintf(stderr,
			"procpen run: timed out after %s, killed with all that it started\n",
			after);
	if (end->changes)
		fprintf(stderr, "procpen run: git settings changed that name what git executes, "
			"outside of the sandbox too: %s\n", end->changes);
}

static void cli_run_say(struct terminal *t)
{
	if (t->failure.type)
		say_error(t->command, &t->failure);
	cli_run_say_end(&t->end);
	free(t->end.changes);
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

static void cli_run_on_error(const struct req *r, const struct err *e, const struct result *partial,
			     struct buf *line)
{
	struct terminal *t = r->dialect->ctx;

	(void)line;
	if (t->json)
		answer_print_err(e, partial);
	cli_run_note_refusal(t, e);
}

/* Only the user of the command line could confirm, who has typed the command already. */
static enum req_asked cli_run_confirm(struct req *r, const struct buf *notice, int deadline_ms)
{
	static const struct req_answer no = {
		.why = "it needs a confirmation, and nobody can be asked here",
	};

	(void)notice;
	(void)deadline_ms;
	req_confirmed(r->tab, r->handle, &no);
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
		t->end = (struct cli_run_end){
			p->rare->survivors, p->state == PROC_STATE_TIMED_OUT, proc_duration_ms(p),
			t->json || !p->rare->git_changes ? NULL : mem_strdup(p->rare->git_changes),
		};
		t->status = cli_run_status_of_run(p);
		if (t->relay && p->state != PROC_STATE_COMPLETED)
			relay_hurry(t->relay);
	}
}

/* Like a shell in the foreground: the first SIGINT goes to the command, the second ends the run. */
static void cli_run_on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct terminal *t = w->data;
	struct proc *p = proctab_next(t->procs, NULL);
	ERR_LOCAL(ignored);

	(void)loop;
	(void)revents;
	if (w->signum == SIGINT && !t->interrupted && p && !p->exited &&
	    !proc_signal(p, SIGINT, &ignored)) {
		t->interrupted = true;
		return;
	}
	err_release(&ignored);
	proctab_shutdown(t->procs);
	if (t->relay)
		relay_hurry(t->relay);
}

static void cli_run_mask_stop(int how)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(how, &stop, NULL);
}

/* ^Z does not reach the command, which has a session of its own: it stops as a whole, and goes on
 * when procpen does. */
static void cli_run_on_stop(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct terminal *t = w->data;
	struct proc *p = proctab_next(t->procs, NULL);
	ERR_LOCAL(ignored);
	struct sigaction by_default = { .sa_handler = SIG_DFL }, watched;
	bool stopped;

	(void)revents;
	if (loop_timer_is_set(&t->gone_on))
		return; /* the loop had caught it before the stop */
	stopped = p && p->live && !proc_end(p, SIGSTOP, 0, &ignored);
	cli_run_mask_stop(SIG_BLOCK); /* a second one that comes now is the same one then */
	sigaction(SIGTSTP, &by_default, &watched);
	raise(SIGTSTP); /* the kernel drops it in an orphaned process group */
	cli_run_mask_stop(SIG_UNBLOCK); /* here procpen stops */
	cli_run_mask_stop(SIG_BLOCK);
	sigaction(SIGTSTP, &watched, NULL);
	loop_timer_start(loop, &t->gone_on, 0);
	if (stopped)
		proc_end(p, SIGCONT, 0, &ignored);
	err_release(&ignored);
}

/* In a later turn: a signal that the loop had caught already is handed out before. */
static void cli_run_on_gone_on(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
	cli_run_mask_stop(SIG_UNBLOCK);
}

/* A terminal that is gone ends the run as SIGHUP does, which comes only to the session's leader. */
static void cli_run_on_hang_up(void *ctx)
{
	struct terminal *t = ctx;

	proctab_shutdown(t->procs);
}

/* Call it before the start: a signal may arrive as soon as the command runs. */
static void cli_run_watch_signals(struct terminal *t)
{
	/* SIGALRM: the caller has a time limit of its own */
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM };

	_Static_assert(COUNT_OF(numbers) == COUNT_OF(t->signals), "one watcher for each");
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		ev_signal_init(&t->signals[i], cli_run_on_signal, numbers[i]);
		t->signals[i].data = t;
		loop_signal_start(t->context.loop, &t->signals[i]);
	}
	loop_timer_init(&t->gone_on, cli_run_on_gone_on, t);
	ev_signal_init(&t->stop, cli_run_on_stop, SIGTSTP);
	t->stop.data = t;
	if (!t->relay) /* which has one of its own */
		loop_signal_start(t->context.loop, &t->stop);
	loop_block_others(false);
}

static void cli_run_take_terminal(void *ctx, int fd)
{
	const struct terminal *t = ctx;

	relay_start(t->relay, fd);
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
	proctab_set_hook(t->procs, run_events_handle, &t->cap);
	t->dialect = plain_dialect(NULL);
	t->dialect.ctx = t;
	t->dialect.from_operator = true;
	t->dialect.shares_stdio = !t->json;
	t->dialect.take_terminal = t->relay ? cli_run_take_terminal : NULL;
	t->dialect.terminal_settings = t->relay ? &t->relay->tty.settings : NULL;
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
static void cli_run_fail(struct terminal *t, const struct err *e)
{
	if (t->json)
		answer_print_err(e, NULL);
	cli_run_note_failure(t, e);
}

/* @e: this machine cannot do what the options require. */
static void cli_run_refuse(struct terminal *t, const json_t *params, const struct err *e)
{
	cap_refused(&t->cap, cap_find(&t->cap, "process.run"), params, REQUEST_ID,
		    strlen(REQUEST_ID), e->type);
	cli_run_fail(t, e);
}

/* Ask the gate for @params, and stay until nothing of the run is left. */
static void cli_run_call(struct terminal *t, json_t *params)
{
	ERR_LOCAL(ignored);
	struct req *r = req_new(t->reqs, &t->dialect, REQUEST_ID, strlen(REQUEST_ID),
				json_incref(params), NULL, &ignored);

	r->row = cap_find(&t->cap, "process.run");
	r->params = params;
	cli_run_watch_signals(t);
	cap_call(&t->cap, r);
	while (reqtab_count(t->reqs) || proctab_trees(t->procs))
		ev_run(t->context.loop, EVRUN_ONCE);
	if (t->relay)
		relay_end(t->relay);
	while (t->relay && relay_is_busy(t->relay))
		ev_run(t->context.loop, EVRUN_ONCE);
}

/* The size goes with the request, so that the command finds it at its start. A terminal that knows
 * none (0) gets that of process.run. */
static int cli_run_open_relay(struct run_args *args, struct terminal *t, struct err *e)
{
	struct winsize size;

	t->relay = mem_zalloc(sizeof(*t->relay));
	t->relay->on_hang_up = cli_run_on_hang_up;
	t->relay->ctx = t;
	if (relay_open(t->relay, &size, e))
		return -1;
	if (size.ws_col && size.ws_row) {
		json_object_set_new(args->params, "cols", json_integer(size.ws_col));
		json_object_set_new(args->params, "rows", json_integer(size.ws_row));
	}
	return 0;
}

static void cli_run_close_relay(struct terminal *t)
{
	if (t->relay)
		relay_close(t->relay);
	free(t->relay);
	t->relay = NULL;
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

/* The relay comes before the context, whose reaper spares the children that it finds. */
static int cli_run_set_up(struct run_args *args, struct terminal *t, struct err *e)
{
	if (context_set_up_process(&t->context, &args->options.context, e) || stdio_guard(e) ||
	    (args->tty && cli_run_open_relay(args, t, e)) ||
	    context_open(&t->context, &args->options.context, e))
		return -1;
	return t->relay ? relay_prepare(t->relay, t->context.loop, e) : 0;
}

static int cli_run_carry_out(struct run_args *args, struct terminal *t)
{
	ERR_LOCAL(e);
	const char *missing;

	if (t->json && fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		fputs("procpen run: stdout is closed, so nobody can read the result\n", stderr);
		return STATUS_FAILED;
	}
	if (cli_run_passes_directory())
		return say_mistake(t->command, "a directory as standard input or output leads out "
					       "of the sandbox");
	if (args->tty && !relay_is_possible(&missing))
		return say_mistake(t->command, "--tty relays a terminal, and %s is none: leave it "
					       "out, or connect one (`script`, `ssh -t`)", missing);
	if (cli_run_set_up(args, t, &e)) {
		cli_run_fail(t, &e);
	} else {
		cli_run_build(t);
		if (context_check(&t->context, &e))
			cli_run_refuse(t, args->params, &e);
		else
			cli_run_call(t, args->params);
		cli_run_tear_down(t);
	}
	cli_run_close_relay(t);
	cli_run_say(t);
	err_release(&e);
	return t->status;
}

int cli_run(const struct cli_command *command, char **argv)
{
	struct run_args args = { 0 };
	struct terminal t = { .command = command };
	int status = run_args_read(&args, command, argv);

	if (status == CMDLINE_GO_ON) {
		t.json = args.options.json;
		status = cli_run_carry_out(&args, &t);
		context_close(&t.context);
		if (t.json && say_flush(command))
			status = STATUS_FAILED;
	}
	run_args_release(&args);
	return status;
}
