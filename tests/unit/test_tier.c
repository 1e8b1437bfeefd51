#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/config.h"
#include "policy/tier.h"

static const char *const capabilities[] = {
	"process.run", "process.monitor", "process.kill", "process.list", "process.logs",
	"is_blocked", "agent.session",
};

static void test_tier_default_is_the_capabilitys_own(void **state)
{
	struct config c;

	(void)state;
	config_init(&c);
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		for (int own = TIER_AUTONOMOUS; own <= TIER_DENY; own++)
			assert_int_equal(tier_of(&c, capabilities[i], (enum tier)own), own);
	config_release(&c);
}

static void test_tier_operator_sets_each_capability_alone(void **state)
{
	struct config c;
	struct err e = ERR_INIT;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		for (int tier = TIER_AUTONOMOUS; tier <= TIER_DENY; tier++) {
			config_init(&c);
			snprintf(text, sizeof(text), "tier.%s=%s", capabilities[i],
				 tier_name((enum tier)tier));
			assert_int_equal(config_set(&c, text, &e), 0);
			for (size_t j = 0; j < sizeof(capabilities) / sizeof(capabilities[0]); j++)
				assert_int_equal(tier_of(&c, capabilities[j], TIER_NOTIFY),
						 i == j ? tier : TIER_NOTIFY);
			config_release(&c);
		}
	}
}

static void test_tier_capability_without_option_keeps_its_own(void **state)
{
	struct config c;

	(void)state;
	config_init(&c);
	assert_int_equal(tier_of(&c, "no.such.thing", TIER_CONFIRM), TIER_CONFIRM);
	config_release(&c);
}

static void test_tier_names(void **state)
{
	(void)state;
	assert_string_equal(tier_name(TIER_AUTONOMOUS), "autonomous");
	assert_string_equal(tier_name(TIER_NOTIFY), "notify");
	assert_string_equal(tier_name(TIER_CONFIRM), "confirm");
	assert_string_equal(tier_name(TIER_DENY), "deny");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tier_default_is_the_capabilitys_own),
		cmocka_unit_test(test_tier_operator_sets_each_capability_alone),
		cmocka_unit_test(test_tier_capability_without_option_keeps_its_own),
		cmocka_unit_test(test_tier_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
