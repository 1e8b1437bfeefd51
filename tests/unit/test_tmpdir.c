#include "unit.h"

#include <errno.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* The cleaner lowers its priority when it is set up, before its work. */
static void look_at_cleaner(int nice);
#define setpriority(which, who, nice) look_at_cleaner(nice)
#include "os/sandbox/tmpdir.c"
#undef setpriority

#include "children.h"
#include "scratch.h"

#define ORDINARY 65534 /* a user without rights, where we are root */
#define ONE "00000000000000a1"
#define TWO "00000000000000a2"
#define DEAD "00000000000000dd"
#define NO_MOUNTS 77

struct fixture {
	struct scratch s;
	struct children c;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->s);
	children_init(&f->c);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	children_release(&f->c);
	scratch_release(&f->s);
	free(f);
	return 0;
}

static bool is_there(struct fixture *f, const char *name)
{
	struct stat st;

	return !lstat(scratch_path(&f->s, name), &st);
}

static unsigned mode_of(struct fixture *f, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(scratch_path(&f->s, name), &st), 0);
	return st.st_mode & 07777;
}

static struct tmpdir *new(struct fixture *f, const char *instance)
{
	char parent[SCRATCH_PATH];

	scratch_copy(&f->s, "state", parent);
	return tmpdir_new(parent, instance, f->c.reaper);
}

static struct tmpdir *make(struct fixture *f, const char *instance)
{
	struct tmpdir *t = new(f, instance);
	ERR_LOCAL(e);

	if (tmpdir_make(t, &e))
		fail_msg("refused: %s", e.message);
	return t;
}

/* Create it, and wait for the cleaner. */
static void make_and_clean(struct fixture *f)
{
	struct tmpdir *t = make(f, ONE);

	assert_true(children_wait(&f->c, children_none, NULL));
	tmpdir_free(t);
}

static void make_place(struct fixture *f)
{
	scratch_mkdir(&f->s, "state");
	scratch_mkdir(&f->s, "state/tmp");
}

/* A killed server leaves both, and the lock file is not locked. */
static void leave_stale(struct fixture *f, const char *instance)
{
	char name[80];

	snprintf(name, sizeof(name), "state/tmp/%s.lock", instance);
	scratch_file(&f->s, name, "", 0200);
	snprintf(name, sizeof(name), "state/tmp/%s", instance);
	scratch_mkdir(&f->s, name);
	strcat(name, "/file");
	scratch_file(&f->s, name, "left", 0600);
}

static void test_tmpdir_is_made_late_and_private(void **state)
{
	struct fixture *f = *state;
	char parent[SCRATCH_PATH];
	ERR_LOCAL(e);
	struct tmpdir *t;
	mode_t before = umask(0);

	scratch_copy(&f->s, "deep/er/state", parent);
	t = tmpdir_new(parent, ONE, f->c.reaper);
	assert_false(is_there(f, "deep"));
	assert_int_equal(tmpdir_make(t, &e), 0);
	umask(before);
	assert_string_equal(tmpdir_path(t), scratch_path(&f->s, "deep/er/state/tmp/" ONE));
	assert_int_equal(mode_of(f, "deep/er/state"), 0700);
	assert_int_equal(mode_of(f, "deep/er/state/tmp"), 0700);
	assert_int_equal(mode_of(f, "deep/er/state/tmp/" ONE), 0700);
	assert_int_equal(mode_of(f, "deep/er/state/tmp/" ONE ".lock"), 0200);
	assert_int_equal(tmpdir_make(t, &e), 0); /* once */
	scratch_file(&f->s, "deep/er/state/tmp/" ONE "/file", "", 0600);
	assert_int_equal(chmod(tmpdir_path(t), 0555), 0); /* commands may do that */
	tmpdir_free(t);
	assert_false(is_there(f, "deep/er/state/tmp/" ONE));
	assert_false(is_there(f, "deep/er/state/tmp/" ONE ".lock"));
	assert_true(is_there(f, "deep/er/state/tmp"));
}

static void test_tmpdir_never_made_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	tmpdir_free(new(f, ONE));
	assert_false(is_there(f, "state"));
	tmpdir_free(NULL);
}

/* Refused for @why, and @where is named. */
static void expect_refused(struct fixture *f, struct tmpdir *t, const char *where, const char *why)
{
	ERR_LOCAL(e);

	assert_int_equal(tmpdir_make(t, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	if (!strstr(e.message, why) || !strstr(e.message, scratch_path(&f->s, where)))
		fail_msg("wrong reason: %s", e.message);
	assert_non_null(strstr(err_hint_text(&e), "--state-dir"));
	err_release(&e);
}

/* It works as soon as the cause is gone. */
static void test_tmpdir_that_cannot_be_made(void **state)
{
	struct fixture *f = *state;
	struct tmpdir *t = new(f, ONE);

	scratch_file(&f->s, "state", "", 0600);
	expect_refused(f, t, "state/tmp", "ENOTDIR");
	assert_int_equal(unlink(scratch_path(&f->s, "state")), 0);
	make_place(f);
	scratch_mkdir(&f->s, "elsewhere");
	scratch_link(&f->s, "../../elsewhere/file", "state/tmp/" ONE ".lock");
	expect_refused(f, t, "state/tmp/" ONE, "EEXIST");
	assert_true(is_there(f, "state/tmp/" ONE ".lock"));
	assert_false(is_there(f, "elsewhere/file"));
	assert_int_equal(unlink(scratch_path(&f->s, "state/tmp/" ONE ".lock")), 0);
	assert_int_equal(tmpdir_make(t, &(struct err){ .type = ERR_NONE }), 0);
	tmpdir_free(t);
	assert_true(is_there(f, "elsewhere"));
}

static void move(struct fixture *f, const char *from, const char *to)
{
	char path[SCRATCH_PATH];

	scratch_copy(&f->s, from, path);
	assert_int_equal(rename(path, scratch_path(&f->s, to)), 0);
}

/* What has come in the place of the directory: a link gives way, a directory of ours is used. The
 * lock is held all the time. */
static void test_tmpdir_replaced(void **state)
{
	struct fixture *f = *state;
	struct tmpdir *t = new(f, ONE);
	ERR_LOCAL(e);
	struct stat before, after;

	scratch_mkdir(&f->s, "elsewhere");
	assert_int_equal(tmpdir_make(t, &e), 0);
	assert_int_equal(stat(scratch_path(&f->s, "state/tmp/" ONE ".lock"), &before), 0);
	move(f, "state/tmp/" ONE, "old");
	scratch_link(&f->s, "../../elsewhere", "state/tmp/" ONE);
	assert_true(tmpdir_is_gone(t));
	tmpdir_forget(t);
	assert_int_equal(tmpdir_make(t, &e), 0);
	assert_false(tmpdir_is_gone(t));
	assert_int_equal(mode_of(f, "state/tmp/" ONE), 0700);
	assert_true(is_there(f, "elsewhere"));
	assert_false(is_there(f, "elsewhere/" TMPDIR_SHARED_MEMORY));

	move(f, "state/tmp/" ONE, "old2");
	scratch_mkdir(&f->s, "state/tmp/" ONE);
	scratch_file(&f->s, "state/tmp/" ONE "/kept", "", 0600);
	assert_true(tmpdir_is_gone(t));
	tmpdir_forget(t);
	assert_int_equal(tmpdir_make(t, &e), 0);
	assert_true(is_there(f, "state/tmp/" ONE "/kept"));
	assert_int_equal(stat(scratch_path(&f->s, "state/tmp/" ONE ".lock"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	tmpdir_free(t);
	assert_false(is_there(f, "state/tmp/" ONE));
	assert_false(is_there(f, "state/tmp/" ONE ".lock"));
}

/* A place that exists and may be another user's is not used, and nothing in it is removed. */
static void test_tmpdir_place_must_be_ours(void **state)
{
	static const unsigned modes[] = { 0755, 0711, 0777, 01777, 0750, 0770, 0500, 04700 };
	struct fixture *f = *state;
	struct tmpdir *t = new(f, ONE);
	char place[SCRATCH_PATH];

	make_place(f);
	leave_stale(f, DEAD);
	scratch_copy(&f->s, "state/tmp", place);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		char why[40];

		snprintf(why, sizeof(why), "mode is %04o instead of 0700", modes[i]);
		assert_int_equal(chmod(place, modes[i]), 0);
		expect_refused(f, t, "state/tmp", why);
		assert_int_equal(mode_of(f, "state/tmp"), modes[i]);
	}
	assert_int_equal(chmod(place, 0700), 0);
	if (!geteuid()) {
		assert_int_equal(chown(place, 1, 1), 0);
		expect_refused(f, t, "state/tmp", "belongs to uid 1");
		assert_int_equal(chown(place, 0, 0), 0);
	}
	assert_int_equal(rename(place, scratch_path(&f->s, "elsewhere")), 0);
	scratch_link(&f->s, "../elsewhere", "state/tmp");
	expect_refused(f, t, "state/tmp", "ENOTDIR");
	assert_true(is_there(f, "elsewhere/" DEAD "/file"));
	assert_int_equal(unlink(scratch_path(&f->s, "state/tmp")), 0);
	assert_int_equal(tmpdir_make(t, &(struct err){ .type = ERR_NONE }), 0);
	tmpdir_free(t);
}

/* Directories inherit this bit; and where users pass through, the mode comes after the directory. */
static void test_tmpdir_place_that_we_began(void **state)
{
	struct fixture *f = *state;
	char parent[SCRATCH_PATH];
	struct tmpdir *first, *t;

	make_place(f);
	scratch_mkdir(&f->s, "state/tmp-users");
	assert_int_equal(chmod(scratch_path(&f->s, "state/tmp"), 02700), 0);
	first = make(f, ONE);
	assert_int_equal(mode_of(f, "state/tmp"), 0700);
	scratch_copy(&f->s, "state", parent);
	t = tmpdir_new_for_users(parent, ONE, f->c.reaper); /* in the same parent */
	assert_int_equal(tmpdir_make(t, &(struct err){ .type = ERR_NONE }), 0);
	assert_int_equal(mode_of(f, "state/tmp-users"), 0711);
	tmpdir_free(t);
	tmpdir_free(first);
}

/* Beside a lock that is none of ours. */
static void leave_for_others(struct fixture *f)
{
	char lock[SCRATCH_PATH];

	leave_stale(f, "0000000000000001");
	scratch_copy(&f->s, "state/tmp/0000000000000001.lock", lock);
	assert_int_equal(chmod(lock, 0600), 0);
	leave_stale(f, "0000000000000002");
	scratch_file(&f->s, "state/tmp/0000000000000002.lock", "text", 0200);
	leave_stale(f, "0000000000000003");
	scratch_copy(&f->s, "state/tmp/0000000000000003.lock", lock);
	assert_int_equal(link(lock, scratch_path(&f->s, "second")), 0);
	leave_stale(f, "0000000000000004");
	scratch_copy(&f->s, "state/tmp/0000000000000004.lock", lock);
	assert_int_equal(unlink(lock), 0);
	scratch_link(&f->s, DEAD ".lock", "state/tmp/0000000000000004.lock");
	leave_stale(f, "0000000000000005");
	scratch_copy(&f->s, "state/tmp/0000000000000005.lock", lock);
	if (!geteuid())
		assert_int_equal(chown(lock, 1, 1), 0);
	else
		assert_int_equal(unlink(lock), 0);
}

/* Beside a lock that is ours and free: no directory, or not ours. */
static void leave_no_directory(struct fixture *f)
{
	scratch_file(&f->s, "state/tmp/0000000000000006.lock", "", 0200);
	scratch_file(&f->s, "state/tmp/0000000000000006", "", 0600);
	scratch_file(&f->s, "state/tmp/0000000000000007.lock", "", 0200);
	scratch_link(&f->s, "../my", "state/tmp/0000000000000007");
	leave_stale(f, "0000000000000008");
	if (!geteuid())
		assert_int_equal(chown(scratch_path(&f->s, "state/tmp/0000000000000008"), 1, 1), 0);
	else
		assert_int_equal(unlink(scratch_path(&f->s, "state/tmp/0000000000000008.lock")), 0);
}

/* Only an unlocked lock file of ours is proof; everything else stays. */
static void test_tmpdir_cleans_up_after_the_dead_only(void **state)
{
	static const char *const others[] = {
		"state/tmp-0123456789abcdef/", "state/tmp-0123456789abcdef/file", "state/tmp-x",
		"state/" DEAD "/", "state/" DEAD ".lock", "state/audit/", "state/my/", "state/my/file",
		"state/tmp/0123456789abcdef/", "state/tmp/0123456789abcdef/file",
		"state/tmp/0123456789abcdeF/", "state/tmp/0123456789abcdeF.lock",
		"state/tmp/" DEAD "0/", "state/tmp/" DEAD "0.lock", "state/tmp/tmp-" DEAD "/",
		"state/tmp/x/", "state/tmp/x.lock", "state/tmp/.lock", "state/tmp/file",
	};
	struct fixture *f = *state;
	struct tmpdir *living;
	char name[80];

	make_place(f);
	living = make(f, TWO);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i][strlen(others[i]) - 1] == '/')
			scratch_mkdir(&f->s, others[i]);
		else
			scratch_file(&f->s, others[i], "", 0600);
	leave_for_others(f);
	leave_no_directory(f);
	leave_stale(f, DEAD);
	make_and_clean(f);
	assert_false(is_there(f, "state/tmp/" DEAD));
	assert_false(is_there(f, "state/tmp/" DEAD ".lock"));
	assert_true(is_there(f, "state/tmp/" TWO));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_true(is_there(f, others[i]));
	for (int i = 1; i <= 8; i++) {
		snprintf(name, sizeof(name), "state/tmp/000000000000000%d", i);
		assert_true(is_there(f, name));
	}
	assert_true(is_there(f, "state/tmp/0000000000000003/file"));
	assert_true(is_there(f, "state/tmp/0000000000000008/file"));
	tmpdir_free(living);
}

/* Make it look a minute old. */
static void make_older(struct fixture *f, const char *name)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= 60;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, scratch_path(&f->s, name), times, 0), 0);
}

/* Killed at any point, a server leaves nothing that a later one would not remove. */
static void test_tmpdir_killed_at_any_point(void **state)
{
	struct fixture *f = *state;

	make_place(f);
	scratch_file(&f->s, "state/tmp/" DEAD ".lock", "", 0200); /* before, and after, the directory */
	make_and_clean(f);
	assert_true(is_there(f, "state/tmp/" DEAD ".lock")); /* its server may be about to lock
							      * it */
	make_older(f, "state/tmp/" DEAD ".lock");
	make_and_clean(f);
	assert_false(is_there(f, "state/tmp/" DEAD ".lock"));
	leave_stale(f, DEAD);
	assert_int_equal(chmod(scratch_path(&f->s, "state/tmp/" DEAD), 0), 0);
	make_and_clean(f);
	assert_false(is_there(f, "state/tmp/" DEAD));
	assert_int_equal(rmdir(scratch_path(&f->s, "state/tmp")), 0); /* nothing else is left */
}

/* A process that still has the descriptor keeps the lock, as a server that lives does. */
static void test_tmpdir_lock_ends_with_the_process(void **state)
{
	struct fixture *f = *state;
	int ready[2], hold[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (!pid) {
		make(f, DEAD);
		close(hold[1]);
		(void)!write(ready[1], "x", 1);
		(void)!read(hold[0], &byte, 1);
		_exit(0); /* without tmpdir_free(), as after SIGKILL */
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	tmpdir_free(make(f, ONE));
	assert_true(is_there(f, "state/tmp/" DEAD));
	close(hold[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	make_and_clean(f);
	assert_false(is_there(f, "state/tmp/" DEAD));
	close(ready[0]);
	close(ready[1]);
	close(hold[0]);
}

static const char *cleaner_tells; /* a FIFO in which a cleaner lists its descriptors, and goes no
				   * further; NULL: it does its work */

static void look_at_cleaner(int nice)
{
	char list[256] = "";
	int tell;

	setpriority(PRIO_PROCESS, 0, nice);
	if (!cleaner_tells)
		return;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%d ", fd);
	tell = open(cleaner_tells, O_WRONLY | O_CLOEXEC);
	(void)!write(tell, list, strlen(list) + 1);
	sleep(2 * CHILDREN_WAIT_MS / 1000);
	_exit(0);
}

/* In a child, the server: its cleaner begins. */
_Noreturn static void begin_cleaner(struct fixture *f)
{
	(void)fcntl(2, F_DUPFD, 100);
	make(f, ONE);
	sleep(2 * CHILDREN_WAIT_MS / 1000);
	_exit(0);
}

/* It holds no descriptor of the server, such as a pipe whose end somebody waits for: only the place
 * and the ways for log lines. It dies with the server. */
static void test_tmpdir_cleaner_holds_nothing(void **state)
{
	struct fixture *f = *state;
	char path[SCRATCH_PATH], list[256] = "";
	struct pollfd told;
	pid_t server;

	make_place(f);
	leave_stale(f, DEAD);
	scratch_copy(&f->s, "told", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	told = (struct pollfd){ .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), .events = POLLIN };
	cleaner_tells = path;
	server = fork();
	if (!server)
		begin_cleaner(f);
	cleaner_tells = NULL;
	assert_int_equal(poll(&told, 1, CHILDREN_WAIT_MS), 1);
	assert_true(read(told.fd, list, sizeof(list)) > 0);
	kill(server, SIGKILL);
	assert_int_equal(waitpid(server, NULL, 0), server);
	assert_string_equal(list, "0 1 2 ");
	told.events = 0; /* but the end of its writers */
	assert_int_equal(poll(&told, 1, CHILDREN_WAIT_MS), 1);
	close(told.fd);
}

/* tmpdir_free() waits a moment for the cleaner, although the loop does not run. */
static void test_tmpdir_end_waits_for_the_cleaner(void **state)
{
	struct fixture *f = *state;
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	make_place(f);
	leave_stale(f, DEAD);
	do
		tmpdir_free(make(f, ONE));
	while (is_there(f, "state/tmp/" DEAD) && clock_mono_ms() < until);
	assert_false(is_there(f, "state/tmp/" DEAD));
}

/* Run @body in a child: assert_*() does not reach out of one, so failures are statuses. */
static int in_child(struct fixture *f, int (*body)(struct fixture *f))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(body(f));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Each server finds what the last one left; every third is killed at its end. */
static int live(struct fixture *f)
{
	char instance[IDS_INSTANCE_SIZE], file[SCRATCH_PATH];
	ERR_LOCAL(e);
	struct tmpdir *t;
	int fd;

	ids_instance(instance);
	t = new(f, instance);
	if (tmpdir_make(t, &e)) {
		print_error("%s\n", e.message);
		return 1;
	}
	snprintf(file, sizeof(file), "%s/file", tmpdir_path(t));
	fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
	usleep((useconds_t)(instance[0] % 4) * 500);
	if (fd < 0 || access(file, F_OK))
		return 2;
	close(fd);
	if (instance[1] % 3)
		tmpdir_free(t);
	return 0;
}

static int live_many_times(struct fixture *f)
{
	for (int i = 0; i < 60; i++)
		if (in_child(f, live))
			return 3;
	return 0;
}

static void test_tmpdir_many_servers_at_once(void **state)
{
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;
	struct fixture *f = *state;
	int status;

	make_place(f);
	for (int i = 0; i < 6; i++)
		if (!fork())
			_exit(live_many_times(f));
	while (waitpid(-1, &status, 0) > 0) /* also of the cleaner that was killed with its
					     * server */
		assert_true(status == 0 || WIFSIGNALED(status));
	do
		make_and_clean(f);
	while (rmdir(scratch_path(&f->s, "state/tmp")) && clock_mono_ms() < until);
	assert_false(is_there(f, "state/tmp"));
}

/* The log lines while @t ends, or while a server with instance ONE cleans up and ends. */
static const char *said(struct fixture *f, struct tmpdir *t)
{
	int out = open(scratch_path(&f->s, "stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	int before = dup(STDERR_FILENO);
	static char text[2048];
	ssize_t len;

	assert_true(dup2(out, STDERR_FILENO) >= 0);
	if (t)
		tmpdir_free(t);
	else
		make_and_clean(f);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	len = pread(out, text, sizeof(text) - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	close(out);
	return text;
}

static int set_flags(struct fixture *f, const char *name, int flags)
{
	int fd = open(scratch_path(&f->s, name), O_RDONLY);
	int result = ioctl(fd, FS_IOC_SETFLAGS, &flags);

	close(fd);
	return result;
}

/* Each server names what cannot be removed, and removes everything else. */
static void test_tmpdir_names_what_stays(void **state)
{
	struct fixture *f = *state;
	struct tmpdir *t = make(f, TWO);
	const char *text;

	scratch_file(&f->s, "state/tmp/" TWO "/fixed", "", 0600);
	scratch_file(&f->s, "state/tmp/" TWO "/gone", "", 0600);
	if (set_flags(f, "state/tmp/" TWO "/fixed", FS_IMMUTABLE_FL) < 0) {
		tmpdir_free(t);
		print_message("SKIP: no file can be made immutable here\n");
		skip();
	}
	for (int i = 0; i < 2; i++, t = NULL) {
		text = said(f, t);
		assert_non_null(strstr(text, "state/tmp/" TWO " still holds 1 temporary files"));
		assert_non_null(strstr(text, "\"fixed\" cannot be removed: Operation not permitted"));
		assert_non_null(strstr(text, "the next procpen that uses"));
		assert_false(is_there(f, "state/tmp/" TWO "/gone"));
		assert_true(is_there(f, "state/tmp/" TWO ".lock"));
	}
	assert_int_equal(set_flags(f, "state/tmp/" TWO "/fixed", 0), 0);
	assert_string_equal(said(f, NULL), "");
	assert_false(is_there(f, "state/tmp/" TWO));
}

/* It also names directories that have our names but not our modes. */
static void test_tmpdir_names_what_it_leaves_alone(void **state)
{
	struct fixture *f = *state;

	make_place(f);
	leave_stale(f, DEAD);
	assert_int_equal(chmod(scratch_path(&f->s, "state/tmp/" DEAD ".lock"), 0600), 0);
	assert_non_null(strstr(said(f, NULL), "state/tmp/" DEAD " and its lock are not as procpen"));
	assert_true(is_there(f, "state/tmp/" DEAD "/file"));
}

/* A file system with room for a few names, all taken by a dead server's. */
static int make_on_a_full_disk(struct fixture *f)
{
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;
	ERR_LOCAL(e);
	struct tmpdir *t;
	char name[80];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", scratch_path(&f->s, "state"), "tmpfs", 0, "nr_inodes=40,mode=700"))
		return NO_MOUNTS;
	scratch_mkdir(&f->s, "state/tmp");
	leave_stale(f, DEAD);
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "state/tmp/" DEAD "/%d", i);
		if (mkdir(scratch_path(&f->s, name), 0700))
			break;
	}
	t = new(f, ONE);
	while (tmpdir_make(t, &e)) { /* usually: the cleaner may be faster */
		if (e.sys != ENOSPC || clock_mono_ms() > until)
			return 1;
		err_release(&e);
		usleep(1000);
	}
	tmpdir_free(t);
	return is_there(f, "state/tmp/" DEAD) ? 2 : 0;
}

/* The removal may free the space that is missing, so it comes first. */
static void test_tmpdir_on_a_full_disk(void **state)
{
	struct fixture *f = *state;
	int result;

	scratch_mkdir(&f->s, "state");
	result = in_child(f, make_on_a_full_disk);
	if (result == NO_MOUNTS) {
		print_message("SKIP: no mounts can be made here\n");
		skip();
	}
	assert_int_equal(result, 0);
}

static void test_tmpdir_for_users(void **state)
{
	struct fixture *f = *state;
	char parent[SCRATCH_PATH];
	ERR_LOCAL(e);
	struct tmpdir *t;
	struct stat st;
	mode_t before = umask(077);

	if (geteuid()) {
		umask(before);
		print_message("SKIP: only root can give a directory away\n");
		skip();
	}
	scratch_copy(&f->s, "users", parent);
	t = tmpdir_new_for_users(parent, ONE, f->c.reaper);
	assert_int_equal(tmpdir_make_for(t, ORDINARY, ORDINARY, &e), 0);
	assert_int_equal(tmpdir_make_for(t, ORDINARY, ORDINARY, &e), 0);
	assert_int_equal(tmpdir_make_for(t, 1, 1, &e), 0);
	umask(before);
	assert_int_equal(mode_of(f, "users"), 0711);
	assert_int_equal(mode_of(f, "users/tmp-users"), 0711);
	assert_int_equal(mode_of(f, "users/tmp-users/" ONE), 0711);
	assert_int_equal(mode_of(f, "users/tmp-users/" ONE ".lock"), 0200);
	assert_int_equal(stat(scratch_path(&f->s, "users/tmp-users/" ONE "/65534"), &st), 0);
	assert_int_equal(st.st_uid, ORDINARY);
	assert_int_equal(st.st_gid, ORDINARY);
	assert_int_equal(st.st_mode & 07777, 0700);
	scratch_file(&f->s, "users/tmp-users/" ONE "/65534/file", "", 0600);
	tmpdir_free(t);
	assert_false(is_there(f, "users/tmp-users/" ONE));
	assert_false(is_there(f, "users/tmp-users/" ONE ".lock"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tmpdir_is_made_late_and_private),
		TEST(test_tmpdir_never_made_leaves_nothing),
		TEST(test_tmpdir_that_cannot_be_made),
		TEST(test_tmpdir_replaced),
		TEST(test_tmpdir_place_must_be_ours),
		TEST(test_tmpdir_place_that_we_began),
		TEST(test_tmpdir_cleans_up_after_the_dead_only),
		TEST(test_tmpdir_killed_at_any_point),
		TEST(test_tmpdir_lock_ends_with_the_process),
		TEST(test_tmpdir_cleaner_holds_nothing),
		TEST(test_tmpdir_end_waits_for_the_cleaner),
		TEST(test_tmpdir_many_servers_at_once),
		TEST(test_tmpdir_names_what_stays),
		TEST(test_tmpdir_names_what_it_leaves_alone),
		TEST(test_tmpdir_on_a_full_disk),
		TEST(test_tmpdir_for_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
