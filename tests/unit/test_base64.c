#include "unit.h"

#include <stdbool.h>

#include "base/base64.h"

/* @text must decode to the @len bytes of @want. */
static void expect(const char *text, const char *want, size_t len)
{
	size_t got_len = 999;
	char *got = base64_decode(text, strlen(text), &got_len);

	assert_non_null(got);
	assert_int_equal(got_len, len);
	assert_memory_equal(got, want, len);
	free(got);
}

static void expect_refused(const char *text, size_t len)
{
	size_t got_len = 999;
	char *got = base64_decode(text, len, &got_len);

	if (got)
		print_error("'%.*s' was accepted\n", (int)len, text);
	assert_null(got);
}

/* RFC 4648, section 10. */
static void test_base64_vectors(void **state)
{
	(void)state;
	expect("", "", 0);
	expect("Zg==", "f", 1);
	expect("Zm8=", "fo", 2);
	expect("Zm9v", "foo", 3);
	expect("Zm9vYg==", "foob", 4);
	expect("Zm9vYmE=", "fooba", 5);
	expect("Zm9vYmFy", "foobar", 6);
	expect("AP+AfwA=", "\0\xff\x80\x7f\0", 5);
	expect("+/+/", "\xfb\xff\xbf", 3);
}

static void test_base64_refuses(void **state)
{
	static const char *const bad[] = {
		"Z", "Zg", "Zg=", "Z===", "====", "=", "Zg==Zg==", "Zm=v", "=Zg=", "Zm9v\n", "Zm9v ",
		" Zm9v", "Zm\n9v", "Zm9_", "Zm9-", "Zm9*", "Zm\xc3\xa9", "Zm9vZg=\n", "Zm9v====",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused(bad[i], strlen(bad[i]));
	expect_refused("Zm\0v", 4);
}

/* Every byte that is not one of the alphabet is refused in every place of a group. */
static void test_base64_alphabet_is_exact(void **state)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)state;
	for (int byte = 0; byte < 256; byte++)
		for (int place = 0; place < 4; place++) {
			char text[] = "AAAAAAAA";
			bool good = byte && strchr(alphabet, byte);
			size_t len;
			char *got;

			text[place] = (char)byte;
			got = base64_decode(text, 8, &len);
			assert_int_equal(got != NULL, good);
			free(got);
		}
}

static void encode(const unsigned char *bytes, size_t len, char *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t at = 0; at < len; at += 3) {
		uint32_t bits = (uint32_t)bytes[at] << 16;

		if (at + 1 < len)
			bits |= (uint32_t)bytes[at + 1] << 8;
		if (at + 2 < len)
			bits |= bytes[at + 2];
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		*out++ = at + 1 < len ? alphabet[bits >> 6 & 63] : '=';
		*out++ = at + 2 < len ? alphabet[bits & 63] : '=';
	}
	*out = '\0';
}

static void test_base64_round_trip(void **state)
{
	uint64_t seed = 11;
	unsigned char bytes[200];
	char text[300];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t len = unit_random(&seed) % sizeof(bytes);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)unit_random(&seed);
		encode(bytes, len, text);
		expect(text, (const char *)bytes, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64_vectors),
		cmocka_unit_test(test_base64_refuses),
		cmocka_unit_test(test_base64_alphabet_is_exact),
		cmocka_unit_test(test_base64_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
