#include "unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "proc/output_text.h"

#define TEXT_MAX 8192

/* A stream with a pipe to write it from. */
struct stream {
	struct spool spool;
	struct output_range range;
	struct output out;
	int pipe[2];
};

/* One member that was written, read back by a JSON parser. */
struct reply {
	struct buf json;
	json_t *root;
	const char *text;
	size_t len;
	size_t encoded; /* between the quotes */
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

static void stream_release(struct stream *s)
{
	output_release(&s->out);
	spool_close(&s->spool);
	close(s->pipe[0]);
	close(s->pipe[1]);
}

static void stream_add(struct stream *s, const char *bytes, size_t len)
{
	uint64_t total = s->out.total + len;

	assert_int_equal(write(s->pipe[1], bytes, len), len);
	while (s->out.total < total)
		assert_true(output_fill(&s->out, s->pipe[0], len) > 0);
}

/* A stream that keeps everything. */
static void stream_of(struct stream *s, const char *bytes, size_t len)
{
	const size_t most = 1 << 15; /* that the pipe takes at once */

	stream_init(s, 100000, 100000);
	for (; len > most; bytes += most, len -= most)
		stream_add(s, bytes, most);
	if (len)
		stream_add(s, bytes, len);
}

static void reply_parse(struct reply *r)
{
	json_error_t e;

	r->root = json_loadb(r->json.data, r->json.len, JSON_ALLOW_NUL, &e);
	if (!r->root)
		print_error("%s: %s\n", e.text, r->json.data);
	assert_non_null(r->root);
	r->text = json_string_value(json_object_get(r->root, "t"));
	r->len = json_string_length(json_object_get(r->root, "t"));
	r->encoded = r->json.len - strlen("{\"t\":\"\"}");
}

static void reply_release(struct reply *r)
{
	json_decref(r->root);
	buf_release(&r->json);
}

static void write_page(const struct stream *s, struct output_page *page, struct reply *r)
{
	struct jsonw w;

	buf_init(&r->json, 1 << 20);
	jsonw_init(&w, &r->json);
	jsonw_object(&w, NULL);
	output_write_page(&s->out, &w, "t", page);
	jsonw_end_object(&w);
	reply_parse(r);
	assert_int_equal(page->encoded, r->encoded);
}

static bool write_tail(const struct stream *s, const struct output_tail *tail, struct reply *r)
{
	struct jsonw w;
	bool truncated;

	buf_init(&r->json, 1 << 20);
	jsonw_init(&w, &r->json);
	jsonw_object(&w, NULL);
	truncated = output_write_tail(&s->out, &w, "t", tail);
	jsonw_end_object(&w);
	reply_parse(r);
	assert_true(r->encoded <= tail->max_encoded);
	return truncated;
}

/* @text's trailing lines must be @want. */
static void expect_tail(const char *text, struct output_tail tail, const char *want, bool truncated)
{
	struct stream s;
	struct reply r;

	stream_of(&s, text, strlen(text));
	assert_int_equal(write_tail(&s, &tail, &r), truncated);
	assert_string_equal(r.text, want);
	reply_release(&r);
	stream_release(&s);
}

static struct output_tail lines(uint64_t count)
{
	return (struct output_tail){
		.lines = count, .max_bytes = 1000, .max_encoded = 10000, .final = true,
	};
}

static struct output_tail bytes_max(size_t raw, size_t encoded)
{
	return (struct output_tail){
		.lines = 100, .max_bytes = raw, .max_encoded = encoded, .final = true,
	};
}

static void test_output_text_tail_by_lines(void **state)
{
	(void)state;
	expect_tail("", lines(3), "", false);
	expect_tail("a\nb\nc\n", lines(3), "a\nb\nc\n", false);
	expect_tail("a\nb\nc\n", lines(2), "b\nc\n", true);
	expect_tail("a\nb\nc", lines(2), "b\nc", true);
	expect_tail("a\nb\nc\n", lines(1), "c\n", true);
	expect_tail("a\n\n\n", lines(2), "\n\n", true);
	expect_tail("\n", lines(1), "\n", false);
	expect_tail("\na", lines(1), "a", true);
	expect_tail("a\nb", lines(0), "", true);
	expect_tail("a", lines(100), "a", false);
}

static void test_output_text_tail_by_bytes(void **state)
{
	(void)state;
	expect_tail("abcdef", bytes_max(6, 1000), "abcdef", false);
	expect_tail("abcdef", bytes_max(5, 1000), "bcdef", true);
	expect_tail("a\xe2\x82\xac" "b", bytes_max(4, 1000), "\xe2\x82\xac" "b", true);
	expect_tail("a\xe2\x82\xac" "b", bytes_max(3, 1000), "b", true);
	expect_tail("a\xe2\x82\xac" "b", bytes_max(2, 1000), "b", true);
	expect_tail("a\xe2\x82\xac" "b", bytes_max(0, 1000), "", true);
	/* Bytes that are no text take more of it than they are. */
	expect_tail("\xff\xff" "b", bytes_max(7, 1000), "\xef\xbf\xbd\xef\xbf\xbd" "b", false);
	expect_tail("\xff\xff" "b", bytes_max(6, 1000), "\xef\xbf\xbd" "b", true);
	expect_tail("\xff\xff" "b", bytes_max(3, 1000), "b", true);
	expect_tail("b\xff", bytes_max(2, 1000), "", true);
}

static void test_output_text_tail_by_encoded_size(void **state)
{
	(void)state;
	expect_tail("ab\x01\x01", bytes_max(100, 14), "ab\x01\x01", false);
	expect_tail("ab\x01\x01", bytes_max(100, 13), "b\x01\x01", true);
	expect_tail("ab\x01\x01", bytes_max(100, 11), "\x01", true);
	expect_tail("a\xe2\x82\xac", bytes_max(100, 3), "\xe2\x82\xac", true);
	expect_tail("a\xe2\x82\xac", bytes_max(100, 2), "", true);
	expect_tail("\"\"", bytes_max(100, 3), "\"", true);
}

static void test_output_text_tail_repairs(void **state)
{
	struct output_tail live = lines(10);

	(void)state;
	expect_tail("a\xff" "b", lines(10), "a\xef\xbf\xbd" "b", false);
	expect_tail("a\xe2\x82", lines(10), "a\xef\xbf\xbd", false);
	live.final = false;
	expect_tail("a\xff\xe2\x82\xac", live, "a\xef\xbf\xbd\xe2\x82\xac", false);
	/* unfinished: it comes later */
	{
		struct stream s;
		struct reply r;

		stream_of(&s, "a\xe2\x82", 3);
		write_tail(&s, &live, &r);
		assert_string_equal(r.text, "a");
		reply_release(&r);
		stream_release(&s);
	}
}

/* Of a stream with a hole the lines behind it. */
static void test_output_text_tail_behind_the_hole(void **state)
{
	struct output_tail tail = lines(100);
	struct stream s;
	struct reply r;

	(void)state;
	stream_init(&s, 4, 6);
	stream_add(&s, "head middle tail\n", 17);
	assert_true(write_tail(&s, &tail, &r));
	assert_string_equal(r.text, " tail\n");
	assert_int_equal(output_tail_offset(&s.out, 100), 11);
	reply_release(&r);
	output_drop(&s.out);
	assert_true(write_tail(&s, &tail, &r));
	assert_string_equal(r.text, "");
	assert_int_equal(output_tail_offset(&s.out, 100), 17);
	reply_release(&r);
	stream_release(&s);
}

/* The naive way: count newlines from the end. */
static uint64_t naive_tail_offset(const char *text, size_t len, uint64_t count)
{
	uint64_t found = 0;

	if (!count)
		return len;
	for (size_t at = len; at > 0; at--)
		if (text[at - 1] == '\n' && at != len && ++found == count)
			return at;
	return 0;
}

static void test_output_text_tail_offset(void **state)
{
	uint64_t seed = 3;
	char text[400];

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t len = unit_random(&seed) % sizeof(text);
		uint64_t count = unit_random(&seed) % 8;
		struct stream s;

		for (size_t i = 0; i < len; i++)
			text[i] = unit_random(&seed) % 9 ? 'x' : '\n';
		stream_of(&s, text, len);
		assert_int_equal(output_tail_offset(&s.out, count),
				 naive_tail_offset(text, len, count));
		stream_release(&s);
	}
}

/* Lines that start and end where one chunk of the search meets the next. */
static void test_output_text_tail_offset_across_chunks(void **state)
{
	enum { CHUNK = 16 * 1024, LEN = 3 * CHUNK };
	char *text = malloc(LEN);

	(void)state;
	for (int delta = -2; delta <= 2; delta++) {
		struct stream s;

		memset(text, 'x', LEN);
		text[LEN - CHUNK + delta] = '\n';
		text[LEN - 1] = '\n';
		stream_init(&s, 1 << 20, 1 << 20);
		for (size_t at = 0; at < LEN; at += 4096)
			stream_add(&s, text + at, 4096);
		assert_int_equal(output_tail_offset(&s.out, 1), LEN - CHUNK + delta + 1);
		assert_int_equal(output_tail_offset(&s.out, 2), 0);
		stream_release(&s);
	}
	free(text);
}

/* Of "start" and @count redraws, each begun by @mark, the page of @lines lines with @max bytes
 * begins at a redraw from which it reaches to the end; with @max 0, at @offset. */
static void expect_tail_page(const char *mark, int count, const char *end, uint64_t max,
			     uint64_t offset, bool clean)
{
	enum { MAX = 10000 };
	struct buf text;
	struct stream s;
	uint64_t from;

	buf_init(&text, 1 << 20);
	buf_adds(&text, "start\n");
	for (int i = 0; i < count; i++)
		buf_addf(&text, "%s%05d of all", mark, i);
	buf_adds(&text, end);
	stream_init(&s, 1 << 20, 1 << 20);
	for (size_t at = 0; at < text.len; at += 4096)
		stream_add(&s, text.data + at, text.len - at < 4096 ? text.len - at : 4096);
	from = output_tail_page(&s.out, 3, max ? max : MAX, clean);
	if (max) {
		assert_true(from >= s.out.total - max && from < s.out.total - max + 40);
		assert_memory_equal(text.data + from + (text.data[from] == '\x1b' ? 4 : 0) + 5,
				    " of all", 7);
	} else {
		assert_int_equal(from, offset);
	}
	stream_release(&s);
	buf_release(&text);
}

static void test_output_text_tail_page(void **state)
{
	(void)state;
	expect_tail_page("\r", 2000, "", 10000, 0, false);
	expect_tail_page("\r", 2000, "\r\ndone\r\n", 10000, 0, false);
	expect_tail_page("\r", 2000, "", 10000, 0, true);
	expect_tail_page("\x1b[2G", 2000, "", 10000, 0, true);
	expect_tail_page("\r", 30000, "", 256 * 1024, 0, true); /* what a clean page is drawn from */
	/* It fits; it has no redraws; it has lines. */
	expect_tail_page("\r", 100, "", 0, 0, false);
	expect_tail_page(" ", 2000, "\r\n", 0, 0, false);
	expect_tail_page("\x1b[2G", 2000, "", 0, 0, false);
	expect_tail_page("\r\n", 2000, "", 0, 6 + 1997 * 14 + 2, false);
}

/* ---- pages ---- */

static void expect_page(const char *text, struct output_page page, const char *want, uint64_t next)
{
	struct stream s;
	struct reply r;

	stream_of(&s, text, strlen(text));
	write_page(&s, &page, &r);
	assert_string_equal(r.text, want);
	assert_int_equal(page.next, next);
	reply_release(&r);
	stream_release(&s);
}

static struct output_page page_of(uint64_t offset, size_t max, bool final)
{
	return (struct output_page){
		.offset = offset, .max_bytes = max, .max_encoded = 1000, .max_text = 1000,
		.final = final,
	};
}

static void test_output_text_pages_end_at_characters(void **state)
{
	(void)state;
	expect_page("ab\xe2\x82\xac", page_of(0, 5, true), "ab\xe2\x82\xac", 5);
	expect_page("ab\xe2\x82\xac", page_of(0, 4, true), "ab", 2);
	expect_page("ab\xe2\x82\xac", page_of(0, 3, true), "ab", 2);
	expect_page("ab\xe2\x82\xac", page_of(2, 1, true), "\xe2\x82\xac", 5);
	expect_page("ab", page_of(2, 10, true), "", 2);
	expect_page("ab", page_of(7, 10, true), "", 7);
	/* an ill-formed subpart is one U+FFFD, so it is one piece too */
	expect_page("ab\xe2\x82" "c", page_of(0, 3, true), "ab", 2);
	expect_page("ab\xe2\x82" "c", page_of(2, 1, true), "\xef\xbf\xbd", 4);
}

static void test_output_text_unfinished_characters(void **state)
{
	(void)state;
	expect_page("ab\xe2\x82", page_of(0, 10, false), "ab", 2);
	expect_page("ab\xe2\x82", page_of(0, 10, true), "ab\xef\xbf\xbd", 4);
	expect_page("ab\xe2\x82", page_of(2, 10, false), "", 2);
	/* also where the page's own limit falls into it */
	expect_page("ab\xe2\x82", page_of(0, 3, false), "ab", 2);
	expect_page("ab\xe2\x82", page_of(2, 1, false), "", 2);
	expect_page("ab\xe2\x82", page_of(2, 1, true), "\xef\xbf\xbd", 4);
	expect_page("ab\xf0\x9f\x98", page_of(0, 4, false), "ab", 2);
}

static void test_output_text_pages_by_encoded_size(void **state)
{
	struct output_page page = page_of(0, 100, true);

	(void)state;
	page.max_encoded = 8;
	expect_page("ab\x01" "c", page, "ab\x01", 3);
	page.max_encoded = 7;
	expect_page("ab\x01" "c", page, "ab", 2);
	page.max_encoded = 3;
	expect_page("\x01" "c", page, "\x01", 1); /* one character always comes */
}

static void test_output_text_pages_by_text_size(void **state)
{
	struct output_page page = page_of(0, 100, true);

	(void)state;
	page.max_text = 3;
	expect_page("ab\x01" "c", page, "ab\x01", 3);
	expect_page("a\xff" "b", page, "a", 1);
	expect_page("\xff" "b", page, "\xef\xbf\xbd", 1);
	expect_page("\xf0\x9f\x98\x80", page, "\xf0\x9f\x98\x80", 4);
}

/* A cut falls behind the last line that ends in the second half; what reaches the end stays. */
static void test_output_text_pages_end_at_lines(void **state)
{
	struct output_page page = page_of(0, 6, true);

	(void)state;
	expect_page("abc\ndefg", page, "abc\n", 4);
	expect_page("ab\ncdefg", page, "ab\ncde", 6);
	expect_page("a\nbc\ndefg", page, "a\nbc\n", 5);
	expect_page("abcdefghi\n", page, "abcdef", 6);
	expect_page("abc\nde", page, "abc\nde", 6);
	expect_page("abcde\ng", page, "abcde\n", 6);
	page.max_bytes = 100;
	page.max_encoded = 8;
	expect_page("abc\ndefg", page, "abc\n", 4);
	page.max_encoded = 1000;
	page.max_text = 6;
	expect_page("abc\ndefg", page, "abc\n", 4);
	page.clean = true;
	expect_page("abc\nd\re", page, "abc\n", 4);
}

/* Also when the line that is cut off fills more than one piece of the copy (64 KiB). */
static void test_output_text_long_pages_end_at_lines(void **state)
{
	enum { LEN = 400000 };
	char *text = malloc(LEN);

	(void)state;
	memset(text, 'x', LEN);
	for (size_t at = 0; at < LEN; at += 70001)
		text[at] = '\n';
	for (size_t max = 100000; max < 300000; max += 9999) {
		struct output_page page = { .max_bytes = max, .max_encoded = max + 9,
					    .max_text = max + 9, .final = true };
		size_t want = (max - 1) / 70001 * 70001 + 1;
		struct stream s;
		struct reply r;

		stream_init(&s, 1 << 20, 1 << 20);
		for (size_t at = 0; at < LEN; at += 4000)
			stream_add(&s, text + at, 4000);
		write_page(&s, &page, &r);
		assert_int_equal(page.next, want * 2 > max ? want : max);
		assert_int_equal(r.len, page.next);
		assert_memory_equal(r.text, text, r.len);
		reply_release(&r);
		stream_release(&s);
	}
	free(text);
}

static bool has_page(const char *text, uint64_t offset, bool base64, bool final)
{
	struct stream s;
	bool has;

	stream_of(&s, text, strlen(text));
	has = output_has_page(&s.out, &(struct output_page){ .offset = offset, .base64 = base64,
							      .final = final });
	stream_release(&s);
	return has;
}

/* An unfinished character makes no page, so that no client polls for it. */
static void test_output_text_has_page(void **state)
{
	struct stream s;

	(void)state;
	assert_false(has_page("", 0, false, true));
	assert_true(has_page("a", 0, false, false));
	assert_false(has_page("a", 1, false, false));
	assert_false(has_page("a", 7, false, false));
	assert_false(has_page("a\xf0\x9f\x98", 1, false, false));
	assert_true(has_page("a\xf0\x9f\x98", 1, false, true));
	assert_true(has_page("a\xf0\x9f\x98", 1, true, false));
	assert_true(has_page("a\xf0\x9f\x98", 0, false, false));
	assert_true(has_page("a\xf0\x9f\x98\x80", 1, false, false));
	assert_true(has_page("a\xff", 1, false, false));
	/* At the hole nothing follows. */
	stream_init(&s, 2, 2);
	stream_add(&s, "a\xe2xxx\xe2\x82", 7);
	assert_true(output_has_page(&s.out, &(struct output_page){ .offset = 1 }));
	assert_false(output_has_page(&s.out, &(struct output_page){ .offset = 3 }));
	stream_release(&s);
}

static void test_output_text_clean_page(void **state)
{
	struct output_page page = page_of(0, 100, true);

	(void)state;
	page.clean = true;
	expect_page("\x1b[31mred\x1b[0m 1%\r2%\x1b[K\n", page, "2%\n", 22);
	/* A bound ends the page before what is still being drawn, if anything is before it. */
	page.max_bytes = 20;
	expect_page("a\nb\nbar 10%\rbar 20%\rbar 30%\nc\n", page, "a\nb\n", 4);
	expect_page("bar 10%\rbar 20%\rbar 30%\nc\n", page, "bar 20%", 16 + 4);
	expect_page("bar 10%\x1b[K\rbar \x1b[1;31m40%\n", page, "bar 10%", 15);
	page.max_bytes = 1;
	expect_page("\x1b[31mred", page, "", 5);
	/* What is unfinished waits while it may still be finished. */
	page.max_bytes = 100;
	expect_page("red\x1b[3", page, "red", 6);
	page.final = false;
	expect_page("red\x1b[3", page, "red", 3);
	expect_page("red\xe2\x82", page, "red", 3);
	expect_page("\x1b]0;title", page, "", 0);
}

/* Nothing to see, unless more comes, is no page; more of it than a terminal would wait for is. */
static void test_output_text_silent_page(void **state)
{
	struct output_page page = { .clean = true };
	struct stream s;
	char text[5000];

	(void)state;
	stream_of(&s, "x\x1b[0m\r\x1b]0;t", 11);
	assert_true(output_has_page(&s.out, &page));
	page.offset = 1;
	assert_false(output_has_page(&s.out, &page));
	page.final = true;
	assert_true(output_has_page(&s.out, &page));
	stream_release(&s);
	memset(text, 'x', sizeof(text));
	memcpy(text, "\x1b]", 2);
	stream_of(&s, text, sizeof(text));
	page = page_of(0, 10000, false);
	page.clean = true;
	assert_true(output_has_page(&s.out, &page));
	page.next = 0;
	{
		struct buf clean;

		buf_init(&clean, 1000);
		output_clean_page(&s.out, &page, &clean);
		assert_int_equal(page.next, sizeof(text));
		assert_int_equal(clean.len, 0);
		buf_release(&clean);
	}
	stream_release(&s);
}

/* A block of terminal output that ends at the start of a line, and what it shows. */
static void add_block(uint64_t *seed, struct buf *raw, struct buf *want, bool redraws)
{
	unsigned n = (unsigned)unit_random(seed) % 100;

	switch (unit_random(seed) % (redraws ? 7 : 4)) {
	case 0:
		buf_addf(raw, "plain %u\r\n", n);
		buf_addf(want, "plain %u\n", n);
		break;
	case 1:
		buf_addf(raw, "\x1b]0;title %u\a\x1b[1;31mred\x1b[0m %u\x1b(B\r\n", n, n);
		buf_addf(want, "red %u\n", n);
		break;
	case 2:
		buf_addf(raw, "\x1b[?2004h\xe2\x82\xac \xf0\x9f\x98\x80\t%u\x1b[?2004l\r\n", n);
		buf_addf(want, "\xe2\x82\xac \xf0\x9f\x98\x80\t%u\n", n);
		break;
	case 3:
		buf_adds(raw, "\r\n");
		buf_adds(want, "\n");
		break;
	case 4:
		buf_addf(raw, "%u%%\r\x1b[K%u%%\r%u%%\r\n", n, n + 100, n + 200);
		buf_addf(want, "%u%%\n", n + 200);
		break;
	case 5:
		buf_addf(raw, "a %u\r\nb\r\nc\r\n\x1b[3A\x1b[2K\ra %u\x1b[2B\rC\x1b[B\r", n, n + 1);
		buf_addf(want, "a %u\nb\nC\n", n + 1);
		break;
	default:
		buf_addf(raw, "\x1b[?1049h\x1b[H%u\x1b[H%u\x1b[?1049l", n, n + 100);
		buf_addf(want, "%u\n", n + 100);
	}
}

/* Read clean pages from @*offset on into @got. */
static void read_clean(const struct stream *s, uint64_t *offset, bool final, uint64_t *seed,
		       struct buf *got)
{
	for (;;) {
		size_t max = 70 + unit_random(seed) % 200;
		struct output_page page = page_of(*offset, max, final);
		struct reply r;

		page.clean = true;
		page.max_text = 40 + unit_random(seed) % 100;
		write_page(s, &page, &r);
		assert_true(r.encoded <= page.max_text);
		buf_add(got, r.text, r.len);
		reply_release(&r);
		if (page.next == *offset)
			return;
		*offset = page.next;
	}
}

/* Pages put together are the whole, however bounds cut them, and where nothing is drawn over also
 * while it comes. */
static void test_output_text_clean_pages_are_the_whole(void **state)
{
	uint64_t seed = 31;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		bool live = round % 2;
		struct buf raw, want, got;
		struct stream s;
		uint64_t offset = 0;

		buf_init(&raw, 100000);
		buf_init(&want, 100000);
		buf_init(&got, 100000);
		for (uint64_t i = unit_random(&seed) % 30; i < 31; i++)
			add_block(&seed, &raw, &want, !live);
		stream_of(&s, live ? "" : raw.data, live ? 0 : raw.len);
		s.out.range->screen = (struct screen_size){ 80, 24 };
		for (size_t at = 0, part; live && at < raw.len; at += part) {
			part = 1 + unit_random(&seed) % 9;
			part = part < raw.len - at ? part : raw.len - at;
			stream_add(&s, raw.data + at, part);
			read_clean(&s, &offset, false, &seed, &got);
		}
		read_clean(&s, &offset, true, &seed, &got);
		assert_int_equal(offset, raw.len);
		if (got.len != want.len || memcmp(got.data, want.data, want.len))
			print_error("%s\n became\n%s\n", raw.data, got.data);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
		stream_release(&s);
		buf_release(&raw);
		buf_release(&want);
		buf_release(&got);
	}
}

static void expect_clean_tail(const char *text, uint64_t count, size_t max, const char *want,
			      uint64_t offset)
{
	struct output_tail tail = lines(count);
	struct stream s;
	struct buf got;

	tail.max_bytes = max;
	tail.clean = true;
	buf_init(&got, 1 << 20);
	stream_of(&s, text, strlen(text));
	s.out.range->screen = (struct screen_size){ 80, 24 };
	assert_int_equal(output_clean_tail(&s.out, &tail, &got), offset);
	assert_string_equal(got.data ? got.data : "", want);
	buf_release(&got);
	stream_release(&s);
}

static void test_output_text_clean_tail(void **state)
{
	static char text[70003];

	(void)state;
	/* The only line that begins among the bytes that are drawn begins behind them. */
	memset(text, 'x', 70000);
	memcpy(text + 70000, "\r\n", 3);
	expect_clean_tail(text, 9, 4, "xxx\n", 69997);
	memcpy(text + 30000, "\r\n", 2);
	expect_clean_tail(text, 1, 4, "xxx\n", 69997);
	/* Bytes that are no text take more of it than they are. */
	memset(text, 0xff, 70000);
	expect_clean_tail(text, 9, 7, "\xef\xbf\xbd\xef\xbf\xbd\n", 69999);
	expect_clean_tail("", 5, 100, "", 0);
	expect_clean_tail("a\r\nb\r\n1%\r2%\r\n", 5, 100, "a\nb\n2%\n", 0);
	expect_clean_tail("a\r\nb\r\n1%\r2%\r\n", 2, 100, "b\n2%\n", 3);
	expect_clean_tail("a\r\nb\r\n1%\r2%\r\n", 9, 3, "2%\n", 6);
	expect_clean_tail("a\r\nb\r\n1%\r2%\r\n", 9, 2, "%\n", 7);
	expect_clean_tail("a\r\nb\r\n1%\r2%\r\n", 0, 9, "", 13);
	expect_clean_tail("0123456789\r\n", 9, 4, "789\n", 7); /* cut nowhere else */
	expect_clean_tail("a\r\n0123456789\r\n", 9, 4, "789\n", 10);
	/* A few bytes can draw many blanks; then all of the output counts as shown. */
	expect_clean_tail("a\x1b[1;79Hx", 9, 40, "                                       x", 0);
	/* A screen is not cut where its rows are still drawn, but its text is. */
	expect_clean_tail("a\r\nb\r\nc\x1b[H", 2, 100, "b\nc", 2);
}

static void test_output_text_base64_pages(void **state)
{
	uint64_t seed = 9;
	char bytes[300], got[300];

	(void)state;
	for (int round = 0; round < 200; round++) {
		size_t len = unit_random(&seed) % sizeof(bytes), have = 0;
		struct output_page page = { .base64 = true };
		struct stream s;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)unit_random(&seed);
		stream_of(&s, bytes, len);
		page.max_bytes = 1 + unit_random(&seed) % 50;
		page.max_encoded = 4 + unit_random(&seed) % 70;
		page.max_text = 4 + unit_random(&seed) % 70;
		while (have < len) {
			struct reply r;
			size_t part;
			char *raw;

			page.offset = have;
			write_page(&s, &page, &r);
			assert_true(r.encoded <= page.max_encoded);
			assert_true(r.len <= page.max_text);
			raw = base64_decode(r.text, r.len, &part);
			assert_non_null(raw);
			assert_true(part > 0 && part <= page.max_bytes);
			assert_int_equal(page.next, have + part);
			memcpy(got + have, raw, part);
			have += part;
			free(raw);
			reply_release(&r);
		}
		assert_memory_equal(got, bytes, len);
		stream_release(&s);
	}
}

/* ---- pages put together are the whole ---- */

/* Append @bytes with every ill-formed subpart as one U+FFFD. */
static void repair(struct buf *to, const char *bytes, size_t len)
{
	size_t used;

	for (size_t at = 0; at < len; at += used) {
		if (utf8_next(bytes + at, len - at, &used) == UTF8_VALID)
			buf_add(to, bytes + at, used);
		else
			buf_adds(to, UTF8_REPLACEMENT);
	}
}

static size_t random_text(uint64_t *seed, char *out, size_t max)
{
	static const char *const pieces[] = {
		"a", "b", "\n", "\"", "\\", "\x01", "\x7f", "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80", "\xc3", "\xe2", "\x82", "\xf0\x9f", "\xff", "\xc0", "\xed\xa0",
		"\xf4\x90", "\xbf", "\xe0\x80", "\xf0\x9f\x98", "\xe2\x82",
	};
	size_t len = 0;

	while (len + 4 < max) {
		const char *piece = pieces[unit_random(seed) % (sizeof(pieces) / sizeof(pieces[0]))];

		if (unit_random(seed) % 40 == 0) {
			out[len++] = '\0';
			continue;
		}
		memcpy(out + len, piece, strlen(piece));
		len += strlen(piece);
	}
	return len;
}

/* Read pages from @*offset on until there is nothing more now, into @all. */
static void read_pages(const struct stream *s, uint64_t *offset, bool final, uint64_t *seed,
		       struct buf *all)
{
	for (;;) {
		struct output_page page = page_of(*offset, 1 + unit_random(seed) % 12, final);
		bool has = output_has_page(&s->out, &(struct output_page){ .offset = *offset,
									    .final = final });
		struct reply r;
		size_t used;

		page.max_encoded = 6 + unit_random(seed) % 40;
		page.max_text = 4 + unit_random(seed) % 30;
		write_page(s, &page, &r);
		assert_true(r.len <= page.max_text);
		assert_int_equal(page.text <= page.max_text, true);
		assert_int_equal(has, page.next > page.offset);
		buf_add(all, r.text, r.len);
		assert_true(page.next >= page.offset && page.offset >= *offset);
		if (page.next - page.offset > page.max_bytes) {
			/* then it is one character or one ill-formed subpart */
			utf8_next(r.text, r.len, &used);
			assert_int_equal(used, r.len);
		}
		if (page.next - page.offset > 1)
			assert_true(r.encoded <= page.max_encoded);
		reply_release(&r);
		if (page.next == page.offset)
			return;
		*offset = page.next;
	}
}

/* A random text in a stream, how far it was read in pages, and what they and the whole are. */
struct paged {
	char text[300];
	size_t len;
	struct stream s;
	uint64_t offset;
	struct buf got, want;
};

static void paged_init(struct paged *p, uint64_t *seed, size_t len)
{
	p->len = random_text(seed, p->text, len);
	p->offset = 0;
	buf_init(&p->got, 1 << 20);
	buf_init(&p->want, 1 << 20);
}

static void paged_read(struct paged *p, bool final, uint64_t *seed)
{
	read_pages(&p->s, &p->offset, final, seed, &p->got);
}

/* All was read, and it is what was wanted. */
static void paged_finish(struct paged *p)
{
	assert_int_equal(p->offset, p->len);
	assert_int_equal(p->got.len, p->want.len);
	assert_memory_equal(p->got.data, p->want.data, p->want.len);
	stream_release(&p->s);
	buf_release(&p->got);
	buf_release(&p->want);
}

static void test_output_text_pages_are_the_whole(void **state)
{
	uint64_t seed = 21;

	(void)state;
	for (int round = 0; round < 1500; round++) {
		struct paged p;

		paged_init(&p, &seed, 20 + unit_random(&seed) % 200);
		repair(&p.want, p.text, p.len);
		stream_of(&p.s, p.text, p.len);
		paged_read(&p, true, &seed);
		paged_finish(&p);
	}
}

/* The reader follows while bytes come, cut anywhere. */
static void test_output_text_live_pages_are_the_whole(void **state)
{
	uint64_t seed = 22;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct paged p;
		size_t at = 0;

		paged_init(&p, &seed, 20 + unit_random(&seed) % 150);
		repair(&p.want, p.text, p.len);
		stream_of(&p.s, "", 0);
		while (at < p.len) {
			size_t part = 1 + unit_random(&seed) % 5;

			part = part < p.len - at ? part : p.len - at;
			stream_add(&p.s, p.text + at, part);
			at += part;
			paged_read(&p, false, &seed);
			assert_true(at - p.offset <= 3); /* at most an unfinished character waits */
		}
		paged_read(&p, true, &seed);
		paged_finish(&p);
	}
}

/* With a hole both parts are repaired apart, and a live page does not wait at the hole. */
static void test_output_text_pages_around_the_hole(void **state)
{
	uint64_t seed = 23, from, to;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct paged p;

		paged_init(&p, &seed, 200);
		stream_init(&p.s, 1 + unit_random(&seed) % 60, 1 + unit_random(&seed) % 60);
		stream_add(&p.s, p.text, p.len);
		assert_true(output_evicted(&p.s.out, &from, &to));
		repair(&p.want, p.text, (size_t)from);
		repair(&p.want, p.text + to, p.len - (size_t)to);
		paged_read(&p, false, &seed);
		paged_read(&p, true, &seed);
		paged_finish(&p);
	}
}

/* Trailing lines of random text: what comes is the end of the repaired whole, cut where allowed. */
static void test_output_text_tail_is_an_end_of_the_whole(void **state)
{
	uint64_t seed = 24;
	char text[300];

	(void)state;
	for (int round = 0; round < 1500; round++) {
		size_t len = random_text(&seed, text, 20 + unit_random(&seed) % 200);
		struct output_tail tail = {
			.lines = 1 + unit_random(&seed) % 5,
			.max_bytes = unit_random(&seed) % 150,
			.max_encoded = 12 + unit_random(&seed) % 300,
			.final = true,
		};
		size_t newlines = 0, used;
		struct stream s;
		struct buf want;
		struct reply r;

		buf_init(&want, 1 << 20);
		stream_of(&s, text, len);
		write_tail(&s, &tail, &r);
		repair(&want, text, len);
		for (size_t i = 0; i + 1 < r.len; i++)
			newlines += r.text[i] == '\n';
		assert_true(newlines < tail.lines);
		assert_true(r.len <= tail.max_bytes);
		/* A cut inside an ill-formed subpart shows its rest as U+FFFD or not at all. */
		used = r.len >= 3 && !memcmp(r.text, UTF8_REPLACEMENT, 3) ? 3 : 0;
		assert_true(r.len - used <= want.len);
		assert_memory_equal(want.data + want.len - (r.len - used), r.text + used,
				    r.len - used);
		reply_release(&r);
		buf_release(&want);
		stream_release(&s);
	}
}

static void test_output_text_whole_end(void **state)
{
	static const struct {
		const char *text;
		size_t len, end;
	} rows[] = {
		{ "", 0, 0 }, { "a", 1, 1 }, { "a\xc3", 2, 1 }, { "\xf0\x9f\x98", 3, 0 },
		{ "ab\xf0\x9f\x98", 5, 2 }, { "\xf0\x9f\x98\x80", 4, 4 }, { "a\xff", 2, 2 },
		{ "a\xe0\x80", 3, 3 },
	};
	struct stream s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stream_of(&s, rows[i].text, rows[i].len);
		assert_int_equal(output_whole_end(&s.out, s.out.total), rows[i].end);
		stream_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_text_whole_end),
		cmocka_unit_test(test_output_text_tail_by_lines),
		cmocka_unit_test(test_output_text_tail_by_bytes),
		cmocka_unit_test(test_output_text_tail_by_encoded_size),
		cmocka_unit_test(test_output_text_tail_repairs),
		cmocka_unit_test(test_output_text_tail_behind_the_hole),
		cmocka_unit_test(test_output_text_tail_offset),
		cmocka_unit_test(test_output_text_tail_offset_across_chunks),
		cmocka_unit_test(test_output_text_tail_page),
		cmocka_unit_test(test_output_text_pages_end_at_characters),
		cmocka_unit_test(test_output_text_unfinished_characters),
		cmocka_unit_test(test_output_text_pages_by_encoded_size),
		cmocka_unit_test(test_output_text_pages_by_text_size),
		cmocka_unit_test(test_output_text_pages_end_at_lines),
		cmocka_unit_test(test_output_text_long_pages_end_at_lines),
		cmocka_unit_test(test_output_text_has_page),
		cmocka_unit_test(test_output_text_clean_page),
		cmocka_unit_test(test_output_text_silent_page),
		cmocka_unit_test(test_output_text_clean_pages_are_the_whole),
		cmocka_unit_test(test_output_text_clean_tail),
		cmocka_unit_test(test_output_text_base64_pages),
		cmocka_unit_test(test_output_text_pages_are_the_whole),
		cmocka_unit_test(test_output_text_live_pages_are_the_whole),
		cmocka_unit_test(test_output_text_pages_around_the_hole),
		cmocka_unit_test(test_output_text_tail_is_an_end_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
