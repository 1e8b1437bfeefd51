#include "unit.h"

#include "base/buf.h"

static void test_buf_starts_empty_and_allocates_nothing(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	assert_null(buf_steal(&b));
	buf_release(&b);
}

static void test_buf_takes_exactly_its_maximum(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 5);
	assert_int_equal(buf_adds(&b, "abc"), 0);
	assert_int_equal(buf_adds(&b, "de"), 0);
	assert_false(b.full);
	assert_string_equal(b.data, "abcde");
	assert_int_equal(buf_addc(&b, 'f'), -1);
	assert_true(b.full);
	assert_string_equal(b.data, "abcde");
	buf_release(&b);
}

static void test_buf_once_full_refuses_even_what_would_fit(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	buf_adds(&b, "abc");
	assert_int_equal(buf_adds(&b, "de"), -1);
	assert_int_equal(buf_addc(&b, 'd'), -1);
	assert_int_equal(buf_addf(&b, "%d", 1), -1);
	assert_null(buf_reserve(&b, 1));
	assert_string_equal(b.data, "abc");

	buf_truncate(&b, 2);
	assert_int_equal(buf_addc(&b, 'x'), 0);
	assert_string_equal(b.data, "abx");
	buf_release(&b);
}

static void test_buf_zero_buffer_can_be_released_and_refuses(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(buf_addc(&b, 'x'), -1);
	buf_release(&b);
}

static void test_buf_grows_over_many_steps(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100000);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(buf_addf(&b, "%04d,", i), 0);
	assert_int_equal(b.len, 50000);
	assert_true(b.cap <= b.max + 1);
	assert_memory_equal(b.data + 5 * 9999, "9999,", 6);
	buf_release(&b);
}

static void test_buf_consume_moves_the_rest_to_the_front(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	buf_adds(&b, "hello world");
	buf_consume(&b, 6);
	assert_string_equal(b.data, "world");
	buf_consume(&b, 5);
	assert_string_equal(b.data, "");
	buf_consume(&b, 0);
	buf_release(&b);
}

static void test_buf_reserve_and_commit(void **state)
{
	struct buf b;
	char *to;

	(void)state;
	buf_init(&b, 100);
	buf_addc(&b, '<');
	to = buf_reserve(&b, 50);
	assert_non_null(to);
	memset(to, 'x', 50);
	buf_commit(&b, 3);
	assert_string_equal(b.data, "<xxx");
	assert_null(buf_reserve(&b, 97));
	assert_true(b.full);
	buf_release(&b);
}

static void test_buf_clear_keeps_memory_and_steal_hands_it_over(void **state)
{
	struct buf b;
	char *stolen;

	(void)state;
	buf_init(&b, 3);
	buf_adds(&b, "abcd");
	buf_adds(&b, "abc");
	buf_clear(&b);
	assert_false(b.full);
	buf_adds(&b, "xyz");
	stolen = buf_steal(&b);
	assert_string_equal(stolen, "xyz");
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_adds(&b, "123"), 0);
	free(stolen);
	buf_release(&b);
}

/* Let a buffer @b of at most @max bytes that holds @has take @more. Returns whether it did. */
static bool take(const char *has, const char *more, size_t max, struct buf *b)
{
	struct buf from;
	bool done;

	buf_init(b, max);
	buf_init(&from, 100);
	buf_adds(b, has);
	buf_adds(&from, more);
	done = !buf_take(b, &from);
	assert_string_equal(from.len ? from.data : "", done ? "" : more);
	assert_int_equal(buf_adds(&from, "usable"), 0);
	assert_true(b->cap <= b->max + 1);
	buf_release(&from);
	return done;
}

static void test_buf_takes_the_content_of_another(void **state)
{
	struct buf b;

	(void)state;
	assert_true(take("head ", "a longer tail", 100, &b));
	assert_string_equal(b.data, "head a longer tail");
	assert_int_equal(buf_addc(&b, '!'), 0);
	assert_string_equal(b.data, "head a longer tail!");
	buf_release(&b);
	assert_true(take("a longer head ", "tail", 100, &b));
	assert_string_equal(b.data, "a longer head tail");
	buf_release(&b);
	assert_true(take("", "all", 100, &b));
	assert_string_equal(b.data, "all");
	buf_release(&b);
	assert_true(take("", "", 100, &b));
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

static void test_buf_takes_no_more_than_fits(void **state)
{
	struct buf b;

	(void)state;
	assert_true(take("head", " tail", 9, &b));
	assert_string_equal(b.data, "head tail");
	buf_release(&b);
	assert_false(take("head", " tail", 8, &b));
	assert_string_equal(b.data, "head");
	assert_true(b.full);
	buf_release(&b);
}

static void test_buf_copies_content_and_maximum(void **state)
{
	struct buf a, b;

	(void)state;
	buf_init(&a, 5);
	buf_copy(&b, &a);
	assert_null(b.data);
	buf_adds(&a, "abc");
	buf_copy(&b, &a);
	buf_adds(&a, "d");
	assert_string_equal(b.data, "abc");
	assert_int_equal(buf_adds(&b, "def"), -1);
	buf_release(&a);
	buf_release(&b);
}

static void test_buf_holds_bytes_with_nul(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	buf_add(&b, "a\0b", 3);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf_starts_empty_and_allocates_nothing),
		cmocka_unit_test(test_buf_takes_exactly_its_maximum),
		cmocka_unit_test(test_buf_once_full_refuses_even_what_would_fit),
		cmocka_unit_test(test_buf_zero_buffer_can_be_released_and_refuses),
		cmocka_unit_test(test_buf_grows_over_many_steps),
		cmocka_unit_test(test_buf_consume_moves_the_rest_to_the_front),
		cmocka_unit_test(test_buf_reserve_and_commit),
		cmocka_unit_test(test_buf_clear_keeps_memory_and_steal_hands_it_over),
		cmocka_unit_test(test_buf_takes_the_content_of_another),
		cmocka_unit_test(test_buf_takes_no_more_than_fits),
		cmocka_unit_test(test_buf_copies_content_and_maximum),
		cmocka_unit_test(test_buf_holds_bytes_with_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
