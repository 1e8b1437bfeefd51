#include "unit.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

static void test_err_set_returns_minus_one_and_forgets_the_past(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	assert_int_equal(err_sys(&e, ERR_SPAWN_FAILED, ENOENT, "cannot execute %s", "x"), -1);
	err_hint(&e, "look");
	err_detail(&e, "stage", json_string("exec"));
	assert_string_equal(e.message, "cannot execute x: No such file or directory (ENOENT)");
	assert_int_equal(e.sys, ENOENT);
	assert_string_equal(err_hint_text(&e), "look");

	assert_int_equal(err_set(&e, ERR_INVALID_PARAMS, "bad %d", 7), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	assert_string_equal(e.message, "bad 7");
	assert_int_equal(e.sys, 0);
	assert_null(e.details);
	assert_string_equal(err_hint_text(&e), err_rows[ERR_INVALID_PARAMS].hint);
	err_release(&e);
	assert_int_equal(e.type, ERR_NONE);
}

static void test_err_message_may_quote_itself(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	err_set(&e, ERR_SPAWN_FAILED, "inner");
	err_set(&e, ERR_INTERNAL_ERROR, "outer: %s", e.message);
	assert_string_equal(e.message, "outer: inner");
	err_release(&e);
}

static void test_err_long_text_is_cut_at_a_character_and_keeps_the_reason(void **state)
{
	ERR_LOCAL(e);
	char text[2001];

	(void)state;
	for (int shift = 0; shift < 3; shift++) {
		memset(text, 'x', 3);
		for (int i = shift; i + 2 < 2000; i += 2)
			memcpy(text + i, "\xc3\xa4", 3);
		err_set(&e, ERR_INTERNAL_ERROR, "%s", text);
		assert_true(utf8_valid(e.message, strlen(e.message)));
		assert_true(strlen(e.message) >= sizeof(e.message) - 3);
		err_sys(&e, ERR_INTERNAL_ERROR, EACCES, "%s", text);
		assert_true(utf8_valid(e.message, strlen(e.message)));
		assert_non_null(strstr(e.message, ": Permission denied (EACCES)"));
		err_hint(&e, "%s", text);
		assert_true(utf8_valid(e.hint, strlen(e.hint)));
	}
	err_release(&e);
}

static void test_err_prefix_keeps_the_rest_and_cuts_the_end(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	err_sys(&e, ERR_INVALID_PARAMS, ENOENT, "%0700d\u00fc", 0);
	err_hint(&e, "hint");
	err_detail(&e, "line", json_integer(1));
	assert_int_equal(err_prefix(&e, "%s:%d: ", "file", 7), -1);
	assert_memory_equal(e.message, "file:7: 000", 11);
	assert_int_equal(e.sys, ENOENT);
	assert_string_equal(e.hint, "hint");
	err_hint(&e, "first, %s", err_hint_text(&e));
	assert_string_equal(e.hint, "first, hint");
	assert_non_null(e.details);
	err_set(&e, ERR_INVALID_PARAMS, "%0764d\u00fc", 0);
	err_prefix(&e, "12");
	assert_int_equal(strlen(e.message), 766); /* the character of two bytes does not fit */
	err_release(&e);
}

static void test_err_details_collect_and_skip_null(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	err_set(&e, ERR_KILL_FAILED, "x");
	err_detail(&e, "a", json_integer(1));
	err_detail(&e, "b", NULL);
	err_detail(&e, "a", json_integer(2));
	assert_int_equal(json_object_size(e.details), 1);
	assert_int_equal(json_integer_value(json_object_get(e.details, "a")), 2);
	err_release(&e);
	err_release(&e);
}

static void test_err_invalid_names_the_parameter(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	err_set(&e, ERR_SPAWN_FAILED, "before");
	err_detail(&e, "old", json_true());
	assert_int_equal(err_invalid(&e, "timeout", "%s is %d", "timeout", 5), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	assert_string_equal(e.message, "timeout is 5");
	assert_int_equal(json_object_size(e.details), 1);
	assert_string_equal(json_string_value(json_object_get(e.details, "parameter")), "timeout");
	err_release(&e);
}

static void test_err_names_of_errno(void **state)
{
	(void)state;
	assert_string_equal(err_sys_name(E2BIG), "E2BIG");
	assert_string_equal(err_sys_name(0), "E0");
	assert_string_equal(err_sys_name(-1), "E-1");
	assert_string_equal(err_sys_name(4095), "E4095");
	for (int sys = 1; sys < 4096; sys++)
		if (strerrorname_np(sys))
			assert_string_equal(err_sys_name(sys), strerrorname_np(sys));
}

static void test_err_rows_match_the_enum(void **state)
{
	(void)state;
	assert_string_equal(err_rows[ERR_PARSE_ERROR].name, "ParseError");
	assert_int_equal(err_rows[ERR_PARSE_ERROR].code, -32700);
	assert_string_equal(err_rows[ERR_INVALID_STREAM].name, "InvalidStream");
	assert_int_equal(err_rows[ERR_INVALID_STREAM].code, 1015);
	assert_true(err_rows[ERR_LIMIT_REACHED].retryable);
	for (int i = 1; i < ERR_COUNT; i++) {
		assert_true(err_rows[i].hint[0]);
		assert_true(strlen(err_rows[i].hint) < sizeof(((struct err *)0)->hint));
	}
}

/* What passes by itself can be tried again, whatever the type says as a rule. */
static void test_err_retryable_is_of_the_case(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	err_sys(&e, ERR_SPAWN_FAILED, EAGAIN, "cannot fork");
	assert_true(err_retryable(&e));
	err_sys(&e, ERR_SPAWN_FAILED, ENOEXEC, "cannot execute");
	assert_false(err_retryable(&e));
	err_sys(&e, ERR_PERMISSION_DENIED, ENOSPC, "cannot record");
	assert_true(err_retryable(&e));
	err_set(&e, ERR_LIMIT_REACHED, "too many");
	assert_true(err_retryable(&e));
	err_release(&e);
}

/* A shortage is retryable, and its hint says what ran out. */
static void test_err_shortage_says_what_ran_out(void **state)
{
	static const struct {
		int sys;
		const char *what;
	} shortages[] = {
		{ EAGAIN, "limit of processes" }, { ENOMEM, "Memory" },
		{ ENOBUFS, "Memory" },		  { EMFILE, "descriptors" },
		{ ENFILE, "open files" },	  { ENOSPC, "disk" },
		{ EDQUOT, "quota" },
	};
	ERR_LOCAL(e);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(shortages); i++) {
		assert_true(err_is_shortage(shortages[i].sys));
		err_sys(&e, ERR_SANDBOX_UNAVAILABLE, shortages[i].sys, "it failed");
		assert_true(err_retryable(&e));
		assert_non_null(strstr(err_hint_text(&e), shortages[i].what));
		err_hint(&e, "its own");
		assert_string_equal(err_hint_text(&e), "its own");
	}
	assert_false(err_is_shortage(0) || err_is_shortage(EPERM));
	err_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err_set_returns_minus_one_and_forgets_the_past),
		cmocka_unit_test(test_err_message_may_quote_itself),
		cmocka_unit_test(test_err_long_text_is_cut_at_a_character_and_keeps_the_reason),
		cmocka_unit_test(test_err_prefix_keeps_the_rest_and_cuts_the_end),
		cmocka_unit_test(test_err_details_collect_and_skip_null),
		cmocka_unit_test(test_err_invalid_names_the_parameter),
		cmocka_unit_test(test_err_names_of_errno),
		cmocka_unit_test(test_err_rows_match_the_enum),
		cmocka_unit_test(test_err_retryable_is_of_the_case),
		cmocka_unit_test(test_err_shortage_says_what_ran_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
