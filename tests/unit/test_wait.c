#include "unit.h"

#include "cap/wait.h"
#include "wire_end.h"

static void write_ok(const struct req *r, struct result *result, struct buf *line)
{
	(void)result;
	buf_adds(line, r->id);
}

static const struct dialect plain = { .ok = write_ok };

static struct wire_end wire;
static struct reqtab *reqs;
static struct wait_list waits;
static char woken[200]; /* "ID:RUN ", in order */
static bool goes_on;

static void on_end(void *ctx, uint64_t handle)
{
	wait_drop(ctx, handle);
}

static int setup(void **state)
{
	(void)state;
	wire_end_open(&wire, 1 << 20);
	reqs = reqtab_new(wire.loop, &wire.out, 1000);
	reqtab_on_end(reqs, on_end, &waits);
	*woken = '\0';
	goes_on = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	wait_release(&waits);
	reqtab_free(reqs);
	wire_end_close(&wire);
	for (size_t i = 0; i < WAIT_CHAINS; i++) {
		assert_null(waits.runs[i]);
		assert_null(waits.requests[i]);
	}
	return 0;
}

static bool on_event(struct cap *c, struct req *r, struct proc *p, unsigned events)
{
	size_t used = strlen(woken);

	(void)c;
	(void)events;
	snprintf(woken + used, sizeof(woken) - used, "%s:%d ", r->id, (int)p->seq);
	if (goes_on)
		return true;
	req_result(r);
	req_ok(r);
	return false;
}

static struct req *ask(const char *id)
{
	ERR_LOCAL(e);
	struct req *r = req_new(reqs, &plain, id, strlen(id), json_object(), NULL, &e);

	assert_non_null(r);
	assert_int_equal(req_take_slot(r, REQ_SLOT_WAIT, &e), 0);
	return r;
}

static struct req *wait_for(struct req *r, uint64_t seq, unsigned events)
{
	struct proc p = { .seq = seq };

	wait_add(&waits, r, &p, events, on_event);
	return r;
}

static void wake(uint64_t seq, unsigned events)
{
	struct proc p = { .seq = seq };

	wait_wake(&waits, reqs, NULL, &p, events);
}

static void expect(const char *text)
{
	assert_string_equal(woken, text);
	*woken = '\0';
}

static void test_wait_is_woken_by_its_run_and_event(void **state)
{
	(void)state;
	wait_for(ask("1"), 7, PROC_EVENT_SETTLED);
	wait_for(ask("2"), 7 + WAIT_CHAINS, PROC_EVENT_SETTLED);
	wait_for(ask("3"), 7, PROC_EVENT_OUTPUT | PROC_EVENT_SETTLED);
	wake(8, PROC_EVENT_SETTLED);
	wake(7, PROC_EVENT_STARTED);
	expect("");
	wake(7, PROC_EVENT_OUTPUT);
	expect("3:7 ");
	wake(7, PROC_EVENT_OUTPUT);
	expect("");
	wake(7 + WAIT_CHAINS, PROC_EVENT_SETTLED);
	expect("2:263 ");
	wake(7, PROC_EVENT_SETTLED);
	expect("1:7 ");
}

static void test_wait_goes_on_until_it_is_answered(void **state)
{
	(void)state;
	goes_on = true;
	wait_for(ask("1"), 1, PROC_EVENT_OUTPUT);
	wake(1, PROC_EVENT_OUTPUT);
	wake(1, PROC_EVENT_OUTPUT);
	expect("1:1 1:1 ");
	goes_on = false;
	wake(1, PROC_EVENT_OUTPUT);
	wake(1, PROC_EVENT_OUTPUT);
	expect("1:1 ");
}

/* The answer that one run brings ends the waits for the others. */
static void test_wait_for_many_runs_ends_at_once(void **state)
{
	struct req *one = ask("1"), *two = ask("2");

	(void)state;
	for (uint64_t seq = 1; seq <= 600; seq++) {
		wait_for(one, seq, PROC_EVENT_SETTLED);
		wait_for(two, seq, PROC_EVENT_SETTLED);
	}
	req_result(one);
	req_ok(one);
	wake(300, PROC_EVENT_SETTLED);
	expect("2:300 ");
	wake(301, PROC_EVENT_SETTLED);
	expect("");
}

static void test_wait_is_dropped_with_its_request(void **state)
{
	struct req *r = wait_for(ask("1"), 1, PROC_EVENT_SETTLED);

	(void)state;
	wait_drop(&waits, r->handle + WAIT_CHAINS); /* another of the same chain */
	wait_drop(&waits, r->handle);
	wait_drop(&waits, r->handle);
	wake(1, PROC_EVENT_SETTLED);
	expect("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wait_is_woken_by_its_run_and_event, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_wait_goes_on_until_it_is_answered, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_wait_for_many_runs_ends_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_wait_is_dropped_with_its_request, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
