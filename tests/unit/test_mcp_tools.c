#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "json_result.h"
#include "mcp/tools.h"

static const struct mcp_shape plain = { .name = "old" };
static const struct mcp_shape full = { .name = "new", .annotations = true, .structured = true };
static const struct mcp_shape stateless = {
	.name = "stateless", .annotations = true, .structured = true, .stateless = true,
};

/* The tools/call result for the capability result @json. */
static json_t *shaped(const char *json, const struct mcp_shape *shape)
{
	json_t *object, *value;
	struct result result;
	struct buf out;
	struct jsonw w;

	result_init(&result, 1 << 20);
	object = json_result(&result, json);
	buf_init(&out, 1 << 20);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	mcp_tools_write_result(&w, &result, shape, NULL);
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

static void check_text(const char *json, const char *wanted)
{
	json_t *call = shaped(json, &full);

	assert_string_equal(text_of(call), wanted);
	json_decref(call);
}

static void test_mcp_tools_short_members_are_lines(void **state)
{
	(void)state;
	check_text("{}", "");
	check_text("{\"a\":1,\"b\":null,\"c\":true,\"d\":\"x y\",\"e\":\"\"}",
		   "a: 1\nb: null\nc: true\nd: x y\ne: \"\"\n");
	check_text("{\"o\":{\"n\":[1,\"}\\\"]\"]},\"l\":[],\"last\":-1.5}",
		   "o: {\"n\":[1,\"}\\\"]\"]}\nl: []\nlast: -1.5\n");
	check_text("{\"q\":\"say \\\"hi\\\" \\\\\",\"r\":\"\\\\\\\"\"}",
		   "q: say \"hi\" \\\nr: \\\"\n");
}

static void test_mcp_tools_texts_follow_as_blocks(void **state)
{
	(void)state;
	check_text("{\"out\":\"one\\ntwo\\n\",\"code\":0}",
		   "code: 0\n--- out (8 bytes)\none\ntwo\n");
	check_text("{\"out\":\"one\\ntwo\"}", "--- out (7 bytes)\none\ntwo\n");
	check_text("{\"out\":\"a\\rb\"}", "--- out (3 bytes)\na\rb\n");
	check_text("{\"a\":\"\\n\",\"b\":\"\\n\"}", "--- a (1 bytes)\n\n--- b (1 bytes)\n\n");
}

static void test_mcp_tools_block_sizes_are_bytes_of_text(void **state)
{
	(void)state;
	check_text("{\"a\":\"\\u0001\\t\\n\"}", "--- a (3 bytes)\n\x01\t\n");
	check_text("{\"a\":\"\\u00e4\\u20ac\\n\"}", "--- a (6 bytes)\n\xc3\xa4\xe2\x82\xac\n");
	check_text("{\"a\":\"\\ud83d\\ude00\\n\"}", "--- a (5 bytes)\n\xf0\x9f\x98\x80\n");
	check_text("{\"a\":\"\xe2\x82\xac\\\\\\\"\\n\"}", "--- a (6 bytes)\n\xe2\x82\xac\\\"\n");
}

static void test_mcp_tools_long_string_is_a_block(void **state)
{
	char json[600], wanted[600];

	(void)state;
	snprintf(json, sizeof(json), "{\"a\":\"%0500d\",\"b\":1}", 0);
	snprintf(wanted, sizeof(wanted), "b: 1\n--- a (500 bytes)\n%0500d\n", 0);
	check_text(json, wanted);
}

static void test_mcp_tools_structured_content_by_revision(void **state)
{
	json_t *new = shaped("{\"a\":1}", &full), *old = shaped("{\"a\":1}", &plain);
	json_t *content = json_object_get(new, "structuredContent");

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(content, "a")), 1);
	assert_null(json_object_get(old, "structuredContent"));
	assert_true(json_is_false(json_object_get(new, "isError")));
	assert_string_equal(text_of(old), "a: 1\n");
	json_decref(new);
	json_decref(old);
}

static json_t *shaped_error(struct err *e, const struct result *partial,
			    const struct mcp_shape *shape)
{
	struct buf out;
	struct jsonw w;
	json_t *value;

	buf_init(&out, 1 << 20);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	mcp_tools_write_error(&w, e, partial, shape);
	jsonw_end_object(&w);
	value = json_loads(out.data, 0, NULL);
	assert_non_null(value);
	buf_release(&out);
	err_release(e);
	return value;
}

static void test_mcp_tools_error_says_all_in_its_text(void **state)
{
	struct err e = ERR_INIT;
	json_t *call, *object;

	(void)state;
	err_set(&e, ERR_PROCESS_NOT_FOUND, "no process p9");
	err_hint(&e, "Call process.list.");
	call = shaped_error(&e, NULL, &full);
	assert_string_equal(text_of(call), "ProcessNotFound: no process p9. Call process.list.");
	assert_true(json_is_true(json_object_get(call, "isError")));
	object = json_object_get(json_object_get(call, "structuredContent"), "error");
	assert_string_equal(json_string_value(json_object_get(object, "message")), "no process p9");
	assert_string_equal(json_string_value(json_object_get(object, "hint")), "Call process.list.");
	object = json_object_get(json_object_get(call, "_meta"), "dev.procpen/error");
	assert_int_equal(json_integer_value(json_object_get(object, "code")), 1010);
	assert_string_equal(json_string_value(json_object_get(object, "type")), "ProcessNotFound");
	assert_true(json_is_object(json_object_get(object, "details")));
	json_decref(call);
}

static void test_mcp_tools_error_shows_the_partial_result(void **state)
{
	struct err e = ERR_INIT;
	struct result partial;
	json_t *call, *object, *details;

	(void)state;
	err_set(&e, ERR_RESOURCE_LIMIT_EXCEEDED, "too much.");
	err_hint(&e, "Less.");
	err_detail(&e, "limit", json_string("memory_limit"));
	result_init(&partial, 1 << 20);
	object = json_result(&partial, "{\"state\":\"killed\",\"out\":\"a\\nb\"}");
	call = shaped_error(&e, &partial, &plain);
	assert_null(json_object_get(call, "structuredContent"));
	assert_string_equal(text_of(call), "ResourceLimitExceeded: too much. Less.\nstate: killed\n"
					   "--- out (3 bytes)\na\nb\n");
	details = json_object_get(json_object_get(json_object_get(call, "_meta"),
						  "dev.procpen/error"), "details");
	assert_string_equal(json_string_value(json_object_get(details, "limit")), "memory_limit");
	assert_true(json_equal(json_object_get(details, "result"), object));
	json_decref(call);
	json_decref(object);
	result_release(&partial);
}

static void list(struct buf *out, const struct mcp_shape *shape)
{
	struct jsonw w;

	buf_init(out, 1 << 20);
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	mcp_tools_write_list(&w, shape);
	jsonw_end_object(&w);
}

/* A client that checks structured content against the schema, also of an error, finds no fault. */
static void test_mcp_tools_output_schemas_allow_an_error(void **state)
{
	json_t *tools, *tool, *schema;
	struct buf out;
	size_t i;

	(void)state;
	list(&out, &full);
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
	struct buf old, new, newest;

	(void)state;
	list(&old, &plain);
	list(&new, &full);
	list(&newest, &stateless);
	assert_null(strstr(old.data, "outputSchema"));
	assert_null(strstr(old.data, "annotations"));
	assert_non_null(strstr(new.data, "outputSchema"));
	assert_non_null(strstr(new.data, "annotations"));
	assert_null(strstr(new.data, "ttlMs"));
	assert_non_null(strstr(newest.data, "\"ttlMs\":3600000,\"cacheScope\":\"public\""));
	assert_true(new.len <= 12 * 1024);
	buf_release(&old);
	buf_release(&new);
	buf_release(&newest);
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
		cmocka_unit_test(test_mcp_tools_short_members_are_lines),
		cmocka_unit_test(test_mcp_tools_texts_follow_as_blocks),
		cmocka_unit_test(test_mcp_tools_block_sizes_are_bytes_of_text),
		cmocka_unit_test(test_mcp_tools_long_string_is_a_block),
		cmocka_unit_test(test_mcp_tools_structured_content_by_revision),
		cmocka_unit_test(test_mcp_tools_error_says_all_in_its_text),
		cmocka_unit_test(test_mcp_tools_error_shows_the_partial_result),
		cmocka_unit_test(test_mcp_tools_output_schemas_allow_an_error),
		cmocka_unit_test(test_mcp_tools_list_by_revision),
		cmocka_unit_test(test_mcp_tools_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
