#include "unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "os/sandbox/rmtree.h"
#include "scratch.h"

#define ORDINARY 65534 /* a user without rights, where we are root */
#define NO_MOUNTS 77

static int setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	scratch_init(s);
	scratch_mkdir(s, "tree");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	chmod(scratch_path(*state, "outside"), 0700);
	scratch_release(*state);
	free(*state);
	return 0;
}

static bool is_there(struct scratch *s, const char *name)
{
	struct stat st;

	return !lstat(scratch_path(s, name), &st);
}

/* assert_*() does not reach out of a child, and half of these tests are one. */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			print_error("%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
				    errno); \
			abort(); \
		} \
	} while (0)

static int empty_before(struct scratch *s, int64_t until_us, struct rmtree_rest *rest)
{
	int fd = open(scratch_path(s, "tree"), O_PATH | O_DIRECTORY), result;

	CHECK(fd >= 0);
	memset(rest, 0xa5, sizeof(*rest));
	result = rmtree_empty(fd, until_us, rest);
	CHECK(!close(fd));
	return result;
}

static void expect_gone(struct scratch *s)
{
	struct rmtree_rest rest;

	CHECK(!empty_before(s, INT64_MAX, &rest));
	CHECK(!rest.left && !rest.error && !rest.late);
	CHECK(!rmdir(scratch_path(s, "tree")));
}

/* Run @body in a child, as a user whom permissions bind if @ordinary. */
static void in_child(struct scratch *s, bool ordinary, int (*body)(struct scratch *s))
{
	int status;
	pid_t pid;

	if (ordinary && !geteuid())
		assert_int_equal(chown(scratch_path(s, "tree"), ORDINARY, ORDINARY) |
				 chown(s->dir, ORDINARY, ORDINARY), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (ordinary && !geteuid() && (setresgid(ORDINARY, ORDINARY, ORDINARY) ||
					       setresuid(ORDINARY, ORDINARY, ORDINARY)))
			_exit(2);
		_exit(body(s));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNTS) {
		print_message("SKIP: no mounts can be made here\n");
		skip();
	}
	assert_int_equal(status, 0);
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

static void test_rmtree_empty_and_missing(void **state)
{
	struct scratch *s = *state;
	struct rmtree_rest rest;
	int fd = open(scratch_path(s, "tree"), O_RDONLY | O_DIRECTORY);

	assert_int_equal(rmtree_empty(fd, INT64_MAX, &rest), 0);
	expect_gone(s);
	assert_int_equal(rmtree_empty(fd, INT64_MAX, &rest), 0); /* another process was faster */
	close(fd);
}

/* Deeper than any path, descriptor limit or stack. */
static void test_rmtree_deep_tree(void **state)
{
	struct scratch *s = *state;
	struct rlimit before, few = { 64, 64 };

	nest(scratch_path(s, "tree"), "d", 3000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	expect_gone(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void test_rmtree_wide_directory(void **state)
{
	struct scratch *s = *state;

	make_files(scratch_path(s, "tree"), 20000);
	expect_gone(s);
}

/* Names that removal would use itself are taken. */
static void test_rmtree_taken_names(void **state)
{
	struct scratch *s = *state;
	char name[40];

	nest(scratch_path(s, "tree"), "d", 300);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "tree/.procpen-%d", i);
		if (i % 2) {
			scratch_mkdir(s, name);
			strcat(name, "/full");
		}
		scratch_file(s, name, "", 0600);
	}
	expect_gone(s);
}

static int remove_locked(struct scratch *s)
{
	static const unsigned modes[] = { 0000, 0100, 0200, 0400, 0500, 0600 };
	char name[60];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		snprintf(name, sizeof(name), "tree/%zu", i);
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
	/* A directory without access rights: removal needs a chmod. */
	CHECK(rmdir(scratch_path(s, "tree/0/in")) && errno == EACCES);
	CHECK(!chmod(scratch_path(s, "tree"), 0000));
	expect_gone(s);
	return 0;
}

static void test_rmtree_locked_directories(void **state)
{
	in_child(*state, true, remove_locked);
}

static int remove_deep_and_locked(struct scratch *s)
{
	int at = open(scratch_path(s, "tree"), O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 100; i++) {
		int next;

		CHECK(!mkdirat(at, "d", 0700));
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		CHECK(next >= 0);
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
	expect_gone(s);
	return 0;
}

static void test_rmtree_deep_and_locked(void **state)
{
	in_child(*state, true, remove_deep_and_locked);
}

static void test_rmtree_follows_no_link(void **state)
{
	struct scratch *s = *state;
	char outside[SCRATCH_PATH], target[SCRATCH_PATH];
	struct stat st;

	scratch_mkdir(s, "outside");
	scratch_file(s, "outside/file", "keep", 0400);
	scratch_copy(s, "outside", outside);
	scratch_copy(s, "outside/file", target);
	assert_int_equal(chmod(outside, 0500), 0);
	scratch_link(s, outside, "tree/directory");
	scratch_link(s, target, "tree/file");
	scratch_link(s, "../..", "tree/up");
	scratch_link(s, ".", "tree/self");
	scratch_mkdir(s, "tree/in");
	scratch_link(s, "/", "tree/in/root");
	assert_int_equal(link(target, scratch_path(s, "tree/second")), 0);
	expect_gone(s);
	assert_int_equal(stat(outside, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
}

static void test_rmtree_any_name_and_kind(void **state)
{
	struct scratch *s = *state;
	static const char *const names[] = { "-rf", " ", "\n", "\xff\xfe", "...", "*", "a\\b" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char name[60];

		snprintf(name, sizeof(name), "tree/%s", names[i]);
		scratch_file(s, name, "", 0600);
	}
	assert_int_equal(mkfifo(scratch_path(s, "tree/fifo"), 0600), 0);
	expect_gone(s);
}

/* After the deadline entries are counted and not touched. */
static void test_rmtree_late(void **state)
{
	struct scratch *s = *state;
	struct rmtree_rest rest;

	nest(scratch_path(s, "tree"), "d", 20);
	make_files(scratch_path(s, "tree"), 1000);
	assert_int_equal(empty_before(s, 0, &rest), -1);
	assert_true(rest.late);
	assert_int_equal(rest.left, 1001);
	assert_int_equal(rest.error, 0);
	assert_true(is_there(s, "tree/d/d/d/d"));
	expect_gone(s);
}

static void set_flags(struct scratch *s, const char *name, int flags)
{
	int fd = open(scratch_path(s, name), O_RDONLY | O_NONBLOCK);

	assert_true(fd >= 0);
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0) {
		close(fd);
		print_message("SKIP: no file can be made immutable here\n");
		skip();
	}
	close(fd);
}

/* An entry that cannot be removed stays with all directories above it; everything else goes. */
static void test_rmtree_immutable(void **state)
{
	struct scratch *s = *state;
	struct rmtree_rest rest;

	nest(scratch_path(s, "tree"), "d", 100);
	make_files(scratch_path(s, "tree"), 100);
	scratch_mkdir(s, "tree/a");
	scratch_mkdir(s, "tree/a/b");
	scratch_file(s, "tree/a/gone", "", 0600);
	scratch_file(s, "tree/a/b/fixed", "", 0600);
	set_flags(s, "tree/a/b/fixed", FS_IMMUTABLE_FL);
	assert_int_equal(empty_before(s, INT64_MAX, &rest), -1);
	assert_false(rest.late);
	assert_int_equal(rest.left, 3); /* a, b and fixed */
	assert_int_equal(rest.error, EPERM);
	assert_string_equal(rest.name, "fixed");
	assert_true(is_there(s, "tree/a/b/fixed"));
	assert_false(is_there(s, "tree/a/gone"));
	assert_false(is_there(s, "tree/d"));
	set_flags(s, "tree/a/b/fixed", 0);
	set_flags(s, "tree/a/b", FS_IMMUTABLE_FL); /* neither it nor its contents can be removed */
	assert_int_equal(empty_before(s, INT64_MAX, &rest), -1);
	assert_int_equal(rest.left, 3);
	set_flags(s, "tree/a/b", 0);
	expect_gone(s);
}

/* As a kernel whose statx(2) reports no mount. */
static void take_statx_away(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* The same file system, and one of its own; a directory and a file. */
static int leave_mounts(struct scratch *s)
{
	char outside[SCRATCH_PATH], file[SCRATCH_PATH];
	struct rmtree_rest rest;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return NO_MOUNTS;
	scratch_copy(s, "outside", outside);
	scratch_copy(s, "outside/file", file);
	CHECK(!mount(outside, scratch_path(s, "tree/in/bind"), NULL, MS_BIND, NULL));
	CHECK(!mount(file, scratch_path(s, "tree/in/file"), NULL, MS_BIND, NULL));
	CHECK(!mount("tmpfs", scratch_path(s, "tree/in/tmpfs"), "tmpfs", 0, NULL));
	scratch_file(s, "tree/in/tmpfs/kept", "", 0600);
	for (int again = 0; again < 2; again++) {
		CHECK(empty_before(s, INT64_MAX, &rest) == -1);
		CHECK(rest.left == 4 && rest.error == EBUSY && !rest.late); /* "in" too */
		CHECK(is_there(s, "outside/file") && is_there(s, "outside/locked/file"));
		CHECK(is_there(s, "tree/in/tmpfs/kept"));
		CHECK(!is_there(s, "tree/in/deep"));
		take_statx_away();
	}
	return 0;
}

static void test_rmtree_enters_no_mount(void **state)
{
	struct scratch *s = *state;
	struct stat st;

	scratch_mkdir(s, "outside");
	scratch_file(s, "outside/file", "keep", 0600);
	scratch_mkdir(s, "outside/locked");
	scratch_file(s, "outside/locked/file", "keep", 0600);
	assert_int_equal(chmod(scratch_path(s, "outside"), 0555), 0);
	scratch_mkdir(s, "tree/in");
	scratch_mkdir(s, "tree/in/bind");
	scratch_mkdir(s, "tree/in/tmpfs");
	scratch_mkdir(s, "tree/in/deep");
	scratch_file(s, "tree/in/file", "", 0600);
	nest(scratch_path(s, "tree/in/deep"), "d", 40);
	in_child(s, false, leave_mounts);
	assert_int_equal(stat(scratch_path(s, "outside"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0555); /* nor is it unlocked */
	expect_gone(s); /* no mount there */
	assert_true(is_there(s, "outside/locked/file"));
}

/* Two at once remove the same tree; both succeed. */
static int remove_it_too(struct scratch *s)
{
	struct rmtree_rest rest;

	empty_before(s, INT64_MAX, &rest);
	return 0;
}

static void test_rmtree_two_at_once(void **state)
{
	struct scratch *s = *state;
	pid_t pid;

	nest(scratch_path(s, "tree"), "d", 300);
	make_files(scratch_path(s, "tree"), 5000);
	pid = fork();
	if (!pid)
		_exit(remove_it_too(s));
	remove_it_too(s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	expect_gone(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rmtree_empty_and_missing),
		TEST(test_rmtree_deep_tree),
		TEST(test_rmtree_wide_directory),
		TEST(test_rmtree_taken_names),
		TEST(test_rmtree_locked_directories),
		TEST(test_rmtree_deep_and_locked),
		TEST(test_rmtree_follows_no_link),
		TEST(test_rmtree_any_name_and_kind),
		TEST(test_rmtree_late),
		TEST(test_rmtree_immutable),
		TEST(test_rmtree_enters_no_mount),
		TEST(test_rmtree_two_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
