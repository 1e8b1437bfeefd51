/*
 * makefile_names - a set of names, their values, and which of them texts have as words. Words are
 * made of letters, digits and _, names of words that dashes join.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_NAMES_H
#define PROCPEN_BLOCKLIST_EFFECTS_MAKEFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"

struct makefile_name;

struct makefile_names {
	struct action_list *out; /* its arena holds the names, its budget pays */
	struct makefile_name **buckets; /* by their hash */
	size_t mask;    /* of the hash; one less than there are buckets */
	size_t longest; /* of the names */
};

/* Start without names, for about @count. */
void makefile_names_init(struct makefile_names *names, size_t count, struct action_list *out);

/* Add the name of @len characters at @name, which is borrowed. */
void makefile_names_add(struct makefile_names *names, const char *name, size_t len);

/* Add the name if it is not there, and give it @value, or only if it has none unless @again. */
void makefile_names_set(struct makefile_names *names, const char *name, size_t len,
			const struct shell_word *value, bool again);

/* Add @more to the value of the name, which is @more if it has none. */
void makefile_names_append(struct makefile_names *names, const char *name, size_t len,
			   const struct shell_word *more);

/* The value of the name; NULL: it has none, or is not one of @names. */
const struct shell_word *makefile_names_value(const struct makefile_names *names,
					      const char *name, size_t len);

/* Is this one of the names, with a value or without? */
bool makefile_names_has(const struct makefile_names *names, const char *name, size_t len);

/* The one of these names, or NULL. */
const struct makefile_name *makefile_names_get(const struct makefile_names *names,
					       const char *name, size_t len);

/* Mark the names that @line has as words, but not @own. */
void makefile_names_mark(struct makefile_names *names, const struct shell_word *line,
			 const struct makefile_name *own);

/* Is this one of the names, and marked? */
bool makefile_names_marked(const struct makefile_names *names, const char *name, size_t len);

#endif
