/*
 * config_text - values from the text of a configuration file.
 *
 * One JSON object (base/jsonc.h) whose members are keys of schema/config.json: an integer for a
 * number, or a string with a unit ("64M"); true or false; a string for a choice; an array of
 * strings, or one string, for names. "$schema" is for editors. Refuses everything else, with the
 * line and column, and the nearest name.
 */
#ifndef PROCPEN_POLICY_CONFIG_TEXT_H
#define PROCPEN_POLICY_CONFIG_TEXT_H

#include "base/buf.h"
#include "policy/config.h"

/*
 * Set what @text says at @rank. @path names it in errors and origins. Returns 0, or -1 with
 * InvalidParams for the first mistake; then some values may be set.
 */
int config_text_read(struct config *c, const struct buf *text, const char *path,
		     enum config_rank rank, struct err *e);

#endif
