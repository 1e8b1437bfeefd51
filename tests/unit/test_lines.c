#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "proc/lines.h"

/* A stream with a pipe to write it from. */
struct stream {
	struct spool spool;
	struct output_range range;
	struct output out;
	int pipe[2];
};

static void stream_init(struct stream *s, uint64_t head, uint64_t tail)
{
	assert_int_equal(pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK), 0);
	spool_init(&s->spool);
	s->range = (struct output_range){
		.spool = &s->spool, .head_max = head, .tail_max = tail,
	};
	output_init(&s->out, &s->range);
}

static void stream_add(struct stream *s, const char *bytes, size_t len)
{
	while (len) {
		size_t part = len < 4096 ? len : 4096;
		uint64_t total = s->out.total + part;

		assert_int_equal(write(s->pipe[1], bytes, part), part);
		while (s->out.total < total)
			assert_true(output_fill(&s->out, s->pipe[0], part) > 0);
		bytes += part;
		len -= part;
	}
}

static void stream_release(struct stream *s)
{
	output_release(&s->out);
	spool_close(&s->spool);
	close(s->pipe[0]);
	close(s->pipe[1]);
}

static struct line expect_text(struct lines *l, const struct stream *s, const char *text)
{
	struct line line;

	assert_true(lines_next(l, &s->out, &line));
	assert_int_equal(line.len, strlen(text));
	assert_memory_equal(line.text, text, line.len);
	return line;
}

static void expect_line(struct lines *l, const struct stream *s, uint64_t offset, uint64_t number,
			bool follows, const char *text)
{
	struct line line = expect_text(l, s, text);

	assert_int_equal(line.offset, offset);
	assert_int_equal(line.number, number);
	assert_int_equal(line.follows, follows);
}

/* What a hole has left of a line is no whole one. */
static void expect_edges(struct lines *l, const struct stream *s, const char *text, bool no_head,
			 bool no_tail)
{
	struct line line = expect_text(l, s, text);

	assert_int_equal(line.no_head, no_head);
	assert_int_equal(line.no_tail, no_tail);
}

static void expect_end(struct lines *l, const struct stream *s)
{
	struct line line;

	assert_false(lines_next(l, &s->out, &line));
	assert_false(lines_next(l, &s->out, &line));
	lines_end(l);
}

static void test_lines_are_clean(void **state)
{
	static const char text[] = "a\n\n\x1b[1mb\x1b[0m\n1%\r2%\r\nc\xff\xe2\x82\nend";
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 100, 100);
	stream_add(&s, text, strlen(text));
	lines_begin(&l, &s.out, 0);
	stream_add(&s, " later\n", 7); /* is not read */
	expect_line(&l, &s, 0, 1, false, "a");
	expect_line(&l, &s, 2, 2, true, "");
	expect_line(&l, &s, 3, 3, true, "b");
	expect_line(&l, &s, 13, 4, true, "2%");
	expect_line(&l, &s, 20, 5, true, "c" UTF8_REPLACEMENT UTF8_REPLACEMENT);
	expect_line(&l, &s, 25, 6, true, "end");
	expect_end(&l, &s);
	lines_begin(&l, &s.out, 3);
	expect_line(&l, &s, 3, 0, false, "b");
	lines_end(&l);
	lines_begin(&l, &s.out, 1000);
	expect_end(&l, &s);
	stream_release(&s);
}

static void test_lines_from_a_counted_place(void **state)
{
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\ncdefghijk\nlmn\n", 17); /* 4 to 10 are gone */
	lines_begin_at(&l, &s.out, &(struct lines_place){ 1, 0 });
	assert_true(lines_skip(&l, &s.out, 3));
	expect_line(&l, &s, 3, 2, false, "c");
	lines_end(&l);
	lines_begin_at(&l, &s.out, &(struct lines_place){ 1, 0 });
	while (!lines_skip(&l, &s.out, 13))
		;
	expect_line(&l, &s, 13, 0, false, "lmn");
	lines_end(&l);
	lines_begin_at(&l, &s.out, &(struct lines_place){ 11, 1 });
	assert_true(lines_skip(&l, &s.out, 13));
	expect_line(&l, &s, 13, 3, false, "lmn"); /* it was counted in time */
	expect_end(&l, &s);
	stream_release(&s);
}

static void test_lines_of_a_terminal(void **state)
{
	static const char text[] = "plain\r\nx\by\r\n\x1b[2;1Htwo\x1b[1;1Hone\r\n";
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 100, 100);
	stream_add(&s, text, strlen(text));
	lines_begin(&l, &s.out, 0);
	expect_line(&l, &s, 0, 1, false, "plain");
	expect_line(&l, &s, 7, 2, true, "y");
	expect_line(&l, &s, 12, 3, true, "one\ntwo");
	expect_end(&l, &s);
	stream_release(&s);
}

/* The first byte of a character is none of its own while the other can come. */
static void test_lines_of_half_a_character(void **state)
{
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 1000, 1000);
	stream_add(&s, "caf\xc3", 4);
	lines_begin(&l, &s.out, 0);
	l.grows = true;
	expect_line(&l, &s, 0, 1, false, "caf");
	expect_end(&l, &s);
	lines_begin(&l, &s.out, 3);
	l.grows = true;
	expect_end(&l, &s);
	lines_end(&l);
	lines_begin(&l, &s.out, 0);
	l.grows = false;
	expect_line(&l, &s, 0, 1, false, "caf" UTF8_REPLACEMENT);
	lines_end(&l);
	stream_add(&s, "\xa9", 1);
	lines_begin(&l, &s.out, 0);
	l.grows = true;
	expect_line(&l, &s, 0, 1, false, "caf\xc3\xa9");
	lines_end(&l);
	stream_release(&s);
}

static void test_lines_around_the_hole(void **state)
{
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\ncdefghijk\nlmn\n", 17);
	lines_begin(&l, &s.out, 0);
	expect_line(&l, &s, 0, 1, false, "ab");
	expect_line(&l, &s, 3, 2, true, "c");
	expect_line(&l, &s, 11, 0, false, "k");
	expect_line(&l, &s, 13, 0, true, "lmn");
	expect_end(&l, &s);
	/* Bytes that go while they are read are a hole too. */
	lines_begin(&l, &s.out, 0);
	expect_line(&l, &s, 0, 1, false, "ab");
	stream_add(&s, "overwrites all of it\n", 21);
	expect_line(&l, &s, 3, 2, true, "c");
	expect_end(&l, &s);
	lines_begin(&l, &s.out, 0);
	output_drop(&s.out);
	expect_end(&l, &s);
	stream_release(&s);
}

static void test_lines_torn_by_the_hole(void **state)
{
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\ncdefghijk\nlmn\n", 17);
	lines_begin(&l, &s.out, 0);
	expect_edges(&l, &s, "ab", false, false);
	expect_edges(&l, &s, "c", false, true);
	expect_edges(&l, &s, "k", true, false);
	expect_edges(&l, &s, "lmn", false, false);
	expect_end(&l, &s);
	lines_begin(&l, &s.out, 6); /* in the hole */
	expect_edges(&l, &s, "k", true, false);
	lines_end(&l);
	lines_begin(&l, &s.out, 14); /* the caller knows where: of what comes then it is all */
	expect_edges(&l, &s, "mn", false, false);
	lines_end(&l);
	stream_release(&s);
}

static void test_lines_unread_is_torn_again(void **state)
{
	struct stream s;
	struct lines l;
	struct line line;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\ncdefghijk", 12);
	lines_begin(&l, &s.out, 3);
	expect_edges(&l, &s, "c", false, true);
	assert_true(lines_next(&l, &s.out, &line));
	assert_true(line.open && line.no_head);
	lines_unread(&l, &line);
	stream_add(&s, "\n", 1);
	lines_continue(&l, &s.out);
	assert_true(lines_next(&l, &s.out, &line));
	assert_true(!line.open && line.no_head && !line.no_tail);
	lines_end(&l);
	stream_release(&s);
}

/* All parts of a line that is too long, put together, are the line. */
static void test_lines_too_long(void **state)
{
	enum { CHARACTERS = 100000 };
	struct buf text, got;
	struct stream s;
	struct lines l;
	struct line line;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_init(&got, 1 << 20);
	for (int i = 0; i < CHARACTERS; i++)
		buf_adds(&text, "\xe2\x82\xac");
	stream_init(&s, 1 << 20, 1 << 20);
	stream_add(&s, text.data, text.len);
	stream_add(&s, "\nnext", 5);
	lines_begin(&l, &s.out, 0);
	while (got.len < text.len) {
		assert_true(lines_next(&l, &s.out, &line));
		assert_int_equal(line.offset, got.len);
		assert_int_equal(line.number, 1);
		assert_in_range(line.len, 1, LINES_MAX);
		assert_int_equal(line.no_head, got.len > 0);
		buf_add(&got, line.text, line.len);
		assert_int_equal(line.no_tail, got.len < text.len);
	}
	assert_memory_equal(got.data, text.data, text.len);
	expect_line(&l, &s, text.len + 1, 2, true, "next");
	expect_end(&l, &s);
	buf_release(&text);
	buf_release(&got);
	stream_release(&s);
}

/* A line that is drawn over for long is known from its start: each part draws there. */
static void test_lines_redrawn_for_long(void **state)
{
	enum { COUNT = 10000 }; /* 120,000 bytes */
	struct stream s;
	struct lines l;
	struct line line;
	char bar[32];

	(void)state;
	stream_init(&s, 1 << 20, 1 << 20);
	for (int i = 1; i <= COUNT; i++) {
		snprintf(bar, sizeof(bar), "\r%06d done", i);
		stream_add(&s, bar, strlen(bar));
	}
	lines_begin(&l, &s.out, 0);
	assert_true(lines_next(&l, &s.out, &line));
	assert_true(line.no_tail && !line.no_head);
	lines_end(&l);
	lines_begin(&l, &s.out, 0);
	while (lines_next(&l, &s.out, &line) && !line.open)
		;
	snprintf(bar, sizeof(bar), "%06d done", COUNT);
	assert_int_equal(line.len, strlen(bar));
	assert_memory_equal(line.text, bar, line.len);
	assert_true(line.goes_on && !line.no_head);
	lines_unread(&l, &line);
	lines_continue(&l, &s.out);
	assert_true(lines_next(&l, &s.out, &line));
	assert_true(line.goes_on && !line.no_head);
	lines_end(&l);
	stream_release(&s);
}

/* The longest line that is one has its newline behind it, and is whole. */
static void test_lines_longest(void **state)
{
	char text[LINES_MAX + 6];
	struct stream s;
	struct lines l;

	(void)state;
	memset(text, 'x', LINES_MAX);
	memcpy(text + LINES_MAX, "\nnext", 6);
	stream_init(&s, 1 << 20, 1 << 20);
	stream_add(&s, text, LINES_MAX + 5);
	text[LINES_MAX] = '\0';
	lines_begin(&l, &s.out, 0);
	expect_edges(&l, &s, text, false, false);
	expect_line(&l, &s, LINES_MAX + 1, 2, true, "next");
	expect_end(&l, &s);
	stream_release(&s);
}

/* A reader goes on with what was written since, and takes an open line again. */
static void test_lines_go_on(void **state)
{
	struct stream s;
	struct lines l;
	struct line line;

	(void)state;
	stream_init(&s, 100, 100);
	stream_add(&s, "one\n>>>", 7);
	lines_begin(&l, &s.out, 0);
	assert_true(lines_next(&l, &s.out, &line));
	assert_false(line.open);
	assert_true(lines_next(&l, &s.out, &line));
	assert_true(line.open);
	lines_unread(&l, &line);
	assert_null(l.bytes);
	stream_add(&s, " two\nthree\n", 11);
	lines_continue(&l, &s.out);
	expect_line(&l, &s, 4, 2, true, ">>> two");
	stream_add(&s, "later\n", 6);
	expect_line(&l, &s, 12, 3, true, "three");
	expect_end(&l, &s);
	lines_continue(&l, &s.out);
	expect_line(&l, &s, 18, 4, true, "later");
	expect_end(&l, &s);
	assert_int_equal(l.lost, 0);
	stream_release(&s);
}

/* What is lost before the reader comes to it is counted, and ends the numbers of lines. */
static void test_lines_count_what_is_lost(void **state)
{
	struct stream s;
	struct lines l;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\n", 3);
	lines_begin(&l, &s.out, 0);
	expect_line(&l, &s, 0, 1, false, "ab");
	expect_end(&l, &s);
	stream_add(&s, "cdefghijk\nlmn\n", 14);
	lines_continue(&l, &s.out);
	expect_line(&l, &s, 3, 2, true, "c");
	expect_line(&l, &s, 11, 0, false, "k");
	assert_int_equal(l.lost, 7);
	expect_line(&l, &s, 13, 0, true, "lmn");
	expect_end(&l, &s);
	stream_release(&s);
}

static void test_lines_skip_numbers_the_rest(void **state)
{
	uint64_t offset = 0;
	struct stream s;
	struct lines l;
	int reads = 0;

	(void)state;
	stream_init(&s, 1 << 20, 1 << 20);
	for (int i = 0; i < 40000; i++)
		stream_add(&s, "line\n", 5);
	stream_add(&s, "end\n", 4);
	lines_begin(&l, &s.out, 0);
	assert_true(lines_skip(&l, &s.out, 0));
	while (!lines_skip(&l, &s.out, 200001)) {
		assert_in_range(l.offset, offset + 1, offset + LINES_MAX);
		offset = l.offset;
		reads++;
	}
	assert_int_equal(reads, 200001 / LINES_MAX);
	expect_line(&l, &s, 200001, 40001, false, "nd");
	expect_end(&l, &s);
	stream_release(&s);
	/* Lines that are no longer kept cannot be counted. */
	stream_init(&s, 4, 6);
	stream_add(&s, "ab\ncdefghijk\nlmn\n", 17);
	lines_begin(&l, &s.out, 0);
	while (!lines_skip(&l, &s.out, 13))
		;
	expect_line(&l, &s, 13, 0, false, "lmn");
	expect_end(&l, &s);
	stream_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_clean),
		cmocka_unit_test(test_lines_from_a_counted_place),
		cmocka_unit_test(test_lines_of_a_terminal),
		cmocka_unit_test(test_lines_of_half_a_character),
		cmocka_unit_test(test_lines_around_the_hole),
		cmocka_unit_test(test_lines_torn_by_the_hole),
		cmocka_unit_test(test_lines_unread_is_torn_again),
		cmocka_unit_test(test_lines_too_long),
		cmocka_unit_test(test_lines_redrawn_for_long),
		cmocka_unit_test(test_lines_longest),
		cmocka_unit_test(test_lines_go_on),
		cmocka_unit_test(test_lines_count_what_is_lost),
		cmocka_unit_test(test_lines_skip_numbers_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
