/*
 * without - runs a program as on a kernel that lacks some system calls.
 *
 *     without FEATURE PROGRAM [ARGUMENT]...
 *
 * An outer filter answers the calls of FEATURE with the error that such a kernel
 * gives. Features are named in the table below. For landlock_abi2 a child answers, as
 * long as PROGRAM lives.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 8
#define NEW_NAMESPACES 0x7e020000u /* CLONE_NEW*: NS CGROUP UTS IPC USER PID NET */

static const struct {
	const char *name;
	int error;
	int calls[CALLS_MAX]; /* ended by -1 */
} features[] = {
	{ "pidfd", ENOSYS, { SYS_pidfd_open, SYS_pidfd_send_signal, SYS_pidfd_getfd, -1 } },
	{ "close_range", ENOSYS, { SYS_close_range, -1 } },
	{ "openat2", ENOSYS, { SYS_openat2, -1 } },
	{ "landlock", ENOSYS, { SYS_landlock_create_ruleset, SYS_landlock_add_rule,
				SYS_landlock_restrict_self, -1 } },
	{ "landlock_switched_off", EOPNOTSUPP, { SYS_landlock_create_ruleset, -1 } },
	{ "landlock_refused", EPERM, { SYS_landlock_restrict_self, -1 } },
	{ "new_mounts", ENOSYS, { SYS_open_tree, SYS_move_mount, SYS_mount_setattr, -1 } },
	{ "mount", EPERM, { SYS_mount, SYS_mount_setattr, SYS_move_mount, -1 } },
	{ "clone3", ENOSYS, { SYS_clone3, -1 } },
	{ "splice", EINVAL, { SYS_splice, -1 } },
	/* by arguments, see below */
	{ "namespaces", EPERM, { -1 } },
	{ "user_namespaces", ENOSPC, { -1 } }, /* user.max_user_namespaces=0 */
	/* a new user namespace that gives nothing */
	{ "ambient", EPERM, { -1 } },
	{ "bounding", EPERM, { -1 } },
	{ "devpts", EPERM, { -1 } },
	{ "log_size", EIO, { -1 } },  /* the size of a log file that is written to */
	{ "landlock_abi2", 0, { -1 } }, /* Linux 5.19 to 6.1 */
	{ "seccomp_listener", EINVAL, { -1 } },
	{ "epoll_watches", ENOSPC, { -1 } }, /* the user has no more: fs.epoll.max_user_watches */
};

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)(error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))

static int install(struct sock_filter *code, size_t len)
{
	struct sock_fprog program = { (unsigned short)len, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int without_calls(const int *calls, int error)
{
	struct sock_filter code[2 * CALLS_MAX + 2] = { LOAD(offsetof(struct seccomp_data, nr)) };
	size_t len = 1;

	for (; *calls >= 0; calls++) {
		code[len++] = (struct sock_filter)IS((unsigned)*calls, 0, 1);
		code[len++] = (struct sock_filter)ANSWER(error);
	}
	code[len++] = (struct sock_filter)ALLOW;
	return install(code, len);
}

/* Refuse @nr when its @argument has one of @bits. */
static int without_bits(unsigned nr, int argument, unsigned bits, int error)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(nr, 1, 0),
		ALLOW,
		LOAD(ARGUMENT(argument)),
		HAS(bits, 0, 1),
		ANSWER(error),
		ALLOW,
	};

	return install(code, sizeof(code) / sizeof(*code));
}

/* Refuse @nr when its @argument is @value, which procpen gives to one call alone. */
static int without_value(unsigned nr, int argument, unsigned value, int error)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(nr, 1, 0),
		ALLOW,
		LOAD(ARGUMENT(argument)),
		IS(value, 0, 1),
		ANSWER(error),
		ALLOW,
	};

	return install(code, sizeof(code) / sizeof(*code));
}

/* Answer each call that the filter of @listener holds up with @value. */
static void answer_calls(int listener, int value)
{
	struct pollfd wait = { .fd = listener, .events = POLLIN };
	struct seccomp_notif call;

	while (poll(&wait, 1, -1) == 1 && wait.revents & POLLIN) {
		memset(&call, 0, sizeof(call));
		if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
			ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND,
			      &(struct seccomp_notif_resp){ .id = call.id, .val = value });
	}
}

/* landlock_create_ruleset(2) says @abi when it is asked for its version, which is flag 1. */
static int with_landlock_abi(int abi)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(SYS_landlock_create_ruleset, 1, 0),
		ALLOW,
		LOAD(ARGUMENT(2)),
		IS(1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		ALLOW,
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
	int listener;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		return -1;
	fcntl(listener, F_SETFD, FD_CLOEXEC);
	switch (fork()) {
	case -1:
		return -1;
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the filter is ours, too: it never hangs up */
		signal(SIGHUP, SIG_IGN);
		setsid();
		close_range(0, (unsigned)listener - 1, 0);
		close_range((unsigned)listener + 1, ~0u, 0);
		answer_calls(listener, abi);
		_exit(0);
	default:
		return 0;
	}
}

/* prctl(@option) with @second, or with anything when that is negative. */
static int without_prctl(int error, unsigned option, int second)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(SYS_prctl, 1, 0),
		ALLOW,
		LOAD(ARGUMENT(0)),
		IS(option, 1, 0),
		ALLOW,
		LOAD(ARGUMENT(1)),
		IS((unsigned)second, 0, second < 0 ? 0 : 1),
		ANSWER(error),
		ALLOW,
	};

	return install(code, sizeof(code) / sizeof(*code));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(features) / sizeof(*features); i++) {
		int error = features[i].error, result;

		if (strcmp(features[i].name, argv[1]))
			continue;
		if (!strcmp(argv[1], "namespaces"))
			result = without_bits(SYS_clone, 0, NEW_NAMESPACES, error); /* as procpen does */
		else if (!strcmp(argv[1], "user_namespaces"))
			result = without_bits(SYS_clone, 0, CLONE_NEWUSER, error);
		else if (!strcmp(argv[1], "ambient"))
			result = without_prctl(error, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE);
		else if (!strcmp(argv[1], "bounding"))
			result = without_prctl(error, PR_CAPBSET_DROP, -1);
		else if (!strcmp(argv[1], "devpts"))
			result = without_value(SYS_mount, 3, MS_NOSUID | MS_NOEXEC, error);
		else if (!strcmp(argv[1], "log_size"))
			result = without_value(SYS_statx, 3, STATX_SIZE | STATX_MTIME, error);
		else if (!strcmp(argv[1], "epoll_watches"))
			result = without_value(SYS_epoll_ctl, 1, EPOLL_CTL_ADD, error);
		else if (!strcmp(argv[1], "landlock_abi2"))
			result = with_landlock_abi(2);
		else if (!strcmp(argv[1], "seccomp_listener"))
			result = without_bits(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, error);
		else
			result = without_calls(features[i].calls, error);
		if (!result)
			execvp(argv[2], argv + 2);
		perror("without");
		return 126;
	}
	fprintf(stderr, "usage: without FEATURE PROGRAM [ARGUMENT]...\n");
	return 2;
}
