/*
 * One verdict: is_blocked, process.run and `procpen check` say the same of commands of
 * every list, rule and span included, and what is blocked never starts.
 *
 * The server of this test is the real one, in a process of its own, from the line
 * on its stdin to the gate and behind. Only the start of a run is another function,
 * put in its place by the linker: it notes what it was to start, and refuses. So
 * that no mistake here can run a command, the kernel refuses every execve to this
 * program and all it forks; that is proved first.
 */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/check.h"
#include "corpus.h"
#include "proc/proctab.h"
#include "scratch.h"
#include "server/server.h"

#include <seccomp.h> /* behind ev.h: it defines EV_NONE as a macro */

#define LINE_MAX_BYTES (1u << 20)
#define RECORDED "recorded, and not started"

/* ---- the recorder ---- */

struct recorder {
	int calls;
	char command[256]; /* of the last run, as far as it fits */
};
static struct recorder *recorder; /* shared with the server's process */

struct proc *__wrap_proctab_start(struct proctab *t, const struct proc_spec *spec, struct err *e);

struct proc *__wrap_proctab_start(struct proctab *t, const struct proc_spec *spec, struct err *e)
{
	(void)t;
	recorder->calls++;
	snprintf(recorder->command, sizeof(recorder->command), "%s", spec->command);
	err_set(e, ERR_SPAWN_FAILED, RECORDED);
	return NULL;
}

/* From here on this process and its children cannot execute a program. */
static void bar_execution(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	char *const argv[] = { (char[]){ "false" }, NULL };

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execve), 0) ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(execveat), 0) ||
	    seccomp_load(filter)) {
		printf("SKIP: no system call filter works here, and the test does not run without it\n");
		exit(0);
	}
	seccomp_release(filter);
	execv("/bin/false", argv);
	if (errno != EPERM)
		abort();
}

/* ---- the server ---- */

struct session {
	struct scratch dir;
	pid_t server;
	struct run_shell shell; /* that the server chooses */
	FILE *in, *out;
	int id;
	int rows, blocked, started;
};

static void serve(struct session *s, int fd)
{
	struct context_options options = { .workspace = s->dir.dir };
	char state[SCRATCH_PATH];
	ERR_LOCAL(e);
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	snprintf(state, sizeof(state), "%s.state", s->dir.dir);
	options.state_dir = state;
	config_init(&options.config);
	if (config_set(&options.config, "tier.process.run=autonomous", &e) ||
	    dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(nothing, 2) < 0)
		_exit(9);
	close(fd);
	_exit(server_main(&options));
}

static int start_server(void **state)
{
	static struct session s;
	ERR_LOCAL(e);
	struct config config;
	int pair[2];

	memset(&s, 0, sizeof(s));
	scratch_init(&s.dir);
	setenv("PROCPEN_WORKSPACE", s.dir.dir, 1); /* of check */
	config_init(&config);
	if (run_shell_choose(&s.shell, &config, NULL, &e))
		return -1;
	config_release(&config);
	recorder = mmap(NULL, sizeof(*recorder), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (recorder == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	fflush(NULL);
	s.server = fork();
	if (s.server < 0)
		return -1;
	if (!s.server) {
		close(pair[0]);
		serve(&s, pair[1]);
	}
	close(pair[1]);
	s.in = fdopen(pair[0], "w");
	s.out = fdopen(dup(pair[0]), "r");
	*state = &s;
	return s.in && s.out ? 0 : -1;
}

static int stop_server(void **state)
{
	struct session *s = *state;
	struct scratch audit = { .dir = "" };
	int status;

	shutdown(fileno(s->in), SHUT_WR);
	fclose(s->in);
	waitpid(s->server, &status, 0);
	fclose(s->out);
	scratch_release(&s->dir);
	snprintf(audit.dir, sizeof(audit.dir), "%.50s.state", s->dir.dir);
	scratch_release(&audit);
	munmap(recorder, sizeof(*recorder));
	run_shell_release(&s->shell);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Call @method with @params (borrowed) and return its answer. */
static json_t *call(struct session *s, const char *method, json_t *params)
{
	json_t *request = json_pack("{s:s,s:i,s:s,s:O}", "jsonrpc", "2.0", "id", ++s->id, "method",
				    method, "params", params);
	char *line = json_dumps(request, JSON_COMPACT), *reply = NULL;
	size_t size = 0;
	json_t *answer;

	fprintf(s->in, "%s\n", line);
	fflush(s->in);
	if (getline(&reply, &size, s->out) <= 0)
		fail_msg("the server ended at %s", line);
	answer = json_loads(reply, JSON_ALLOW_NUL, NULL);
	assert_non_null(answer);
	assert_int_equal(json_integer_value(json_object_get(answer, "id")), s->id);
	free(reply);
	free(line);
	json_decref(request);
	return answer;
}

/* ---- the three answers ---- */

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* process.run must refuse exactly what is_blocked calls blocked, with the same words. */
static void compare_run(struct session *s, json_t *params, const json_t *verdict)
{
	int before = recorder->calls;
	json_t *answer = call(s, "process.run", params);
	const json_t *error = json_object_get(answer, "error");
	const json_t *data = json_object_get(error, "data");
	const json_t *details = json_object_get(data, "details");
	const char *command = text_of(params, "command");
	bool broken = !strcmp(text_of(verdict, "rule"), "text.unparsable");
	bool refused = !strcmp(text_of(data, "type"), broken ? "InvalidCommand" : "CommandBlocked");

	if (!error || refused != json_is_true(json_object_get(verdict, "blocked")))
		fail_msg("process.run differs from is_blocked: %s", command);
	if (refused) {
		assert_int_equal(recorder->calls, before);
		assert_string_equal(text_of(error, "message"), text_of(verdict, "block_reason"));
		assert_string_equal(text_of(data, "hint"), text_of(verdict, "suggestion"));
		assert_string_equal(text_of(details, "rule"), text_of(verdict, "rule"));
		if (!json_is_null(json_object_get(verdict, "span")))
			assert_true(json_equal(json_object_get(details, "span"),
					       json_object_get(verdict, "span")));
	} else if (!strcmp(text_of(error, "message"), RECORDED)) {
		assert_int_equal(recorder->calls, before + 1);
		assert_int_equal(strncmp(recorder->command, command,
					 strnlen(command, sizeof(recorder->command) - 1)), 0);
		s->started++;
	}
	json_decref(answer);
}

/* What `procpen check` with @argv (ended by NULL) and @input on stdin prints; *@status: how it exits. */
static json_t *run_check(char **argv, const char *input, int *status)
{
	FILE *old_in = stdin, *old_out = stdout;
	char *text = NULL;
	size_t size;
	const struct cli_command *check = cli_commands;
	json_t *said;

	while (strcmp(check->name, "check"))
		check++;
	stdin = fmemopen((void *)(uintptr_t)input, strlen(input), "r");
	stdout = open_memstream(&text, &size);
	*status = cli_check(check, argv);
	fclose(stdin);
	fclose(stdout);
	stdin = old_in;
	stdout = old_out;
	said = json_loads(text, 0, NULL);
	free(text);
	return said;
}

/* The command line that asks for @params: a string on stdin, or a program with its arguments. */
static char **check_argv(const json_t *params, char **argv)
{
	const json_t *args = json_object_get(params, "args");
	const json_t *environment = json_object_get(params, "environment");
	const char *name;
	json_t *value;
	int n = 0;

	argv[n++] = mem_strdup("check");
	argv[n++] = mem_strdup("--json");
	argv[n++] = mem_strdup("--set");
	argv[n++] = mem_strdup("tier.process.run=autonomous");
	if (json_object_get(params, "stdin")) {
		argv[n++] = mem_strdup("--stdin");
		argv[n++] = mem_strdup(text_of(params, "stdin"));
	}
	json_object_foreach((json_t *)(uintptr_t)environment, name, value) {
		char pair[4096];

		snprintf(pair, sizeof(pair), "%s=%s", name, json_string_value(value));
		argv[n++] = mem_strdup("--env");
		argv[n++] = mem_strdup(pair);
	}
	argv[n++] = mem_strdup(args ? "--" : "-");
	if (args)
		argv[n++] = mem_strdup(text_of(params, "command"));
	for (size_t i = 0; i < json_array_size(args); i++)
		argv[n++] = mem_strdup(json_string_value(json_array_get(args, i)));
	argv[n] = NULL;
	return argv;
}

static void compare_check(const json_t *params, const json_t *verdict)
{
	char *argv[64];
	int status;
	json_t *said = run_check(check_argv(params, argv), text_of(params, "command"), &status);

	if (!said)
		fail_msg("check gives no verdict on %s", text_of(params, "command"));
	assert_int_equal(status, json_is_true(json_object_get(verdict, "blocked")));
	json_object_del(said, "command");
	if (!json_equal(said, verdict))
		fail_msg("check differs from is_blocked: %s", text_of(params, "command"));
	json_decref(said);
	for (char **word = argv; *word; word++)
		free(*word);
}

/* is_blocked gave no verdict: there is nothing to judge, as process.run says too. */
static void expect_nothing_to_run(struct session *s, json_t *params, const json_t *answer)
{
	json_t *run = call(s, "process.run", params);
	const json_t *error = json_object_get(answer, "error");

	if (!json_equal(json_object_get(run, "error"), error) ||
	    strcmp(text_of(json_object_get(error, "data"), "type"), "InvalidCommand") != 0)
		fail_msg("is_blocked gives no verdict on %s", text_of(params, "command"));
	json_decref(run);
}

/* The verdict on @params (stolen), when all agree. */
static bool agree(struct session *s, json_t *params)
{
	json_t *answer = call(s, "is_blocked", params);
	json_t *verdict = json_object_get(answer, "result");
	bool blocked = json_is_true(json_object_get(verdict, "blocked"));

	if (verdict)
		compare_run(s, params, verdict);
	else
		expect_nothing_to_run(s, params, answer);
	if (verdict && !json_object_get(params, "shell") &&
	    !json_object_get(params, "working_directory"))
		compare_check(params, verdict);
	s->rows++;
	s->blocked += blocked;
	json_decref(answer);
	json_decref(params);
	return blocked;
}

/* ---- the lists ---- */

/* One row of @part, and each in `make stress`. */
static bool is_chosen(const struct corpus_row *row, int part)
{
	return unit_stress() || row->line % part == 0;
}

static void string_row(void *ctx, const struct corpus_row *row)
{
	struct session *s = ctx;
	struct blocklist_verdict v;
	json_t *command = json_string(row->command);
	bool blocked;

	if (!row->command[0] || !command) { /* nothing, or not UTF-8: no request can hold it */
		json_decref(command);
		return;
	}
	blocked = agree(s, json_pack("{s:O}", "command", command));
	blocklist_judge(&(struct blocklist_input){ .command = row->command, .shell = true,
						   .directory = s->dir.dir,
						   .shell_path = s->shell.path,
						   .shell_family = s->shell.family }, &v);
	assert_int_equal(blocked, v.blocked);
	/* As the name of a program it is nothing special. */
	if (is_chosen(row, 8))
		agree(s, json_pack("{s:O,s:b}", "command", command, "shell", false));
	json_decref(command);
}

/* @both: some must be blocked and some not, or the list proves nothing. */
static void expect_rows(const struct session *s, int rows, bool both)
{
	printf("# %d requests, %d blocked, %d would have started\n", s->rows, s->blocked, s->started);
	assert_true(s->rows >= rows);
	assert_true(!both || s->blocked > 0);
	assert_true(s->started > 0);
	assert_int_equal(recorder->calls, s->started);
}

/* Some of every family; test_blocklist judges each row. */
static void trick_row(void *ctx, const struct corpus_row *row)
{
	if (is_chosen(row, 4))
		string_row(ctx, row);
}

static void test_one_verdict_on_our_tricks(void **state)
{
	struct session *s = *state;

	corpus_tricks(trick_row, s);
	expect_rows(s, unit_stress() ? 12000 : 2500, true);
}

static void test_one_verdict_on_the_sample(void **state)
{
	struct session *s = *state;
	FILE *file = corpus_open("blocklist_dev.tsv");

	if (!file)
		skip();
	corpus_table(file, string_row, s);
	fclose(file);
	expect_rows(s, unit_stress() ? 800 : 450, true);
}

/* All that is peculiar stands in the other lists: of these a part is enough. */
static void real_row(void *ctx, const struct corpus_row *row)
{
	if (is_chosen(row, 16))
		string_row(ctx, row);
}

static void test_one_verdict_on_real_commands(void **state)
{
	struct session *s = *state;
	FILE *file = corpus_open("nl2bash_benign.txt");

	if (!file)
		skip();
	corpus_lines(file, "real", real_row, s);
	fclose(file);
	expect_rows(s, unit_stress() ? 10000 : 500, false);
}

/* Does its label say otherwise? What should be blocked need not be. */
static bool is_wrong(const json_t *row, bool blocked)
{
	const char *label = text_of(row, "label");
	bool harmless = !strcmp(label, "benign") || !strcmp(label, "allow");
	char *text;

	if (blocked != harmless || !strcmp(text_of(row, "tier"), "should"))
		return false;
	text = json_dumps(row, JSON_COMPACT);
	printf("# %s: %s\n", blocked ? "blocked" : "missed", text);
	free(text);
	return true;
}

/* Rows that are whole requests: command, args, stdin, environment, and the label to hold them to. */
static void request_rows(struct session *s, FILE *file, int least)
{
	static const char *const names[] = { "command", "args", "stdin", "environment", "shell" };
	int rows = 0, wrong = 0;
	json_t *row;

	while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_t *params = json_object();
		bool blocked;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (json_object_get(row, names[i]))
				json_object_set(params, names[i], json_object_get(row, names[i]));
		blocked = agree(s, params);
		wrong += is_wrong(row, blocked);
		json_decref(row);
		rows++;
	}
	fclose(file);
	assert_int_equal(wrong, 0);
	assert_true(rows >= least);
	expect_rows(s, least, true);
}

static void test_one_verdict_on_whole_requests(void **state)
{
	FILE *file = corpus_fixture("blocklist_calls.jsonl");

	assert_non_null(file);
	request_rows(*state, file, 60);
}

/* The directory of a request, or the workspace, is where relative paths begin: below /tmp. */
static void test_one_verdict_on_directories(void **state)
{
	struct session *s = *state;
	static const char *const blocked[] = {
		"rm -rf ../../etc", "cd ../.. && rm -rf *", "rm -rf \"$PWD/../..\"/*",
		"find ../../home -delete", "git -C ../.. clean -fdx",
	};
	static const char *const allowed[] = { "rm -rf *", "rm -rf ../x", "find . -delete" };

	for (size_t i = 0; i < 5; i++) {
		assert_true(agree(s, json_pack("{s:s}", "command", blocked[i])));
		assert_true(agree(s, json_pack("{s:s,s:s}", "command", blocked[i],
					       "working_directory", ".")));
		assert_true(agree(s, json_pack("{s:s,s:s}", "command", blocked[i],
					       "working_directory", s->dir.dir)));
	}
	assert_true(agree(s, json_pack("{s:s,s:[s,s]}", "command", "rm", "args", "-rf",
				       "../../etc")));
	for (size_t i = 0; i < 3; i++) {
		assert_false(agree(s, json_pack("{s:s}", "command", allowed[i])));
		assert_false(agree(s, json_pack("{s:s,s:s}", "command", allowed[i],
						"working_directory", ".")));
	}
}

static void test_one_verdict_on_the_argv_sample(void **state)
{
	FILE *file = corpus_open("blocklist_argv_dev.jsonl");

	if (!file)
		skip();
	request_rows(*state, file, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_verdict_on_our_tricks, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(test_one_verdict_on_whole_requests, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(test_one_verdict_on_directories, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(test_one_verdict_on_the_sample, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(test_one_verdict_on_the_argv_sample, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(test_one_verdict_on_real_commands, start_server,
						stop_server),
	};

	bar_execution();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
