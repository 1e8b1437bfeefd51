#include "unit.h"

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

/* A drawing of a text in heap memory of exactly its size, so that ASan finds a read beyond it. */
struct drawing {
	struct term term;
	char *copy;
	size_t drawn;
	struct buf text;
};

static void draw(struct drawing *d, const char *text, size_t len, size_t stop, size_t hold,
		 struct screen_size size)
{
	d->copy = malloc(len ? len : 1);
	memcpy(d->copy, text, len);
	buf_init(&d->text, 1 << 20);
	term_begin(&d->term, size, 1 << 20);
	d->drawn = term_draw(&d->term, d->copy, len, stop, hold);
	screen_write(&d->term.screen, 0, d->term.screen.count, &d->text);
}

static void draw_end(struct drawing *d)
{
	term_end(&d->term);
	free(d->copy);
	buf_release(&d->text);
}

static void expect_drawn(const char *text, size_t len, struct screen_size size, const char *want)
{
	struct drawing d;

	draw(&d, text, len, len, 0, size);
	if (d.text.len != strlen(want) || strncmp(d.text.data ? d.text.data : "", want, d.text.len))
		print_error("'%.*s' became '%.*s'\n", (int)len, text, (int)d.text.len, d.text.data);
	assert_int_equal(d.drawn, len);
	assert_int_equal(d.text.len, strlen(want));
	assert_memory_equal(d.text.data ? d.text.data : "", want, d.text.len);
	assert_true(jsonw_escaped_size(d.text.data, d.text.len) <= d.term.screen.json);
	draw_end(&d);
}

static void expect_bytes(const char *text, size_t len, const char *want)
{
	expect_drawn(text, len, (struct screen_size){ 0, 0 }, want);
}

/* On a terminal of 20 columns and 5 rows. */
static void expect_on_terminal(const char *text, const char *want)
{
	expect_drawn(text, strlen(text), (struct screen_size){ 20, 5 }, want);
}

static void expect(const char *text, const char *want)
{
	expect_bytes(text, strlen(text), want);
}

static void test_term_plain_text_stays(void **state)
{
	(void)state;
	expect("", "");
	expect("two\nlines\n", "two\nlines\n");
	expect("tab\t\xc3\xa9\xe2\x82\xac \n \n\n", "tab\t\xc3\xa9\xe2\x82\xac \n \n\n");
	expect("wide \xe4\xb8\xad e\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
	       "wide \xe4\xb8\xad e\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb");
	expect("\xcc\x81", "\xcc\x81");
	expect("\"\\", "\"\\");
}

/* A column is that of a terminal: what is drawn at one hits the same character. */
static void test_term_columns(void **state)
{
	(void)state;
	expect("\xe2\x9c\x85 ok\x1b[4GOK", "\xe2\x9c\x85 OK");         /* a check mark */
	expect("\xe2\x9c\x93 ok\x1b[3GOK", "\xe2\x9c\x93 OK");         /* a lighter one */
	expect("\xe2\x9a\xa1" "ab\x1b[4GB", "\xe2\x9a\xa1" "aB");      /* high voltage */
	expect("\xe4\xb8\xad" "ab\x1b[4GB", "\xe4\xb8\xad" "aB");
	expect("\xf0\x9f\x9f\xa2" "ab\x1b[4GB", "\xf0\x9f\x9f\xa2" "aB");
	expect("\xe0\xb8\x97\xe0\xb8\xb5\xe0\xb9\x88 ab\x1b[4GB", /* Thai: one column */
	       "\xe0\xb8\x97\xe0\xb8\xb5\xe0\xb9\x88 aB");
	expect("\xe3\x81\x8b\xe3\x82\x99" "ab\x1b[4GB", "\xe3\x81\x8b\xe3\x82\x99" "aB");
}

static void test_term_controls_and_bad_bytes(void **state)
{
	(void)state;
	expect_bytes("a\0b", 3, "ab");
	expect("bell\a\x7f", "bell");
	expect("\xff\x80", "\xef\xbf\xbd\xef\xbf\xbd");
	expect("a\xe2\x82", "a\xef\xbf\xbd");
	expect("a\vb\fc", "a\nb\nc");
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
	expect("\x1b" "7x\x1b" "8y", "y");
	expect("\x1b=x\x1b>y", "xy");
	expect("\x1b#8x", "x");
	expect("\x1b" "Mx\x1b" "cy", "y");
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
	expect("\x1b]0;title\nx", "\nx");
	expect("\x1bPq1\n2\x1b\\x", "x");
	expect("\x1b]0;a\x1b[1mx", "x");
	expect("\xc2\x9b" "1mx\xc2\x9d" "0;t\ay\xc2\x85z", "xy\nz");
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

/* A bar drawn two thousand times is one line. */
static void test_term_progress_bar(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text, 1 << 20);
	for (int i = 0; i <= 2000; i++)
		buf_addf(&text, "\r\x1b[K%4d/2000 [%.*s]", i, i / 200, "##########");
	buf_adds(&text, "\r\ndone\r\n");
	expect(text.data, "2000/2000 [##########]\ndone\n");
	buf_release(&text);
}

static void test_term_backspace(void **state)
{
	(void)state;
	expect("N\bNA\bAM\bME\bE _\bx", "NAME x");
	expect("|\b/\b-\b\\\b \bdone", "done");
	expect("ab\b\b\b\bcd\b \b", "c ");
	expect("\xe4\xb8\xad\b\bxy", "xy");
	expect("a\xe4\xb8\xad\bx", "a x");
	expect("a\tb\r    c", "    c   b");
}

static void test_term_erases(void **state)
{
	(void)state;
	expect("abc\x1b[2D\x1b[K", "a");
	expect("\nabc\x1b[1D\x1b[1Kd", "\n  d");
	expect("old\x1b[2K\rnew\n", "new\n");
	expect("keep\nbar\r\x1b[K", "keep\n");
	expect("keep\nbar\r\x1b[Knext\n", "keep\nnext\n");
	expect("a\nb\nc\x1b[2A\r\x1b[Jd", "d");
	expect("a\nb\x1b[H\x1b[2Jc", "c");
	expect("a\nb\x1b" "cc", "c");
	expect("abcdef\x1b[4D\x1b[2P", "abef");
	expect("abcd\x1b[2D\x1b[2@", "ab  cd");
	expect("abcd\x1b[3D\x1b[2X", "a  d");
	expect("a\x1b[3b", "aaaa");
}

/* What npm and docker do: some rows up, erase, write, back. */
static void test_term_rows_are_redrawn(void **state)
{
	(void)state;
	expect("start\r\none 0%\r\ntwo 0%\r\n\x1b[2A\x1b[2K\rone 50%\r\n\x1b[2K\rtwo 10%\r\n"
	       "\x1b[2A\x1b[2K\rone done\x1b[1B\r\x1b[2K\rtwo done\x1b[1B\rend\r\n",
	       "start\none done\ntwo done\nend\n");
	expect("a\r\nb\r\n\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[Gc", "c");
	expect("x\r\n\x1b[3Fy", "y");
	expect("x\r\n\x1b[s\x1b[Ay\x1b[uz", "y\nz");
	expect("a\x1b[3;5Hb", "a\n    b");
	expect("\x1b[10Cx\n\x1b[2Cy", "x\n  y");
	/* Tab stops, backwards too: what curses moves by. */
	expect("a\tb\tc\x1b[ZX", "a\tb\tX");
	expect("abcdefghijkl\x1b[2ZX\x1b[IY\x1b[2IZ", "XbcdefghYjkl            Z");
	expect("a\n\x1b[9Zb", "a\nb");
	expect_on_terminal("a\x1b[9Ib", "a                  b");
}

static void test_term_full_rows_go_on(void **state)
{
	(void)state;
	expect_on_terminal("12345678901234567890abc\r\nx", "12345678901234567890abc\nx");
	expect_on_terminal("12345678901234567890\r\nx", "12345678901234567890\nx");
	expect_on_terminal("12345678901234567890ab\x1b[A\rX\x1b[B\rY", "X2345678901234567890Yb");
	expect_on_terminal("~                   \x1b[2;1Hab \r\nc                   d",
			   "~\nab \nc                   d");
	expect_on_terminal("1234567890123456789\xe4\xb8\xad", "1234567890123456789\xe4\xb8\xad");
	/* What has left the screen stays as it is. */
	expect_on_terminal("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[H3\x1b[5;1H!", "1\n2\n3\n4\n5\n6\n!");
}

/* A row that has lost its end, or the row above it, begins a line. */
static void test_term_full_rows_end(void **state)
{
	(void)state;
	expect_on_terminal("12345678901234567890ab\x1b[Hshort\x1b[K\x1b[2;1Hsecond\x1b[K",
			   "short\nsecond");
	expect_on_terminal("12345678901234567890ab\x1b[Habcdefghijklmnopqrst\x1b[2;1HAB",
			   "abcdefghijklmnopqrst\nAB");
	expect_on_terminal("12345678901234567890ab\x1b[1;18H\x1b[5X", "12345678901234567\nab");
	expect_on_terminal("12345678901234567890ab\x1b[2;1H\x1b[Lnew",
			   "12345678901234567890\nnew\nab");
	expect_on_terminal("0\r\n12345678901234567890ab\x1b[2;1H\x1b[M", "0\nab");
	/* An editor of lines draws all of it again. */
	expect_on_terminal("12345678901234567890ab\x1b[A\rX12345678901234567890a",
			   "X12345678901234567890a");
}

/* What redraws a bar that may be too long switches the running over off (cli-progress of npm). */
static void test_term_full_rows_that_stay(void **state)
{
	(void)state;
	expect_on_terminal("\x1b[?7l\r12345678901234567890ab\r1234567890 done 90abc\x1b[?7h\r\nx",
			   "1234567890 done 90ac\nx");
	expect_on_terminal("\x1b[?7l1234567890123456789\xe4\xb8\xad", "123456789012345678\xe4\xb8\xad");
	expect_on_terminal("\x1b[?25;7l12345678901234567890a\x1b[?7hb", "1234567890123456789ab");
	expect_on_terminal("\x1b[?7l\x1b" "c12345678901234567890a", "12345678901234567890a");
	expect("\x1b[?7l12345678901234567890a", "12345678901234567890a");
}

static void test_term_alternate_screen(void **state)
{
	(void)state;
	expect_on_terminal("$ vi\r\n\x1b[?1049h\x1b[2J\x1b[HHello\x1b[5;1H-- INSERT --\x1b[H"
			   "Hallo\x1b[5;1H\x1b[K\x1b[?1049l$ ",
			   "$ vi\nHallo\n$ ");
	expect_on_terminal("\x1b[?1049hone\x1b[?1049l\x1b[?1049htwo\x1b[?1049lend", "one\ntwo\nend");
	/* What a pager scrolls off stays. */
	expect_on_terminal("\x1b[?47h1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n:\x1b[?47l", "1\n2\n3\n4\n5\n6\n:\n");
	expect_on_terminal("\x1b[?1049ha\nb", "a\n b");
	expect_on_terminal("\x1b[?1000;2004hx\x1b[?1006l", "x");
}

static void test_term_regions(void **state)
{
	(void)state;
	/* A bar at the bottom, below text that scrolls (apt). */
	expect_on_terminal("\x1b[1;4r\x1b[5;1H[10%]\x1b[1;1Ha\r\nb\r\nc\r\nd\r\ne\r\nf\x1b[5;1H[90%]",
			   "a\nb\nc\nd\ne\nf\n[90%]");
	expect_on_terminal("a\r\nb\r\nc\x1b[2;3r\x1b[2;1H\x1b[Lnew", "a\nnew\nb");
	expect_on_terminal("a\r\nb\r\nc\x1b[1;1H\x1b[M", "b\nc");
	expect_on_terminal("b\r\nc\x1b[H\x1bMa", "a\nb\nc");
	expect_on_terminal("a\r\nb\x1b[S\x1b[Hx", "a\nx");
	expect_on_terminal("a\r\nb\x1b[T\x1b[Hx", "x\na\nb");
}

static void test_term_line_characters(void **state)
{
	(void)state;
	expect("\x1b(0lqk\r\nx x\x1b(Bqx", "+-+\n| |qx");
	expect("\x1b)0q\x0eq\x0fq", "q-q");
}

static void expect_unfinished(const char *text, size_t drawn)
{
	struct drawing d;

	draw(&d, text, strlen(text), strlen(text), 100, (struct screen_size){ 0, 0 });
	assert_int_equal(d.drawn, drawn);
	draw_end(&d);
}

static void test_term_strip(void **state)
{
	static const char want[] = "a\xff\a\r\nb";
	char text[] = "\x1b[31ma\xff\a\x1b]0;t\a\r\nb\x1b[3";

	(void)state;
	assert_int_equal(term_strip(text, sizeof(text) - 1), sizeof(want) - 1);
	assert_memory_equal(text, want, sizeof(want) - 1);
}

static void test_term_waits_for_the_rest(void **state)
{
	(void)state;
	expect_unfinished("ab\x1b", 2);
	expect_unfinished("ab\x1b[3", 2);
	expect_unfinished("ab\x1b]0;x", 2);
	expect_unfinished("ab\xe2\x82", 2);
	expect_unfinished("ab\xc2", 2);
	expect_unfinished("\x1b[3", 0);
	expect_unfinished("ab\r", 3);
	assert_true(term_is_silent("\x1b]0;", 4));
	assert_true(term_is_silent("\r\x1b[K\x1b[?25l\xe2", 10));
	assert_false(term_is_silent("\x1b[mx", 4));
	assert_false(term_is_silent("\n", 1));
}

/* A cut gives a whole that is drawn in two parts: no row before it changes behind it. */
static void expect_cut(const char *text, size_t row, size_t at)
{
	struct screen_cut cut;
	struct drawing d;

	draw(&d, text, strlen(text), strlen(text), 0, (struct screen_size){ 20, 5 });
	cut = screen_cut_before(&d.term.screen, SIZE_MAX, SIZE_MAX);
	assert_int_equal(cut.row, row);
	assert_int_equal(cut.at, at);
	draw_end(&d);
}

static void test_term_cuts(void **state)
{
	(void)state;
	expect_cut("abc", 0, 0);
	expect_cut("a\r\nb", 1, 3);
	expect_cut("a\nb\nc\x1b[A", 1, 2);
	expect_cut("a\nb\nc\x1b[Hx", 0, 0);
	expect_cut("a\nb\nc\x1b[J", 2, 4);
	expect_cut("a\nb\nc\rd", 2, 4);
	expect_cut("a\n\x1b[?1049hb\nc", 1, 2);
	expect_cut("a\n\x1b[?1049hb\nc\x1b[?1049ld", 3, 21);
}

/* Whatever the bytes: printable text in bounded work, the same when it is cut where it says. */
static void test_term_random(void **state)
{
	static const char alphabet[] = "\x1b\x1b\x1b[[[](0;1249m?hlHABCDJKLMPrXb@\r\n\n\a\b\t\\a\xc3\xa9";
	uint64_t seed = 5;
	char text[80];

	(void)state;
	for (int round = 0; round < 30000; round++) {
		size_t len = unit_random(&seed) % sizeof(text);
		struct screen_size size = { round % 3 ? 7 : 0, round % 3 ? 4 : 0 };
		struct screen_cut cut;
		struct drawing d, again;

		for (size_t i = 0; i < len; i++)
			text[i] = alphabet[unit_random(&seed) % (sizeof(alphabet) - 1)];
		draw(&d, text, len, len, 0, size);
		assert_true(utf8_valid(d.text.data, d.text.len));
		for (size_t i = 0; i < d.text.len; i++)
			assert_true((unsigned char)d.text.data[i] >= ' ' ||
				    strchr("\t\n", d.text.data[i]));
		assert_true(jsonw_escaped_size(d.text.data, d.text.len) <= d.term.screen.json);
		cut = screen_cut_before(&d.term.screen, SIZE_MAX, SIZE_MAX);
		draw(&again, text, cut.at, cut.at, 0, size);
		buf_clear(&d.text);
		screen_write(&d.term.screen, 0, cut.row, &d.text);
		assert_int_equal(d.text.len, again.text.len);
		assert_memory_equal(d.text.len ? d.text.data : "", again.text.data, d.text.len);
		draw_end(&again);
		draw_end(&d);
	}
}

/* What costs most for its length. */
static void test_term_hostile(void **state)
{
	static const char *const pieces[] = {
		"\x1b", "\x1b]", "\r", "\x1b[9999C.\n", "\x1b[1000;1000Hx\x1b[H", "\n\x1b[1000A",
		"\x1b[1;900r\n", "\x1b[9999L", "\x1b[9999@a\b", "a\x1b[9999b", "\x1b[2J\x1b[999B",
		"\x1b[?1049h\x1b[999Bx", "\b\t", "\xe4\xb8\xad\b", "\x1bM",
	};
	enum { LEN = 300000, STEPS = 2000 };
	char *text = malloc(LEN);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		size_t piece = strlen(pieces[i]), at = 0, steps = 0;

		for (size_t j = 0; j < LEN; j++)
			text[j] = pieces[i][j % piece];
		for (; at < LEN && steps < STEPS; steps++) {
			struct drawing d;

			draw(&d, text + at, LEN - at, LEN - at, 0, (struct screen_size){ 1000, 1000 });
			assert_true(d.drawn > 0);
			assert_true(d.term.screen.work < 4 * SCREEN_WORK);
			at += d.drawn;
			draw_end(&d);
			if (at < LEN / 2 && steps > 3)
				break; /* slow, but it goes on */
		}
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_term_plain_text_stays),
		cmocka_unit_test(test_term_columns),
		cmocka_unit_test(test_term_controls_and_bad_bytes),
		cmocka_unit_test(test_term_removes_csi),
		cmocka_unit_test(test_term_removes_strings),
		cmocka_unit_test(test_term_removes_short_escapes),
		cmocka_unit_test(test_term_cut_sequences),
		cmocka_unit_test(test_term_keeps_what_was_drawn_last),
		cmocka_unit_test(test_term_line_ends_are_no_redraw),
		cmocka_unit_test(test_term_progress_bar),
		cmocka_unit_test(test_term_backspace),
		cmocka_unit_test(test_term_erases),
		cmocka_unit_test(test_term_rows_are_redrawn),
		cmocka_unit_test(test_term_full_rows_go_on),
		cmocka_unit_test(test_term_full_rows_end),
		cmocka_unit_test(test_term_full_rows_that_stay),
		cmocka_unit_test(test_term_alternate_screen),
		cmocka_unit_test(test_term_regions),
		cmocka_unit_test(test_term_line_characters),
		cmocka_unit_test(test_term_strip),
		cmocka_unit_test(test_term_waits_for_the_rest),
		cmocka_unit_test(test_term_cuts),
		cmocka_unit_test(test_term_random),
		cmocka_unit_test(test_term_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
