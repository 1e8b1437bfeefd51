#include "unit.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cap/run_env.h"
#include "cap/run_user.h"
#include "policy/env.h"
#include "scratch.h"

struct fixture {
	struct config config;
	struct confine_request request;
	struct user user;
	struct err e;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	config_init(&f->config);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	users_release(&f->user);
	err_release(&f->e);
	config_release(&f->config);
	free(f);
	return 0;
}

static void set(struct fixture *f, const char *assignment)
{
	assert_int_equal(config_set(&f->config, assignment, &f->e), 0);
}

static int read_user(struct fixture *f, const char *wanted)
{
	users_release(&f->user);
	err_release(&f->e);
	f->request = (struct confine_request){ 0 };
	return run_user_read(&f->config, wanted, &f->user, &f->request, &f->e);
}

static void expect_refused(struct fixture *f, const char *wanted, enum err_type type)
{
	assert_int_equal(read_user(f, wanted), -1);
	assert_int_equal(f->e.type, type);
	assert_false(f->request.as_user);
	assert_null(f->user.name);
}


static void test_users_find(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(users_find("root", &f->user, &f->e), 0);
	assert_string_equal(f->user.name, "root");
	assert_int_equal(f->user.uid, 0);
	assert_int_equal(f->user.home[0], '/');
	users_release(&f->user);
	assert_null(f->user.name);
	users_release(&f->user);
}

static void test_users_find_no_other_account(void **state)
{
	static const char *const names[] = { "", "no-such-account", "0", "roo", "root:", "root:x",
					     "root:x:0:0", "#root", "\n" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(users_find(names[i], &f->user, &f->e), -1);
		assert_int_equal(f->e.type, ERR_INVALID_PARAMS);
		assert_null(f->user.name);
		err_release(&f->e);
	}
}

static void test_run_user_named_nobody(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_user(f, NULL), 0);
	assert_false(f->request.as_user);
	assert_null(f->user.name);
}

static void test_run_user_must_be_listed(void **state)
{
	struct fixture *f = *state;

	expect_refused(f, "nobody", ERR_PERMISSION_DENIED);
	expect_refused(f, "root", ERR_PERMISSION_DENIED);
	if (geteuid()) { /* then no option lets it */
		assert_non_null(strstr(f->e.message, "not root"));
		assert_null(strstr(f->e.hint, "sandbox.users"));
	} else {
		assert_non_null(strstr(f->e.hint, "sandbox.users=NAME"));
	}
	set(f, "sandbox.users=nobody");
	expect_refused(f, "root", ERR_PERMISSION_DENIED);
	expect_refused(f, "nobod", ERR_PERMISSION_DENIED);
	expect_refused(f, "nobody,root", ERR_PERMISSION_DENIED);
	err_release(&f->e);
	assert_int_equal(config_set(&f->config, "sandbox.users=no*", &f->e), -1); /* no patterns */
}

static void test_run_user_listed(void **state)
{
	struct fixture *f = *state;

	set(f, "sandbox.users=daemon,root,no-such-account");
	if (geteuid()) {
		expect_refused(f, "daemon", ERR_INVALID_PARAMS);
		assert_non_null(strstr(f->e.message, "not root"));
		return;
	}
	expect_refused(f, "no-such-account", ERR_INVALID_PARAMS);
	assert_int_equal(read_user(f, "daemon"), 0);
	assert_true(f->request.as_user);
	assert_int_equal(f->request.uid, f->user.uid);
	assert_int_equal(f->request.gid, f->user.gid);
	assert_int_not_equal(f->request.uid, 0);
	assert_int_equal(read_user(f, NULL), 0); /* listed, not the usual */
	assert_false(f->request.as_user);
}

static void test_run_user_of_the_operator(void **state)
{
	struct fixture *f = *state;

	set(f, "sandbox.user=nobody");
	if (geteuid()) {
		expect_refused(f, NULL, ERR_SANDBOX_UNAVAILABLE);
		return;
	}
	assert_int_equal(read_user(f, NULL), 0);
	assert_true(f->request.as_user);
	assert_string_equal(f->user.name, "nobody");
	assert_int_equal(read_user(f, "nobody"), 0); /* what it would get anyway */
	expect_refused(f, "root", ERR_PERMISSION_DENIED); /* no way back */
	set(f, "sandbox.user=no-such-account");
	expect_refused(f, NULL, ERR_SANDBOX_UNAVAILABLE);
}

static void expect_env(struct fixture *f, char *request, const char *home, const char *user)
{
	char *environment[] = { request, NULL }, **base = env_base_new(&f->config, "/bin/sh");
	struct confine_options options = { .instance = "unit", .network = true };
	struct confine *confine = confine_new(&options);
	const struct run_env run = { &f->config, base, confine, &f->request, &f->user,
				     environment, false };
	char **envp;

	envp = run_env_build(&run);
	assert_string_equal(env_get(envp, "HOME"), home);
	assert_string_equal(env_get(envp, "USER"), user);
	free(envp);
	free(base);
	confine_free(confine);
}

static void test_run_env_follows_the_user(void **state)
{
	struct fixture *f = *state;
	char asked_home[] = "HOME=/asked", asked_user[] = "USER=me";

	setenv("HOME", "/the/servers", 1);
	setenv("USER", "server", 1);
	expect_env(f, NULL, "/the/servers", "server");
	f->user = (struct user){ strdup("guest"), strdup("/home/guest"), 1234, 1234 };
	expect_env(f, NULL, "/home/guest", "guest");
	expect_env(f, asked_home, "/asked", "guest");
	set(f, "env.allow=HOME"); /* it would be the wrong one */
	expect_env(f, asked_user, "/home/guest", "me");
}

/* What the sandbox adds needs its directory: it is there then. */
static void test_run_env_has_a_temporary_directory(void **state)
{
	struct fixture *f = *state;
	struct scratch tmp;
	char parent[SCRATCH_PATH], **envp, **base = env_base_new(&f->config, "/bin/sh");
	char asked[] = "XDG_CACHE_HOME=/asked", *environment[] = { asked, NULL };
	struct confine_options options = { .instance = "unit", .network = true };
	struct run_env run = { .config = &f->config, .base = base, .request = &f->request,
			       .user = &f->user, .environment = environment };

	scratch_init(&tmp);
	scratch_copy(&tmp, "state", parent);
	options.temporary = parent;
	run.confine = confine_new(&options);
	envp = run_env_build(&run);
	assert_int_equal(access(env_get(envp, "TMPDIR"), R_OK | W_OK | X_OK), 0);
	assert_string_equal(env_get(envp, "TMUX_TMPDIR"), env_get(envp, "TMPDIR"));
	assert_non_null(env_get(envp, "SCREENDIR"));
	assert_true(str_path_lies_in(env_get(envp, "SCREENDIR"), env_get(envp, "TMPDIR")));
	assert_string_equal(env_get(envp, "XDG_CACHE_HOME"), "/asked");
	free(envp);
	free(base);
	confine_free(run.confine);
	scratch_release(&tmp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_users_find),
		TEST(test_users_find_no_other_account),
		TEST(test_run_user_named_nobody),
		TEST(test_run_user_must_be_listed),
		TEST(test_run_user_listed),
		TEST(test_run_user_of_the_operator),
		TEST(test_run_env_follows_the_user),
		TEST(test_run_env_has_a_temporary_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
