#include "unit.h"

#include <signal.h>

#include "proc/names.h"

static void test_names_states_and_reasons(void **state)
{
	(void)state;
	assert_string_equal(names_state(PROC_STATE_RUNNING), "running");
	assert_string_equal(names_state(PROC_STATE_COMPLETED), "completed");
	assert_string_equal(names_state(PROC_STATE_KILLED), "killed");
	assert_string_equal(names_state(PROC_STATE_TIMED_OUT), "timed_out");
	assert_string_equal(names_reason(PROC_REASON_RUNNING), "running");
	assert_string_equal(names_reason(PROC_REASON_EXITED), "exited");
	assert_string_equal(names_reason(PROC_REASON_SIGNALED), "signaled");
	assert_string_equal(names_reason(PROC_REASON_TIMEOUT), "timeout");
	assert_string_equal(names_reason(PROC_REASON_KILLED_BY_REQUEST), "killed_by_request");
	assert_string_equal(names_reason(PROC_REASON_CANCELLED), "cancelled");
	assert_string_equal(names_reason(PROC_REASON_MEMORY_LIMIT), "memory_limit");
	assert_string_equal(names_reason(PROC_REASON_CPU_LIMIT), "cpu_limit");
	assert_string_equal(names_reason(PROC_REASON_FILE_SIZE_LIMIT), "file_size_limit");
	assert_string_equal(names_reason(PROC_REASON_SECCOMP), "seccomp");
	assert_string_equal(names_reason(PROC_REASON_SERVER_SHUTDOWN), "server_shutdown");
}

static void test_names_signals(void **state)
{
	(void)state;
	assert_string_equal(names_signal(SIGTERM), "SIGTERM");
	assert_string_equal(names_signal(SIGKILL), "SIGKILL");
	assert_string_equal(names_signal(SIGSYS), "SIGSYS");
	assert_string_equal(names_signal(SIGSTKFLT), "SIGSTKFLT");
	assert_string_equal(names_signal(SIGRTMIN), "SIGRTMIN");
	assert_string_equal(names_signal(SIGRTMIN + 2), "SIGRTMIN+2");
	assert_string_equal(names_signal(32), "SIG32");
	assert_string_equal(names_signal(99), "SIG99");
	assert_string_equal(names_signal(0), "SIG0");
	assert_string_equal(names_signal(-1), "SIG-1");
	for (int signal = 1; signal < SIGRTMIN; signal++)
		if (sigabbrev_np(signal))
			assert_string_equal(names_signal(signal) + 3, sigabbrev_np(signal));
}

static void test_names_signal_numbers(void **state)
{
	(void)state;
	assert_int_equal(names_signal_number("SIGTERM"), 15);
	assert_int_equal(names_signal_number("TERM"), 15);
	assert_int_equal(names_signal_number("term"), 15);
	assert_int_equal(names_signal_number("sigKill"), 9);
	assert_int_equal(names_signal_number("15"), 15);
	assert_int_equal(names_signal_number("1"), 1);
	assert_int_equal(names_signal_number("64"), 64);
	assert_int_equal(names_signal_number("SIGRTMIN"), SIGRTMIN);
	assert_int_equal(names_signal_number("RTMIN+3"), SIGRTMIN + 3);
}

/* Names that signal.h has for the same number. */
static void test_names_signal_aliases(void **state)
{
	(void)state;
	assert_int_equal(names_signal_number("SIGIO"), SIGIO);
	assert_int_equal(names_signal_number("poll"), SIGPOLL);
	assert_int_equal(names_signal_number("SIGIOT"), SIGABRT);
	assert_int_equal(names_signal_number("SIGCLD"), SIGCHLD);
	assert_int_equal(names_signal_number("SIGRTMAX"), SIGRTMAX);
	assert_int_equal(names_signal_number("SIGRTMAX-1"), SIGRTMAX - 1);
	assert_int_equal(names_signal_number("rtmax-14"), SIGRTMAX - 14);
}

static void test_names_no_signals(void **state)
{
	static const char *const bad[] = {
		"", "0", "-1", "-9", "65", "4294967305", "99999999999999999999", "9x", "SIG", "SIGSIGTERM",
		"TERM ", "SIGNOPE", "9.0", "KIL", "RTMIN+31", "RTMAX-31", "RTMAX--1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (names_signal_number(bad[i]))
			print_error("'%s' is a signal\n", bad[i]);
		assert_int_equal(names_signal_number(bad[i]), 0);
	}
}

static void test_names_signals_round_trip(void **state)
{
	(void)state;
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		char name[32];

		snprintf(name, sizeof(name), "%s", names_signal(signal));
		assert_int_equal(names_signal_number(name), signal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_states_and_reasons),
		cmocka_unit_test(test_names_signals),
		cmocka_unit_test(test_names_signal_numbers),
		cmocka_unit_test(test_names_signal_aliases),
		cmocka_unit_test(test_names_no_signals),
		cmocka_unit_test(test_names_signals_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
