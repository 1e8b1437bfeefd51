#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json_result.h"
#include "mcp/text.h"

/* The text of the object @json, decoded; at most @max bytes are asked for. Heap. */
static char *text_of(const char *json, size_t max)
{
	struct result result;
	struct buf out;
	struct jsonw w;
	json_t *object, *value;
	char *text;

	result_init(&result, 1 << 22);
	object = json_result(&result, json);
	buf_init(&out, 1 << 22);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	jsonw_open_str(&w, "t");
	mcp_text_write(&w, &result, NULL, max);
	jsonw_close_str(&w);
	jsonw_end_object(&w);
	value = json_loads(out.data, 0, NULL);
	assert_non_null(value);
	text = strdup(json_string_value(json_object_get(value, "t")));
	json_decref(value);
	json_decref(object);
	buf_release(&out);
	result_release(&result);
	return text;
}

/* {"process_id":"p1","a":"<unit n times>"} */
static char *object_of(const char *unit, size_t n)
{
	struct buf b;

	buf_init(&b, 1 << 22);
	buf_adds(&b, "{\"process_id\":\"p1\",\"a\":\"");
	while (n--)
		buf_adds(&b, unit);
	buf_adds(&b, "\"}");
	return buf_steal(&b);
}

/* Whatever characters a text is made of, it is cut between them and says how much is missing. */
static void test_mcp_text_is_cut_at_characters(void **state)
{
	static const struct {
		const char *unit; /* as it stands in JSON */
		size_t bytes;
	} units[] = {
		{ "x", 1 }, { "\\n", 1 }, { "\\\\", 1 }, { "\\u0001", 1 }, { "\xc3\xa4", 2 },
		{ "\\u00e4", 2 }, { "\xe2\x82\xac", 3 }, { "\xf0\x9f\x98\x80", 4 },
		{ "\\ud83d\\ude00", 4 }, { "a\\\"\xc3\xa4", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		char *json = object_of(units[i].unit, 20000), *text = text_of(json, MCP_TEXT_MAX);
		char *mark = strstr(text, "[... "), *end = strstr(text, " ...]\n");
		size_t shown, missing;

		assert_non_null(mark);
		assert_true(strlen(text) <= MCP_TEXT_MAX);
		assert_true(strlen(text) > MCP_TEXT_MAX - 400);
		assert_true(utf8_valid(text, strlen(text)));
		assert_null(strstr(text, UTF8_REPLACEMENT));
		assert_non_null(strstr(mark, "process_logs {\"process_id\":\"p1\"}"));
		missing = strtoul(mark + 5, NULL, 10);
		assert_int_equal(missing % units[i].bytes, 0);
		shown = (size_t)(mark - (strstr(text, " bytes)\n") + 8)) + strlen(end + 6);
		/* A newline before the mark, and one at the end, may be ours. */
		assert_in_range(shown + missing, 20000 * units[i].bytes, 20000 * units[i].bytes + 2);
		free(text);
		free(json);
	}
}

/* Several long texts share what there is; a short one beside them is shown whole. */
static void test_mcp_text_shares_its_room(void **state)
{
	struct buf b;
	char *text, *at;

	(void)state;
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"a\":\"");
	for (int i = 0; i < 30000; i++)
		buf_addc(&b, 'a');
	buf_adds(&b, "\",\"short\":\"one\\ntwo\",\"b\":\"");
	for (int i = 0; i < 30000; i++)
		buf_addc(&b, 'b');
	buf_adds(&b, "\",\"n\":1}");
	text = text_of(b.data, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX);
	assert_int_equal(strncmp(text, "n: 1\n--- a (30000 bytes)\n", 25), 0);
	assert_non_null(strstr(text, "--- short (7 bytes)\none\ntwo\n"));
	at = strstr(text, "--- b (30000 bytes)\n");
	assert_non_null(at);
	assert_true(strlen(at) > 4000);
	free(text);
	buf_release(&b);
}

/* A list is cut at an element; what is nested in one does not end it. */
static void test_mcp_text_cuts_lists_at_elements(void **state)
{
	struct buf b;
	char *text;

	(void)state;
	buf_init(&b, 1 << 20);
	buf_adds(&b, "{\"list\":[");
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%s{\"n\":%d,\"s\":\"a]},{\\\"\",\"l\":[1,[2]]}", i ? "," : "", i);
	buf_adds(&b, "],\"total\":1000}");
	text = text_of(b.data, MCP_TEXT_MAX);
	assert_true(strlen(text) <= MCP_TEXT_MAX);
	assert_non_null(strstr(text, "\"l\":[1,[2]]}]\n[... "));
	assert_non_null(strstr(text, " of 1000 left out: ask for fewer"));
	assert_non_null(strstr(text, "total: 1000\n"));
	free(text);
	buf_release(&b);
}

/* However little room there is, nothing is written past it by much, and nothing breaks. */
static void test_mcp_text_with_no_room(void **state)
{
	char *json = object_of("x", 5000), *text;

	(void)state;
	for (size_t max = 0; max < 600; max += 37) {
		text = text_of(json, max);
		assert_true(strlen(text) <= max + 500);
		assert_non_null(strstr(text, "--- a (5000 bytes)\n"));
		free(text);
	}
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mcp_text_is_cut_at_characters),
		cmocka_unit_test(test_mcp_text_shares_its_room),
		cmocka_unit_test(test_mcp_text_cuts_lists_at_elements),
		cmocka_unit_test(test_mcp_text_with_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
