#include "unit.h"

#include <jansson.h>

#include "base/jsonw.h"
#include "base/utf8.h"

#define OUT_MAX 65536

static struct buf out;

static struct jsonw start(void)
{
	struct jsonw w;

	buf_release(&out);
	buf_init(&out, OUT_MAX);
	jsonw_init(&w, &out);
	return w;
}

static int release(void **state)
{
	(void)state;
	buf_release(&out);
	return 0;
}

static void test_jsonw_writes_nested_containers(void **state)
{
	struct jsonw w = start();

	(void)state;
	jsonw_object(&w, NULL);
	jsonw_int(&w, "a", INT64_MIN);
	jsonw_array(&w, "b");
	jsonw_bool(&w, NULL, true);
	jsonw_null(&w, NULL);
	jsonw_object(&w, NULL);
	jsonw_end_object(&w);
	jsonw_str(&w, NULL, NULL);
	jsonw_end_array(&w);
	jsonw_array(&w, "c");
	jsonw_end_array(&w);
	jsonw_raw(&w, "d", "{\"x\":1}", 7);
	jsonw_bool(&w, "e", false);
	jsonw_end_object(&w);
	assert_string_equal(out.data, "{\"a\":-9223372036854775808,\"b\":[true,null,{},null],"
				      "\"c\":[],\"d\":{\"x\":1},\"e\":false}");
}

static void test_jsonw_escapes_what_json_requires_and_no_more(void **state)
{
	struct jsonw w = start();

	(void)state;
	jsonw_strn(&w, NULL, "\0\x01\x1f\b\f\n\r\t\"\\/\x7f\xe2\x80\xa8\xc3\xa4", 17);
	assert_string_equal(out.data, "\"\\u0000\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f"
				      "\xe2\x80\xa8\xc3\xa4\"");
}

static void test_jsonw_repairs_by_maximal_subpart(void **state)
{
	struct jsonw w = start();

	(void)state;
	jsonw_str(&w, NULL, "a\xf1\x80\x80\xe1\x80\xc2" "b\x80" "c\xff\xf0\x9f");
	assert_string_equal(out.data, "\"a" UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT "b"
			    UTF8_REPLACEMENT "c" UTF8_REPLACEMENT UTF8_REPLACEMENT "\"");
}

/* What a string must be after repair, character by character. */
static void model_repair(const char *s, size_t len, struct buf *to)
{
	size_t used;

	for (size_t at = 0; at < len; at += used) {
		if (utf8_next(s + at, len - at, &used) == UTF8_VALID)
			buf_add(to, s + at, used);
		else
			buf_adds(to, UTF8_REPLACEMENT);
	}
}

/* Mostly letters, often what needs care, sometimes anything. */
static char random_char(uint64_t *seed)
{
	static const char care[] = "\"\\\n\x1f\x7f\x80\xc3\xa4\xe2\x82\xac";

	if (unit_random(seed) % 3)
		return (char)('a' + unit_random(seed) % 26);
	if (unit_random(seed) % 2)
		return care[unit_random(seed) % (sizeof(care) - 1)];
	return (char)unit_random(seed);
}

static void test_jsonw_random_bytes_survive_a_parser(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		char bytes[64];
		size_t len = unit_random(&seed) % sizeof(bytes);
		struct jsonw w = start();
		struct buf expected;
		json_t *parsed;

		for (size_t i = 0; i < len; i++)
			bytes[i] = random_char(&seed);
		jsonw_strn(&w, NULL, bytes, len);
		assert_int_equal(out.len, jsonw_escaped_size(bytes, len) + 2);
		parsed = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(parsed);
		buf_init(&expected, 4 * sizeof(bytes));
		model_repair(bytes, len, &expected);
		assert_int_equal(json_string_length(parsed), expected.len);
		if (expected.len)
			assert_memory_equal(json_string_value(parsed), expected.data, expected.len);
		json_decref(parsed);
		buf_release(&expected);
	}
}

static void test_jsonw_fast_path_sees_every_byte_of_a_word(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		for (int place = 0; place < 16; place++) {
			char text[17] = "abcdefghijklmnop";
			bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';

			text[place] = (char)byte;
			assert_int_equal(jsonw_escaped_size(text, 16) == 16, plain);
		}
	}
}

/* A long text is escaped in parts; a character may begin in one and end in the next. */
static void test_jsonw_character_at_any_place_of_a_long_text(void **state)
{
	static const char part[] = "\xf0\x9f\x98\x80\n\xe1\x80z";
	char bytes[2100];

	(void)state;
	for (size_t at = 1000; at < 1040; at++) {
		struct jsonw w = start();
		struct buf expected;
		json_t *parsed;

		memset(bytes, 'a', sizeof(bytes));
		memcpy(bytes + at, part, sizeof(part) - 1);
		jsonw_strn(&w, NULL, bytes, sizeof(bytes));
		assert_int_equal(out.len, jsonw_escaped_size(bytes, sizeof(bytes)) + 2);
		parsed = json_loads(out.data, JSON_DECODE_ANY, NULL);
		buf_init(&expected, OUT_MAX);
		model_repair(bytes, sizeof(bytes), &expected);
		assert_string_equal(json_string_value(parsed), expected.data);
		buf_release(&expected);
		json_decref(parsed);
	}
}

/* The last byte of a buffer is used, and none beyond it. */
static void test_jsonw_fills_a_buffer_exactly(void **state)
{
	static const char text[] = "plain and \n, \"quoted\", \x01, \xe2\x82\xac, \xff.";
	size_t need = jsonw_escaped_size(text, strlen(text)) + 2;

	(void)state;
	for (size_t max = 0; max <= need; max++) {
		struct jsonw w = start();

		out.max = max;
		jsonw_str(&w, NULL, text);
		assert_int_equal(out.full, max < need);
		assert_true(out.len <= max);
	}
	assert_int_equal(out.len, need);
}

static void test_jsonw_takes_json(void **state)
{
	struct jsonw w = start();
	struct buf json;

	(void)state;
	buf_init(&json, OUT_MAX);
	buf_adds(&json, "[1,\"which is longer than what stands before it\"]");
	jsonw_object(&w, NULL);
	jsonw_int(&w, "a", 1);
	jsonw_take(&w, "b", &json);
	jsonw_int(&w, "c", 2);
	jsonw_end_object(&w);
	assert_string_equal(out.data, "{\"a\":1,"
				      "\"b\":[1,\"which is longer than what stands before it\"],"
				      "\"c\":2}");
	assert_int_equal(json.len, 0);
	buf_release(&json);
}

static void test_jsonw_string_in_pieces(void **state)
{
	struct jsonw w = start();

	(void)state;
	jsonw_array(&w, NULL);
	jsonw_open_str(&w, NULL);
	jsonw_piece(&w, "ab\n", 3);
	jsonw_piece(&w, "", 0);
	jsonw_piece(&w, "c", 1);
	jsonw_close_str(&w);
	jsonw_int(&w, NULL, 1);
	jsonw_end_array(&w);
	assert_string_equal(out.data, "[\"ab\\nc\",1]");
}

static void test_jsonw_base64(void **state)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{ "", "\"\"" }, { "f", "\"Zg==\"" }, { "fo", "\"Zm8=\"" }, { "foo", "\"Zm9v\"" },
		{ "foobar", "\"Zm9vYmFy\"" }, { "\xff\xfe\xfd", "\"//79\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jsonw w = start();

		jsonw_open_str(&w, NULL);
		jsonw_base64(&w, rows[i].bytes, strlen(rows[i].bytes));
		jsonw_close_str(&w);
		assert_string_equal(out.data, rows[i].text);
	}
}

static void test_jsonw_doubles_come_back_the_same(void **state)
{
	static const double values[] = { 0, 1, -1.5, 0.1, 1e300, 5e-324, 1.0 / 3, 123456789.125 };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct jsonw w = start();
		json_t *parsed;

		jsonw_double(&w, NULL, values[i]);
		parsed = json_loadb(out.data, out.len, JSON_DECODE_ANY, NULL);
		assert_true(json_is_number(parsed));
		assert_memory_equal(&(double){ json_number_value(parsed) }, &values[i], sizeof(double));
		json_decref(parsed);
	}
	start();
	assert_int_equal(out.len, 0);
}

static void test_jsonw_times(void **state)
{
	struct jsonw w = start();

	(void)state;
	jsonw_array(&w, NULL);
	jsonw_time(&w, NULL, 0);
	jsonw_time(&w, NULL, INT64_C(1795248000123));
	jsonw_end_array(&w);
	assert_string_equal(out.data, "[null,\"2026-11-21T08:00:00.123Z\"]");
}

static void test_jsonw_dumps_jansson_values(void **state)
{
	struct jsonw w = start();
	json_t *value = json_pack("{s:[i,s]}", "k", 5, "\xc3\xa4\n");
	json_t *text = json_stringn("\xc3\xa4\0\n\"", 5);

	(void)state;
	jsonw_object(&w, NULL);
	jsonw_json(&w, "v", value);
	jsonw_json(&w, "t", text);
	jsonw_end_object(&w);
	assert_string_equal(out.data, "{\"v\":{\"k\":[5,\"\xc3\xa4\\n\"]},"
				      "\"t\":\"\xc3\xa4\\u0000\\n\\\"\"}");
	json_decref(value);
	json_decref(text);
}

static void test_jsonw_a_full_buffer_is_marked_and_cut(void **state)
{
	struct jsonw w;
	struct buf small;

	(void)state;
	buf_init(&small, 8);
	jsonw_init(&w, &small);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "key", "a long value");
	jsonw_end_object(&w);
	assert_true(small.full);
	assert_true(small.len <= 8);
	buf_release(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jsonw_writes_nested_containers),
		cmocka_unit_test(test_jsonw_escapes_what_json_requires_and_no_more),
		cmocka_unit_test(test_jsonw_repairs_by_maximal_subpart),
		cmocka_unit_test(test_jsonw_random_bytes_survive_a_parser),
		cmocka_unit_test(test_jsonw_fast_path_sees_every_byte_of_a_word),
		cmocka_unit_test(test_jsonw_character_at_any_place_of_a_long_text),
		cmocka_unit_test(test_jsonw_fills_a_buffer_exactly),
		cmocka_unit_test(test_jsonw_takes_json),
		cmocka_unit_test(test_jsonw_string_in_pieces),
		cmocka_unit_test(test_jsonw_base64),
		cmocka_unit_test(test_jsonw_doubles_come_back_the_same),
		cmocka_unit_test(test_jsonw_times),
		cmocka_unit_test(test_jsonw_dumps_jansson_values),
		cmocka_unit_test(test_jsonw_a_full_buffer_is_marked_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
