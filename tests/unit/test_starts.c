#include "unit.h"

#include "base/clock.h"
#include "cap/starts.h"
#include "wire_end.h"

#define SLOW_US 600

static void write_ok(const struct req *r, struct result *result, struct buf *line)
{
	buf_addf(line, "%s %s", r->id, result->json.data);
}

static void write_fail(const struct req *r, const struct err *e, const struct result *partial,
		       struct buf *line)
{
	(void)partial;
	buf_addf(line, "%s %s", r->id, err_rows[e->type].name);
}

static const struct dialect plain = { .ok = write_ok, .fail = write_fail };

static struct wire_end wire;
static struct reqtab *reqs;
static struct starts starts;
static int start_us;         /* how long a start takes */
static char started[200];    /* the ids, in order */
static uint64_t cancelled;

static int setup(void **state)
{
	(void)state;
	wire_end_open(&wire, 1 << 20);
	reqs = reqtab_new(wire.loop, &wire.out, 100);
	memset(&starts, 0, sizeof(starts));
	*started = '\0';
	start_us = SLOW_US;
	cancelled = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	starts_flush(&starts);
	reqtab_free(reqs);
	wire_end_close(&wire);
	return 0;
}

static void on_cancel(void *ctx, struct req *r)
{
	(void)ctx;
	cancelled = r->handle;
	req_result(r);
	req_ok(r);
}

static void start(struct req *r, const char *rule)
{
	int64_t until = clock_mono_us() + start_us;

	assert_string_equal(rule, "rule");
	assert_null(r->on_cancel);
	r->on_cancel = on_cancel;
	strcat(started, r->id);
	while (clock_mono_us() < until)
		;
}

static struct req *take(const char *id)
{
	ERR_LOCAL(e);
	struct req *r = req_new(reqs, &plain, id, strlen(id), json_object(), NULL, &e);

	assert_non_null(r);
	starts_take(&starts, wire.loop, r, "rule", start);
	return r;
}

static void turn(void)
{
	ev_run(wire.loop, EVRUN_NOWAIT);
}

static void turns(int count)
{
	while (count--)
		turn();
}

/* Three quick starts. Did each begin at once? Another program may have had the processor meanwhile,
 * which makes a start slow. */
static bool three_begin_at_once(void)
{
	bool at_once;

	start_us = 0;
	*started = '\0';
	take("1");
	take("2");
	take("3");
	at_once = !strcmp(started, "123");
	starts_flush(&starts);
	assert_string_equal(started, "123");
	for (struct req *r = reqtab_first(reqs), *next; r; r = next) {
		next = r->next;
		req_result(r);
		req_ok(r);
	}
	return at_once;
}

static void expect_three_at_once(void)
{
	for (int tries = 0; !three_begin_at_once(); tries++)
		assert_in_range(tries, 0, 1000);
}

static void test_starts_quick_ones_do_not_wait(void **state)
{
	(void)state;
	expect_three_at_once();
}

/* After a slow one they queue, and go on in their order, a few in each turn. */
static void test_starts_slow_ones_queue(void **state)
{
	size_t before = 1;

	(void)state;
	for (char id[2] = "1"; *id <= '9'; ++*id)
		take(id);
	assert_string_equal(started, "1");
	for (int i = 0; strlen(started) < 9; i++) {
		assert_in_range(i, 0, 50);
		turn();
		assert_in_range(strlen(started) - before, 0, 2);
		before = strlen(started);
	}
	assert_string_equal(started, "123456789");
	turns(3);
	take("0");
	assert_string_equal(started, "1234567890");
}

/* While a burst arrives the input comes first, but not for ever. */
static void test_starts_wait_while_more_arrive(void **state)
{
	char id[16];
	int i;

	(void)state;
	take("1");
	for (i = 0; strlen(started) == 1; i++) {
		assert_in_range(i, 0, 20);
		snprintf(id, sizeof(id), "\"%d\"", i);
		take(id);
		turn();
	}
	assert_true(i > 4);
}

/* Once starts are quick again nothing waits. */
static void test_starts_end_of_slowness(void **state)
{
	(void)state;
	take("8");
	take("9");
	start_us = 0;
	turns(5);
	assert_string_equal(started, "89");
	expect_three_at_once();
}

static void test_starts_cancel(void **state)
{
	struct req *r;
	uint64_t handle;

	(void)state;
	take("1");
	take("2");
	r = take("3");
	handle = r->handle;
	take("4");
	req_cancel(r);
	assert_string_equal(started, "13");
	assert_int_equal(cancelled, handle);
	assert_null(req_find(reqs, handle));
	turns(5);
	assert_string_equal(started, "1324");
	take("5");
	req_cancel(take("6")); /* the last one of the queue, or started at once */
	take("7");
	starts_flush(&starts);
	assert_int_equal(strlen(started), 7);
}

static void test_starts_skip_requests_that_ended(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	take("1");
	err_set(&e, ERR_INTERNAL_ERROR, "the server is shutting down");
	req_fail(take("2"), &e);
	take("3");
	starts_flush(&starts);
	assert_string_equal(started, "13");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_starts_quick_ones_do_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starts_slow_ones_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starts_wait_while_more_arrive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starts_end_of_slowness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starts_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_starts_skip_requests_that_ended, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
