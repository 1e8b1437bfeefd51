#include "unit.h"

#include <jansson.h>

#include "cap/command.h"
#include "scratch.h"

static struct run_shell shell = { (char[]){ "/bin/sh" }, SHELL_FAMILY_POSIX };
static struct scope *scope; /* of the requests; without a workspace but in one test */

/* Read and resolve @json; the outcome of the first step that failed. */
static int read_command(struct command *c, json_t **params, const char *json, struct err *e)
{
	json_error_t error;

	*params = json_loads(json, 0, &error);
	assert_non_null(*params);
	if (command_read(c, *params, scope, e))
		return -1;
	return command_resolve(c, &shell, e);
}

/* @json must be executed as @argv (ended by NULL) and shown as @shown. */
static void expect(const char *json, const char *const *argv, const char *shown)
{
	ERR_LOCAL(e);
	struct command c;
	json_t *params;
	size_t i;

	assert_int_equal(read_command(&c, &params, json, &e), 0);
	for (i = 0; argv[i]; i++) {
		assert_non_null(c.argv[i]);
		assert_string_equal(c.argv[i], argv[i]);
	}
	assert_null(c.argv[i]);
	assert_string_equal(c.shown, shown);
	command_release(&c);
	assert_null(c.argv);
	json_decref(params);
}

static void expect_refused(const char *json, enum err_type type, const char *hint)
{
	ERR_LOCAL(e);
	struct command c;
	json_t *params;

	assert_int_equal(read_command(&c, &params, json, &e), -1);
	assert_int_equal(e.type, type);
	if (!strstr(err_hint_text(&e), hint))
		print_error("%s: %s\n", json, err_hint_text(&e));
	assert_non_null(strstr(err_hint_text(&e), hint));
	command_release(&c);
	err_release(&e);
	json_decref(params);
}

#define ARGV(...) (const char *const[]) { __VA_ARGS__, NULL }

static void test_command_string_for_the_shell(void **state)
{
	(void)state;
	expect("{\"command\":\"echo 'a b' | cat\"}", ARGV("/bin/sh", "-c", "echo 'a b' | cat"),
	       "echo 'a b' | cat");
	expect("{\"command\":\"x\",\"shell\":true}", ARGV("/bin/sh", "-c", "x"), "x");
	expect("{\"command\":\"-c\"}", ARGV("/bin/sh", "-c", "-c"), "-c");
}

static void test_command_program_with_args(void **state)
{
	(void)state;
	expect("{\"command\":\"ls\",\"args\":[\"-l\",\"a b\",\"$x\"]}", ARGV("ls", "-l", "a b", "$x"),
	       "ls -l a b $x");
	expect("{\"command\":\"a b\",\"args\":[]}", ARGV("a b"), "a b");
	expect("{\"command\":\"ls\",\"args\":[\"\"],\"shell\":false}", ARGV("ls", ""), "ls ");
}

/* With both, the shell gets the arguments as $1, $2 ... */
static void test_command_shell_with_args(void **state)
{
	(void)state;
	expect("{\"command\":\"echo $1\",\"args\":[\"a; b\"],\"shell\":true}",
	       ARGV("/bin/sh", "-c", "echo $1", "sh", "a; b"), "echo $1 a; b");
	expect("{\"command\":\"x\",\"args\":[],\"shell\":true}", ARGV("/bin/sh", "-c", "x", "sh"), "x");
}

static void test_command_split_into_words(void **state)
{
	(void)state;
	expect("{\"command\":\"ls -l 'a b' \\\"c\\\"\",\"shell\":false}", ARGV("ls", "-l", "a b", "c"),
	       "ls -l 'a b' \"c\"");
	expect_refused("{\"command\":\"ls | cat\",\"shell\":false}", ERR_INVALID_PARAMS, "");
	expect_refused("{\"command\":\"ls $x\",\"shell\":false}", ERR_INVALID_PARAMS, "");
	expect_refused("{\"command\":\"ls 'a\",\"shell\":false}", ERR_INVALID_PARAMS, "");
}

static void test_command_without_a_program(void **state)
{
	(void)state;
	expect_refused("{\"command\":\"\",\"args\":[\"a\"]}", ERR_INVALID_COMMAND, "program");
	expect_refused("{\"command\":\"   \",\"shell\":false}", ERR_INVALID_COMMAND, "");
	expect_refused("{\"command\":\"''\",\"shell\":false}", ERR_INVALID_COMMAND, "program");
}

static void expect_stdin(const char *json, const char *want, size_t len)
{
	ERR_LOCAL(e);
	struct command c;
	json_t *params;

	assert_int_equal(read_command(&c, &params, json, &e), 0);
	assert_int_equal(c.stdin_len, len);
	if (want) {
		assert_non_null(c.stdin_bytes);
		assert_memory_equal(c.stdin_bytes, want, len);
	} else {
		assert_null(c.stdin_bytes);
	}
	command_release(&c);
	json_decref(params);
}

static void test_command_stdin(void **state)
{
	(void)state;
	expect_stdin("{\"command\":\"x\"}", NULL, 0);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"\"}", "", 0);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"YQ==\"}", "YQ==", 4);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"YQ==\",\"stdin_encoding\":\"utf8\"}", "YQ==", 4);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"YQ==\",\"stdin_encoding\":\"base64\"}", "a", 1);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"AP8A\",\"stdin_encoding\":\"base64\"}", "\0\xff\0", 3);
	expect_stdin("{\"command\":\"x\",\"stdin\":\"\",\"stdin_encoding\":\"base64\"}", "", 0);
	expect_stdin("{\"command\":\"x\",\"stdin_encoding\":\"base64\"}", NULL, 0);
}

static void test_command_stdin_is_not_base64(void **state)
{
	(void)state;
	expect_refused("{\"command\":\"x\",\"stdin\":\"YQ=\",\"stdin_encoding\":\"base64\"}",
		       ERR_INVALID_PARAMS, "padding");
	expect_refused("{\"command\":\"x\",\"stdin\":\"YQ==\\n\",\"stdin_encoding\":\"base64\"}",
		       ERR_INVALID_PARAMS,
		       "line");
	expect_refused("{\"command\":\"x\",\"stdin\":\"Y_==\",\"stdin_encoding\":\"base64\"}",
		       ERR_INVALID_PARAMS,
		       "base64");
}

/* bash does not read the user's start-up file, and its own name is $0. */
static void test_command_string_for_bash(void **state)
{
	struct run_shell sh = shell;

	(void)state;
	shell = (struct run_shell){ (char[]){ "/opt/bin/bash" }, SHELL_FAMILY_BASH };
	expect("{\"command\":\"x\"}", ARGV("/opt/bin/bash", "--norc", "-c", "x"), "x");
	expect("{\"command\":\"echo $1\",\"args\":[\"a\"],\"shell\":true}",
	       ARGV("/opt/bin/bash", "--norc", "-c", "echo $1", "bash", "a"), "echo $1 a");
	shell = sh;
}

static void expect_directory(const char *json, const char *want)
{
	ERR_LOCAL(e);
	struct command c;
	json_t *params;

	assert_int_equal(read_command(&c, &params, json, &e), 0);
	if (want)
		assert_string_equal(c.directory, want);
	else
		assert_null(c.directory);
	command_release(&c);
	json_decref(params);
}

/* The directory is that of the run: absolute, behind links of the workspace, but not outside. */
static void test_command_directory(void **state)
{
	struct scope *none = scope;
	ERR_LOCAL(e);
	struct scratch dir;
	char inside[SCRATCH_PATH], link[SCRATCH_PATH], json[SCRATCH_PATH];

	(void)state;
	scratch_init(&dir);
	snprintf(inside, sizeof(inside), "%s/a", dir.dir);
	assert_int_equal(mkdir(inside, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", dir.dir);
	assert_int_equal(symlink("a", link), 0);
	snprintf(link, sizeof(link), "%s/out", dir.dir);
	assert_int_equal(symlink("/etc", link), 0);
	expect_directory("{\"command\":\"x\"}", NULL);
	expect_directory("{\"command\":\"x\",\"working_directory\":\"a\"}", NULL);
	scope = scope_new(dir.dir, NULL, &e);
	assert_non_null(scope);
	expect_directory("{\"command\":\"x\"}", dir.dir);
	expect_directory("{\"command\":\"x\",\"working_directory\":\".\"}", dir.dir);
	expect_directory("{\"command\":\"x\",\"working_directory\":\"link\"}", inside);
	expect_directory("{\"command\":\"x\",\"working_directory\":\"out\"}", link);
	expect_directory("{\"command\":\"x\",\"working_directory\":\"/etc/../usr\"}", "/etc/../usr");
	snprintf(json, sizeof(json), "{\"command\":\"x\",\"working_directory\":\"%s/link\"}", dir.dir);
	expect_directory(json, inside);
	scope_free(scope);
	scope = none;
	scratch_release(&dir);
}

/* The blocklist sees what is run: decoded stdin, and all arguments. */
static void test_command_judged_as_it_runs(void **state)
{
	struct blocklist_input in;
	struct config config;
	ERR_LOCAL(e);
	struct command c;
	json_t *params;

	(void)state;
	config_init(&config);
	assert_int_equal(read_command(&c, &params,
				      "{\"command\":\"sh\",\"args\":[\"-s\",\"x\"],"
				      "\"stdin\":\"ZWNobyAx\",\"stdin_encoding\":\"base64\"}",
				      &e), 0);
	command_judge(&c, &config, &shell, &in);
	assert_string_equal(in.command, "sh");
	assert_string_equal(in.args[0], "-s");
	assert_string_equal(in.args[1], "x");
	assert_null(in.args[2]);
	assert_int_equal(in.stdin_len, 6);
	assert_memory_equal(in.stdin_bytes, "echo 1", 6);
	assert_string_equal(in.shell_path, "/bin/sh");
	assert_int_equal(in.shell_family, SHELL_FAMILY_POSIX);
	assert_false(in.literal_anywhere);
	assert_int_equal(config_set(&config, "blocklist.literal_match=anywhere", &e), 0);
	command_judge(&c, &config, &shell, &in);
	assert_true(in.literal_anywhere);
	config_release(&config);
	command_release(&c);
	json_decref(params);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_string_for_the_shell),
		cmocka_unit_test(test_command_string_for_bash),
		cmocka_unit_test(test_command_program_with_args),
		cmocka_unit_test(test_command_shell_with_args),
		cmocka_unit_test(test_command_split_into_words),
		cmocka_unit_test(test_command_without_a_program),
		cmocka_unit_test(test_command_stdin),
		cmocka_unit_test(test_command_stdin_is_not_base64),
		cmocka_unit_test(test_command_directory),
		cmocka_unit_test(test_command_judged_as_it_runs),
	};

	ERR_LOCAL(e);
	int failed;

	scope = scope_new(NULL, NULL, &e);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scope_free(scope);
	return failed;
}
