#include "unit.h"

#include <time.h>

#include "base/clock.h"

static void test_clock_text_of_known_times(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 7, "1970-01-01T00:00:00.007Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ -1000, "1969-12-31T23:59:59.000Z" },
		{ INT64_C(-62135596800000), "0001-01-01T00:00:00.000Z" },
		{ INT64_C(-2203891200000), "1900-03-01T00:00:00.000Z" },
		{ INT64_C(-2203891200001), "1900-02-28T23:59:59.999Z" },
		{ INT64_C(253402300799999), "9999-12-31T23:59:59.999Z" },
		{ INT64_C(951825599999), "2000-02-29T11:59:59.999Z" },
		{ INT64_C(1795248000123), "2026-11-21T08:00:00.123Z" },
	};
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		clock_wall_text(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
	}
	clock_wall_text(INT64_MAX, text);
	assert_string_equal(text, "292278994-08-17T07:12:55.807Z");
	clock_wall_text(INT64_MIN, text);
	assert_string_equal(text, "-292275055-05-16T16:47:04.192Z");
}

/* One time in each of 200,000 days from 1700 on, against the C library. */
static void test_clock_text_of_each_day(void **state)
{
	char text[CLOCK_TEXT_SIZE], expected[CLOCK_TEXT_SIZE];

	(void)state;
	for (int64_t day = -98615; day < 101385; day++) {
		time_t at = (time_t)(day * 86400 + (day * day) % 86400);
		struct tm t;

		gmtime_r(&at, &t);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000Z", &t);
		clock_wall_text((int64_t)at * 1000, text);
		assert_string_equal(text, expected);
	}
}

static void test_clock_is_time(void **state)
{
	static const char *const good[] = { "2026-11-21", "2028-02-29", "2026-11-21T0", "2026-11-21T08:00",
					    "2026-11-21T08:00:00.123Z" };
	static const char *const bad[] = { "", "2026-11", "2026-02-30", "2027-02-29", "2026-13-01",
					   "2026-00-01", "2026-11-21T24:00", "2026-11-21 08:00",
					   "2026-11-21T08:00:00.123Z1", "26-11-21xx" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(clock_is_time(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(clock_is_time(bad[i]));
}

static void test_clock_goes_forward_and_units_agree(void **state)
{
	struct timespec nap = { .tv_nsec = 2000000 };
	int64_t ms = clock_mono_ms(), us = clock_mono_us();
	time_t wall = time(NULL);

	(void)state;
	assert_in_range(clock_wall_ms() / 1000, wall, time(NULL) + 1); /* which is a tick behind */
	nanosleep(&nap, NULL);
	assert_true(clock_mono_us() - us >= 2000);
	assert_true(clock_mono_ms() >= ms + 1);
	assert_true(us / 1000 - ms >= 0 && us / 1000 - ms < 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_text_of_known_times),
		cmocka_unit_test(test_clock_text_of_each_day),
		cmocka_unit_test(test_clock_is_time),
		cmocka_unit_test(test_clock_goes_forward_and_units_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
