#include "unit.h"

#include "base/result.h"
#include "base/utf8.h"

static struct result res;

static int release(void **state)
{
	(void)state;
	result_release(&res);
	return 0;
}

static struct jsonw *begin(void)
{
	result_release(&res);
	result_init(&res, 1 << 22);
	return result_begin(&res, true);
}

static void assert_json(const struct outline_value *v, const char *wanted)
{
	assert_int_equal(v->json_len, strlen(wanted));
	assert_memory_equal(res.json.data + v->json, wanted, v->json_len);
}

static void assert_text(const struct outline_value *v, const char *wanted)
{
	size_t kept;
	const char *text = outline_text(&res.outline, v, &kept);

	assert_int_equal(v->kind, OUTLINE_TEXT);
	assert_int_equal(kept, strlen(wanted));
	assert_memory_equal(text, wanted, kept);
}

static void test_outline_knows_kind_number_and_json(void **state)
{
	struct jsonw *w = begin();
	const struct outline *o = &res.outline;

	(void)state;
	jsonw_int(w, "n", -7);
	jsonw_bool(w, "yes", true);
	jsonw_null(w, "none");
	jsonw_double(w, "real", 1.5);
	jsonw_raw(w, "raw", "[1]", 3);
	jsonw_time(w, "at", 0);
	jsonw_str(w, "text", "say \"hi\"\n");
	result_end(&res);
	assert_int_equal(o->count, 7);
	assert_int_equal(outline_find(o, NULL, "n")->kind, OUTLINE_INT);
	assert_int_equal(outline_find(o, NULL, "n")->number, -7);
	assert_json(outline_find(o, NULL, "n"), "-7");
	assert_int_equal(outline_find(o, NULL, "yes")->kind, OUTLINE_BOOL);
	assert_int_equal(outline_find(o, NULL, "yes")->number, 1);
	assert_int_equal(outline_find(o, NULL, "none")->kind, OUTLINE_NULL);
	assert_int_equal(outline_find(o, NULL, "real")->kind, OUTLINE_OTHER);
	assert_json(outline_find(o, NULL, "raw"), "[1]");
	assert_int_equal(outline_find(o, NULL, "at")->kind, OUTLINE_NULL);
	assert_json(outline_find(o, NULL, "text"), "\"say \\\"hi\\\"\\n\"");
	assert_text(outline_find(o, NULL, "text"), "say \"hi\"\n");
	assert_null(outline_find(o, NULL, "other"));
}

/* Deeper values are part of the JSON of the value above them. */
static void test_outline_has_its_levels(void **state)
{
	struct jsonw *w = begin();
	const struct outline_value *v, *first, *object, *deeper;

	(void)state;
	jsonw_array(w, "list");
	jsonw_str(w, NULL, "one");
	jsonw_object(w, NULL);
	jsonw_str(w, "deep", "unseen");
	jsonw_array(w, "deeper");
	jsonw_array(w, NULL);
	jsonw_int(w, NULL, 3);
	jsonw_end_array(w);
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_str(w, NULL, "two");
	jsonw_end_array(w);
	jsonw_str(w, "last", "three");
	result_end(&res);
	v = outline_find(&res.outline, NULL, "list");
	assert_int_equal(v->kind, OUTLINE_ARRAY);
	assert_json(v, "[\"one\",{\"deep\":\"unseen\",\"deeper\":[[3]]},\"two\"]");
	first = outline_next(&res.outline, v, NULL);
	assert_int_equal(first->level, 2);
	assert_null(first->key);
	assert_text(first, "one");
	object = outline_next(&res.outline, v, first);
	assert_json(object, "{\"deep\":\"unseen\",\"deeper\":[[3]]}");
	assert_text(outline_find(&res.outline, object, "deep"), "unseen");
	deeper = outline_next(&res.outline, outline_find(&res.outline, object, "deeper"), NULL);
	assert_int_equal(deeper->level, OUTLINE_LEVELS);
	assert_json(deeper, "[3]");
	assert_null(outline_next(&res.outline, deeper, NULL)); /* below the last level */
	object = outline_next(&res.outline, v, object);
	assert_text(object, "two");
	assert_null(outline_next(&res.outline, v, object));
	assert_text(outline_find(&res.outline, NULL, "last"), "three");
	assert_null(outline_find(&res.outline, NULL, "deep"));
}

static void test_outline_texts_are_whole_whatever_writes_them(void **state)
{
	struct jsonw *w = begin();

	(void)state;
	jsonw_open_str(w, "pieces");
	jsonw_piece(w, "a\x01", 2);
	jsonw_piece(w, "", 0);
	jsonw_piece(w, "bc", 2);
	jsonw_close_str(w);
	jsonw_open_str(w, "base64");
	jsonw_base64(w, "\x00\xff\x10hello", 8);
	jsonw_close_str(w);
	jsonw_str(w, "ill", "\xff" "a\xe2\x82" "b\xc3\xa4");
	jsonw_str(w, "empty", "");
	result_end(&res);
	assert_text(outline_find(&res.outline, NULL, "pieces"), "a\x01" "bc");
	assert_text(outline_find(&res.outline, NULL, "base64"), "AP8QaGVsbG8=");
	assert_text(outline_find(&res.outline, NULL, "ill"),
		    UTF8_REPLACEMENT "a" UTF8_REPLACEMENT "b\xc3\xa4");
	assert_text(outline_find(&res.outline, NULL, "empty"), "");
}

/* The two ends of a text of @size bytes stay, in whatever pieces it came. */
static void check_ends(size_t size, size_t piece)
{
	struct jsonw *w = begin();
	char *text = test_malloc(size);
	size_t kept, wanted = size < 2 * OUTLINE_KEEP ? size : 2 * OUTLINE_KEEP;
	const struct outline_value *v;
	const char *seen;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + i % 26 + i / 1000 % 2 * ('A' - 'a'));
	jsonw_open_str(w, "t");
	for (size_t at = 0; at < size; at += piece)
		jsonw_piece(w, text + at, size - at < piece ? size - at : piece);
	jsonw_close_str(w);
	jsonw_str(w, "after", "x");
	result_end(&res);
	v = outline_find(&res.outline, NULL, "t");
	seen = outline_text(&res.outline, v, &kept);
	assert_int_equal(v->text_len, size);
	assert_int_equal(kept, wanted);
	assert_memory_equal(seen, text, kept - kept / 2);
	assert_memory_equal(seen + kept / 2, text + size - (kept - kept / 2), kept - kept / 2);
	assert_text(outline_find(&res.outline, NULL, "after"), "x");
	assert_true(res.outline.texts.cap <= 8 * OUTLINE_KEEP);
	test_free(text);
}

static void test_outline_keeps_the_ends_of_long_texts(void **state)
{
	static const size_t sizes[] = { 1, 9999, 19999, 20000, 20001, 40000, 40001, 50001, 400000 };
	static const size_t pieces[] = { 1, 777, 10000, 65536, 1000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t j = 0; j < sizeof(pieces) / sizeof(*pieces); j++)
			check_ends(sizes[i], pieces[j]);
}

static void test_outline_is_empty_unless_asked_for(void **state)
{
	struct jsonw *w;

	(void)state;
	begin();
	w = result_begin(&res, false);
	jsonw_int(w, "n", 1);
	result_end(&res);
	assert_int_equal(res.outline.count, 0);
	assert_string_equal(res.json.data, "{\"n\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outline_knows_kind_number_and_json),
		cmocka_unit_test(test_outline_has_its_levels),
		cmocka_unit_test(test_outline_texts_are_whole_whatever_writes_them),
		cmocka_unit_test(test_outline_keeps_the_ends_of_long_texts),
		cmocka_unit_test(test_outline_is_empty_unless_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
