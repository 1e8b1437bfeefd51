#include "unit.h"

#include "base/str.h"

static void test_str_is_listed(void **state)
{
	static const char *const list[] = { "a", "bc", "", NULL };

	(void)state;
	assert_true(str_is_listed("a", list));
	assert_true(str_is_listed("bc", list));
	assert_true(str_is_listed("", list));
	assert_false(str_is_listed("b", list));
	assert_false(str_is_listed("a", list + 1));
	assert_false(str_is_listed("a", list + 3));
}

static void test_str_path_lies_in(void **state)
{
	static const struct {
		const char *path, *directory;
		bool lies_in;
	} rows[] = {
		{ "/a/b", "/a/b", true }, { "/a/b/c", "/a/b", true }, { "/a/bc", "/a/b", false },
		{ "/a", "/a/b", false }, { "/a/c", "/a/b", false }, { "/a/b/c", "/a/b/", true },
		{ "/a/b", "/a/b//", true }, { "/a", "/", true }, { "/", "/", true },
		{ "a", "/", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (str_path_lies_in(rows[i].path, rows[i].directory) != rows[i].lies_in)
			fail_msg("%s in %s", rows[i].path, rows[i].directory);
}

static void test_str_fold_path(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" }, { "/", "" }, { "a", "/a" }, { "/a//b/./c/", "/a/b/c" },
		{ "/a/b/../c", "/a/c" }, { "/../a/..", "" }, { "a/../../b", "/b" },
		{ "/..a/.b/c.", "/..a/.b/c." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[32];
		size_t len = str_fold_path(rows[i][0], strlen(rows[i][0]), path);

		assert_string_equal(path, rows[i][1]);
		assert_int_equal(len, strlen(path));
		if (*rows[i][0] != '/')
			continue;
		strcpy(path, rows[i][0]);
		str_fold_path(path, strlen(path), path);
		assert_string_equal(path, rows[i][1]);
	}
}

/* Values of the draft's own test vectors. */
static void test_str_hash(void **state)
{
	(void)state;
	assert_int_equal(str_hash("", 0), 0x811c9dc5u);
	assert_int_equal(str_hash("a", 1), 0xe40c292cu);
	assert_int_equal(str_hash("foobar", 6), 0xbf9cf968u);
}

static void test_str_base_name(void **state)
{
	(void)state;
	assert_string_equal(str_base_name("/usr/bin/ls"), "ls");
	assert_string_equal(str_base_name("ls"), "ls");
	assert_string_equal(str_base_name("/"), "");
	assert_string_equal(str_base_name("a/"), "");
	assert_string_equal(str_base_name(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_str_is_listed),
		cmocka_unit_test(test_str_path_lies_in),
		cmocka_unit_test(test_str_fold_path),
		cmocka_unit_test(test_str_hash),
		cmocka_unit_test(test_str_base_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
