#include "unit.h"

#include <sys/resource.h>

#include "cap/run_limits.h"

static struct config config;
static struct shim_rlimit *rlimits;
static struct confine_request request;
static struct err e;

static int setup(void **state)
{
	(void)state;
	config_init(&config);
	memset(&request, 0, sizeof(request));
	err_init(&e);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(rlimits);
	rlimits = NULL;
	config_release(&config);
	err_release(&e);
	return 0;
}

static void set(const char *assignment)
{
	assert_int_equal(config_set(&config, assignment, &e), 0);
}

static int reads(const char *text)
{
	json_t *params = json_loads(text, 0, NULL);
	int result;

	assert_non_null(params);
	err_release(&e);
	free(rlimits);
	result = run_limits_read(&config, params, &rlimits, &request, &e);
	json_decref(params);
	return result;
}

static void refused(const char *text, const char *words)
{
	assert_int_equal(reads(text), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	if (!strstr(e.message, words))
		print_error("%s\n", e.message);
	assert_non_null(strstr(e.message, words));
}

static void test_run_limits_defaults(void **state)
{
	(void)state;
	assert_int_equal(reads("{}"), 0);
	assert_int_equal(request.memory_bytes, 0);
	assert_int_equal(request.cpu_permille, 0);
	assert_int_equal(request.tasks, 4096);
	assert_int_equal(request.rlimit_count, 0);
	set("limits.memory_bytes=1G");
	set("limits.cpu_percent=250");
	assert_int_equal(reads("{}"), 0);
	assert_int_equal(request.memory_bytes, 1 << 30);
	assert_int_equal(request.cpu_permille, 2500);
	set("process.memory_bytes=100M");
	set("process.cpu_percent=50");
	set("limits.tasks_per_run=0");
	assert_int_equal(reads("{}"), 0);
	assert_int_equal(request.memory_bytes, 100 << 20);
	assert_int_equal(request.cpu_permille, 500);
	assert_int_equal(request.tasks, 0);
	/* A default above the allowance is the allowance. */
	set("process.memory_bytes=2G");
	assert_int_equal(reads("{}"), 0);
	assert_int_equal(request.memory_bytes, 1 << 30);
	/* What no program could start in. */
	set("process.memory_bytes=1000");
	assert_int_equal(reads("{}"), 0);
	assert_int_equal(request.memory_bytes, 4 << 20);
}

static void test_run_limits_within_the_allowance(void **state)
{
	(void)state;
	set("limits.memory_bytes=1G");
	set("limits.cpu_percent=150");
	set("process.memory_bytes=1M");
	assert_int_equal(reads("{\"memory_limit\": 1073741824, \"cpu_limit\": 1.5}"), 0);
	assert_int_equal(request.memory_bytes, 1 << 30);
	assert_int_equal(request.cpu_permille, 1500);
	assert_int_equal(reads("{\"cpu_limit\": 0.25}"), 0);
	assert_int_equal(request.cpu_permille, 250);
	assert_int_equal(reads("{\"cpu_limit\": 1}"), 0);
	assert_int_equal(request.cpu_permille, 1000);
	refused("{\"memory_limit\": 1073741825}", "memory_limit 1073741825 is above");
	refused("{\"memory_limit\": 1073741825}", "1073741824 bytes (limits.memory_bytes)");
	refused("{\"cpu_limit\": 1.501}", "limits.cpu_percent");
}

/* To what is measured, thousandths of a core; what a double cannot hold exactly is none more. */
static void test_run_limits_cpu_is_rounded_up(void **state)
{
	(void)state;
	assert_int_equal(reads("{\"cpu_limit\": 0.0101}"), 0);
	assert_int_equal(request.cpu_permille, 11);
	assert_int_equal(reads("{\"cpu_limit\": 2.007}"), 0);
	assert_int_equal(request.cpu_permille, 2007);
}

static void test_run_limits_rlimits(void **state)
{
	struct rlimit own;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &own), 0);
	assert_int_equal(reads("{\"limits\": {\"nofile\": 40, \"fsize\": {\"soft\": 100}, "
			       "\"core\": {\"hard\": 0}, \"cpu\": 9}}"), 0);
	assert_int_equal(request.rlimit_count, 4);
	assert_int_equal(request.rlimits[0].resource, RLIMIT_NOFILE);
	assert_int_equal(request.rlimits[0].soft, 40);
	assert_int_equal(request.rlimits[0].hard, 40);
	assert_int_equal(request.rlimits[1].soft, 100);
	assert_true(request.rlimits[1].hard == own.rlim_max);
	assert_int_equal(request.rlimits[2].soft, 0);
	assert_int_equal(request.rlimits[2].hard, 0);
	/* The signal that proves the cause comes a second before SIGKILL. */
	assert_int_equal(request.rlimits[3].soft, 9);
	assert_int_equal(request.rlimits[3].hard, 10);
	assert_int_equal(reads("{\"limits\": {\"cpu\": {\"soft\": 9, \"hard\": 9}}}"), 0);
	assert_int_equal(request.rlimits[0].hard, 9);
}

static void test_run_limits_by_every_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t resource;
	} rows[] = {
		{ "nofile", RLIMIT_NOFILE }, { "cpu", RLIMIT_CPU }, { "as", RLIMIT_AS },
		{ "nproc", RLIMIT_NPROC }, { "fsize", RLIMIT_FSIZE }, { "memlock", RLIMIT_MEMLOCK },
		{ "stack", RLIMIT_STACK }, { "data", RLIMIT_DATA }, { "core", RLIMIT_CORE },
		{ "rss", RLIMIT_RSS }, { "locks", RLIMIT_LOCKS }, { "sigpending", RLIMIT_SIGPENDING },
		{ "msgqueue", RLIMIT_MSGQUEUE }, { "nice", RLIMIT_NICE }, { "rtprio", RLIMIT_RTPRIO },
		{ "rttime", RLIMIT_RTTIME },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "{\"limits\": {\"%s\": 0}}", rows[i].name);
		assert_int_equal(reads(text), 0);
		assert_int_equal(request.rlimit_count, 1);
		assert_int_equal(request.rlimits[0].resource, rows[i].resource);
		assert_int_equal(request.rlimits[0].soft, 0);
	}
}

static void test_run_limits_bad_rlimits(void **state)
{
	(void)state;
	refused("{\"limits\": {\"nofiles\": 40}}", "limits.nofiles is not a limit");
	assert_string_equal(json_string_value(json_object_get(e.details, "nearest")), "nofile");
	refused("{\"limits\": {\"RLIMIT_NOFILE\": 40}}",
		"limits.RLIMIT_NOFILE is not a limit; the nearest is \"nofile\"");
	refused("{\"limits\": {\"Fsize\": 40}}", "the nearest is \"fsize\"");
	refused("{\"limits\": {\"open_descriptors_of_each_process_at_most\": 40}}", "is not a limit");
	assert_null(json_object_get(e.details, "nearest"));
	refused("{\"limits\": {\"nofile\": -1}}", "at least 0");
	refused("{\"limits\": {\"nofile\": {}}}", "must have \"soft\" or \"hard\"");
	refused("{\"limits\": {\"nofile\": {\"soft\": 1, \"hrad\": 2}}}", "nothing else");
	refused("{\"limits\": {\"nofile\": {\"soft\": \"1\"}}}", "must be an integer");
	refused("{\"limits\": {\"nofile\": {\"soft\": 5, \"hard\": 4}}}", "above its hard one");
	refused("{\"limits\": {\"nofile\": 4000000000}}", "is above the server's hard limit of ");
	refused("{\"limits\": {\"nofile\": {\"soft\": 4000000000}}}", "4000000000 is above");
	assert_non_null(strstr(e.hint, "Ask for at most "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run_limits_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_limits_within_the_allowance, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_run_limits_cpu_is_rounded_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_limits_rlimits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_limits_by_every_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_limits_bad_rlimits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
