#include "unit.h"

#include "base/mem.h"
#include "base/schema.h"

/* The rows of the items, behind the end of the list. */
enum { WORDS_ROW = 7, NUMBERS_ROW, MAP_ROW = 10, END_ROW = 12, WORD_ROW, WHOLE_ROW };
static const struct schema_field fields[] = {
	{ .name = "text", .type = SCHEMA_STRING, .min_chars = 1, .max_bytes = 10 },
	{ .name = "short", .type = SCHEMA_STRING, .max_chars = 3, .synonyms = "brief\0count",
	  .hint = "Three letters." },
	{ .name = "count", .type = SCHEMA_INTEGER, .has_min = true, .min = 1, .has_max = true,
	  .max = 1000, .unit = "lines", .default_json = "100", .synonyms = "number_of" },
	{ .name = "timeout", .alias = "timeout_ms", .alias_scale = 1000, .type = SCHEMA_NUMBER,
	  .has_min = true, .min_exclusive = true, .has_max = true, .max = 3600, .unit = "seconds" },
	{ .name = "directory", .alias = "dir", .type = SCHEMA_STRING },
	{ .name = "color", .type = SCHEMA_STRING, .enums = "red\0green",
	  .default_json = "\"green\"", .error = ERR_INVALID_FILTER },
	{ .name = "flag", .type = SCHEMA_BOOLEAN, .default_json = "false" },
	[WORDS_ROW] = { .name = "words", .type = SCHEMA_ARRAY, .items = WORD_ROW - WORDS_ROW,
			.max_items = 3 },
	[NUMBERS_ROW] = { .name = "numbers", .type = SCHEMA_ARRAY, .items = WHOLE_ROW - NUMBERS_ROW },
	{ .name = "wait_ms", .type = SCHEMA_INTEGER, .unit = "milliseconds" },
	[MAP_ROW] = { .name = "map", .type = SCHEMA_OBJECT, .items = WORD_ROW - MAP_ROW,
		      .max_items = 2 },
	{ .name = "signal", .type = SCHEMA_STRING | SCHEMA_INTEGER, .has_max = true, .max = 64 },
	[END_ROW] = { .name = "" },
	[WORD_ROW] = { .type = SCHEMA_STRING, .max_bytes = 8 },
	[WHOLE_ROW] = { .type = SCHEMA_INTEGER },
};
static const struct schema schema = { .fields = fields, .required = 1 };

/* What is left of @text after the check, compact and sorted; or its error. */
static struct err error;

static json_t *check(const char *text)
{
	json_t *params = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(params);
	err_release(&error);
	if (schema_check(&schema, params, &error)) {
		assert_int_not_equal(error.type, ERR_NONE);
		json_decref(params);
		return NULL;
	}
	assert_int_equal(error.type, ERR_NONE);
	schema_fill_defaults(&schema, params);
	return params;
}

static void assert_result(const char *text, const char *expected)
{
	json_t *params = check(text), *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);

	assert_non_null(wanted);
	if (!params)
		fail_msg("%s: %s", text, error.message);
	if (!json_equal(params, wanted))
		fail_msg("%s: %s", text, json_dumps(params, JSON_COMPACT));
	json_decref(params);
	json_decref(wanted);
}

static void assert_refused(const char *text, const char *message)
{
	json_t *params = check(text);

	assert_null(params);
	assert_string_equal(error.message, message);
}

static void test_schema_fills_defaults(void **state)
{
	(void)state;
	assert_result("{\"text\":\"a\"}",
		      "{\"text\":\"a\",\"count\":100,\"color\":\"green\",\"flag\":false}");
	assert_result("{\"text\":\"a\",\"count\":1,\"color\":\"red\",\"flag\":true}",
		      "{\"text\":\"a\",\"count\":1,\"color\":\"red\",\"flag\":true}");
}

#define REST ",\"count\":100,\"color\":\"green\",\"flag\":false}"

static void test_schema_renames_and_scales_aliases(void **state)
{
	(void)state;
	assert_result("{\"text\":\"a\",\"dir\":\"d\"}", "{\"text\":\"a\",\"directory\":\"d\"" REST);
	/* The same number as in the field's own unit: 700 * 0.001 is not 0.7. */
	assert_result("{\"text\":\"a\",\"timeout_ms\":1500}", "{\"text\":\"a\",\"timeout\":1.5" REST);
	assert_result("{\"text\":\"a\",\"timeout_ms\":700}", "{\"text\":\"a\",\"timeout\":0.7" REST);
	assert_refused("{\"text\":\"a\",\"timeout\":1,\"timeout_ms\":1000}",
		       "timeout and timeout_ms are the same parameter");
	assert_refused("{\"text\":\"a\",\"timeout_ms\":4000000}",
		       "timeout (given as timeout_ms) must be a number greater than 0 and at most "
		       "3600 seconds, not 4000");
	assert_refused("{\"text\":\"a\",\"timeout_ms\":\"5\"}",
		       "timeout (given as timeout_ms) must be a number greater than 0 and at most "
		       "3600 seconds, not \"5\"");
}

static void test_schema_bounds_are_exact(void **state)
{
	(void)state;
	assert_result("{\"text\":\"1234567890\",\"timeout\":3600,\"count\":1000}",
		      "{\"text\":\"1234567890\",\"timeout\":3600,\"count\":1000,"
		      "\"color\":\"green\",\"flag\":false}");
	assert_refused("{\"text\":\"a\",\"timeout\":0}",
		       "timeout must be a number greater than 0 and at most 3600 seconds, not 0");
	assert_refused("{\"text\":\"a\",\"timeout\":3600.001}",
		       "timeout must be a number greater than 0 and at most 3600 seconds, not 3600.001");
	assert_refused("{\"text\":\"a\",\"count\":0}",
		       "count must be an integer from 1 to 1000 lines, not 0");
	assert_refused("{\"text\":\"a\",\"count\":1001}",
		       "count must be an integer from 1 to 1000 lines, not 1001");
	assert_refused("{\"text\":\"12345678901\"}", "text is 11 bytes long; it must be at most 10");
	assert_refused("{\"text\":\"\"}", "text is empty");
	assert_result("{\"text\":\"a\",\"short\":\"\xc3\xa4\xc3\xa4\xc3\xa4\"}",
		      "{\"text\":\"a\",\"short\":\"\xc3\xa4\xc3\xa4\xc3\xa4\"" REST);
	assert_refused("{\"text\":\"a\",\"short\":\"abcd\"}",
		       "short is 4 characters long; it must be at most 3");
}

static void test_schema_types_are_strict(void **state)
{
	static const struct {
		const char *value, *shown;
	} rows[] = {
		{ "true", "true" }, { "\"5\"", "\"5\"" }, { "5.5", "5.5" },
		{ "[]", "an array of 0 elements" }, { "{\"a\":1}", "an object of 1 member" },
		{ "[1]", "an array of 1 element" },
		{ "1e300", "1e+300" },
		{ "9007199254740993.0", "9007199254740992" },
		{ "-5000000000000000000", "-5000000000000000000" },
	};
	char text[100], message[200];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(text, sizeof(text), "{\"text\":\"a\",\"count\":%s}", rows[i].value);
		snprintf(message, sizeof(message),
			 "count must be an integer from 1 to 1000 lines, not %s",
			 rows[i].shown);
		assert_refused(text, message);
	}
	assert_refused("{\"text\":\"a\",\"flag\":1}", "flag must be a boolean, not 1");
	assert_result("{\"text\":\"a\",\"signal\":9}", "{\"text\":\"a\",\"signal\":9" REST);
	assert_result("{\"text\":\"a\",\"signal\":\"KILL\"}", "{\"text\":\"a\",\"signal\":\"KILL\"" REST);
	assert_refused("{\"text\":\"a\",\"signal\":65}",
		       "signal must be a string or an integer of at most 64, not 65");
	assert_refused("{\"text\":\"a\",\"signal\":true}",
		       "signal must be a string or an integer of at most 64, not true");
}

static void test_schema_makes_whole_reals_integers(void **state)
{
	json_t *params = check("{\"text\":\"a\",\"count\":5.0,\"numbers\":[1,2.0],\"timeout\":5.0}");

	(void)state;
	assert_non_null(params);
	assert_true(json_is_integer(json_object_get(params, "count")));
	assert_int_equal(json_integer_value(json_object_get(params, "count")), 5);
	assert_true(json_is_integer(json_array_get(json_object_get(params, "numbers"), 1)));
	assert_true(json_is_real(json_object_get(params, "timeout")));
	json_decref(params);
	assert_refused("{\"text\":\"a\",\"numbers\":[1,2.5]}", "numbers[1] must be an integer, not 2.5");
}

static void test_schema_enums(void **state)
{
	(void)state;
	assert_result("{\"text\":\"a\",\"color\":\"red\"}",
		      "{\"text\":\"a\",\"color\":\"red\",\"count\":100,\"flag\":false}");
	assert_refused("{\"text\":\"a\",\"color\":\"blue\"}",
		       "color cannot be \"blue\"");
	assert_int_equal(error.type, ERR_INVALID_FILTER);
	assert_string_equal(error.hint, "Give color as one of \"red\", \"green\".");
	assert_refused("{\"text\":\"a\",\"color\":5}", "color cannot be 5");
	assert_int_equal(error.type, ERR_INVALID_FILTER);
}

static void test_schema_elements_and_members(void **state)
{
	(void)state;
	assert_result("{\"text\":\"a\",\"words\":[\"x\",\"\",\"12345678\"],\"map\":{\"\":\"\"}}",
		      "{\"text\":\"a\",\"words\":[\"x\",\"\",\"12345678\"],\"map\":{\"\":\"\"}" REST);
	assert_refused("{\"text\":\"a\",\"words\":[\"x\",5]}",
		       "words[1] must be a string of at most 8 bytes, not 5");
	assert_refused("{\"text\":\"a\",\"words\":[\"123456789\"]}",
		       "words[0] is 9 bytes long; it must be at most 8");
	assert_refused("{\"text\":\"a\",\"words\":[\"a\",\"b\",\"c\",\"d\"]}",
		       "words must be an array of at most 3 elements, each a string of at most 8 bytes, "
		       "not an array of 4 elements");
	assert_refused("{\"text\":\"a\",\"map\":{\"k\":null}}",
		       "map.k must be a string of at most 8 bytes, not null");
	assert_refused("{\"text\":\"a\",\"map\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}",
		       "map must be an object of at most 2 members, each a string of at most 8 bytes, "
		       "not an object of 3 members");
}

static void test_schema_refuses_nul_in_every_string(void **state)
{
	(void)state;
	assert_refused("{\"text\":\"a\\u0000b\"}", "text holds a NUL at byte 1");
	assert_refused("{\"text\":\"a\",\"words\":[\"\\u0000\"]}", "words[0] holds a NUL at byte 0");
	assert_refused("{\"text\":\"a\",\"map\":{\"k\":\"xy\\u0000\"}}", "map.k holds a NUL at byte 2");
	assert_refused("{\"text\":\"a\",\"color\":\"red\\u0000\"}", "color holds a NUL at byte 3");
}

static void test_schema_names(void **state)
{
	(void)state;
	assert_refused("{\"texd\":\"a\"}", "unknown parameter \"texd\"; did you mean \"text\"?");
	assert_string_equal(json_string_value(json_object_get(error.details, "nearest")), "text");
	assert_string_equal(error.hint, "Give text: a string of 1 to 10 bytes.");
	assert_refused("{\"timeoutms\":1}", "unknown parameter \"timeoutms\"; did you mean "
					    "\"timeout_ms\"?");
	assert_string_equal(error.hint, "Give timeout_ms, or timeout: a number greater than 0 "
					"and at most 3600 seconds.");
	assert_refused("{\"timeou\":1}", "unknown parameter \"timeou\"; did you mean \"timeout\"?");
	assert_string_equal(error.hint, "Give timeout: a number greater than 0 and at most 3600 "
					"seconds.");
	assert_refused("{\"wait_mx\":1}", "unknown parameter \"wait_mx\"; did you mean \"wait_ms\"?");
	assert_string_equal(error.hint, "Give wait_ms: an integer of milliseconds.");
	assert_refused("{\"brief\":\"a\"}", "unknown parameter \"brief\"; did you mean \"short\"?");
	assert_string_equal(error.hint, "Three letters.");
	assert_refused("{\"colour\":1}", "unknown parameter \"colour\"; did you mean \"color\"?");
	assert_string_equal(error.hint, "Give color: one of \"red\", \"green\".");
	assert_refused("{\"text\":\"a\",\"zzzzzzzz\":1}", "unknown parameter \"zzzzzzzz\"");
	assert_null(json_object_get(error.details, "nearest"));
	assert_string_equal(error.hint, "Parameters: text, short, count, timeout, directory, color, "
					"flag, words, numbers, wait_ms, map, signal.");
	assert_refused("{\"flag\":true}", "text is required");
	assert_refused("{}", "text is required; no parameter was given");
	assert_string_equal(error.hint,
			    "Give text: a string of 1 to 10 bytes.");
	assert_refused("[]", "the parameters must be an object");
}

/* Hosts send null for every optional parameter that is not given. */
static void test_schema_null_is_not_given(void **state)
{
	(void)state;
	assert_result("{\"text\":\"a\",\"count\":null,\"timeout\":null,\"timeout_ms\":null,"
		      "\"directory\":\"d\",\"dir\":null,\"words\":null}",
		      "{\"text\":\"a\",\"directory\":\"d\"" REST);
	assert_refused("{\"text\":null}", "text must be a string of 1 to 10 bytes, not null");
	assert_refused("{\"text\":\"a\",\"words\":[null]}",
		       "words[0] must be a string of at most 8 bytes, not null");
	assert_refused("{\"text\":\"a\",\"unknown\":null}", "unknown parameter \"unknown\"");
}

static void assert_suggested(const char *name, const char *suggestion)
{
	const struct schema_field *other;
	const char *found = schema_suggest(&schema, name, &other);

	if (!suggestion)
		assert_null(found);
	else if (!found || strcmp(found, suggestion))
		fail_msg("%s: %s", name, found ? found : "nothing");
}

static void test_schema_suggests(void **state)
{
	static const char *const rows[][2] = {
		{ "Text", "text" }, { "timeoutMs", "timeout_ms" }, { "timeout-ms", "timeout_ms" },
		{ "timeout_s", "timeout" }, { "timeoutSeconds", "timeout" }, { "timeout_sec", "timeout" },
		{ "timeoutMillis", "timeout_ms" }, { "timeot_ms", "timeout_ms" },
		{ "timeout_minutes", NULL }, { "count_ms", NULL }, { "count_lines", "count" },
		{ "brief", "short" }, { "Brief", "short" }, { "count", "count" }, { "colour", "color" },
		{ "brief_ms", NULL }, { "col", "color" }, { "txet", "text" }, { "tent_ms", NULL },
		{ "next", "text" }, { "wait", "wait_ms" }, { "counts", "count" },
		{ "my_directory", "directory" }, { "full_text", NULL },
		{ "zzz", NULL }, { "", NULL }, { "_", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_suggested(rows[i][0], rows[i][1]);
}

/* Words that both names have do not make others near. */
static void test_schema_nearest_is_of_words(void **state)
{
	static const char *const names[] = { "stdin", "stdin_mode", "stderr_offset", "tail_lines",
					     "port", "process_id", "idle_ms", "sandbox.network", NULL };
	static const char *const rows[][2] = {
		{ "stdin_data", NULL }, { "stdin_moed", "stdin_mode" }, { "byte_offset", NULL },
		{ "stder_offset", "stderr_offset" }, { "start_line", NULL }, { "tail_line", "tail_lines" },
		{ "host", NULL }, { "prot", "port" }, { "process_ids", "process_id" },
		{ "process_name", NULL }, { "poll_ms", NULL }, { "idel_ms", "idle_ms" },
		{ "sandbox.netwrok", "sandbox.network" }, { "sandbox.profile", NULL }, { "stdn", "stdin" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *found = schema_nearest(rows[i][0], names);

		if (strcmp(found ? found : "nothing", rows[i][1] ? rows[i][1] : "nothing"))
			fail_msg("%s: %s", rows[i][0], found ? found : "nothing");
	}
}

/* The same in another unit is named with its unit, and not as what is meant. */
static void test_schema_names_another_unit(void **state)
{
	static const char *const rows[][2] = {
		{ "timeout_minutes", "There is timeout, which is in seconds." },
		{ "waitSeconds", "There is wait_ms, which is in milliseconds." },
		{ "count_bytes", "There is count, which is in lines." },
		{ "number_of_tokens", "There is count, which is in lines." },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char params[128], message[128];

		snprintf(params, sizeof(params), "{\"text\":\"a\",\"%s\":1}", rows[i][0]);
		snprintf(message, sizeof(message), "unknown parameter \"%s\"", rows[i][0]);
		assert_refused(params, message);
		assert_string_equal(error.hint, rows[i][1]);
		assert_null(json_object_get(error.details, "nearest"));
	}
}

static void test_schema_hints_say_what_the_message_does_not(void **state)
{
	(void)state;
	assert_refused("{\"text\":\"a\",\"timeout\":600000}",
		       "timeout must be a number greater than 0 and at most 3600 seconds, not 600000");
	assert_string_equal(error.hint, "If these are not seconds, write timeout_ms: 600000.");
	assert_refused("{\"text\":\"a\",\"timeout\":6e9}",
		       "timeout must be a number greater than 0 and at most 3600 seconds, not "
		       "6000000000");
	assert_string_equal(error.hint, "Correct timeout and call again.");
	assert_refused("{\"text\":\"a\",\"short\":5}",
		       "short must be a string of at most 3 characters, not 5");
	assert_string_equal(error.hint, "Three letters.");
	assert_refused("{\"text\":\"a\",\"short\":\"abcd\"}",
		       "short is 4 characters long; it must be at most 3");
	assert_string_equal(error.hint, "Three letters.");
	assert_refused("{\"text\":\"a\",\"short\":\"a\\u0000\"}", "short holds a NUL at byte 1");
	assert_string_equal(error.hint, "Correct short and call again.");
	assert_refused("{\"text\":\"a\",\"words\":[7]}",
		       "words[0] must be a string of at most 8 bytes, not 7");
	assert_string_equal(error.hint, "Give words as an array of at most 3 elements, each a string of "
					"at most 8 bytes.");
}

static void test_schema_survives_hostile_names_and_values(void **state)
{
	json_t *params = json_object();
	char name[5001];

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[sizeof(name) - 1] = '\0';
	json_object_set_new(params, name, json_null());
	err_release(&error);
	assert_int_equal(schema_check(&schema, params, &error), -1);
	assert_true(strlen(error.message) < 200);
	json_object_clear(params);
	json_object_set_new(params, "text", json_string("a"));
	json_object_set_new(params, "map", json_pack("{s:s}", name, "123456789"));
	assert_int_equal(schema_check(&schema, params, &error), -1);
	json_object_clear(params);
	json_object_set_new(params, "text", json_string("a"));
	json_object_set_new(params, "color", json_string(name));
	assert_int_equal(schema_check(&schema, params, &error), -1);
	assert_true(strlen(error.message) < 200);
	json_decref(params);
}

static void test_schema_nearest(void **state)
{
	static const char *const names[] = { "working_directory", "cwd", "environment", "env", NULL };
	char longest[200];

	(void)state;
	assert_string_equal(schema_nearest("cwdd", names), "cwd");
	assert_string_equal(schema_nearest("working_dir", names), "working_directory");
	assert_string_equal(schema_nearest("enviroment", names), "environment");
	assert_null(schema_nearest("stdin", names));
	assert_null(schema_nearest("", names));
	memset(longest, 'c', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(schema_nearest(longest, names));
}

static int release(void **state)
{
	(void)state;
	err_release(&error);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema_fills_defaults),
		cmocka_unit_test(test_schema_renames_and_scales_aliases),
		cmocka_unit_test(test_schema_bounds_are_exact),
		cmocka_unit_test(test_schema_types_are_strict),
		cmocka_unit_test(test_schema_makes_whole_reals_integers),
		cmocka_unit_test(test_schema_enums),
		cmocka_unit_test(test_schema_elements_and_members),
		cmocka_unit_test(test_schema_refuses_nul_in_every_string),
		cmocka_unit_test(test_schema_names),
		cmocka_unit_test(test_schema_null_is_not_given),
		cmocka_unit_test(test_schema_suggests),
		cmocka_unit_test(test_schema_nearest_is_of_words),
		cmocka_unit_test(test_schema_names_another_unit),
		cmocka_unit_test(test_schema_hints_say_what_the_message_does_not),
		cmocka_unit_test(test_schema_survives_hostile_names_and_values),
		cmocka_unit_test(test_schema_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
