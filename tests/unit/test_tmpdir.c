#include "unit.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "os/tmpdir.h"
#include "scratch.h"

#define WAIT_MS 100000 /* a bound; each server removes for 20 ms, however much that is here */
#define ORDINARY 65534 /* a user without rights, where we are root */

static int setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	scratch_init(s);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	scratch_release(*state);
	free(*state);
	return 0;
}

static bool is_there(struct scratch *s, const char *name)
{
	struct stat st;

	return !lstat(scratch_path(s, name), &st);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static struct tmpdir *make(struct scratch *s, const char *instance)
{
	struct err e = ERR_INIT;
	struct tmpdir *t;
	char parent[SCRATCH_PATH];

	scratch_copy(s, "state", parent);
	t = tmpdir_new(parent, instance);
	assert_int_equal(tmpdir_make(t, &e), 0);
	return t;
}

/* What a server that was killed leaves: the directory, and nobody's lock. */
static void leave_stale(struct scratch *s, const char *instance)
{
	char name[64];

	if (!is_there(s, "state"))
		scratch_mkdir(s, "state");
	snprintf(name, sizeof(name), "state/tmp-%s", instance);
	scratch_mkdir(s, name);
	strcat(name, "/file");
	scratch_file(s, name, "left", 0600);
}

static void test_tmpdir_is_made_late_and_private(void **state)
{
	struct scratch *s = *state;
	char parent[SCRATCH_PATH];
	struct err e = ERR_INIT;
	struct tmpdir *t;
	mode_t before = umask(0);

	scratch_copy(s, "deep/er/state", parent);
	t = tmpdir_new(parent, "one");
	assert_false(is_there(s, "deep"));
	assert_int_equal(tmpdir_make(t, &e), 0);
	umask(before);
	assert_string_equal(tmpdir_path(t), scratch_path(s, "deep/er/state/tmp-one"));
	assert_int_equal(mode_of(tmpdir_path(t)), 0700);
	assert_int_equal(mode_of(parent), 0700);
	assert_int_equal(tmpdir_make(t, &e), 0); /* once */
	tmpdir_free(t);
	assert_false(is_there(s, "deep/er/state/tmp-one"));
	assert_true(is_there(s, "deep/er/state"));
}

static void test_tmpdir_never_made_leaves_nothing(void **state)
{
	struct scratch *s = *state;
	char parent[SCRATCH_PATH];

	scratch_copy(s, "state", parent);
	tmpdir_free(tmpdir_new(parent, "one"));
	assert_false(is_there(s, "state"));
	tmpdir_free(NULL);
}

static void test_tmpdir_that_cannot_be_made(void **state)
{
	struct scratch *s = *state;
	char parent[SCRATCH_PATH];
	struct err e = ERR_INIT;
	struct tmpdir *t;

	scratch_file(s, "file", "", 0600);
	scratch_copy(s, "file/state", parent);
	t = tmpdir_new(parent, "one");
	assert_int_equal(tmpdir_make(t, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_int_equal(e.sys, ENOTDIR);
	assert_non_null(strstr(e.message, "file/state/tmp-one"));
	assert_non_null(strstr(err_hint_text(&e), "--state-dir"));
	err_release(&e);
	tmpdir_free(t);
}

/* The place of a directory is taken by a link: it is not followed. */
static void test_tmpdir_is_no_link(void **state)
{
	struct scratch *s = *state;
	char parent[SCRATCH_PATH];
	struct err e = ERR_INIT;
	struct tmpdir *t;

	scratch_mkdir(s, "state");
	scratch_mkdir(s, "elsewhere");
	scratch_link(s, "../elsewhere", "state/tmp-one");
	scratch_copy(s, "state", parent);
	t = tmpdir_new(parent, "one");
	assert_int_equal(tmpdir_make(t, &e), -1);
	assert_true(e.sys == ENOTDIR || e.sys == ELOOP);
	err_release(&e);
	tmpdir_free(t);
	assert_true(is_there(s, "elsewhere"));
}

/* A lock tells who lives: of three directories one is a dead server's. */
static void test_tmpdir_cleans_up_after_the_dead_only(void **state)
{
	struct scratch *s = *state;
	struct tmpdir *first = make(s, "first"), *second;
	int locked;

	leave_stale(s, "dead");
	leave_stale(s, "other");
	locked = open(scratch_path(s, "state/tmp-other"), O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(locked, LOCK_EX | LOCK_NB), 0);
	scratch_mkdir(s, "state/audit");
	scratch_file(s, "state/tmp-file", "no directory", 0600);
	second = make(s, "second");
	assert_false(is_there(s, "state/tmp-dead"));
	assert_true(is_there(s, "state/tmp-other/file"));
	assert_true(is_there(s, "state/tmp-first"));
	assert_true(is_there(s, "state/audit"));
	assert_true(is_there(s, "state/tmp-file"));
	close(locked);
	tmpdir_free(second);
	tmpdir_free(first);
}

/* A process that still has the descriptor keeps the lock, as a server that lives does. */
static void test_tmpdir_lock_ends_with_the_process(void **state)
{
	struct scratch *s = *state;
	int ready[2], hold[2];
	struct tmpdir *t;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (!pid) {
		make(s, "child");
		close(hold[1]);
		(void)!write(ready[1], "x", 1);
		(void)!read(hold[0], &byte, 1);
		_exit(0); /* without tmpdir_free(), as after SIGKILL */
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	t = make(s, "mine");
	assert_true(is_there(s, "state/tmp-child"));
	tmpdir_free(t);
	close(hold[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	t = make(s, "mine");
	assert_false(is_there(s, "state/tmp-child"));
	tmpdir_free(t);
	close(ready[0]);
	close(ready[1]);
	close(hold[0]);
}

static void make_files(const char *top, int count)
{
	int at = open(top, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		close(openat(at, name, O_CREAT | O_WRONLY, 0600));
	}
	close(at);
}

/* More than can be removed in the time of a start is left to others, and they come to an end. */
static void test_tmpdir_takes_a_bounded_time(void **state)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	struct scratch *s = *state;
	bool left = false;

	for (int many = 20000; !left && many <= 320000; many *= 4) {
		leave_stale(s, "big");
		make_files(scratch_path(s, "state/tmp-big"), many);
		tmpdir_free(make(s, "next"));
		left = is_there(s, "state/tmp-big");
	}
	assert_true(left); /* so many files take longer than a start may, on any machine */
	while (is_there(s, "state/tmp-big")) {
		assert_true(clock_mono_ms() < until);
		tmpdir_free(make(s, "next"));
	}
}

static void test_tmpdir_for_users(void **state)
{
	struct scratch *s = *state;
	char parent[SCRATCH_PATH];
	struct err e = ERR_INIT;
	struct tmpdir *t;
	struct stat st;
	mode_t before = umask(077);

	if (geteuid()) {
		umask(before);
		print_message("SKIP: only root can give a directory away\n");
		skip();
	}
	scratch_copy(s, "users", parent);
	t = tmpdir_new_for_users(parent, "one");
	assert_int_equal(tmpdir_make_for(t, ORDINARY, ORDINARY, &e), 0);
	assert_int_equal(tmpdir_make_for(t, ORDINARY, ORDINARY, &e), 0);
	assert_int_equal(tmpdir_make_for(t, 1, 1, &e), 0);
	umask(before);
	assert_int_equal(mode_of(parent), 0711);
	assert_int_equal(mode_of(tmpdir_path(t)), 0711);
	assert_int_equal(stat(scratch_path(s, "users/tmp-one/65534"), &st), 0);
	assert_int_equal(st.st_uid, ORDINARY);
	assert_int_equal(st.st_gid, ORDINARY);
	assert_int_equal(st.st_mode & 07777, 0700);
	scratch_file(s, "users/tmp-one/65534/file", "", 0600);
	tmpdir_free(t);
	assert_false(is_there(s, "users/tmp-one"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tmpdir_is_made_late_and_private),
		TEST(test_tmpdir_never_made_leaves_nothing),
		TEST(test_tmpdir_that_cannot_be_made),
		TEST(test_tmpdir_is_no_link),
		TEST(test_tmpdir_cleans_up_after_the_dead_only),
		TEST(test_tmpdir_lock_ends_with_the_process),
		TEST(test_tmpdir_takes_a_bounded_time),
		TEST(test_tmpdir_for_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
