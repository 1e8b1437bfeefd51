/*
 * Real children under a filter that tells; they send their listener as the shim
 * does. Where the kernel has none (before 5.0) the tests skip.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/sandbox/seccomp_unotify.h"
#include "os/sandbox/seccomp.h"
#include "send_fd.h"

#define WAIT_MS 60000 /* a bound; every wait ends with its condition */

static struct ev_loop *loop;
static ev_timer tick;

static void on_tick(struct ev_loop *l, ev_timer *w, int revents)
{
	(void)l;
	(void)w;
	(void)revents;
}

static int setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	loop = loop_new();
	ev_timer_init(&tick, on_tick, 0.005, 0.005);
	ev_timer_start(loop, &tick);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ev_timer_stop(loop, &tick);
	loop_free(loop);
	return 0;
}

struct child {
	pid_t pid;
	int listener;
	int status;
};

static void give_fd(int to, int fd)
{
	if (send_fd(to, &(char){ 'x' }, 1, fd) != 1)
		_exit(101);
	close(fd);
}

static int receive_fd(int from)
{
	char bytes[CMSG_SPACE(sizeof(int))], byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = bytes,
				  .msg_controllen = sizeof(bytes) };
	int fd;

	assert_int_equal(recvmsg(from, &message, MSG_CMSG_CLOEXEC), 1);
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* A child that does @work under the filter; its status is what @work returns. */
static struct child start(int (*work)(void))
{
	struct confine_seccomp_options options = { .notify = true };
	ERR_LOCAL(e);
	struct child child;
	struct sock_fprog program;
	size_t len;
	int pair[2];

	if (!confine_seccomp_can_notify()) {
		print_message("SKIP this kernel has no listeners (Linux 5.0)\n");
		skip();
	}
	assert_int_equal(confine_seccomp_build(&options, &program.filter, &len, &e), 0);
	program.len = (unsigned short)len;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	child.pid = fork();
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		give_fd(pair[1], (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
		_exit(work());
	}
	close(pair[1]);
	child.listener = receive_fd(pair[0]);
	close(pair[0]);
	free(program.filter);
	return child;
}

/* Run the loop until the child is over; its exit status, or -signal. */
static int finish(struct child *child)
{
	int64_t until = clock_mono_ms() + WAIT_MS;

	while (waitpid(child->pid, &child->status, WNOHANG) == 0) {
		if (clock_mono_ms() > until) {
			kill(child->pid, SIGKILL);
			waitpid(child->pid, &child->status, 0);
			fail_msg("the child got no answer");
		}
		ev_run(loop, EVRUN_ONCE);
	}
	return WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -WTERMSIG(child->status);
}

static int outcome(long nr, long a0)
{
	errno = 0;
	return syscall(nr, a0, 0, 0, 0, 0) == -1 ? errno : 0;
}

static int some_calls(void)
{
	if (outcome(SYS_mount, 0) != EPERM || outcome(SYS_mount, 1) != EPERM)
		return 1;
	if (outcome(SYS_socket, AF_VSOCK) != EAFNOSUPPORT)
		return 2;
	if (outcome(435, 0) != ENOSYS) /* clone3: no notification */
		return 3;
	return outcome(SYS_getpid, 0);
}

static void test_denials_counts_by_call(void **state)
{
	struct child child = start(some_calls);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
	const struct denial *list;
	size_t count;

	(void)state;
	assert_non_null(d);
	assert_int_equal(finish(&child), 0);
	list = seccomp_unotify_list(d, &count);
	assert_int_equal(count, 2);
	assert_string_equal(list[0].name, "mount");
	assert_int_equal(list[0].count, 2);
	assert_int_equal(list[0].error, EPERM);
	assert_string_equal(list[1].name, "socket");
	assert_int_equal(list[1].error, EAFNOSUPPORT);
	assert_int_equal(seccomp_unotify_others(d), 0);
	seccomp_unotify_free(d);
}

/* Counts stay when it is stopped; stopping twice, and nothing at all, are fine. */
static void test_denials_stop(void **state)
{
	struct child child = start(some_calls);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
	size_t count;

	(void)state;
	assert_int_equal(finish(&child), 0);
	seccomp_unotify_stop(d);
	seccomp_unotify_stop(d);
	assert_int_equal(fcntl(child.listener, F_GETFD), -1);
	seccomp_unotify_list(d, &count);
	assert_int_equal(count, 2);
	seccomp_unotify_free(d);
	seccomp_unotify_stop(NULL);
	seccomp_unotify_free(NULL);
	assert_null(seccomp_unotify_list(NULL, &count));
	assert_int_equal(count, 0);
	assert_int_equal(seccomp_unotify_others(NULL), 0);
}

static int refused_without_listener(void)
{
	while (outcome(SYS_mount, 0) != ENOSYS) /* EPERM until it is gone */
		;
	return outcome(SYS_chroot, 0) == ENOSYS ? 0 : 1;
}

/* Without its listener the filter still allows nothing. */
static void test_denials_gone_means_refused(void **state)
{
	struct child child = start(refused_without_listener);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
	const struct denial *list;
	size_t count = 0;

	(void)state;
	while (!count) {
		ev_run(loop, EVRUN_ONCE);
		list = seccomp_unotify_list(d, &count);
	}
	assert_int_equal(list[0].error, EPERM);
	seccomp_unotify_free(d);
	assert_int_equal(finish(&child), 0);
}

static int many_calls(void)
{
	for (int i = 0; i < 1300; i++)
		if (outcome(SYS_mount, 0) != EPERM)
			return 1;
	return 0;
}

static void test_denials_flood_is_counted(void **state)
{
	struct child child = start(many_calls);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
	const struct denial *list;
	size_t count;

	(void)state;
	assert_int_equal(finish(&child), 0);
	list = seccomp_unotify_list(d, &count);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].count, 1300);
	seccomp_unotify_free(d);
}

static int call_until_killed(void)
{
	while (outcome(SYS_mount, 0) == EPERM)
		;
	return 1;
}

/* Callers that die while they wait: the loop must not block on messages that are gone. */
static void test_denials_caller_killed(void **state)
{
	(void)state;
	for (int round = 0; round < 50; round++) {
		struct child child = start(call_until_killed);
		struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
		struct pollfd there = { .fd = child.listener, .events = POLLIN };

		for (int i = 0; i < round % 5; i++)
			ev_run(loop, EVRUN_ONCE);
		assert_int_equal(poll(&there, 1, WAIT_MS), 1); /* it waits for us now */
		kill(child.pid, SIGKILL);
		if (round % 2)
			waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
		assert_int_equal(finish(&child), -SIGKILL);
		ev_run(loop, EVRUN_NOWAIT);
		seccomp_unotify_free(d);
	}
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* Signals interrupt the waiting; the call is made again and still refused. */
static int interrupted_calls(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 300 || !signals; i++) {
		int result = outcome(SYS_mount, 0);

		if (result != EPERM && result != EINTR)
			return result;
	}
	return 0;
}

static void test_denials_interrupted(void **state)
{
	struct child child = start(interrupted_calls);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);

	(void)state;
	assert_int_equal(finish(&child), 0);
	seccomp_unotify_free(d);
}

static int different_calls(void)
{
	static const int calls[] = {
		SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_acct, SYS_swapon, SYS_swapoff,
		SYS_sethostname, SYS_setdomainname, SYS_init_module, SYS_delete_module, SYS_finit_module,
		SYS_kexec_load, SYS_syslog, SYS_vhangup, SYS_quotactl, SYS_settimeofday, SYS_clock_settime,
		SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, SYS_request_key, SYS_keyctl,
		SYS_fanotify_init, SYS_migrate_pages, SYS_move_pages, SYS_unshare, SYS_setns,
		425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443, 450, 467, 470,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (outcome(calls[i], 0) != EPERM)
			return 1;
	return 0;
}

static void test_denials_more_than_it_names(void **state)
{
	struct child child = start(different_calls);
	struct seccomp_unotify *d = seccomp_unotify_new(loop, child.listener);
	size_t count;

	(void)state;
	assert_int_equal(finish(&child), 0);
	seccomp_unotify_list(d, &count);
	assert_int_equal(count, SECCOMP_UNOTIFY_MAX);
	assert_int_equal(seccomp_unotify_others(d), 43 - SECCOMP_UNOTIFY_MAX);
	seccomp_unotify_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_denials_counts_by_call),
		cmocka_unit_test(test_denials_stop),
		cmocka_unit_test(test_denials_gone_means_refused),
		cmocka_unit_test(test_denials_flood_is_counted),
		cmocka_unit_test(test_denials_caller_killed),
		cmocka_unit_test(test_denials_interrupted),
		cmocka_unit_test(test_denials_more_than_it_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
