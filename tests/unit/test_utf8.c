#include "unit.h"

#include <stdbool.h>

#include "base/utf8.h"

/*
 * The model: every character there is, encoded by the book, and every beginning
 * of one, kept in tables. prefix[n] marks beginnings of n bytes by their value.
 */
static bool whole2[1 << 16];
static unsigned char whole3[1 << 21];
static unsigned char prefix[4][1 << 21];

static uint32_t number(const unsigned char *s, size_t len)
{
	uint32_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | s[i];
	return value;
}

static void set_bit(unsigned char *bits, uint32_t i)
{
	bits[i / 8] |= (unsigned char)(1u << i % 8);
}

static bool has_bit(const unsigned char *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

static int build_model(void **state)
{
	unsigned char s[4];

	(void)state;
	for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
		size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		for (size_t i = len - 1; i > 0; i--)
			s[i] = (unsigned char)(0x80 | (c >> 6 * (len - 1 - i) & 0x3f));
		s[0] = (unsigned char)((0xf00u >> len & 0xff) | c >> 6 * (len - 1));
		for (size_t n = 1; n < len; n++)
			set_bit(prefix[n], number(s, n));
		if (len == 2)
			whole2[number(s, 2)] = true;
		if (len == 3)
			set_bit(whole3, number(s, 3));
	}
	return 0;
}

static bool model_is_prefix(const unsigned char *s, size_t len)
{
	return len < 4 && has_bit(prefix[len], number(s, len));
}

/* Can @len bytes be a whole character? */
static bool model_is_char(const unsigned char *s, size_t len)
{
	if (len == 1)
		return s[0] < 0x80;
	if (len == 2)
		return whole2[number(s, 2)];
	if (len == 3)
		return has_bit(whole3, number(s, 3));
	return model_is_prefix(s, 3) && (s[3] & 0xc0) == 0x80;
}

static enum utf8_kind model_next(const unsigned char *s, size_t len, size_t *used)
{
	for (size_t n = 1; n <= 4 && n <= len; n++)
		if (model_is_char(s, n)) {
			*used = n;
			return UTF8_VALID;
		}
	/* The longest prefix of a character is the maximal subpart; at least one byte. */
	*used = 1;
	for (size_t n = 1; n <= 3 && n <= len; n++)
		if (model_is_prefix(s, n))
			*used = n;
	return *used == len && model_is_prefix(s, len) ? UTF8_PARTIAL : UTF8_INVALID;
}

/* Bytes that are often near a border. */
static unsigned char nasty_byte(uint64_t *seed)
{
	static const unsigned char bytes[] = { 0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
					       0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
					       0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff };

	return unit_random(seed) % 4 ? bytes[unit_random(seed) % sizeof(bytes)] :
				       (unsigned char)unit_random(seed);
}

static void test_utf8_next_agrees_with_the_model(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 50000; round++) {
		unsigned char bytes[6];
		size_t len = 1 + unit_random(&seed) % sizeof(bytes), used, expected;

		for (size_t i = 0; i < len; i++)
			bytes[i] = nasty_byte(&seed);
		assert_int_equal(utf8_next((const char *)bytes, len, &used),
				 model_next(bytes, len, &expected));
		assert_int_equal(used, expected);
	}
}

static void test_utf8_next_never_reads_beyond_the_range(void **state)
{
	size_t used;

	(void)state;
	/* With AddressSanitizer a read behind the end of this block would end the test. */
	for (size_t len = 1; len <= 3; len++) {
		char *block = malloc(len);

		memcpy(block, "\xf0\x9f\x98", len);
		assert_int_equal(utf8_next(block, len, &used), UTF8_PARTIAL);
		assert_int_equal(used, len);
		assert_int_equal(utf8_partial_tail(block, len), len);
		free(block);
	}
}

/* Table 3-8 of the Unicode standard. */
static void test_utf8_maximal_subparts_of_the_standard(void **state)
{
	static const char text[] = "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64";
	static const size_t sizes[] = { 1, 3, 2, 1, 1, 1, 1, 1, 1, 1 };
	size_t at = 0, used;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		utf8_next(text + at, sizeof(text) - 1 - at, &used);
		assert_int_equal(used, sizes[i]);
		at += used;
	}
	assert_int_equal(at, sizeof(text) - 1);
}

static void test_utf8_valid_refuses_what_the_standard_refuses(void **state)
{
	static const char *const bad[] = {
		"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
		"\xf4\x90\x80\x80", "\x80", "a\xff", "\xe2\x82", "\xc1\xbf",
	};

	(void)state;
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_true(utf8_valid("\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80", 10));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
}

static void test_utf8_partial_tail_counts_an_unfinished_character_only(void **state)
{
	(void)state;
	assert_int_equal(utf8_partial_tail("", 0), 0);
	assert_int_equal(utf8_partial_tail("abc", 3), 0);
	assert_int_equal(utf8_partial_tail("a\xc3", 2), 1);
	assert_int_equal(utf8_partial_tail("a\xc3\xa4", 3), 0);
	assert_int_equal(utf8_partial_tail("\xe2\x82", 2), 2);
	assert_int_equal(utf8_partial_tail("\xf0\x9f\x98", 3), 3);
	assert_int_equal(utf8_partial_tail("\x80\x80\x80\x80", 4), 0);
	assert_int_equal(utf8_partial_tail("\xe0\x80", 2), 0); /* can never be finished */
	assert_int_equal(utf8_partial_tail("\xff", 1), 0);
}

static void test_utf8_partial_head_counts_at_most_three(void **state)
{
	(void)state;
	assert_int_equal(utf8_partial_head("abc", 3), 0);
	assert_int_equal(utf8_partial_head("\x82\xac x", 4), 2);
	assert_int_equal(utf8_partial_head("\x80\x80\x80\x80", 4), 3);
	assert_int_equal(utf8_partial_head("", 0), 0);
}

static void test_utf8_cut_agrees_with_the_model(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		unsigned char bytes[12];
		size_t len = 1 + unit_random(&seed) % sizeof(bytes), at = 0, used;
		size_t max = unit_random(&seed) % (len + 2), cut;
		size_t expected = max < len ? max : len;

		for (size_t i = 0; i < len; i++)
			bytes[i] = nasty_byte(&seed);
		cut = utf8_cut((const char *)bytes, len, max);
		while (at < len) {
			enum utf8_kind kind = model_next(bytes + at, len - at, &used);

			if (kind == UTF8_VALID && at < expected && at + used > expected)
				expected = at;
			at += used;
		}
		assert_int_equal(cut, expected);
	}
}

static void test_utf8_is_shell_word_refuses_what_forges_text(void **state)
{
	static const char *const words[] = { "", "/a b/$(x)`\\\"", "/\xc3\xa9\xf0\x9f\x98\x80" };
	static const char *const others[] = {
		"it's", "a\nb", "\x1b[31m", "\x7f", "\xff", "\xc3", "\xc2\x9b", "\xc2\xa0",
		"\xe2\x80\xae", "\xe2\x80\x8b", "\xef\xbb\xbf",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_true(utf8_is_shell_word(words[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(utf8_is_shell_word(others[i]));
}

/* Bytes are looked at in blocks: each byte at each place in several, between plain ones. */
static void test_utf8_show_sees_every_byte(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++)
		for (size_t at = 0; at < 100; at++) {
			char text[100], to[6 * sizeof(text)];
			bool plain = c >= ' ' && c <= '~';
			size_t len;

			memset(text, '~', sizeof(text));
			text[at] = (char)c;
			len = utf8_show(to, sizeof(to), text, sizeof(text));
			assert_int_equal(len, plain ? 100 : c < 0x80 ? 105 : 102);
			assert_memory_equal(to, text, plain ? 100 : at);
			assert_memory_equal(to + len - (99 - at), text + at + 1, 99 - at);
		}
}

static void test_utf8_show(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{ "", "" },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "a\tb\x7f", "a\\u0009b\\u007f" },
		{ "\xc2\x80\xc2\x9f", "\\u0080\\u009f" },
		{ "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069" },
		{ "\xf3\xa0\x81\x81", "\\udb40\\udc41" }, /* a tag, U+E0041 */
		{ "\x80\xe2\x80", UTF8_REPLACEMENT UTF8_REPLACEMENT },
	};
	char to[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].shown);

		assert_int_equal(utf8_show(to, sizeof(to), rows[i].text, strlen(rows[i].text)), len);
		assert_memory_equal(to, rows[i].shown, len);
	}
	assert_int_equal(utf8_show(to, 6, "a\nb", 3), 1); /* no part of an escape */
	assert_int_equal(utf8_show(to, 7, "a\nb", 3), 7);
	assert_int_equal(utf8_show(to, 0, "a", 1), 0);
	assert_int_equal(utf8_show(to, 2, "abc", 3), 2);
	assert_int_equal(utf8_show(to, 4, "a\xf0\x9f\x98\x80", 5), 1); /* no part of a character */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8_next_agrees_with_the_model),
		cmocka_unit_test(test_utf8_is_shell_word_refuses_what_forges_text),
		cmocka_unit_test(test_utf8_next_never_reads_beyond_the_range),
		cmocka_unit_test(test_utf8_maximal_subparts_of_the_standard),
		cmocka_unit_test(test_utf8_valid_refuses_what_the_standard_refuses),
		cmocka_unit_test(test_utf8_partial_tail_counts_an_unfinished_character_only),
		cmocka_unit_test(test_utf8_partial_head_counts_at_most_three),
		cmocka_unit_test(test_utf8_cut_agrees_with_the_model),
		cmocka_unit_test(test_utf8_show),
		cmocka_unit_test(test_utf8_show_sees_every_byte),
	};

	return cmocka_run_group_tests(tests, build_model, NULL);
}
