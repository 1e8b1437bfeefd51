#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "scratch.h"

#include "policy/scope.h"

/*
 * <dir>/ws            the workspace: sub/deep, file, links in and out
 * <dir>/ws_evil       its name starts like the workspace's
 * <dir>/extra         a second accessible directory
 * <dir>/outside       not accessible
 */
struct fixture {
	struct scratch tmp;
	struct scope *scope;
};

static int setup(void **state)
{
	static const char *const dirs[] = {
		"ws", "ws/sub", "ws/sub/deep", "ws_evil", "extra", "extra/in", "outside",
		"outside/x",
	};
	struct fixture *f = calloc(1, sizeof(*f));
	ERR_LOCAL(e);

	scratch_init(&f->tmp);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		scratch_mkdir(&f->tmp, dirs[i]);
	scratch_file(&f->tmp, "ws/file", "x", 0600);
	scratch_link(&f->tmp, "sub/deep", "ws/link_in");
	scratch_link(&f->tmp, "../outside", "ws/link_out");
	scratch_link(&f->tmp, "..", "ws/link_up");
	scratch_link(&f->tmp, "../extra/in", "ws/link_extra");
	scratch_link(&f->tmp, "/proc/self/cwd", "ws/link_magic");
	scratch_link(&f->tmp, "../outside/missing", "ws/link_dangling");
	scratch_link(&f->tmp, "file", "ws/link_file");
	scratch_link(&f->tmp, "ws/sub", "link_to_ws");
	scratch_link(&f->tmp, "nowhere", "dangling");
	scratch_link(&f->tmp, "loop", "loop");

	char extra[SCRATCH_PATH];
	char *list[] = { extra, NULL };

	scratch_copy(&f->tmp, "extra", extra);
	f->scope = scope_new(scratch_path(&f->tmp, "ws"), list, &e);
	if (!f->scope)
		fail_msg("%s", e.message);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scope_free(f->scope);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

static int open_dir(const struct scope *s, const char *path, struct scope_dir **dir, char **name,
		    struct err *e)
{
	return scope_open(s, path, scope_is_in_place(s), dir, name, e);
}

static bool renew(struct scope *s)
{
	bool in_place, renewed = scope_renew(s, &in_place);

	assert_int_equal(in_place, scope_is_in_place(s));
	return renewed;
}

/* @path is accessible and is <dir>/@expected. */
static void assert_inside(struct fixture *f, const char *path, const char *expected)
{
	ERR_LOCAL(e);
	struct stat opened, wanted;
	char *name = NULL;
	struct scope_dir *dir;

	if (open_dir(f->scope, path, &dir, &name, &e) != 0)
		fail_msg("%s: %s", path, e.message);
	assert_string_equal(name, scratch_path(&f->tmp, expected));
	assert_int_equal(fstat(dir->fd, &opened), 0);
	assert_int_equal(stat(scratch_path(&f->tmp, expected), &wanted), 0);
	assert_int_equal(opened.st_ino, wanted.st_ino);
	assert_int_equal(fcntl(dir->fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(dir->fd, F_GETFL) & O_PATH, O_PATH);
	scope_dir_drop(&dir);
	free(name);
}

/* @path is refused with the one message that all refusals share. */
static void assert_outside(struct fixture *f, const char *path)
{
	ERR_LOCAL(e);
	char *name = NULL, wanted[1024];
	struct scope_dir *dir = NULL;

	errno = EMFILE; /* left over from elsewhere: must not show */
	if (open_dir(f->scope, path, &dir, &name, &e) == 0)
		fail_msg("accepted: %s as %s", path, name);
	snprintf(wanted, sizeof(wanted),
		 "working_directory \"%.256s\" is not a directory inside the accessible "
		 "directories",
		 path);
	assert_int_equal(e.type, ERR_PATH_OUT_OF_SCOPE);
	assert_string_equal(e.message, wanted);
	assert_int_equal(e.sys, 0);
	assert_null(e.details);
	assert_non_null(strstr(err_hint_text(&e), "agent.session"));
	assert_null(dir);
	assert_null(name);
	err_release(&e);
}

static void test_scope_names(void **state)
{
	struct fixture *f = *state;
	const char *const *dirs = scope_directories(f->scope);

	assert_string_equal(scope_workspace(f->scope), scratch_path(&f->tmp, "ws"));
	assert_string_equal(dirs[0], scratch_path(&f->tmp, "ws"));
	assert_string_equal(dirs[1], scratch_path(&f->tmp, "extra"));
	assert_null(dirs[2]);
}

static void test_scope_opens_what_lies_inside(void **state)
{
	struct fixture *f = *state;
	char path[SCRATCH_PATH];

	assert_inside(f, NULL, "ws");
	assert_inside(f, "", "ws");
	assert_inside(f, ".", "ws");
	assert_inside(f, "sub", "ws/sub");
	assert_inside(f, "sub/", "ws/sub");
	assert_inside(f, "sub/deep/../..", "ws");
	assert_inside(f, "../ws/sub", "ws/sub");
	assert_inside(f, "link_in", "ws/sub/deep");
	assert_inside(f, "link_extra", "extra/in");
	assert_inside(f, "../extra", "extra");
	assert_inside(f, "../link_to_ws", "ws/sub");
	scratch_copy(&f->tmp, "ws/sub", path);
	assert_inside(f, path, "ws/sub");
	scratch_copy(&f->tmp, "extra/in", path);
	assert_inside(f, path, "extra/in");
	scratch_copy(&f->tmp, "link_to_ws", path);
	assert_inside(f, path, "ws/sub");
}

static void test_scope_refuses_what_lies_outside(void **state)
{
	static const char *const relative[] = {
		"..", "../ws_evil", "../outside", "sub/../..", "link_out", "link_out/x", "link_up",
		"link_magic", "../missing", "../dangling", "../loop", "link_out/missing",
		"link_dangling", "link_dangling/x", "link_file", "../ws/missing", "sub/../missing",
	};
	static const char *const absolute[] = {
		"ws_evil", "outside", "outside/x", "outside/missing", "missing", "missing/ws", "",
	};
	struct fixture *f = *state;
	char path[SCRATCH_PATH];

	for (size_t i = 0; i < sizeof(relative) / sizeof(relative[0]); i++)
		assert_outside(f, relative[i]);
	for (size_t i = 0; i < sizeof(absolute) / sizeof(absolute[0]); i++) {
		scratch_copy(&f->tmp, absolute[i], path);
		assert_outside(f, path);
	}
	assert_outside(f, "/");
	assert_outside(f, "/proc");
	assert_outside(f, "/proc/1");
	assert_outside(f, "/root/.ssh");
}

/* @path lies inside, and the message says @fault of it. */
static void assert_bad(struct fixture *f, const char *path, const char *fault)
{
	ERR_LOCAL(e);
	char *name = NULL;
	struct scope_dir *dir = NULL;

	assert_int_equal(open_dir(f->scope, path, &dir, &name, &e), -1);
	assert_int_equal(e.type, ERR_BAD_DIRECTORY);
	if (!strstr(e.message, fault))
		fail_msg("%s: %s", path ? path : "NULL", e.message);
	assert_null(dir);
	assert_null(name);
	err_release(&e);
}

static void test_scope_says_what_is_wrong_inside(void **state)
{
	struct fixture *f = *state;
	char path[SCRATCH_PATH], name[4096];

	assert_bad(f, "missing", ": missing does not exist");
	assert_bad(f, "sub/missing/deeper", ": sub/missing does not exist");
	assert_bad(f, "./sub//missing/", "sub//missing does not exist");
	assert_bad(f, "...", "... does not exist");
	assert_bad(f, "file", ": file is not a directory");
	assert_bad(f, "file/x", ": file is not a directory");
	assert_bad(f, "link_in/missing", ": link_in/missing does not exist");
	assert_bad(f, "link_extra/missing", "does not exist");
	scratch_copy(&f->tmp, "ws/sub/missing", path);
	assert_bad(f, path, "does not exist");
	scratch_copy(&f->tmp, "extra/missing", path);
	assert_bad(f, path, "does not exist");
	scratch_copy(&f->tmp, "link_to_ws/missing", path);
	assert_bad(f, path, "does not exist");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_bad(f, name, "x is longer than the name of a file may be");
	name[256] = '\0';
	assert_bad(f, name, "x is longer than the name of a file may be");
	name[255] = '\0';
	assert_bad(f, name, "x does not exist");
}

/* What the server may not enter: named inside, and as unknown as all the rest outside. */
static void test_scope_says_what_may_not_be_entered(void **state)
{
	struct fixture *f = *state;
	uid_t user = geteuid();

	scratch_mkdir(&f->tmp, "ws/shut");
	scratch_mkdir(&f->tmp, "ws/shut/in");
	scratch_link(&f->tmp, "shut", "ws/link_shut");
	assert_int_equal(chmod(scratch_path(&f->tmp, "ws"), 0755), 0);
	assert_int_equal(chmod(scratch_path(&f->tmp, "ws/shut"), 0), 0);
	assert_int_equal(chmod(scratch_path(&f->tmp, "outside"), 0), 0);
	if (!user)
		assert_int_equal(seteuid(65534), 0); /* root enters everything */
	assert_bad(f, "shut", ": shut may not be entered by the server");
	assert_bad(f, "shut/", ": shut may not be entered by the server");
	assert_bad(f, "shut/in", ": shut may not be entered by the server");
	assert_bad(f, "shut/missing", ": shut may not be entered by the server");
	assert_outside(f, "link_shut");
	assert_outside(f, "link_out");
	assert_outside(f, "link_out/x");
	assert_outside(f, "../outside");
	assert_int_equal(seteuid(user), 0);
	assert_int_equal(chmod(scratch_path(&f->tmp, "ws/shut"), 0700), 0);
	assert_int_equal(chmod(scratch_path(&f->tmp, "outside"), 0700), 0);
}

static void test_scope_says_that_the_workspace_is_gone(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	char path[SCRATCH_PATH];
	char *extra[] = { path, NULL };
	struct fixture gone = { .tmp = f->tmp };

	scratch_mkdir(&f->tmp, "short");
	scratch_copy(&f->tmp, "extra", path);
	gone.scope = scope_new(scratch_path(&f->tmp, "short"), extra, &e);
	assert_int_equal(rmdir(scratch_path(&f->tmp, "short")), 0);
	assert_bad(&gone, NULL, "was removed");
	assert_false(renew(gone.scope));
	scratch_link(&f->tmp, "extra", "short"); /* a command may have made it */
	scratch_copy(&f->tmp, "short", path);
	assert_false(renew(gone.scope));
	assert_bad(&gone, NULL, "was removed");
	assert_bad(&gone, ".", "was removed");
	assert_bad(&gone, "sub", "was removed");
	assert_int_equal(unlink(path), 0);
	scratch_mkdir(&f->tmp, "short"); /* another one of this name */
	assert_true(renew(gone.scope));
	assert_inside(&gone, NULL, "short");
	assert_false(renew(gone.scope));
	scratch_copy(&f->tmp, "extra/in", path);
	assert_inside(&gone, path, "extra/in");
	scope_free(gone.scope);
}

/* A call may wait for a human while another one renews the scope: the directory that was judged is
 * the one that its command gets. */
static void test_scope_keeps_what_is_held(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	struct scope_dir *first, *second, *later;
	struct stat before, now;
	char *names[3];
	struct scope *s;
	int fd;

	scratch_mkdir(&f->tmp, "short");
	s = scope_new(scratch_path(&f->tmp, "short"), NULL, &e);
	assert_int_equal(open_dir(s, NULL, &first, &names[0], &e), 0);
	assert_int_equal(open_dir(s, "", &second, &names[1], &e), 0);
	assert_int_equal(fstat(first->fd, &before), 0);
	assert_int_equal(rmdir(scratch_path(&f->tmp, "short")), 0);
	scratch_mkdir(&f->tmp, "short");
	assert_true(renew(s));
	assert_int_equal(open_dir(s, NULL, &later, &names[2], &e), 0);
	assert_int_equal(fstat(later->fd, &now), 0);
	assert_int_not_equal(now.st_ino, before.st_ino);
	scope_dir_drop(&first);
	scope_free(s);
	fd = second->fd;
	assert_int_equal(fstat(fd, &now), 0);
	assert_int_equal(now.st_ino, before.st_ino);
	scope_dir_drop(&second);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(later->fd, F_GETFD), FD_CLOEXEC);
	scope_dir_drop(&later);
	for (int i = 0; i < 3; i++)
		free(names[i]);
}

/* Even where the link leads inside: it would mean another directory to the client. */
static void test_scope_refuses_magic_links(void **state)
{
	struct fixture *f = *state;
	char here[4096], path[64];
	int fd = open(scratch_path(&f->tmp, "ws/sub"), O_PATH | O_DIRECTORY);

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(scratch_path(&f->tmp, "ws")), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_outside(f, "/proc/self/cwd");
	assert_outside(f, "/proc/self/cwd/sub");
	assert_outside(f, "link_magic");
	assert_outside(f, path);
	assert_int_equal(chdir(here), 0);
	close(fd);
}

static void test_scope_refuses_names_that_are_too_long(void **state)
{
	struct fixture *f = *state;
	char path[8192];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_outside(f, path);
	for (size_t i = 0; i + 1 < sizeof(path) - 1; i += 2)
		memcpy(path + i, "./", 2);
	assert_outside(f, path);
}

static void test_scope_checks_identity_not_names(void **state)
{
	struct fixture *f = *state;
	char from[SCRATCH_PATH], to[SCRATCH_PATH];

	/* The directory with the workspace's name is not the workspace any more. */
	scratch_copy(&f->tmp, "ws", from);
	scratch_copy(&f->tmp, "moved", to);
	assert_int_equal(rename(from, to), 0);
	scratch_mkdir(&f->tmp, "ws");
	scratch_mkdir(&f->tmp, "ws/sub");
	assert_outside(f, from);
	assert_inside(f, NULL, "moved");
	assert_inside(f, "sub", "moved/sub");
	assert_inside(f, to, "moved");
}

static void test_scope_follows_a_swapped_directory(void **state)
{
	struct fixture *f = *state;
	char sub[SCRATCH_PATH], outside[SCRATCH_PATH];

	scratch_copy(&f->tmp, "ws/sub", sub);
	scratch_copy(&f->tmp, "outside/sub", outside);
	assert_int_equal(rename(sub, outside), 0);
	scratch_link(&f->tmp, "../outside/sub", "ws/sub");
	assert_outside(f, "sub");
	assert_outside(f, "sub/deep");
	assert_int_equal(unlink(sub), 0);
	assert_int_equal(rename(outside, sub), 0);
	assert_inside(f, "sub/deep", "ws/sub/deep");
}

static void test_scope_nested_and_repeated_directories(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	char inner[SCRATCH_PATH], same[SCRATCH_PATH];
	char *list[] = { inner, same, NULL };

	scratch_copy(&f->tmp, "ws/sub/deep", inner);
	scratch_copy(&f->tmp, "ws/./sub/../sub", same);
	struct scope *s = scope_new(scratch_path(&f->tmp, "ws/sub"), list, &e);

	assert_non_null(s);
	assert_string_equal(scope_directories(s)[1], inner);
	assert_null(scope_directories(s)[2]);

	struct fixture nested = { .tmp = f->tmp, .scope = s };

	assert_inside(&nested, "deep", "ws/sub/deep");
	assert_outside(&nested, "..");
	assert_outside(&nested, "../link_up");
	scope_free(s);
}

static void test_scope_workspace_is_named_canonically(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	struct scope *s = scope_new(scratch_path(&f->tmp, "link_to_ws"), NULL, &e);

	assert_non_null(s);
	assert_string_equal(scope_workspace(s), scratch_path(&f->tmp, "ws/sub"));
	scope_free(s);
}

static void test_scope_of_the_root_holds_everything(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	struct fixture root = { .tmp = f->tmp, .scope = scope_new("/", NULL, &e) };

	assert_non_null(root.scope);
	assert_inside(&root, scratch_path(&f->tmp, "outside") + 1, "outside");
	scope_free(root.scope);
}

static void test_scope_beneath_goes_by_the_path_alone(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path, *rest; /* rest NULL: outside */
	} cases[] = {
		{ "x", "x" }, { "no/such/x", "no/such/x" }, { "link_out/x", "link_out/x" },
		{ "..x/y..", "..x/y.." }, { "..", NULL }, { "../ws/x", NULL }, { "a/../x", NULL },
		{ "a/..", NULL }, { "/", NULL }, { "/etc/passwd", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ERR_LOCAL(e);
		const char *dir = "cwd", *rest;
		int fd = -2;

		assert_int_equal(scope_beneath(f->scope, cases[i].path, &fd, &dir, &rest, &e),
				 cases[i].rest ? 0 : -1);
		if (cases[i].rest) {
			assert_string_equal(rest, cases[i].rest);
			assert_string_equal(dir, "cwd");
			assert_int_equal(fd, -2);
		} else {
			assert_int_equal(e.type, ERR_PATH_OUT_OF_SCOPE);
		}
		err_release(&e);
	}
}

static void test_scope_beneath_finds_the_directory_of_an_absolute_path(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *path, *dir, *rest; /* dir NULL: outside */
	} cases[] = {
		{ "ws/new", "ws", "/new" }, { "extra/in/new", "extra", "/in/new" },
		{ "ws", "ws", "" }, { "ws_evil/x", NULL, NULL }, { "outside/x", NULL, NULL },
		{ "link_to_ws/x", NULL, NULL }, { "ws/../outside/x", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ERR_LOCAL(e);
		char path[SCRATCH_PATH];
		const char *dir, *rest;
		int fd;

		scratch_copy(&f->tmp, cases[i].path, path);
		assert_int_equal(scope_beneath(f->scope, path, &fd, &dir, &rest, &e),
				 cases[i].dir ? 0 : -1);
		if (cases[i].dir) {
			assert_string_equal(rest, cases[i].rest);
			assert_string_equal(dir, scratch_path(&f->tmp, cases[i].dir));
			assert_true(fd >= 0);
		}
		err_release(&e);
	}
}

static void test_scope_new_refuses_what_is_no_directory(void **state)
{
	static const char *const bad[] = { "missing", "ws/file", "dangling", "loop" };
	struct fixture *f = *state;
	char path[SCRATCH_PATH];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ERR_LOCAL(e);
		char *list[] = { path, NULL };

		scratch_copy(&f->tmp, bad[i], path);
		assert_null(scope_new(path, NULL, &e));
		assert_int_equal(e.type, ERR_INVALID_PARAMS);
		assert_non_null(strstr(e.message, path));
		assert_null(scope_new(scratch_path(&f->tmp, "ws"), list, &e));
		err_release(&e);
	}
	scope_free(NULL);
}

static void test_scope_out_of_descriptors_is_no_verdict(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, low;
	ERR_LOCAL(e);
	char *name = NULL;
	struct scope_dir *dir = NULL;
	int next = open("/dev/null", O_RDONLY);

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int extra = 0; extra < 2; extra++) {
		/* None left, and one left where the walk upward needs another. */
		low = (struct rlimit){ .rlim_cur = (rlim_t)next + (rlim_t)extra,
				       .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		int status = open_dir(f->scope, "sub/deep", &dir, &name, &e);

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(status, -1);
		assert_int_equal(e.type, ERR_LIMIT_REACHED);
		err_release(&e);
	}
}

/* Make openat2(2) fail with @sys from now on, as old kernels and containers do. */
static int without_openat2(int sys)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)sys),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a child of its own: 0 when the fallback says what the real call says. */
static int fallback_check(const struct scope *s, int sys)
{
	static const char *const outside[] = {
		"..", "../outside", "link_out", "link_out/missing", "../ws_evil",
	};
	ERR_LOCAL(e);
	char *name = NULL;
	struct scope_dir *dir;

	if (without_openat2(sys) != 0)
		return 1;
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) != -1 || errno != sys)
		return 2;
	if (open_dir(s, "link_in/..", &dir, &name, &e) != 0 || !strstr(name, "/ws/sub"))
		return 3;
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		if (open_dir(s, outside[i], &dir, &name, &e) == 0 ||
		    e.type != ERR_PATH_OUT_OF_SCOPE)
			return 4;
	if (open_dir(s, "sub/missing", &dir, &name, &e) == 0 || e.type != ERR_BAD_DIRECTORY)
		return 5;
	return 0;
}

static void test_scope_without_openat2(void **state)
{
	static const int refusals[] = { ENOSYS, EPERM };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(fallback_check(f->scope, refusals[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static void test_scope_covers(void **state)
{
	static const struct {
		const char *path;
		bool covered;
	} cases[] = {
		{ "ws", true }, { "ws/", true }, { "ws/sub", true }, { "ws/new", true },
		{ "ws/new/a/b/", true }, { "ws/file", true }, { "ws/link_in/new", true },
		{ "link_to_ws/new", true }, { "extra/x", true }, { "outside/../ws/x", true },
		{ "ws_evil", false }, { "ws_evil/new", false }, { "outside", false },
		{ "new", false }, { "new/ws", false }, { "ws/link_out/new", false },
		{ "ws/link_up", false }, { "", false }, { "wsnew", false }, { "ws/../new", false },
		{ "new..", false }, { "new/..x", false },
		/* Where these will lead is not known: taken as covered. */
		{ "dangling", true }, { "dangling/", true }, { "dangling/x", true },
		{ "new/../ws", true },
	};
	struct fixture *f = *state;
	char path[SCRATCH_PATH];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scratch_copy(&f->tmp, cases[i].path, path);
		if (scope_covers(f->scope, path) != cases[i].covered)
			fail_msg("%s: should be %d", path, cases[i].covered);
	}
	assert_false(scope_covers(f->scope, "/"));
	assert_false(scope_covers(f->scope, "/no-such-directory/x"));
}

/* Links of very many names: the server must not follow them again for each name behind them. */
static void test_scope_follows_a_maze_few_times(void **state)
{
	struct fixture *f = *state;
	ERR_LOCAL(e);
	struct scope_dir *dir;
	char path[4096], *name = NULL;
	clock_t start, once = 0;
	int fd = -1;

	scratch_maze(&f->tmp, "ws");
	for (int try = 0; fd < 0 && try < 10; try++) {
		start = clock();
		fd = open(scratch_path(&f->tmp, "ws/l0"), O_PATH | O_CLOEXEC);
		once = clock() - start;
	}
	assert_true(fd >= 0);
	close(fd);

	strcpy(path, scratch_path(&f->tmp, "ws/l0"));
	for (int i = 0; i < 400; i++)
		strcat(path, "/x");
	start = clock();
	assert_true(scope_covers(f->scope, path));
	assert_in_range(clock() - start, 0, 100 * once);

	*path = '\0';
	for (int i = 0; i < 400; i++)
		strcat(path, "l0/");
	start = clock();
	assert_int_equal(open_dir(f->scope, path, &dir, &name, &e), -1);
	assert_in_range(clock() - start, 0, 100 * once);
	assert_int_equal(e.type, ERR_PATH_OUT_OF_SCOPE);
	err_release(&e);
}

static void test_scope_covers_any(void **state)
{
	static const char *const names[] = { "in", "b", NULL };
	static const struct {
		const char *dir, *link, *target; /* made before: dir/link leads to target */
		bool covered;
	} cases[] = {
		{ "outside", NULL, NULL, false }, { "ws", NULL, NULL, true },
		{ "ws/sub", NULL, NULL, true }, { "new/er", NULL, NULL, false },
		{ "link_to_ws", NULL, NULL, true }, { "dangling", NULL, NULL, true },
		{ "outside", "b", "gone", true }, { "outside", "b", "ws_evil", false },
		{ "outside", "b", "ws/sub", true },
	};
	struct fixture *f = *state;
	char dir[SCRATCH_PATH], link[SCRATCH_PATH + 8], target[SCRATCH_PATH];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		scratch_copy(&f->tmp, cases[i].dir, dir);
		if (cases[i].link) {
			scratch_copy(&f->tmp, cases[i].target, target);
			snprintf(link, sizeof(link), "%s/%s", dir, cases[i].link);
			assert_int_equal(symlink(target, link), 0);
		}
		if (scope_covers_any(f->scope, dir, names) != cases[i].covered)
			fail_msg("row %zu, %s: should be %d", i, dir, cases[i].covered);
		if (cases[i].link)
			assert_int_equal(unlink(link), 0);
	}
}

static void test_scope_finds_what_lies_below(void **state)
{
	static const struct {
		const char *dir;
		bool found;
	} cases[] = {
		{ ".", true }, { "ws", true }, { "ws/link_up", true }, { "link_to_ws", false },
		{ "ws/sub", false }, { "outside", false }, { "ws_evil", false }, { "none", false },
	};
	struct fixture *f = *state;
	char dir[SCRATCH_PATH];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *found;

		scratch_copy(&f->tmp, cases[i].dir, dir);
		found = scope_find_below(f->scope, dir);
		if (found != (cases[i].found ? scope_workspace(f->scope) : NULL))
			fail_msg("row %zu, %s: %s", i, dir, found ? found : "nothing");
	}
	assert_string_equal(scope_find_below(f->scope, "/"), scope_workspace(f->scope));
}

static int lowest_free_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void test_scope_leaks_no_descriptors(void **state)
{
	int before = lowest_free_descriptor();

	test_scope_opens_what_lies_inside(state);
	test_scope_refuses_what_lies_outside(state);
	test_scope_says_what_is_wrong_inside(state);
	test_scope_says_what_may_not_be_entered(state);
	test_scope_covers(state);
	test_scope_covers_any(state);
	test_scope_finds_what_lies_below(state);
	assert_int_equal(lowest_free_descriptor(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_scope_names),
		TEST(test_scope_opens_what_lies_inside),
		TEST(test_scope_refuses_what_lies_outside),
		TEST(test_scope_says_what_is_wrong_inside),
		TEST(test_scope_says_what_may_not_be_entered),
		TEST(test_scope_says_that_the_workspace_is_gone),
		TEST(test_scope_keeps_what_is_held),
		TEST(test_scope_refuses_magic_links),
		TEST(test_scope_refuses_names_that_are_too_long),
		TEST(test_scope_checks_identity_not_names),
		TEST(test_scope_follows_a_swapped_directory),
		TEST(test_scope_nested_and_repeated_directories),
		TEST(test_scope_workspace_is_named_canonically),
		TEST(test_scope_of_the_root_holds_everything),
		TEST(test_scope_beneath_goes_by_the_path_alone),
		TEST(test_scope_beneath_finds_the_directory_of_an_absolute_path),
		TEST(test_scope_new_refuses_what_is_no_directory),
		TEST(test_scope_out_of_descriptors_is_no_verdict),
		TEST(test_scope_without_openat2),
		TEST(test_scope_covers),
		TEST(test_scope_follows_a_maze_few_times),
		TEST(test_scope_covers_any),
		TEST(test_scope_finds_what_lies_below),
		TEST(test_scope_leaks_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
