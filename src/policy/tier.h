/*
 * tier - how strictly a call is treated, in the order of strictness.
 *
 * The operator's option `tier.<capability>` replaces the capability's own tier (schema/) unless it
 * is "default". On a single command a rule may decide otherwise (policy/ruling.h).
 */
#ifndef PROCPEN_POLICY_TIER_H
#define PROCPEN_POLICY_TIER_H

enum tier { TIER_AUTONOMOUS, TIER_NOTIFY, TIER_CONFIRM, TIER_DENY };

struct config;

/* The tier of @capability ("process.run") whose own tier is @own. */
enum tier tier_of(const struct config *c, const char *capability, enum tier own);

const char *tier_name(enum tier tier); /* "notify" */

#endif
