#include "unit.h"

#include <dirent.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

#define DEPTH 64
#define FILE_MAX 300000

static enum json_fault fault_of(const char *text, size_t len)
{
	enum json_fault fault;
	char why[160];
	json_t *value = json_text_parse(text, len, DEPTH, &fault, why);

	assert_int_equal(value != NULL, fault == JSON_OK);
	if (!value)
		assert_true(why[0]);
	json_decref(value);
	return fault;
}

#define assert_fault(text, fault) assert_int_equal(fault_of((text), sizeof(text) - 1), (fault))

static void test_json_accepts_json(void **state)
{
	(void)state;
	assert_fault("{}", JSON_OK);
	assert_fault(" [1, \"a\", null, true, 1.5e3]\r", JSON_OK);
	assert_fault("5", JSON_OK);
	assert_fault("\xef\xbb\xbf{\"a\":1}", JSON_OK);
	assert_fault("{\"a\":\"\\u0000\"}", JSON_OK);
	assert_fault("{\"id\":9007199254740993}", JSON_OK);
	assert_fault("[9223372036854775807,-9223372036854775808]", JSON_OK);
}

static void test_json_malformed(void **state)
{
	(void)state;
	assert_fault("", JSON_MALFORMED);
	assert_fault("\xef\xbb\xbf", JSON_MALFORMED);
	assert_fault("{", JSON_MALFORMED);
	assert_fault("{\"a\":1}x", JSON_MALFORMED);
	assert_fault("{} {}", JSON_MALFORMED);
	assert_fault("[1,]", JSON_MALFORMED);
	assert_fault("{'a':1}", JSON_MALFORMED);
	assert_fault("[NaN]", JSON_MALFORMED);
	assert_fault("[\"\x80\"]", JSON_MALFORMED);
	assert_fault("[\"a\nb\"]", JSON_MALFORMED);
	assert_fault("[1]\0", JSON_MALFORMED);
	assert_fault("[\"\\ud8\"]", JSON_MALFORMED);
	assert_fault("[\"\\ud800\" 1]", JSON_MALFORMED);
	assert_fault("[\"\\ud80g\"]", JSON_MALFORMED);
	assert_fault("[1-1e400]", JSON_MALFORMED);
	assert_fault("[\"a\\", JSON_MALFORMED);
	assert_fault("\"", JSON_MALFORMED);
	assert_fault("-", JSON_MALFORMED);
	assert_fault("tru", JSON_MALFORMED);
}

static void test_json_refused_is_not_malformed(void **state)
{
	(void)state;
	assert_fault("{\"a\":1,\"a\":2}", JSON_REFUSED);
	assert_fault("{\"a\":1,\"\\u0061\":2}", JSON_REFUSED);
	assert_fault("{\"x\":{\"a\":1,\"a\":1}}", JSON_REFUSED);
	assert_fault("{\"a\\u0000b\":1}", JSON_REFUSED);
	assert_fault("[9223372036854775808]", JSON_REFUSED);
	assert_fault("[-9223372036854775809]", JSON_REFUSED);
	assert_fault("[1e999]", JSON_REFUSED);
	assert_fault("[\"\\ud800\"]", JSON_REFUSED);
	assert_fault("[\"a\\udfffb\"]", JSON_REFUSED);
	assert_fault("[\"\\ud83d\\ude00\\ud800\\u0041\"]", JSON_REFUSED);
	assert_fault("[\"\\ud800\\ud800\", 1, \"\\\\ud800\"]", JSON_REFUSED);
	assert_fault("{\"\\ude00\":1}", JSON_REFUSED);
}

static void test_json_malformed_wins_over_refused(void **state)
{
	(void)state;
	assert_fault("{\"a\":1,\"a\":2", JSON_MALFORMED);
	assert_fault("{\"a\":1,\"a\":2}}", JSON_MALFORMED);
	assert_fault("{\"a\\u0000b\":1,}", JSON_MALFORMED);
	assert_fault("[9223372036854775808", JSON_MALFORMED);
	assert_fault("{\"a\":1,\"a\":9223372036854775808,\"b\\u0000\":]", JSON_MALFORMED);
}

static void test_json_says_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{\"a\":1,\"\\u0061\":2}", "the member \"a\" occurs twice (byte 8)" },
		{ "{\"\":1,\"\":2}", "the member \"\" occurs twice (byte 7)" },
		{ "[\"a\", \"b]", "a string does not end (byte 7)" },
		{ "[\"a\nb\"]", "a control character in a string (byte 4)" },
		{ "[\"\\d\"]", "this is not an escape (byte 3)" },
		{ "[1.]", "this is not a number (byte 2)" },
		{ "[01]", ", or ] expected, not 1 (byte 3)" },
		{ "{'a':1}", "a member name in quotes expected, not ' (byte 2)" },
		{ "{\"a\" \x01", "a colon expected, not the byte 0x01 (byte 6)" },
		{ "[", "a value expected, and the text ends" },
		{ "[]]", "the end of the text expected, not ] (byte 3)" },
		{ "[1e400]", "a number beyond the range of a double (byte 2)" },
		{ "[9223372036854775808]", "an integer outside the signed 64-bit range (byte 2)" },
	};
	enum json_fault fault;
	char why[160];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_null(json_text_parse(cases[i].text, strlen(cases[i].text), DEPTH, &fault,
					    why));
		assert_string_equal(why, cases[i].why);
	}
}

static void test_json_depth_is_counted_outside_strings(void **state)
{
	char text[1000];
	enum json_fault fault;
	char why[160];
	json_t *value;

	(void)state;
	for (int depth = DEPTH; depth <= DEPTH + 1; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		assert_int_equal(fault_of(text, 2 * (size_t)depth),
				 depth == DEPTH ? JSON_OK : JSON_MALFORMED);
	}
	text[0] = '"';
	memset(text + 1, '[', 200);
	memcpy(text + 201, "\\\"{{{\"", 6);
	assert_int_equal(fault_of(text, 207), JSON_OK);
	assert_fault("[[]][[]]", JSON_MALFORMED);
	value = json_text_parse("[[]]", 4, 1, &fault, why);
	assert_null(value);
	assert_string_equal(why, "nested deeper than 1 levels");
}

/* ---- beside the parser of jansson ---- */

/* What a string may hold, and what it may not, each as it stands in a text. */
static const char *const pieces[] = {
	"plain text, and more of it; ", "x", "/", "\x7f", "\\n", "\\\"", "\\\\", "\\/", "\\b\\f\\r\\t",
	"\\u0041", "\\u00e9", "\\u20AC", "\\ud83d\\ude00", "\\u0000", "\xc3\xa9", "\xe2\x82\xac",
	"\xf0\x9f\x98\x80", "\\uffff",
	/* from here on: refused, or malformed */
	"\\ud800", "\\ude00", "\\ud800\\u0041", "\\ud83d\\ud83d\\ude00", "\\u12", "\\u12g4", "\\u+123", "\\x",
	"\\", "\"", "\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff", "\n", "\x01",
};
#define PIECES_GOOD 18

static void add_random_string(struct buf *text, uint64_t *seed)
{
	static const size_t sizes[] = { 0, 5, 24, 28, 30, 31, 32, 33, 40, 100, 1024, 5000, 20000 };
	size_t from = text->len, size = sizes[unit_random(seed) % COUNT_OF(sizes)];
	bool bad = unit_random(seed) % 40 == 0;

	buf_addc(text, '"');
	while (text->len - from < size) {
		size_t count = bad && unit_random(seed) % 20 == 0 ? COUNT_OF(pieces) : PIECES_GOOD;

		/* mostly long plain runs */
		buf_adds(text, pieces[unit_random(seed) % 3 ? 0 : unit_random(seed) % count]);
	}
	buf_addc(text, '"');
}

static void add_random_value(struct buf *text, uint64_t *seed, int depth)
{
	static const char *const others[] = { "0", "-1.5e3", "true", "null", " 12 ", "{}", "[ ]", "\"\"" };
	size_t count = unit_random(seed) % 5;
	bool object = unit_random(seed) % 2;

	if (!depth || unit_random(seed) % 3 == 0) {
		if (unit_random(seed) % 2)
			add_random_string(text, seed);
		else
			buf_adds(text, others[unit_random(seed) % COUNT_OF(others)]);
		return;
	}
	buf_addc(text, object ? '{' : '[');
	for (size_t i = 0; i < count; i++) {
		buf_adds(text, i ? " ," : "\t");
		if (object && unit_random(seed) % 10 == 0)
			add_random_string(text, seed);
		else if (object) /* now and then a duplicate */
			buf_addf(text, "\"n%d\"", (int)(unit_random(seed) % 100));
		buf_adds(text, object ? " : " : "");
		add_random_value(text, seed, depth - 1);
	}
	buf_addc(text, object ? '}' : ']');
}

/* jansson's parser is the model: the same value with the same order of members, or none either. */
static void assert_parsed_as_by_jansson(const char *text, size_t len)
{
	const size_t dump = JSON_ENCODE_ANY | JSON_COMPACT;
	json_t *expected = json_loadb(
		text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	enum json_fault fault;
	char why[160];
	json_t *value = json_text_parse(text, len, DEPTH, &fault, why);
	AUTO_FREE char *a = NULL, *b = NULL;

	assert_int_equal(value != NULL, expected != NULL);
	if (value) {
		a = json_dumps(expected, dump);
		b = json_dumps(value, dump);
		assert_true(a && b && !strcmp(a, b) && json_equal(value, expected));
	}
	json_decref(expected);
	json_decref(value);
}

static void test_json_reads_what_jansson_reads(void **state)
{
	uint64_t seed = 20;
	struct buf text;
	char kept;

	(void)state;
	buf_init(&text, 1 << 24);
	for (int i = 0; i < (unit_stress() ? 3000 : 800); i++) {
		buf_clear(&text);
		add_random_value(&text, &seed, 3);
		assert_parsed_as_by_jansson(text.data, text.len);
		for (int j = 0; j < 2; j++) { /* and damaged */
			size_t at = unit_random(&seed) % text.len;

			kept = text.data[at];
			text.data[at] = "\"\\,:{}[] x"[unit_random(&seed) % 10];
			assert_parsed_as_by_jansson(text.data, text.len);
			text.data[at] = kept;
		}
		assert_parsed_as_by_jansson(text.data, unit_random(&seed) % text.len);
	}
	buf_release(&text);
}

/* Each piece in the middle and at either end of a long string. */
static void test_json_strings_hold_what_they_do_for_jansson(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(pieces); i++)
		for (size_t place = 0; place <= 3000; place += place < 20 ? 1 : 745) {
			buf_clear(&text);
			buf_addf(&text, "[1,\"%0*d%s%0*d\"]", (int)place, 0, pieces[i],
				 (int)(3000 - place), 0);
			assert_parsed_as_by_jansson(text.data, text.len);
			buf_clear(&text);
			buf_addf(&text, "\"%0*d%s\"", 3000, 0, pieces[i]);
			assert_parsed_as_by_jansson(text.data, text.len);
		}
	buf_release(&text);
}

static void assert_raw(const char *text, const char *name, const char *expected)
{
	size_t len = 0;
	const char *token = json_raw_member(text, strlen(text), name, &len);

	if (!expected) {
		assert_null(token);
		return;
	}
	assert_non_null(token);
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(token, expected, len);
}

static void test_json_raw_member_keeps_the_spelling(void **state)
{
	(void)state;
	assert_raw("{\"id\":1.50e1}", "id", "1.50e1");
	assert_raw("{\"id\":9007199254740993 }", "id", "9007199254740993");
	assert_raw(" { \"a\" : [1,{\"id\":2}] , \"id\" : \"x\\u0079\\\"z\" } ", "id",
		   "\"x\\u0079\\\"z\"");
	assert_raw("{\"i\\u0064\":null,\"b\":2}", "id", "null");
	assert_raw("{\"a\":\"}\\\"id\\\":5\",\"id\":{\"k\":[\"]\"]}}", "id", "{\"k\":[\"]\"]}");
	assert_raw("\xef\xbb\xbf{\"id\":\"\"}", "id", "\"\"");
	assert_raw("{\"a\":{\"id\":1}}", "id", NULL);
	assert_raw("{}", "id", NULL);
	assert_raw("[\"id\",1]", "id", NULL);
	assert_raw("\"id\"", "id", NULL);
	assert_raw("{\"idx\":1,\"i\":2}", "id", NULL);
}

static void assert_sole(const char *text, const char *expected)
{
	size_t len = 0;
	const char *token = json_raw_sole_member(text, strlen(text), "id", &len);

	assert_int_equal(!token, !expected);
	assert_int_equal(len && token ? len : 0, expected ? strlen(expected) : 0);
	if (token)
		assert_memory_equal(token, expected, len);
}

static void test_json_raw_sole_member_is_unambiguous(void **state)
{
	(void)state;
	assert_sole("{\"id\":7,\"a\":1,\"a\":2}", "7");
	assert_sole("{\"a\\u0000\":1,\"id\":7,\"params\":{\"id\":8}}", "7");
	assert_sole("{\"id\":7,\"params\":[-1.5e+999],\"\\u0069d\":7 }", "7");
	assert_sole("{\"id\":7,\"a\":1,\"i\\u0064\":8}", NULL);
	assert_sole("{\"id\":7,\"id\":7,\"id\":\"7\"}", NULL);
	assert_sole("{\"params\":{\"id\":8}}", NULL);
	assert_sole("[{\"id\":8}]", NULL);
	/* What is no JSON, which nobody has parsed, is read within its bounds. */
	assert_sole("{\"id\":7,,,\"a\"", "7");
	assert_sole("{\"id", NULL);
	assert_sole("{\"id\"", NULL);
	assert_sole("{\"id\":", NULL);
	assert_sole("{\"id\\u00\":1,\"id\\", NULL);
	assert_sole("{\"\\", NULL);
	assert_sole("{\"id\\u0000\":1}", NULL);
}

static void test_json_raw_elements(void **state)
{
	static const char text[] = "\xef\xbb\xbf [ {\"a\":[1,2]} ,\"x,]\" ,3,[ ] ]";
	static const char *const expected[] = { "{\"a\":[1,2]}", "\"x,]\"", "3", "[ ]" };
	size_t pos = 0, len;
	const char *element;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		element = json_raw_element(text, strlen(text), &pos, &len);
		assert_non_null(element);
		assert_int_equal(len, strlen(expected[i]));
		assert_memory_equal(element, expected[i], len);
	}
	assert_null(json_raw_element(text, strlen(text), &pos, &len));
	assert_null(json_raw_element(text, strlen(text), &pos, &len));
	pos = 0;
	assert_null(json_raw_element(" [ ] ", 5, &pos, &len));
	pos = 0;
	assert_null(json_raw_element("{}", 2, &pos, &len));
}

static void test_json_getters(void **state)
{
	json_t *o = json_pack("{s:s,s:i,s:f,s:b,s:n}", "s", "text", "i", 5, "f", 2.9, "b", 1, "n");

	(void)state;
	assert_string_equal(json_get_str(o, "s", "x"), "text");
	assert_string_equal(json_get_str(o, "i", "x"), "x");
	assert_null(json_get_str(o, "none", NULL));
	assert_int_equal(json_get_int(o, "i", 9), 5);
	assert_int_equal(json_get_int(o, "f", 9), 2);
	assert_int_equal(json_get_int(o, "n", 9), 9);
	assert_true(json_get_num(o, "f", 0) > 2.8);
	assert_true(json_get_num(o, "i", 0) > 4.9);
	assert_true(json_get_bool(o, "b", false));
	assert_true(json_get_bool(o, "s", true));
	json_decref(o);
}

/* Small objects are read in another way than larger ones. */
static void test_json_getters_in_objects_of_any_size(void **state)
{
	static const char *const names[] = { "ab", "a", "", "abc", "b", "ac", "c" };
	json_t *o = json_object();

	(void)state;
	assert_int_equal(json_get_int(NULL, "a", -1), -1);
	for (int size = 0; size <= (int)COUNT_OF(names); size++) {
		for (int i = 0; i < (int)COUNT_OF(names); i++)
			assert_int_equal(json_get_int(o, names[i], -1), i < size ? i : -1);
		assert_int_equal(json_get_int(o, "abcd", -1), -1);
		if (size < (int)COUNT_OF(names))
			json_object_set_new(o, names[size], json_integer(size));
	}
	json_decref(o);
}

/* --- the public suite ------------------------------------------------------------ */

static size_t read_file(const char *dir, const char *name, char *text)
{
	char path[1024];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(text, 1, FILE_MAX, f);
	assert_true(len < FILE_MAX);
	fclose(f);
	return len;
}

/* Accepted by the grammar (y_), refused by it (n_), or left to the parser (i_). */
static bool judge_file(const char *name, enum json_fault fault)
{
	if (name[0] == 'y')
		/* Our own rule: no member twice. */
		return fault == (strstr(name, "duplicated_key") ? JSON_REFUSED :
				 strstr(name, "null_character_in_key") ||
				 strstr(name, "escaped_null_in_key") ? JSON_REFUSED : JSON_OK);
	return name[0] != 'n' || fault == JSON_MALFORMED;
}

static void test_json_agrees_with_the_public_suite(void **state)
{
	char dir[512], *text;
	struct dirent *entry;
	int wrong = 0, count = 0;
	DIR *d;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/JSONTestSuite/test_parsing", unit_corpora());
	d = opendir(dir);
	if (!d) {
		printf("SKIP: no JSONTestSuite in %s\n", unit_corpora());
		skip();
	}
	text = mem_zalloc(FILE_MAX);
	while ((entry = readdir(d))) {
		enum json_fault fault;

		if (!strstr(entry->d_name, ".json"))
			continue;
		fault = fault_of(text, read_file(dir, entry->d_name, text));
		count++;
		if (!judge_file(entry->d_name, fault)) {
			print_error("%s: fault %d\n", entry->d_name, (int)fault);
			wrong++;
		}
	}
	closedir(d);
	free(text);
	assert_true(count > 300);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_accepts_json),
		cmocka_unit_test(test_json_malformed),
		cmocka_unit_test(test_json_refused_is_not_malformed),
		cmocka_unit_test(test_json_malformed_wins_over_refused),
		cmocka_unit_test(test_json_says_what_is_wrong_and_where),
		cmocka_unit_test(test_json_depth_is_counted_outside_strings),
		cmocka_unit_test(test_json_reads_what_jansson_reads),
		cmocka_unit_test(test_json_strings_hold_what_they_do_for_jansson),
		cmocka_unit_test(test_json_raw_member_keeps_the_spelling),
		cmocka_unit_test(test_json_raw_sole_member_is_unambiguous),
		cmocka_unit_test(test_json_raw_elements),
		cmocka_unit_test(test_json_getters),
		cmocka_unit_test(test_json_getters_in_objects_of_any_size),
		cmocka_unit_test(test_json_agrees_with_the_public_suite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
