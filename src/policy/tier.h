/*
 * tier - how strictly a call is treated, in the order of strictness.
 *
 * The operator's option `tier.<capability>` replaces the capability's own tier (schema/) unless it
 * is "default". On a single command a rule may decide otherwise (policy/ruling.h).
 */
#ifndef PROCPEN_POLICY_TIER_H
#define PROCPEN_POLICY_TIER_H

#include "gen/config.h" /* enum config_key */

enum tier { TIER_AUTONOMOUS, TIER_NOTIFY, TIER_CONFIRM, TIER_DENY };

struct config;

/* The tier of the capability whose own is @own, and whose option is @option (CONFIG_TIER_...). */
enum tier tier_of(const struct config *c, enum config_key option, enum tier own);

const char *tier_name(enum tier tier); /* "notify" */

#endif
