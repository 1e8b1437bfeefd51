/* config_members - the options in force as JSON: value, default, origin and bounds of each. */
#ifndef PROCPEN_POLICY_CONFIG_MEMBERS_H
#define PROCPEN_POLICY_CONFIG_MEMBERS_H

#include "base/jsonw.h"
#include "policy/config.h"

/* Write the member of @key: {value, default, origin, bounds}. */
void config_members_write(struct jsonw *w, const struct config *c, enum config_key key);

#endif
