#include "unit.h"

#include "base/term.h"

/* In heap memory of exactly its size, so that ASan finds a read beyond the end. */
static void expect_bytes(const char *text, size_t len, const char *want, size_t want_len)
{
	char *copy = malloc(len ? len : 1);
	size_t got;

	memcpy(copy, text, len);
	got = term_clean(copy, len);
	if (got != want_len || memcmp(copy, want, want_len))
		print_error("'%.*s' became '%.*s'\n", (int)len, text, (int)got, copy);
	assert_int_equal(got, want_len);
	assert_memory_equal(copy, want, want_len);
	free(copy);
}

static void expect(const char *text, const char *want)
{
	expect_bytes(text, strlen(text), want, strlen(want));
}

static void test_term_plain_text_stays(void **state)
{
	(void)state;
	expect("", "");
	expect("two\nlines\n", "two\nlines\n");
	expect("tab\tbell\a \xc3\xa9\xe2\x82\xac", "tab\tbell\a \xc3\xa9\xe2\x82\xac");
	expect_bytes("a\0b", 3, "a\0b", 3);
	expect("\xff\x80", "\xff\x80");
}

static void test_term_removes_csi(void **state)
{
	(void)state;
	expect("\x1b[31mred\x1b[0m", "red");
	expect("\x1b[38;2;1;2;3mx\x1b[m", "x");
	expect("\x1b[?25lx\x1b[?25h", "x");
	expect("\x1b[2J\x1b[Hx", "x");
	expect("\x1b[1 qx", "x");
	expect("\x1b[>cx\x1b[200~y", "xy");
}

static void test_term_removes_strings(void **state)
{
	(void)state;
	expect("\x1b]0;title\ax", "x");
	expect("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link");
	expect("\x1bPq#0\x1b\\x", "x");
	expect("\x1bXs\x1b\\\x1b^p\x1b\\\x1b_a\x1b\\x", "x");
}

static void test_term_removes_short_escapes(void **state)
{
	(void)state;
	expect("\x1b(Bx", "x");
	expect("\x1b" "7x\x1b" "8y", "xy");
	expect("\x1b=x\x1b>y", "xy");
	expect("\x1b#8x", "x");
	expect("\x1b" "Mx\x1b" "cy", "xy");
}

/* A sequence that never ends takes nothing that it cannot be, and nothing behind the text. */
static void test_term_cut_sequences(void **state)
{
	(void)state;
	expect("x\x1b", "x");
	expect("x\x1b[", "x");
	expect("x\x1b[31", "x");
	expect("x\x1b]0;title", "x");
	expect("x\x1b]0;title\x1b", "x");
	expect("x\x1b(", "x");
	expect("\x1b[31\nx", "\nx");
	expect("\x1b\nx", "\nx");
	expect("\x1b\xc3\xa9", "\xc3\xa9");
	expect("\x1b[\xc3\xa9", "\xc3\xa9");
	expect("\x1b\x1b[31mx", "x");
}

static void test_term_keeps_what_was_drawn_last(void **state)
{
	(void)state;
	expect("10%\r20%\r100%\n", "100%\n");
	expect("a\nold\rnew\nb\n", "a\nnew\nb\n");
	expect("10%\r\x1b[K20%\n", "20%\n");
	expect("\rx", "x");
	expect("a\n\rx", "a\nx");
}

/* A carriage return alone draws nothing. */
static void test_term_line_ends_are_no_redraw(void **state)
{
	(void)state;
	expect("dos\r\nlines\r\n", "dos\nlines\n");
	expect("a\r\r\nb", "a\nb");
	expect("waiting\r", "waiting");
	expect("waiting\r\r", "waiting");
	expect("done\r\x1b[0m\nnext", "done\nnext");
	expect("done\r\x1b[0m", "done");
	expect("done\r\x1b[0m\r\x1b[1m\r\n", "done\n");
}

/* For any bytes: no escape is left, no newline is lost outside sequences, twice is once. */
static void test_term_random(void **state)
{
	static const char alphabet[] = "\x1b\x1b\x1b[]P(0;m\r\n\a\\ab\xc3\xa9";
	uint64_t seed = 5;
	char text[64], twice[64];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = unit_random(&seed) % sizeof(text), got;

		for (size_t i = 0; i < len; i++)
			text[i] = alphabet[unit_random(&seed) % (sizeof(alphabet) - 1)];
		got = term_clean(text, len);
		assert_true(got <= len);
		assert_null(memchr(text, '\x1b', got));
		assert_null(memchr(text, '\r', got));
		memcpy(twice, text, got);
		assert_int_equal(term_clean(twice, got), got);
		assert_memory_equal(twice, text, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_term_plain_text_stays),
		cmocka_unit_test(test_term_removes_csi),
		cmocka_unit_test(test_term_removes_strings),
		cmocka_unit_test(test_term_removes_short_escapes),
		cmocka_unit_test(test_term_cut_sequences),
		cmocka_unit_test(test_term_keeps_what_was_drawn_last),
		cmocka_unit_test(test_term_line_ends_are_no_redraw),
		cmocka_unit_test(test_term_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
