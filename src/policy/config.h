/*
 * config - the operator's options: one table, typed, bounded, documented.
 *
 * The rows come from schema/config.json (generated: gen/config.h, an enum
 * config_key and config_rows[]). A value has a rank, that of where it was set, and stays against
 * what is set at a lower one: sources may be read in any order. Nothing a client sends can change
 * them.
 */
#ifndef PROCPEN_POLICY_CONFIG_H
#define PROCPEN_POLICY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonc.h"
#include "base/strtab.h"
#include "gen/config.h" /* enum config_key: CONFIG_..., CONFIG_COUNT */
#include "policy/ruleset.h"

enum config_type {
	CONFIG_INTEGER,
	CONFIG_BOOLEAN,
	CONFIG_ENUM,
	CONFIG_NAMES,
	CONFIG_PORTS, /* true, false, or a list of TCP ports, which is true for these only */
};

/* What a project may do to a value (policy/project.h). */
enum config_narrow {
	CONFIG_NARROW_NEVER, /* nothing */
	CONFIG_NARROW_LOWER, /* lower it */
	CONFIG_NARROW_BOUND, /* the same; 0 is no bound, so the highest */
	CONFIG_NARROW_FALSE, /* set it to false */
	CONFIG_NARROW_LATER, /* name a later choice */
};

#define CONFIG_PORTS_MAX 64 /* in one list */

/* One row of schema/config.json. */
struct config_row {
	char name[40]; /* "limits.running_processes" */
	enum config_type type;
	int64_t min, max;            /* of integers, ports; of names: how many, 0: any number */
	bool octal;                  /* an integer that people write in octal, with a leading 0 */
	struct strtab_text default_text; /* as --set takes it */
	struct strtab_list choices;  /* of enums */
	enum config_narrow narrow;
	struct strtab_text unit;     /* or none */
	struct strtab_text text;     /* what it does */
};
extern const struct config_row config_rows[CONFIG_COUNT];

/* Where values are set; the later one wins. */
enum config_rank {
	CONFIG_BY_DEFAULT,
	CONFIG_BY_SYSTEM_FILE,
	CONFIG_BY_USER_FILE,
	CONFIG_BY_ENVIRONMENT,
	CONFIG_BY_COMMAND_LINE,
	CONFIG_BY_PROJECT, /* only narrows what the others have set */
};

struct config_value {
	enum config_rank rank;
	char *origin; /* "/etc/procpen/config.json:3", "--set"; NULL: the default; owned */
	struct jsonc_place at; /* in a file: of its name; else all zero */
	int64_t number;   /* integer; boolean and ports: 0 or 1; enum: index of the choice */
	char **names;     /* names, and the ports that are listed: NULL-terminated, possibly
			   * empty; owned */
};

#define CONFIG_FAULTS_MAX 20

/* The mistakes in a configuration. All zero: none. */
struct config_faults {
	struct err list[CONFIG_FAULTS_MAX];
	size_t count; /* those beyond the list are only counted */
};

struct config {
	struct config_value values[CONFIG_COUNT];
	struct ruleset rules; /* of all files that were read */
	struct config_faults *faults; /* takes each mistake; borrowed. NULL: the first one stops */
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

/* The same for the value @text of @key, set at @rank by @origin. A value of a higher rank stays. */
int config_assign(struct config *c, int key, const char *text, enum config_rank rank,
		  const char *origin, struct err *e);

int64_t config_int(const struct config *c, enum config_key key);
bool config_bool(const struct config *c, enum config_key key); /* also of CONFIG_PORTS */
const char *config_choice(const struct config *c, enum config_key key); /* text of an enum value */
char *const *config_names(const struct config *c, enum config_key key); /* likewise */

/*
 * @e is a mistake in @c: 0 where c->faults takes it, and who reads @c goes on; else -1.
 * config_fault_in(): it is in the value of @key, and the file or the variable that has set it goes
 * before the message.
 */
int config_fault(const struct config *c, struct err *e);
int config_fault_in(const struct config *c, enum config_key key, struct err *e);

/* Put "PATH:LINE:COLUMN: " before the message of @e, and both numbers into its details. */
void config_place(const char *path, struct jsonc_place at, struct err *e);
void config_faults_release(struct config_faults *f);

/* Key of the option called @name, or -1. config_lookup(): with InvalidParams and the nearest. */
int config_find(const char *name);
int config_lookup(const char *name, struct err *e);

/* The values that the option of @row, an enum, may have: "none, default, strict". */
#define CONFIG_CHOICES_SIZE 256
void config_list_choices(const struct config_row *row, char list[CONFIG_CHOICES_SIZE]);

/* Where the value was set: "default", or as in struct config_value. */
const char *config_origin(const struct config *c, enum config_key key);

/*
 * How the operator sets the option @key to @value, for a hint: "with --set NAME=VALUE (set by
 * /etc/procpen/config.json:3)", or "in .procpen.json:3 (NAME), or with --set config.project=off"
 * where a project has set it, because --set does not win over that.
 */
#define CONFIG_REMEDY_SIZE 384
void config_remedy(const struct config *c, enum config_key key, const char *value,
		   char text[CONFIG_REMEDY_SIZE]);

/* The value as --set takes it. Heap. */
char *config_text(const struct config *c, enum config_key key);

#endif
