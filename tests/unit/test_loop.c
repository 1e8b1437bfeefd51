#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "no_watches.h"

#include "base/clock.h"
#include "os/loop.h"

/* How many registrations for descriptor @fd the epoll sets of this process hold. */
static int registrations(int fd)
{
	char path[300], target[64], line[128], want[32];
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	snprintf(want, sizeof(want), "tfd: %8d ", fd);
	while ((entry = readdir(dir))) {
		ssize_t n;
		FILE *info;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strcmp(target, "anon_inode:[eventpoll]"))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		info = fopen(path, "re");
		while (info && fgets(line, sizeof(line), info))
			count += !strncmp(line, want, strlen(want));
		if (info)
			fclose(info);
	}
	closedir(dir);
	return count;
}

static void on_io(struct ev_loop *loop, ev_io *io, int revents)
{
	char byte;

	(void)loop;
	(void)revents;
	if (read(io->fd, &byte, 1) == 1)
		++*(int *)io->data;
}

/* Watch the read end of a new pipe; a copy of it stays open as in a child before its exec. */
static void watch_pipe(struct ev_loop *loop, ev_io *io, int *write_end, int *copy, int *calls)
{
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	*write_end = pair[1];
	*copy = dup(pair[0]);
	*calls = 0;
	ev_io_init(io, on_io, pair[0], EV_READ);
	io->data = calls;
	ev_io_start(loop, io);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(registrations(pair[0]), 1);
}

static void test_loop_close_removes_the_registration(void **state)
{
	struct ev_loop *loop = loop_new();
	int write_end, copy, calls, fd;
	ev_io io;

	(void)state;
	watch_pipe(loop, &io, &write_end, &copy, &calls);
	fd = io.fd;
	assert_int_equal(write(write_end, "x", 1), 1);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(calls, 1);
	loop_close(loop, &io);
	assert_int_equal(io.fd, -1);
	assert_false(ev_is_active(&io));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(registrations(fd), 0);
	assert_int_equal(write(write_end, "x", 1), 1);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(calls, 1);
	loop_close(loop, &io); /* no effect */
	close(write_end);
	close(copy);
	loop_free(loop);
}

/* What it is for: a plain close leaves the registration. */
static void test_loop_plain_close_would_not(void **state)
{
	struct ev_loop *loop = loop_new();
	int write_end, copy, calls, fd;
	ev_io io;

	(void)state;
	watch_pipe(loop, &io, &write_end, &copy, &calls);
	fd = io.fd;
	ev_io_stop(loop, &io);
	close(fd);
	assert_int_equal(registrations(fd), 1);
	close(write_end);
	close(copy);
	loop_free(loop);
}

/* What comes next goes first: a pipe that is closed late is open for a while, and tells nothing. */
static void test_loop_closes_late(void **state)
{
	struct ev_loop *loop = loop_new();
	int write_end, copy, calls, fd;
	ev_io io;

	(void)state;
	watch_pipe(loop, &io, &write_end, &copy, &calls);
	fd = io.fd;
	assert_false(loop_is_crowded(fd));
	assert_int_equal(write(write_end, "x", 1), 1);
	loop_close_late(loop, &io, write_end);
	assert_int_equal(io.fd, -1);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	assert_int_not_equal(fcntl(write_end, F_GETFD), -1);
	ev_run(loop, 0); /* until nothing is left to wait for */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(write_end, F_GETFD), -1);
	assert_int_equal(registrations(fd), 0);
	assert_int_equal(calls, 0);
	assert_false(loop_close_all_late(loop));
	close(copy);
	loop_free(loop);
}

/* Few are open at a time, and none when the loop ends. */
static void test_loop_closes_late_pipes_in_time(void **state)
{
	enum { PIPES = 20, KEPT = 8 };
	struct ev_loop *loop = loop_new();
	int fds[PIPES], ends[PIPES], copy, calls, open_ones = 0;
	ev_io io;

	(void)state;
	for (int i = 0; i < PIPES; i++) {
		watch_pipe(loop, &io, &ends[i], &copy, &calls);
		fds[i] = io.fd;
		close(copy);
		ev_io_stop(loop, &io);
	}
	assert_false(loop_is_crowded(fds[PIPES - 1]));
	for (int i = 0; i < PIPES; i++) {
		ev_io_init(&io, on_io, fds[i], EV_READ);
		loop_close_late(loop, &io, ends[i]);
	}
	for (int i = 0; i < PIPES; i++)
		open_ones += fcntl(fds[i], F_GETFD) >= 0;
	assert_in_range(open_ones, 1, KEPT);
	assert_true(loop_close_all_late(loop));
	for (int i = 0; i < PIPES; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	watch_pipe(loop, &io, &ends[0], &copy, &calls);
	fds[0] = io.fd;
	loop_close_late(loop, &io, ends[0]);
	loop_free(loop);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	close(copy);
}

/* What opens a file next may need them. */
static void test_loop_closes_at_once_where_few_are_left(void **state)
{
	struct ev_loop *loop = loop_new();
	struct rlimit before, low;
	int write_end, copy, calls, fd;
	ev_io io;

	(void)state;
	watch_pipe(loop, &io, &write_end, &copy, &calls);
	fd = io.fd;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){ (rlim_t)fd + 10, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_true(loop_is_crowded(fd));
	loop_close_late(loop, &io, write_end);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(write_end, F_GETFD), -1);
	assert_int_equal(io.fd, -1);
	assert_false(loop_close_all_late(loop));
	assert_true(loop_is_crowded(fd)); /* it is low, and those above it may be taken */
	close(copy);
	loop_free(loop);
}

/* A number that is used again is watched as the new file. */
static void test_loop_descriptor_used_again(void **state)
{
	struct ev_loop *loop = loop_new();

	(void)state;
	for (int i = 0; i < 20; i++) {
		int write_end, copy, calls;
		ev_io io;

		watch_pipe(loop, &io, &write_end, &copy, &calls);
		assert_int_equal(write(write_end, "x", 1), 1);
		ev_run(loop, EVRUN_NOWAIT);
		assert_int_equal(calls, 1);
		loop_close(loop, &io);
		close(write_end);
		close(copy);
	}
	loop_free(loop);
}

/* A descriptor that was never polled can be closed too, and files that epoll does not take. */
static void test_loop_close_before_the_first_run(void **state)
{
	struct ev_loop *loop = loop_new();
	int calls = 0;
	ev_io io;

	(void)state;
	ev_io_init(&io, on_io, open("/dev/null", O_RDONLY | O_CLOEXEC), EV_READ);
	io.data = &calls;
	ev_io_start(loop, &io);
	loop_close(loop, &io);
	assert_int_equal(io.fd, -1);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(calls, 0);
	loop_free(loop);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	++*(int *)w->data;
}

static void test_loop_timer_fires_once(void **state)
{
	struct ev_loop *loop = loop_new();
	int64_t started = clock_mono_ms();
	int calls = 0;
	ev_timer timer;

	(void)state;
	loop_timer_init(&timer, on_timer, &calls);
	loop_timer_start(loop, &timer, 30);
	ev_run(loop, 0); /* ends when nothing is active */
	assert_int_equal(calls, 1);
	assert_true(clock_mono_ms() - started >= 29);
	loop_free(loop);
}

static int alarm_fd;

static void on_alarm(int number)
{
	int64_t until = clock_mono_ms() + 40;

	(void)number;
	assert_int_equal(write(alarm_fd, "x", 1), 1);
	while (clock_mono_ms() < until)
		;
}

static void on_late_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	assert_int_equal(*(int *)w->data, 1);
	w->data = NULL;
}

/* What has come while a signal interrupts the wait comes before a timer that is due by then. */
static void test_loop_timer_comes_last_after_a_signal(void **state)
{
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	const struct sigaction action = { .sa_handler = on_alarm };
	struct ev_loop *loop = loop_new();
	struct sigaction before;
	int copy, calls;
	ev_timer timer;
	ev_io io;

	(void)state;
	watch_pipe(loop, &io, &alarm_fd, &copy, &calls);
	loop_timer_init(&timer, on_late_timer, &calls);
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	loop_timer_start(loop, &timer, 40);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	while (timer.data)
		ev_run(loop, EVRUN_ONCE);
	assert_int_equal(calls, 1);
	sigaction(SIGALRM, &before, NULL);
	loop_close(loop, &io);
	close(alarm_fd);
	close(copy);
	loop_free(loop);
}

/* Arming again counts from then on, also when the loop has not run for a while. */
static void test_loop_timer_restart_and_stop(void **state)
{
	struct ev_loop *loop = loop_new();
	int64_t started;
	int calls = 0;
	ev_timer timer;

	(void)state;
	loop_timer_init(&timer, on_timer, &calls);
	loop_timer_stop(loop, &timer);
	loop_timer_start(loop, &timer, 10);
	usleep(40000);
	started = clock_mono_ms();
	loop_timer_start(loop, &timer, 40);
	ev_run(loop, 0);
	assert_int_equal(calls, 1);
	assert_true(clock_mono_ms() - started >= 39);
	loop_timer_start(loop, &timer, 1);
	loop_timer_stop(loop, &timer);
	loop_timer_stop(loop, &timer);
	ev_run(loop, 0);
	assert_int_equal(calls, 1);
	loop_timer_start(loop, &timer, -5); /* at once */
	ev_run(loop, 0);
	assert_int_equal(calls, 2);
	loop_free(loop);
}

static void on_byte(struct ev_loop *loop, ev_io *io, int revents)
{
	const int *fired = io->data;

	(void)revents;
	assert_int_equal(*fired, 0);
	ev_io_stop(loop, io);
}

/* What waits in a descriptor came in time, however late the loop looks. */
static void test_loop_timer_comes_last(void **state)
{
	struct ev_loop *loop = loop_new();
	int pair[2], fired = 0;
	ev_timer timer;
	ev_io io;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	ev_io_init(&io, on_byte, pair[0], EV_READ);
	ev_timer_init(&timer, on_timer, 0., 0.);
	io.data = timer.data = &fired;
	ev_io_start(loop, &io);
	loop_timer_start(loop, &timer, 1);
	assert_int_equal(write(pair[1], "x", 1), 1);
	usleep(5000);
	ev_run(loop, EVRUN_ONCE);
	assert_false(ev_is_active(&io));
	assert_int_equal(fired, 1);
	close(pair[0]);
	close(pair[1]);
	loop_free(loop);
}

/* A descriptor that always has something, whose events start a timer. */
struct busy {
	ev_timer timer;
	int fired, turns;
	bool guarded; /* start it only if it is not set */
	double ms;
};

static void on_busy(struct ev_loop *loop, ev_io *io, int revents)
{
	struct busy *b = io->data;

	(void)revents;
	if (!b->guarded || !loop_timer_is_set(&b->timer))
		loop_timer_start(loop, &b->timer, b->ms);
	if (++b->turns == 1000)
		ev_break(loop, EVBREAK_ALL);
}

/* One that is due is still to come: who looks for it there does not put it off in every turn. */
static void test_loop_timer_is_not_put_off(void **state)
{
	static const struct busy kinds[] = { { .guarded = true, .ms = 0.001 }, { .ms = 0 } };
	struct ev_loop *loop = loop_new();
	ev_io io;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct busy b = kinds[i];

		loop_timer_init(&b.timer, on_timer, &b.fired);
		ev_io_init(&io, on_busy, pair[0], EV_READ);
		io.data = &b;
		ev_io_start(loop, &io);
		ev_run(loop, 0);
		ev_io_stop(loop, &io);
		loop_timer_stop(loop, &b.timer);
		assert_false(loop_timer_is_set(&b.timer));
		assert_in_range(b.fired, 100, 1000);
	}
	close(pair[0]);
	close(pair[1]);
	loop_free(loop);
}

/* A command may have used up what its user may watch before a server starts. */
static void test_loop_without_watches(void **state)
{
	struct ev_loop *loop;
	int pair[2], calls = 0;
	ev_io io;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	no_watches = true;
	loop = loop_new();
	ev_io_init(&io, on_io, pair[0], EV_READ);
	io.data = &calls;
	ev_io_start(loop, &io);
	assert_int_equal(write(pair[1], "x", 1), 1);
	ev_run(loop, EVRUN_ONCE);
	no_watches = false;
	assert_int_equal(calls, 1);
	assert_true(ev_is_active(&io));
	loop_close(loop, &io);
	close(pair[1]);
	loop_free(loop);
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	(void)loop;
	(void)revents;
	++*(int *)w->data;
}

/* The last watch may go as the loop begins. The one of signals must not be missing. */
static void test_loop_last_watch(void **state)
{
	struct ev_loop *loop = loop_new();
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, off = { .it_value = { 0 } };
	ev_signal w;
	ev_timer later;
	int calls = 0, fired = 0;

	(void)state;
	no_watches = true;
	ev_signal_init(&w, on_signal, SIGALRM);
	w.data = &calls;
	ev_signal_start(loop, &w);
	loop_timer_init(&later, on_timer, &fired);
	loop_timer_start(loop, &later, 2000);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (calls < 3 && !fired)
		ev_run(loop, EVRUN_ONCE);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	no_watches = false;
	assert_int_equal(calls, 3);
	loop_timer_stop(loop, &later);
	ev_signal_stop(loop, &w);
	loop_free(loop);
}

struct refused {
	int calls, refusals;
};

static void on_refused(struct ev_loop *loop, ev_io *io, int revents)
{
	struct refused *r = io->data;

	r->calls++;
	r->refusals += loop_refused(loop, io, revents);
}

static void on_other(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop;
	(void)io;
	(void)revents;
}

/* Of a watch that the kernel refuses the owner hears at once, and then again and again, without
 * hurry, whatever else the loop waits for, until the kernel takes it. Others are not held up. */
static void test_loop_refused_watch(void **state)
{
	struct ev_loop *loop = loop_new();
	struct refused r = { 0 };
	ev_timer later;
	int pair[2], other[2], fired = 0;
	unsigned turns;
	ev_io io, busy;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(pipe2(other, O_CLOEXEC), 0);
	loop_timer_init(&later, on_timer, &fired);
	loop_timer_start(loop, &later, 200);
	ev_io_init(&busy, on_other, other[0], EV_READ);
	ev_io_start(loop, &busy);
	ev_run(loop, EVRUN_NOWAIT);
	no_watches = true;
	ev_io_init(&io, on_refused, pair[0], EV_READ);
	io.data = &r;
	ev_io_start(loop, &io);
	ev_run(loop, EVRUN_ONCE);
	assert_int_equal(r.refusals, 1);
	assert_int_equal(fired, 0);
	turns = ev_iteration(loop);
	while (!fired)
		ev_run(loop, EVRUN_ONCE);
	turns = ev_iteration(loop) - turns;
	assert_in_range(turns, 2, 30);
	assert_in_range(r.refusals, turns, turns + 1);
	assert_int_equal(r.calls, r.refusals);
	assert_int_equal(write(other[1], "x", 1), 1);
	ev_run(loop, EVRUN_ONCE);
	ev_run(loop, EVRUN_ONCE);
	no_watches = false;
	ev_run(loop, EVRUN_ONCE);
	turns = (unsigned)r.refusals;
	assert_int_equal(write(pair[1], "x", 1), 1);
	for (int i = 0; i < 100 && r.calls == r.refusals; i++)
		ev_run(loop, EVRUN_ONCE);
	assert_int_equal(r.calls, r.refusals + 1);
	assert_in_range(r.refusals, turns, turns + 1);
	assert_int_equal(registrations(pair[0]), 1);
	loop_close(loop, &busy);
	loop_close(loop, &io);
	close(other[1]);
	close(pair[1]);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop_close_removes_the_registration),
		cmocka_unit_test(test_loop_plain_close_would_not),
		cmocka_unit_test(test_loop_closes_late),
		cmocka_unit_test(test_loop_closes_late_pipes_in_time),
		cmocka_unit_test(test_loop_closes_at_once_where_few_are_left),
		cmocka_unit_test(test_loop_descriptor_used_again),
		cmocka_unit_test(test_loop_close_before_the_first_run),
		cmocka_unit_test(test_loop_timer_fires_once),
		cmocka_unit_test(test_loop_timer_comes_last_after_a_signal),
		cmocka_unit_test(test_loop_timer_restart_and_stop),
		cmocka_unit_test(test_loop_timer_comes_last),
		cmocka_unit_test(test_loop_timer_is_not_put_off),
		cmocka_unit_test(test_loop_without_watches),
		cmocka_unit_test(test_loop_last_watch),
		cmocka_unit_test(test_loop_refused_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
