/* tier - how strictly a call is treated, in the order of strictness. */
#ifndef PROCPEN_POLICY_TIER_H
#define PROCPEN_POLICY_TIER_H

enum tier { TIER_AUTONOMOUS, TIER_NOTIFY, TIER_CONFIRM, TIER_DENY };

#endif
