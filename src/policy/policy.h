/*
 * policy - the permission tier of a call.
 *
 * Tiers are ordered by strictness. The operator's option `tier.<capability>` replaces the
 * capability's own tier (schema/) unless it is "default". Nothing else changes a tier.
 */
#ifndef PROCPEN_POLICY_POLICY_H
#define PROCPEN_POLICY_POLICY_H

#include "policy/config.h"
#include "policy/tier.h"

/* The tier of @capability ("process.run") whose own tier is @own. */
enum tier policy_tier(const struct config *c, const char *capability, enum tier own);

const char *policy_tier_name(enum tier tier);

#endif
