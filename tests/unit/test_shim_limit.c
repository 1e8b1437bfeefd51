/* The limits that the shim enforces, and those of its plan: the real shim with plans of our own. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "os/procfs.h"
#include "os/shim/proto.h"
#include "os/spawn/shim_image.h"

#define WAIT_MS 60000 /* longer than any of these takes */
#define MIB ((uint64_t)1 << 20)

struct shim {
	pid_t pid;
	int control;
};

static const struct shim_limits no_limits;

static void become_shim(int control, const char *script)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, strdup(script), NULL };
	char *envp[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	ERR_LOCAL(e);
	int image = shim_image_fd(&e), null = open("/dev/null", O_RDWR);
	int cwd = open("/tmp", O_PATH | O_DIRECTORY);
	const int fds[] = { null, null, null, control, cwd, image };
	sigset_t all;

	/* As the server starts it: it hears of its children by a descriptor. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 6; i++) /* above all places first */
		if (dup2(fds[i], 50 + i) < 0)
			_exit(9);
	for (int i = 0; i < 5; i++)
		dup2(50 + i, i);
	close_range(5, 54, 0);
	fcntl(55, F_SETFD, FD_CLOEXEC);
	fexecve(55, argv, envp);
	_exit(9);
}

/* A filter of @instructions, which allows all. 0: none. */
static struct shim start_filtered(const char *script, const struct shim_limits *limits,
				  uint32_t instructions)
{
	static struct shim_plan plan;
	static const char path[] = "/bin/sh";
	struct sock_filter *filter = (void *)plan.tail;
	char *at = (char *)(filter + instructions);
	struct shim k;
	int pair[2];

	memset(&plan, 0, sizeof(plan));
	plan.flags = SHIM_ANNOUNCE;
	plan.umask = 022;
	plan.landlock_fd = -1;
	plan.path_len = sizeof(path) - 1;
	plan.limits = *limits;
	plan.filter_len = instructions;
	plan.flags |= instructions ? SHIM_SECCOMP | SHIM_NO_NEW_PRIVS : 0;
	for (uint32_t i = 0; i < instructions; i++)
		filter[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0);
	if (instructions)
		filter[instructions - 1] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	memcpy(at, path, sizeof(path)); /* and an empty working directory behind it */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	at += sizeof(path) + 1;
	assert_true(send(pair[0], &plan, (size_t)(at - (char *)&plan), 0) > 0);
	k.pid = fork();
	assert_true(k.pid >= 0);
	if (k.pid == 0)
		become_shim(pair[1], script);
	close(pair[1]);
	k.control = pair[0];
	return k;
}

static struct shim start(const char *script, const struct shim_limits *limits)
{
	return start_filtered(script, limits, 0);
}

/* The next report. */
static struct shim_report hear(const struct shim *k)
{
	struct pollfd wait = { .fd = k->control, .events = POLLIN };
	struct shim_report report = { .event = 0 };

	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	if (recv(k->control, &report, sizeof(report), 0) < 0 && errno == ECONNRESET)
		assert_true(recv(k->control, &report, sizeof(report), 0) > 0);
	return report;
}

/* All that comes; the one of @event, if it is among them, and the last. */
static bool hear_all(const struct shim *k, enum shim_event event, struct shim_report *found,
		     struct shim_report *last)
{
	bool seen = false;

	do {
		*last = hear(k);
		if (last->event == (uint32_t)event) {
			*found = *last;
			seen = true;
		}
		assert_int_not_equal(last->event, SHIM_FAILED);
		assert_int_not_equal(last->event, 0);
	} while (last->event != SHIM_EMPTY && !last->empty);
	return seen;
}

static void ask(const struct shim *k, enum shim_command command, int arg)
{
	struct shim_request request = { .command = (uint32_t)command, .arg = arg };

	assert_int_equal(send(k->control, &request, sizeof(request), 0), sizeof(request));
}

static void finish(struct shim *k)
{
	close(k->control);
	assert_int_equal(waitpid(k->pid, NULL, 0), k->pid);
}

static void pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void test_watch_nothing(void **state)
{
	struct shim k = start("head -c 60000000 /dev/zero | tail -c 50000000 >/dev/null",
				&no_limits);
	struct shim_report report, last;

	(void)state;
	assert_false(hear_all(&k, SHIM_LIMITED, &report, &last));
	assert_int_equal(last.memory_peak_bytes, 0);
	assert_true(last.maxrss_kib > 40000);
	finish(&k);
}

/* No process reads the output of tail, so it keeps its memory until it is killed. */
static void test_watch_memory(void **state)
{
	const struct shim_limits limits = { .memory_bytes = 20 * MIB };
	struct shim k = start("head -c 60000000 /dev/zero | tail -c 50000000 | sleep 60",
				&limits);
	struct shim_report report, last;

	(void)state;
	assert_true(hear_all(&k, SHIM_LIMITED, &report, &last));
	assert_int_equal(report.value, SHIM_LIMIT_MEMORY);
	assert_true(report.memory_peak_bytes > 20 * MIB);
	assert_int_equal(last.event, SHIM_EMPTY);
	assert_true(last.memory_peak_bytes >= report.memory_peak_bytes);
	finish(&k);
}

static void test_watch_memory_within(void **state)
{
	const struct shim_limits limits = { .memory_bytes = 200 * MIB };
	struct shim k = start("head -c 60000000 /dev/zero | (tail -c 50000000; sleep 0.5) "
				">/dev/null", &limits);
	struct shim_report report, last;

	(void)state;
	assert_false(hear_all(&k, SHIM_LIMITED, &report, &last));
	assert_true(last.memory_peak_bytes < 100 * MIB);
	finish(&k);
}

static void test_watch_tasks(void **state)
{
	static const char many[] = "for i in $(seq 30); do sleep 60 & done; wait";
	static const char script[] = "for i in $(seq 30); do sleep 1 & done; wait";
	const struct shim_limits limits = { .tasks = 10 }, more = { .tasks = 100 };
	struct shim_report report, last;
	struct shim k = start(many, &limits);

	(void)state;
	assert_true(hear_all(&k, SHIM_LIMITED, &report, &last));
	assert_int_equal(report.value, SHIM_LIMIT_TASKS);
	assert_true(report.live > 10);
	finish(&k);
	k = start(script, &more);
	assert_false(hear_all(&k, SHIM_LIMITED, &report, &last));
	finish(&k);
}

/* As many as the limit says may live; one more is too many, and it is counted. */
static void test_watch_tasks_at_the_limit(void **state)
{
	static const char all[] = "for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait";
	static const char one_more[] = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 60 & done; wait";
	const struct shim_limits limits = { .tasks = 10 };
	struct shim_report report, last;
	struct shim k = start(all, &limits);

	(void)state;
	assert_false(hear_all(&k, SHIM_LIMITED, &report, &last));
	finish(&k);
	k = start(one_more, &limits);
	assert_true(hear_all(&k, SHIM_LIMITED, &report, &last));
	assert_int_equal(report.live, 11);
	finish(&k);
}

/* Let an endless loop run for @ms or a little more: how much of a core has it got, in permille? */
static int64_t share_of(const struct shim_limits *limits, int ms)
{
	int64_t start_us = clock_mono_us(), span_us;
	struct shim k = start("while :; do :; done", limits);
	struct shim_report report, last;

	assert_int_equal(hear(&k).event, SHIM_STARTED);
	pause_ms(ms);
	assert_int_equal(shutdown(k.control, SHUT_WR), 0); /* a kill */
	hear_all(&k, SHIM_EXITED, &report, &last);
	span_us = clock_mono_us() - start_us;
	finish(&k);
	return (int64_t)last.cpu_us * 1000 / span_us;
}

/* Others may be busy here: then it gets less without a limit, and the shim is late, which counts
 * for less in a longer time. */
static void test_watch_cpu(void **state)
{
	const struct shim_limits limits = { .cpu_permille = 20 };
	int64_t free = 0, limited = 1000;

	(void)state;
	for (int i = 0; i < 8 && free < 90; i++)
		free = share_of(&no_limits, 1000);
	if (free < 90) {
		print_message("SKIP: others leave too little of the processor to show a limit\n");
		skip();
	}
	for (int ms = 2000; ms <= 18000 && limited > 80; ms *= 3)
		limited = share_of(&limits, ms);
	assert_in_range(limited, 0, 80);
}

static char state_of(pid_t pid)
{
	struct procread_stat st;

	assert_int_equal(procread_stat(pid, &st), 0);
	return st.state;
}

static void wait_for_state(pid_t pid, char state)
{
	int tries = WAIT_MS;

	while (state_of(pid) != state && tries--)
		pause_ms(1);
	assert_true(tries > 0);
}

/* A stop that was asked for is not undone by the limit, which stops and continues all the time. */
static void test_watch_cpu_leaves_a_stop_alone(void **state)
{
	const struct shim_limits limits = { .cpu_permille = 100 };
	struct shim k = start("while :; do :; done", &limits);
	struct shim_report report = hear(&k), last;
	pid_t command = report.value;

	(void)state;
	assert_int_equal(report.event, SHIM_STARTED);
	for (int round = 0; round < 5; round++) {
		pause_ms(60 + 7 * round);
		ask(&k, SHIM_SIGNAL, SIGSTOP);
		report = hear(&k);
		assert_int_equal(report.event, SHIM_SIGNALED);
		assert_int_equal(report.error, 0);
		wait_for_state(command, 'T'); /* it has to run to notice */
		for (int i = 0; i < 40; i++) {
			pause_ms(5);
			assert_int_equal(state_of(command), 'T');
		}
		ask(&k, SHIM_SIGNAL, SIGCONT);
		assert_int_equal(hear(&k).event, SHIM_SIGNALED);
		wait_for_state(command, 'R');
	}
	assert_int_equal(shutdown(k.control, SHUT_WR), 0); /* a kill */
	hear_all(&k, SHIM_EXITED, &report, &last);
	finish(&k);
}

static void test_plan_with_the_longest_filter(void **state)
{
	struct shim k = start_filtered("exit 7", &no_limits, SHIM_FILTER_MAX);
	struct shim_report report, last;

	(void)state;
	assert_true(hear_all(&k, SHIM_EXITED, &report, &last));
	assert_int_equal(WEXITSTATUS(report.value), 7);
	finish(&k);
}

static void test_plan_with_a_longer_filter(void **state)
{
	struct shim k = start_filtered("exit 7", &no_limits, SHIM_FILTER_MAX + 1);
	struct shim_report report = hear(&k);

	(void)state;
	assert_int_equal(report.event, SHIM_FAILED);
	assert_int_equal(report.value, SHIM_STAGE_PLAN);
	finish(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch_nothing),
		cmocka_unit_test(test_watch_memory),
		cmocka_unit_test(test_watch_memory_within),
		cmocka_unit_test(test_watch_tasks),
		cmocka_unit_test(test_watch_tasks_at_the_limit),
		cmocka_unit_test(test_watch_cpu),
		cmocka_unit_test(test_watch_cpu_leaves_a_stop_alone),
		cmocka_unit_test(test_plan_with_the_longest_filter),
		cmocka_unit_test(test_plan_with_a_longer_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
