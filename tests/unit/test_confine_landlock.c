#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/mem.h"
#include "os/sandbox/landlock.h"
#include "scratch.h"

#define NEWEST 7 /* the last ABI that confine_landlock knows something about */

static struct scratch tmp;
static int listener;            /* an abstract socket of ours, outside of every ruleset */
static struct sockaddr_un name; /* its address */
static socklen_t name_len;

/* ---- what a command may try; each returns 0 or errno ---- */

static int result(int returned)
{
	return returned < 0 ? errno : 0;
}

static int open_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int open_and_close(const char *path, int flags)
{
	return open_path(scratch_path(&tmp, path), flags);
}

static int two_paths(int (*call)(const char *, const char *), const char *a, const char *b)
{
	char first[SCRATCH_PATH];

	scratch_copy(&tmp, a, first);
	return result(call(first, scratch_path(&tmp, b)));
}

/* A function for the directory in, and one for out; @call uses path, or AT(name) below it. */
#define ON_PATH(verb, place, call) \
	static int verb##_##place(void) \
	{ \
		const char *path = scratch_path(&tmp, #place); \
		char full[SCRATCH_PATH + 16]; \
		(void)full; \
		return (call); \
	}
#define AT(name) (snprintf(full, sizeof(full), "%s/" name, path), full)
#define BOTH(verb, call) ON_PATH(verb, in, call) ON_PATH(verb, out, call)

BOTH(write, open_path(AT("file"), O_WRONLY))
BOTH(append, open_path(AT("file"), O_WRONLY | O_APPEND))
BOTH(read, open_path(AT("file"), O_RDONLY))
BOTH(list, open_path(path, O_RDONLY | O_DIRECTORY))
BOTH(create, open_path(AT("new"), O_WRONLY | O_CREAT))
BOTH(mkdir, result(mkdir(AT("newdir"), 0700)))
BOTH(rmdir, result(rmdir(AT("dir"))))
BOTH(unlink, result(unlink(AT("file"))))
BOTH(symlink, result(symlink("x", AT("newlink"))))
BOTH(fifo, result(mkfifo(AT("newfifo"), 0600)))
BOTH(truncate, result(truncate(AT("file"), 1)))
BOTH(chmod, result(chmod(AT("file"), 0640)))
BOTH(char_device, result(mknod(AT("device"), S_IFCHR | 0600, makedev(1, 3))))
BOTH(block_device, result(mknod(AT("device"), S_IFBLK | 0600, makedev(7, 0))))

static int bind_below(const char *where)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), sys;

	scratch_path(&tmp, where);
	assert_true(strlen(tmp.path) < sizeof(a.sun_path));
	memcpy(a.sun_path, tmp.path, strlen(tmp.path));
	sys = result(bind(fd, (void *)&a, sizeof(a)));
	close(fd);
	return sys;
}

static int bind_in(void) { return bind_below("in/s"); }
static int bind_out(void) { return bind_below("out/s"); }
static int rename_in(void) { return two_paths(rename, "in/file", "in/moved"); }
static int rename_out(void) { return two_paths(rename, "out/file", "out/moved"); }
static int rename_between(void) { return two_paths(rename, "in/file", "in/dir/moved"); }
static int link_between(void) { return two_paths(link, "in/file", "in/dir/linked"); }
static int rename_away(void) { return two_paths(rename, "in/file", "out/moved"); }
static int rename_here(void) { return two_paths(rename, "out/file", "in/moved"); }
static int link_here(void) { return two_paths(link, "out/file", "in/linked"); }
static int truncate_open_out(void) { return open_and_close("out/file", O_WRONLY | O_TRUNC); }
static int write_by_link(void) { return open_and_close("in/link_out", O_WRONLY); }
static int write_by_dots(void) { return open_and_close("in/../out/file", O_WRONLY); }
static int write_prefix(void) { return open_and_close("in_evil/file", O_WRONLY); }
static int write_led_to(void) { return open_and_close("led/file", O_WRONLY); }
static int write_named_file(void) { return open_and_close("single", O_WRONLY); }
static int write_beside_named(void) { return open_and_close("single_evil", O_WRONLY); }

static int write_null(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int sys = fd < 0 ? errno : result((int)write(fd, "x", 1));

	close(fd);
	return sys;
}

/* A device that is not in the list: its ioctl is ENOTTY where it is let through. */
static int ioctl_device(void)
{
	int fd = open(scratch_path(&tmp, "out/device"), O_RDONLY | O_CLOEXEC), sys;
	struct termios t;

	if (fd < 0)
		return errno;
	sys = result(ioctl(fd, TCGETS, &t));
	close(fd);
	return sys == ENOTTY ? 0 : sys;
}

static int ioctl_pty(int mode)
{
	int fd = open("/dev/ptmx", mode | O_NOCTTY | O_CLOEXEC), sys;
	struct termios t;

	if (fd < 0)
		return errno;
	sys = result(ioctl(fd, TCGETS, &t));
	close(fd);
	return sys;
}

static int pty_opened(void)
{
	return ioctl_pty(O_RDWR);
}

static int pty_opened_for_ioctl(void)
{
	return ioctl_pty(O_ACCMODE);
}

static int execute(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(errno);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : EINVAL;
}

static int signal_parent(void) { return result(kill(getppid(), 0)); }

static int signal_child(void)
{
	pid_t pid = fork();
	int sys;

	if (!pid) {
		pause();
		_exit(0);
	}
	sys = result(kill(pid, SIGKILL));
	if (!sys)
		waitpid(pid, NULL, 0);
	return sys;
}

static int connect_to(const struct sockaddr_un *address, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int sys = result(connect(fd, (const void *)address, len));

	close(fd);
	return sys;
}

static int connect_abstract(void) { return connect_to(&name, name_len); }

static int connect_own_abstract(void)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(own);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), sys;

	sys = result(bind(fd, (void *)&own, sizeof(own.sun_family))); /* autobind */
	if (!sys)
		sys = result(listen(fd, 1)) || result(getsockname(fd, (void *)&own, &len));
	if (!sys)
		sys = connect_to(&own, len);
	close(fd);
	return sys;
}

/* Denied from ABI @first to @last with @error; 0, 0: never. */
static const struct row {
	const char *name;
	int (*action)(void);
	int first, last, error;
	bool privileged; /* only root can do it at all */
} rows[] = {
	{ "write inside", write_in, 0, 0, 0, false },
	{ "write outside", write_out, 1, NEWEST, EACCES, false },
	{ "append inside", append_in, 0, 0, 0, false },
	{ "append outside", append_out, 1, NEWEST, EACCES, false },
	{ "read inside", read_in, 0, 0, 0, false },
	{ "read outside", read_out, 0, 0, 0, false },
	{ "list inside", list_in, 0, 0, 0, false },
	{ "list outside", list_out, 0, 0, 0, false },
	{ "execute", execute, 0, 0, 0, false },
	{ "create inside", create_in, 0, 0, 0, false },
	{ "create outside", create_out, 1, NEWEST, EACCES, false },
	{ "mkdir inside", mkdir_in, 0, 0, 0, false },
	{ "mkdir outside", mkdir_out, 1, NEWEST, EACCES, false },
	{ "rmdir inside", rmdir_in, 0, 0, 0, false },
	{ "rmdir outside", rmdir_out, 1, NEWEST, EACCES, false },
	{ "unlink inside", unlink_in, 0, 0, 0, false },
	{ "unlink outside", unlink_out, 1, NEWEST, EACCES, false },
	{ "symlink inside", symlink_in, 0, 0, 0, false },
	{ "symlink outside", symlink_out, 1, NEWEST, EACCES, false },
	{ "fifo inside", fifo_in, 0, 0, 0, false },
	{ "fifo outside", fifo_out, 1, NEWEST, EACCES, false },
	{ "socket inside", bind_in, 0, 0, 0, false },
	{ "socket outside", bind_out, 1, NEWEST, EACCES, false },
	{ "rename inside", rename_in, 0, 0, 0, false },
	{ "rename outside", rename_out, 1, NEWEST, EACCES, false },
	/* What ABI 1 does not know it refuses everywhere. */
	{ "rename to another directory", rename_between, 1, 1, EXDEV, false },
	{ "link in another directory", link_between, 1, 1, EXDEV, false },
	{ "move away", rename_away, 1, NEWEST, -1, false },
	{ "move here", rename_here, 1, NEWEST, -1, false },
	{ "link here", link_here, 1, NEWEST, -1, false },
	{ "truncate inside", truncate_in, 0, 0, 0, false },
	{ "truncate outside", truncate_out, LANDLOCK_ABI_TRUNCATE, NEWEST, EACCES, false },
	{ "open and truncate outside", truncate_open_out, 1, NEWEST, EACCES, false },
	{ "write outside by a link", write_by_link, 1, NEWEST, EACCES, false },
	{ "write outside by dots", write_by_dots, 1, NEWEST, EACCES, false },
	{ "write where a link has taken the place", write_led_to, 1, NEWEST, EACCES, false },
	{ "write in a longer name", write_prefix, 1, NEWEST, EACCES, false },
	{ "write a named file", write_named_file, 0, 0, 0, false },
	{ "write beside a named file", write_beside_named, 1, NEWEST, EACCES, false },
	{ "character device inside", char_device_in, 1, NEWEST, EACCES, true },
	{ "block device inside", block_device_in, 1, NEWEST, EACCES, true },
	{ "character device outside", char_device_out, 1, NEWEST, EACCES, true },
	{ "block device outside", block_device_out, 1, NEWEST, EACCES, true },
	{ "write /dev/null", write_null, 0, 0, 0, false },
	{ "new terminal", pty_opened, 1, NEWEST, EACCES, false },
	/* Why the filter refuses this mode. */
	{ "new terminal, access mode 3", pty_opened_for_ioctl, LANDLOCK_ABI_IOCTL, NEWEST, EACCES, false },
	{ "ioctl of another device", ioctl_device, LANDLOCK_ABI_IOCTL, NEWEST, EACCES, true },
	{ "signal outside", signal_parent, LANDLOCK_ABI_SCOPE, NEWEST, EPERM, false },
	{ "signal inside", signal_child, 0, 0, 0, false },
	{ "abstract socket outside", connect_abstract, LANDLOCK_ABI_SCOPE, NEWEST, EPERM, false },
	{ "abstract socket inside", connect_own_abstract, 0, 0, 0, false },
	/* The gap that the report names: it becomes a failure here when a kernel closes it. */
	{ "chmod inside", chmod_in, 0, 0, 0, false },
	{ "chmod outside", chmod_out, 0, 0, 0, false },
};

/* ---- one attempt ---- */

static void make_side(const char *side)
{
	char path[64];

	scratch_mkdir(&tmp, side);
	snprintf(path, sizeof(path), "%s/file", side);
	scratch_file(&tmp, path, "text", 0600);
	snprintf(path, sizeof(path), "%s/dir", side);
	scratch_mkdir(&tmp, path);
}

/* A fresh set of files for each attempt: some change them. */
static void make_place(void)
{
	scratch_init(&tmp);
	make_side("in");
	make_side("out");
	make_side("in_evil");
	scratch_file(&tmp, "single", "", 0600);
	scratch_file(&tmp, "single_evil", "", 0600);
	scratch_link(&tmp, "../out/file", "in/link_out");
	make_side("elsewhere");
	scratch_link(&tmp, "elsewhere", "led");
}

/* What @row says in a process below @ruleset (-1: none). */
static int attempt(const struct row *row, int ruleset)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (ruleset >= 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
				     syscall(SYS_landlock_restrict_self, ruleset, 0)))
			_exit(255);
		_exit(row->action());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	return WEXITSTATUS(status);
}

static int attempt_with(const struct row *row, int abi)
{
	char inside[SCRATCH_PATH], single[SCRATCH_PATH], missing[SCRATCH_PATH], led[SCRATCH_PATH];
	const char *writable[] = { inside, missing, led, single, NULL };
	ERR_LOCAL(e);
	int ruleset = -1, sys;

	make_place();
	if (row->action == ioctl_device) /* if we may; else the action says that it is not there */
		(void)!mknod(scratch_path(&tmp, "out/device"), S_IFCHR | 0600, makedev(1, 3));
	scratch_copy(&tmp, "in", inside);
	scratch_copy(&tmp, "single", single);
	scratch_copy(&tmp, "missing", missing);
	scratch_copy(&tmp, "led", led);
	if (abi) {
		ruleset = confine_landlock_build(
			abi, &(struct confine_landlock_rules){ .writable = writable }, &e);
		assert_true(ruleset >= 0);
		assert_int_equal(fcntl(ruleset, F_GETFD), FD_CLOEXEC);
	}
	sys = attempt(row, ruleset);
	if (ruleset >= 0)
		close(ruleset);
	scratch_release(&tmp);
	return sys;
}

static void expect_row(const struct row *row, int abi)
{
	bool denied = abi >= row->first && abi <= row->last;
	int open = attempt_with(row, 0), sys;

	if (open && row->privileged && geteuid()) {
		print_message("SKIP: %s: only root can\n", row->name);
		return;
	}
	if (open == ENXIO || open == ENOENT || open == ENODEV || (open && row->action == ioctl_device)) {
		print_message("SKIP: %s: not here (errno %d)\n", row->name, open);
		return;
	}
	if (open)
		fail_msg("%s fails without a ruleset: errno %d", row->name, open);
	sys = attempt_with(row, abi);
	if (denied ? !(row->error < 0 ? sys == EACCES || sys == EXDEV : sys == row->error) : sys)
		fail_msg("%s, ABI %d: errno %d, %s is right", row->name, abi, sys,
			 denied ? "a refusal" : "0");
}

static void test_abi(void **state)
{
	int abi = *(const int *)*state;

	if (abi > confine_landlock_abi()) {
		print_message("SKIP: this kernel has ABI %d\n", confine_landlock_abi());
		skip();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_row(&rows[i], abi);
}

/* A kernel that is asked for more than it knows refuses: nothing is entered by halves. */
static void test_confine_landlock_refuses_what_it_cannot(void **state)
{
	int abi = confine_landlock_abi();
	ERR_LOCAL(e);

	(void)state;
	if (abi >= LANDLOCK_ABI_SCOPE) {
		print_message("SKIP: this kernel knows all that is asked for\n");
		skip();
	}
	assert_int_equal(confine_landlock_build(NEWEST, &(struct confine_landlock_rules){ 0 }, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	err_release(&e);
}

static const char *other_device;

static int open_other_device(void)
{
	return open_path(other_device, O_RDONLY | O_NONBLOCK);
}

/* Whatever the ABI: a device that cannot be opened takes no ioctl. */
static void test_confine_landlock_other_devices(void **state)
{
	static const char *const candidates[] = { "/dev/fuse", "/dev/loop-control", "/dev/kvm",
						  "/dev/rtc0" };
	static const struct row row = { "another device", open_other_device, 1, NEWEST, EACCES, false };
	ERR_LOCAL(e);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(candidates) && !other_device; i++)
		if (!open_path(candidates[i], O_RDONLY | O_NONBLOCK))
			other_device = candidates[i];
	if (!other_device) {
		print_message("SKIP: no device that could be opened without Landlock\n");
		skip();
	}
	for (int abi = 1; abi <= confine_landlock_abi() && abi <= NEWEST; abi++) {
		int ruleset = confine_landlock_build(abi, &(struct confine_landlock_rules){ 0 }, &e);

		assert_true(ruleset >= 0);
		assert_int_equal(attempt(&row, ruleset), EACCES);
		close(ruleset);
	}
}

static void count(void *ctx, const char *gap)
{
	assert_non_null(strstr(gap, "Landlock"));
	++*(int *)ctx;
}

static void test_confine_landlock_gaps(void **state)
{
	static const int want[] = { 4, 4, 3, 2, 2, 1, 0, 0 };

	(void)state;
	for (int abi = 0; abi <= NEWEST; abi++) {
		int gaps = 0;

		confine_landlock_gaps(abi, count, &gaps);
		assert_int_equal(gaps, want[abi]);
	}
}

static int setup(void **state)
{
	(void)state;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	name.sun_family = AF_UNIX;
	name_len = sizeof(name);
	if (bind(listener, (void *)&name, sizeof(name.sun_family)) || listen(listener, 64) ||
	    getsockname(listener, (void *)&name, &name_len))
		return -1;
	return 0;
}

#define ABI(n) \
	{ \
		.name = "test_confine_landlock_abi_" #n, .test_func = test_abi, \
		.initial_state = (int[]){ n } \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ABI(1),
		ABI(2),
		ABI(3),
		ABI(4),
		ABI(5),
		ABI(6),
		ABI(7),
		cmocka_unit_test(test_confine_landlock_refuses_what_it_cannot),
		cmocka_unit_test(test_confine_landlock_gaps),
		cmocka_unit_test(test_confine_landlock_other_devices),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
