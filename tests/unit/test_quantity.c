#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/quantity.h"

struct row {
	enum quantity unit;
	const char *text;
	int64_t value;
};

static void test_quantity_takes(void **state)
{
	static const struct row rows[] = {
		{ QUANTITY_SECONDS, "90", 90000000 },
		{ QUANTITY_SECONDS, "0.5", 500000 },
		{ QUANTITY_SECONDS, "500ms", 500000 },
		{ QUANTITY_SECONDS, "90s", 90000000 },
		{ QUANTITY_SECONDS, "5m", 300000000 },
		{ QUANTITY_SECONDS, "1.5h", 5400000000 },
		{ QUANTITY_SECONDS, "0.30000000000000004", 300000 },
		{ QUANTITY_SECONDS, "0.0000001", 0 },
		{ QUANTITY_MILLISECONDS, "90", 90000 },
		{ QUANTITY_MILLISECONDS, "2s", 2000000 },
		{ QUANTITY_BYTES, "0", 0 },
		{ QUANTITY_BYTES, "4096", 4096 },
		{ QUANTITY_BYTES, "64K", 65536 },
		{ QUANTITY_BYTES, "64k", 65536 },
		{ QUANTITY_BYTES, "64M", 67108864 },
		{ QUANTITY_BYTES, "64MiB", 67108864 },
		{ QUANTITY_BYTES, "2G", 2147483648 },
		{ QUANTITY_BYTES, "1.5GiB", 1610612736 },
		{ QUANTITY_BYTES, "0.1G", 107374182 },
		{ QUANTITY_BYTES, "2T", INT64_C(2) << 40 },
		{ QUANTITY_BYTES, "2TiB", INT64_C(2) << 40 },
		{ QUANTITY_BYTES, "1PiB", INT64_C(1) << 50 },
		{ QUANTITY_BYTES, "1E", INT64_C(1) << 60 },
		{ QUANTITY_BYTES, "1152921504606846977", 1152921504606846977 },
		{ QUANTITY_COUNT, "64", 64 },
		{ QUANTITY_COUNT, "1K", 1024 },
	};
	int64_t value;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (quantity_parse(rows[i].text, rows[i].unit, &value))
			fail_msg("%s was refused", rows[i].text);
		if (value != rows[i].value)
			fail_msg("%s is %lld", rows[i].text, (long long)value);
	}
}

static void test_quantity_refuses(void **state)
{
	static const struct row rows[] = {
		{ QUANTITY_SECONDS, "", 0 },	 { QUANTITY_SECONDS, "s", 0 },
		{ QUANTITY_SECONDS, "5M", 0 },	 { QUANTITY_SECONDS, "-1", 0 },
		{ QUANTITY_SECONDS, "+1", 0 },	 { QUANTITY_SECONDS, "1 s", 0 },
		{ QUANTITY_SECONDS, "1.", 0 },	 { QUANTITY_SECONDS, ".5", 0 },
		{ QUANTITY_SECONDS, "1e3", 0 },	 { QUANTITY_SECONDS, "inf", 0 },
		{ QUANTITY_SECONDS, "5mm", 0 },	 { QUANTITY_SECONDS, "64K", 0 },
		{ QUANTITY_SECONDS, "9223372036854775807", 0 },
		{ QUANTITY_SECONDS, "0.00000000000000000000001", 0 },
		{ QUANTITY_BYTES, "1.5", 0 },	 { QUANTITY_BYTES, "64MB", 0 },
		{ QUANTITY_BYTES, "64Mi", 0 },	 { QUANTITY_BYTES, "64KK", 0 },
		{ QUANTITY_BYTES, "5m5", 0 },	 { QUANTITY_BYTES, "0x10", 0 },
		{ QUANTITY_BYTES, "9223372036854775807K", 0 },
		{ QUANTITY_BYTES, "8E", 0 },	 { QUANTITY_BYTES, "1E3", 0 },
		{ QUANTITY_BYTES, "18446744073709551617", 0 },
		{ QUANTITY_COUNT, "1.5", 0 },	 { QUANTITY_COUNT, "1KiB", 0 },
		{ QUANTITY_COUNT, "1s", 0 },
	};
	int64_t value = 42;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (!quantity_parse(rows[i].text, rows[i].unit, &value) || value != 42)
			fail_msg("%s was taken", rows[i].text);
}

static void test_quantity_shows_the_largest_unit(void **state)
{
	static const struct row rows[] = {
		{ QUANTITY_SECONDS, "1h", 3600000000 }, { QUANTITY_SECONDS, "90s", 90000000 },
		{ QUANTITY_SECONDS, "500ms", 500000 },	{ QUANTITY_SECONDS, "0", 0 },
		{ QUANTITY_BYTES, "4M", 4194304 },	{ QUANTITY_BYTES, "1000", 1000 },
		{ QUANTITY_BYTES, "1G", 1 << 30 },	{ QUANTITY_COUNT, "3", 3 },
		{ QUANTITY_BYTES, "1E", INT64_C(1) << 60 },
		{ QUANTITY_BYTES, "1025T", INT64_C(1025) << 40 },
	};
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		quantity_show(rows[i].value, rows[i].unit, text);
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantity_takes),
		cmocka_unit_test(test_quantity_refuses),
		cmocka_unit_test(test_quantity_shows_the_largest_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
