#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/dir.c"
#include "scratch.h"

static struct scratch tmp;

/* Both ways lead to one place, or fail with one errno. @from: a directory of the place. */
static void expect_same(const char *from, const char *path)
{
	AUTO_CLOSE int base = open(scratch_path(&tmp, from), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat a = { 0 }, b = { 0 };
	int one, two, why = 0, why_steps = 0;

	assert_true(base >= 0);
	one = dir_open(base, path);
	why = one < 0 ? errno : 0;
	two = dir_open_by_steps(base, path);
	why_steps = two < 0 ? errno : 0;
	if (why != why_steps)
		fail_msg("%.100s: errno %d, by steps %d", path, why, why_steps);
	if (one < 0)
		return;
	assert_int_equal(fstat(one, &a), 0);
	assert_int_equal(fstat(two, &b), 0);
	if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		fail_msg("%.100s: another directory by steps", path);
	assert_int_equal(fcntl(two, F_GETFD), FD_CLOEXEC);
	close(one);
	close(two);
}

static void test_dir_by_steps_is_like_the_kernel(void **state)
{
	static const char *const paths[] = {
		".", "..", "/", "//", "", "a", "a/", "a//b", "./a/./b/..", "a/b/../../a", "missing",
		"a/missing/..", "file", "file/", "file/..", "to_a", "to_a/b", "to_a/..", "to_b", "to_b/..",
		"to_root", "to_root/proc", "loop", "loop/x", "nowhere", "to_file", "up", "up/a", "locked/in",
		"/proc", "/proc/self", "/proc/self/..", "/proc/thread-self", "/proc/net", "/proc/self/cwd",
		"/proc/self/root", "/proc/self/fd", "/proc/self/cwd/a", "to_cwd", "to_cwd/a", "to_self/cwd",
		"/proc/self/task", "chain0", "chain39", "chain40",
	};
	static char deep[9000];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		expect_same(".", paths[i]);
	expect_same("a", "../to_a/b");
	for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
		strcpy(deep + i, "./");
	expect_same(".", deep);
	deep[4000] = '\0';
	expect_same(".", deep);
	memset(deep, 'n', 300);
	deep[300] = '\0';
	expect_same(".", deep);
}

/* What makes the first test worth something: the magic is there to be refused. */
static void test_dir_magic_links_are_refused(void **state)
{
	int plain = open("/proc/self/cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	if (plain < 0) {
		print_message("SKIP: no /proc here\n");
		skip();
	}
	close(plain);
	assert_int_equal(dir_open_by_steps(AT_FDCWD, "/proc/self/cwd"), -1);
	assert_int_equal(errno, ELOOP);
}

static void test_dir_leaks_nothing(void **state)
{
	int before = dup(0), after;

	(void)state;
	close(before);
	expect_same(".", "to_b/../../loop");
	expect_same(".", "to_a/b");
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

/* See scratch_maze(). */
static char *real_at_last(const char *path)
{
	char *real = NULL;

	for (int try = 0; !real && try < 10; try++) {
		real = dir_real(path);
		if (!real && errno != ELOOP)
			break;
	}
	return real;
}

static void test_dir_real_is_like_realpath(void **state)
{
	static const char *const paths[] = {
		"a", "to_a/b/..", "file", "to_file", "loop", "nowhere", "missing", "file/x", "chain39",
		"maze/l0",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		const char *path = scratch_path(&tmp, paths[i]);
		AUTO_FREE char *one = NULL, *two = NULL;
		int why, why_real;

		one = realpath(path, NULL);
		why = errno;
		two = real_at_last(path);
		why_real = errno;
		if (!one != !two)
			fail_msg("%s: %s (errno %d), realpath(3) %s (%d)", paths[i],
				 two ? two : "nothing", why_real, one ? one : "nothing", why);
		if (one)
			assert_string_equal(one, two);
		else
			assert_int_equal(why, why_real);
	}
}

/* The processor time of one way through a link, as clock(3) says. */
static clock_t time_of(char *(*follow)(const char *path), const char *path)
{
	clock_t start = clock();

	free(follow(path));
	return clock() - start;
}

static char *follow_as_realpath(const char *path)
{
	return realpath(path, NULL);
}

/* Each of a maze's names costs realpath(3) all those before; what disturbs one look, not five. */
static void test_dir_real_takes_a_maze_at_once(void **state)
{
	const char *path = scratch_path(&tmp, "maze/l0");
	clock_t theirs = time_of(follow_as_realpath, path), ours = theirs;

	(void)state;
	for (int look = 0; look < 5 && ours >= theirs / 4; look++)
		ours = time_of(dir_real, path);
	if (ours >= theirs / 4)
		fail_msg("%ld us, realpath(3) %ld", (long)ours, (long)theirs);
}

static int setup(void **state)
{
	char from[20], to[20];

	(void)state;
	scratch_init(&tmp);
	assert_int_equal(mkdir(scratch_path(&tmp, "a"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(&tmp, "a/b"), 0700), 0);
	assert_int_equal(mkdir(scratch_path(&tmp, "locked"), 0), 0);
	scratch_file(&tmp, "file", "", 0600);
	scratch_link(&tmp, "a", "to_a");
	scratch_link(&tmp, "to_a/b", "to_b");
	scratch_link(&tmp, "/", "to_root");
	scratch_link(&tmp, "loop", "loop");
	scratch_link(&tmp, "missing/x", "nowhere");
	scratch_link(&tmp, "file", "to_file");
	scratch_link(&tmp, "a/b/../..", "up");
	scratch_link(&tmp, "/proc/self/cwd", "to_cwd");
	scratch_link(&tmp, "/proc/self", "to_self");
	scratch_mkdir(&tmp, "maze");
	scratch_maze(&tmp, "maze");
	scratch_link(&tmp, "a", "chain0");
	for (int i = 1; i <= 40; i++) {
		snprintf(from, sizeof(from), "chain%d", i);
		snprintf(to, sizeof(to), "chain%d", i - 1);
		scratch_link(&tmp, to, from);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	chmod(scratch_path(&tmp, "locked"), 0700);
	scratch_release(&tmp);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dir_by_steps_is_like_the_kernel),
		cmocka_unit_test(test_dir_magic_links_are_refused),
		cmocka_unit_test(test_dir_leaks_nothing),
		cmocka_unit_test(test_dir_real_is_like_realpath),
		cmocka_unit_test(test_dir_real_takes_a_maze_at_once),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
