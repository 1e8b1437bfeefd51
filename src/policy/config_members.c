#include "policy/config_members.h"

#include <stdlib.h>

#include "base/mem.h"

/* As the type of its row has it. */
static void config_members_value(struct jsonw *w, const char *name, const struct config *c,
				 enum config_key key)
{
	switch (config_rows[key].type) {
	case CONFIG_INTEGER:
		jsonw_int(w, name, config_int(c, key));
		return;
	case CONFIG_BOOLEAN:
		jsonw_bool(w, name, config_bool(c, key));
		return;
	case CONFIG_ENUM:
		jsonw_str(w, name, config_choice(c, key));
		return;
	case CONFIG_PORTS:
		if (!*config_names(c, key)) {
			jsonw_bool(w, name, config_bool(c, key));
			return;
		}
		jsonw_array(w, name);
		for (char *const *port = config_names(c, key); *port; port++)
			jsonw_int(w, NULL, strtol(*port, NULL, 10));
		jsonw_end_array(w);
		return;
	case CONFIG_NAMES:
		jsonw_array(w, name);
		for (char *const *one = config_names(c, key); *one; one++)
			jsonw_str(w, NULL, *one);
		jsonw_end_array(w);
		return;
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}

static void config_members_default(struct jsonw *w, enum config_key key)
{
	struct config defaults;

	config_init(&defaults);
	config_members_value(w, "default", &defaults, key);
	config_release(&defaults);
}

static void config_members_choices(struct jsonw *w, struct strtab_list choices)
{
	jsonw_array(w, "choices");
	for (const char *one = strtab_first(choices); one; one = strtab_next(one))
		jsonw_str(w, NULL, one);
	jsonw_end_array(w);
}

/* {minimum, maximum, unit}, {choices}, {maximum} of names; null where there are none. */
static void config_members_bounds(struct jsonw *w, const struct config_row *row)
{
	const char *unit = strtab_get(row->unit);

	if (row->type == CONFIG_BOOLEAN || (row->type == CONFIG_NAMES && !row->max)) {
		jsonw_null(w, "bounds");
		return;
	}
	jsonw_object(w, "bounds");
	if (row->type == CONFIG_ENUM) {
		config_members_choices(w, row->choices);
	} else {
		jsonw_int(w, "minimum", row->min);
		jsonw_int(w, "maximum", row->max);
		if (unit)
			jsonw_str(w, "unit", unit);
	}
	jsonw_end_object(w);
}

void config_members_write(struct jsonw *w, const struct config *c, enum config_key key)
{
	jsonw_object(w, config_rows[key].name);
	config_members_value(w, "value", c, key);
	config_members_default(w, key);
	jsonw_str(w, "origin", config_origin(c, key));
	config_members_bounds(w, &config_rows[key]);
	jsonw_end_object(w);
}
