/*
 * The model is the naive one: all bytes ever written are kept in an array, and
 * what the store should still have follows from three numbers.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proc/output.h"

#define WRITTEN_MAX (1 << 20)
#define COPIED_MAX (16 * 1024) /* one read, whatever the maximum of the fill */

struct store {
	struct spool spool;
	struct output_range range;
	struct output out;
	int in, pipe; /* we write to in, the store reads from pipe */
	uint64_t head, tail; /* what the model keeps */
	uint64_t written;    /* moved into the store */
	uint64_t waiting;    /* in the pipe */
	uint64_t seed;
	unsigned char all[WRITTEN_MAX];
};

/* @by_socket: splice(2) cannot move from a socket into a file and fails. */
static struct store *store_new(uint64_t base, uint64_t head, uint64_t tail, bool by_socket)
{
	struct store *s = calloc(1, sizeof(*s));
	int fds[2];

	if (by_socket)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	else
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	s->pipe = fds[0];
	s->in = fds[1];
	fcntl(s->pipe, F_SETFL, O_NONBLOCK);
	fcntl(s->in, F_SETFL, O_NONBLOCK);
	spool_init(&s->spool);
	s->range = (struct output_range){
		.spool = &s->spool, .base = base, .head_max = head, .tail_max = tail,
	};
	output_init(&s->out, &s->range);
	s->head = head;
	s->tail = tail;
	s->seed = head * 31 + tail;
	return s;
}

static void store_free(struct store *s)
{
	output_release(&s->out);
	spool_close(&s->spool);
	close(s->pipe);
	if (s->in >= 0)
		close(s->in);
	free(s);
}

/* Put up to @len new bytes into the pipe. */
static void put(struct store *s, size_t len)
{
	unsigned char *at = s->all + s->written + s->waiting;
	ssize_t n;

	assert_true(s->written + s->waiting + len <= WRITTEN_MAX);
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)unit_random(&s->seed);
	n = write(s->in, at, len);
	if (n > 0)
		s->waiting += (uint64_t)n;
}

/* One fill, checked against what waits. */
static void fill(struct store *s, size_t max)
{
	ssize_t n = output_fill(&s->out, s->pipe, max);

	if (!s->waiting) {
		assert_int_equal(n, -1);
		assert_int_equal(errno, EAGAIN);
		return;
	}
	assert_true(n > 0);
	assert_true((size_t)n <= (max < COPIED_MAX ? COPIED_MAX : max) && (uint64_t)n <= s->waiting);
	s->written += (uint64_t)n;
	s->waiting -= (uint64_t)n;
	assert_int_equal(s->out.total, s->written);
}

static void feed(struct store *s, size_t len)
{
	while (len) {
		size_t part = len < 4096 ? len : 4096;

		put(s, part);
		while (s->waiting)
			fill(s, 1 << 20);
		len -= part;
	}
}

static void model_hole(const struct store *s, uint64_t *from, uint64_t *to)
{
	*from = *to = s->written < s->head ? s->written : s->head;
	if (s->written > s->head + s->tail)
		*to = s->written - s->tail;
}

static void check_hole(const struct store *s)
{
	uint64_t from, to, got_from, got_to;
	bool evicted = output_evicted(&s->out, &got_from, &got_to);

	model_hole(s, &from, &to);
	assert_int_equal(evicted, to > from);
	assert_int_equal(output_kept(&s->out), s->written - (to - from));
	if (!evicted)
		return;
	assert_int_equal(got_from, from);
	assert_int_equal(got_to, to);
}

/* One read must give the bytes that the model has there, all of them up to the hole or the end. */
static void check_read(const struct store *s, uint64_t offset, size_t len)
{
	uint64_t from, to, end = s->written, at = offset;
	unsigned char *bytes = malloc(len ? len : 1);
	ssize_t n;

	model_hole(s, &from, &to);
	if (to > from && offset >= from && offset < to)
		offset = to;
	if (to > from && offset < from)
		end = from;
	n = output_read(&s->out, &at, bytes, len);
	assert_int_equal(at, offset);
	if (offset > end)
		end = offset;
	assert_int_equal(n, len < end - offset ? len : end - offset);
	assert_memory_equal(bytes, s->all + offset, (size_t)n);
	free(bytes);
}

/* Page after page gives every kept byte exactly once. */
static void check_pages(const struct store *s, size_t page)
{
	uint64_t from, to, seen = 0, next = 0;
	unsigned char *bytes = malloc(page);
	ssize_t n;

	model_hole(s, &from, &to);
	for (;;) {
		uint64_t at = next;

		n = output_read(&s->out, &at, bytes, page);
		assert_true(n >= 0);
		if (n == 0)
			break;
		assert_true(at == next || (next == from && at == to));
		assert_memory_equal(bytes, s->all + at, (size_t)n);
		seen += (uint64_t)n;
		next = at + (uint64_t)n;
	}
	assert_int_equal(next, s->written);
	assert_int_equal(seen, s->written - (to - from));
	free(bytes);
}

static void check_all(struct store *s)
{
	uint64_t from, to;

	check_hole(s);
	model_hole(s, &from, &to);
	for (int delta = -2; delta <= 2; delta++) {
		uint64_t marks[] = { 0, s->head, from, to, s->head + s->tail, s->written };

		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
			if (delta < 0 && marks[i] < (uint64_t)-delta)
				continue;
			check_read(s, marks[i] + (uint64_t)delta, 1);
			check_read(s, marks[i] + (uint64_t)delta, 3);
			check_read(s, marks[i] + (uint64_t)delta, (size_t)s->written + 10);
		}
	}
	check_pages(s, 1 + unit_random(&s->seed) % (s->written / 2 + 2));
}

static void random_run(uint64_t seed, bool by_socket)
{
	uint64_t head = 1 + unit_random(&seed) % 100, tail = 1 + unit_random(&seed) % 150;
	struct store *s = store_new(unit_random(&seed) % 5000, head, tail, by_socket);

	s->seed = seed;
	for (int step = 0; step < 40; step++) {
		if (unit_random(&s->seed) % 3)
			put(s, unit_random(&s->seed) % 60);
		s->range.in_pieces &= unit_random(&s->seed) % 2; /* else none is spliced */
		fill(s, 1 + unit_random(&s->seed) % 80);
		check_hole(s);
		check_read(s, unit_random(&s->seed) % (s->written + 3),
			   unit_random(&s->seed) % 100);
	}
	check_all(s);
	store_free(s);
}

static void test_output_random_against_the_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++)
		random_run(seed, false);
}

static void test_output_copy_path_against_the_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		random_run(seed, true);
}

/* Every total around the two places where something changes. */
static void test_output_borders(void **state)
{
	(void)state;
	for (uint64_t total = 0; total <= 40; total++)
		for (size_t step = 1; step <= 7; step++) {
			struct store *s = store_new(0, 10, 12, false);

			while (s->written < total) {
				put(s, total - s->written < step ? total - s->written : step);
				while (s->waiting)
					fill(s, step);
			}
			check_all(s);
			store_free(s);
		}
}

/* The kernel drops what of a packet a read has no room for. */
static void test_output_keeps_whole_packets(void **state)
{
	struct store *s = store_new(0, 8192, 65536, false);

	(void)state;
	assert_int_equal(fcntl(s->in, F_SETFL, O_NONBLOCK | O_DIRECT), 0);
	for (size_t i = 0; i < 30; i++) {
		put(s, PIPE_BUF - i);
		fill(s, 1);
		while (s->waiting)
			fill(s, 1000);
	}
	check_all(s);
	store_free(s);
}

static void test_output_end_of_file(void **state)
{
	struct store *s = store_new(0, 10, 10, false);

	(void)state;
	fill(s, 100); /* empty pipe: EAGAIN */
	put(s, 5);
	close(s->in);
	s->in = -1;
	fill(s, 100);
	assert_int_equal(output_fill(&s->out, s->pipe, 100), 0);
	assert_int_equal(output_fill(&s->out, s->pipe, 100), 0);
	check_all(s);
	store_free(s);
}

/* No byte, no memory file: most streams of most runs. */
static void test_output_silent_stream_needs_no_spool(void **state)
{
	struct store *s = store_new(0, 10, 10, false);
	uint64_t offset = 0;
	char byte;

	(void)state;
	close(s->in);
	s->in = -1;
	assert_int_equal(output_fill(&s->out, s->pipe, 100), 0);
	assert_int_equal(s->spool.fd, -1);
	assert_int_equal(output_read(&s->out, &offset, &byte, 1), 0);
	assert_int_equal(output_kept(&s->out), 0);
	store_free(s);
}

/* A stream of up to 4 KiB needs no file either; with one byte more all of it is in one. */
static void test_output_small_stream_needs_no_spool(void **state)
{
	struct store *s = store_new(0, 8192, 65536, false);

	(void)state;
	feed(s, 1);
	feed(s, 4000);
	feed(s, 95);
	check_all(s);
	assert_int_equal(s->spool.fd, -1);
	feed(s, 1);
	check_all(s);
	assert_true(s->spool.fd >= 0);
	feed(s, 100000);
	check_all(s);
	store_free(s);
}

/* The other stream of a run whose spool was evicted. */
static void test_output_small_stream_survives_the_drop(void **state)
{
	struct store *s = store_new(0, 100, 200, false);

	(void)state;
	feed(s, 90);
	output_drop(&s->out);
	check_all(s);
	store_free(s);
}

/* Two streams in one file do not touch each other's region. */
static void test_output_streams_share_a_spool(void **state)
{
	struct store *a = store_new(0, 100, 200, false), *b = store_new(300, 100, 200, false);

	(void)state;
	b->seed = 77;
	b->range.spool = &a->spool;
	for (int i = 0; i < 50; i++) {
		feed(a, 1 + unit_random(&a->seed) % 50);
		feed(b, 1 + unit_random(&b->seed) % 50);
	}
	check_all(a);
	check_all(b);
	store_free(b);
	store_free(a);
}

static void test_output_freeze(void **state)
{
	struct store *s = store_new(0, 4096, 1 << 19, false);

	(void)state;
	feed(s, 4096 + 100000);
	output_freeze(&s->out);
	s->tail = 102400; /* whole pages */
	assert_int_equal(s->range.tail_max, s->tail);
	check_all(s);
	feed(s, 1000);
	check_all(s);
	feed(s, 300000);
	check_all(s);
	output_freeze(&s->out); /* once */
	check_all(s);
	store_free(s);
}

static void test_output_freeze_keeps_a_minimum(void **state)
{
	struct store *s = store_new(0, 4096, 1 << 19, false);

	(void)state;
	feed(s, 10);
	output_freeze(&s->out);
	s->tail = 64 * 1024;
	feed(s, 200000);
	check_all(s);
	store_free(s);
}

/* A tail that has wrapped has its full size already. */
static void test_output_freeze_after_wrap(void **state)
{
	struct store *s = store_new(0, 100, 200, false);

	(void)state;
	feed(s, 1000);
	output_freeze(&s->out);
	feed(s, 77);
	check_all(s);
	store_free(s);
}

static void test_output_drop(void **state)
{
	struct store *s = store_new(0, 100, 200, false);
	uint64_t from, to, offset = 50;
	char bytes[10];

	(void)state;
	feed(s, 150);
	output_drop(&s->out);
	spool_close(&s->spool);
	assert_int_equal(output_kept(&s->out), 0);
	assert_true(output_evicted(&s->out, &from, &to));
	assert_int_equal(from, 0);
	assert_int_equal(to, 150);
	assert_int_equal(output_read(&s->out, &offset, bytes, sizeof(bytes)), 0);
	assert_int_equal(offset, 150);
	feed(s, 500); /* still read and counted, and no new file is made */
	assert_int_equal(s->out.total, 650);
	assert_int_equal(s->spool.fd, -1);
	assert_int_equal(output_kept(&s->out), 0);
	assert_true(output_evicted(&s->out, &from, &to));
	assert_int_equal(to, 650);
	store_free(s);
	s = store_new(0, 10000, 10000, false);
	feed(s, 6000); /* all in the head */
	output_drop(&s->out);
	assert_true(output_evicted(&s->out, &from, &to));
	assert_int_equal(from, 0);
	assert_int_equal(to, 6000);
	store_free(s);
}

/*
 * What holds whatever was refused: all is counted, what can be read is right,
 * the rest is reported as evicted, and kept bytes are those that can be read.
 */
static void check_honest(const struct store *s)
{
	uint64_t from, to, seen = 0, next = 0;
	unsigned char bytes[256];
	ssize_t n;

	assert_int_equal(s->out.total, s->written);
	if (!output_evicted(&s->out, &from, &to))
		from = to = 0;
	for (;;) {
		uint64_t at = next;

		n = output_read(&s->out, &at, bytes, sizeof(bytes));
		assert_true(n >= 0);
		assert_true(at == next || (next == from && at == to));
		if (n == 0)
			break;
		assert_memory_equal(bytes, s->all + at, (size_t)n);
		seen += (uint64_t)n;
		next = at + (uint64_t)n;
	}
	assert_int_equal(seen, s->written - (to - from));
	assert_int_equal(output_kept(&s->out), seen);
}

static void test_output_full_from_the_start(void **state)
{
	struct store *s = store_new(0, 100, 200, false);
	uint64_t from, to;

	(void)state;
	s->spool.fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	assert_true(s->spool.fd >= 0);
	feed(s, 5000);
	check_honest(s);
	assert_true(output_evicted(&s->out, &from, &to));
	assert_int_equal(from, 0);
	assert_int_equal(to, 5000);
	store_free(s);
}

static void test_output_unwritable_spool(void **state)
{
	struct store *s = store_new(0, 100, 200, false);

	(void)state;
	s->spool.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	feed(s, 50);
	feed(s, 500);
	check_honest(s);
	assert_int_equal(output_kept(&s->out), 50); /* the small part */
	store_free(s);
}

/* A file that may not grow takes some places and refuses others, as a full disk that empties. */
static void refuse_behind(uint64_t seed, off_t size)
{
	struct store *s = store_new(0, 1 + unit_random(&seed) % 300, 1 + unit_random(&seed) % 500,
				    seed % 3 == 0);

	s->spool.fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(s->spool.fd, size), 0);
	assert_int_equal(fcntl(s->spool.fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	s->seed = seed;
	for (int i = 0; i < 30; i++) {
		feed(s, 1 + unit_random(&s->seed) % 90);
		check_honest(s);
	}
	store_free(s);
}

static void test_output_refused_in_places(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++)
		refuse_behind(seed, (off_t)(seed * 7 % 700));
}

/* Room that comes back is used again. */
static void test_output_goes_on_after_refusal(void **state)
{
	struct store *s = store_new(0, 100, 200, false);
	int full = open("/dev/full", O_RDWR | O_CLOEXEC), good;

	(void)state;
	feed(s, 110);
	good = s->spool.fd;
	s->spool.fd = full;
	feed(s, 40);
	s->spool.fd = good;
	check_honest(s);
	assert_int_equal(output_kept(&s->out), 100);
	feed(s, 50);
	check_honest(s);
	assert_int_equal(output_kept(&s->out), 150);
	feed(s, 1000);
	check_honest(s);
	assert_int_equal(output_kept(&s->out), 300);
	close(full);
	store_free(s);
}

/* Where no file can be made, the small part stays and the rest is counted as lost; once one can be
 * made again, it takes what follows. */
static void test_output_small_stream_without_a_spool(void **state)
{
	struct store *s = store_new(0, 8192, 65536, false);
	uint64_t from, to;

	(void)state;
	feed(s, 4000);
	s->spool.fd = open("/dev/full", O_RDWR | O_CLOEXEC);
	feed(s, 5000);
	check_honest(s);
	assert_true(output_evicted(&s->out, &from, &to));
	assert_int_equal(from, 4000);
	assert_int_equal(to, 9000);
	spool_close(&s->spool);
	feed(s, 5000);
	check_honest(s);
	assert_int_equal(output_kept(&s->out), 9000);
	store_free(s);
}

/* A spool that lost its bytes behind our back is an error, not zeros or an endless loop. */
static void test_output_read_error(void **state)
{
	struct store *s = store_new(0, 100, 200, false);
	uint64_t offset = 0;
	char bytes[50];

	(void)state;
	feed(s, 150);
	feed(s, 10);
	assert_int_equal(ftruncate(s->spool.fd, 10), 0);
	assert_int_equal(output_read(&s->out, &offset, bytes, sizeof(bytes)), -1);
	offset = 155; /* the piece that came last is still in the heap */
	assert_int_equal(output_read(&s->out, &offset, bytes, sizeof(bytes)), 5);
	assert_memory_equal(bytes, s->all + offset, 5);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_random_against_the_model),
		cmocka_unit_test(test_output_copy_path_against_the_model),
		cmocka_unit_test(test_output_borders),
		cmocka_unit_test(test_output_keeps_whole_packets),
		cmocka_unit_test(test_output_end_of_file),
		cmocka_unit_test(test_output_silent_stream_needs_no_spool),
		cmocka_unit_test(test_output_small_stream_needs_no_spool),
		cmocka_unit_test(test_output_small_stream_without_a_spool),
		cmocka_unit_test(test_output_small_stream_survives_the_drop),
		cmocka_unit_test(test_output_streams_share_a_spool),
		cmocka_unit_test(test_output_freeze),
		cmocka_unit_test(test_output_freeze_keeps_a_minimum),
		cmocka_unit_test(test_output_freeze_after_wrap),
		cmocka_unit_test(test_output_drop),
		cmocka_unit_test(test_output_full_from_the_start),
		cmocka_unit_test(test_output_unwritable_spool),
		cmocka_unit_test(test_output_refused_in_places),
		cmocka_unit_test(test_output_goes_on_after_refusal),
		cmocka_unit_test(test_output_read_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
