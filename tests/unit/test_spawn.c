#include "unit.h"

#include <sys/syscall.h>

#include "children.h"

static int setup(void **state)
{
	const unsigned long ignore[4] = { (unsigned long)SIG_IGN }; /* as the kernel has it */

	/* Before the first start: they must not reach a command. libc keeps 32 for itself. */
	signal(SIGUSR2, SIG_IGN);
	assert_int_equal(syscall(SYS_rt_sigaction, 32, ignore, NULL, 8), 0);
	return children_setup(state);
}

static void finish(struct started *s)
{
	close(s->output);
	close(s->spawned.control_fd);
	assert_true(children_wait(&all, children_none, NULL));
}

static int start(const char *path, struct started *s, struct err *e)
{
	char *argv[] = { NULL, NULL };
	int result;

	argv[0] = strdup(path);
	result = children_start(&all, argv, s, e);
	free(argv[0]);
	return result;
}

static void test_spawn_true(void **state)
{
	struct shim_report report;
	ERR_LOCAL(e);
	struct started s;

	(void)state;
	assert_int_equal(start("/bin/true", &s, &e), 0);
	assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	if (report.event == SHIM_STARTED) {
		assert_true(report.value > 0 && report.value != s.spawned.shim_pid);
		assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	}
	assert_int_equal(report.event, SHIM_EXITED);
	assert_int_equal(report.value, 0);
	assert_int_equal(report.live, 0);
	assert_true(report.maxrss_kib > 0);
	if (!report.empty) {
		assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
		assert_int_equal(report.event, SHIM_EMPTY);
	}
	assert_int_equal(children_report(s.spawned.control_fd, &report), -1);
	finish(&s);
}

static void test_spawn_tells_pid_and_exit(void **state)
{
	struct shim_report report;
	struct started s;
	int pid;

	(void)state;
	children_shell(&all, "trap 'exit 7' TERM; echo $$; while :; do sleep 0.02; done", &s);
	assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_STARTED);
	pid = children_number(s.output);
	assert_int_equal(report.value, pid);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_EXITED);
	assert_true(WIFEXITED(report.value));
	assert_int_equal(WEXITSTATUS(report.value), 7);
	finish(&s);
}

static void expect_failed(const char *path, int sys, const char *sys_name)
{
	struct shim_report report;
	ERR_LOCAL(e);
	struct started s;

	assert_int_equal(start(path, &s, &e), 0);
	assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_FAILED);
	assert_int_equal(report.value, SHIM_STAGE_EXEC);
	assert_int_equal(report.error, sys);
	assert_int_equal(children_report(s.spawned.control_fd, &report), -1);
	spawn_failed(SHIM_STAGE_EXEC, sys, path, &e);
	assert_int_equal(e.type, ERR_SPAWN_FAILED);
	assert_string_equal(json_string_value(json_object_get(e.details, "stage")), "exec");
	assert_string_equal(json_string_value(json_object_get(e.details, "errno")), sys_name);
	assert_non_null(strstr(e.message, path));
	assert_true(*err_hint_text(&e));
	err_release(&e);
	finish(&s);
}

static void test_spawn_failing_exec(void **state)
{
	(void)state;
	expect_failed("/nonexistent/program", ENOENT, "ENOENT");
	expect_failed("/etc/passwd", EACCES, "EACCES");
	expect_failed("/tmp", EACCES, "EACCES");
}

/* A path that does not fit the plan fails before there is a process. */
static void test_spawn_path_too_long(void **state)
{
	ERR_LOCAL(e);
	struct started s;
	char *path = malloc(5000);

	(void)state;
	memset(path, 'x', 4999);
	path[0] = '/';
	path[4999] = '\0';
	assert_int_equal(start(path, &s, &e), -1);
	assert_int_equal(e.type, ERR_SPAWN_FAILED);
	assert_int_equal(e.sys, ENAMETOOLONG);
	err_release(&e);
	free(path);
	assert_true(children_wait(&all, children_none, NULL));
}

/* Arguments that the kernel refuses fail when the shim is executed. */
static void test_spawn_arguments_too_big(void **state)
{
	char *argv[] = { (char[]){ "/bin/true" }, NULL, NULL };
	ERR_LOCAL(e);
	struct started s;

	(void)state;
	argv[1] = malloc(200001);
	memset(argv[1], 'x', 200000);
	argv[1][200000] = '\0';
	assert_int_equal(children_start(&all, argv, &s, &e), -1);
	assert_int_equal(e.type, ERR_SPAWN_FAILED);
	assert_int_equal(e.sys, E2BIG);
	assert_non_null(strstr(err_hint_text(&e), "stdin"));
	err_release(&e);
	free(argv[1]);
	assert_true(children_wait(&all, children_none, NULL));
}

/* What one line of the command's own /proc/self/status says. */
static void expect_status(const char *field, const char *want)
{
	char script[100], line[200];
	struct started s;

	snprintf(script, sizeof(script), "grep '^%s:' /proc/self/status", field);
	children_shell(&all, script, &s);
	children_line(s.output, line, sizeof(line));
	assert_non_null(strchr(line, '\t'));
	assert_string_equal(strchr(line, '\t') + 1, want);
	finish(&s);
}

static void test_spawn_state_of_the_command(void **state)
{
	(void)state;
	expect_status("SigBlk", "0000000000000000");
	expect_status("SigIgn", "0000000000000000");
	expect_status("NoNewPrivs", "1");
	expect_status("Seccomp", "2");
	expect_status("Umask", "0022");
}

static void expect_output(const char *script, const char *want)
{
	char line[200];
	struct started s;

	children_shell(&all, script, &s);
	assert_string_equal(children_line(s.output, line, sizeof(line)), want);
	finish(&s);
}

static void test_spawn_surroundings_of_the_command(void **state)
{
	(void)state;
	expect_output("pwd", "/tmp");
	expect_output("ulimit -c", "0");
	/* ls itself opens the directory as 3 */
	expect_output("exec ls -C -w 80 /proc/self/fd", "0  1  2  3");
	/* leader of its own session and process group */
	expect_output("set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ] && echo yes", "yes");
	expect_output("env | grep -v ^PWD= | grep -v ^_= | sort | tr '\\n' ' '", "PATH=/usr/bin:/bin ");
}

static void test_spawn_stage_names(void **state)
{
	(void)state;
	assert_string_equal(spawn_stage_name(SHIM_STAGE_EXEC), "exec");
	assert_string_equal(spawn_stage_name(SHIM_STAGE_SECCOMP), "seccomp");
	assert_string_equal(spawn_stage_name(SHIM_STAGE_CHDIR), "chdir");
	assert_string_equal(spawn_stage_name(-1), "unknown");
	assert_string_equal(spawn_stage_name(SHIM_STAGE_COUNT), "unknown");
	for (int stage = 1; stage < SHIM_STAGE_COUNT; stage++)
		assert_string_not_equal(spawn_stage_name(stage), "unknown");
}

static void test_spawn_confinement_failures_are_named(void **state)
{
	static const struct {
		int stage, sys;
		enum err_type type;
		bool retryable;
		const char *hint;
	} failures[] = {
		{ SHIM_STAGE_SECCOMP, EINVAL, ERR_SANDBOX_UNAVAILABLE, false, "procpen doctor" },
		{ SHIM_STAGE_NO_NEW_PRIVS, EINVAL, ERR_SANDBOX_UNAVAILABLE, false,
		  "procpen doctor" },
		/* only namespaces make it fail like that */
		{ SHIM_STAGE_FORK, EPERM, ERR_SANDBOX_UNAVAILABLE, false, "procpen doctor" },
		{ SHIM_STAGE_FORK, ENOSPC, ERR_SANDBOX_UNAVAILABLE, true, "namespaces" },
		{ SHIM_STAGE_NET_NS, ENOSPC, ERR_SANDBOX_UNAVAILABLE, true, "namespaces" },
		{ SHIM_STAGE_MOUNTS, ENOSPC, ERR_SANDBOX_UNAVAILABLE, true, "mounts" },
		{ SHIM_STAGE_FORK, EAGAIN, ERR_SPAWN_FAILED, true, "limit of processes" },
		{ SHIM_STAGE_FORK, ENOMEM, ERR_SPAWN_FAILED, true, "Memory" },
		{ SHIM_STAGE_FORK, ENFILE, ERR_SPAWN_FAILED, true, "open files" },
		{ SHIM_STAGE_SECCOMP, E2BIG, ERR_SANDBOX_UNAVAILABLE, false, "procpen doctor" },
		{ SHIM_STAGE_SHIM_EXEC, E2BIG, ERR_SPAWN_FAILED, false, "arguments" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		ERR_LOCAL(e);

		spawn_failed(failures[i].stage, failures[i].sys, "/bin/true", &e);
		assert_int_equal(e.type, failures[i].type);
		assert_int_equal(err_retryable(&e), failures[i].retryable);
		assert_non_null(strstr(err_hint_text(&e), failures[i].hint));
		err_release(&e);
	}
}

/* No descriptor of ours is used up by starts, good or bad. */
static void test_spawn_leaks_no_descriptor(void **state)
{
	int before = open("/dev/null", O_RDONLY), after;
	ERR_LOCAL(e);
	struct started s;

	(void)state;
	close(before);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(start(i % 2 ? "/nonexistent" : "/bin/true", &s, &e), 0);
		finish(&s);
	}
	after = open("/dev/null", O_RDONLY);
	close(after);
	assert_int_equal(after, before);
}

static void test_spawn_into_a_control_group(void **state)
{
	const char *place = children_group_place();
	char path[128], line[256] = "";
	struct shim_report report;
	struct started s;

	(void)state;
	if (!place)
		skip();
	snprintf(path, sizeof(path), "%s/procpen-test-%d", place, (int)getpid());
	if (mkdir(path, 0700))
		skip();
	all.group_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	children_shell(&all, "grep ^0: /proc/self/cgroup", &s);
	close(all.group_fd);
	all.group_fd = 0;
	children_line(s.output, line, sizeof(line));
	do
		assert_int_equal(children_report(s.spawned.control_fd, &report), 0);
	while (report.event == SHIM_STARTED);
	finish(&s);
	rmdir(path);
	assert_non_null(strstr(line, strrchr(path, '/')));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spawn_true),
		cmocka_unit_test(test_spawn_tells_pid_and_exit),
		cmocka_unit_test(test_spawn_failing_exec),
		cmocka_unit_test(test_spawn_path_too_long),
		cmocka_unit_test(test_spawn_arguments_too_big),
		cmocka_unit_test(test_spawn_state_of_the_command),
		cmocka_unit_test(test_spawn_surroundings_of_the_command),
		cmocka_unit_test(test_spawn_stage_names),
		cmocka_unit_test(test_spawn_confinement_failures_are_named),
		cmocka_unit_test(test_spawn_leaks_no_descriptor),
		cmocka_unit_test(test_spawn_into_a_control_group),
	};

	return cmocka_run_group_tests(tests, setup, children_teardown);
}
