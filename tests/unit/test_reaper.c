#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "children.h"
#include "no_watches.h"
#include "os/procfs.h"

struct seen {
	int calls, status, left;
	pid_t pid;
};

static void on_dead(void *ctx, pid_t pid, int wait_status)
{
	struct seen *s = ctx;

	s->calls++;
	s->pid = pid;
	s->status = wait_status;
}

static void on_swept(void *ctx, int left)
{
	struct seen *s = ctx;

	s->calls++;
	s->left = left;
}

static bool was_called(void *ctx)
{
	return ((struct seen *)ctx)->calls > 0;
}

/* A child that waits for SIGKILL and ignores all other signals. */
static pid_t fork_stubborn(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGTERM, SIG_IGN);
	alarm(60);
	for (;;)
		pause();
}

/* poll(2) ends with EINTR if a handler has to run, whatever SA_RESTART says; other calls do too, for
 * instance the write of a memory limit. */
static void test_reaper_interrupts_nothing(void **state)
{
	struct pollfd wait = { .events = POLLIN };
	const pid_t here = getpid();
	struct procread_stat st;
	int done[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(done), 0);
	pid = fork();
	if (!pid) {
		do
			usleep(1000);
		while (procread_stat(here, &st) || st.state != 'S');
		kill(here, SIGCHLD);
		usleep(50000);
		_exit(write(done[1], "", 1) != 1);
	}
	assert_true(pid > 0);
	wait.fd = done[0];
	assert_int_equal(poll(&wait, 1, CHILDREN_WAIT_MS), 1);
	close(done[0]);
	close(done[1]);
	assert_true(children_wait(&all, children_none, NULL));
}

static void test_reaper_tells_the_end(void **state)
{
	struct seen s = { 0 };
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(7);
	reaper_watch(all.reaper, pid, on_dead, &s);
	assert_true(children_wait(&all, was_called, &s));
	assert_int_equal(s.pid, pid);
	assert_true(WIFEXITED(s.status));
	assert_int_equal(WEXITSTATUS(s.status), 7);
	children_pause(&all, 10);
	assert_int_equal(s.calls, 1);
	assert_int_equal(kill(pid, 0), -1); /* collected */
}

/* Pids that share a slot of the table stay distinct. */
static void test_reaper_many(void **state)
{
	enum { COUNT = 40 };
	struct seen s[COUNT] = { 0 };
	pid_t pids[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(i);
		reaper_watch(all.reaper, pids[i], on_dead, &s[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		assert_true(children_wait(&all, was_called, &s[i]));
		assert_int_equal(s[i].pid, pids[i]);
		assert_int_equal(WEXITSTATUS(s[i].status), i);
		assert_int_equal(s[i].calls, 1);
	}
}

static void test_reaper_unwatched_is_still_collected(void **state)
{
	struct seen s = { 0 };
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	reaper_watch(all.reaper, pid, on_dead, &s);
	reaper_unwatch(all.reaper, pid);
	reaper_unwatch(all.reaper, pid);
	assert_true(children_wait(&all, children_none, NULL));
	assert_int_equal(s.calls, 0);
}

static void test_reaper_sweep_of_nothing(void **state)
{
	struct seen s = { .left = 99 };

	(void)state;
	reaper_sweep(all.reaper, 1000, on_swept, &s);
	assert_int_equal(s.calls, 0); /* never from inside the call */
	assert_true(children_wait(&all, was_called, &s));
	assert_int_equal(s.left, 0);
}

/* Kills unwatched children and their descendants; a watched child stays. */
static void test_reaper_sweep(void **state)
{
	struct seen swept = { .left = 99 }, good = { 0 };
	pid_t kept = fork_stubborn(), orphan, grandchild;
	int tell[2];

	(void)state;
	reaper_watch(all.reaper, kept, on_dead, &good);
	assert_int_equal(pipe(tell), 0);
	orphan = fork();
	if (!orphan) {
		grandchild = fork_stubborn();
		setsid();
		if (write(tell[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		alarm(60);
		for (;;)
			pause();
	}
	assert_int_equal(read(tell[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	reaper_sweep(all.reaper, CHILDREN_WAIT_MS, on_swept, &swept);
	assert_true(children_wait(&all, was_called, &swept));
	assert_int_equal(swept.left, 0);
	assert_true(children_gone(&orphan));
	assert_true(children_gone(&grandchild));
	assert_false(children_gone(&kept));
	assert_int_equal(good.calls, 0);
	kill(kept, SIGKILL);
	assert_true(children_wait(&all, was_called, &good));
	assert_int_equal(WTERMSIG(good.status), SIGKILL);
	close(tell[0]);
	close(tell[1]);
}

/* At its deadline a sweep reports how many it saw; each sweep has its own result. */
static void test_reaper_sweep_deadline(void **state)
{
	struct seen late = { 0 }, patient = { .left = 99 };

	(void)state;
	fork_stubborn();
	fork_stubborn();
	reaper_sweep(all.reaper, 0, on_swept, &late);
	reaper_sweep(all.reaper, CHILDREN_WAIT_MS, on_swept, &patient);
	assert_true(children_wait(&all, was_called, &patient));
	assert_int_equal(late.calls, 1);
	assert_int_equal(late.left, 2);
	assert_int_equal(patient.calls, 1);
	assert_int_equal(patient.left, 0);
}

/* The end of a sweep may start the next. */
static void sweep_again(void *ctx, int left)
{
	(void)left;
	reaper_sweep(all.reaper, 1000, on_swept, ctx);
}

static void test_reaper_sweep_from_its_callback(void **state)
{
	struct seen s = { .left = 99 };

	(void)state;
	reaper_sweep(all.reaper, 1000, sweep_again, &s);
	assert_true(children_wait(&all, was_called, &s));
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.left, 0);
}

/* The end of a sweep may free what another one is for, also where both end at once. */
struct canceller {
	struct seen seen;
	struct seen *other;
};

static void sweep_cancel_other(void *ctx, int left)
{
	struct canceller *c = ctx;

	c->seen.calls++;
	c->seen.left = left;
	reaper_sweep_cancel(all.reaper, c->other);
}

static void test_reaper_sweep_cancelled_at_its_end(void **state)
{
	struct seen other = { .left = 99 };
	struct canceller first = { .other = &other }, last = { .other = &other };

	(void)state;
	reaper_sweep(all.reaper, 1000, sweep_cancel_other, &first);
	reaper_sweep(all.reaper, 1000, on_swept, &other);
	reaper_sweep(all.reaper, 1000, sweep_cancel_other, &last);
	assert_true(children_wait(&all, was_called, &first.seen));
	assert_true(children_wait(&all, was_called, &last.seen));
	assert_int_equal(other.calls, 0);
}

static bool shows_as_zombie(void *pid)
{
	struct procread_stat st;

	return !procread_stat(*(pid_t *)pid, &st) && st.state == 'Z';
}

static void *wait_for_ever(void *ctx)
{
	for (;;)
		pause();
	return ctx;
}

/* The kernel shows it as a zombie, but it goes on in its other thread. */
static void test_reaper_orphan_without_first_thread_lives(void **state)
{
	pid_t orphan = fork();
	pthread_t thread;

	(void)state;
	if (!orphan) {
		alarm(60);
		_exit(pthread_create(&thread, NULL, wait_for_ever, NULL) ? 1 :
		      (int)syscall(SYS_exit, 0));
	}
	assert_true(children_wait(&all, shows_as_zombie, &orphan));
	assert_true(reaper_has_orphans(all.reaper));
	assert_int_equal(kill(orphan, SIGKILL), 0);
	assert_true(children_wait(&all, children_none, NULL));
	assert_false(reaper_has_orphans(all.reaper));
}

/* From here on processes without no_new_privs are somebody else's. Keep this the last sweep. */
static void test_reaper_spares_privileged(void **state)
{
	struct seen swept = { .left = 99 }, foreign = { 0 };
	int pipes[2];
	pid_t spared, orphan;
	char c;

	(void)state;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		skip();
	spared = fork_stubborn();
	assert_int_equal(pipe(pipes), 0);
	orphan = fork();
	if (!orphan) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(write(pipes[1], "x", 1) == 1 ? (pause(), 0) : 1);
	}
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_true(reaper_has_orphans(all.reaper));
	reaper_spare_privileged(all.reaper);
	reaper_sweep(all.reaper, CHILDREN_WAIT_MS, on_swept, &swept);
	assert_true(children_wait(&all, was_called, &swept));
	assert_int_equal(swept.left, 0);
	assert_true(children_gone(&orphan));
	assert_false(children_gone(&spared));
	assert_false(reaper_has_orphans(all.reaper));
	reaper_watch(all.reaper, spared, on_dead, &foreign);
	kill(spared, SIGKILL);
	assert_true(children_wait(&all, was_called, &foreign));
	close(pipes[0]);
	close(pipes[1]);
}

/* A command of an earlier server may have used up what its user may watch. */
static void test_reaper_that_cannot_watch(void **state)
{
	struct ev_loop *loop;
	struct reaper *reaper;
	struct seen s = { 0 };
	pid_t pid;

	(void)state;
	loop = loop_new();
	no_watches = true;
	reaper = reaper_new(loop);
	ev_run(loop, EVRUN_NOWAIT);
	pid = fork();
	if (!pid)
		_exit(0);
	reaper_watch(reaper, pid, on_dead, &s);
	for (int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS; !s.calls && clock_mono_ms() < until;) {
		ev_run(loop, EVRUN_NOWAIT);
		usleep(1000);
	}
	no_watches = false;
	assert_int_equal(s.calls, 1);
	reaper_free(reaper);
	loop_free(loop);
}

/* The reaper alone does not keep a loop running. */
static void test_reaper_does_not_hold_the_loop(void **state)
{
	(void)state;
	ev_timer_stop(all.loop, &all.tick);
	assert_int_equal(ev_run(all.loop, EVRUN_ONCE), 0);
	ev_timer_start(all.loop, &all.tick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reaper_tells_the_end),
		cmocka_unit_test(test_reaper_that_cannot_watch),
		cmocka_unit_test(test_reaper_interrupts_nothing),
		cmocka_unit_test(test_reaper_many),
		cmocka_unit_test(test_reaper_unwatched_is_still_collected),
		cmocka_unit_test(test_reaper_sweep_of_nothing),
		cmocka_unit_test(test_reaper_sweep),
		cmocka_unit_test(test_reaper_sweep_deadline),
		cmocka_unit_test(test_reaper_sweep_from_its_callback),
		cmocka_unit_test(test_reaper_sweep_cancelled_at_its_end),
		cmocka_unit_test(test_reaper_orphan_without_first_thread_lives),
		cmocka_unit_test(test_reaper_spares_privileged),
		cmocka_unit_test(test_reaper_does_not_hold_the_loop),
	};

	return cmocka_run_group_tests(tests, children_setup, children_teardown);
}
