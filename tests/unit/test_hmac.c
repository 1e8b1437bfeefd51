#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hmac.h"

static void check(const void *key, size_t key_len, const char *text, const char *wanted)
{
	unsigned char mac[HMAC_SIZE];
	char hex[2 * HMAC_SIZE + 1];

	hmac_sign(key, key_len, text, strlen(text), mac);
	hmac_hex(mac, sizeof(mac), hex);
	assert_string_equal(hex, wanted);
}

/* The test cases of RFC 4231: a short key, and one that is longer than a block. */
static void test_hmac_signs_as_the_standard_says(void **state)
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

static void test_hmac_compares_every_byte(void **state)
{
	unsigned char a[HMAC_SIZE] = { 0 }, b[HMAC_SIZE] = { 0 };

	(void)state;
	assert_true(hmac_equal(a, b, sizeof(a)));
	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] = 1;
		assert_false(hmac_equal(a, b, sizeof(a)));
		b[i] = 0;
	}
}

static void test_hmac_reads_only_its_own_hex(void **state)
{
	static const char *const bad[] = { "", "0", "00f", "00FF", "00fff", "00f ", "0x0f", "00g0" };
	unsigned char bytes[2];
	char hex[5];

	(void)state;
	assert_int_equal(hmac_unhex("00ff", bytes, 2), 0);
	assert_int_equal(bytes[1], 0xff);
	hmac_hex(bytes, 2, hex);
	assert_string_equal(hex, "00ff");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(hmac_unhex(bad[i], bytes, 2), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hmac_signs_as_the_standard_says),
		cmocka_unit_test(test_hmac_compares_every_byte),
		cmocka_unit_test(test_hmac_reads_only_its_own_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
