#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "no_watches.h"

#include "os/cgroup/group.h"
#include "proc/limits.h"

#define EXITED(code) ((code) << 8) /* wait(2) statuses */
#define SIGNALED(number) (number)

static const struct confine_run plain_run;

static struct limits made(const struct confine_request *request, const struct confine_run *run)
{
	struct limits l;

	limits_init(&l, request, run);
	return l;
}

static void count_text(void *ctx, const char *text)
{
	strcat(strcat(ctx, text), " ");
}

static void expect_texts(const struct limits *l, const char *want)
{
	char texts[200] = "";

	limits_each(l, count_text, texts);
	assert_string_equal(texts, want);
}

static void test_limits_holders(void **state)
{
	const struct confine_request all = {
		.memory_bytes = 1, .cpu_permille = 2, .tasks = 3,
	};
	const struct confine_request none = { .memory_bytes = 0 };
	struct confine_run run = { .watched_memory = true, .watched_tasks = true };
	struct limits l;

	(void)state;
	l = made(&none, &plain_run);
	expect_texts(&l, "");
	run.cgroup = (void *)&run; /* only compared with NULL */
	l = made(&all, &run);
	expect_texts(&l, "memory_limit:sampled cpu_limit:cgroup process_limit:counted ");
	run.rlimited_tasks = true; /* the group has only the other limits */
	run.watched_tasks = false;
	l = made(&all, &run);
	expect_texts(&l, "memory_limit:sampled cpu_limit:cgroup process_limit:rlimit ");
	run = (struct confine_run){
		.watched_cpu = true, .watched_memory = true, .rlimited_tasks = true,
	};
	l = made(&all, &run);
	expect_texts(&l, "memory_limit:sampled cpu_limit:duty_cycle process_limit:rlimit ");
	assert_int_equal(l.memory_bytes, 1);
	assert_int_equal(l.tasks, 3);
}

static void test_limits_of_a_wait_status(void **state)
{
	const struct shim_rlimit two_seconds = { .resource = RLIMIT_CPU, .soft = 1, .hard = 2 };
	const struct confine_request with = { .rlimits = &two_seconds, .rlimit_count = 1 };
	const struct confine_request without = { .rlimit_count = 0 };
	struct usage little = { .cpu_ms = 300 }, enough = { .cpu_ms = 2004 };
	struct usage busy = { .cpu_ms = 709 }, busy_too = { .cpu_ms = 1409 };
	struct limits l = made(&with, &plain_run), none = made(&without, &plain_run);

	(void)state;
	assert_int_equal(limits_of_status(&none, SIGNALED(SIGXCPU), &enough), PROC_REASON_CPU_LIMIT);
	/* As measured on a busy machine, where the kernel's ticks and the exact sum differ. */
	assert_int_equal(limits_of_status(&none, SIGNALED(SIGXCPU), &busy), PROC_REASON_CPU_LIMIT);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &busy), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &busy_too), PROC_REASON_CPU_LIMIT);
	/* The smallest such limit is a second: after much less time it was a kill. */
	assert_int_equal(limits_of_status(&none, SIGNALED(SIGXCPU), &little), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &enough), PROC_REASON_CPU_LIMIT);
	/* A SIGKILL alone proves nothing, nor does time alone. */
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &little), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&none, SIGNALED(SIGKILL), &enough), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGTERM), &enough), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&l, EXITED(0), &enough), PROC_REASON_RUNNING);
	assert_int_equal(limits_of_status(&l, EXITED(SIGXCPU), &enough), PROC_REASON_RUNNING);
}

/* SIGXFSZ is a limit's only where there is one: the request's, or the server's. */
static void test_limits_of_file_size(void **state)
{
	const struct shim_rlimit of_request = { .resource = RLIMIT_FSIZE, .soft = 1000, .hard = 2000 };
	const struct confine_request with = { .rlimits = &of_request, .rlimit_count = 1 };
	const struct shim_rlimit no_byte = { .resource = RLIMIT_FSIZE, .soft = 0, .hard = 0 };
	const struct confine_request with_none = { .rlimits = &no_byte, .rlimit_count = 1 };
	const struct confine_request without = { .rlimit_count = 0 };
	struct usage usage = { .cpu_ms = 1 };
	struct limits l = made(&with, &plain_run), none = made(&without, &plain_run);
	struct limits empty = made(&with_none, &plain_run);
	struct rlimit own, finite;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &own), 0);
	finite = (struct rlimit){ .rlim_cur = 1 << 30, .rlim_max = own.rlim_max };
	if (own.rlim_cur == RLIM_INFINITY) {
		assert_int_equal(limits_file_bytes(&none), -1);
		assert_int_equal(limits_of_status(&none, SIGNALED(SIGXFSZ), &usage),
				 PROC_REASON_RUNNING);
	}
	assert_int_equal(limits_file_bytes(&empty), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &finite), 0);
	assert_int_equal(limits_file_bytes(&none), 1 << 30);
	assert_int_equal(limits_of_status(&none, SIGNALED(SIGXFSZ), &usage),
			 PROC_REASON_FILE_SIZE_LIMIT);
	assert_int_equal(limits_file_bytes(&l), 1000);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGXFSZ), &usage),
			 PROC_REASON_FILE_SIZE_LIMIT);
	setrlimit(RLIMIT_FSIZE, &own);
}

/* Since Linux 5.5 a limit of no time at all strikes at once. */
static void test_limits_of_no_time(void **state)
{
	const struct shim_rlimit soft = { .resource = RLIMIT_CPU, .soft = 0, .hard = 1 };
	const struct shim_rlimit hard = { .resource = RLIMIT_CPU, .soft = 0, .hard = 0 };
	const struct confine_request with_soft = { .rlimits = &soft, .rlimit_count = 1 };
	const struct confine_request with_hard = { .rlimits = &hard, .rlimit_count = 1 };
	struct usage little = { .cpu_ms = 7 };
	struct limits l = made(&with_soft, &plain_run);

	(void)state;
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGXCPU), &little), PROC_REASON_CPU_LIMIT);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &little), PROC_REASON_RUNNING);
	l = made(&with_hard, &plain_run);
	assert_int_equal(limits_of_status(&l, SIGNALED(SIGKILL), &little), PROC_REASON_CPU_LIMIT);
}

static void test_limits_numbers_of_the_request(void **state)
{
	const struct shim_rlimit rlimits[] = {
		{ .resource = RLIMIT_FSIZE, .soft = 1000, .hard = 2000 },
		{ .resource = RLIMIT_CPU, .soft = 7, .hard = RLIM_INFINITY },
	};
	const struct confine_request request = { .rlimits = rlimits, .rlimit_count = 2 };
	struct limits l = made(&request, &plain_run);

	(void)state;
	assert_int_equal(l.file_bytes, 1000);
	assert_int_equal(l.cpu_seconds, -1);
	assert_int_equal(l.cpu_soft, 7);
}

/* The limit that struck first is the cause. */
static void test_limits_first_report_stays(void **state)
{
	const struct shim_report memory = {
		.event = SHIM_LIMITED, .value = SHIM_LIMIT_MEMORY, .memory_peak_bytes = 200,
	};
	const struct shim_report tasks = {
		.event = SHIM_LIMITED, .value = SHIM_LIMIT_TASKS, .live = 9,
	};
	struct limits_proof proof;

	(void)state;
	limits_proof_init(&proof);
	assert_int_equal(proof.struck, PROC_REASON_RUNNING);
	limits_reported(&proof, &memory);
	limits_reported(&proof, &tasks);
	assert_int_equal(proof.struck, PROC_REASON_MEMORY_LIMIT);
	assert_int_equal(proof.seen, 200);
	limits_proof_init(&proof);
	limits_reported(&proof, &tasks);
	assert_int_equal(proof.struck, PROC_REASON_PROCESS_LIMIT);
	assert_int_equal(proof.seen, 9);
}

static void test_limits_without_a_group(void **state)
{
	struct usage usage = { .cpu_ms = 1, .memory_peak_bytes = 2 };
	struct limits_proof proof;
	struct limits_watch watch = { .oom.fd = -1 };
	struct ev_loop *loop = loop_new();

	(void)state;
	limits_proof_init(&proof);
	assert_false(limits_check_group(&proof, NULL));
	limits_group_usage(NULL, &usage);
	limits_count_refused(&proof, NULL);
	assert_int_equal(usage.memory_peak_bytes, 2);
	limits_watch_stop(&watch, loop); /* before a start */
	limits_watch_start(&watch, loop, &proof, NULL, NULL, NULL);
	limits_watch_stop(&watch, loop);
	limits_watch_stop(&watch, loop);
	loop_free(loop);
}

static int64_t kernel_kills;

static int64_t oom_kills(int dir, int fd, int source)
{
	(void)dir;
	(void)fd;
	(void)source;
	return kernel_kills;
}

static void on_struck(void *ctx)
{
	++*(int *)ctx;
}

/* A command may have used up what its user may watch: its memory limit is looked at all the same. */
static void test_limits_group_that_cannot_be_watched(void **state)
{
	const struct cgroup_ops ops = { .oom_kills = oom_kills };
	struct cgroups groups = { .ops = &ops };
	struct cgroup group = { .all = &groups, .roles = 1U << CGROUP_ROLE_MEMORY };
	struct ev_loop *loop = loop_new();
	struct limits_proof proof;
	struct limits_watch watch;
	int pair[2], struck = 0;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	group.oom_fd = pair[0];
	limits_proof_init(&proof);
	no_watches = true;
	limits_watch_start(&watch, loop, &proof, &group, on_struck, &struck);
	for (int i = 0; i < 5; i++)
		ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(struck, 0);
	kernel_kills = 1;
	ev_run(loop, EVRUN_NOWAIT);
	no_watches = false;
	assert_int_equal(struck, 1);
	assert_int_equal(proof.struck, PROC_REASON_MEMORY_LIMIT);
	limits_watch_stop(&watch, loop);
	close(pair[0]);
	close(pair[1]);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_holders),
		cmocka_unit_test(test_limits_of_a_wait_status),
		cmocka_unit_test(test_limits_of_file_size),
		cmocka_unit_test(test_limits_of_no_time),
		cmocka_unit_test(test_limits_numbers_of_the_request),
		cmocka_unit_test(test_limits_first_report_stays),
		cmocka_unit_test(test_limits_without_a_group),
		cmocka_unit_test(test_limits_group_that_cannot_be_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
