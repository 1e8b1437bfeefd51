#include "unit.h"

#include "proc/arrivals.h"

/* Note reads of @bytes each that alternate between the streams. */
static void alternate(struct arrivals *a, unsigned reads, uint64_t bytes)
{
	for (unsigned i = 0; i < reads; i++)
		arrivals_note(a, i % 2, i / 2 * bytes, i);
}

/* Every part begins behind the one of its stream before, at the time of a read that began there. */
static void check_parts(const struct arrivals *a, uint64_t bytes)
{
	uint64_t next[2] = { 0, 0 };

	for (size_t i = 0; i < arrivals_count(a); i++) {
		struct arrival part = arrivals_get(a, i);

		assert_true(part.offset >= next[part.is_err]);
		assert_int_equal(part.offset, part.ms / 2 * bytes);
		assert_int_equal(part.is_err, part.ms % 2);
		next[part.is_err] = part.offset + bytes;
	}
}

static void test_arrivals_one_read_needs_no_memory(void **state)
{
	struct arrivals a = { 0 };

	(void)state;
	assert_int_equal(arrivals_count(&a), 0);
	arrivals_note(&a, true, 0, 7);
	arrivals_note(&a, true, 10, 7);
	assert_null(a.index);
	assert_int_equal(arrivals_count(&a), 1);
	assert_true(arrivals_get(&a, 0).is_err);
	assert_int_equal(arrivals_get(&a, 0).ms, 7);
	arrivals_note(&a, true, 20, 8);
	assert_int_equal(arrivals_count(&a), 2);
	assert_int_equal(arrivals_get(&a, 1).offset, 20);
	arrivals_release(&a);
}

static void test_arrivals_of_one_stream_lose_times(void **state)
{
	struct arrivals a = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		arrivals_note(&a, false, i * 3, i);
	assert_true(arrivals_count(&a) <= ARRIVALS_MAX);
	for (size_t i = 0; i < arrivals_count(&a); i++)
		assert_int_equal(arrivals_get(&a, i).offset, 3 * arrivals_get(&a, i).ms);
	assert_int_equal(arrivals_get(&a, arrivals_count(&a) - 1).ms, 99999);
	assert_int_equal(arrivals_get(&a, 0).ms, 0);
	arrivals_release(&a);
}

static void test_arrivals_that_alternate_stay_bounded(void **state)
{
	struct arrivals a = { 0 };
	size_t count;

	(void)state;
	alternate(&a, 100000, 5);
	count = arrivals_count(&a);
	assert_true(count <= ARRIVALS_MAX && count > ARRIVALS_MAX / 2);
	check_parts(&a, 5);
	for (size_t i = count - ARRIVALS_MAX / 4; i < count; i++) /* the newest are all there */
		assert_int_equal(arrivals_get(&a, i).ms, 100000 - (count - i));
	arrivals_release(&a);
}

/* The position of part @i, both streams having parts behind it. */
static uint64_t position(const struct arrivals *a, size_t i)
{
	struct arrival part = arrivals_get(a, i), other = arrivals_get(a, i + 1);

	assert_true(part.is_err != other.is_err);
	return part.offset + other.offset;
}

static void test_arrivals_keep_the_place_of_a_reader(void **state)
{
	struct arrivals a = { 0 };
	bool found = false;

	(void)state;
	alternate(&a, ARRIVALS_MAX, 100);
	arrivals_served(&a, position(&a, 102) + 50);
	for (unsigned i = ARRIVALS_MAX; i < 3 * ARRIVALS_MAX; i++)
		arrivals_note(&a, i % 2, i / 2 * 100, i);
	check_parts(&a, 100);
	for (size_t i = 0; i + 1 < arrivals_count(&a); i++)
		if (arrivals_get(&a, i).ms == 102) {
			found = true;
			assert_int_equal(arrivals_get(&a, i + 1).ms, 103);
			assert_int_equal(position(&a, i), 102 * 100 / 2 + 102 * 100 / 2);
		}
	assert_true(found);
	arrivals_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrivals_one_read_needs_no_memory),
		cmocka_unit_test(test_arrivals_of_one_stream_lose_times),
		cmocka_unit_test(test_arrivals_that_alternate_stay_bounded),
		cmocka_unit_test(test_arrivals_keep_the_place_of_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
