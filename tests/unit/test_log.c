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
	assert_string_equal(logged(LOG_LEVEL_DEBUG, "x"), "");
	log_set_level(LOG_LEVEL_DEBUG);
	assert_string_equal(logged(LOG_LEVEL_DEBUG, "x"), "procpen: debug: x\n");
	log_set_level(LOG_LEVEL_ERROR);
	assert_string_equal(logged(LOG_LEVEL_WARN, "x"), "");
	log_set_level(LOG_LEVEL_NOTICE);
}

static void test_log_a_text_cannot_forge_a_line(void **state)
{
	(void)state;
	assert_string_equal(logged(LOG_LEVEL_WARN, "a\nprocpen: b\x1b[2J\x7f"),
			    "procpen: warning: a?procpen: b?[2J?\n");
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
}

static void test_log_never_waits_for_a_reader(void **state)
{
	int saved = dup(STDERR_FILENO), ends[2];
	char block[4096] = { 0 };

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	dup2(ends[1], STDERR_FILENO);
	alarm(60); /* a write that blocks ends the test */
	errno = EXDEV;
	log_error("nobody reads this");
	assert_int_equal(errno, EXDEV);
	alarm(0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_levels),
		cmocka_unit_test(test_log_a_text_cannot_forge_a_line),
		cmocka_unit_test(test_log_long_text_is_one_bounded_line),
		cmocka_unit_test(test_log_never_waits_for_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
