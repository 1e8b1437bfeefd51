#include "app/cli_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli_options.h"
#include "app/engine.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cap/run_env.h"
#include "cap/run_user.h"
#include "guard/blocklist.h"
#include "guard/env.h"
#include "guard/policy.h"
#include "os/spawn.h"
#include "os/start.h"
#include "os/stdio.h"
#include "proc/names.h"
#include "proc/tree.h"

#define STATUS_REFUSED 77
#define STATUS_TIMEOUT 124
#define STATUS_FAILED 125
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128
#define PATIENCE_MS 1000

/* What the command line asks for. */
struct wish {
	struct cli cli; /* options shared with serve */
	const char *cwd;
	double timeout_s; /* 0: none */
	bool shell;
	struct confine_request confine;
	json_t *environment;
	const char **pairs; /* the same as NAME=VALUE, NULL-terminated; or NULL */
	size_t pair_count;
	char **command; /* the words behind --, NULL-terminated */
};

/* One run from its start to the end of its tree. */
struct run {
	struct engine engine;
	struct tree tree;
	struct confine_run confine;
	ev_timer timeout;
	ev_signal signals[3];
	char *shown;         /* program and arguments joined by spaces */
	char **envp, *path, *cwd;
	struct user user;
	int cwd_fd;
	int wait_status, limit; /* limit: enum shim_limit */
	bool exited, timed_out, interrupted;
	struct err failure;
};

/* ---- the command line ---- */

static int complain(const char *what, const char *value)
{
	fprintf(stderr, "procpen run: %s%s%s\nMore: procpen --help\n", what, value ? ": " : "",
		value ? value : "");
	return CLI_STATUS_USAGE;
}

static int take_number(const char *text, double max, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return *end || end == text || !isfinite(*number) || *number <= 0 || *number > max
		       ? complain("not a number in bounds", text)
		       : 0;
}

static int set_timeout(struct wish *w, const char *value)
{
	return take_number(value, 1e7, &w->timeout_s);
}

static int set_cpu(struct wish *w, const char *value)
{
	double cores;

	if (take_number(value, 4096, &cores))
		return CLI_STATUS_USAGE;
	w->confine.cpu_permille = (int64_t)(cores * 1000 + 0.5);
	return 0;
}

static int set_memory(struct wish *w, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;

	for (const char *at = units; unit && at <= unit; at++)
		number *= 1024;
	if ((*end && (!unit || end[1])) || !(number >= 1 << 20) || number > 1e15)
		return complain("--memory takes bytes, at least 1M, with K, M or G", value);
	w->confine.memory_bytes = (int64_t)number;
	return 0;
}

static int set_cwd(struct wish *w, const char *value)
{
	w->cwd = value;
	return 0;
}

static int set_env(struct wish *w, const char *value)
{
	const char *equals = strchr(value, '=');
	AUTO_FREE char *name = equals ? mem_strndup(value, (size_t)(equals - value)) : NULL;

	if (!name)
		return complain("--env takes NAME=VALUE", value);
	if (!w->environment)
		w->environment = json_object();
	w->pairs = mem_realloc(w->pairs, (w->pair_count + 2) * sizeof(*w->pairs));
	w->pairs[w->pair_count++] = value;
	w->pairs[w->pair_count] = NULL;
	return json_object_set_new(w->environment, name, json_string(equals + 1))
		       ? complain("not text in UTF-8", value)
		       : 0;
}

/* Whoever types the command line is the operator. */
static int set_user(struct wish *w, const char *value)
{
	AUTO_FREE char *option = NULL;
	struct err e = ERR_INIT;

	if (asprintf(&option, "sandbox.user=%s", value) < 0)
		abort();
	if (!config_set(&w->cli.options.config, option, &e))
		return 0;
	err_release(&e);
	return complain("--user takes one name", value);
}

static int set_strict(struct wish *w, const char *value)
{
	(void)value;
	w->confine.strict = true;
	return 0;
}

static int set_no_network(struct wish *w, const char *value)
{
	(void)value;
	w->confine.network_off = true;
	return 0;
}

static int set_shell(struct wish *w, const char *value)
{
	(void)value;
	w->shell = true;
	return 0;
}

static const struct {
	const char *name;
	bool has_value;
	int (*set)(struct wish *w, const char *value);
} options[] = {
	{ "--timeout", true, set_timeout }, { "--cpu", true, set_cpu },
	{ "--memory", true, set_memory },   { "--cwd", true, set_cwd },
	{ "--env", true, set_env },	    { "--strict", false, set_strict },
	{ "--user", true, set_user },
	{ "--no-network", false, set_no_network }, { "--shell", false, set_shell },
};

/* An option of run itself, or one that serve has too. 0, or the exit status. */
static int take_option(struct wish *w, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	int status;

	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = equals ? equals + 1 : argv[*at + 1];

		if (strlen(options[i].name) != len || strncmp(options[i].name, word, len))
			continue;
		if (!options[i].has_value)
			return equals ? complain("takes no value", word) : options[i].set(w, NULL);
		if (!value || !*value)
			return complain("needs a value", word);
		*at += !equals;
		return options[i].set(w, value);
	}
	status = cli_take_option(&w->cli, argv, at);
	return status == CLI_GO_ON ? 0 : status;
}

/* CLI_GO_ON: the wish is complete; else the exit status. */
static int read_wish(struct wish *w, int argc, char **argv)
{
	static const char *own[COUNT_OF(options) + 1];
	int at = 1, status = 0;

	for (size_t i = 0; i < COUNT_OF(options); i++)
		own[i] = options[i].name;
	w->cli.own = own;
	config_init(&w->cli.options.config);
	for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); at++) {
		status = take_option(w, argv, &at);
		if (status)
			return status;
	}
	at += at < argc && !strcmp(argv[at], "--");
	if (at >= argc)
		return complain("no command is given", NULL);
	if (w->shell && at + 1 != argc)
		return complain("--shell takes one command line", NULL);
	w->command = argv + at;
	return CLI_GO_ON;
}

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

static int judge(const struct wish *w, const struct run *r, struct err *e)
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
	enum tier tier = policy_tier(&r->engine.config, "process.run", TIER_NOTIFY);

	blocklist_judge(&input, &verdict);
	if (verdict.blocked) {
		err_set(e, ERR_COMMAND_BLOCKED, "%s", verdict.reason);
		return err_hint(e, "%s", verdict.suggestion);
	}
	if (tier < TIER_CONFIRM)
		return 0;
	return err_set(e, ERR_PERMISSION_DENIED, "the tier of process.run is %s%s",
		       policy_tier_name(tier),
		       tier == TIER_CONFIRM ? ", and nobody can be asked here" : "");
}

static int look_up(struct wish *w, struct run *r, struct err *e)
{
	const struct run_env env = {
		.config = &r->engine.config, .confine = r->engine.confine, .request = &w->confine,
		.user = &r->user, .environment = w->environment,
	};

	if (run_user_read(&r->engine.config, NULL, &r->user, &w->confine, e) ||
	    run_env_build(&env, &r->envp, e) ||
	    scope_open(r->engine.scope, w->cwd, &r->cwd_fd, &r->cwd, e))
		return -1;
	if (w->shell) {
		r->path = mem_strdup("/bin/sh");
		return 0;
	}
	return env_find_program(r->envp, r->cwd_fd, w->command[0], &r->path, e);
}

/* As for every other run: what is not on record does not start. */
static int record(const struct run *r, const char *event, const char *decision,
		  const char *outcome, struct err *e)
{
	const struct audit_event line = {
		.event = event, .capability = "process.run", .decision = decision,
		.command = r->shown, .cwd = r->cwd, .user = r->user.name, .outcome = outcome,
	};

	if (!audit_write(r->engine.audit, &line, e))
		return 0;
	if (config_bool(&r->engine.config, CONFIG_AUDIT_REQUIRED))
		return -1;
	err_release(e);
	return 0;
}

/* ---- the run ---- */

static void on_report(void *ctx, const struct shim_report *report)
{
	struct run *r = ctx;

	if (report->event == SHIM_FAILED)
		spawn_failed(report->value, report->error, r->path, &r->failure);
	if (report->event == SHIM_LIMITED)
		r->limit = report->value;
	if (report->event == SHIM_EXITED) {
		r->exited = true;
		r->wait_status = report->value;
		tree_kill(&r->tree, PATIENCE_MS); /* what it has left behind */
	}
}

static void on_empty(void *ctx)
{
	struct run *r = ctx;

	ev_break(r->engine.loop, EVBREAK_ALL);
}

static void on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct run *r = w->data;

	(void)loop;
	(void)revents;
	r->timed_out = !r->exited;
	tree_kill(&r->tree, PATIENCE_MS);
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
	tree_kill(&r->tree, PATIENCE_MS);
}

static int start(const struct wish *w, struct run *r, struct err *e)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *by_shell[] = { shell, option, w->command[0], NULL };
	struct spawn_request request = {
		.path = r->path, .argv = w->shell ? by_shell : w->command, .envp = r->envp,
		.cwd_fd = r->cwd_fd, .cwd = r->cwd,
		.stdin_fd = STDIN_FILENO, .stdout_fd = STDOUT_FILENO, .stderr_fd = STDERR_FILENO,
	};
	struct spawn_result spawned;

	if (start_command(r->engine.confine, &w->confine, 1, NULL, &request, &r->confine, &spawned,
			  e))
		return -1;
	r->tree.on_report = on_report;
	r->tree.on_empty = on_empty;
	r->tree.ctx = r;
	tree_start(&r->tree, r->engine.loop, r->engine.reaper, spawned.keeper_pid,
		   spawned.control_fd);
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
	const char *limit = NULL;

	if (r->failure.type)
		return say(&r->failure);
	if (r->limit || (r->confine.cgroup && cgroup_oom_kills(r->confine.cgroup) > 0))
		limit = r->limit == SHIM_LIMIT_TASKS ? "tasks" : "memory";
	if (limit)
		fprintf(stderr, "procpen: ended by its %s limit\n", limit);
	if (r->timed_out) {
		fputs("procpen: ended by --timeout\n", stderr);
		return STATUS_TIMEOUT;
	}
	if (!r->exited)
		return STATUS_SIGNAL + SIGKILL;
	return WIFEXITED(r->wait_status) ? WEXITSTATUS(r->wait_status)
					 : STATUS_SIGNAL + WTERMSIG(r->wait_status);
}

static int run_to_end(const struct wish *w, struct run *r)
{
	struct err e = ERR_INIT;
	char outcome[48];
	int status;

	watch_signals(r);
	if (start(w, r, &e))
		return say(&e);
	watch_time(w, r);
	ev_run(r->engine.loop, 0);
	tree_release(&r->tree);
	status = exit_status(r);
	snprintf(outcome, sizeof(outcome), "exit status %d", status);
	if (record(r, "end", NULL, outcome, &e))
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
	struct err e = ERR_INIT;

	if (passes_directory())
		return complain("a directory as standard input or output leads out of the sandbox",
				NULL);
	engine_set_up_process(&r->engine);
	if (stdio_guard(&e) || engine_open(&r->engine, &w->cli.options, &e))
		return say(&e);
	if (judge(w, r, &e)) {
		struct err ignored = ERR_INIT;

		record(r, "attempt", "blocked", err_rows[e.type].name, &ignored);
		err_release(&ignored);
		return say(&e);
	}
	if (look_up(w, r, &e) || record(r, "attempt", "allowed", NULL, &e))
		return say(&e);
	return run_to_end(w, r);
}

int cli_run(int argc, char **argv)
{
	struct wish w = { 0 };
	struct run r = { .cwd_fd = -1, .tree = { .control = { .fd = -1 } } };
	int status = read_wish(&w, argc, argv);

	if (status == CLI_GO_ON) {
		r.shown = join_words(w.command);
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
	json_decref(w.environment);
	free(w.pairs);
	cli_release(&w.cli);
	return status;
}
