#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "rpc/frame.h"

static void put(struct frame *f, const char *bytes, size_t len)
{
	memcpy(frame_reserve(f, len), bytes, len);
	frame_commit(f, len);
}

/* Everything that comes out now, as "line|line|!|" (! for a line that was too long). */
static void take(struct frame *f, bool eof, struct buf *seen)
{
	enum frame_result result;
	const char *line;
	size_t len;

	while ((result = frame_next(f, eof, &line, &len)) != FRAME_NONE) {
		if (result == FRAME_LINE)
			buf_add(seen, line, len);
		else
			buf_addc(seen, '!');
		buf_addc(seen, '|');
	}
}

/* Feed @text in pieces of @step bytes; returns what came out (heap). */
static char *feed(const char *text, size_t step, size_t line_max)
{
	size_t len = strlen(text);
	struct frame f;
	struct buf seen;

	buf_init(&seen, 1 << 20);
	buf_adds(&seen, "");
	frame_init(&f, line_max);
	for (size_t at = 0; at < len; at += step) {
		put(&f, text + at, len - at < step ? len - at : step);
		take(&f, false, &seen);
	}
	take(&f, true, &seen);
	frame_release(&f);
	return buf_steal(&seen);
}

static void check(const char *text, size_t line_max, const char *wanted)
{
	for (size_t step = 1; step <= strlen(text) + 1; step++) {
		char *seen = feed(text, step, line_max);

		assert_string_equal(seen ? seen : "", wanted);
		free(seen);
	}
}

static void test_frame_splits_lines_however_they_arrive(void **state)
{
	(void)state;
	check("one\ntwo\nthree\n", 100, "one|two|three|");
	check("", 100, "");
	check("a\n", 100, "a|");
}

static void test_frame_drops_one_carriage_return(void **state)
{
	(void)state;
	check("a\r\nb\r\r\nc\rd\n", 100, "a|b\r|c\rd|");
}

static void test_frame_skips_blank_lines(void **state)
{
	(void)state;
	check("\n\r\n \t \na\n\n\n", 100, "a|");
	check(" \n \n ", 100, "");
}

static void test_frame_takes_a_last_line_without_newline(void **state)
{
	(void)state;
	check("a\nlast", 100, "a|last|");
	check("a\nlast\r", 100, "a|last|");
}

static void test_frame_reports_a_long_line_once_and_goes_on(void **state)
{
	(void)state;
	check("12345\n123456\n1\n", 5, "12345|!|1|");
	check("1234567890123456789\nok\n", 5, "!|ok|");
	check("1234567890", 5, "!|");
	check("12345\r\n123456\r\n", 5, "12345|!|");
	check("12345\r", 5, "12345|");
	check("123456789\n123456789\nok", 5, "!|!|ok|");
}

static void test_frame_knows_nothing_before_the_end(void **state)
{
	const char *line;
	struct frame f;
	size_t len;

	(void)state;
	frame_init(&f, 100);
	assert_int_equal(frame_next(&f, false, &line, &len), FRAME_NONE);
	assert_int_equal(frame_next(&f, true, &line, &len), FRAME_NONE);
	put(&f, "half", 4);
	assert_int_equal(frame_next(&f, false, &line, &len), FRAME_NONE);
	assert_int_equal(frame_next(&f, true, &line, &len), FRAME_LINE);
	assert_int_equal(len, 4);
	assert_int_equal(frame_next(&f, true, &line, &len), FRAME_NONE);
	frame_release(&f);
}

static void test_frame_keeps_zero_bytes(void **state)
{
	const char *line;
	struct frame f;
	size_t len;

	(void)state;
	frame_init(&f, 100);
	put(&f, "a\0b\n", 4);
	assert_int_equal(frame_next(&f, false, &line, &len), FRAME_LINE);
	assert_int_equal(len, 3);
	assert_memory_equal(line, "a\0b", 3);
	frame_release(&f);
}

/* A long line that never ends must not be kept. */
static void test_frame_memory_stays_bounded(void **state)
{
	static char junk[64 << 10];
	const char *line;
	struct frame f;
	size_t len;
	int reports = 0;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	frame_init(&f, 1 << 20);
	for (int i = 0; i < 200; i++) {
		put(&f, junk, sizeof(junk));
		while (frame_next(&f, false, &line, &len) != FRAME_NONE)
			reports++;
		assert_true(f.buf.cap <= (size_t)4 << 20);
	}
	assert_int_equal(reports, 1);
	put(&f, "\nok\n", 4);
	assert_int_equal(frame_next(&f, false, &line, &len), FRAME_LINE);
	assert_int_equal(len, 2);
	frame_reserve(&f, 1);
	assert_true(f.buf.cap <= 256 << 10);
	frame_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_splits_lines_however_they_arrive),
		cmocka_unit_test(test_frame_drops_one_carriage_return),
		cmocka_unit_test(test_frame_skips_blank_lines),
		cmocka_unit_test(test_frame_takes_a_last_line_without_newline),
		cmocka_unit_test(test_frame_reports_a_long_line_once_and_goes_on),
		cmocka_unit_test(test_frame_knows_nothing_before_the_end),
		cmocka_unit_test(test_frame_keeps_zero_bytes),
		cmocka_unit_test(test_frame_memory_stays_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
