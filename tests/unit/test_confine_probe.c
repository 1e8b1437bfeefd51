/* What the probe of the layers says when no trial works. */
#include "unit.h"

#include "os/sandbox/probe.c"

/* A kill from outside says nothing of a limit of processes, and may not happen again. */
static void test_probe_fail_of_a_killed_trial(void **state)
{
	struct confine_trial killed = { SHIM_STAGE_PLAN, EAGAIN };
	struct confine_trial no_process = { SHIM_STAGE_FORK, EAGAIN };
	ERR_LOCAL(e);

	(void)state;
	assert_int_equal(probe_fail(&killed, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_true(err_retryable(&e));
	assert_non_null(strstr(e.message, "was killed from outside"));
	assert_null(strstr(err_hint_text(&e), "limit"));
	err_release(&e);
	assert_int_equal(probe_fail(&no_process, &e), -1);
	assert_non_null(strstr(e.message, "of the control group or"));
	err_release(&e);
}

/* A machine that is too busy for a trial now is not so for ever. */
static void test_probe_fail_of_a_late_trial(void **state)
{
	struct confine_trial late = { SHIM_STAGE_PLAN, ETIMEDOUT };
	ERR_LOCAL(e);

	(void)state;
	assert_int_equal(probe_fail(&late, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_true(err_retryable(&e));
	assert_true(probe_is_transient(e.sys));
	assert_non_null(strstr(e.message, "has not ended"));
	assert_non_null(strstr(err_hint_text(&e), "busy"));
	err_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe_fail_of_a_killed_trial),
		cmocka_unit_test(test_probe_fail_of_a_late_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
