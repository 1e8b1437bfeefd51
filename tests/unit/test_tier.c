#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "policy/config.h"
#include "policy/tier.h"

static const enum config_key options[] = {
	CONFIG_TIER_PROCESS_RUN, CONFIG_TIER_PROCESS_MONITOR, CONFIG_TIER_PROCESS_KILL,
	CONFIG_TIER_PROCESS_LIST, CONFIG_TIER_PROCESS_LOGS, CONFIG_TIER_IS_BLOCKED,
	CONFIG_TIER_AGENT_SESSION,
};

static void test_tier_default_is_the_capabilitys_own(void **state)
{
	struct config c;

	(void)state;
	config_init(&c);
	for (size_t i = 0; i < COUNT_OF(options); i++)
		for (int own = TIER_AUTONOMOUS; own <= TIER_DENY; own++)
			assert_int_equal(tier_of(&c, options[i], (enum tier)own), own);
	config_release(&c);
}

static void test_tier_operator_sets_each_capability_alone(void **state)
{
	struct config c;
	ERR_LOCAL(e);
	char text[128];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		for (int tier = TIER_AUTONOMOUS; tier <= TIER_DENY; tier++) {
			config_init(&c);
			snprintf(text, sizeof(text), "%s=%s", config_rows[options[i]].name,
				 tier_name((enum tier)tier));
			assert_int_equal(config_set(&c, text, &e), 0);
			for (size_t j = 0; j < COUNT_OF(options); j++)
				assert_int_equal(tier_of(&c, options[j], TIER_NOTIFY),
						 i == j ? tier : TIER_NOTIFY);
			config_release(&c);
		}
	}
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
		cmocka_unit_test(test_tier_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
