#include "unit.h"

#include "proc/arrivals.h"

static void note(struct arrivals *a, bool is_err, uint64_t offset, uint32_t ms)
{
	arrivals_note(a, &(struct arrival){ .offset = offset, .ms = ms, .is_err = is_err });
}

/* Note reads of @bytes each that alternate between the streams. */
static void alternate(struct arrivals *a, unsigned reads, uint64_t bytes)
{
	for (unsigned i = 0; i < reads; i++)
		note(a, i % 2, i / 2 * bytes, i);
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
	note(&a, true, 0, 7);
	note(&a, true, 10, 7);
	assert_null(a.index);
	assert_int_equal(arrivals_count(&a), 1);
	assert_true(arrivals_get(&a, 0).is_err);
	assert_int_equal(arrivals_get(&a, 0).ms, 7);
	note(&a, true, 20, 8);
	assert_int_equal(arrivals_count(&a), 2);
	assert_int_equal(arrivals_get(&a, 1).offset, 20);
	arrivals_release(&a);
}

static void test_arrivals_of_one_stream_lose_times(void **state)
{
	struct arrivals a = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		note(&a, false, i * 3, i);
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

#define PAIR 200 /* bytes of a read of each stream */

/* Go on with reads that alternate, 100 bytes each, until there were @reads. */
static void alternate_on(struct arrivals *a, unsigned *done, unsigned reads)
{
	for (; *done < reads; ++*done)
		note(a, *done % 2, *done / 2 * (PAIR / 2), *done);
	check_parts(a, PAIR / 2);
}

/* How much of stdout lies before @position, by the order that is known. */
static uint64_t before(const struct arrivals *a, uint64_t position)
{
	uint64_t at[2] = { 0, 0 };

	for (size_t i = 0; position; i++) {
		struct arrival part = arrivals_get(a, i);
		size_t next = i + 1;
		uint64_t len;

		while (arrivals_get(a, next).is_err != part.is_err)
			next++;
		len = arrivals_get(a, next).offset - part.offset;
		len = len < position ? len : position;
		at[part.is_err] += len;
		position -= len;
	}
	return at[0];
}

/* The same by the order in which the reads of alternate_on() came. */
static uint64_t truly_before(uint64_t position)
{
	uint64_t rest = position % PAIR;

	return position / PAIR * (PAIR / 2) + (rest < PAIR / 2 ? rest : PAIR / 2);
}

/* Whatever the others read, each reader that stays within its number goes on where it was. */
static void test_arrivals_keep_the_places_of_readers(void **state)
{
	uint64_t places[ARRIVALS_READERS] = { 51 * PAIR + 50, 71 * PAIR + 100, 91 * PAIR + 150,
					      PAIR + 99 };
	uint64_t out[ARRIVALS_READERS];
	struct arrivals a = { 0 };
	unsigned done = 0;

	(void)state;
	alternate_on(&a, &done, ARRIVALS_MAX);
	for (size_t i = 0; i < ARRIVALS_READERS; i++) {
		arrivals_served(&a, 0, places[i]);
		out[i] = truly_before(places[i]);
	}
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 1; i < 10; i++)
			arrivals_looked(&a, (done / 2 - i) * PAIR - 50); /* goes on as no reader */
		alternate_on(&a, &done, done + ARRIVALS_MAX / 2);
		for (size_t i = 0; i < ARRIVALS_READERS; i++)
			assert_int_equal(before(&a, places[i]), out[i]);
		/* One reads on, and one begins again and again. */
		arrivals_served(&a, places[0], places[0] + 1230);
		places[0] += 1230;
		out[0] = before(&a, places[0]);
		arrivals_served(&a, 0, places[3]);
		arrivals_served(&a, 0, places[3]);
	}
	assert_int_not_equal(before(&a, 61 * PAIR + 150), truly_before(61 * PAIR + 150));
	arrivals_release(&a);
}

static void test_arrivals_drop_the_reader_that_stays_away(void **state)
{
	struct arrivals a = { 0 };
	unsigned done = 0;

	(void)state;
	alternate_on(&a, &done, ARRIVALS_MAX);
	for (unsigned i = 0; i <= ARRIVALS_READERS; i++)
		arrivals_served(&a, 0, (100 + 20 * i) * PAIR + 150);
	alternate_on(&a, &done, 20 * ARRIVALS_MAX);
	for (unsigned i = 1; i <= ARRIVALS_READERS; i++)
		assert_int_equal(before(&a, (100 + 20 * i) * PAIR + 150), (101 + 20 * i) * PAIR / 2);
	assert_int_not_equal(before(&a, 100 * PAIR + 150), 101 * PAIR / 2);
	arrivals_release(&a);
}

/* Where a look at the end ended, a reader may go on. */
static void test_arrivals_keep_the_place_of_a_look(void **state)
{
	const uint64_t looked = 500 * PAIR + 150;
	struct arrivals a = { 0 };
	unsigned done = 0;

	(void)state;
	alternate_on(&a, &done, ARRIVALS_MAX);
	arrivals_looked(&a, looked);
	for (unsigned i = 0; i < 2 * ARRIVALS_READERS; i++)
		arrivals_served(&a, 0, (100 + 20 * i) * PAIR + 150);
	alternate_on(&a, &done, 20 * ARRIVALS_MAX);
	assert_int_equal(before(&a, looked), truly_before(looked));
	arrivals_release(&a);
}

/* A reader of the first part, when it was the only one, is not known. */
static void test_arrivals_keep_the_first_part(void **state)
{
	struct arrivals a = { 0 };
	unsigned done = 0;

	(void)state;
	alternate_on(&a, &done, 1);
	arrivals_served(&a, 0, PAIR / 2);
	alternate_on(&a, &done, ARRIVALS_MAX);
	for (unsigned i = 0; i < 2 * ARRIVALS_READERS; i++)
		arrivals_served(&a, 0, (100 + 20 * i) * PAIR + 150);
	arrivals_looked(&a, 500 * PAIR);
	alternate_on(&a, &done, 20 * ARRIVALS_MAX);
	assert_int_equal(before(&a, PAIR / 2), PAIR / 2);
	assert_int_equal(before(&a, PAIR / 2 + 1), PAIR / 2);
	arrivals_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrivals_one_read_needs_no_memory),
		cmocka_unit_test(test_arrivals_of_one_stream_lose_times),
		cmocka_unit_test(test_arrivals_that_alternate_stay_bounded),
		cmocka_unit_test(test_arrivals_keep_the_places_of_readers),
		cmocka_unit_test(test_arrivals_drop_the_reader_that_stays_away),
		cmocka_unit_test(test_arrivals_keep_the_place_of_a_look),
		cmocka_unit_test(test_arrivals_keep_the_first_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
