#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "no_watches.h"

#include "base/mem.h"
#include "proc/pump.h"

#define KIB 1024
#define PUMPS 32
#define IN_TURN 8 /* the most that one turn may serve */

static struct stream {
	struct pump pump;
	struct spool spool;
	struct output_range range;
	struct output out;
	int in; /* we write to it */
	uint64_t seen; /* of out.total, at the last look */
	int served;
} streams[PUMPS];

static void on_data(void *ctx, bool stored)
{
	(void)ctx;
	(void)stored;
}

static void stream_start(struct stream *s, struct ev_loop *loop, int fd)
{
	spool_init(&s->spool);
	s->range = (struct output_range){
		.spool = &s->spool, .head_max = 4 * KIB, .tail_max = 64 * KIB,
	};
	output_init(&s->out, &s->range);
	s->pump.on_data = on_data;
	pump_start(&s->pump, loop, fd, -1, &s->out);
}

static void stream_open(struct stream *s, struct ev_loop *loop)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	s->in = fds[1];
	stream_start(s, loop, fds[0]);
}

static void stream_close(struct stream *s)
{
	pump_close(&s->pump);
	output_release(&s->out);
	spool_close(&s->spool);
	mem_cleanup_close(&s->in);
	memset(s, 0, sizeof(*s));
}

/* Like a command that writes as fast as it can. */
static void stream_fill(const struct stream *s)
{
	static const char bytes[64 * KIB];

	while (write(s->in, bytes, sizeof(bytes)) > 0)
		;
}

/* One turn of the loop with every pipe full: the number of streams that were read. */
static int turn(struct ev_loop *loop)
{
	int count = 0;

	for (size_t i = 0; i < PUMPS; i++) {
		stream_fill(&streams[i]);
		streams[i].seen = streams[i].out.total;
	}
	ev_run(loop, EVRUN_NOWAIT);
	for (size_t i = 0; i < PUMPS; i++) {
		streams[i].served += streams[i].out.total > streams[i].seen;
		count += streams[i].out.total > streams[i].seen;
	}
	return count;
}

/* Until each has written so much that it counts as a flood. */
static void warm_up(struct ev_loop *loop)
{
	for (size_t i = 0; i < PUMPS; i++)
		for (int turns = 0; !streams[i].pump.loud; turns++) {
			assert_in_range(turns, 0, 1000);
			turn(loop);
		}
}

/* Between two turns the loop serves everything else, so a turn reads from a few floods only, and
 * from each of them equally often. */
static void test_pump_floods_take_turns(void **state)
{
	struct ev_loop *loop = loop_new();

	(void)state;
	for (size_t i = 0; i < PUMPS; i++)
		stream_open(&streams[i], loop);
	warm_up(loop);
	for (size_t i = 0; i < PUMPS; i++)
		streams[i].served = 0;
	for (int i = 0; i < PUMPS / IN_TURN * 10; i++)
		assert_in_range(turn(loop), 1, IN_TURN);
	for (size_t i = 0; i < PUMPS; i++)
		assert_int_equal(streams[i].served, 10);
	for (size_t i = 0; i < PUMPS; i++)
		stream_close(&streams[i]);
	loop_free(loop);
}

/* A command that has written little so far is served in every turn, beside any number of floods. */
static void test_pump_serves_the_quiet_at_once(void **state)
{
	struct ev_loop *loop = loop_new();
	struct stream quiet = { .in = -1 };

	(void)state;
	for (size_t i = 0; i < PUMPS; i++)
		stream_open(&streams[i], loop);
	warm_up(loop);
	stream_open(&quiet, loop);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(write(quiet.in, "x", 1), 1);
		turn(loop);
		assert_int_equal(quiet.out.total, i + 1);
	}
	stream_close(&quiet);
	for (size_t i = 0; i < PUMPS; i++)
		stream_close(&streams[i]);
	loop_free(loop);
}

static void on_end(void *ended, bool stored)
{
	assert_false(stored);
	*(bool *)ended = true;
}

/* A held end keeps the command's end of the pipe from waking the loop, and delays no bytes. */
static void test_pump_holds_the_end(void **state)
{
	struct ev_loop *loop = loop_new();
	struct stream s = { .in = -1 };
	bool ended = false;

	(void)state;
	stream_open(&s, loop);
	s.pump.held = fcntl(s.in, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(write(s.in, "x", 1), 1);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(s.out.total, 1);
	s.pump.on_data = on_end;
	s.pump.ctx = &ended;
	mem_cleanup_close(&s.in);
	ev_run(loop, EVRUN_NOWAIT);
	assert_false(ended);
	pump_let_go(&s.pump);
	ev_run(loop, EVRUN_NOWAIT);
	assert_true(ended);
	assert_false(pump_open(&s.pump));
	stream_close(&s);
	loop_free(loop);
}

/* The command answers at once. */
static void answer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct stream *s = w->data;

	(void)loop;
	(void)revents;
	assert_int_equal(write(s->in, "x", 1), 1);
	pump_look(&s->pump);
}

/* It reads what has come before the loop would ask the kernel, waits for nothing, and a pump that
 * ends meanwhile reads nothing. */
static void test_pump_looks(void **state)
{
	struct ev_loop *loop = loop_new();
	struct stream s = { .in = -1 };
	ev_timer timer;

	(void)state;
	stream_open(&s, loop);
	loop_timer_init(&timer, answer, &s);
	loop_timer_start(loop, &timer, 0);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(s.out.total, 1);
	pump_look(&s.pump);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(s.out.total, 1);
	assert_true(pump_open(&s.pump));
	assert_int_equal(write(s.in, "y", 1), 1);
	pump_look(&s.pump);
	pump_close(&s.pump);
	pump_look(&s.pump);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(s.out.total, 1);
	stream_close(&s);
	loop_free(loop);
}

/* Both ends of a pipe that nobody else has. */
static void test_pump_closes_late_what_it_holds(void **state)
{
	struct ev_loop *loop = loop_new();
	struct stream s = { .in = -1 };
	int fd;

	(void)state;
	stream_open(&s, loop);
	fd = s.pump.io.fd;
	assert_false(loop_is_crowded(fd));
	s.pump.held = fcntl(s.in, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(write(s.in, "xy", 2), 2);
	mem_cleanup_close(&s.in);
	assert_false(pump_drain(&s.pump));
	assert_int_equal(s.out.total, 2);
	pump_close(&s.pump);
	assert_false(pump_open(&s.pump));
	assert_int_equal(s.pump.held, -1);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1); /* it is closed late */
	ev_run(loop, 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	stream_close(&s);
	loop_free(loop);
}

/* Bytes that come between the end of a terminal and its close would be lost, so by then nobody can
 * open it. */
static void test_pump_locks_a_terminal_that_ends(void **state)
{
	struct ev_loop *loop = loop_new();
	struct stream s = { .in = -1, .pump.is_terminal = true };
	int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	char name[64];

	(void)state;
	assert_true(ours >= 0 && !unlockpt(ours) && !ptsname_r(ours, name, sizeof(name)));
	assert_false(loop_is_crowded(ours));
	stream_start(&s, loop, ours);
	s.in = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(write(s.in, "x", 1), 1);
	mem_cleanup_close(&s.in);
	while (pump_open(&s.pump))
		ev_run(loop, EVRUN_ONCE);
	assert_int_equal(s.out.total, 1);
	assert_int_equal(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC), -1);
	assert_int_equal(errno, EIO);
	assert_int_not_equal(fcntl(ours, F_GETFD), -1); /* it is closed late */
	ev_run(loop, 0);
	assert_int_equal(fcntl(ours, F_GETFD), -1);
	stream_close(&s);
	loop_free(loop);
}

/* ---- feed ---- */

static struct end {
	struct feed feed;
	int out; /* the command's end */
} end;

static struct ev_loop *feed_open_pipe(void)
{
	struct ev_loop *loop = loop_new();
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	memset(&end, 0, sizeof(end));
	end.out = fds[0];
	end.feed.rest_fd = -1;
	feed_start(&end.feed, loop, fds[1]);
	return loop;
}

static void feed_finish(struct ev_loop *loop)
{
	feed_close(&end.feed);
	mem_cleanup_close(&end.out);
	loop_free(loop);
}

/* All bytes that are in the pipe. */
static size_t feed_take(char *bytes, size_t size)
{
	ssize_t n = read(end.out, bytes, size);

	return n > 0 ? (size_t)n : 0;
}

/* What the pipe does not take waits, in order, and its memory is gone when it has been written. */
static void test_feed_queues_what_does_not_fit(void **state)
{
	struct ev_loop *loop = feed_open_pipe();
	static unsigned char sent[300 * KIB], got[sizeof(sent)];
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (unsigned char)(i * 7 + i / 251);
	for (size_t i = 0; i < sizeof(sent); i += 50 * KIB)
		feed_add(&end.feed, sent + i, 50 * KIB, false);
	assert_int_equal(feed_queued(&end.feed), sizeof(sent) - 64 * KIB);
	assert_int_equal(feed_unread(&end.feed), sizeof(sent));
	while (at < sizeof(sent)) {
		at += feed_take((char *)got + at, 10 * KIB);
		ev_run(loop, EVRUN_NOWAIT);
		if (at < 20 * KIB)
			feed_add(&end.feed, NULL, 0, false);
	}
	assert_memory_equal(sent, got, sizeof(sent));
	assert_int_equal(feed_queued(&end.feed), 0);
	assert_null(end.feed.pending.data);
	assert_true(feed_open(&end.feed));
	feed_finish(loop);
}

/* End of file comes behind what waits, and nothing can be added meanwhile. */
static void test_feed_ends_behind_its_queue(void **state)
{
	struct ev_loop *loop = feed_open_pipe();
	static char bytes[100 * KIB];
	size_t at = 0;
	char c;

	(void)state;
	feed_add(&end.feed, bytes, sizeof(bytes), true);
	assert_false(feed_open(&end.feed));
	while (at < sizeof(bytes)) {
		at += feed_take(bytes, sizeof(bytes));
		ev_run(loop, EVRUN_NOWAIT);
	}
	assert_int_equal(read(end.out, &c, 1), 0);
	assert_false(end.feed.hung_up);
	feed_finish(loop);
}

/* A pipe has a mode, and a command of our user may change it. */
static void test_feed_counts_in_a_pipe_without_rights(void **state)
{
	static char bytes[70 * KIB];
	const uid_t uid = geteuid();
	struct ev_loop *loop;

	(void)state;
	assert_int_equal(uid ? 0 : seteuid(65534), 0);
	loop = feed_open_pipe();
	feed_add(&end.feed, bytes, sizeof(bytes), true);
	assert_int_equal(fchmod(end.out, 0), 0);
	assert_int_equal(feed_take(bytes, 20 * KIB), 20 * KIB);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(feed_queued(&end.feed), 0);
	assert_int_equal(feed_unread(&end.feed), sizeof(bytes) - 20 * KIB);
	feed_finish(loop);
	assert_int_equal(uid ? 0 : seteuid(0), 0);
}

/* Bytes that the caller refuses, because the command turns out to have closed its stdin, are none
 * that it left; those that it had taken before are. */
static void test_feed_forgets_what_is_refused(void **state)
{
	struct ev_loop *loop = feed_open_pipe();
	static char bytes[100 * KIB];

	(void)state;
	feed_offer(&end.feed, bytes, sizeof(bytes), 0, false);
	assert_int_equal(feed_unread(&end.feed), sizeof(bytes));
	mem_cleanup_close(&end.out);
	feed_offer(&end.feed, bytes, 5, 0, false);
	assert_true(end.feed.hung_up);
	assert_int_equal(feed_unread(&end.feed), sizeof(bytes));
	assert_true(feed_refused(&end.feed));
	feed_finish(loop);

	loop = feed_open_pipe();
	mem_cleanup_close(&end.out);
	feed_offer(&end.feed, bytes, 5, 0, false);
	assert_true(end.feed.hung_up);
	assert_int_equal(feed_unread(&end.feed), 0);
	assert_false(feed_refused(&end.feed));
	feed_finish(loop);

	loop = feed_open_pipe();
	mem_cleanup_close(&end.out);
	feed_offer(&end.feed, bytes, 5, 3, false);
	assert_int_equal(feed_unread(&end.feed), 3);
	assert_true(feed_refused(&end.feed));
	feed_finish(loop);
}

/* A reader that goes away is noticed without a write. */
static void test_feed_sees_the_hang_up(void **state)
{
	struct ev_loop *loop = feed_open_pipe();

	(void)state;
	feed_add(&end.feed, "hello", 5, false);
	ev_run(loop, EVRUN_NOWAIT);
	assert_true(feed_open(&end.feed));
	mem_cleanup_close(&end.out);
	ev_run(loop, EVRUN_NOWAIT);
	assert_false(feed_open(&end.feed));
	assert_true(end.feed.hung_up);
	assert_false(feed_refused(&end.feed));
	assert_int_equal(feed_unread(&end.feed), 5);
	feed_finish(loop);
}

/* Or by the write; then what waited is freed, and counted. */
static void test_feed_sees_the_broken_pipe(void **state)
{
	struct ev_loop *loop = feed_open_pipe();
	static char bytes[100 * KIB];

	(void)state;
	feed_add(&end.feed, bytes, sizeof(bytes), false);
	mem_cleanup_close(&end.out);
	feed_add(&end.feed, "x", 1, true);
	assert_true(end.feed.hung_up);
	assert_true(feed_refused(&end.feed));
	assert_int_equal(feed_queued(&end.feed), 0);
	assert_null(end.feed.pending.data);
	assert_int_equal(feed_unread(&end.feed), sizeof(bytes) + 1);
	feed_finish(loop);
}

/* A command may have used up what its user may watch: output and input go on, and no hang-up is seen
 * where there is none. */
static void test_pump_without_watches(void **state)
{
	struct ev_loop *loop = feed_open_pipe();
	static char bytes[100 * KIB];

	(void)state;
	stream_open(&streams[0], loop);
	no_watches = true;
	ev_run(loop, EVRUN_NOWAIT);
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(write(streams[0].in, "x", 1), 1);
		ev_run(loop, EVRUN_NOWAIT);
		assert_int_equal(streams[0].out.total, i);
	}
	feed_add(&end.feed, bytes, sizeof(bytes), false);
	for (int i = 0; i < 10 && feed_queued(&end.feed); i++) {
		feed_take(bytes, 20 * KIB);
		ev_run(loop, EVRUN_NOWAIT);
	}
	assert_int_equal(feed_queued(&end.feed), 0);
	for (int i = 0; i < 3; i++)
		ev_run(loop, EVRUN_NOWAIT);
	assert_true(feed_open(&end.feed));
	no_watches = false;
	mem_cleanup_close(&end.out);
	for (int i = 0; i < 2; i++)
		ev_run(loop, EVRUN_NOWAIT);
	assert_true(end.feed.hung_up);
	stream_close(&streams[0]);
	feed_finish(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pump_floods_take_turns),
		cmocka_unit_test(test_pump_serves_the_quiet_at_once),
		cmocka_unit_test(test_pump_holds_the_end),
		cmocka_unit_test(test_pump_looks),
		cmocka_unit_test(test_pump_closes_late_what_it_holds),
		cmocka_unit_test(test_pump_locks_a_terminal_that_ends),
		cmocka_unit_test(test_feed_queues_what_does_not_fit),
		cmocka_unit_test(test_feed_ends_behind_its_queue),
		cmocka_unit_test(test_feed_counts_in_a_pipe_without_rights),
		cmocka_unit_test(test_feed_forgets_what_is_refused),
		cmocka_unit_test(test_feed_sees_the_hang_up),
		cmocka_unit_test(test_feed_sees_the_broken_pipe),
		cmocka_unit_test(test_pump_without_watches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
