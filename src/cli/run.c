#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "blocklist/blocklist.h"
#include "cap/run_env.h"
#include "cap/run_limits.h"
#include "cap/run_user.h"
#include "cli/wish.h"
#include "os/sandbox/start.h"
#include "os/spawn/spawn.h"
#include "os/stdio.h"
#include "policy/env.h"
#include "policy/policy.h"
#include "proc/limits.h"
#include "proc/tree.h"
#include "server/engine.h"

#define STATUS_REFUSED 77
#define STATUS_TIMEOUT 124
#define STATUS_FAILED 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

/* One run from its start to the end of its tree. */
struct run {
	struct engine engine;
	struct tree tree;
	struct confine_run confine;
	struct run_limits rlimits; /* what the wish borrows */
	struct limits limits;
	struct limits_watch watch;
	ev_timer timeout;
	ev_signal signals[3];
	char *shown;         /* program and arguments joined by spaces */
	char *by_shell[4];   /* sh -c LINE */
	char *const *argv;   /* what is executed: this, or the words of the command line */
	char **envp, *path, *cwd;
	struct user user;
	int cwd_fd;
	int wait_status;
	bool exited, timed_out, interrupted;
	struct err failure;
};

/* ---- may it run? ---- */

static int status_of(const struct err *e)
{
	const char *stage = json_string_value(json_object_get(e->details, "stage"));

	switch (e->type) {
	case ERR_COMMAND_NOT_FOUND:
		return STATUS_NOT_FOUND;
	case ERR_COMMAND_BLOCKED:
	case ERR_PERMISSION_DENIED:
	case ERR_PROTECTED_VARIABLE:
	case ERR_PATH_OUT_OF_SCOPE:
		return STATUS_REFUSED;
	case ERR_SPAWN_FAILED:
		if (strcmp(stage ? stage : "", "exec"))
			return STATUS_FAILED;
		return e->sys == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	default:
		return STATUS_FAILED;
	}
}

static int say(struct err *e)
{
	int status = status_of(e);

	size_t len = strlen(e->message);

	fprintf(stderr, "procpen: %s%s %s\n", e->message,
		len && e->message[len - 1] == '.' ? "" : ".", err_hint_text(e));
	err_release(e);
	return status;
}

static char *join_words(char *const *words)
{
	struct buf all;
	char *text;

	buf_init(&all, 4u << 20);
	for (; *words; words++) {
		buf_add(&all, *words, strlen(*words));
		if (words[1])
			buf_add(&all, " ", 1);
	}
	text = mem_strndup(all.data ? all.data : "", all.len);
	buf_release(&all);
	return text;
}

/* As for every other run: what is not on record does not start. */
static int record(const struct run *r, struct audit_event line, struct err *e)
{
	line.capability = "process.run";
	line.command = r->shown;
	line.cwd = r->cwd;
	line.user = r->user.name;
	if (!audit_write(r->engine.audit, &line, e))
		return 0;
	if (config_bool(&r->engine.config, CONFIG_AUDIT_REQUIRED))
		return -1;
	err_release(e);
	return 0;
}

static enum tier tier_of(const struct run *r)
{
	return policy_tier(&r->engine.config, "process.run", TIER_NOTIFY);
}

/* Say @e, on record first. */
static int refuse(const struct run *r, const char *decision, const char *rule, struct err *e)
{
	const struct audit_event line = {
		.event = "attempt", .decision = decision, .rule = rule,
		.tier = policy_tier_name(tier_of(r)), .argv = (const char *const *)r->argv,
		.outcome = err_rows[e->type].name,
	};
	struct err ignored = ERR_INIT;

	record(r, line, &ignored);
	err_release(&ignored);
	return say(e);
}

/* 0, or the exit status: refused by the blocklist or the tier. */
static int judge(const struct wish *w, const struct run *r)
{
	const struct blocklist_input input = {
		.command = w->command[0],
		.args = w->shell ? NULL : (const char *const *)w->command + 1,
		.environment = w->pairs,
		.directory = w->cwd,
		.literal_in_commands = !strcmp(
			config_choice(&r->engine.config, CONFIG_BLOCKLIST_LITERAL_MATCH),
			"command"),
	};
	struct blocklist_verdict verdict;
	enum tier tier = tier_of(r);
	struct err e = ERR_INIT;

	blocklist_judge(&input, &verdict);
	if (verdict.blocked) {
		err_set(&e, ERR_COMMAND_BLOCKED, "%s", verdict.reason);
		err_hint(&e, "%s", verdict.suggestion);
		return refuse(r, "blocked", verdict.rule, &e);
	}
	if (tier < TIER_CONFIRM)
		return 0;
	err_set(&e, ERR_PERMISSION_DENIED, "the tier of process.run is %s%s",
		policy_tier_name(tier),
		tier == TIER_CONFIRM ? ", and nobody can be asked here" : "");
	return refuse(r, "denied", tier == TIER_CONFIRM ? "tier.confirm" : "tier.deny", &e);
}

static struct run_env env_of(const struct wish *w, const struct run *r)
{
	return (struct run_env){
		.config = &r->engine.config, .confine = r->engine.confine, .request = &w->confine,
		.user = &r->user, .environment = w->environment,
	};
}

static int look_up(struct wish *w, struct run *r, struct err *e)
{
	const struct run_env env = env_of(w, r);

	if (run_limits_read(&r->engine.config, w->limits, &r->rlimits, &w->confine, e) ||
	    run_user_read(&r->engine.config, NULL, &r->user, &w->confine, e) ||
	    run_env_build(&env, &r->envp, e) ||
	    scope_open(r->engine.scope, w->cwd, &r->cwd_fd, &r->cwd, e))
		return -1;
	if (w->shell) {
		r->path = mem_strdup("/bin/sh");
		return 0;
	}
	return env_find_program(r->envp, r->cwd_fd, w->command[0], &r->path, e);
}

/* ---- the run ---- */

static void on_report(void *ctx, const struct shim_report *report)
{
	struct run *r = ctx;

	if (report->event == SHIM_FAILED)
		spawn_failed(report->value, report->error, r->path, &r->failure);
	if (report->event == SHIM_LIMITED)
		limits_reported(&r->limits, report);
	if (report->event == SHIM_EXITED) {
		limits_look(&r->limits, r->confine.cgroup); /* the watch may not have told yet */
		r->exited = true;
		r->wait_status = report->value;
		tree_kill(&r->tree); /* what it has left behind */
	}
}

static void kill_group(void *ctx)
{
	struct run *r = ctx;

	if (r->confine.cgroup)
		(void)cgroup_kill(r->confine.cgroup); /* beside what the keeper does */
}

static void on_empty(void *ctx)
{
	struct run *r = ctx;

	ev_break(r->engine.loop, EVBREAK_ALL);
}

/* The kernel has killed a process of the group for its memory: half a run is no result. */
static void on_struck(void *ctx)
{
	struct run *r = ctx;

	tree_kill(&r->tree);
}

static void on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct run *r = w->data;

	(void)loop;
	(void)revents;
	r->timed_out = !r->exited;
	tree_kill(&r->tree);
}

/* As a shell in the foreground would: the command gets it; the second time everything ends. */
static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct run *r = w->data;

	(void)loop;
	(void)revents;
	if (w->signum == SIGINT && !r->interrupted && !r->exited &&
	    !tree_signal(&r->tree, SIGINT)) {
		r->interrupted = true;
		return;
	}
	tree_kill(&r->tree);
}

static int start(const struct wish *w, struct run *r, struct err *e)
{
	const struct run_env env = env_of(w, r);
	struct spawn_request request = {
		.path = r->path, .argv = r->argv,
		.cwd_fd = r->cwd_fd, .cwd = r->cwd,
		.stdin_fd = STDIN_FILENO, .stdout_fd = STDOUT_FILENO, .stderr_fd = STDERR_FILENO,
	};
	struct spawn_result spawned;

	run_env_enter(&env, &r->envp);
	request.envp = r->envp;
	if (start_command(r->engine.confine, &w->confine, 1, NULL, &request, &r->confine, &spawned,
			  e))
		return -1;
	r->tree.on_report = on_report;
	r->tree.on_empty = on_empty;
	r->tree.kill_group = kill_group;
	r->tree.is_init = r->confine.applied.layers & 1u << CONFINE_PID_NS;
	r->tree.ctx = r;
	tree_start(&r->tree, r->engine.loop, r->engine.reaper, spawned.keeper_pid,
		   spawned.control_fd);
	limits_init(&r->limits, &w->confine, &r->confine);
	limits_watch_start(&r->watch, r->engine.loop, &r->limits, r->confine.cgroup, on_struck, r);
	return 0;
}

/* Before the command is there: whoever hears of it may send one at once. */
static void watch_signals(struct run *r)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		ev_signal_init(&r->signals[i], on_signal, numbers[i]);
		r->signals[i].data = r;
		ev_signal_start(r->engine.loop, &r->signals[i]);
	}
}

static void watch_time(const struct wish *w, struct run *r)
{
	ev_timer_init(&r->timeout, on_timeout, 0., 0.);
	r->timeout.data = r;
	if (w->timeout_s > 0)
		loop_timer_start(r->engine.loop, &r->timeout, w->timeout_s * 1000);
}

static int exit_status(struct run *r)
{
	if (r->failure.type)
		return say(&r->failure);
	if (r->limits.struck != PROC_REASON_RUNNING)
		fprintf(stderr, "procpen: ended by its %s limit\n",
			r->limits.struck == PROC_REASON_PROCESS_LIMIT ? "tasks" : "memory");
	if (r->tree.survivors)
		fprintf(stderr, "procpen: %u processes of the command could not be killed\n",
			r->tree.survivors);
	if (r->timed_out) {
		fputs("procpen: ended by --timeout\n", stderr);
		return STATUS_TIMEOUT;
	}
	/* What the command made of a limit that struck is no result. */
	if (!r->exited || r->limits.struck != PROC_REASON_RUNNING)
		return STATUS_SIGNAL + SIGKILL;
	return WIFEXITED(r->wait_status) ? WEXITSTATUS(r->wait_status)
					 : STATUS_SIGNAL + WTERMSIG(r->wait_status);
}

static int run_to_end(const struct wish *w, struct run *r)
{
	struct audit_event line = { .event = "end" };
	struct err e = ERR_INIT;
	char outcome[48];
	int status;

	watch_signals(r);
	if (start(w, r, &e))
		return refuse(r, "failed", NULL, &e);
	watch_time(w, r);
	ev_run(r->engine.loop, 0);
	tree_release(&r->tree);
	limits_watch_stop(&r->watch, r->engine.loop);
	status = exit_status(r);
	snprintf(outcome, sizeof(outcome), "exit status %d", status);
	line.outcome = outcome;
	if (record(r, line, &e))
		err_release(&e);
	return status;
}

/* A descriptor of a directory belongs to the mounts outside. */
static bool passes_directory(void)
{
	struct stat st;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
			return true;
	return false;
}

static int carry_out(struct wish *w, struct run *r)
{
	struct audit_event line = { .event = "attempt", .decision = "allowed" };
	struct err e = ERR_INIT;
	int status;

	if (passes_directory())
		return wish_complain("a directory as standard input or output leads out of the "
				     "sandbox", NULL);
	engine_set_up_process(&r->engine);
	if (stdio_guard(&e) || engine_open(&r->engine, &w->cli.options, &e))
		return say(&e);
	status = judge(w, r);
	if (status)
		return status;
	if (look_up(w, r, &e) || engine_check(&r->engine, &e))
		return refuse(r, "failed", NULL, &e);
	line.tier = policy_tier_name(tier_of(r));
	line.argv = (const char *const *)r->argv;
	if (record(r, line, &e))
		return say(&e);
	return run_to_end(w, r);
}

static void set_argv(const struct wish *w, struct run *r)
{
	static char shell[] = "/bin/sh", option[] = "-c";

	r->by_shell[0] = shell;
	r->by_shell[1] = option;
	r->by_shell[2] = w->command[0];
	r->argv = w->shell ? r->by_shell : w->command;
}

int cli_run(int argc, char **argv)
{
	struct wish w = { 0 };
	struct run r = { .cwd_fd = -1, .tree = { .control = { .fd = -1 } },
			 .watch = { .oom = { .fd = -1 } } };
	int status = wish_read(&w, argc, argv);

	if (status == CLI_GO_ON) {
		r.shown = join_words(w.command);
		set_argv(&w, &r);
		status = carry_out(&w, &r);
		confine_run_release(&r.confine);
		engine_close(&r.engine);
	}
	env_free(r.envp);
	free(r.path);
	free(r.cwd);
	free(r.shown);
	users_release(&r.user);
	mem_cleanup_close(&r.cwd_fd);
	wish_release(&w);
	return status;
}
