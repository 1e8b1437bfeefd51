#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/run_shell.h"
#include "scratch.h"

struct fixture {
	struct scratch tmp;
	struct config config;
	struct scope *scope; /* <tmp>/work */
	char path[SCRATCH_PATH];
};

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	char *const none[] = { NULL };
	ERR_LOCAL(e);

	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "work");
	scratch_mkdir(&f->tmp, "bin");
	config_init(&f->config);
	f->scope = scope_new(scratch_path(&f->tmp, "work"), none, &e);
	*state = f;
	return f->scope ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	scope_free(f->scope);
	config_release(&f->config);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

static void set(struct fixture *f, const char *key, const char *value)
{
	char option[SCRATCH_PATH + 64];
	ERR_LOCAL(e);

	snprintf(option, sizeof(option), "%s=%s", key, value);
	assert_int_equal(config_set(&f->config, option, &e), 0);
}

/* process.shell names <tmp>/@name. */
static void name_shell(struct fixture *f, const char *name)
{
	scratch_copy(&f->tmp, name, f->path);
	set(f, "process.shell", f->path);
}

static void expect_shell(struct fixture *f, const char *path, enum shell_family family)
{
	ERR_LOCAL(e);
	struct run_shell shell;

	if (run_shell_choose(&shell, &f->config, f->scope, &e))
		fail_msg("%s", e.message);
	assert_string_equal(shell.path, path);
	assert_int_equal(shell.family, family);
	run_shell_release(&shell);
	assert_null(shell.path);
}

static void expect_refused(struct fixture *f, const char *why)
{
	ERR_LOCAL(e);
	struct run_shell shell;

	assert_int_equal(run_shell_choose(&shell, &f->config, f->scope, &e), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	assert_non_null(strstr(e.message, "process.shell: "));
	if (!strstr(e.message, why))
		fail_msg("%s, not: %s", e.message, why);
	assert_true(strlen(err_hint_text(&e)) > 0);
	run_shell_release(&shell);
	err_release(&e);
}

static void test_run_shell_default(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	struct run_shell shell;

	if (!access("/bin/bash", X_OK)) {
		expect_shell(f, "/bin/bash", SHELL_FAMILY_BASH);
		set(f, "sandbox.hide", "/bin/bash");
	}
	assert_int_equal(run_shell_choose(&shell, &f->config, NULL, &e), 0);
	assert_string_equal(shell.path, "/bin/sh");
	run_shell_release(&shell);
}

static void test_run_shell_by_name(void **state)
{
	static const struct {
		const char *name;
		enum shell_family family;
	} shells[] = {
		{ "bin/bash", SHELL_FAMILY_BASH }, { "bin/dash", SHELL_FAMILY_DASH },
		{ "bin/ash", SHELL_FAMILY_POSIX }, { "bin/sh", SHELL_FAMILY_POSIX },
	};
	struct fixture *f = *state;
	char bash[SCRATCH_PATH], dash[SCRATCH_PATH];

	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		scratch_file(&f->tmp, shells[i].name, "", 0755);
		name_shell(f, shells[i].name);
		expect_shell(f, f->path, shells[i].family);
	}
	/* The target of sh decides which shell it is; bash called sh is an unknown sh. */
	scratch_copy(&f->tmp, "bin/dash", dash);
	scratch_copy(&f->tmp, "bin/bash", bash);
	scratch_mkdir(&f->tmp, "links");
	name_shell(f, "links/sh");
	assert_int_equal(symlink(dash, f->path), 0);
	expect_shell(f, f->path, SHELL_FAMILY_DASH);
	unlink(f->path);
	assert_int_equal(symlink(bash, f->path), 0);
	expect_shell(f, f->path, SHELL_FAMILY_POSIX);
}

static void test_run_shell_refuses_names(void **state)
{
	static const char *const others[] = { "fish", "zsh", "ksh", "csh", "nu", "python3", "bash5",
					      "busybox" };
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		char name[32];

		snprintf(name, sizeof(name), "bin/%s", others[i]);
		scratch_file(&f->tmp, name, "", 0755);
		name_shell(f, name);
		expect_refused(f, "none of bash, dash, ash and sh");
	}
	set(f, "process.shell", "bash");
	expect_refused(f, "not an absolute path");
	set(f, "process.shell", "/");
	expect_refused(f, "none of");
}

static void test_run_shell_refuses_what_cannot_run(void **state)
{
	struct fixture *f = *state;

	name_shell(f, "bin/bash");
	expect_refused(f, "there is no such file");
	scratch_file(&f->tmp, "bin/bash", "", 0644);
	expect_refused(f, "may execute");
	scratch_mkdir(&f->tmp, "bin/sh");
	name_shell(f, "bin/sh");
	expect_refused(f, "may execute");
	scratch_file(&f->tmp, "bin/dash", "", 0750);
	name_shell(f, "bin/dash");
	expect_shell(f, f->path, SHELL_FAMILY_DASH);
	set(f, "sandbox.users", "nobody");
	expect_refused(f, "may execute");
	chmod(f->path, 0755);
	expect_shell(f, f->path, SHELL_FAMILY_DASH);
	set(f, "sandbox.hide", scratch_path(&f->tmp, "bin/"));
	expect_refused(f, "sandbox.hide");
	set(f, "sandbox.hide", scratch_path(&f->tmp, "bi"));
	expect_shell(f, f->path, SHELL_FAMILY_DASH);
}

/* A shell that a command could replace: under its own name, or behind a link. */
static void test_run_shell_refuses_what_commands_may_write(void **state)
{
	struct fixture *f = *state;
	char target[SCRATCH_PATH];

	scratch_file(&f->tmp, "work/bash", "", 0755);
	name_shell(f, "work/bash");
	expect_refused(f, "may write");
	scratch_copy(&f->tmp, "work/bash", target);
	name_shell(f, "bin/bash");
	assert_int_equal(symlink(target, f->path), 0);
	expect_refused(f, "may write");
	scratch_file(&f->tmp, "bin/sh", "", 0755);
	name_shell(f, "bin/sh");
	expect_shell(f, f->path, SHELL_FAMILY_POSIX);
	set(f, "sandbox.writable", scratch_path(&f->tmp, "bin"));
	expect_refused(f, "may write");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run_shell_default, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_run_shell_by_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_run_shell_refuses_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_run_shell_refuses_what_cannot_run, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_run_shell_refuses_what_commands_may_write,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
