/*
 * config_text - values from the text of a configuration file.
 *
 * One JSON object (base/jsonc.h) whose members are keys of schema/config.json: an integer for a
 * number, or a string with a unit ("64M"); true or false; a string for a choice; an array of
 * strings, or one string, for names. "rules" is an array of rules (policy/rule.h). "$schema" is for
 * editors. Refuses everything else, with the line and column, and the nearest name.
 */
#ifndef PROCPEN_POLICY_CONFIG_TEXT_H
#define PROCPEN_POLICY_CONFIG_TEXT_H

#include "base/buf.h"
#include "base/jsonc.h"
#include "policy/config.h"

/*
 * Set what @text says at @rank. @path names it in errors and origins. Returns 0, or -1 with
 * InvalidParams for the first mistake that c->faults does not take; then some values may be set.
 */
int config_text_read(struct config *c, const struct buf *text, const char *path,
		     enum config_rank rank, struct err *e);

/* A member of the object, and where its name stands. */
struct config_text_member {
	const char *name;
	json_t *value;
	struct jsonc_place at;
	const char *raw; /* the value in the text */
	size_t raw_len;
	const char *text; /* raw is at offset raw_at of it, as jsonc_place() takes it */
	size_t raw_at;
};
typedef int (*config_text_fn)(void *ctx, const struct config_text_member *m, struct err *e);

/* Call @take for each member but "$schema", up to the first for which it fails. 0, or -1 with @e of
 * @take, or that @text is not an object of JSON, and where in @path. */
int config_text_each(const struct buf *text, const char *path, config_text_fn take, void *ctx,
		     struct err *e);

/* Call @take for each element of the array @m, up to the first for which it fails. 0, or -1 with
 * @e if one fails or @m is not an array. */
typedef int (*config_text_element_fn)(void *ctx, json_t *element, struct jsonc_place at,
				      struct err *e);
int config_text_elements(const struct config_text_member *m, config_text_element_fn take, void *ctx,
			 struct err *e);

/* @value as --set takes it for @row; heap, or NULL with @e if it has the wrong type. */
char *config_text_value(const struct config_row *row, const json_t *value, struct err *e);

#endif
