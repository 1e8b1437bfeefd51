#include "policy/tier.h"

#include <string.h>

#include "base/mem.h"
#include "policy/config.h"

static const char *const tier_names[] = {
	[TIER_AUTONOMOUS] = "autonomous",
	[TIER_NOTIFY] = "notify",
	[TIER_CONFIRM] = "confirm",
	[TIER_DENY] = "deny",
};

enum tier tier_of(const struct config *c, enum config_key option, enum tier own)
{
	const char *choice = config_choice(c, option);

	for (size_t i = 0; i < COUNT_OF(tier_names); i++)
		if (strcmp(choice, tier_names[i]) == 0)
			return (enum tier)i;
	/* Only "default" remains; any other word would loosen a tier silently. */
	BUG_IF(strcmp(choice, "default") != 0);
	return own;
}

const char *tier_name(enum tier tier)
{
	BUG_IF((size_t)tier >= COUNT_OF(tier_names));
	return tier_names[tier];
}
