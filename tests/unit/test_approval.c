#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/approval.h"
#include "unit.h"

static unsigned char request[DIGEST_SIZE] = "what is asked for";
static unsigned char shown[DIGEST_SIZE] = "what the human saw";

static void check_refused(struct approval *a, const char *token, const unsigned char *for_what,
			  const char *why)
{
	unsigned char back[DIGEST_SIZE];
	ERR_LOCAL(e);

	assert_int_equal(approval_redeem(a, token, for_what, back, &e), -1);
	assert_int_equal(e.type, ERR_INVALID_PARAMS);
	assert_non_null(strstr(e.message, why));
	err_release(&e);
}

static void check_taken(struct approval *a, const char *token)
{
	unsigned char back[DIGEST_SIZE];
	ERR_LOCAL(e);

	assert_int_equal(approval_redeem(a, token, request, back, &e), 0);
	assert_memory_equal(back, shown, DIGEST_SIZE);
}

static void test_approval_is_good_once(void **state)
{
	struct approval *a = approval_new();
	char token[APPROVAL_SIZE], other[APPROVAL_SIZE];

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	assert_int_equal(approval_issue(a, request, shown, 60000, other), 0);
	assert_string_not_equal(token, other);
	check_taken(a, token);
	check_refused(a, token, request, "used before");
	check_taken(a, other);
	check_refused(a, token, request, "used before");
	approval_free(a);
}

/* Whatever bit of it is changed, and whatever is put behind it. */
static void test_approval_notices_every_change(void **state)
{
	struct approval *a = approval_new();
	char token[APPROVAL_SIZE], changed[APPROVAL_SIZE + 2];

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	for (size_t i = 0; token[i]; i++) {
		strcpy(changed, token);
		changed[i] = token[i] == '0' ? '1' : '0';
		check_refused(a, changed, request, "requestState");
	}
	snprintf(changed, sizeof(changed), "%s0", token);
	check_refused(a, changed, request, "not issued");
	check_refused(a, "", request, "not issued");
	check_taken(a, token);
	approval_free(a);
}

static void test_approval_is_for_one_request(void **state)
{
	unsigned char another[DIGEST_SIZE] = "what is asked for.";
	struct approval *a = approval_new();
	char token[APPROVAL_SIZE];

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	check_refused(a, token, another, "another call");
	check_taken(a, token);
	approval_free(a);
}

static void test_approval_expires(void **state)
{
	struct approval *a = approval_new();
	char token[APPROVAL_SIZE];

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, -1, token), 0);
	check_refused(a, token, request, "expired");
	approval_free(a);
}

/* One that is about to expire is remembered like others. */
static void test_approval_is_good_once_at_its_end(void **state)
{
	struct approval *a = approval_new();
	unsigned char back[DIGEST_SIZE];
	char token[APPROVAL_SIZE];
	ERR_LOCAL(e);
	bool taken = false;

	(void)state;
	for (int tries = 0; !taken && tries < 100; tries++) { /* it may expire before */
		err_release(&e);
		assert_int_equal(approval_issue(a, request, shown, 500, token), 0);
		taken = !approval_redeem(a, token, request, back, &e);
	}
	assert_true(taken);
	assert_int_equal(approval_redeem(a, token, request, back, &e), -1);
	err_release(&e);
	approval_free(a);
}

static void test_approval_of_another_server_is_none(void **state)
{
	struct approval *a = approval_new(), *b = approval_new();
	char token[APPROVAL_SIZE], own[APPROVAL_SIZE];

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	check_refused(b, token, request, "not issued");
	assert_int_equal(approval_issue(b, request, shown, 60000, own), 0);
	check_refused(b, token, request, "changed");
	check_taken(b, own);
	approval_free(a);
	approval_free(b);
}

/* What was used is remembered up to a bound, and nothing is believed beyond it, until some of that
 * has expired. */
static void test_approval_has_a_bound(void **state)
{
	struct approval *a = approval_new();
	char first[APPROVAL_SIZE], token[APPROVAL_SIZE], brief[APPROVAL_SIZE];
	unsigned char back[DIGEST_SIZE];
	ERR_LOCAL(e);
	bool taken = false;

	(void)state;
	assert_int_equal(approval_issue(a, request, shown, 60000, first), 0);
	check_taken(a, first);
	for (int i = 2; i < 4096; i++) {
		assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
		check_taken(a, token);
	}
	for (int tries = 0; !taken && tries < 100; tries++) { /* it may expire before */
		err_release(&e);
		assert_int_equal(approval_issue(a, request, shown, 500, brief), 0);
		taken = !approval_redeem(a, brief, request, back, &e);
	}
	assert_true(taken);
	usleep(510000);
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	check_taken(a, token);
	assert_int_equal(approval_issue(a, request, shown, 60000, token), 0);
	check_refused(a, token, request, "too many");
	check_refused(a, first, request, "used before");
	approval_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_approval_is_good_once),
		cmocka_unit_test(test_approval_notices_every_change),
		cmocka_unit_test(test_approval_is_for_one_request),
		cmocka_unit_test(test_approval_expires),
		cmocka_unit_test(test_approval_is_good_once_at_its_end),
		cmocka_unit_test(test_approval_of_another_server_is_none),
		cmocka_unit_test(test_approval_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
