#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "json_result.h"
#include "mcp/text.h"

#define HEAD_BYTES (1 << 18) /* kept of a stream */
#define TAIL_BYTES (1 << 20)

static const struct cap rows = { .rows = cap_rows };

/* A run whose streams hold @out and @err. */
static void hold(struct output *o, struct output_range *range, const char *bytes, size_t len)
{
	int ends[2];

	output_init(o, range);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	while (len) {
		size_t part = len < 4096 ? len : 4096;

		assert_int_equal(write(ends[1], bytes, part), part);
		assert_int_equal(output_fill(o, ends[0], part), part);
		bytes += part;
		len -= part;
	}
	close(ends[0]);
	close(ends[1]);
}

static struct proc *run_new(const char *out, const char *err)
{
	struct proc *p = calloc(1, sizeof(*p));

	p->rare = calloc(1, sizeof(*p->rare));
	proc_rare_init(p->rare, HEAD_BYTES, TAIL_BYTES);
	hold(&p->out, &p->rare->out, out, strlen(out));
	hold(&p->err, &p->rare->err, err, strlen(err));
	return p;
}

static void run_free(struct proc *p)
{
	output_release(&p->out);
	output_release(&p->err);
	spool_close(&p->rare->spool);
	free(p->rare);
	free(p);
}

/* The text of the object @json as @a says, decoded; at most @max bytes are asked for. Heap. */
static char *text_of(struct mcp_answer a, const char *json, size_t max)
{
	struct result result;
	struct buf out;
	struct jsonw w;
	json_t *object, *value;
	char *text;

	result_init(&result, 1 << 22);
	object = json_result(&result, json);
	a.result = &result;
	buf_init(&out, 1 << 22);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	jsonw_open_str(&w, "t");
	mcp_text_write(&w, &a, max);
	jsonw_close_str(&w);
	jsonw_end_object(&w);
	value = json_loads(out.data, JSON_ALLOW_NUL, NULL);
	assert_non_null(value);
	text = strdup(json_string_value(json_object_get(value, "t")));
	json_decref(value);
	json_decref(object);
	buf_release(&out);
	result_release(&result);
	return text;
}

static void check(const char *tool, const char *json, const char *wanted)
{
	char *text = text_of((struct mcp_answer){ .row = cap_find(&rows, tool) }, json,
			     MCP_TEXT_MAX);

	assert_string_equal(text, wanted);
	free(text);
}

/* The text of a process.run with these streams. */
static bool in_background; /* the runs of check_run_with(), whatever their texts say */

static void check_run_with(const struct run_result_options *options, const char *json, const char *out,
			   const char *err, const char *wanted)
{
	struct proc *p = run_new(out, err);
	struct mcp_answer a = { .row = cap_find(&rows, "process.run"), .run = p,
				.options = options };
	char *text;

	p->background = in_background || strstr(wanted, "background,") || strstr(wanted, "background [");
	text = text_of(a, json, MCP_TEXT_MAX);
	assert_string_equal(text, wanted);
	free(text);
	run_free(p);
}

static void check_run(const char *json, const char *out, const char *err, const char *wanted)
{
	static const struct run_result_options usual = { .by_default = true, .timeout_most = 3600 };

	check_run_with(&usual, json, out, err, wanted);
}

/* ---- process.run ---- */

static void test_mcp_text_of_runs(void **state)
{
	(void)state;
	check_run("{\"process_id\":\"p1-72cc\",\"state\":\"completed\",\"reason\":\"exited\","
		  "\"exit_code\":0,\"duration_ms\":4,\"warnings\":[]}", "", "",
		  "exit 0 in 4 ms, no output [p1-72cc]");
	check_run("{\"process_id\":\"p3\",\"state\":\"completed\",\"reason\":\"exited\","
		  "\"exit_code\":2,\"duration_ms\":1047}", "cc app\n", "no newline",
		  "exit 2 in 1 s [p3]\n--- stdout\ncc app\n--- stderr\nno newline\n");
	check_run("{\"process_id\":\"p7\",\"state\":\"timed_out\",\"reason\":\"timeout\","
		  "\"exit_code\":null,\"signal\":\"SIGKILL\",\"duration_ms\":1002,\"leftover\":1}",
		  "a\n", "",
		  "timed out after 1 s, killed with 1 child [p7]; output so far below. A larger "
		  "timeout (max 3600) or background:true.\n--- stdout\na\n");
	check_run("{\"process_id\":\"p7\",\"state\":\"timed_out\",\"reason\":\"timeout\","
		  "\"exit_code\":null,\"duration_ms\":90000,\"leftover\":0}", "", "",
		  "timed out after 1 min 30 s, killed, no output [p7]. A larger timeout (max "
		  "3600) or background:true.");
	check_run("{\"process_id\":\"p8\",\"state\":\"running\",\"reason\":\"running\","
		  "\"exit_code\":null,\"duration_ms\":45003}", "", "",
		  "still running after 45 s, no output yet [p8]; process_monitor "
		  "{\"process_id\":\"p8\",\"wait_ms\":45000} waits for its end, process_kill stops "
		  "it.");
	check_run("{\"process_id\":\"p6\",\"state\":\"running\",\"reason\":\"running\","
		  "\"exit_code\":null,\"duration_ms\":2}", "up\n", "",
		  "started in background [p6]; process_logs {\"process_id\":\"p6\",\"offset\":3,"
		  "\"stderr_offset\":0,\"wait_ms\":5000} waits for more, process_kill stops it.\n"
		  "--- stdout\nup\n");
	check_run("{\"process_id\":\"p9\",\"state\":\"killed\",\"reason\":\"signaled\","
		  "\"exit_code\":null,\"signal\":\"SIGSEGV\",\"duration_ms\":7}", "", "",
		  "killed by SIGSEGV after 7 ms, no output [p9]");
	check_run("{\"process_id\":\"p9\",\"state\":\"killed\",\"reason\":\"cancelled\","
		  "\"exit_code\":null,\"signal\":\"SIGKILL\",\"duration_ms\":3725000,"
		  "\"leftover\":2}", "", "",
		  "cancelled after 1 h 2 min with 2 children, no output [p9]");
	/* children that live on, or that a signal ended together with the command */
	check_run("{\"process_id\":\"p9\",\"state\":\"killed\",\"reason\":\"signaled\","
		  "\"exit_code\":null,\"signal\":\"SIGKILL\",\"duration_ms\":7,\"leftover\":2}",
		  "", "", "killed by SIGKILL after 7 ms, no output [p9]");
	check_run("{\"process_id\":\"p9\",\"state\":\"killed\",\"reason\":\"killed_by_request\","
		  "\"exit_code\":null,\"signal\":\"SIGTERM\",\"duration_ms\":7,\"leftover\":1}",
		  "", "", "killed by process_kill after 7 ms, no output [p9]");
}

/* The remedy is one that the operator allows, and stands behind all that the verdict says. */
static void test_mcp_text_of_timeouts(void **state)
{
	static const char json[] = "{\"process_id\":\"p7\",\"state\":\"timed_out\",\"reason\":"
				   "\"timeout\",\"exit_code\":null,\"duration_ms\":5000}";
	const struct run_result_options most = { .by_default = true, .timeout_most = 5,
						 .timeout_is_most = true };
	const struct run_result_options none = { .timeout_most = 90, .keyed = true };
	const struct run_result_options bound = { .by_default = true, .timeout_most = 5,
						  .timeout_is_most = true, .background_ends = true };
	const struct run_result_options asked = { .by_default = true, .timeout_most = 3600,
						  .stdin_piped = true };

	(void)state;
	check_run_with(&asked, json, "name? ", "",
		       "timed out after 5 s, killed [p7]; output so far below. A larger timeout "
		       "(max 3600) or background:true; process_input answers it while it runs.\n"
		       "--- stdout\nname? \n");
	check_run_with(&most, json, "a\n", "",
		       "timed out after 5 s, killed [p7]; output so far below. 5 s is the largest "
		       "timeout; background:true has no such end.\n--- stdout\na\n");
	check_run_with(&none, json, "out\n", "",
		       "timed out after 5 s, killed [p7]; stdout 4 bytes in 1 line, not shown. A "
		       "larger timeout (max 90) or background:true, with a new idempotency_key.");
	check_run_with(&bound, json, "", "",
		       "timed out after 5 s, killed, no output [p7]. 5 s is the largest timeout; "
		       "background:true has max_runtime instead.");
	in_background = true;
	check_run_with(&bound, json, "", "",
		       "timed out after 5 s, killed, no output [p7]. A larger max_runtime.");
	in_background = false;
}

/* What the caller can do next stands behind all that the verdict says. */
static void test_mcp_text_of_runs_that_go_on(void **state)
{
	const struct run_result_options none = { .timeout_most = 90 };

	(void)state;
	check_run_with(&none, "{\"process_id\":\"p4\",\"state\":\"running\",\"reason\":\"running\","
			      "\"exit_code\":null,\"duration_ms\":100}", "out\n", "",
		       "still running after 100 ms [p4]; stdout 4 bytes in 1 line, not shown; "
		       "process_monitor {\"process_id\":\"p4\",\"wait_ms\":45000} waits for its "
		       "end, process_kill stops it.");
}

/* Who can answer a question of the command is told how. */
static void test_mcp_text_of_runs_with_input(void **state)
{
	static const char json[] = "{\"process_id\":\"p4\",\"state\":\"running\",\"reason\":\"running\","
				   "\"exit_code\":null,\"duration_ms\":100}";
	const struct run_result_options open = { .by_default = true, .input_open = true };
	const struct run_result_options awaited = { .by_default = true, .input_open = true,
						    .input_awaited = true };

	(void)state;
	check_run_with(&open, json, "", "",
		       "still running after 100 ms, no output yet [p4]; process_monitor "
		       "{\"process_id\":\"p4\",\"wait_ms\":45000} waits for its end, process_input "
		       "answers it, process_kill stops it.");
	check_run_with(&awaited, json, "Name? ", "",
		       "still running after 100 ms, waits for input [p4]; process_input "
		       "{\"process_id\":\"p4\",\"data\":\"...\\n\"} answers it, process_kill stops "
		       "it.\n--- stdout\nName? \n");
	in_background = true;
	check_run_with(&open, json, "", "",
		       "started in background, no output yet [p4]; process_logs {\"process_id\":"
		       "\"p4\",\"wait_ms\":5000} reads its output, process_input answers it, "
		       "process_kill stops it.");
	in_background = false;
}

/* A model that asks twice must see that nothing ran again. */
static void test_mcp_text_of_repeats(void **state)
{
	(void)state;
	check_run("{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
		  "\"exit_code\":0,\"duration_ms\":4,\"replayed\":true}", "", "",
		  "exit 0 in 4 ms, no output [p1]; the run of an earlier call with this "
		  "idempotency_key: nothing new was started");
	check_run("{\"process_id\":\"p1\",\"state\":\"running\",\"reason\":\"running\","
		  "\"exit_code\":null,\"duration_ms\":4,\"replayed\":true}", "", "",
		  "still running after 4 ms, no output yet [p1]; the run of an earlier call with "
		  "this idempotency_key: nothing new was started; process_monitor {\"process_id\":"
		  "\"p1\",\"wait_ms\":45000} waits for its end, process_kill stops it.");
	check_run("{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
		  "\"exit_code\":0,\"duration_ms\":4,\"replayed\":false}", "", "",
		  "exit 0 in 4 ms, no output [p1]");
}

/* What a program writes stands under a heading, behind all that we say of it. */
static void test_mcp_text_says_warnings_before_output(void **state)
{
	(void)state;
	check_run("{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
		  "\"exit_code\":0,\"duration_ms\":4,\"warnings\":[\"1 still runs; process.kill ends"
		  " it\",\"see tier.process.run, /x/process.logs.\"]}",
		  "warning: none\n", "",
		  "exit 0 in 4 ms [p1]\nwarning: 1 still runs; process_kill ends it\n"
		  "warning: see tier.process.run, /x/process.logs.\n--- stdout\nwarning: none\n");
}

/* A run has @count warnings of @len bytes, and "short" behind them: the first @shown of those are
 * told, and this one if @last. */
static void check_warnings(int len, size_t count, size_t shown, bool last)
{
	struct buf json, wanted;

	buf_init(&json, 1 << 16);
	buf_init(&wanted, 1 << 16);
	buf_adds(&json, "{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
			"\"exit_code\":0,\"duration_ms\":4,\"warnings\":[");
	buf_adds(&wanted, "exit 0 in 4 ms, no output [p1]\n");
	for (size_t i = 0; i < count; i++) {
		buf_addf(&json, "\"%0*zu\",", len, i);
		if (i < shown)
			buf_addf(&wanted, "warning: %0*zu\n", len, i);
	}
	buf_adds(&json, "\"short\"]}");
	if (last)
		buf_adds(&wanted, "warning: short\n");
	if (count > shown || !last)
		buf_addf(&wanted, "warning: [... %zu more left out ...]\n", count - shown + !last);
	check_run(json.data, "", "", wanted.data);
	buf_release(&json);
	buf_release(&wanted);
}

/* Warnings have 4,000 bytes, each with 100 more than its text and as many for the count. */
static void test_mcp_text_bounds_warnings(void **state)
{
	(void)state;
	check_warnings(95, 19, 19, true);
	check_warnings(100, 19, 19, false);
	check_warnings(100, 30, 19, false);
	check_warnings(1200, 4, 3, false);
	check_warnings(1201, 4, 2, true);
}

/* The bytes that the mark in @text says are left out; the shown ones are counted in *@shown. */
static size_t left_out(const char *text, size_t *shown)
{
	const char *mark = strstr(text, "[... "), *bytes, *end = strstr(text, " ...]\n");
	size_t count = 0;

	assert_non_null(mark);
	assert_non_null(end);
	bytes = strchr(mark, '(');
	for (bytes++; *bytes != ' '; bytes++)
		if (*bytes != ',')
			count = 10 * count + (size_t)(*bytes - '0');
	*shown = (size_t)(mark - strstr(text, "--- stdout\n")) - 11 + strlen(end + 6);
	return count;
}

/* Whatever characters a text is made of, it is cut between them and says how much is missing. */
static void test_mcp_text_is_cut_at_characters(void **state)
{
	static const char *const units[] = { "x", "\n", "\\", "\x01", "\xc3\xa4", "\xe2\x82\xac",
					     "\xf0\x9f\x98\x80", "a\"\xc3\xa4" };
	static const char json[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"exit_code\":0,"
				   "\"duration_ms\":4}";

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t size = strlen(units[i]), shown, missing;
		struct mcp_answer a = { .row = cap_find(&rows, "process.run") };
		struct proc *p;
		struct buf b;
		char *text;

		buf_init(&b, 1 << 20);
		for (int n = 0; n < 20000; n++)
			buf_adds(&b, units[i]);
		a.run = p = run_new(b.data, "");
		text = text_of(a, json, MCP_TEXT_MAX);
		assert_true(strlen(text) <= MCP_TEXT_MAX);
		assert_true(strlen(text) > MCP_TEXT_MAX - 1500);
		assert_true(utf8_valid(text, strlen(text)));
		assert_null(strstr(text, UTF8_REPLACEMENT));
		assert_non_null(strstr(text, "process_logs {\"process_id\":\"p1\",\"offset\":"));
		missing = left_out(text, &shown);
		/* A newline before the mark, and one at the end, may be ours. */
		assert_in_range(shown + missing, 20000 * size, 20000 * size + 2);
		free(text);
		run_free(p);
		buf_release(&b);
	}
}

/* The mark says whether lines are left out whole. */
static void test_mcp_text_names_what_is_left_out(void **state)
{
	static const char json[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
				   "\"exit_code\":0,\"duration_ms\":4}";
	struct run_result_options end = { .out = { .lines = 1, .max_bytes = 100 } };

	(void)state;
	check_run_with(&end, json, "one\ntwo\n", "",
		       "exit 0 in 4 ms [p1]; stdout 8 bytes in 2 lines, end shown\n--- stdout\n"
		       "[... line 1 (4 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\ntwo\n");
	end.out.lines = 2;
	check_run_with(&end, json, "1\n2\n3\n4", "",
		       "exit 0 in 4 ms [p1]; stdout 7 bytes in 4 lines, end shown\n--- stdout\n"
		       "[... lines 1 to 2 (4 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\n3\n4\n");
	end.out.max_bytes = 3;
	check_run_with(&end, json, "abcdef", "",
		       "exit 0 in 4 ms [p1]; stdout 6 bytes in 1 line, end shown\n--- stdout\n"
		       "[... part of line 1 (3 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\ndef\n");
}

/* The newline of a line that is left out is no empty line. */
static void test_mcp_text_begins_at_a_line(void **state)
{
	static const char json[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
				   "\"exit_code\":0,\"duration_ms\":4}";
	struct run_result_options end = { .out = { .lines = 100, .max_bytes = 5 } };

	(void)state;
	check_run_with(&end, json, "1\n2\n3\n4\n5\n", "",
		       "exit 0 in 4 ms [p1]; stdout 10 bytes in 5 lines, end shown\n--- stdout\n"
		       "[... lines 1 to 3 (6 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\n4\n5\n");
	check_run_with(&end, json, "abc\n\n\n4\n", "",
		       "exit 0 in 4 ms [p1]; stdout 8 bytes in 4 lines, end shown\n--- stdout\n"
		       "[... line 1 (4 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\n\n\n4\n");
	check_run_with(&end, json, "1\n2\n34567\n8\n", "",
		       "exit 0 in 4 ms [p1]; stdout 12 bytes in 4 lines, end shown\n--- stdout\n"
		       "[... lines 1 to 3, the last in part (7 bytes) left out: process_logs "
		       "{\"process_id\":\"p1\",\"offset\":0}, or with \"grep\" ...]\n67\n8\n");
	end.out.max_bytes = 1;
	check_run_with(&end, json, "abc\n", "",
		       "exit 0 in 4 ms [p1]; stdout 4 bytes in 1 line, end shown\n--- stdout\n"
		       "[... part of line 1 (3 bytes) left out: process_logs {\"process_id\":\"p1\","
		       "\"offset\":0}, or with \"grep\" ...]\n\n");
}

#define REPLACED(id) "[U+FFFD may stand for bytes that are not UTF-8: process_logs " \
	"{\"process_id\":\"" id "\",\"encoding\":\"base64\"} returns them]\n"

/* What a command has not written yet of a character is not said to be ill-formed. */
static void test_mcp_text_of_half_a_character(void **state)
{
	static const char running[] = "{\"process_id\":\"p1\",\"state\":\"running\",\"reason\":\"running\","
				      "\"duration_ms\":100}";
	static const char ended[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"exit_code\":0,"
				    "\"duration_ms\":4}";

	(void)state;
	check_run(running, "ab\xe2\x82", "\xff",
		  "still running after 100 ms [p1]; process_monitor {\"process_id\":\"p1\",\"wait_ms\":45000}"
		  " waits for its end, process_kill stops it.\n--- stdout\nab\n--- stderr\n"
		  UTF8_REPLACEMENT "\n" REPLACED("p1"));
	check_run(ended, "ab\xe2\x82", "",
		  "exit 0 in 4 ms [p1]\n--- stdout\nab" UTF8_REPLACEMENT "\n" REPLACED("p1"));
}

/* A reader of the text cannot tell a U+FFFD that the command has written from one of ours. */
static void test_mcp_text_of_bytes_that_are_no_text(void **state)
{
	static const char done[] = "{\"process_id\":\"p4\",\"state\":\"completed\",\"reason\":"
				   "\"exited\",\"exit_code\":0,\"duration_ms\":4}";

	(void)state;
	check_run(done, "a\xff\nb\n", "c\xff",
		  "exit 0 in 4 ms [p4]\n--- stdout\na\xef\xbf\xbd\nb\n--- stderr\nc\xef\xbf\xbd\n"
		  REPLACED("p4"));
	check_run(done, "\xc3\xa4\xe2\x82\xac\n", "",
		  "exit 0 in 4 ms [p4]\n--- stdout\n\xc3\xa4\xe2\x82\xac\n");
}

/* ---- whatever a command writes ---- */

static uint32_t seed; /* of the shapes, the same in each run */

static size_t below(size_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* Heap: up to @max bytes without NUL, most of them of one kind. */
static char *bytes_of_a_shape(size_t max)
{
	static const char *const units[] = { "x", "\n", "\r", "\xff", "\x80", "\xe2\x82", "\xf0\x9f\x98",
					     "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x1b[2K",
					     "\x1b[3A", "word " };
	size_t count = sizeof(units) / sizeof(*units), most = below(count), lines = below(4), i;
	size_t len = below(max + 1);
	struct buf b;

	buf_init(&b, 1 << 22);
	buf_adds(&b, "");
	while (b.len < len) {
		i = below(8) ? most : below(count);
		buf_adds(&b, lines && !below(40 * lines) ? "\n" : units[i]);
	}
	return buf_steal(&b);
}

/* As the text shows it. */
static void add_shown(struct buf *b, const char *bytes, size_t len)
{
	size_t used;

	for (size_t at = 0; at < len; at += used)
		if (utf8_next(bytes + at, len - at, &used) == UTF8_VALID)
			buf_add(b, bytes + at, used);
		else
			buf_adds(b, UTF8_REPLACEMENT);
	if (b->len && b->data[b->len - 1] != '\n')
		buf_adds(b, "\n");
}

static size_t number_before(const char *mark, const char *words)
{
	const char *at = strstr(mark, words);
	size_t number = 0;

	assert_non_null(at);
	while (at[-1] == ',' || (at[-1] >= '0' && at[-1] <= '9'))
		at--;
	for (; *at != ' '; at++)
		if (*at != ',')
			number = 10 * number + (size_t)(*at - '0');
	return number;
}

/*
 * The stream @name in @text is that of @bytes: all of it, or without the bytes that its mark says
 * are left out, at the offset that the mark names.
 */
static void check_stream(const char *text, const char *name, const char *bytes)
{
	size_t len = strlen(bytes), from = len, to = len;
	char heading[20];
	const char *at, *mark, *end, *next;
	struct buf wanted;

	snprintf(heading, sizeof(heading), "\n--- %s\n", name);
	at = strstr(text, heading);
	if (!at)
		return;
	next = strstr(at + 1, "\n--- stderr\n");
	mark = strstr(at, "\n[... ");
	buf_init(&wanted, 1 << 22);
	buf_adds(&wanted, heading);
	if (mark && (!next || mark < next)) {
		end = strstr(mark, " ...]\n");
		assert_non_null(end);
		from = strtoul(strstr(mark, "\"offset\":") + 9, NULL, 10);
		to = from + number_before(mark, strstr(mark, " bytes") ? " byte" : " byte)");
		add_shown(&wanted, bytes, from);
		buf_add(&wanted, mark + 1, (size_t)(end + 6 - mark) - 1);
	}
	assert_true(from <= to && to <= len);
	add_shown(&wanted, bytes + (from < to ? to : 0), len - (from < to ? to : 0));
	if (strncmp(at, wanted.data, wanted.len))
		fail_msg("%s of %zu bytes without %zu to %zu: %.300s", name, len, from, to, at);
	buf_release(&wanted);
}

/* The answers to one call of a run: every word that a verdict can have, and @warnings. */
static char *answer_of_a_shape(void)
{
	static const char *const ends[] = {
		"\"state\":\"completed\",\"exit_code\":0,\"duration_ms\":4",
		"\"state\":\"timed_out\",\"reason\":\"timeout\",\"exit_code\":null,"
		"\"signal\":\"SIGKILL\",\"duration_ms\":359999000,\"leftover\":100000",
		"\"state\":\"running\",\"reason\":\"running\",\"exit_code\":null,"
		"\"duration_ms\":359999000",
	};
	size_t warnings = below(2) ? 0 : below(60);
	struct buf b;

	buf_init(&b, 1 << 20);
	buf_addf(&b, "{\"process_id\":\"p123456-72cc\",%s,\"replayed\":%s,\"warnings\":[",
		 ends[below(3)], below(2) ? "true" : "false");
	for (size_t i = 0; i < warnings; i++)
		buf_addf(&b, "%s\"%0*d\"", i ? "," : "", (int)below(400) + 1, 7);
	buf_adds(&b, "]}");
	return buf_steal(&b);
}

static struct run_result_options options_of_a_shape(void)
{
	static const size_t lines[] = { 0, 1, 3, 50, 10000 }, bytes[] = { 1, 100, 4096, 1 << 20 };
	struct run_result_options o = { .by_default = !below(3), .timeout_most = 3600 };

	o.out.lines = lines[below(5)];
	o.err.lines = lines[below(5)];
	o.out.max_bytes = bytes[below(4)];
	o.err.max_bytes = bytes[below(4)];
	o.timeout_is_most = below(2);
	o.background_ends = below(2);
	o.keyed = below(2);
	o.input_open = below(2);
	o.input_awaited = below(2);
	return o;
}

/* A text never has more bytes than were asked for, and shows what it says it shows. */
static void check_a_shape(size_t max)
{
	struct run_result_options options = options_of_a_shape();
	char *out = bytes_of_a_shape(max), *err = bytes_of_a_shape(max);
	char *json = answer_of_a_shape(), *text;
	size_t room = below(2) ? MCP_TEXT_MAX : MCP_TEXT_MAX - 1500;
	bool terminal = !below(8);
	struct mcp_answer a = { .row = cap_find(&rows, "process.run"), .options = &options };
	struct proc *p = run_new(out, terminal ? "" : err);

	p->background = below(2);
	if (terminal)
		p->rare->out.screen = (struct screen_size){ .cols = 80, .rows = 24 };
	a.run = p;
	text = text_of(a, json, room);
	if (strlen(text) > room)
		fail_msg("%zu bytes of text, not %zu: %.600s", strlen(text), room, text);
	if (strstr(json, "running")) { /* the rest of a character may come */
		out[strlen(out) - utf8_partial_tail(out, strlen(out))] = '\0';
		err[strlen(err) - utf8_partial_tail(err, strlen(err))] = '\0';
	}
	if (!terminal) {
		check_stream(text, "stdout", out);
		check_stream(text, "stderr", err);
	}
	free(text);
	run_free(p);
	free(json);
	free(err);
	free(out);
}

static void test_mcp_text_is_bounded_for_every_output(void **state)
{
	(void)state;
	for (seed = 0; seed < 3000000; seed = (seed / 1000 + 1) * 1000) {
		uint32_t shape = seed;

		check_a_shape(seed % 100000 ? 20000 : HEAD_BYTES + TAIL_BYTES + 100000);
		seed = shape;
	}
}

/* A short stream is whole beside a long one, and bytes that are no text count as they are shown. */
static void test_mcp_text_shares_its_room(void **state)
{
	static const char json[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"exit_code\":0,"
				   "\"duration_ms\":4}";
	struct mcp_answer a = { .row = cap_find(&rows, "process.run") };
	char *ill = malloc(20001), *text;
	struct proc *p;

	(void)state;
	memset(ill, 0xff, 20000);
	ill[20000] = '\0';
	a.run = p = run_new(ill, "one\ntwo\n");
	text = text_of(a, json, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX && strlen(text) > 8000);
	assert_non_null(strstr(text, "\n--- stderr\none\ntwo\n"));
	assert_non_null(strstr(text, "\"stream\":\"stdout\",\"offset\":"));
	free(text);
	run_free(p);
	free(ill);
}

/* The text of a run whose store took only the first @kept and the last @again of 20,000 lines. Heap. */
static char *text_of_a_hole(const struct run_result_options *options, size_t kept, size_t again,
			    int cols)
{
	static const char json[] = "{\"process_id\":\"p1\",\"state\":\"completed\",\"exit_code\":0,"
				   "\"duration_ms\":4}";
	struct mcp_answer a = { .row = cap_find(&rows, "process.run"), .options = options };
	char *bytes = malloc(400001), *text;
	struct proc *p;

	for (size_t i = 0; i < 20000; i++)
		snprintf(bytes + 20 * i, 21, "%019zu\n", i);
	a.run = p = run_new(bytes, "");
	p->rare->out.head_max = 20 * kept;
	p->rare->out.tail_from = p->out.total - 20 * again;
	p->rare->out.screen = (struct screen_size){ .cols = cols, .rows = 24 };
	text = text_of(a, json, MCP_TEXT_MAX);
	run_free(p);
	free(bytes);
	return text;
}

static void check_hole(const struct run_result_options *options, size_t kept, size_t again, int cols,
		       const char *begin, const char *end)
{
	char *text = text_of_a_hole(options, kept, again, cols);
	size_t len = strlen(text), tail = strlen(end);

	assert_true(len <= MCP_TEXT_MAX);
	assert_memory_equal(text, begin, strlen(begin));
	assert_true(len >= tail);
	assert_string_equal(text + len - tail, end);
	free(text);
}

/* The disk was full: what is not kept is not said to be shown, and counts as left out. */
static void test_mcp_text_of_a_lost_end(void **state)
{
	static const struct run_result_options usual = { .by_default = true };
	static const struct run_result_options few = {
		.out = { .lines = 5, .max_bytes = 4096 }, .err = { .lines = 5, .max_bytes = 4096 },
	};
	static const char whole_head[] =
		"[p1]; stdout 400,000 bytes, start shown\n--- stdout\n0000000000000000000\n";
	static const char mark[] =
		"0000000000000000099\n[... 398,000 bytes left out: process_logs {\"process_id\":\"p1\","
		"\"offset\":2000}, or with \"grep\"; bytes 2,000 to 400,000 are no longer kept ...]\n";
	char begin[256];

	(void)state;
	for (int cols = 0; cols <= 80; cols += 80) {
		snprintf(begin, sizeof(begin), "exit 0 in 4 ms %s", whole_head);
		check_hole(&usual, 100, 0, cols, begin, mark);
		check_hole(&usual, 10000, 0, cols, begin,
			       "bytes 200,000 to 400,000 are no longer kept ...]\n");
		check_hole(&usual, 0, 0, cols,
			       "exit 0 in 4 ms [p1]; stdout 400,000 bytes, no longer kept", "kept");
		check_hole(&few, 100, 0, cols,
			       "exit 0 in 4 ms [p1]; stdout 400,000 bytes, end not kept", "kept");
	}
}

/* Something ran out for a while: the end is shown although the hole comes close to it. */
static void test_mcp_text_of_a_hole_near_the_end(void **state)
{
	static const struct run_result_options usual = { .by_default = true };
	static const struct run_result_options much = {
		.out = { .lines = 500, .max_bytes = 8192 }, .err = { .lines = 500, .max_bytes = 8192 },
	};
	static const char tail[] =
		"bytes 2,000 to 399,960 are no longer kept ...]\n"
		"0000000000000019998\n0000000000000019999\n";

	(void)state;
	for (int cols = 0; cols <= 80; cols += 80) {
		check_hole(&usual, 100, 2, cols,
			   "exit 0 in 4 ms [p1]; stdout 400,000 bytes, both ends shown\n--- stdout\n"
			   "0000000000000000000\n", tail);
		check_hole(&much, 100, 2, cols,
			   "exit 0 in 4 ms [p1]; stdout 400,000 bytes, end shown\n--- stdout\n"
			   "[... 399,960 bytes left out: ", tail);
	}
}

/* ---- process.logs ---- */

static void check_page(const char *params, const char *json, const char *wanted)
{
	json_t *given = json_loads(params, 0, NULL);
	struct mcp_answer a = { .row = cap_find(&rows, "process.logs"), .params = given };
	char *text = text_of(a, json, MCP_TEXT_MAX);

	assert_string_equal(text, wanted);
	free(text);
	json_decref(given);
}

static void test_mcp_text_of_pages(void **state)
{
	(void)state;
	check_page("{}", "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\\n\\nb\\n\","
			 "\"stderr\":\"\",\"stdout_size\":5,\"stdout_next_offset\":5,"
			 "\"truncated\":false}",
		   "a\n\nb\n");
	check_page("{\"limit\":5,\"encoding\":\"utf8\"}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\\n\\nb\\n\","
		   "\"stderr\":\"\",\"stdout_size\":1005,\"stdout_next_offset\":5,\"truncated\":true}",
		   "a\n\nb\n[... 1,000 more bytes: process_logs {\"process_id\":\"p1\",\"stream\":"
		   "\"stdout\",\"offset\":5,\"limit\":5} ...]");
	check_page("{\"offset\":1}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"ab\",\"stderr\":\"e\","
		   "\"stdout_size\":9,\"stdout_next_offset\":3,\"stderr_size\":9,"
		   "\"stderr_next_offset\":2,\"truncated\":true}",
		   "--- stdout\nab\n[... no newline here ...]\n--- stderr\ne\n[... no newline "
		   "here; 13 more bytes: process_logs {\"process_id\":\"p1\",\"offset\":3,"
		   "\"stderr_offset\":2} ...]");
	check_page("{\"stream\":\"stderr\"}",
		   "{\"process_id\":\"p1\",\"state\":\"running\",\"stdout\":\"\",\"stderr\":\"e\\n\","
		   "\"stdout_size\":9,\"stdout_next_offset\":0,\"stderr_size\":2,"
		   "\"stderr_next_offset\":2,\"stderr_evicted\":[1000,2000],\"truncated\":false}",
		   "e\n[... bytes 1,000 to 2,000 of stderr are no longer kept ...]\n[... still running;"
		   " process_logs {\"process_id\":\"p1\",\"stream\":\"stderr\",\"offset\":2,"
		   "\"wait_ms\":45000} waits for more ...]");
}

/* Whoever waits for the output of a server in the background must learn that it has failed. */
static void test_mcp_text_of_pages_tells_the_end(void **state)
{
	(void)state;
	check_page("{}", "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"\","
			 "\"stderr\":\"\"}",
		   "[no output; the command has ended: process_monitor {\"process_id\":\"p1\"} tells "
		   "how]");
	check_page("{\"offset\":2,\"wait_ms\":5000}",
		   "{\"process_id\":\"p1\",\"state\":\"killed\",\"stdout\":\"\",\"stderr\":\"\","
		   "\"stdout_size\":2,\"stdout_next_offset\":2,\"truncated\":false}",
		   "[no more output; the command has ended: process_monitor {\"process_id\":\"p1\"} "
		   "tells how]");
	check_page("{\"wait_ms\":5000}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\\n\","
		   "\"stderr\":\"\",\"stdout_size\":2,\"stdout_next_offset\":2,\"truncated\":false}",
		   "a\n[... the command has ended: process_monitor {\"process_id\":\"p1\"} tells how "
		   "...]");
	check_page("{\"stream\":\"combined\",\"wait_ms\":5000}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"entries\":[],\"next_since\":0,"
		   "\"truncated\":false}",
		   "[no output; the command has ended: process_monitor {\"process_id\":\"p1\"} tells "
		   "how]");
	check_page("{}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\\n\","
		   "\"stderr\":\"\",\"stdout_size\":2,\"stdout_next_offset\":2,\"truncated\":false}",
		   "a\n");
	check_page("{\"limit\":2,\"wait_ms\":5000}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\\n\","
		   "\"stderr\":\"\",\"stdout_size\":4,\"stdout_next_offset\":2,\"truncated\":true}",
		   "a\n[... 2 more bytes: process_logs {\"process_id\":\"p1\",\"stream\":\"stdout\","
		   "\"offset\":2,\"limit\":2} ...]");
}

/* A stream that has nothing more now may have later: the chain of calls keeps it while the command
 * runs. */
static void test_mcp_text_of_pages_while_it_runs(void **state)
{
	(void)state;
	check_page("{}",
		   "{\"process_id\":\"p1\",\"state\":\"running\",\"stdout\":\"a\\n\","
		   "\"stderr\":\"\",\"stdout_size\":9,\"stdout_next_offset\":2,"
		   "\"stderr_size\":0,\"stderr_next_offset\":0,\"truncated\":true}",
		   "a\n[... 7 more bytes: process_logs {\"process_id\":\"p1\",\"offset\":2,"
		   "\"stderr_offset\":0} ...]");
	check_page("{\"stream\":\"stdout\"}",
		   "{\"process_id\":\"p1\",\"state\":\"running\",\"stdout\":\"a\\n\","
		   "\"stderr\":\"\",\"stdout_size\":9,\"stdout_next_offset\":2,"
		   "\"stderr_size\":5,\"stderr_next_offset\":0,\"truncated\":true}",
		   "a\n[... 7 more bytes: process_logs {\"process_id\":\"p1\",\"stream\":\"stdout\","
		   "\"offset\":2} ...]");
}

/* A reader of the texts alone must know which newlines are output, and how much is still there. */
static void test_mcp_text_of_pages_at_a_hole(void **state)
{
	(void)state;
	check_page("{}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"yy\",\"stderr\":\"\","
		   "\"stdout_size\":100,\"stdout_next_offset\":2,\"stdout_evicted\":[2,90],"
		   "\"truncated\":true}",
		   "yy\n[... no newline here; bytes 2 to 90 of stdout are no longer kept ...]\n"
		   "[... 10 more bytes: process_logs {\"process_id\":\"p1\",\"stream\":\"stdout\","
		   "\"offset\":2} ...]");
	check_page("{\"offset\":2}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"yy\\n\","
		   "\"stderr\":\"\",\"stdout_size\":100,\"stdout_next_offset\":93,"
		   "\"stdout_evicted\":[2,90],\"truncated\":true}",
		   "yy\n[... bytes 2 to 90 of stdout are no longer kept ...]\n"
		   "[... 7 more bytes: process_logs {\"process_id\":\"p1\",\"stream\":\"stdout\","
		   "\"offset\":93} ...]");
	check_page("{\"offset\":93}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"yyyyyyy\","
		   "\"stderr\":\"\",\"stdout_size\":100,\"stdout_next_offset\":100,"
		   "\"stdout_evicted\":[2,90],\"truncated\":false}",
		   "yyyyyyy");
	check_page("{\"tail_lines\":2}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"yy\\nz\","
		   "\"stderr\":\"e\\n\",\"stdout_size\":100,\"stdout_next_offset\":100,"
		   "\"stdout_evicted\":[2,90],\"stderr_size\":9,\"stderr_next_offset\":9,"
		   "\"stderr_evicted\":[1,7],\"truncated\":false}",
		   "--- stdout\nyy\nz\n[... no newline here ...]\n--- stderr\ne\n"
		   "[... bytes 1 to 7 of stderr are no longer kept ...]\n");
	check_page("{\"offset\":100}",
		   "{\"process_id\":\"p1\",\"state\":\"running\",\"stdout\":\"\",\"stderr\":\"\","
		   "\"stdout_size\":100,\"stdout_next_offset\":100,\"truncated\":false}",
		   "[no more output yet, still running; process_logs {\"process_id\":\"p1\","
		   "\"offset\":100,\"stderr_offset\":0,\"wait_ms\":45000} waits for more]");
	check_page("{\"encoding\":\"base64\"}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"YWI=\","
		   "\"stderr\":\"ZQ==\",\"stdout_size\":2,\"stdout_next_offset\":2,"
		   "\"stderr_size\":2,\"stderr_next_offset\":1,\"truncated\":true}",
		   "--- stdout\nYWI=\n--- stderr\nZQ==\n[... 1 more byte: process_logs "
		   "{\"process_id\":\"p1\",\"stream\":\"stderr\",\"offset\":1,"
		   "\"encoding\":\"base64\"} ...]");
}

static void test_mcp_text_of_matches(void **state)
{
	(void)state;
	check_page("{\"grep\":\"FAIL\"}",
		   "{\"process_id\":\"p1\",\"matches\":[{\"stream\":\"stdout\",\"offset\":900,"
		   "\"line\":12,\"text\":\"FAIL b\",\"before\":[\"a\",\"b\"],\"after\":[\"c\"]},"
		   "{\"stream\":\"stderr\",\"offset\":0,\"line\":1,\"text\":\"FAIL\","
		   "\"before\":[],\"after\":[]}],\"matches_total\":10000,\"stdout_size\":910,"
		   "\"stdout_next_offset\":910,\"stderr_size\":99,\"stderr_next_offset\":40}",
		   "10,000 matches\n-- stdout, offset 900\n10-a\n11-b\n12:FAIL b\n13-c\n-- stderr, offset "
		   "0\n1:FAIL\n[... 2 of 10,000 shown, the next: process_logs {\"process_id\":\"p1\","
		   "\"stream\":\"stderr\",\"offset\":40,\"grep\":\"FAIL\"} ...]");
	check_page("{}", "{\"matches\":[{\"stream\":\"stdout\",\"offset\":4,\"line\":3,\"text\":\"C\","
			 "\"before\":[\"a\",\"b\"],\"after\":[\"D\",\"e\"]},"
			 "{\"stream\":\"stdout\",\"offset\":6,\"line\":4,\"text\":\"D\","
			 "\"before\":[\"b\",\"C\"],\"after\":[\"e\",\"f\"]},"
			 "{\"stream\":\"stdout\",\"offset\":16,\"line\":9,\"text\":\"I\","
			 "\"before\":[\"g\",\"h\"],\"after\":[\"j\",\"k\"]},"
			 "{\"stream\":\"stdout\",\"offset\":30,\"line\":15,\"text\":\"O\","
			 "\"before\":[\"m\",\"n\"],\"after\":[]},"
			 "{\"stream\":\"stderr\",\"offset\":30,\"line\":15,\"text\":\"P\","
			 "\"before\":[],\"after\":[]},"
			 "{\"stream\":\"stderr\",\"offset\":80,\"line\":null,\"text\":\"X\","
			 "\"before\":[\"v\",\"w\"],\"after\":[\"Y\"]},"
			 "{\"stream\":\"stderr\",\"offset\":82,\"line\":null,\"text\":\"Y\","
			 "\"before\":[\"w\",\"X\"],\"after\":[]}],\"matches_total\":7}",
		   "7 matches\n-- stdout, offset 4\n1-a\n2-b\n3:C\n4:D\n5-e\n6-f\n7-g\n8-h\n9:I\n10-j\n"
		   "11-k\n-- stdout, offset 30\n13-m\n14-n\n15:O\n-- stderr, offset 30\n15:P\n"
		   "-- stderr, offset 80\n-v\n-w\n:X\n-Y\n-- stderr, offset 82\n-w\n-X\n:Y\n");
	check_page("{}", "{\"matches\":[],\"matches_total\":0}", "0 matches\n");
	check_page("{}", "{\"state\":\"running\",\"matches\":[],\"matches_total\":0}",
		   "0 matches\n[still running; process_monitor with \"until\":\"pattern\" waits for one]");
	check_page("{\"grep\":\"E\"}", "{\"matches\":[],\"matches_total\":0,"
					"\"stdout_evicted\":[5,90]}",
		   "0 matches\n[... bytes 5 to 90 of stdout are no longer kept, and were not "
		   "searched ...]\n");
	check_page("{\"grep\":\"E\",\"stream\":\"stderr\"}",
		   "{\"matches\":[{\"stream\":\"stderr\",\"offset\":0,\"line\":1,\"text\":\"E\","
		   "\"cut\":true,\"before\":[],\"after\":[]}],\"matches_total\":1,"
		   "\"stdout_evicted\":[5,90]}",
		   "1 match\n-- stderr, offset 0\n1:E [part of a longer line]\n");
	check_page("{\"stream\":\"combined\"}",
		   "{\"process_id\":\"p1\",\"entries\":[{\"stream\":\"stdout\",\"offset\":0,"
		   "\"data\":\"10\"},{\"stream\":\"stdout\",\"offset\":90,\"data\":\"78\\n\"}],"
		   "\"next_since\":3,\"stdout_size\":93,\"stdout_evicted\":[2,90]}",
		   "--- stdout\n10\n[... no newline here; bytes 2 to 90 of stdout are no longer "
		   "kept ...]\n78\n");
	check_page("{\"stream\":\"combined\"}",
		   "{\"process_id\":\"p1\",\"entries\":[{\"stream\":\"stdout\",\"offset\":93,"
		   "\"data\":\"x\\n\"}],\"next_since\":4,\"stdout_size\":95,"
		   "\"stdout_evicted\":[2,90]}",
		   "--- stdout\nx\n");
	check_page("{\"stream\":\"combined\"}",
		   "{\"process_id\":\"p1\",\"entries\":[{\"stream\":\"stdout\",\"data\":\"a\\n\"},"
		   "{\"stream\":\"stdout\",\"data\":\"b\"},{\"stream\":\"stderr\","
		   "\"data\":\"e\\n\"}],\"next_since\":3,\"truncated\":true}",
		   "--- stdout\na\nb\n[... no newline here ...]\n--- stderr\ne\n[... more: "
		   "process_logs {\"process_id\":\"p1\",\"stream\":\"combined\",\"since\":3} ...]");
}

static void test_mcp_text_of_pages_that_are_no_text(void **state)
{
	(void)state;
	check_page("{\"offset\":4}",
		   "{\"process_id\":\"p1\",\"state\":\"completed\",\"stdout\":\"a\xef\xbf\xbd\","
		   "\"stderr\":\"\",\"stdout_size\":9,\"stdout_next_offset\":6,\"truncated\":true}",
		   "a\xef\xbf\xbd\n[... no newline here; U+FFFD may stand for bytes that are not UTF-8: "
		   "this call with \"encoding\":\"base64\" returns them ...]\n[... 3 more bytes: "
		   "process_logs {\"process_id\":\"p1\",\"stream\":\"stdout\",\"offset\":6} ...]");
	check_page("{\"stream\":\"combined\"}",
		   "{\"process_id\":\"p1\",\"entries\":[{\"stream\":\"stderr\","
		   "\"data\":\"\xef\xbf\xbd\\n\"}],\"next_since\":2}",
		   "--- stderr\n\xef\xbf\xbd\n[... U+FFFD may stand for bytes that are not UTF-8: "
		   "this call with \"encoding\":\"base64\" returns them ...]\n");
	check_page("{\"grep\":\"a\"}",
		   "{\"process_id\":\"p1\",\"matches\":[{\"stream\":\"stdout\",\"offset\":0,"
		   "\"line\":1,\"text\":\"a\xef\xbf\xbd\",\"before\":[],\"after\":[]}],"
		   "\"matches_total\":1}",
		   "1 match\n-- stdout, offset 0\n1:a\xef\xbf\xbd\n" REPLACED("p1"));
}

/* A match whose lines around it have no room is shown without them: a call always gets on. */
static void test_mcp_text_of_a_match_in_long_lines(void **state)
{
	json_t *given = json_loads("{\"grep\":\"FAIL\",\"context\":20}", 0, NULL);
	struct mcp_answer a = { .row = cap_find(&rows, "process.logs"), .params = given };
	struct buf b;
	char *text;

	(void)state;
	for (int matches = 1; matches <= 2; matches++) {
		buf_init(&b, 1 << 20);
		buf_adds(&b, "{\"process_id\":\"p1\",\"matches\":[");
		for (int i = 0; i < matches; i++) {
			buf_addf(&b, "%s{\"stream\":\"stdout\",\"offset\":%d,\"line\":%d,\"text\":\"FAIL\","
				     "\"after\":[],\"before\":[", i ? "," : "", 70000 + i, 70 + i);
			for (int line = 0; line < 20; line++)
				buf_addf(&b, "%s\"%01000d\"", line ? "," : "", 7);
			buf_adds(&b, "]}");
		}
		buf_addf(&b, "],\"matches_total\":%d,\"stdout_size\":99999,\"stdout_next_offset\":%d}",
			 matches + 1, 80000);
		text = text_of(a, b.data, MCP_TEXT_MAX);
		assert_string_equal(text, matches == 1
			? "2 matches\n-- stdout, offset 70000\n70:FAIL\n[... its context has no room ...]\n"
			  "[... 1 of 2 shown, the next: process_logs {\"process_id\":\"p1\",\"stream\":"
			  "\"stdout\",\"offset\":80000,\"grep\":\"FAIL\",\"context\":20} ...]"
			: "3 matches\n-- stdout, offset 70000\n70:FAIL\n[... its context has no room ...]\n"
			  "[... 1 of 3 shown, the next: process_logs {\"process_id\":\"p1\",\"stream\":"
			  "\"stdout\",\"offset\":70001,\"grep\":\"FAIL\",\"context\":20} ...]");
		free(text);
		buf_release(&b);
	}
	json_decref(given);
}

/* Numbers take more than the marks of JSON, and lines without text have little else. */
static void test_mcp_text_of_matches_is_bounded(void **state)
{
	json_t *given = json_pack("{s:s,s:b,s:i,s:i}", "grep", "", "ignore_case", 1, "context", 20,
				  "max_matches", 1000);
	struct mcp_answer a = { .row = cap_find(&rows, "process.logs"), .params = given };
	char pattern[160];
	struct buf b;
	char *text;

	(void)state;
	memset(pattern, 'q', sizeof(pattern));
	json_object_set_new(given, "grep", json_stringn(pattern, 150));
	for (int near = 0; near <= 20; near++) {
		buf_init(&b, 1 << 20);
		buf_adds(&b, "{\"process_id\":\"p1-1234\",\"state\":\"completed\",\"matches\":[");
		for (int i = 0; i < 200; i++) {
			buf_addf(&b, "%s{\"stream\":\"stdout\",\"offset\":%d,\"line\":%d,\"text\":"
				     "\"M\xef\xbf\xbd\"", i ? "," : "", 1900000 + 50 * i,
				 1900000 + (2 * near + 1) * i);
			for (int after = 0; after < 2; after++) {
				buf_addf(&b, ",\"%s\":[", after ? "after" : "before");
				for (int line = 0; line < near; line++)
					buf_adds(&b, line ? ",\"\"" : "\"\"");
				buf_adds(&b, "]");
			}
			buf_adds(&b, "}");
		}
		buf_adds(&b, "],\"matches_total\":6000,\"stdout_size\":2036000,\"stderr_size\":11336000,"
			     "\"stdout_evicted\":[262144,1048576],\"stderr_evicted\":[262144,2947392],"
			     "\"stdout_next_offset\":1910000,\"stderr_next_offset\":1000}");
		text = text_of(a, b.data, MCP_TEXT_MAX);
		assert_true(strlen(text) <= MCP_TEXT_MAX);
		assert_non_null(strstr(text, "of 6,000 shown, the next: process_logs {"));
		free(text);
		buf_release(&b);
	}
	json_decref(given);
}

/* ---- the others ---- */

static void test_mcp_text_of_monitors(void **state)
{
	(void)state;
	check("process.monitor",
	      "{\"process_id\":\"p8\",\"state\":\"running\",\"command\":\"npm run dev\\nmore\","
	      "\"duration_ms\":12000,\"pid\":77,\"alive\":3,\"started_at\":\"T\","
	      "\"resource_usage\":{\"cpu_ms\":1200,\"memory_peak_bytes\":45123456}}",
	      "running for 12 s [p8], 3 processes: npm run dev…\npid 77, started T, processor time "
	      "1.2 s, memory peak 45,123,456 bytes\n");
	check("process.monitor",
	      "{\"process_id\":\"p8\",\"state\":\"completed\",\"exit_code\":0,\"command\":\"x\","
	      "\"duration_ms\":12,\"pid\":null,\"alive\":2,\"started_at\":\"T\"}",
	      "exit 0 in 12 ms [p8]; still alive: 2 processes, process_kill ends them: x\n"
	      "started T\n");
	check("process.monitor",
	      "{\"process_id\":\"p8\",\"state\":\"completed\",\"exit_code\":0,\"command\":\"x\","
	      "\"duration_ms\":12,\"pid\":null,\"alive\":1,\"started_at\":\"T\"}",
	      "exit 0 in 12 ms [p8]; still alive: 1 process, process_kill ends it: x\nstarted T\n");
	check("process.monitor",
	      "{\"process_id\":\"p8\",\"state\":\"running\",\"command\":\"cat\",\"duration_ms\":12000,"
	      "\"alive\":1,\"started_at\":\"T\",\"waits_for_input\":true}",
	      "running for 12 s, waits for input [p8]: cat\nstarted T\nprocess_input "
	      "{\"process_id\":\"p8\",\"data\":\"...\\n\"} answers it, process_kill stops it\n");
}

/* Output that had to go is not offered for reading. */
static void test_mcp_text_of_dropped_output(void **state)
{
	static const char json[] = "{\"process_id\":\"p8\",\"state\":\"completed\",\"exit_code\":0,"
				   "\"command\":\"x\",\"duration_ms\":12,\"started_at\":\"T\"}";
	struct proc *p = run_new("12345", "");
	struct mcp_answer a = { .row = cap_find(&rows, "process.monitor"), .run = p };
	char *text;

	(void)state;
	p->rare->out.dropped = true;
	text = text_of(a, json, MCP_TEXT_MAX);
	assert_string_equal(text, "exit 0 in 12 ms [p8]: x\nstarted T\nstdout 5 bytes, no longer kept, "
				  "stderr 0 bytes\n");
	free(text);
	p->rare->out.dropped = false;
	text = text_of(a, json, MCP_TEXT_MAX);
	assert_string_equal(text, "exit 0 in 12 ms [p8]: x\nstarted T\nstdout 5 bytes, stderr 0 bytes: "
				  "process_logs {\"process_id\":\"p8\"} reads it\n");
	free(text);
	run_free(p);
}

/* More output than a page has is read from its end. */
static void test_mcp_text_of_much_output(void **state)
{
	static const char json[] = "{\"process_id\":\"p8\",\"state\":\"completed\",\"exit_code\":2,"
				   "\"command\":\"x\",\"duration_ms\":12,\"started_at\":\"T\"}";
	char out[MCP_TEXT_MAX + 1], *text;
	struct proc *p;

	(void)state;
	memset(out, 'x', MCP_TEXT_MAX);
	out[MCP_TEXT_MAX] = '\0';
	p = run_new(out, "1");
	text = text_of((struct mcp_answer){ .row = cap_find(&rows, "process.monitor"), .run = p },
		       json, MCP_TEXT_MAX);
	assert_string_equal(text, "exit 2 in 12 ms [p8]: x\nstarted T\nstdout 10,000 bytes, stderr "
				  "1 byte: process_logs {\"process_id\":\"p8\",\"tail_lines\":50} "
				  "reads its end\n");
	free(text);
	run_free(p);
}

/* The call that waits on asks for the same stream; one with `from` misses nothing. */
static void test_mcp_text_of_waits_for_output(void **state)
{
	static const char json[] = "{\"process_id\":\"p8\",\"state\":\"running\",\"command\":\"x\","
				   "\"duration_ms\":12,\"alive\":1,\"started_at\":\"T\",\"matched\":false}";
	static const struct {
		const char *params, *wanted;
	} cases[] = {
		{ "{\"until\":\"output\",\"wait_ms\":9}", "; process_logs {\"process_id\":\"p8\","
		  "\"offset\":2,\"stderr_offset\":3,\"wait_ms\":45000} keeps waiting and shows it\n" },
		{ "{\"until\":\"output\",\"wait_ms\":9,\"stream\":\"stderr\"}",
		  "; process_logs {\"process_id\":\"p8\",\"stream\":\"stderr\",\"offset\":3,"
		  "\"wait_ms\":45000} keeps waiting and shows it\n" },
		{ "{\"until\":\"output\",\"wait_ms\":9,\"from\":7}", "; the same call keeps waiting\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct proc *p = run_new("12", "123");
		json_t *params = json_loads(cases[i].params, 0, NULL);
		struct mcp_answer a = { .row = cap_find(&rows, "process.monitor"), .run = p,
					.params = params };
		char *text = text_of(a, json, MCP_TEXT_MAX);

		if (!strstr(text, cases[i].wanted))
			fail_msg("%s: %s", cases[i].params, text);
		free(text);
		json_decref(params);
		run_free(p);
	}
}

static void test_mcp_text_of_lists(void **state)
{
	struct buf b;
	char *text;
	int lines = 0;

	(void)state;
	check("process.list", "{\"processes\":[],\"total\":0}", "no processes");
	check("process.list",
	      "{\"processes\":[{\"process_id\":\"p2\",\"command\":\"sleep 9\",\"state\":\"running\","
	      "\"exit_code\":null,\"duration_ms\":2},{\"process_id\":\"p1\",\"command\":\"make\","
	      "\"state\":\"timed_out\",\"exit_code\":null,\"duration_ms\":2000}],\"total\":3}",
	      "p2 running for 2 ms: sleep 9\np1 timed out after 2 s: make\n[... 2 of 3 shown, newest "
	      "first: limit shows more ...]");
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"processes\":[");
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%s{\"process_id\":\"p%d\",\"command\":\"%0200d\",\"state\":\"completed\","
			     "\"exit_code\":0,\"duration_ms\":1}", i ? "," : "", i, i);
	buf_adds(&b, "],\"total\":1000}");
	text = text_of((struct mcp_answer){ .row = cap_find(&rows, "process.list") }, b.data,
		       MCP_TEXT_MAX);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	assert_true(strlen(text) <= MCP_TEXT_MAX && lines > 50);
	assert_non_null(strstr(text, " of 1,000 shown, newest first: state_filter picks some, "
				     "process_delete removes ended ones ...]"));
	free(text);
	buf_release(&b);
}

/* However long the commands are: which runs failed, which go on, and how many are not shown. */
static void test_mcp_text_of_waits(void **state)
{
	const struct mcp_answer a = { .row = cap_find(&rows, "process.wait") };
	struct buf b;
	char *text;

	(void)state;
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"ended\":[");
	for (int i = 0; i < 120; i++)
		buf_addf(&b, "%s{\"process_id\":\"p%d\",\"command\":\"%0200d\",\"state\":\"completed\","
			     "\"exit_code\":%d,\"duration_ms\":1}", i ? "," : "", i, i, i == 111);
	buf_adds(&b, "],\"pending\":[\"p200\",\"p201\"],\"forgotten\":[\"p7\"],\"matched\":true}");
	text = text_of(a, b.data, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX);
	assert_ptr_equal(strstr(text, "p111 exit 1 in 1 ms: "), text);
	assert_non_null(strstr(text, "\nno longer known: p7\nstill running: p200, p201\n[... "));
	assert_non_null(strstr(text, " of 120 shown, failures first: ask for fewer at once ...]\n"));
	free(text);
	buf_release(&b);
}

/* What answers those that wait for input always fits, too. */
static void test_mcp_text_of_waits_for_input(void **state)
{
	const struct mcp_answer a = { .row = cap_find(&rows, "process.wait") };
	struct buf ids, b;
	char *text;

	(void)state;
	buf_init(&ids, 1 << 20);
	buf_init(&b, 1 << 20);
	for (int i = 1; i <= 20; i++)
		buf_addf(&ids, "%s\"p999%02d-abcd\"", i > 1 ? "," : "", i);
	buf_adds(&b, "{\"ended\":[");
	for (int i = 0; i < 120; i++)
		buf_addf(&b, "%s{\"process_id\":\"p%d\",\"command\":\"%0200d\",\"state\":\"completed\","
			     "\"exit_code\":0,\"duration_ms\":1}", i ? "," : "", i, i);
	buf_addf(&b, "],\"pending\":[%s],\"waits_for_input\":[%s],\"matched\":false}", ids.data,
		 ids.data);
	text = text_of(a, b.data, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX);
	assert_non_null(strstr(text, "\np99920-abcd waits for input: process_input "
				     "{\"process_id\":\"p99920-abcd\",\"data\":\"...\\n\"} answers "
				     "it, process_kill stops it\n[... "));
	assert_null(strstr(text, "keeps waiting"));
	free(text);
	buf_release(&b);
	buf_release(&ids);
}

/* Each warning of a call has its line. */
/* The text of a process.input with these parameters. */
static void check_input_to(struct proc *p, const char *params, const char *json, const char *wanted)
{
	struct mcp_answer a = { .row = cap_find(&rows, "process.input"), .run = p };
	json_t *given = json_loads(params, 0, NULL);
	char *text;

	a.params = given;
	text = text_of(a, json, MCP_TEXT_MAX);
	assert_string_equal(text, wanted);
	json_decref(given);
	free(text);
}

static void check_input(const char *params, const char *json, const char *wanted)
{
	check_input_to(NULL, params, json, wanted);
}

#define TAKEN "{\"process_id\":\"p1\",\"bytes_written\":2,\"closed\":false}"
#define ANSWERS " [p1]; process_logs {\"process_id\":\"p1\",\"offset\":0,\"wait_ms\":5000} shows what " \
	"it answers."

/* Who reads lines does not answer part of one. */
static void test_mcp_text_of_inputs_without_a_newline(void **state)
{
	struct proc *p = run_new("", "");

	(void)state;
	check_input_to(p, "{\"data\":\"a\\n\"}", TAKEN, "took 2 bytes" ANSWERS);
	check_input_to(p, "{\"data\":\"ab\"}", TAKEN, "took 2 bytes, with no newline at the end" ANSWERS);
	check_input_to(p, "{\"data\":\"b\"}", TAKEN, "took 2 bytes, with no newline at the end" ANSWERS);
	check_input_to(p, "{\"data\":\"YWI=\",\"encoding\":\"base64\"}", TAKEN, "took 2 bytes" ANSWERS);
	check_input_to(p, "{\"data\":\"ab\",\"close\":true}",
		       "{\"process_id\":\"p1\",\"bytes_written\":2,\"closed\":true}",
		       "took 2 bytes, then end of file" ANSWERS);
	p->rare->out.screen = (struct screen_size){ 80, 24 };
	check_input_to(p, "{\"data\":\"q\"}", TAKEN, "took 2 bytes" ANSWERS);
	check_input_to(p, "{\"data\":\"ls\"}", TAKEN, "took 2 bytes, with no newline at the end" ANSWERS);
	check_input_to(p, "{\"data\":\"ls\\r\"}", TAKEN, "took 2 bytes" ANSWERS);
	check_input_to(p, "{\"data\":\"\\u0003\"}", TAKEN, "took 2 bytes" ANSWERS);
	run_free(p);
}

static void test_mcp_text_of_inputs(void **state)
{
	(void)state;
	check("process.input",
	      "{\"process_id\":\"p1\",\"bytes_written\":2,\"bytes_queued\":9,"
	      "\"bytes_incomplete\":9,\"closed\":false,"
	      "\"stdout_size\":3,\"stderr_size\":4,\"warnings\":[\"it waits\"]}",
	      "took 2 bytes [p1]; 9 bytes wait\nwarning: it waits\n");
	check("process.input",
	      "{\"process_id\":\"p1\",\"bytes_written\":2,\"bytes_queued\":1,"
	      "\"bytes_incomplete\":1,\"closed\":false,"
	      "\"stdout_size\":3,\"stderr_size\":4,\"warnings\":[\"one\",\"two\"]}",
	      "took 2 bytes [p1]; 1 byte waits; process_logs {\"process_id\":\"p1\",\"offset\":3,"
	      "\"stderr_offset\":4,\"wait_ms\":5000} shows what it answers.\nwarning: one\n"
	      "warning: two\n");
	/* Another warning says nothing about what waits. */
	check("process.input",
	      "{\"process_id\":\"p1\",\"bytes_written\":2,\"bytes_queued\":9,"
	      "\"bytes_incomplete\":0,\"closed\":false,"
	      "\"stdout_size\":3,\"stderr_size\":4,\"warnings\":[\"not judged\"]}",
	      "took 2 bytes [p1]; 9 bytes wait until it reads; process_logs {\"process_id\":\"p1\","
	      "\"offset\":3,\"stderr_offset\":4,\"wait_ms\":5000} shows what it answers.\n"
	      "warning: not judged\n");
	check_input("{\"close\":true}",
		    "{\"process_id\":\"p1\",\"bytes_written\":0,\"closed\":false,"
		    "\"warnings\":[\"raw\"]}",
		    "no end of file was sent [p1]\nwarning: raw\n");
	check_input("{\"close\":true,\"data\":\"ab\"}",
		    "{\"process_id\":\"p1\",\"bytes_written\":2,\"closed\":false,"
		    "\"warnings\":[\"raw\"]}",
		    "took 2 bytes, but no end of file was sent [p1]; process_logs {\"process_id\":"
		    "\"p1\",\"offset\":0,\"wait_ms\":5000} shows what it answers.\nwarning: raw\n");
	check_input("{\"close\":true}",
		    "{\"process_id\":\"p1\",\"bytes_written\":0,\"closed\":true}",
		    "took 0 bytes, then end of file [p1]; process_logs {\"process_id\":\"p1\","
		    "\"offset\":0,\"wait_ms\":5000} shows what it answers.");
}

static void test_mcp_text_of_kills(void **state)
{
	(void)state;
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGKILL\",\"forced\":true,\"waited_ms\":10002,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"killed\",\"leftover\":2,"
	      "\"survivors\":0,\"alive\":0}",
	      "ended by SIGKILL in 10 s with 2 children, forced [p1]");
	/* only SIGKILL counts what it ends: of three, one was still there a moment later */
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGTERM\",\"forced\":false,\"waited_ms\":5,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"killed\","
	      "\"reason\":\"killed_by_request\",\"leftover\":1,\"survivors\":0,\"alive\":0}",
	      "ended by SIGTERM in 5 ms [p1]");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGTERM\",\"forced\":false,\"waited_ms\":45000,"
	      "\"pending\":true,\"process_id\":\"p1\",\"state\":\"running\",\"survivors\":0,"
	      "\"alive\":3}",
	      "being ended, not gone after 45 s, 3 processes alive [p1]; process_monitor "
	      "{\"process_id\":\"p1\",\"wait_ms\":45000} waits for its end.");
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":null,\"forced\":false,\"waited_ms\":5,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"killed\","
	      "\"reason\":\"killed_by_request\",\"leftover\":0,\"survivors\":0,\"alive\":0}",
	      "ended by an earlier signal in 5 ms [p1]");
	/* the command had ended: what it left is no end of the run, and no wait waits for it */
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGTERM\",\"forced\":false,\"waited_ms\":43,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
	      "\"leftover\":1,\"survivors\":0,\"alive\":0}",
	      "the command had ended; 1 process of it was ended by SIGTERM in 43 ms [p1]");
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGKILL\",\"forced\":true,\"waited_ms\":5,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"killed\",\"reason\":\"signaled\","
	      "\"leftover\":2,\"survivors\":0,\"alive\":0}",
	      "the command had ended; 2 processes of it were ended by SIGKILL in 5 ms [p1]");
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGKILL\",\"forced\":true,\"waited_ms\":5,"
	      "\"pending\":false,\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
	      "\"leftover\":null,\"survivors\":0,\"alive\":0}",
	      "the command had ended; what it left was ended by SIGKILL in 5 ms [p1]");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGTERM\",\"forced\":false,\"waited_ms\":100,"
	      "\"pending\":true,\"process_id\":\"p1\",\"state\":\"completed\",\"reason\":\"exited\","
	      "\"survivors\":0,\"alive\":2}",
	      "being ended, not gone after 100 ms, 2 processes alive [p1]; process_monitor "
	      "{\"process_id\":\"p1\"} shows whether that is gone.");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGTERM\",\"forced\":false,\"waited_ms\":2,"
	      "\"pending\":true,\"process_id\":\"p1\",\"state\":\"killed\","
	      "\"reason\":\"killed_by_request\",\"survivors\":0,\"alive\":null}",
	      "being ended, not gone after 2 ms [p1]; process_monitor {\"process_id\":\"p1\"} shows "
	      "whether that is gone.");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGHUP\",\"process_id\":\"p1\","
	      "\"state\":\"running\",\"survivors\":0,\"alive\":1,\"waited_ms\":1000}",
	      "SIGHUP sent, and it lives on, 1 process alive [p1]");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGINT\",\"process_id\":\"p1\","
	      "\"state\":\"running\",\"survivors\":0,\"alive\":1,\"waited_ms\":0}",
	      "SIGINT sent, and it still runs, 1 process alive [p1]");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGKILL\",\"process_id\":\"p1\","
	      "\"state\":\"timed_out\",\"reason\":\"timeout\",\"survivors\":0,\"alive\":0}",
	      "SIGKILL sent; meanwhile timed out, 0 processes alive [p1]");
	check("process.kill",
	      "{\"killed\":false,\"signal_sent\":\"SIGINT\",\"process_id\":\"p1\","
	      "\"state\":\"killed\",\"reason\":\"killed_by_request\",\"survivors\":0,\"alive\":2}",
	      "SIGINT sent, and the command has ended, 2 processes alive [p1]; process_kill without "
	      "a signal ends what is left");
	check("process.kill",
	      "{\"killed\":true,\"signal_sent\":\"SIGKILL\",\"waited_ms\":5,\"process_id\":\"p1\","
	      "\"state\":\"killed\",\"survivors\":1,\"alive\":1}",
	      "ended by SIGKILL in 5 ms [p1]\nwarning: 1 process could not be killed");
}

/* A kill with @params, of a run with a terminal. */
static void check_hangup(const char *params, const char *json, const char *wanted)
{
	struct proc *p = run_new("", "");
	json_t *given = json_loads(params, 0, NULL);
	char *text;

	p->rare->out.screen = (struct screen_size){ 80, 24 };
	text = text_of((struct mcp_answer){ .row = cap_find(&rows, "process.kill"), .run = p,
					    .params = given }, json, MCP_TEXT_MAX);
	assert_string_equal(text, wanted);
	free(text);
	json_decref(given);
	run_free(p);
}

#define KILLED "{\"killed\":true,\"signal_sent\":\"SIGKILL\",\"forced\":true,\"waited_ms\":10002," \
	"\"process_id\":\"p1\",\"state\":\"killed\",\"reason\":\"killed_by_request\"}"
#define HANGUP "; an interactive shell ignores SIGTERM: signal \"HUP\" ends one at once"

/* Who waits for a shell at its prompt reads what does not wait. */
static void test_mcp_text_of_kills_at_a_terminal(void **state)
{
	(void)state;
	check_hangup("{}", KILLED, "ended by SIGKILL in 10 s, forced [p1]" HANGUP);
	check_hangup("{\"signal\":\"sigterm\"}", KILLED, "ended by SIGKILL in 10 s, forced [p1]" HANGUP);
	check_hangup("{\"signal\":15}", KILLED, "ended by SIGKILL in 10 s, forced [p1]" HANGUP);
	check_hangup("{\"signal\":\"HUP\"}", KILLED, "ended by SIGKILL in 10 s, forced [p1]");
	check_hangup("{\"signal\":2}", KILLED, "ended by SIGKILL in 10 s, forced [p1]");
	check_hangup("{\"wait_ms\":2000}",
		     "{\"signal_sent\":\"SIGTERM\",\"waited_ms\":2000,\"pending\":true,"
		     "\"process_id\":\"p1\",\"state\":\"running\",\"alive\":1}",
		     "being ended, not gone after 2 s, 1 process alive [p1]" HANGUP "; process_monitor "
		     "{\"process_id\":\"p1\",\"wait_ms\":45000} waits for its end.");
	check_hangup("{\"wait_ms\":0}",
		     "{\"signal_sent\":\"SIGTERM\",\"waited_ms\":0,\"pending\":true,"
		     "\"process_id\":\"p1\",\"state\":\"running\",\"alive\":1}",
		     "being ended, not gone after 0 ms, 1 process alive [p1]; process_monitor "
		     "{\"process_id\":\"p1\",\"wait_ms\":45000} waits for its end.");
}

static void test_mcp_text_of_verdicts(void **state)
{
	(void)state;
	check("is_blocked", "{\"blocked\":false,\"block_reason\":null}", "not blocked");
	check("is_blocked",
	      "{\"blocked\":true,\"block_reason\":\"no.\",\"rule\":\"a.b\",\"suggestion\":\"Ask.\"}",
	      "blocked: no. Ask.");
}

/* What has no words of its own is shown member by member, as far as it says something. */
static void test_mcp_text_of_members(void **state)
{
	struct mcp_answer a = { .row = cap_find(&rows, "server.metrics") };
	struct buf b;
	char *text;

	(void)state;
	check("server.metrics", "{}", "done");
	check("server.metrics",
	      "{\"a\":1,\"b\":null,\"c\":true,\"d\":\"x process.list\",\"e\":\"\",\"f\":false,"
	      "\"g\":[],\"h\":{},\"o\":{\"n\":1,\"l\":[\"x\"]},\"s\":\"one\\ntwo: 2\",\"last\":-1.5}",
	      "a: 1\nc: true\nd: x process.list\no: {\"n\":1,\"l\":[\"x\"]}\n"
	      "s: \"one\\ntwo: 2\"\nlast: -1.5\n");
	check("server.metrics",
	      "{\"n\":{\"a\":1,\"b\":\"x\"},\"why\":{\"c\":\"not known\",\"d\":\"x\"},"
	      "\"lines\":{\"e\":\"1\\n2\"},\"o\":{\"p\":{}}}",
	      "n: a 1, b x\nwhy:\n- c: not known\n- d: x\nlines: {\"e\":\"1\\n2\"}\n"
	      "o: {\"p\":{}}\n");
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 300; i++)
		buf_addf(&b, "%s\"k%d\":\"%0*d\"", i ? "," : "{", i, i == 7 ? 9000 : 100, i);
	buf_adds(&b, "}");
	text = text_of(a, b.data, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX && strlen(text) > MCP_TEXT_MAX - 1000);
	assert_non_null(strstr(text, "0 [... cut ...]\nk8: 0"));
	free(text);
	buf_release(&b);
}

#define SESSION(limits, policy, rest) \
	"{\"workspace\":\"/w\",\"accessible_directories\":[\"/w\",\"/x y\"]," \
	"\"shell\":\"/bin/sh\",\"limits\":" limits "," \
	"\"capabilities\":[{\"name\":\"process.run\",\"version\":\"1.1\",\"tier\":\"notify\"}," \
	"{\"name\":\"process.follow\",\"tier\":\"notify\"}," \
	"{\"name\":\"process.kill\",\"tier\":\"notify\"}," \
	"{\"name\":\"is_blocked\",\"tier\":\"autonomous\"}],\"policy\":" policy "," rest "," \
	"\"server\":{\"name\":\"procpen\",\"version\":\"0.1\",\"instance\":\"ab\",\"host\":\"vm\"}}"

static void test_mcp_text_of_sessions(void **state)
{
	(void)state;
	check("agent.session",
	      SESSION("{\"limits.requests\":256}",
		      "{\"blocklist\":\"command\",\"rules\":0,\"own_rules\":0,\"project_rules\":0,"
		      "\"from\":[],\"packs\":[]}",
		      "\"allowances\":{\"cpu_limit\":null,\"timeout\":3600,\"limits\":{\"as\":null,"
		      "\"nice\":0}},\"users\":[],\"sandbox\":{\"active\":[\"shim\",\"seccomp:default\"],"
		      "\"readonly\":[],\"missing\":[],\"gaps\":[\"files: a; b\",\"c\"]}"),
	      "workspace: /w\naccessible directories: /w, /x y\nshell: /bin/sh\n"
	      "limits: at their defaults\n"
	      "allowances: timeout 3600; of limits: nice 0\n"
	      "tools of tier autonomous: is_blocked\ntools of tier notify: process_run, process_kill\n"
	      "policy: blocklist applies to commands; 0 rules\nprocpen: 0.1\ninstance: ab\nhost: vm\n"
	      "sandbox: shim, seccomp:default\ngaps of the sandbox:\n- files: a; b\n- c\n");
	check("agent.session",
	      SESSION("{\"limits.cpu_percent\":0,\"process.background_seconds\":0,\"limits.requests\":9,"
		      "\"limits.tasks_per_run\":0,\"log.head_bytes\":0}",
		      "{\"blocklist\":\"anywhere\",\"rules\":12,\"own_rules\":1,\"project_rules\":2,"
		      "\"from\":[\"/etc/c\"],\"packs\":[{\"name\":\"git\",\"decision\":\"deny\","
		      "\"rules\":9},{\"name\":\"db\",\"decision\":\"confirm\",\"rules\":1}]}",
		      "\"allowances\":{\"limits\":{\"nofile\":9}},\"users\":[\"ci\"],"
		      "\"project\":{\"narrowed\":[\"sandbox.network\"],"
		      "\"ignored\":[\"it would loosen\"],\"ignored_total\":3},"
		      "\"sandbox\":{\"active\":[],\"readonly\":[\"/w/a\\nhidden: b\"],\"hidden\":[\"/k\"],"
		      "\"missing\":[{\"layer\":\"landlock\",\"reason\":\"the kernel lacks it\",\"remedy\":"
		      "\"Linux 5.13\"}]},\"audit_log\":\"/a\""),
	      "workspace: /w\naccessible directories: /w, /x y\nshell: /bin/sh\n"
	      "limits: limits.requests 9, limits.tasks_per_run 0 (no limit), "
	      "log.head_bytes 0; others at their defaults\nallowances: of limits: nofile 9\n"
	      "tools of tier autonomous: is_blocked\ntools of tier notify: process_run, process_kill\n"
	      "users that a command may run as: ci\n"
	      "policy: blocklist applies to commands and data; 12 rules, 2 of them the project's; packs "
	      "git:deny, db:confirm\nrules from: /etc/c\nnarrowed by .procpen.json: sandbox.network\n"
	      "ignored of .procpen.json:\n- it would loosen\n- 2 more\n"
	      "procpen: 0.1\ninstance: ab\nhost: vm\naudit log: /a\nmissing from the sandbox:\n"
	      "- landlock: the kernel lacks it; Linux 5.13\nread-only: \"/w/a\\nhidden: b\"\nhidden: /k\n");
}

/* However many paths and gaps there are, the text is bounded and counts what it lacks. */
static void test_mcp_text_of_a_large_session(void **state)
{
	struct buf b;
	char *text, mark[80];
	int shown = 0;

	(void)state;
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"limits\":{},\"policy\":{},\"sandbox\":{\"gaps\":[");
	for (int i = 0; i < 100; i++)
		buf_addf(&b, "%s\"%0300d\"", i ? "," : "", i);
	buf_addf(&b, "]},\"audit_log\":\"%04000d\"}", 7);
	text = text_of((struct mcp_answer){ .row = cap_find(&rows, "agent.session") }, b.data,
		       MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX && strlen(text) > MCP_TEXT_MAX - 1000);
	for (const char *at = text; (at = strstr(at, "\n- 0")); at++)
		shown++;
	snprintf(mark, sizeof(mark), "\n- [... %d more left out ...]\n", 100 - shown);
	assert_true(shown > 10 && strstr(text, mark));
	assert_non_null(strstr(text, "7\ngaps of the sandbox:\n- 0"));
	free(text);
	buf_release(&b);
}

/* Many paths leave room for what the sandbox lacks. */
static void test_mcp_text_of_a_session_of_many_paths(void **state)
{
	static const char *const lists[] = { "{\"accessible_directories\":[", "],\"users\":[",
					     "],\"policy\":{\"from\":[",
					     "]},\"project\":{\"ignored\":[" };
	struct buf b;
	char *text;

	(void)state;
	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		buf_adds(&b, lists[i]);
		for (int k = 0; k < 100; k++)
			buf_addf(&b, "%s\"/%0200d\"", k ? "," : "", k);
	}
	buf_adds(&b, "]},\"limits\":{},\"audit_log\":\"/a\",\"sandbox\":{\"active\":[\"shim\"],"
		     "\"missing\":[");
	for (int i = 0; i < 40; i++)
		buf_addf(&b, "%s{\"layer\":\"l%d\",\"reason\":\"%0300d\",\"remedy\":\"r\"}",
			 i ? "," : "", i, i);
	buf_adds(&b, "],\"gaps\":[\"root\"],\"hidden\":[\"/k\"]}}");
	text = text_of((struct mcp_answer){ .row = cap_find(&rows, "agent.session") }, b.data,
		       MCP_TEXT_MAX);
	assert_in_range(strlen(text), MCP_TEXT_MAX - 1000, MCP_TEXT_MAX);
	assert_non_null(strstr(text, "\naudit log: /a\nsandbox: shim\nmissing from the sandbox:\n- l0"));
	assert_non_null(strstr(text, " more left out ...]\ngaps of the sandbox:\n- "));
	assert_non_null(strstr(text, "\nusers that a command may run as: [... 100 more left out ...]\n"));
	free(text);
	buf_release(&b);
}

/* Options that do not fit are counted. */
static void test_mcp_text_of_options(void **state)
{
	struct mcp_answer a = { .row = cap_find(&rows, "config.get") };
	char *text = text_of(a, "{\"long\":{\"value\":[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"],"
				"\"default\":[],\"origin\":\"--set\",\"bounds\":null},"
				"\"short\":{\"value\":[443],\"default\":true,\"origin\":\"default\","
				"\"bounds\":{\"minimum\":1}}}", 680);

	(void)state;
	assert_string_equal(text, "short = 443 (default true)\n"
				  "[... 1 more left out: name fewer in keys ...]");
	free(text);
	check("config.get", "{}", "no options");
}

/* However little room there is, nothing is written past it by much, and nothing breaks. */
static void test_mcp_text_with_no_room(void **state)
{
	struct proc *p;
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	for (int n = 0; n < 5000; n++)
		buf_adds(&b, "x");
	p = run_new(b.data, b.data);
	for (size_t max = 0; max < 1200; max += 37) {
		char *text = text_of((struct mcp_answer){ .row = cap_find(&rows, "process.run"),
							  .run = p },
				     "{\"process_id\":\"p1\",\"state\":\"completed\","
				     "\"exit_code\":0,\"duration_ms\":4}", max);

		assert_true(strlen(text) <= max + 1500);
		assert_non_null(strstr(text, "--- stdout\nx"));
		free(text);
	}
	run_free(p);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mcp_text_of_runs),
		cmocka_unit_test(test_mcp_text_of_timeouts),
		cmocka_unit_test(test_mcp_text_of_runs_that_go_on),
		cmocka_unit_test(test_mcp_text_of_runs_with_input),
		cmocka_unit_test(test_mcp_text_of_repeats),
		cmocka_unit_test(test_mcp_text_says_warnings_before_output),
		cmocka_unit_test(test_mcp_text_bounds_warnings),
		cmocka_unit_test(test_mcp_text_is_cut_at_characters),
		cmocka_unit_test(test_mcp_text_names_what_is_left_out),
		cmocka_unit_test(test_mcp_text_begins_at_a_line),
		cmocka_unit_test(test_mcp_text_of_half_a_character),
		cmocka_unit_test(test_mcp_text_of_bytes_that_are_no_text),
		cmocka_unit_test(test_mcp_text_is_bounded_for_every_output),
		cmocka_unit_test(test_mcp_text_shares_its_room),
		cmocka_unit_test(test_mcp_text_of_a_lost_end),
		cmocka_unit_test(test_mcp_text_of_a_hole_near_the_end),
		cmocka_unit_test(test_mcp_text_of_pages),
		cmocka_unit_test(test_mcp_text_of_pages_tells_the_end),
		cmocka_unit_test(test_mcp_text_of_pages_while_it_runs),
		cmocka_unit_test(test_mcp_text_of_pages_at_a_hole),
		cmocka_unit_test(test_mcp_text_of_matches),
		cmocka_unit_test(test_mcp_text_of_pages_that_are_no_text),
		cmocka_unit_test(test_mcp_text_of_a_match_in_long_lines),
		cmocka_unit_test(test_mcp_text_of_matches_is_bounded),
		cmocka_unit_test(test_mcp_text_of_monitors),
		cmocka_unit_test(test_mcp_text_of_dropped_output),
		cmocka_unit_test(test_mcp_text_of_much_output),
		cmocka_unit_test(test_mcp_text_of_waits_for_output),
		cmocka_unit_test(test_mcp_text_of_lists),
		cmocka_unit_test(test_mcp_text_of_waits),
		cmocka_unit_test(test_mcp_text_of_waits_for_input),
		cmocka_unit_test(test_mcp_text_of_inputs),
		cmocka_unit_test(test_mcp_text_of_inputs_without_a_newline),
		cmocka_unit_test(test_mcp_text_of_kills),
		cmocka_unit_test(test_mcp_text_of_kills_at_a_terminal),
		cmocka_unit_test(test_mcp_text_of_verdicts),
		cmocka_unit_test(test_mcp_text_of_members),
		cmocka_unit_test(test_mcp_text_of_sessions),
		cmocka_unit_test(test_mcp_text_of_a_large_session),
		cmocka_unit_test(test_mcp_text_of_a_session_of_many_paths),
		cmocka_unit_test(test_mcp_text_of_options),
		cmocka_unit_test(test_mcp_text_with_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
