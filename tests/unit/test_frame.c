#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "rpc/frame.h"

static void put(struct frame *f, const char *bytes, size_t len)
{
	memcpy(frame_reserve(f, len), bytes, len);
	frame_commit(f, len);
}

/* Everything that comes out now, as "line|line|!|" (! for one that was too long, ? for the end of
 * what can be read). */
static void take(struct frame *f, bool eof, struct buf *seen)
{
	enum frame_result result;
	const char *line;
	size_t len;

	while ((result = frame_next(f, eof, &line, &len)) != FRAME_NONE) {
		if (result == FRAME_LINE)
			buf_add(seen, line, len);
		else
			buf_addc(seen, result == FRAME_TOO_LONG ? '!' : '?');
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

/* ---- behind headers ---- */

#define H(n) "Content-Length: " n "\r\n\r\n"

static void test_frame_takes_messages_behind_headers(void **state)
{
	(void)state;
	check(H("3") "one" H("3") "two", 100, "one|two|");
	check("content-length:3\r\n\r\none" "CONTENT-LENGTH: \t 3 \t\r\n\r\ntwo", 100, "one|two|");
	check("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" H("3") "one", 100,
	      "one|");
	check("Content-Length: 3\r\nX-Other: 1:2\r\nContent-Type: text\r\n\r\none" H("3") "two",
	      100, "one|two|");
	check("Content-Length: 3\n\none" H("003") "two", 100, "one|two|");
}

static void test_frame_keeps_newlines_behind_headers(void **state)
{
	(void)state;
	check(H("9") "{\n\"a\":1\n}" H("4") "\nab\n" H("21") "Content-Length: 5\r\n\r\n" H("1") "x",
	      100, "{\n\"a\":1\n}|\nab\n|Content-Length: 5\r\n\r\n|x|");
}

static void test_frame_skips_blank_messages(void **state)
{
	(void)state;
	check(H("0") H("4") " \r\n\t" H("1") "x", 100, "x|");
}

static void test_frame_skips_a_long_message_once(void **state)
{
	(void)state;
	check(H("15") "123456789012345" H("16") "1234567890123456" H("1") "x", 15,
	      "123456789012345|!|x|");
	check(H("999999999999999999") "12\n3456", 15, "!|");
	check(H("19") "1234\n67890123456789" H("17") "12345678901234567" H("2") "ok", 15,
	      "!|!|ok|");
}

static void test_frame_stays_with_lines(void **state)
{
	(void)state;
	check("C\n{}\n", 100, "C|{}|");
	check("C", 100, "C|");
	check("Content-Length", 100, "Content-Length|");
	check("Content-Length 5\r\n\r\n{}\n", 100, "Content-Length 5|{}|");
	check("Content-Length : 5\r\n", 100, "Content-Length : 5|");
	check("X-Other: 1\r\n" H("2") "{}", 100, "X-Other: 1|Content-Length: 2|{}|");
	check("\n" H("2") "{}", 100, "Content-Length: 2|{}|");
	check(" " H("2") "{}", 100, " Content-Length: 2|{}|");
	check("\xef\xbb\xbf" H("2") "{}", 100, "\xef\xbb\xbf" "Content-Length: 2|{}|");
	check("{}\n" H("2") "{}\n", 100, "{}|Content-Length: 2|{}|");
}

static void test_frame_gives_up_behind_bad_headers(void **state)
{
	static const char *const bad[] = {
		"Content-Length: \r\n\r\n{}", "Content-Length: -2\r\n\r\n{}",
		"Content-Length: +2\r\n\r\n{}", "Content-Length: 0x2\r\n\r\n{}",
		"Content-Length: 2.0\r\n\r\n{}", "Content-Length: 2 2\r\n\r\n{}",
		"Content-Length: 2, 2\r\n\r\n{}", "Content-Length: 2\r\r\n\r\n{}",
		"Content-Length: 1000000000000000000\r\n\r\n{}",
		"Content-Length: 18446744073709551618\r\n\r\n{}",
		"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"Content-Type: text\r\n\r\n{}", "Content-Length: 2\r\n{}",
		"Content-Length: 2\r\n{\"a\":1}\r\n", "Content-Length: 2\r\n: 2\r\n\r\n{}",
		"Content-Length: 2\r\nname\r\n\r\n{}", "Content-Length: 2\r\n a: 2\r\n\r\n{}",
		"Content-Length: 2\r\na b: 2\r\n\r\n{}", "Content-Length: 2\r\na :2\r\n\r\n{}",
		H("2") "{}\n" H("2") "{}", H("2") "{}{", H("2") "{}\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check(bad[i], 100, strncmp(bad[i], H("2"), 21) ? "?|" : "{}|?|");
}

static void test_frame_tells_an_end_in_the_middle(void **state)
{
	(void)state;
	check("Content-Length:", 100, "?|");
	check("Content-Length: 2\r\n", 100, "?|");
	check("Content-Length: 2\r\n\r", 100, "?|");
	check(H("2"), 100, "?|");
	check(H("2") "{", 100, "?|");
	check(H("2") "{}" "Con", 100, "{}|?|");
	check(H("2") "{}", 100, "{}|");
}

/* @extra bytes more than the headers of a message may take. */
static void check_header_size(int extra, const char *wanted)
{
	char text[FRAME_HEADER_MAX + 64];
	int pad = FRAME_HEADER_MAX - (int)strlen("Content-Length: 2\r\nX:\r\n\r\n") + extra;
	static const size_t steps[] = { 1, 7, sizeof(text) };

	snprintf(text, sizeof(text), "Content-Length: 2\r\nX:%*s\r\n\r\n{}", pad, "");
	for (size_t i = 0; i < 3; i++) {
		char *seen = feed(text, steps[i], 100);

		assert_string_equal(seen, wanted);
		free(seen);
	}
}

static void test_frame_bounds_the_headers(void **state)
{
	(void)state;
	check_header_size(0, "{}|");
	check_header_size(1, "?|");
}

/* Neither a message that is skipped nor what follows broken input is kept. */
static void test_frame_memory_stays_bounded_behind_headers(void **state)
{
	static const char *const starts[] = { H("999999999999"), "Content-Length: no\r\n" };
	static char junk[64 << 10];
	const char *line;
	size_t len;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	for (int k = 0; k < 2; k++) {
		struct frame f;
		int reports = 0;

		frame_init(&f, 1 << 20);
		put(&f, starts[k], strlen(starts[k]));
		for (int i = 0; i < 200; i++) {
			put(&f, junk, sizeof(junk));
			while (frame_next(&f, false, &line, &len) != FRAME_NONE)
				reports++;
			assert_true(f.buf.cap <= (size_t)1 << 20);
		}
		assert_int_equal(reports, 1);
		frame_release(&f);
	}
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
		cmocka_unit_test(test_frame_takes_messages_behind_headers),
		cmocka_unit_test(test_frame_keeps_newlines_behind_headers),
		cmocka_unit_test(test_frame_skips_blank_messages),
		cmocka_unit_test(test_frame_skips_a_long_message_once),
		cmocka_unit_test(test_frame_stays_with_lines),
		cmocka_unit_test(test_frame_gives_up_behind_bad_headers),
		cmocka_unit_test(test_frame_tells_an_end_in_the_middle),
		cmocka_unit_test(test_frame_bounds_the_headers),
		cmocka_unit_test(test_frame_memory_stays_bounded_behind_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
