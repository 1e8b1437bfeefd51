#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "no_watches.h"
#include "wire_end.h"

static void push(struct wire_end *w, const char *line)
{
	outq_push(&w->out, line, strlen(line));
}

/* Push numbered lines of about a kilobyte until the queue says stop; how many. */
static int fill(struct wire_end *w)
{
	char line[1024];
	int count = 0;

	while (!w->out.stopped && count < 10000) {
		snprintf(line, sizeof(line), "%d %0900d", count, 0);
		push(w, line);
		count++;
	}
	return count;
}

/* Read numbered lines while the loop runs; how many came, in order and whole. */
static int drain(struct wire_end *w)
{
	const char *line;
	int count = 0;

	do {
		while ((line = wire_end_line(w))) {
			assert_int_equal(atoi(line), count);
			assert_int_equal(strlen(line) - strcspn(line, " "), 901);
			count++;
		}
		ev_run(w->loop, EVRUN_NOWAIT);
	} while (!outq_empty(&w->out));
	while (wire_end_line(w))
		count++;
	return count;
}

static void test_outq_writes_at_once(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 1 << 20);
	push(&w, "{}");
	push(&w, "");
	assert_true(outq_empty(&w.out));
	assert_string_equal(wire_end_line(&w), "{}");
	assert_string_equal(wire_end_line(&w), "");
	assert_null(wire_end_line(&w));
	assert_int_equal(w.changes, 0);
	wire_end_close(&w);
}

static void test_outq_says_stop_once_and_go_on_once(void **state)
{
	struct wire_end w;
	int count;

	(void)state;
	wire_end_open(&w, 100000);
	count = fill(&w);
	assert_true(count > 100 && count < 1000);
	assert_true(w.out.stopped);
	assert_in_range(outq_pending(&w.out), 100001, 101000);
	assert_int_equal(w.changes, 1);
	assert_int_equal(drain(&w), count);
	assert_false(w.out.stopped);
	assert_int_equal(w.changes, 2);
	assert_false(ev_is_active(&w.out.io));
	wire_end_close(&w);
}

static void test_outq_loses_nothing_above_the_mark(void **state)
{
	char line[1024];
	struct wire_end w;
	int count;

	(void)state;
	wire_end_open(&w, 10000);
	count = fill(&w);
	for (int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "%d %0900d", count++, 0);
		push(&w, line);
	}
	assert_int_equal(drain(&w), count);
	wire_end_close(&w);
}

static void test_outq_goes_on_only_below_the_low_mark(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 100000);
	fill(&w);
	for (int i = 0; i < 10000 && w.out.stopped; i++) {
		wire_end_line(&w);
		ev_run(w.loop, EVRUN_NOWAIT);
	}
	assert_false(w.out.stopped);
	assert_true(outq_pending(&w.out) <= 25000);
	wire_end_close(&w);
}

static void test_outq_room_ends_at_the_mark(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 100000);
	assert_true(outq_room(&w.out, 99999));
	assert_false(outq_room(&w.out, 100000));
	fill(&w);
	assert_false(outq_room(&w.out, 1));
	drain(&w);
	assert_true(outq_room(&w.out, 99999));
	wire_end_close(&w);
}

static void test_outq_client_gone(void **state)
{
	struct wire_end w;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	wire_end_open(&w, 100000);
	close(w.far);
	w.far = -1;
	push(&w, "{}");
	assert_true(w.out.dead);
	assert_int_equal(w.changes, 1);
	push(&w, "{}");
	assert_int_equal(w.changes, 1);
	assert_true(outq_empty(&w.out));
	assert_false(outq_room(&w.out, 1));
	wire_end_close(&w);
}

static void test_outq_client_gone_while_lines_wait(void **state)
{
	struct wire_end w;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	wire_end_open(&w, 100000);
	fill(&w);
	close(w.far);
	w.far = -1;
	for (int i = 0; i < 10 && !w.out.dead; i++)
		ev_run(w.loop, EVRUN_NOWAIT);
	assert_true(w.out.dead);
	assert_false(w.out.stopped);
	wire_end_close(&w);
}

static void turn(struct wire_end *w)
{
	for (int i = 0; i < 3; i++)
		ev_run(w->loop, EVRUN_NOWAIT);
}

/* Nothing is to be written, and still it is noticed. */
static void test_outq_client_gone_while_nothing_waits(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 100000);
	turn(&w);
	assert_false(w.out.dead);
	close(w.far);
	w.far = -1;
	turn(&w);
	assert_true(w.out.dead);
	assert_int_equal(w.out.error, EPIPE);
	assert_int_equal(w.changes, 1);
	wire_end_close(&w);
}

/* A command of an earlier server may have used up what its user may watch. */
static void test_outq_client_gone_that_cannot_be_watched(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 100000);
	no_watches = true;
	turn(&w);
	assert_false(w.out.dead);
	close(w.far);
	w.far = -1;
	turn(&w);
	no_watches = false;
	assert_true(w.out.dead);
	assert_int_equal(w.changes, 1);
	wire_end_close(&w);
}

/* A client that only stops writing is not gone; outq_check_reader() notices when it goes later. */
static void test_outq_client_that_ends_its_input(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 100000);
	assert_int_equal(shutdown(w.far, SHUT_WR), 0);
	turn(&w);
	outq_check_reader(&w.out);
	assert_false(w.out.dead);
	push(&w, "{}");
	assert_string_equal(wire_end_line(&w), "{}");
	close(w.far);
	w.far = -1;
	outq_check_reader(&w.out);
	assert_true(w.out.dead);
	assert_int_equal(w.changes, 1);
	outq_check_reader(&w.out);
	assert_int_equal(w.changes, 1);
	wire_end_close(&w);
}

/* The error of a line to @fd, which is closed; it comes after a turn of the loop, or at once. */
static int error_of(int fd, bool after_a_turn)
{
	struct stdio_end end = { .fd = fd, .restore_flags = -1 };
	struct wire_end w;

	assert_true(fd >= 0);
	wire_end_open(&w, 100000);
	outq_release(&w.out);
	outq_init(&w.out, w.loop, &end, 100000, wire_end_changed, &w);
	if (after_a_turn)
		turn(&w);
	push(&w, "{}");
	assert_true(w.out.dead);
	wire_end_close(&w);
	close(fd);
	return w.out.error;
}

/* What is not the reader's doing has its own errno. */
static void test_outq_tells_a_failure_from_a_client_that_is_gone(void **state)
{
	(void)state;
	assert_int_equal(error_of(open("/dev/full", O_WRONLY | O_CLOEXEC), true), ENOSPC);
	/* A write to what is not mapped, proc(5). */
	assert_int_equal(error_of(open("/proc/self/mem", O_RDWR | O_CLOEXEC), true), EIO);
}

/* Its EIO is no failure: no reader is left. */
static void test_outq_terminal_that_was_closed(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	(void)state;
	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	close(master);
	assert_int_equal(error_of(slave, false), EPIPE);
}

/* A reader that takes less than what would let more be written makes progress all the same. */
static void test_outq_progress_by_a_byte(void **state)
{
	struct stdio_end end = { .restore_flags = -1 };
	struct wire_end w;
	uint64_t progress;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	wire_end_open(&w, 1000000);
	outq_release(&w.out);
	end.fd = ends[1];
	outq_init(&w.out, w.loop, &end, 1000000, wire_end_changed, &w);
	fill(&w);
	assert_false(outq_empty(&w.out));
	progress = outq_progress(&w.out);
	turn(&w);
	assert_true(outq_progress(&w.out) == progress);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_true(outq_progress(&w.out) != progress);
	wire_end_close(&w);
	close(ends[0]);
	close(ends[1]);
}

/* A queue that was large gives its memory back. */
static void test_outq_memory_comes_back(void **state)
{
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 4 << 20);
	fill(&w);
	drain(&w);
	assert_true(w.out.buf.cap <= 256 << 10);
	wire_end_close(&w);
}

/* Everything the reader can have, as one text of @len bytes (heap). */
static char *drain_bytes(struct wire_end *w, size_t *len)
{
	char *seen = calloc(1, 1 << 20);
	bool last = false;
	ssize_t n;

	assert_non_null(seen);
	*len = 0;
	while (!last) {
		ev_run(w->loop, EVRUN_NOWAIT);
		last = outq_empty(&w->out);
		while ((n = recv(w->far, seen + *len, (1 << 20) - *len, MSG_DONTWAIT)) > 0)
			*len += (size_t)n;
	}
	return seen;
}

/* Push lines of these sizes, each of another letter, and compare what the reader gets. */
static void check_headed(struct wire_end *w, const size_t *sizes, int count)
{
	char *line = calloc(1, 300000), *seen, *at, head[64];
	size_t len;

	assert_non_null(line);
	for (int i = 0; i < count; i++) {
		memset(line, 'a' + i, sizes[i]);
		outq_push(&w->out, line, sizes[i]);
	}
	at = seen = drain_bytes(w, &len);
	for (int i = 0; i < count; i++) {
		snprintf(head, sizeof(head), "Content-Length: %zu\r\n\r\n", sizes[i]);
		assert_memory_equal(at, head, strlen(head));
		at += strlen(head);
		memset(line, 'a' + i, sizes[i]);
		assert_memory_equal(at, line, sizes[i]);
		at += sizes[i];
	}
	assert_int_equal(at - seen, len);
	free(seen);
	free(line);
}

/* A header before each line and no newline behind it, whether it is copied, goes out directly or
 * waits for the reader. */
static void test_outq_headers_before_lines(void **state)
{
	static const size_t mixed[] = { 2, 0, 16383, 16384, 300000, 5 };
	static const size_t direct[] = { 300000, 2 };
	struct wire_end w;

	(void)state;
	wire_end_open(&w, 2 << 20);
	w.out.headed = true;
	check_headed(&w, mixed, 6);
	check_headed(&w, direct, 2);
	wire_end_close(&w);
}

/* If a client's input comes from where its output goes to, the watch of the output ends with the first
 * input, and a command may use up what its user may watch. */
static void test_outq_that_cannot_be_watched(void **state)
{
	struct wire_end w;
	int count;

	(void)state;
	wire_end_open(&w, 10000);
	assert_int_equal(send(w.far, "x", 1, 0), 1);
	ev_run(w.loop, EVRUN_ONCE);
	ev_run(w.loop, EVRUN_NOWAIT);
	no_watches = true;
	count = fill(&w);
	ev_run(w.loop, EVRUN_NOWAIT);
	ev_run(w.loop, EVRUN_NOWAIT);
	push(&w, "later");
	assert_false(w.out.dead);
	assert_int_equal(w.changes, 1);
	assert_int_equal(drain(&w), count + 1);
	no_watches = false;
	assert_int_equal(w.changes, 2);
	wire_end_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outq_writes_at_once),
		cmocka_unit_test(test_outq_says_stop_once_and_go_on_once),
		cmocka_unit_test(test_outq_loses_nothing_above_the_mark),
		cmocka_unit_test(test_outq_goes_on_only_below_the_low_mark),
		cmocka_unit_test(test_outq_room_ends_at_the_mark),
		cmocka_unit_test(test_outq_client_gone),
		cmocka_unit_test(test_outq_client_gone_while_lines_wait),
		cmocka_unit_test(test_outq_client_gone_while_nothing_waits),
		cmocka_unit_test(test_outq_client_gone_that_cannot_be_watched),
		cmocka_unit_test(test_outq_client_that_ends_its_input),
		cmocka_unit_test(test_outq_tells_a_failure_from_a_client_that_is_gone),
		cmocka_unit_test(test_outq_terminal_that_was_closed),
		cmocka_unit_test(test_outq_progress_by_a_byte),
		cmocka_unit_test(test_outq_memory_comes_back),
		cmocka_unit_test(test_outq_headers_before_lines),
		cmocka_unit_test(test_outq_that_cannot_be_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
