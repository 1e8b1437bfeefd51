/*
 * schema - checks a value against our subset of JSON Schema, and knows defaults.
 *
 * The tables are generated from schema/ (one file per capability); the generator
 * refuses any keyword that is not listed here, so a table never checks less than its
 * file promises. Besides the JSON Schema keywords a field may have
 *   x-alias     another name for it, and x-alias-scale: so many of its units are
 *               one of the field's (a quotient is exact where a product is not);
 *   x-error     the error type of a bad value (InvalidFilter ...);
 *   x-min-bytes, x-max-bytes  bounds in bytes of UTF-8 (minLength and maxLength
 *               count characters);
 *   x-unit      the unit of a number, named in errors;
 *   x-synonyms  names that other tools use: never accepted, but suggested first;
 *   x-hint      what it takes, for who gave a bad value or another name.
 *   x-plain     a parameter of the plain dialect alone, which its capability refuses elsewhere.
 * A string that holds a NUL is refused.
 */
#ifndef PROCPEN_BASE_SCHEMA_H
#define PROCPEN_BASE_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum schema_type {
	SCHEMA_STRING = 1,
	SCHEMA_INTEGER = 2,
	SCHEMA_NUMBER = 4,
	SCHEMA_BOOLEAN = 8,
	SCHEMA_ARRAY = 16,
	SCHEMA_OBJECT = 32,
};

/* Holds its texts itself, for the reason that base/strtab.h gives. */
struct schema_field {
	char name[24];               /* "" ends a list of fields */
	char alias[16];              /* or "" */
	char unit[16];               /* "seconds", "bytes", ... named in errors; or "" */
	char default_json[16];       /* integer, boolean, or string without escapes: "100",
				      * "\"all\""; or "" */
	char enums[48];              /* "red\0green\0", or "" */
	char synonyms[128];          /* likewise */
	char hint[144];              /* x-hint; or "" */
	double alias_scale;          /* value = aliased value / scale; 0 means 1 */
	unsigned type;               /* enum schema_type, or several of them */
	bool plain;                  /* x-plain */
	bool has_min, has_max, min_exclusive;
	double min, max;             /* of numbers */
	size_t min_bytes, max_bytes; /* of strings; max 0: no bound of its own */
	size_t min_chars, max_chars; /* the same, counted in characters */
	size_t max_items;            /* of arrays and objects; 0: no bound */
	enum err_type error;         /* ERR_NONE: InvalidParams */
	unsigned items;              /* the row of an array's element or an object's value is so
				      * many rows on, behind the end of the list; 0: none */
};

struct schema {
	const struct schema_field *fields; /* ended by one without a name */
	uint64_t required; /* a bit for each of them, by place: the rows lie far apart */
	bool mcp; /* for MCP: name no parameter of the plain dialect to the client */
};

/* May the client be told of @f? */
static inline bool schema_may_name(const struct schema *s, const struct schema_field *f)
{
	return !(s->mcp && f->plain);
}

/*
 * Check @params (an object; NULL and JSON null are not accepted here) against @s
 * and normalise it in place: null taken out where it stands for an optional parameter (which is
 * then not given) or in an object of other values than strings, aliases renamed and scaled,
 * 5.0 made 5 where an integer is meant. Returns 0 or -1 with @e: the field, what was wrong, the
 * bound and unit, and for an unknown name the nearest known one. Nothing outside @params is
 * touched.
 */
int schema_check(const struct schema *s, json_t *params, struct err *e);

/* Fill in the defaults of what @params leaves out; take out again what is a default. */
void schema_fill_defaults(const struct schema *s, json_t *params);
void schema_drop_defaults(const struct schema *s, json_t *params);

/* The default of a missing @name: a new reference, or NULL. */
json_t *schema_default(const struct schema *s, const char *name);

/* Is @value that default? */
bool schema_is_default(const struct schema *s, const char *name, const json_t *value);

/*
 * The parameter or alias that the unknown @name probably means, or NULL: the same name but for case
 * and underscores, else one that lists it as a synonym, else the nearest. Never one of another unit
 * than @name ends in (timeout_s: timeout; timeoutMs: timeout_ms): *@other is then the one that is
 * the same apart from its unit (idle_timeout_ms: idle_timeout), or NULL.
 */
const char *schema_suggest(const struct schema *s, const char *name,
			   const struct schema_field **other);

/*
 * The entry of @names (NULL-terminated) nearest to @name by edit distance, or a word of which @name
 * is the start; NULL if none is near. Whole words that both begin or end with do not count:
 * stdin_data is not near stdin_mode.
 */
const char *schema_nearest(const char *name, const char *const *names);

/* The same, behind the message of @e, an error already set; nothing if none is near. */
void schema_say_nearest(struct err *e, const char *name, const char *const *names);

#endif
