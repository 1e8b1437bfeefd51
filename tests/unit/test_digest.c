#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/digest.h"

/* The examples of FIPS 180-4, and lengths around a block's. */
static void test_digest_is_sha256(void **state)
{
	static const char *const args[] = { "abc", "d", NULL };
	char text[DIGEST_TEXT_SIZE], same[DIGEST_TEXT_SIZE], bytes[64];

	(void)state;
	digest_text("abc", 3, text);
	assert_string_equal(text,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_text("", 0, text);
	assert_string_equal(text,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	digest_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, text);
	assert_string_equal(text,
			    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(bytes, 'a', sizeof(bytes));
	digest_text(bytes, 64, text);
	assert_string_equal(text,
			    "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	digest_args(args, text);
	digest_text("abc\0d", 6, same);
	assert_string_equal(text, same);
}

static void check(const void *key, size_t key_len, const char *text, const char *wanted)
{
	unsigned char mac[DIGEST_SIZE];
	char hex[DIGEST_TEXT_SIZE];

	digest_sign(key, key_len, text, strlen(text), mac);
	digest_hex(mac, sizeof(mac), hex);
	assert_string_equal(hex, wanted);
}

/* The test cases of RFC 4231: a short key, and one that is longer than a block. */
static void test_digest_signs_as_the_standard_says(void **state)
{
	unsigned char key[131];

	(void)state;
	memset(key, 0x0b, 20);
	check(key, 20, "Hi There",
	      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	check("Jefe", 4, "what do ya want for nothing?",
	      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	check(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First",
	      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_digest_compares_every_byte(void **state)
{
	unsigned char a[DIGEST_SIZE] = { 0 }, b[DIGEST_SIZE] = { 0 };

	(void)state;
	assert_true(digest_equal(a, b, sizeof(a)));
	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] = 1;
		assert_false(digest_equal(a, b, sizeof(a)));
		b[i] = 0;
	}
}

static void test_digest_reads_only_its_own_hex(void **state)
{
	static const char *const bad[] = { "", "0", "00f", "00FF", "00fff", "00f ", "0x0f", "00g0" };
	unsigned char bytes[2];
	char hex[5];

	(void)state;
	assert_int_equal(digest_unhex("00ff", bytes, 2), 0);
	assert_int_equal(bytes[1], 0xff);
	digest_hex(bytes, 2, hex);
	assert_string_equal(hex, "00ff");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(digest_unhex(bad[i], bytes, 2), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digest_is_sha256),
		cmocka_unit_test(test_digest_signs_as_the_standard_says),
		cmocka_unit_test(test_digest_compares_every_byte),
		cmocka_unit_test(test_digest_reads_only_its_own_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
