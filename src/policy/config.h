/*
 * config - the operator's options: one table, typed, bounded, documented.
 *
 * The rows come from schema/config.json (generated: gen/config.h, an enum
 * config_key and config_rows[]). Values are set with `serve --set key=value`.
 * Nothing a client sends and no file in the workspace can change them.
 */
#ifndef PROCPEN_POLICY_CONFIG_H
#define PROCPEN_POLICY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "gen/config.h" /* enum config_key: CONFIG_..., CONFIG_COUNT */

enum config_type { CONFIG_INTEGER, CONFIG_BOOLEAN, CONFIG_ENUM, CONFIG_NAMES };

/* One row of schema/config.json. */
struct config_row {
	const char *name; /* "limits.running_processes" */
	enum config_type type;
	int64_t min, max;            /* of integers; of names: how many, 0: any number */
	const char *default_text;    /* as --set takes it */
	const char *const *choices;  /* of enums; NULL-terminated */
	const char *unit;            /* or NULL */
	const char *text;            /* what it does */
};
extern const struct config_row config_rows[CONFIG_COUNT];

struct config_value {
	int64_t number;   /* integer; boolean 0 or 1; enum: index of the choice */
	char **names;     /* CONFIG_NAMES: NULL-terminated, possibly empty; owned */
};

struct config {
	struct config_value values[CONFIG_COUNT];
};

/* Set all defaults. Aborts if one in the table is invalid (a bug at build time). */
void config_init(struct config *c);
void config_release(struct config *c);

/*
 * Apply "key=value". Returns 0, or -1 with InvalidParams: an unknown key with the nearest name, or
 * a bad value with type, bounds and choices. Integers take the suffixes of their unit
 * (base/quantity.h), and must be whole in it. Commas separate names.
 */
int config_set(struct config *c, const char *assignment, struct err *e);

int64_t config_int(const struct config *c, enum config_key key);
bool config_bool(const struct config *c, enum config_key key);
const char *config_choice(const struct config *c, enum config_key key); /* text of an enum value */
char *const *config_names(const struct config *c, enum config_key key);

/* Key of the option called @name, or -1. */
int config_find(const char *name);

#endif
