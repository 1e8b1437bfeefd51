/*
 * policy - which permission tier a call has.
 *
 * Tiers are ordered by strictness; the capability's own tier (schema/) is
 * replaced by the operator's `tier.<capability>` option when that is set to
 * anything but "default". Nothing else can change a tier.
 */
#ifndef PROCPEN_POLICY_POLICY_H
#define PROCPEN_POLICY_POLICY_H

#include "policy/config.h"

enum tier { TIER_AUTONOMOUS, TIER_NOTIFY, TIER_CONFIRM, TIER_DENY };

/* The tier of @capability ("process.run") whose own tier is @own. */
enum tier policy_tier(const struct config *c, const char *capability, enum tier own);

const char *policy_tier_name(enum tier tier);

#endif
