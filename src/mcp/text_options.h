/*
 * text_options - the operator's options: the text of config.get, and as members of another result.
 */
#ifndef PROCPEN_MCP_TEXT_OPTIONS_H
#define PROCPEN_MCP_TEXT_OPTIONS_H

#include "mcp/text_part.h"

/* A line for each option: "sandbox.network = false (default true), set by --set". */
void text_options(struct text *t);

/* A line of those members of the object @of, numeric options, that are not at their default. */
void text_options_changed(struct text *t, const struct outline_value *of);

#endif
