#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"

static char line[8192];

/* What log_line(@level, "%s", @text) writes to stderr. */
static const char *logged(enum log_level level, const char *text)
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t len;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	log_line(level, "%s", text);
	dup2(saved, STDERR_FILENO);
	len = read(ends[0], line, sizeof(line) - 1);
	line[len > 0 ? len : 0] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(saved);
	return line;
}

static void test_log_levels(void **state)
{
	(void)state;
	assert_string_equal(logged(LOG_LEVEL_NOTICE, "hello"), "procpen: hello\n");
	assert_string_equal(logged(LOG_LEVEL_ERROR, "x"), "procpen: error: x\n");
	assert_string_equal(logged(LOG_LEVEL_WARN, "x"), "procpen: warning: x\n");
}

static void test_log_a_text_cannot_forge_a_line(void **state)
{
	(void)state;
	assert_string_equal(logged(LOG_LEVEL_WARN, "a\nprocpen: b\x1b[2J\x7f"),
			    "procpen: warning: a\\u000aprocpen: b\\u001b[2J\\u007f\n");
	/* C1 (U+009B is CSI), direction marks, no width, and a byte that is C1 in other encodings */
	assert_string_equal(logged(LOG_LEVEL_WARN, "\xc2\x9b"
						   "31m \xe2\x80\xae \xe2\x80\x8b \x9b"),
			    "procpen: warning: \\u009b31m \\u202e \\u200b \xef\xbf\xbd\n");
}

static void test_log_long_text_is_one_bounded_line(void **state)
{
	static char text[6001];

	(void)state;
	for (size_t i = 0; i < 6000; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	logged(LOG_LEVEL_NOTICE, text);
	assert_true(strlen(line) > 2000 && strlen(line) <= 2048);
	assert_true(line[strlen(line) - 1] == '\n');
	assert_true(utf8_valid(line, strlen(line)));
	memset(text, '\n', 6000);
	logged(LOG_LEVEL_NOTICE, text); /* an escape is whole or not there */
	assert_true(strlen(line) > 2000 && strlen(line) <= 2048);
	assert_string_equal(line + strlen(line) - 7, "\\u000a\n");
}

/* ---- a writer that accepts as many bytes as the test sets ---- */

static size_t room; /* bytes that are taken before EAGAIN */
static char taken[4096];

static ssize_t take(const void *bytes, size_t len)
{
	size_t n = len < room ? len : room;

	if (!n) {
		errno = EAGAIN;
		return -1;
	}
	room -= n;
	strncat(taken, bytes, n);
	return (ssize_t)n;
}

/* What has come after this line, with room for @bytes more. */
static const char *taken_after(size_t bytes, const char *text)
{
	room = bytes;
	log_notice("%s", text);
	return taken;
}

static void test_log_counts_what_is_not_taken(void **state)
{
	(void)state;
	taken[0] = '\0';
	log_write_with(take);
	errno = EXDEV;
	assert_string_equal(taken_after(0, "a"), "");
	assert_int_equal(errno, EXDEV);
	assert_string_equal(taken_after(100, "b"), "procpen: warning: 1 line was lost\nprocpen: b\n");
	taken[0] = '\0';
	assert_string_equal(taken_after(0, "c"), "");
	assert_string_equal(taken_after(0, "d"), "");
	assert_string_equal(taken_after(100, "e"),
			    "procpen: warning: 2 lines were lost\nprocpen: e\n");
}

/* A terminal may take a part of a line: the rest comes before anything else. */
static void test_log_finishes_a_line(void **state)
{
	(void)state;
	taken[0] = '\0';
	log_write_with(take);
	assert_string_equal(taken_after(12, "abcdef"), "procpen: abc");
	assert_string_equal(taken_after(2, "g"), "procpen: abcde");
	assert_string_equal(taken_after(100, "h"),
			    "procpen: abcdef\nprocpen: warning: 1 line was lost\nprocpen: h\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_levels),
		cmocka_unit_test(test_log_a_text_cannot_forge_a_line),
		cmocka_unit_test(test_log_long_text_is_one_bounded_line),
		cmocka_unit_test(test_log_counts_what_is_not_taken),
		cmocka_unit_test(test_log_finishes_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
