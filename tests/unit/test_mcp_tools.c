#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "json_result.h"
#include "mcp/tools.h"

static const struct mcp_shape plain = { .name = "old" };
static const struct mcp_shape full = { .name = "new", .annotations = true, .structured = true };
static const struct mcp_shape stateless = {
	.name = "stateless", .annotations = true, .structured = true, .stateless = true,
};
static const struct run_shell shell = { .path = (char[]){ "/bin/zsh" } };
static struct config config;
static struct cap cap = { .shell = &shell, .config = &config };
static const struct mcp usual = { .cap = &cap }, structured = { .cap = &cap, .structured = true };

/* The tools/call result for the capability result @json. */
static json_t *shaped(const char *json, const struct mcp *m, const struct mcp_shape *shape)
{
	struct mcp_answer a = { 0 };
	json_t *object, *value;
	struct result result;
	struct buf out;
	struct jsonw w;

	result_init(&result, 1 << 20);
	object = json_result(&result, json);
	a.result = &result;
	buf_init(&out, 1 << 20);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	mcp_tools_write_result(&w, m, shape, &a);
	jsonw_end_object(&w);
	value = json_loads(out.data, 0, NULL);
	assert_non_null(value);
	json_decref(object);
	result_release(&result);
	buf_release(&out);
	return value;
}

static const char *text_of(const json_t *call)
{
	const json_t *item = json_array_get(json_object_get(call, "content"), 0);

	assert_string_equal(json_string_value(json_object_get(item, "type")), "text");
	return json_string_value(json_object_get(item, "text"));
}

static json_t *in_meta(const json_t *call, const char *key)
{
	return json_object_get(json_object_get(call, "_meta"), key);
}

/* A result is text, and an object for programs where no host shows it to its model. */
static void check_result(const struct mcp *m, const struct mcp_shape *shape, bool as_content)
{
	json_t *call = shaped("{\"a\":1}", m, shape), *content, *meta;

	content = json_object_get(call, "structuredContent");
	meta = in_meta(call, "dev.procpen/result");
	assert_int_equal(content != NULL, as_content);
	assert_int_equal(meta != NULL, !as_content);
	assert_int_equal(json_integer_value(json_object_get(content ? content : meta, "a")), 1);
	assert_true(json_is_false(json_object_get(call, "isError")));
	assert_int_equal(in_meta(call, "io.modelcontextprotocol/serverInfo") != NULL,
			 shape->stateless);
	assert_string_equal(text_of(call), "a: 1\n");
	json_decref(call);
}

static void test_mcp_tools_result_stands_in_meta(void **state)
{
	(void)state;
	check_result(&usual, &plain, false);
	check_result(&usual, &full, false);
	check_result(&usual, &stateless, false);
}

static void test_mcp_tools_structured_content_when_asked_for(void **state)
{
	(void)state;
	check_result(&structured, &plain, false); /* the revision does not know it */
	check_result(&structured, &full, true);
	check_result(&structured, &stateless, true);
}

static json_t *shaped_error(struct err *e, const struct result *partial, const struct mcp *m,
			    const struct mcp_shape *shape)
{
	struct mcp_answer a = { .result = partial };
	struct buf out;
	struct jsonw w;
	json_t *value;

	buf_init(&out, 1 << 20);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	mcp_tools_write_error(&w, m, shape, e, &a);
	jsonw_end_object(&w);
	value = json_loads(out.data, 0, NULL);
	assert_non_null(value);
	buf_release(&out);
	err_release(e);
	return value;
}

static void test_mcp_tools_error_says_all_in_its_text(void **state)
{
	ERR_LOCAL(e);
	json_t *call, *object;

	(void)state;
	err_set(&e, ERR_PROCESS_NOT_FOUND, "no process p9");
	err_hint(&e, "Call process.list, not tier.process.list or process.listing, for `process.list`.");
	call = shaped_error(&e, NULL, &structured, &full);
	assert_string_equal(text_of(call), "ProcessNotFound: no process p9. Call process_list, not "
					   "tier.process.list or process.listing, for "
					   "`process.list`.");
	assert_true(json_is_true(json_object_get(call, "isError")));
	object = json_object_get(json_object_get(call, "structuredContent"), "error");
	assert_string_equal(json_string_value(json_object_get(object, "message")), "no process p9");
	assert_non_null(strstr(json_string_value(json_object_get(object, "hint")), "process_list,"));
	object = in_meta(call, "dev.procpen/error");
	assert_int_equal(json_integer_value(json_object_get(object, "code")), 1010);
	assert_string_equal(json_string_value(json_object_get(object, "type")), "ProcessNotFound");
	assert_true(json_is_object(json_object_get(object, "details")));
	assert_null(json_object_get(object, "message")); /* the text has said it */
	json_decref(call);
}

/* What a client or a command said may have quotes itself. */
static void test_mcp_tools_error_repeats_what_is_quoted(void **state)
{
	ERR_LOCAL(e);
	json_t *call;

	(void)state;
	err_set(&e, ERR_INVALID_PARAMS, "process.run: \"a \" process.run \" b\" is none");
	err_hint(&e, "Call process.list; `c ` process.run` is none.");
	call = shaped_error(&e, NULL, &usual, &full);
	assert_string_equal(text_of(call),
			    "InvalidParams: process_run: \"a \" process.run \" b\" is none. Call "
			    "process_list; `c ` process.run` is none.");
	json_decref(call);
}

static void test_mcp_tools_error_shows_the_partial_result(void **state)
{
	ERR_LOCAL(e);
	struct result partial;
	json_t *call, *object, *details;

	(void)state;
	err_set(&e, ERR_RESOURCE_LIMIT_EXCEEDED, "too much.");
	err_hint(&e, "Less.");
	err_detail(&e, "limit", json_string("memory_limit"));
	result_init(&partial, 1 << 20);
	object = json_result(&partial, "{\"state\":\"killed\",\"out\":\"a\\nb\"}");
	call = shaped_error(&e, &partial, &usual, &plain);
	assert_null(json_object_get(call, "structuredContent"));
	assert_string_equal(text_of(call), "ResourceLimitExceeded: too much. Less.\nstate: killed\n"
					   "out: \"a\\nb\"\n");
	details = json_object_get(in_meta(call, "dev.procpen/error"), "details");
	assert_string_equal(json_string_value(json_object_get(details, "limit")), "memory_limit");
	assert_true(json_equal(json_object_get(details, "result"), object));
	json_decref(call);
	json_decref(object);
	result_release(&partial);
}

static void list(struct buf *out, const struct mcp *m, const struct mcp_shape *shape)
{
	struct jsonw w;

	buf_init(out, 1 << 20);
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	mcp_tools_write_list(&w, m, shape);
	jsonw_end_object(&w);
}

/* A client that checks structured content against the schema, also of an error, finds no fault. */
static void test_mcp_tools_output_schemas_allow_an_error(void **state)
{
	json_t *tools, *tool, *schema;
	struct buf out;
	size_t i;

	(void)state;
	list(&out, &structured, &full);
	tools = json_loads(out.data, 0, NULL);
	json_array_foreach(json_object_get(tools, "tools"), i, tool) {
		schema = json_object_get(tool, "outputSchema");
		assert_null(json_object_get(schema, "required"));
		assert_non_null(json_object_get(json_object_get(schema, "properties"), "error"));
		assert_true(strlen(json_string_value(json_object_get(tool, "description"))) < 2048);
	}
	assert_true(i > 5);
	json_decref(tools);
	buf_release(&out);
}

static void test_mcp_tools_list_by_revision(void **state)
{
	struct buf old, new, newest, whole;

	(void)state;
	list(&old, &structured, &plain);
	list(&new, &usual, &full);
	list(&newest, &usual, &stateless);
	list(&whole, &structured, &full);
	assert_null(strstr(old.data, "outputSchema"));
	assert_null(strstr(old.data, "annotations"));
	assert_null(strstr(new.data, "outputSchema"));
	assert_non_null(strstr(whole.data, "outputSchema"));
	assert_non_null(strstr(new.data, "annotations"));
	assert_null(strstr(new.data, "ttlMs"));
	assert_non_null(strstr(newest.data, "\"ttlMs\":3600000,\"cacheScope\":\"public\""));
	buf_release(&old);
	buf_release(&new);
	buf_release(&newest);
	buf_release(&whole);
}

/* What every model pays for before it has done anything, whatever its host lists. */
static void test_mcp_tools_list_is_short(void **state)
{
	const struct mcp all = { .cap = &cap, .all_parameters = true };
	struct buf out, whole;

	(void)state;
	list(&out, &usual, &full);
	list(&whole, &all, &full);
	assert_true(out.len - strlen("{\"tools\":}") <= 9000);
	assert_true(whole.len > out.len);
	assert_null(strstr(out.data, "\"type\":[")); /* of which hosts warn */
	assert_null(strstr(whole.data, "\"type\":["));
	assert_non_null(strstr(out.data, "\"anyOf\":[{\"type\":\"string\",\"minLength\":1},"
					 "{\"type\":\"integer\",\"minimum\":1,\"maximum\":64}]"));
	assert_non_null(strstr(whole.data, "\"max_output_bytes\""));
	assert_null(strstr(out.data, "\"max_output_bytes\""));
	assert_non_null(strstr(whole.data, "\"process_wait\""));
	assert_null(strstr(out.data, "\"process_wait\""));
	buf_release(&out);
	buf_release(&whole);
}

/* A host may check arguments against the list: what is left out of it must pass. */
/* Is @words in the list of tools when the operator has set @assignment? */
static void check_described(const char *assignment, const char *words)
{
	struct config usual_config = config;
	ERR_LOCAL(e);
	struct buf out;

	config_init(&config);
	assert_int_equal(config_set(&config, assignment, &e), 0);
	list(&out, &usual, &full);
	assert_non_null(strstr(out.data, words));
	assert_true(out.len - strlen("{\"tools\":}") <= 9000);
	buf_release(&out);
	config_release(&config);
	config = usual_config;
}

/* A model that does not know tries again, by other programs. */
static void test_mcp_tools_list_names_the_network(void **state)
{
	struct buf out;

	(void)state;
	list(&out, &usual, &full);
	assert_non_null(strstr(out.data, "run by /bin/zsh. To read"));
	buf_release(&out);
	check_described("sandbox.network=false", "by /bin/zsh. Commands have no network. To read");
	check_described("sandbox.profile=strict", "by /bin/zsh. Commands have no network. To read");
	check_described("sandbox.network=53,443",
			"by /bin/zsh. Commands can only connect to TCP ports 53, 443. To read");
	check_described("sandbox.network=443",
			"by /bin/zsh. Commands can only connect to TCP port 443. To read");
	check_described("sandbox.network=101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,"
			"116,117,118,119", "114, 115, 116 and 3 more. To read");
	check_described("sandbox.network=60001,60002,60003,60004,60005,60006,60007,60008,60009,60010,"
			"60011,60012,60013,60014,60015,60016,60017", "60015, 60016 and 1 more. To read");
}

/* A model plans by them. */
static void test_mcp_tools_list_names_the_times(void **state)
{
	(void)state;
	check_described("process.stdout_lines=100", "\"maximum\":3600,\"description\":\"Seconds (300);");
	check_described("process.stdout_lines=100",
			"the command goes on until it ends or is killed\"");
	check_described("process.timeout_seconds=20", "\"maximum\":3600,\"description\":\"Seconds (20);");
	check_described("limits.timeout_seconds=60", "\"maximum\":60,\"description\":\"Seconds (60);");
	check_described("process.background_seconds=90",
			"the command goes on until it ends or is killed, at most 90 s\"");
	check_described("limits.background_seconds=90",
			"the command goes on until it ends or is killed, at most 90 s\"");
	check_described("process.stdout_lines=100", "Wait for the end, or until; at most 45000\"");
	check_described("process.stdout_lines=100", "Seconds until SIGKILL (10 with SIGTERM)");
}

static void test_mcp_tools_list_allows_what_it_leaves_out(void **state)
{
	json_t *whole, *shown;

	(void)state;
	for (const struct cap_row *row = cap_rows; row->name; row++) {
		shown = json_loads(row->input_json, 0, NULL);
		whole = json_loads(row->input_all_json, 0, NULL);
		assert_true(json_is_false(json_object_get(whole, "additionalProperties")));
		assert_int_equal(json_object_get(shown, "additionalProperties") != NULL,
				 json_equal(shown, whole));
		json_decref(shown);
		json_decref(whole);
	}
}

static void test_mcp_tools_nearest(void **state)
{
	(void)state;
	assert_string_equal(mcp_tools_nearest("process_rum")->name, "process.run");
	assert_string_equal(mcp_tools_nearest("proces.kil")->name, "process.kill");
	assert_null(mcp_tools_nearest("something else"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mcp_tools_result_stands_in_meta),
		cmocka_unit_test(test_mcp_tools_structured_content_when_asked_for),
		cmocka_unit_test(test_mcp_tools_error_says_all_in_its_text),
		cmocka_unit_test(test_mcp_tools_error_repeats_what_is_quoted),
		cmocka_unit_test(test_mcp_tools_error_shows_the_partial_result),
		cmocka_unit_test(test_mcp_tools_output_schemas_allow_an_error),
		cmocka_unit_test(test_mcp_tools_list_by_revision),
		cmocka_unit_test(test_mcp_tools_list_is_short),
		cmocka_unit_test(test_mcp_tools_list_names_the_network),
		cmocka_unit_test(test_mcp_tools_list_names_the_times),
		cmocka_unit_test(test_mcp_tools_list_allows_what_it_leaves_out),
		cmocka_unit_test(test_mcp_tools_nearest),
	};

	config_init(&config);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
