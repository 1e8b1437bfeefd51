/* config.get: the operator's options, with value, default, origin and bounds. */
#include <string.h>

#include "cap/cap.h"
#include "policy/config_members.h"

static int config_get_prepare(struct cap_call *call, struct err *e)
{
	json_t *name;
	size_t i;

	json_array_foreach(json_object_get(call->r->params, "keys"), i, name)
		if (config_lookup(json_string_value(name), e) < 0) {
			err_hint(e, "Call config.get without keys for all of them.");
			return err_parameter(e, "keys");
		}
	return 0;
}

/* In the order of the table, each once, however they were asked for. */
static bool config_get_is_wanted(const json_t *keys, const char *option)
{
	json_t *name;
	size_t i;

	json_array_foreach(keys, i, name)
		if (!strcmp(json_string_value(name), option))
			return true;
	return !keys;
}

static enum cap_outcome config_get_start(struct cap_call *call)
{
	const json_t *keys = json_object_get(call->r->params, "keys");
	struct jsonw *w = req_result(call->r);

	for (int key = 0; key < CONFIG_COUNT; key++)
		if (config_get_is_wanted(keys, config_rows[key].name))
			config_members_write(w, call->c->config, (enum config_key)key);
	return CAP_DONE;
}

const struct cap_ops cap_config_get = {
	.prepare = config_get_prepare,
	.start = config_get_start,
};
