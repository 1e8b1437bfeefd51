#include "unit.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/resource.h>
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

/* @levels directories, one in the other, named @name, below @top. */
static void nest(const char *top, const char *name, int levels)
{
	int at = open(top, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < levels; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0700), 0);
		next = openat(at, name, O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(openat(at, "last", O_CREAT | O_WRONLY, 0600));
	close(at);
}

/* Deeper than any path, descriptor limit or stack; the time is bounded, so it takes some servers. */
static void expect_removed_in_the_end(struct scratch *s)
{
	int64_t until = clock_mono_ms() + WAIT_MS;

	while (is_there(s, "state/tmp-deep")) {
		assert_true(clock_mono_ms() < until);
		tmpdir_free(make(s, "next"));
	}
}

static void test_tmpdir_deep_tree(void **state)
{
	struct scratch *s = *state;
	struct rlimit before, few = { 64, 64 };
	struct tmpdir *t = make(s, "deep");

	nest(tmpdir_path(t), "d", 3000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	tmpdir_free(t);
	expect_removed_in_the_end(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Names that removal would use itself are taken. */
static void test_tmpdir_deep_tree_and_taken_names(void **state)
{
	struct scratch *s = *state;
	struct tmpdir *t = make(s, "deep");
	char name[40];

	nest(tmpdir_path(t), "d", 300);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "state/tmp-deep/.procpen-%d", i);
		if (i % 2) {
			scratch_mkdir(s, name);
			strcat(name, "/full");
		}
		scratch_file(s, name, "", 0600);
	}
	tmpdir_free(t);
	expect_removed_in_the_end(s);
}

/* As a user whom permissions bind: run @body in a child that is one, below a place of its own. */
static void as_ordinary(struct scratch *s, void (*body)(struct scratch *s))
{
	int status;
	pid_t pid;

	if (!geteuid()) {
		assert_int_equal(chown(s->dir, ORDINARY, ORDINARY), 0);
		assert_int_equal(chmod(s->dir, 0755), 0);
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setresgid(ORDINARY, ORDINARY, ORDINARY) ||
				   setresuid(ORDINARY, ORDINARY, ORDINARY)))
			_exit(2);
		body(s);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* assert_*() does not reach out of a child. */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

static void remove_locked(struct scratch *s)
{
	static const unsigned modes[] = { 0000, 0100, 0200, 0400, 0500, 0600 };
	struct tmpdir *t = make(s, "locked");
	char name[60];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		snprintf(name, sizeof(name), "state/tmp-locked/%zu", i);
		scratch_mkdir(s, name);
		strcat(name, "/in");
		scratch_mkdir(s, name);
		strcat(name, "/file");
		scratch_file(s, name, "", 0000);
		*strrchr(name, '/') = '\0';
		CHECK(!chmod(scratch_path(s, name), modes[i]));
		*strrchr(name, '/') = '\0';
		CHECK(!chmod(scratch_path(s, name), modes[i]));
	}
	/* The door is shut: without a chmod none of it can be removed. */
	CHECK(rmdir(scratch_path(s, "state/tmp-locked/0/in")) && errno == EACCES);
	CHECK(!chmod(scratch_path(s, "state/tmp-locked"), 0000));
	tmpdir_free(t);
	CHECK(!is_there(s, "state/tmp-locked"));
}

static void test_tmpdir_locked_directories(void **state)
{
	as_ordinary(*state, remove_locked);
}

static void remove_deep_and_locked(struct scratch *s)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	struct tmpdir *t = make(s, "deep");
	int at = open(tmpdir_path(t), O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 100; i++) {
		int next;

		CHECK(!mkdirat(at, "d", 0700));
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		CHECK(next >= 0);
		CHECK(i < 30 || !fchmodat(at, "d", 0000, 0) || errno == EACCES);
		CHECK(i < 30 || !fchmod(next, 0700));
		close(at);
		at = next;
	}
	for (int i = 0; i < 70; i++) { /* from the inside out */
		int up = openat(at, "..", O_RDONLY | O_DIRECTORY);

		CHECK(!fchmod(at, 0000));
		close(at);
		at = up;
		CHECK(at >= 0);
	}
	close(at);
	tmpdir_free(t);
	while (is_there(s, "state/tmp-deep") && clock_mono_ms() < until)
		tmpdir_free(make(s, "next"));
	CHECK(!is_there(s, "state/tmp-deep"));
}

static void test_tmpdir_deep_and_locked(void **state)
{
	as_ordinary(*state, remove_deep_and_locked);
}

static void test_tmpdir_follows_no_link(void **state)
{
	struct scratch *s = *state;
	struct tmpdir *t = make(s, "one");
	char outside[SCRATCH_PATH], target[SCRATCH_PATH];

	scratch_mkdir(s, "outside");
	scratch_file(s, "outside/file", "keep", 0400);
	scratch_copy(s, "outside", outside);
	scratch_copy(s, "outside/file", target);
	assert_int_equal(chmod(outside, 0500), 0);
	scratch_link(s, outside, "state/tmp-one/directory");
	scratch_link(s, target, "state/tmp-one/file");
	scratch_link(s, "../..", "state/tmp-one/up");
	scratch_link(s, ".", "state/tmp-one/self");
	scratch_mkdir(s, "state/tmp-one/in");
	scratch_link(s, "/", "state/tmp-one/in/root");
	tmpdir_free(t);
	assert_false(is_there(s, "state/tmp-one"));
	assert_true(is_there(s, "outside/file"));
	assert_int_equal(mode_of(outside), 0500);
	assert_int_equal(mode_of(target), 0400);
	assert_int_equal(chmod(outside, 0700), 0);
}

static void test_tmpdir_any_name_and_kind(void **state)
{
	struct scratch *s = *state;
	struct tmpdir *t = make(s, "one");
	static const char *const names[] = { "-rf", " ", "\n", "\xff\xfe", "...", "*", "a\\b" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[60];

		snprintf(name, sizeof(name), "state/tmp-one/%s", names[i]);
		scratch_file(s, name, "", 0600);
	}
	assert_int_equal(mkfifo(scratch_path(s, "state/tmp-one/fifo"), 0600), 0);
	tmpdir_free(t);
	assert_false(is_there(s, "state/tmp-one"));
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
		TEST(test_tmpdir_deep_tree),
		TEST(test_tmpdir_deep_tree_and_taken_names),
		TEST(test_tmpdir_locked_directories),
		TEST(test_tmpdir_deep_and_locked),
		TEST(test_tmpdir_follows_no_link),
		TEST(test_tmpdir_any_name_and_kind),
		TEST(test_tmpdir_takes_a_bounded_time),
		TEST(test_tmpdir_for_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
