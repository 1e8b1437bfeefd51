#include "unit.h"

#include <stdlib.h>

#include "base/jsonc.h"
#include "base/mem.h"

static void expect_blank(const char *text, const char *plain)
{
	AUTO_FREE char *made = jsonc_blank(text, strlen(text), true);

	assert_string_equal(made, plain);
}

static void test_jsonc_blanks_what_is_no_json(void **state)
{
	AUTO_FREE char *commas = jsonc_blank("[1, // x\n]", 10, false);

	(void)state;
	assert_string_equal(commas, "[1,     \n]");
	expect_blank("{}", "{}");
	expect_blank("1 // x\n2", "1     \n2");
	expect_blank("1 // x", "1     ");
	expect_blank("/* a\n*/1", "    \n  1");
	expect_blank("\"// /* \\\" ,]\"", "\"// /* \\\" ,]\"");
	expect_blank("[1,]", "[1 ]");
	expect_blank("[1, // x\n]", "[1      \n]");
	expect_blank("/* open", "/* open");
	expect_blank("/", "/");
}

static void expect_fault(const char *text, size_t len, int line, int column, const char *part)
{
	char why[JSONC_WHY_SIZE] = "";
	AUTO_FREE char *plain = NULL;
	struct jsonc_place at = { 0, 0 };

	assert_null(jsonc_parse(text, len, &plain, &at, why));
	if (!strstr(why, part) || at.line != line || at.column != column)
		fail_msg("%.60s: %d:%d: %s", text, at.line, at.column, why);
}

static void test_jsonc_faults_have_their_place(void **state)
{
	static char deep[1 << 20];

	(void)state;
	memset(deep, '[', sizeof(deep));
	expect_fault(deep, sizeof(deep), 1, 2049, "nested too deep");
	expect_fault("", 0, 1, 1, "end of file");
	expect_fault("{\n\"a\" 1}", 8, 2, 5, "':' expected");
	expect_fault("{\r\n \"a\": tru\r\n}", 15, 2, 7, "tru");
	expect_fault("{\"ä\": 1,\n\"ä\": 2}", 18, 2, 1, "duplicate");
	expect_fault("\xef\xbb\xbf" "x", 4, 1, 1, "x");
	expect_fault("{} {}", 5, 1, 4, "end of file expected");
	expect_fault("[1\0]", 4, 1, 3, "NUL");
	expect_fault("[\"\\u0000\"]", 10, 1, 2, "a NUL (\\u0000) in a string");
	expect_fault("[\"\xff\"]", 5, 1, 2, "0xff");
	expect_fault("[1, /* x", 8, 1, 5, "/");
}

static void test_jsonc_takes_what_people_write(void **state)
{
	static const char text[] = "\xef\xbb\xbf// top\r\n{ \"a\": [1,], /* b */\r\n}\r\n";
	char why[JSONC_WHY_SIZE] = "";
	AUTO_FREE char *plain = NULL;
	struct jsonc_place at;
	json_t *value = jsonc_parse(text, sizeof(text) - 1, &plain, &at, why);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(value, "a")), 1);
	at = jsonc_place(text, (size_t)(strchr(text, '{') - text));
	assert_int_equal(at.line, 2);
	assert_int_equal(at.column, 1);
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jsonc_blanks_what_is_no_json),
		cmocka_unit_test(test_jsonc_faults_have_their_place),
		cmocka_unit_test(test_jsonc_takes_what_people_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
