/*
 * process.run: resolve looks up directory and program; start makes the environment
 * and hands them to the table. The answer comes from the run's events, from
 * the yield timer, or from a cancellation (which kills the run and lets its end
 * answer).
 *
 * A repeat (cap/run_key.h) joins the run of the first call: it waits for the same events, and only
 * the last request that waits can cancel the run; none can where one was answered that the run goes
 * on. While the first call has started nothing, because a human is asked or starts queue, repeats
 * are pending: the start joins them, and an end without one is their answer too, unless the client
 * cancelled it. Then the next one takes its place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/schema.h"
#include "blocklist/stream.h"
#include "blocklist/typed.h"
#include "cap/budget.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/judge.h"
#include "cap/run_env.h"
#include "cap/run_key.h"
#include "cap/run_limits.h"
#include "cap/run_log.h"
#include "cap/run_user.h"
#include "cap/run_result.h"
#include "os/sandbox/seccomp.h"
#include "policy/env.h"
#include "policy/git_config.h"
#include "shell/words.h"

#define START_LATE_MS 5000 /* answer a background run whose shim has not reported by then */

struct run_task {
	struct run_result_options result_options; /* first: see cap/run_result.h */
	struct command command;
	struct scope_dir *cwd_dir;
	char *cwd, *path;
	struct user user;
	bool background;
	enum proc_stdin stdin_mode;
	struct proc_terminal terminal;
	struct typed_text typed; /* what stdin comes to there */
	struct confine_request confine;
	struct shim_rlimit *rlimits; /* borrowed by confine */
	int64_t timeout_ms, idle_timeout_ms, yield_ms; /* 0: none */
	uint64_t seq; /* the run, once started */
	bool again;   /* it is the second one: the first never began */
	char *log_name;            /* the path of log_file; NULL: none */
	struct log_file *log_file; /* opened for the run that is to start; NULL: none yet */
	bool follow;
	char follow_id[IDS_TEXT_SIZE]; /* "": none */
	struct cap *c;
	uint64_t handle;     /* of the request */
	struct run_key *key; /* or NULL */
};

static void process_run_leave_key(struct run_task *t);

static void process_run_task_free(void *task)
{
	struct run_task *t = task;

	process_run_leave_key(t);
	command_release(&t->command);
	typed_text_release(&t->typed);
	scope_dir_drop(&t->cwd_dir);
	free(t->cwd);
	free(t->path);
	free(t->rlimits);
	free(t->log_name);
	log_file_free(t->log_file);
	users_release(&t->user);
	slab_free(t);
}

/* How long the run may take: by timeout, or in the background by max_runtime. A command line has no
 * limit by itself, and none above its own: its user sees it run. */
static int process_run_read_time(const struct req *r, struct run_task *t, struct err *e)
{
	const struct config *config = r->call->c->config;
	const char *name = t->background ? "max_runtime" : "timeout";
	bool bound = t->background || !r->dialect->from_operator;
	enum config_key key = t->background ? CONFIG_LIMITS_BACKGROUND_SECONDS
					    : CONFIG_LIMITS_TIMEOUT_SECONDS;
	int64_t most = bound ? config_int(config, key) : 0;
	int64_t usual = bound ? run_limits_usual_seconds(config, t->background) : 0;
	double seconds = json_get_num(r->params, name, -1);
	char remedy[CONFIG_REMEDY_SIZE];

	if (most && seconds > (double)most) {
		err_invalid(e, name, "%s is %g seconds, and the operator allows at most %lld",
			    name, seconds, (long long)most);
		config_remedy(config, key, "...", remedy);
		return err_hint(e,
				"Ask for at most %lld second%s; the operator can change this %s.",
				(long long)most, most == 1 ? "" : "s", remedy);
	}
	t->timeout_ms = seconds < 0 ? usual * 1000 : (int64_t)ceil(seconds * 1000);
	t->result_options.timeout_most = most;
	t->result_options.timeout_is_most = t->timeout_ms == most * 1000;
	t->result_options.background_ends = run_limits_usual_seconds(config, true);
	return 0;
}

static struct run_task *process_run_task_new(struct req *r)
{
	const json_t *params = r->params;
	const char *profile = json_get_str(params, "profile", NULL);
	struct run_task *t = req_zalloc(r, sizeof(*t));

	t->c = r->call->c;
	t->handle = r->handle;
	t->background = json_get_bool(params, "background", false);
	t->idle_timeout_ms = (int64_t)ceil(json_get_num(params, "idle_timeout", 0) * 1000);
	t->yield_ms = json_get_int(params, "yield_ms", r->dialect->yield_ms);
	t->follow = json_get_bool(params, "follow", false);
	t->confine.network_off = !json_get_bool(params, "network", true);
	t->confine.confined = profile;
	t->confine.strict = profile && !strcmp(profile, "strict");
	run_result_options_read(&t->result_options, r);
	t->confine.explain = t->result_options.explain && confine_seccomp_can_notify();
	r->task = t;
	r->task_free = process_run_task_free;
	return t;
}

/* If the command is one unknown word, fail with CommandNotFound instead of exit code 127 of sh. */
static int process_run_check_shell_program(struct run_task *t, const char *search, struct err *e)
{
	AUTO_FREE char *program = shell_words_program(t->command.text);
	AUTO_FREE char *found = NULL;
	ERR_LOCAL(ignored);

	if (!program || !env_find_program(search, t->cwd_dir->fd, program, &found, &ignored))
		return 0;
	if (ignored.type == ERR_COMMAND_NOT_FOUND) {
		*e = ignored;
		return -1;
	}
	err_release(&ignored); /* not executable, or not found in time: the shell goes on */
	return 0;
}

/* Hosts that fill in unset lists send no args as [], and then a command line is not a program; nor
 * is a builtin of a shell. */
static int process_run_find_argv0(struct run_task *t, const char *search, struct err *e)
{
	const char *name = t->command.argv[0];

	if (!env_find_program(search, t->cwd_dir->fd, name, &t->path, e))
		return 0;
	if (e->type != ERR_COMMAND_NOT_FOUND || !t->command.args ||
	    (!strpbrk(name, " \t\n|&;<>()$`") && !shell_words_is_builtin(name)))
		return -1;
	err_parameter(e, "args");
	return err_hint(e, "With args, even an empty list, command is the name of one program: for "
			   "a command line leave args out or set shell to true; else give each "
			   "further word in args.");
}

static int process_run_find_program(struct run_task *t, struct err *e)
{
	const char *own = env_get(t->command.environment, "PATH");
	const char *search = own ? own : env_get(t->c->env_base, "PATH");

	if (!t->command.shell)
		return process_run_find_argv0(t, search, e);
	t->path = mem_strdup(t->command.argv[0]);
	return process_run_check_shell_program(t, search, e);
}

/* A followed run is no way around the tier of process.follow. */
static int process_run_check_follow(const struct cap_call *call, struct err *e)
{
	const struct cap_row *row = cap_find(call->c, "process.follow");
	char remedy[CONFIG_REMEDY_SIZE];

	if (!call->r->dialect->events) {
		err_invalid(e, "follow",
			    "follow is for plain JSON-RPC, where events are notifications");
		return err_hint(e, "Leave it out: process.monitor and process.logs wait for the "
				   "end and for more output with wait_ms.");
	}
	if (cap_tier(call->c, row) < TIER_CONFIRM)
		return 0;
	err_set(e, ERR_PERMISSION_DENIED, "follow is not allowed: the operator denies %s, or has "
					  "it confirmed", row->name);
	config_remedy(call->c->config, row->tier_option, "...", remedy);
	return err_hint(e, "Leave it out; the operator can change this %s.", remedy);
}

static enum proc_stdin process_run_stdin_mode(const json_t *params)
{
	const char *mode = json_get_str(params, "stdin_mode", command_usual_stdin(params));

	if (!strcmp(mode, "pipe"))
		return PROC_STDIN_PIPE;
	return strcmp(mode, "data") ? PROC_STDIN_NULL : PROC_STDIN_DATA;
}

/* The size of a terminal that a run without one asks for, or NULL. Hosts that fill in defaults send
 * these anyway; a command line leaves them out. */
static const char *process_run_lone_size(const struct cap_call *call)
{
	static const char *const sizes[] = { "cols", "rows" };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		const json_t *value = json_object_get(call->r->params, sizes[i]);

		if (value && !schema_is_default(call->row->input, sizes[i], value))
			return sizes[i];
	}
	return NULL;
}

/* cols or rows. */
static unsigned process_run_read_size(const struct cap_call *call, const char *name)
{
	json_t *usual = schema_default(call->row->input, name);
	int64_t size = json_get_int(call->r->params, name, json_integer_value(usual));

	json_decref(usual);
	return (unsigned)size;
}

static int process_run_read_terminal(const struct cap_call *call, struct run_task *t, struct err *e)
{
	const struct req *r = call->r;
	const json_t *params = r->params;
	const char *size = process_run_lone_size(call);

	t->confine.terminal = json_get_bool(params, "tty", false);
	t->confine.shares_stdio = r->dialect->shares_stdio;
	if (t->confine.terminal) {
		t->terminal.start.cols = process_run_read_size(call, "cols");
		t->terminal.start.rows = process_run_read_size(call, "rows");
		t->terminal.take = r->dialect->take_terminal;
		t->terminal.take_ctx = r->dialect->ctx;
		t->terminal.start.settings = r->dialect->terminal_settings;
	} else if (size) {
		err_invalid(e, size, "%s is the size of a terminal, and there is no "
			    "tty: true", size);
		return err_hint(e, "Set tty to true, or leave %s out.", size);
	}
	return 0;
}

static void process_run_read_typed(struct run_task *t, enum typed_reading reading,
				   struct blocklist_input *judge)
{
	struct typed nothing;

	typed_init(&nothing, reading);
	typed_text_release(&t->typed);
	typed_read(&nothing, t->command.stdin_bytes, t->command.stdin_len, &t->typed);
	judge->stdin_bytes = t->typed.text.len ? t->typed.text.data : "";
	judge->stdin_len = t->typed.text.len;
}

/* What ^C and the like leave of stdin, and what is in doubt of it, as in process.input. But all of
 * stdin is typed, so nothing of it is dropped here, and how much of it a shell has read when the
 * terminal drops the rest is chance: inside a command that is not complete they are refused. */
static int process_run_end_typed(struct run_task *t, struct blocklist_input *judge, struct err *e)
{
	struct blocklist_input in = *judge;
	struct blocklist_verdict v;
	struct stream_part part;
	struct stream *stream;
	size_t from;
	int error = 0;

	in.stdin_bytes = NULL;
	in.stdin_len = 0;
	stream = stream_new(&in, true);
	buf_truncate(&t->typed.text, 0);
	stream_preview(stream, t->command.stdin_bytes, t->command.stdin_len, &t->typed.text, &in,
		       &from);
	judge->stdin_bytes = in.stdin_bytes;
	judge->stdin_len = in.stdin_len;
	stream_judge(stream, t->command.stdin_bytes, t->command.stdin_len, false, &part);
	blocklist_judge(judge, &v);
	if ((part.verdict.blocked || part.dropped) && !v.blocked) { /* or there is a ^D so */
		command_fail_blocked(part.dropped ? &stream_part_open_command : &part.verdict, e);
		error = -1;
	}
	stream_part_release(&part);
	stream_free(stream);
	return error;
}

/* Read stdin with the marks of pastes, as a reader does for which it is blocked. */
static bool process_run_blocks_marks(struct run_task *t, struct blocklist_input *judge)
{
	struct blocklist_verdict v = { .blocked = false };

	if (!typed_may_have_marks(t->command.stdin_bytes, t->command.stdin_len))
		return false;
	for (enum typed_reading r = TYPED_WITHOUT_MARKS + 1; r < TYPED_READINGS; r++) {
		process_run_read_typed(t, r, judge);
		blocklist_judge(judge, &v);
		if (v.blocked && !v.unparsable)
			return true;
	}
	return false;
}

/* On a terminal stdin is typed: what its keys come to is judged. That is the reading without the
 * marks of pastes, unless another one is blocked. */
static int process_run_judge_typed(struct run_task *t, struct blocklist_input *judge, struct err *e)
{
	bool blocked;

	if (!t->terminal.start.cols || !t->command.stdin_bytes)
		return 0;
	blocked = process_run_blocks_marks(t, judge);
	if (!blocked)
		process_run_read_typed(t, TYPED_WITHOUT_MARKS, judge);
	t->result_options.stdin_edited = t->typed.edited;
	if (blocked || !(t->typed.edited ||
			 typed_may_end(t->command.stdin_bytes, t->command.stdin_len)))
		return 0;
	return process_run_end_typed(t, judge, e);
}

/* More can be written behind this stdin: what a shell would not run yet waits, as in process.input,
 * and is judged when it is complete. */
static void process_run_hold_stdin(struct cap_call *call)
{
	struct run_task *t = call->r->task;
	struct blocklist_input *in = &call->judge;

	if (t->stdin_mode != PROC_STDIN_PIPE || !in->stdin_len || t->terminal.start.cols)
		return;
	call->stdin_held = stream_held(in);
	in->stdin_len -= call->stdin_held;
}

static int process_run_prepare(struct cap_call *call, struct err *e)
{
	const struct config *config = call->c->config;
	const json_t *params = call->r->params;
	struct run_task *t = process_run_task_new(call->r);

	if ((t->follow && process_run_check_follow(call, e)) ||
	    process_run_read_terminal(call, t, e) || run_log_check(params, e) ||
	    run_limits_read(config, params, &t->rlimits, &t->confine, e) ||
	    process_run_read_time(call->r, t, e) ||
	    command_read(&t->command, params, call->c->scope, e))
		return -1;
	command_judge(&t->command, config, call->c->shell, &call->judge);
	call->event.command = t->command.shown;
	call->event.masked = t->command.masked;
	call->event.cwd = t->command.directory;
	if (process_run_judge_typed(t, &call->judge, e))
		return -1;
	t->stdin_mode = process_run_stdin_mode(params);
	process_run_hold_stdin(call);
	t->result_options.args_ignored = command_ignores_args(&t->command);
	t->result_options.stdin_piped = t->stdin_mode == PROC_STDIN_PIPE;
	t->result_options.stdin_ignored =
		t->command.stdin_bytes && t->stdin_mode == PROC_STDIN_NULL;
	t->result_options.timeout_ignored = t->background && json_object_get(params, "timeout");
	t->result_options.max_runtime_ignored = !t->background &&
						json_object_get(params, "max_runtime");
	return 0;
}

static struct run_env process_run_env(const struct cap_call *call)
{
	const struct run_task *t = call->r->task;

	return (struct run_env){
		.config = call->c->config, .base = call->c->env_base,
		.confine = call->c->confine, .request = &t->confine, .user = &t->user,
		.environment = t->command.environment,
		/* What the operator relays to is the terminal that TERM says. */
		.terminal = t->confine.terminal && !t->terminal.take,
	};
}

/* Add each fact to the audit event as soon as it is known: a later step may fail. */
static int process_run_resolve(struct cap_call *call, struct err *e)
{
	const json_t *params = call->r->params;
	struct run_task *t = call->r->task;
	bool in_place;

	if (command_resolve(&t->command, call->c->shell, e))
		return -1;
	call->event.argv = (const char *const *)t->command.argv;
	if (run_user_read(call->c->config, json_get_str(params, "user", NULL), &t->user,
			  &t->confine, e))
		return -1;
	call->event.user = t->user.name;
	t->result_options.idle_limits = run_limits_find_idle(params, &t->confine);
	if (scope_renew(call->c->scope, &in_place))
		log_warn("an accessible directory was removed or replaced, and another has its "
			 "path by now: commands run in that one");
	if (t->command.environment && judge_environment(call->c, &t->command, params, e))
		return -1;
	if (scope_open(call->c->scope, t->command.working_directory, in_place, &t->cwd_dir,
		       &t->cwd, e))
		return -1;
	call->event.cwd = t->cwd;
	if (run_log_resolve(call->c, params, t->cwd, &t->log_name, e))
		return -1;
	call->event.log_file = t->log_name;
	return process_run_find_program(t, e) ? -1 : budget_check(call->c, e);
}

/* The files that the human was shown are read by their names, and the command would find others in
 * the directory that was opened before. */
static int process_run_recheck(struct cap_call *call, struct err *e)
{
	const struct run_task *t = call->r->task;
	struct stat opened, named;

	if (!fstat(t->cwd_dir->fd, &opened) && !stat(t->cwd, &named) &&
	    opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
		return 0;
	err_set(e, ERR_BAD_DIRECTORY,
		"the working directory was moved or replaced before the call was confirmed");
	return err_hint(e, "Nothing ran. Call again, in the directory that is meant.");
}

/* ---- the answer ---- */

static void process_run_answer(struct cap *c, struct req *r, struct proc *p)
{
	struct run_task *t = r->task;
	ERR_LOCAL(e);
	struct jsonw *w;

	if (!t->result_options.replayed)
		t->result_options.same_failures =
			repeat_note(&c->repeat, r->row->input, r->params, p);
	t->result_options.lost_records = c->lost_records;
	c->lost_records = 0;
	p->announced = true;
	follow_catch_up(&c->follows, t->follow_id);
	w = req_result(r);
	run_result_write(w, c, p, &t->result_options);
	if (*t->follow_id)
		jsonw_str(w, "follow_id", t->follow_id);
	if (run_result_is_failure(p, &e))
		req_fail_partial(r, &e);
	else
		req_ok(r);
}

static enum cap_outcome process_run_start(struct cap_call *call);

/* The run @p of @r never began, because its shim had died: start it once more. False: no. */
static bool process_run_again(struct cap *c, struct req *r, struct proc *p)
{
	struct run_task *t = r->task;
	struct cap_call *call = r->call;
	ERR_LOCAL(e);
	bool opened;

	if (!p->never_began || t->again || r->cancelled || c->closing)
		return false;
	t->again = true;
	t->seq = r->run = 0; /* a log file is opened first, and the record of @p goes meanwhile */
	if (t->key)
		t->key->seq = 0;
	free(t->cwd);
	t->cwd = NULL;
	call->e = &e;
	opened = !scope_open(c->scope, t->command.working_directory, scope_is_in_place(c->scope),
			     &t->cwd_dir, &t->cwd, &e);
	call->event.cwd = t->cwd;
	p->replaced = opened && process_run_start(call) == CAP_WAITING;
	err_release(&e);
	return p->replaced;
}

static void process_run_join(struct cap *c, struct req *r);
static void process_run_set_pending(struct req *r);
static void process_run_plan_no_start(struct cap *c, struct req *r);

/* The run @p of the repeat @r has failed: is there another start, or may there be one? */
static bool process_run_rejoin(struct cap *c, struct req *r, const struct proc *p)
{
	struct run_task *t = r->task;
	struct run_key *key = t->key;

	if (r->cancelled)
		return false;
	if (key->seq && key->seq != p->seq) { /* the first call was woken before */
		process_run_join(c, r);
		return true;
	}
	if (!key->owner && !(key->seq && p->never_began && !c->closing))
		return false;
	t->seq = r->run = 0; /* the first call decides ... */
	process_run_set_pending(r);
	if (!key->owner) { /* ... or it has ended before: as if there had been none */
		run_key_free(&c->run_keys, key);
		process_run_plan_no_start(c, r);
	}
	return true;
}

static void process_run_on_failed(struct cap *c, struct req *r, struct proc *p)
{
	struct run_task *t = r->task;
	struct err e = *p->rare->failure;

	follow_remove(&c->follows, t->follow_id); /* no event of it was sent */
	*t->follow_id = '\0';
	if (t->result_options.replayed ? process_run_rejoin(c, r, p) : process_run_again(c, r, p))
		return;
	if (t->key && t->key->owner == t->handle) /* else the key goes with the record */
		t->key->seq = 0;
	json_incref(e.details);
	req_fail(r, &e);
}

static bool process_run_on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	if (events & PROC_EVENT_FAILED) {
		process_run_on_failed(c, r, p);
		return false;
	}
	if (r->cancelled && p->phase != PROC_SETTLED)
		return true; /* being killed: its end is the answer */
	process_run_answer(c, r, p);
	return false;
}

/* yield_ms is over: the run lives on, the client gets the state so far. */
static void process_run_on_yield(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct run_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);

	if (p && !r->cancelled)
		process_run_answer(c, r, p);
}

static void process_run_on_cancel(void *ctx, struct req *r)
{
	struct cap *c = ctx;
	const struct run_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->seq);
	ERR_LOCAL(e);

	if (t->key && t->key->holders > 1) {
		err_set(&e, ERR_CANCELLED, "the client cancelled this request; another one with "
					   "the same idempotency_key waits for the run");
	} else if (p && p->announced) {
		err_set(&e, ERR_CANCELLED, "the client cancelled this request; %s goes on, as an "
			"answer for the same idempotency_key has said", p->id);
	} else {
		if (p)
			proc_kill_tree(p, PROC_REASON_CANCELLED);
		return;
	}
	follow_remove(&c->follows, t->follow_id);
	req_fail(r, &e);
}

static void process_run_free_stream(void *stream)
{
	stream_free(stream);
}

static struct stream *process_run_new_stream(const struct cap_call *call)
{
	const struct run_task *t = call->r->task;
	struct stream *stream = stream_new(&call->judge, t->confine.terminal);
	const char *end = (const char *)t->command.stdin_bytes + t->command.stdin_len;
	struct stream_part part;

	if (t->confine.terminal && t->command.stdin_bytes)
		stream_begin_typed(stream, t->command.stdin_bytes, t->command.stdin_len);
	if (!call->stdin_held)
		return stream;
	stream_judge(stream, end - call->stdin_held, call->stdin_held, false, &part);
	BUG_IF(part.waiting != call->stdin_held);
	stream_part_release(&part);
	return stream;
}

static struct proc *process_run_start_proc(const struct cap_call *call)
{
	const struct cap *c = call->c;
	struct run_task *t = call->r->task;
	const struct run_env env = process_run_env(call);
	struct proc_spec spec = {
		.command = t->command.shown,
		.masked = t->command.masked,
		.origin = call->r->id,
		.path = t->path,
		.argv = t->command.argv,
		.cwd_fd = t->cwd_dir->fd,
		.cwd = t->cwd,
		.stdin_bytes = t->command.stdin_bytes,
		.stdin_len = t->command.stdin_len - call->stdin_held,
		.stdin_mode = t->stdin_mode,
		.shares_stdio = call->r->dialect->shares_stdio,
		.terminal = t->terminal,
		.background = t->background,
		.timeout_ms = t->timeout_ms,
		.idle_timeout_ms = t->idle_timeout_ms,
		.log_file = t->log_file,
		.confine = t->confine,
	};
	AUTO_FREE char **envp = NULL;
	const char *warning;
	struct proc *p;

	git_config_begin(c->git_config);
	spec.envp = envp = run_env_build(&env);
	warning = confine_warning(c->confine, &t->confine);
	if (warning)
		log_warn("%s", warning);
	p = proctab_start(c->procs, &spec, call->e);
	if (p)
		t->log_file = NULL;
	if (p && t->stdin_mode == PROC_STDIN_PIPE && !t->terminal.take)
		proc_attach(p, process_run_new_stream(call), process_run_free_stream);
	return p;
}

/* A repeat that finds no place for its follow is answered without one. */
static void process_run_follow(struct cap *c, const struct req *r, const struct proc *p)
{
	struct run_task *t = r->task;
	const struct follow_spec spec = { .wanted = { true, true }, .request_id = r->id };
	ERR_LOCAL(ignored);

	if (!follow_check(&c->follows, &ignored))
		follow_add(c, p, &spec, t->follow_id);
	err_release(&ignored);
}

/* Wait for @p, and answer @r with what it comes to. */
static void process_run_wait(struct cap *c, struct req *r, const struct proc *p)
{
	struct run_task *t = r->task;
	unsigned events = PROC_EVENT_FAILED | PROC_EVENT_SETTLED;

	if (t->follow)
		process_run_follow(c, r, p);
	r->run = t->seq = p->seq;
	r->on_cancel = process_run_on_cancel;
	r->answer_now = process_run_on_yield;
	r->on_cancel_ctx = r->answer_now_ctx = c;
	if (t->background)
		events |= PROC_EVENT_STARTED;
	wait_add(&c->waits, r, p, events, process_run_on_event);
	if (t->background)
		req_timer(r, START_LATE_MS, process_run_on_yield, c);
	else if (t->yield_ms)
		req_timer(r, (double)t->yield_ms, process_run_on_yield, c);
}

/* ---- repeats ---- */

/* Answer the repeat @r for the run of its key, now or later. */
static void process_run_join(struct cap *c, struct req *r)
{
	const struct run_task *t = r->task;
	struct proc *p = proctab_get(c->procs, t->key->seq); /* not NULL: the key would be free */

	cap_replayed(r->call, p);
	process_run_wait(c, r, p);
	if (p->phase == PROC_SETTLED || (t->background && p->phase != PROC_STARTING))
		process_run_answer(c, r, p);
}

/* Call @fn for every request that is pending for @key; it must end none. */
static void process_run_each_pending(struct cap *c, const struct run_key *key,
				     void (*fn)(struct cap *c, struct req *r))
{
	for (struct req *r = reqtab_first(c->reqs); r; r = r->next) {
		const struct run_task *t = r->task_free == process_run_task_free ? r->task : NULL;

		if (t && t->key == key && t->result_options.replayed && !t->seq)
			fn(c, r);
	}
}

/* The first call has ended without a run. */
static void process_run_on_no_start(void *ctx, struct req *r)
{
	struct run_task *t = r->task;
	struct err e = t->key->why;

	(void)ctx;
	json_incref(e.details);
	if (e.type != ERR_NONE && e.type != ERR_CANCELLED) {
		cap_fail(r->call, &e);
		return;
	}
	err_release(&e);
	run_key_drop(t->key);
	t->key = NULL;
	t->result_options.replayed = false;
	r->on_cancel = r->answer_now = NULL; /* the next step sets its own */
	cap_go_on(r->call);
}

/* In a later turn of the loop, because the table of requests may be in use. */
static void process_run_plan_no_start(struct cap *c, struct req *r)
{
	req_timer(r, 0, process_run_on_no_start, c);
}

/* The request of @t ends. */
static void process_run_leave_key(struct run_task *t)
{
	struct run_key *key = t->key;

	if (!key)
		return;
	if (key->owner == t->handle) {
		key->owner = 0;
		if (!key->seq) {
			run_key_free(&t->c->run_keys, key);
			process_run_each_pending(t->c, key, process_run_plan_no_start);
		}
	}
	run_key_drop(key);
}

/* Keep the error of the first call for those that are pending. */
static void process_run_on_fail(struct req *r, const struct err *e)
{
	struct run_key *key = ((struct run_task *)r->task)->key;

	if (key->seq)
		return;
	err_release(&key->why);
	key->why = *e;
	json_incref(key->why.details);
}

static void process_run_on_cancel_pending(void *ctx, struct req *r)
{
	(void)ctx;
	cap_fail_cancelled(r->call);
}

/* The first call of the repeat @r has started nothing. */
static void process_run_set_pending(struct req *r)
{
	r->on_cancel = process_run_on_cancel_pending;
	r->answer_now = cap_answer_late;
}

static int process_run_replay(struct cap_call *call, struct err *e)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct run_task *t = r->task;
	const char *name = json_get_str(r->params, "idempotency_key", NULL);

	if (!name)
		return 0;
	t->key = run_key_hold(&c->run_keys, c->procs, c->config, r, name, e);
	if (!t->key)
		return -1;
	t->result_options.replayed = t->key->owner != r->handle;
	t->result_options.keyed = true;
	if (!t->result_options.replayed) {
		r->on_fail = process_run_on_fail;
		return 0;
	}
	if (t->key->seq)
		process_run_join(c, r);
	else
		process_run_set_pending(r);
	return 1;
}

/* The log file is open, or cannot be. */
static void process_run_on_log_file(void *task)
{
	const struct run_task *t = task;

	cap_go(req_find(t->c->reqs, t->handle)->call);
}

/* The client or the server waits for the log file no longer: nothing starts. */
static void process_run_stop_opening(void *ctx, struct req *r)
{
	(void)ctx;
	cap_go(r->call);
}

/* Begin to open the log file; the run starts when it is open. */
static enum cap_outcome process_run_open_log(const struct cap_call *call)
{
	struct run_task *t = call->r->task;
	const struct run_log place = {
		.cwd_fd = t->cwd_dir->fd, .cwd = t->cwd, .confine = &t->confine,
		.on_open = process_run_on_log_file, .ctx = t,
	};

	t->log_file = run_log_open(call->c, call->r->params, t->log_name, &place, call->e);
	if (!t->log_file)
		return CAP_FAILED;
	call->r->on_cancel = call->r->answer_now = process_run_stop_opening;
	return CAP_WAITING;
}

/* May the run start with the log file, which is open, cannot be, or is not waited for? */
static int process_run_check_log(const struct cap_call *call, struct err *e)
{
	struct log_file *f = ((struct run_task *)call->r->task)->log_file;

	if (call->r->cancelled)
		return err_set(e, ERR_CANCELLED, "the client cancelled this request before its "
						 "log_file was open; nothing ran");
	if (log_file_failed(f, e))
		return -1;
	return f->announced ? 0 : cap_set_late(e);
}

static enum cap_outcome process_run_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct run_task *t = call->r->task;
	struct proc *p;

	if ((t->log_file && process_run_check_log(call, call->e)) ||
	    (!t->again && budget_check(c, call->e)) ||
	    (t->follow && follow_check(&c->follows, call->e)))
		return CAP_FAILED;
	if (!t->log_file && t->log_name)
		return process_run_open_log(call);
	p = process_run_start_proc(call);
	if (!p)
		return CAP_FAILED;
	scope_dir_drop(&t->cwd_dir);
	process_run_wait(c, call->r, p);
	if (t->key) {
		t->key->seq = p->seq;
		process_run_each_pending(c, t->key, process_run_join);
	}
	return CAP_WAITING;
}

const struct cap_ops cap_process_run = {
	.prepare = process_run_prepare,
	.replay = process_run_replay,
	.resolve = process_run_resolve,
	.recheck = process_run_recheck,
	.start = process_run_start,
};
