#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "scratch.h"

static int looks; /* at files */

static int look_at(int dir, const char *path, struct stat *st, int flags)
{
	looks++;
	return fstatat(dir, path, st, flags);
}

#define fstatat look_at
#include "policy/env.c"

struct fixture {
	struct scratch tmp;
	struct config config;
	char **base, **request, **envp;
};

/* An empty environment, but for what the test library reads from it. */
static void clean_environment(void)
{
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");
	char *kept = output ? strdup(output) : NULL;

	clearenv();
	if (kept)
		setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1);
	free(kept);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->tmp);
	config_init(&f->config);
	clean_environment();
	setenv("PATH", "/server/bin:/bin", 1);
	setenv("HOME", "/home/me", 1);
	setenv("API_KEY", "secret", 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free(f->envp);
	free(f->base);
	mem_list_free(f->request);
	config_release(&f->config);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

static void set_option(struct fixture *f, const char *assignment)
{
	ERR_LOCAL(e);

	if (config_set(&f->config, assignment, &e) != 0)
		fail_msg("%s", e.message);
}

/* Build f->envp from the checked @request, with nothing set. */
static struct env begin(struct fixture *f, json_t *request, size_t more, size_t text)
{
	const char *name;
	struct env env;
	json_t *value;

	mem_list_free(f->request);
	f->request = NULL;
	json_object_foreach(request, name, value)
		mem_list_add(&f->request, mem_printf("%s=%s", name, json_string_value(value)));
	free(f->base);
	f->base = env_base_new(&f->config, "/bin/a shell");
	free(f->envp);
	env_begin(&env, &f->config, f->base, f->request, more, text);
	f->envp = env.vars;
	return env;
}

/* Build from the JSON text @request (NULL: none); the answer is in f->envp. */
static int build(struct fixture *f, const char *request, struct err *e)
{
	json_t *object = request ? json_loads(request, JSON_ALLOW_NUL, NULL) : NULL;
	int status;

	assert_true(!request || object);
	status = env_check_names(object, e) || env_check(&f->config, object, false, e) ? -1 : 0;
	if (!status)
		begin(f, object, 0, 0);
	json_decref(object);
	return status;
}

static void assert_built(struct fixture *f, const char *request)
{
	ERR_LOCAL(e);

	if (build(f, request, &e) != 0)
		fail_msg("%s: %s", request, e.message);
}

static void assert_value(const struct fixture *f, const char *name, const char *value)
{
	const char *found = env_get(f->envp, name);

	if (!value) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, value);
}

static size_t count(char *const *envp)
{
	size_t n = 0;

	while (envp[n])
		n++;
	return n;
}

static void test_env_base_is_small(void **state)
{
	struct fixture *f = *state;

	assert_built(f, NULL);
	assert_value(f, "PATH", "/server/bin:/bin");
	assert_value(f, "HOME", "/home/me");
	assert_value(f, "SHELL", "/bin/a shell");
	assert_value(f, "LANG", "C.UTF-8");
	assert_value(f, "TERM", "dumb");
	assert_value(f, "API_KEY", NULL);
	assert_int_equal(count(f->envp), 5);
}

static void test_env_base_defaults_and_inheritance(void **state)
{
	struct fixture *f = *state;

	clean_environment();
	assert_built(f, "{}");
	assert_value(f, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	assert_value(f, "HOME", "/");
	assert_value(f, "USER", NULL);
	assert_int_equal(count(f->envp), 5);

	setenv("PATH", "", 1); /* would mean the working directory */
	setenv("USER", "me", 1);
	setenv("LOGNAME", "me2", 1);
	setenv("SHELL", "/bin/zsh", 1);
	setenv("LANG", "de_DE.UTF-8", 1);
	setenv("LC_ALL", "C", 1);
	setenv("LC_CTYPE", "C.UTF-8", 1);
	setenv("LCX", "no", 1);
	setenv("TZ", "", 1); /* means UTC */
	setenv("TERM", "xterm", 1);
	assert_built(f, "{}");
	assert_value(f, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	assert_string_equal(env_base_path(), env_get(f->envp, "PATH"));
	assert_value(f, "USER", "me");
	assert_value(f, "LOGNAME", "me2");
	assert_value(f, "SHELL", "/bin/a shell");
	assert_value(f, "LANG", "de_DE.UTF-8");
	assert_value(f, "LC_ALL", "C");
	assert_value(f, "LC_CTYPE", "C.UTF-8");
	assert_value(f, "LCX", NULL);
	assert_value(f, "TZ", "");
	assert_value(f, "TERM", "xterm");
}

static void test_env_request_wins(void **state)
{
	struct fixture *f = *state;

	assert_built(f, "{\"PATH\": \"/x\", \"A\": \"1=2\", \"EMPTY\": \"\", \"\xc3\xa4-b.c\": "
			"\"\xe2\x82\xac\"}");
	assert_value(f, "PATH", "/x");
	assert_value(f, "A", "1=2");
	assert_value(f, "EMPTY", "");
	assert_value(f, "\xc3\xa4-b.c", "\xe2\x82\xac");
	assert_value(f, "HOME", "/home/me");
	assert_int_equal(count(f->envp), 8);
}

static void test_env_allow_list(void **state)
{
	struct fixture *f = *state;

	setenv("CARGO_HOME", "/c", 1);
	setenv("CARGO", "no", 1);
	setenv("LD_LIBRARY_PATH", "/l", 1);
	setenv("LD_PRELOAD", "/p", 1);
	setenv("PROCPEN_X", "x", 1);
	set_option(f, "env.allow=CARGO_*,LD_*,LD_LIBRARY_PATH,NOT_THERE,API_KEY");
	assert_built(f, "{\"API_KEY\": \"mine\"}");
	assert_value(f, "CARGO_HOME", "/c");
	assert_value(f, "CARGO", NULL);
	assert_value(f, "LD_LIBRARY_PATH", "/l"); /* named exactly */
	assert_value(f, "LD_PRELOAD", NULL);	  /* by prefix only */
	assert_value(f, "NOT_THERE", NULL);
	assert_value(f, "API_KEY", "mine");
	assert_int_equal(count(f->envp), 8);
}

static void test_env_protected_names(void **state)
{
	static const char *const names[] = {
		"LD_PRELOAD", "LD_", "LD_X", "GCONV_PATH", "GLIBC_TUNABLES", "BASH_ENV", "ENV",
		"BASH_FUNC_ls%%", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "PROCPEN_WORKSPACE",
		"PROCPEN_",
	};
	static const char *const open_names[] = {
		"PATH", "HOME", "LD", "ld_preload", "XLD_X", "ENVX", "BASH", "BASH_FUNC", "PS1",
		"IFSX", "PROCPEN",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ERR_LOCAL(e);
		char request[128];

		assert_true(env_is_protected(&f->config, names[i], strlen(names[i])));
		snprintf(request, sizeof(request), "{\"A\": \"\", \"%s\": \"x\"}", names[i]);
		assert_int_equal(build(f, request, &e), -1);
		assert_int_equal(e.type, ERR_PROTECTED_VARIABLE);
		assert_non_null(strstr(e.message, names[i]));
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(e.details, "names"), 0)),
			names[i]);
		err_release(&e);
	}
	for (size_t i = 0; i < sizeof(open_names) / sizeof(open_names[0]); i++)
		assert_false(env_is_protected(&f->config, open_names[i], strlen(open_names[i])));
}

static void test_env_protected_names_are_listed(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	char request[8192] = "{\"OK\": \"\"";
	const json_t *names;

	strcat(request, ", \"LD_");
	memset(request + strlen(request), 'X', 3000);
	strcat(request, "\": \"\"");
	for (int i = 0; i < 120; i++)
		sprintf(request + strlen(request), ", \"LD_NUMBER_%d\": \"\"", i);
	strcat(request, "}");
	assert_int_equal(build(f, request, &e), -1);
	names = json_object_get(e.details, "names");
	assert_int_equal(json_array_size(names), 100);
	assert_int_equal(json_string_length(json_array_get(names, 0)), 128);
	assert_non_null(strstr(e.message, "LD_NUMBER_0, LD_NUMBER_1, "));
	assert_string_equal(e.message + strlen(e.message) - 5, ", ...");
	assert_null(strstr(e.message, "OK"));
	err_release(&e);
}

/* Of a name that is longer than a message, the message has the begin. */
static void test_env_long_protected_names_are_listed(void **state)
{
	struct fixture *f = *state;
	json_t *request = json_object();
	ERR_LOCAL(e);
	char name[400];

	memset(name, 'N', sizeof(name));
	memcpy(name, "LD_0", 4);
	name[sizeof(name) - 1] = '\0';
	for (; name[3] <= '9'; name[3]++)
		json_object_set_new(request, name, json_string("1"));
	assert_int_equal(env_check(&f->config, request, true, &e), -1);
	assert_non_null(strstr(e.message, ": LD_0NNN"));
	assert_non_null(strstr(e.message, ", ..."));
	assert_non_null(strstr(e.hint, "Remove LD_0NNN"));
	err_release(&e);
	json_decref(request);
}

static void test_env_operator_protects_more(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);

	set_option(f, "env.protect=PATH,GIT_*");
	assert_true(env_is_protected(&f->config, "PATH", strlen("PATH")));
	assert_true(env_is_protected(&f->config, "GIT_DIR", strlen("GIT_DIR")));
	assert_false(env_is_protected(&f->config, "GITX", strlen("GITX")));
	assert_true(env_is_protected(&f->config, "LD_PRELOAD", strlen("LD_PRELOAD")));
	assert_int_equal(build(f, "{\"PATH\": \"/x\", \"GIT_DIR\": \"y\"}", &e), -1);
	assert_int_equal(json_array_size(json_object_get(e.details, "names")), 2);
	err_release(&e);
	assert_built(f, "{}");
	assert_value(f, "PATH", "/server/bin:/bin");
}

static void test_env_malformed(void **state)
{
	static const char *const requests[] = {
		"{\"\": \"x\"}", "{\"A=B\": \"x\"}", "{\"=\": \"x\"}", "{\"A\": 1}",
		"{\"A\": null}", "{\"A\": \"x\\u0000y\"}",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		ERR_LOCAL(e);

		assert_int_equal(build(f, requests[i], &e), -1);
		assert_int_equal(e.type, ERR_INVALID_PARAMS);
		err_release(&e);
	}
}

static void test_env_get(void **state)
{
	char a[] = "A=1", ab[] = "AB=2", empty[] = "E=";
	char *envp[] = { ab, a, empty, NULL };

	(void)state;
	assert_string_equal(env_get(envp, "A"), "1");
	assert_string_equal(env_get(envp, "AB"), "2");
	assert_string_equal(env_get(envp, "E"), "");
	assert_null(env_get(envp, "B"));
	assert_null(env_get(NULL, "A"));
}

static void test_env_many_variables(void **state)
{
	struct fixture *f = *state;
	json_t *request = json_object();
	char name[32];

	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof(name), "V%d", i);
		json_object_set_new(request, name, json_string(name));
	}
	begin(f, request, 0, 0);
	assert_int_equal(count(f->envp), 4096 + 5);
	assert_value(f, "V4095", "V4095");
	json_decref(request);
}

/* ---- finding a program ---- */

/* <dir>/one: prog, plain (not executable), sub/ ; <dir>/two: prog, plain (executable), only2 */
static int setup_programs(void **state)
{
	setup(state);
	struct fixture *f = *state;
	char path[1024], one[SCRATCH_PATH], two[SCRATCH_PATH];

	scratch_mkdir(&f->tmp, "one");
	scratch_mkdir(&f->tmp, "two");
	scratch_mkdir(&f->tmp, "one/sub");
	scratch_file(&f->tmp, "one/prog", "#!/bin/sh\n", 0755);
	scratch_file(&f->tmp, "one/plain", "x", 0644);
	scratch_file(&f->tmp, "one/denied", "x", 0644);
	scratch_file(&f->tmp, "two/prog", "#!/bin/sh\n", 0755);
	scratch_file(&f->tmp, "two/plain", "#!/bin/sh\n", 0755);
	scratch_file(&f->tmp, "two/only2", "#!/bin/sh\n", 0755);
	scratch_copy(&f->tmp, "one", one);
	scratch_copy(&f->tmp, "two", two);
	snprintf(path, sizeof(path), "/no-such-directory:%s:%s", one, two);
	setenv("PATH", path, 1);
	assert_built(f, NULL);
	return 0;
}

static int find(struct fixture *f, const char *cwd, const char *program, char **path, struct err *e)
{
	int fd = open(scratch_path(&f->tmp, cwd), O_PATH | O_DIRECTORY);

	*path = NULL;
	int status = env_find_program(env_get(f->envp, "PATH"), fd, program, path, e);

	close(fd);
	return status;
}

static void assert_found(struct fixture *f, const char *cwd, const char *program,
			 const char *expected)
{
	ERR_LOCAL(e);
	char *path;

	if (find(f, cwd, program, &path, &e) != 0)
		fail_msg("%s: %s", program, e.message);
	assert_string_equal(path, expected);
	free(path);
}

static void assert_not_found(struct fixture *f, const char *cwd, const char *program,
			     enum err_type type)
{
	ERR_LOCAL(e);
	char *path;

	assert_int_equal(find(f, cwd, program, &path, &e), -1);
	assert_null(path);
	assert_int_equal(e.type, type);
	err_release(&e);
}

static void test_env_find_program_in_path(void **state)
{
	struct fixture *f = *state;
	char expected[SCRATCH_PATH];

	scratch_copy(&f->tmp, "one/prog", expected);
	assert_found(f, "", "prog", expected);
	scratch_copy(&f->tmp, "two/only2", expected);
	assert_found(f, "", "only2", expected);
	/* As execvp: one that cannot be executed is passed over, and so is a directory. */
	scratch_copy(&f->tmp, "two/plain", expected);
	assert_found(f, "", "plain", expected);
	assert_not_found(f, "", "denied", ERR_SPAWN_FAILED);
	assert_not_found(f, "", "sub", ERR_SPAWN_FAILED);
	assert_not_found(f, "", "none", ERR_COMMAND_NOT_FOUND);
	assert_not_found(f, "", "", ERR_COMMAND_NOT_FOUND);
	/* The working directory is not searched. */
	assert_not_found(f, "one/sub", "..", ERR_SPAWN_FAILED);
	scratch_file(&f->tmp, "here", "#!/bin/sh\n", 0755);
	assert_not_found(f, "", "here", ERR_COMMAND_NOT_FOUND);
}

static void test_env_find_program_errors_say_where(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	char *path;

	assert_int_equal(find(f, "", "none", &path, &e), -1);
	assert_null(strstr(e.message, "/no-such-directory:")); /* the hint says it */
	assert_non_null(strstr(e.hint, "/no-such-directory:"));
	assert_non_null(strstr(e.hint, err_rows[ERR_COMMAND_NOT_FOUND].hint));
	assert_non_null(strstr(e.hint, "`which"));
	assert_non_null(strstr(e.hint, "full path"));
	err_release(&e);
	assert_int_equal(find(f, "", "denied", &path, &e), -1);
	assert_int_equal(e.sys, EACCES);
	assert_string_equal(json_string_value(json_object_get(e.details, "stage")), "exec");
	assert_string_equal(json_string_value(json_object_get(e.details, "errno")), "EACCES");
	assert_non_null(strstr(e.message, "one/denied"));
	err_release(&e);
}

/* Another user's home in PATH must not make every misspelling "not executable". */
static void test_env_find_program_skips_a_closed_directory(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	bool was_root = geteuid() == 0;
	char *path;
	int found;

	chmod(scratch_path(&f->tmp, "one"), 0600);
	if (was_root)
		assert_int_equal(seteuid(65534), 0);
	found = find(f, "", "none", &path, &e);
	if (was_root)
		assert_int_equal(seteuid(0), 0);
	chmod(scratch_path(&f->tmp, "one"), 0700);
	assert_int_equal(found, -1);
	assert_int_equal(e.type, ERR_COMMAND_NOT_FOUND);
	err_release(&e);
}

static void test_env_find_program_with_a_slash(void **state)
{
	struct fixture *f = *state;
	char absolute[SCRATCH_PATH];

	scratch_copy(&f->tmp, "two/prog", absolute);
	assert_found(f, "one", absolute, absolute);
	assert_found(f, "one", "./prog", "./prog");
	assert_found(f, "one", "../two/only2", "../two/only2");
	assert_not_found(f, "one", "./only2", ERR_COMMAND_NOT_FOUND);
	assert_not_found(f, "one", "prog/x", ERR_COMMAND_NOT_FOUND);
	assert_not_found(f, "one", "./plain", ERR_SPAWN_FAILED);
	assert_not_found(f, "one", "./sub", ERR_SPAWN_FAILED);
	assert_not_found(f, "one", "/", ERR_SPAWN_FAILED);
}

static void test_env_find_program_relative_path_entries(void **state)
{
	struct fixture *f = *state;

	assert_built(f, "{\"PATH\": \"two\"}");
	assert_found(f, "", "prog", "two/prog");
	assert_not_found(f, "one", "prog", ERR_COMMAND_NOT_FOUND);
	assert_built(f, "{\"PATH\": \"/none:\"}");
	assert_found(f, "one", "prog", "./prog");
	assert_built(f, "{\"PATH\": \"\"}");
	assert_found(f, "one", "prog", "./prog");
}

/* Directories behind thousands of names each: a search of all would hold the server up. */
static void test_env_find_program_gives_up(void **state)
{
	enum { COUNT = 400 };
	struct fixture *f = *state;
	char request[4096];

	scratch_mkdir(&f->tmp, "maze");
	scratch_maze(&f->tmp, "maze");
	strcpy(request, "{\"PATH\": \"maze");
	for (int i = 0; i < COUNT; i++)
		strcat(request, ":l0");
	strcat(request, "\"}");
	assert_built(f, request);
	assert_found(f, "maze", "a/../../one/prog", "a/../../one/prog");
	assert_not_found(f, "maze", "l0/prog", ERR_COMMAND_NOT_FOUND);
	looks = 0;
	assert_not_found(f, "maze", "prog", ERR_SPAWN_FAILED);
	assert_in_range(looks, 2, COUNT / 2);
}

static void test_env_find_program_long_names(void **state)
{
	struct fixture *f = *state;
	char name[8192];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_not_found(f, "", name, ERR_COMMAND_NOT_FOUND);
	name[0] = '/';
	assert_not_found(f, "", name, ERR_COMMAND_NOT_FOUND);
}

static void test_env_set(void **state)
{
	struct fixture *f = *state;
	json_t *request = json_pack("{s:s,s:s}", "A", "1", "PATH", "/mine");
	/* Exactly the room that is needed. */
	struct env env = begin(f, request, 3, sizeof("HOME=/elsewhere") + sizeof("HOM=x") +
						      sizeof("NEW=") + sizeof("DIR=/tmp/below"));
	size_t before = env.count;

	env_set(&env, "HOME", "/elsewhere"); /* in place */
	env_set(&env, "HOM", "x");           /* no prefix of it */
	env_set(&env, "NEW", "");
	env_default(&env, "A", "2", "3"); /* it is set */
	env_default(&env, "NEW", "2", "3");
	env_default(&env, "DIR", "/tmp", "/below");
	assert_value(f, "HOME", "/elsewhere");
	assert_value(f, "HOM", "x");
	assert_value(f, "NEW", "");
	assert_value(f, "A", "1");
	assert_value(f, "DIR", "/tmp/below");
	assert_value(f, "PATH", "/mine");
	assert_int_equal(count(f->envp), before + 3);
	assert_int_equal(env.count, before + 3);
	/* The next run must not see any of it. */
	assert_string_equal(env_get(f->base, "HOME"), "/home/me");
	assert_string_equal(env_get(f->base, "PATH"), "/server/bin:/bin");
	assert_int_equal(count(f->base), 5);
	json_decref(request);
}

/* Each variable stands once, where it was first set, also where one name begins another. */
static void test_env_order(void **state)
{
	struct fixture *f = *state;
	static const char *const expected[] = {
		"SHELL=/bin/a shell", "PATH=/x", "HOME=/home/me", "LANG=C.UTF-8", "LC_ALL=C",
		"TERM=dumb", "API_KEY=mine", "API_KEY_2=b", "Z=1", "API=2", NULL,
	};

	setenv("LC_ALL", "C", 1);
	setenv("API_KEY_2", "b", 1);
	set_option(f, "env.allow=API_KEY,API_KEY*,LC_ALL");
	assert_built(f, "{\"Z\": \"1\", \"API_KEY\": \"mine\", \"API\": \"2\", "
			"\"PATH\": \"/x\"}");
	for (size_t i = 0; expected[i]; i++)
		assert_string_equal(f->envp[i], expected[i]);
	assert_null(f->envp[COUNT_OF(expected) - 1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define PROGRAM_TEST(name) cmocka_unit_test_setup_teardown(name, setup_programs, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_env_base_is_small),
		TEST(test_env_base_defaults_and_inheritance),
		TEST(test_env_request_wins),
		TEST(test_env_allow_list),
		TEST(test_env_protected_names),
		TEST(test_env_protected_names_are_listed),
		TEST(test_env_long_protected_names_are_listed),
		TEST(test_env_operator_protects_more),
		TEST(test_env_malformed),
		TEST(test_env_get),
		TEST(test_env_set),
		TEST(test_env_order),
		TEST(test_env_many_variables),
		PROGRAM_TEST(test_env_find_program_in_path),
		PROGRAM_TEST(test_env_find_program_errors_say_where),
		PROGRAM_TEST(test_env_find_program_skips_a_closed_directory),
		PROGRAM_TEST(test_env_find_program_with_a_slash),
		PROGRAM_TEST(test_env_find_program_relative_path_entries),
		PROGRAM_TEST(test_env_find_program_gives_up),
		PROGRAM_TEST(test_env_find_program_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
