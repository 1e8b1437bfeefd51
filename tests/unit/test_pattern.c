#include "unit.h"

#include <jansson.h>

#include "base/mem.h"
#include "base/pattern.h"

static struct pattern *pattern_of(const char *text, bool ignore_case)
{
	ERR_LOCAL(e);
	struct pattern *p = pattern_new(text, ignore_case, &e);

	if (!p)
		print_error("%s: %s\n", text, e.message);
	assert_non_null(p);
	return p;
}

/* In heap memory of exactly its size, so that ASan finds a read beyond the end. */
static enum pattern_found find(struct pattern *p, const char *line, size_t len, size_t *at)
{
	char *copy = malloc(len ? len : 1);
	enum pattern_found found;

	memcpy(copy, line, len);
	found = pattern_find(p, copy, len, 0, at);
	free(copy);
	return found;
}

/* @at < 0: it is not there. */
static void expect_bytes(const char *text, bool ignore_case, const char *line, size_t len, long at)
{
	struct pattern *p = pattern_of(text, ignore_case);
	size_t where = 0;

	assert_int_equal(find(p, line, len, &where), at < 0 ? PATTERN_ABSENT : PATTERN_PRESENT);
	if (at >= 0)
		assert_int_equal(where, at);
	pattern_free(p);
}

static void expect(const char *text, const char *line, long at)
{
	expect_bytes(text, false, line, strlen(line), at);
}

static void test_pattern_finds(void **state)
{
	(void)state;
	expect("FAIL", "test 3: FAIL", 8);
	expect("fail", "test 3: FAIL", -1);
	expect_bytes("fail", true, "test 3: FAIL", 12, 8);
	expect_bytes("\xc3\xa4", true, "x\xc3\x84", 3, 1);
	expect("^$", "", 0);
	expect("x*", "aaa", 0);
	expect("(\\w+)=\\1", "a=b c=c", 4);
	expect("^.{3}$", "\xe2\x82\xac\xc3\xa4" "a", 0);
	expect("\xef\xbf\xbd", "a\xef\xbf\xbd", 1);
	expect_bytes("a.b$", false, "xa\0b", 4, 1);
	expect_bytes("\\x00", false, "xa\0b", 4, 2);
}

static void test_pattern_refuses(void **state)
{
	static const struct {
		const char *text;
		int position;
	} rows[] = {
		{ "a(b", 3 }, { "a)", 1 }, { "[a", 2 }, { "*", 0 }, { "a{2,1}", 5 },
		{ "(?<n>a)(?<n>b)", 12 }, { "\\C", 2 },
	};
	char deep[901], longer[PATTERN_BYTES + 2];
	ERR_LOCAL(e);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_null(pattern_new(rows[i].text, false, &e));
		assert_int_equal(e.type, ERR_INVALID_PARAMS);
		assert_int_equal(json_integer_value(json_object_get(e.details, "position")),
				 rows[i].position);
		err_release(&e);
	}
	assert_null(pattern_new("((((a{999}){999}){999}){999})", false, &e));
	err_release(&e);
	memset(deep, '(', 450);
	memset(deep + 450, ')', 450);
	deep[900] = '\0';
	assert_null(pattern_new(deep, false, &e));
	err_release(&e);
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_null(pattern_new(longer, false, &e));
	err_release(&e);
	longer[sizeof(longer) - 2] = '\0';
	pattern_free(pattern_of(longer, false));
	pattern_free(NULL);
}

/* Each would take hours on this line; the bound ends it. What stops it counts as not known. */
static void test_pattern_hostile(void **state)
{
	static const char *const texts[] = {
		"(a+)+$", "(a|a)*$", "(a*)*b", "(.*a){20}$", "(?:a?){30}a{30}[bc]", "a{30000}[bc]",
		"(?:a{3,30000}){2}[bc]", "(a|aa)+[bc]", "(.*)(.*)(.*)(.*)(.*)[bc]", "((a)|(a))*(?R)?b",
		"(?=(a+))a*b", "(a*)\\1[bc]", "(?<=a{200})[bc]|.*.*.*[bc]", "(?R)*", "(?:(?1)|(a))*$",
		"(*NO_START_OPT)(*NO_AUTO_POSSESS)a*a*a*[bc]", "(*LIMIT_MATCH=999999999)(a+)+$",
		"\\X+\\X+[bc]", "(?i)(A+)+$", "(*NO_START_OPT)[^c]{0,30000}c",
	};
	enum { LEN = 65536 };
	char *line = malloc(LEN);
	size_t at;

	(void)state;
	memset(line, 'a', LEN);
	line[LEN - 1] = '!';
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct pattern *p = pattern_of(texts[i], false);
		enum pattern_found found = find(p, line, LEN, &at);

		if (found == PATTERN_PRESENT && at > LEN)
			fail_msg("%s at %zu", texts[i], at);
		if (i < 2)
			assert_int_equal(found, PATTERN_LIMIT);
		pattern_free(p);
	}
	free(line);
}

/* Every alternative is a step wherever its first character stands. */
static void test_pattern_huge_alternation(void **state)
{
	char text[PATTERN_BYTES + 1] = "", line[4000];
	struct pattern *p;
	size_t at, len = 0;

	(void)state;
	while (len + 4 < sizeof(text)) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%sab%c", len ? "|" : "",
					(int)('c' + len % 20));
	}
	memset(line, 'a', sizeof(line));
	p = pattern_of(text, false);
	assert_int_equal(find(p, line, sizeof(line), &at), PATTERN_LIMIT);
	assert_int_equal(find(p, "xxabz", 5, &at), PATTERN_ABSENT);
	assert_int_equal(find(p, "xxabc", 5, &at), PATTERN_PRESENT);
	pattern_free(p);
}

/* All lines of a pattern have one bound; what a plain search takes does not count. */
static void test_pattern_steps_of_all_lines(void **state)
{
	struct pattern *p = pattern_of("(?:a|b|c|d|e)*[!?]", false);
	char line[200];
	int lines = 0;
	size_t at;

	(void)state;
	memset(line, 'e', sizeof(line));
	while (lines < PATTERN_STEPS && find(p, line, 30, &at) == PATTERN_ABSENT)
		lines++;
	assert_in_range(lines, PATTERN_STEPS / PATTERN_LINE_STEPS, PATTERN_STEPS / 30);
	assert_int_equal(find(p, line, 30, &at), PATTERN_LIMIT);
	pattern_free(p);
	p = pattern_of("ex", false);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(pattern_find(p, line, sizeof(line), 0, &at), PATTERN_ABSENT);
	pattern_free(p);
}

/* ^ and $ match where a line begins and ends, not where a part of it does. */
static void test_pattern_in_a_part(void **state)
{
	static const struct {
		const char *text;
		unsigned part;
		enum pattern_found found;
	} rows[] = {
		{ "^104", 0, PATTERN_PRESENT },
		{ "^104", PATTERN_NO_TAIL, PATTERN_PRESENT },
		{ "^104", PATTERN_NO_HEAD, PATTERN_ABSENT },
		{ "104$", PATTERN_NO_HEAD, PATTERN_PRESENT },
		{ "104$", PATTERN_NO_TAIL, PATTERN_ABSENT },
		{ "^104$", PATTERN_NO_HEAD | PATTERN_NO_TAIL, PATTERN_ABSENT },
		{ "04", PATTERN_NO_HEAD | PATTERN_NO_TAIL, PATTERN_PRESENT },
	};
	size_t at;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct pattern *p = pattern_of(rows[i].text, false);

		assert_int_equal(pattern_find(p, "104", 3, rows[i].part, &at), rows[i].found);
		pattern_free(p);
	}
}

static void test_pattern_groups(void **state)
{
	struct pattern *p = pattern_of("(b)(x)?(c*)", false);
	size_t at, len;

	(void)state;
	assert_int_equal(find(p, "abd", 3, &at), PATTERN_PRESENT);
	assert_int_equal(pattern_groups(p), 3);
	assert_true(pattern_group(p, 1, &at, &len));
	assert_int_equal(at, 1);
	assert_int_equal(len, 1);
	assert_false(pattern_group(p, 2, &at, &len));
	assert_true(pattern_group(p, 3, &at, &len));
	assert_int_equal(at, 2);
	assert_int_equal(len, 0);
	pattern_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern_finds),
		cmocka_unit_test(test_pattern_refuses),
		cmocka_unit_test(test_pattern_groups),
		cmocka_unit_test(test_pattern_in_a_part),
		cmocka_unit_test(test_pattern_hostile),
		cmocka_unit_test(test_pattern_huge_alternation),
		cmocka_unit_test(test_pattern_steps_of_all_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
