#include "unit.h"

#include "base/ids.h"

static void test_ids_instances_are_hex_and_differ(void **state)
{
	char a[IDS_INSTANCE_SIZE], b[IDS_INSTANCE_SIZE];

	(void)state;
	ids_instance(a);
	ids_instance(b);
	assert_int_equal(strlen(a), 16);
	assert_int_equal(strspn(a, "0123456789abcdef"), 16);
	assert_string_not_equal(a, b);
}

static void test_ids_instance_has_one_spelling(void **state)
{
	static const char *const others[] = {
		"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "0123456789abcdeg",
		"0123456789abcde ", "../../../../../..",
	};
	char own[IDS_INSTANCE_SIZE];

	(void)state;
	ids_instance(own);
	assert_true(ids_is_instance(own));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(ids_is_instance(others[i]));
}

static void test_ids_come_back(void **state)
{
	static const uint64_t seqs[] = { 1, 9, 10, 12345678901, UINT64_MAX / 10 };
	char text[IDS_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(seqs) / sizeof(seqs[0]); i++) {
		ids_format(text, seqs[i], "9c3f001122334455");
		assert_int_equal(ids_parse(text, "9c3f001122334455"), seqs[i]);
	}
	ids_format(text, 12, "9c3f001122334455");
	assert_string_equal(text, "p12-9c3f");
}

static void test_ids_of_others_and_other_spellings_name_nothing(void **state)
{
	static const char *const bad[] = {
		"", "p", "p12", "p12-", "p12-9c3", "p12-9c3f0", "p12-9C3F", "p012-9c3f", "p+12-9c3f",
		"p-12-9c3f", " p12-9c3f", "p12-9c3f ", "P12-9c3f", "12-9c3f", "p0-9c3f", "p-9c3f",
		"p12-aaaa", "p18446744073709551628-9c3f", "p99999999999999999999999999-9c3f",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ids_parse(bad[i], "9c3f001122334455"), 0);
}

static void test_the_number_in_an_id_with_any_tag_or_none(void **state)
{
	static const struct { const char *text, *tag; uint64_t seq; } rows[] = {
		{ "p12-9c3f", "9c3f", 12 }, { "p12-aaaa", "aaaa", 12 }, { "p12", "", 12 },
		{ "p12-", "", 0 }, { "p12-9c3", "", 0 }, { "p12-9c3f0", "", 0 },
		{ "p12-9C3F", "", 0 }, { "p12 ", "", 0 }, { "p012", "", 0 }, { "p", "", 0 },
		{ "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *tag = "";

		assert_int_equal(ids_number(rows[i].text, &tag), rows[i].seq);
		if (rows[i].seq)
			assert_string_equal(tag, rows[i].tag);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_instances_are_hex_and_differ),
		cmocka_unit_test(test_ids_instance_has_one_spelling),
		cmocka_unit_test(test_ids_come_back),
		cmocka_unit_test(test_ids_of_others_and_other_spellings_name_nothing),
		cmocka_unit_test(test_the_number_in_an_id_with_any_tag_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
