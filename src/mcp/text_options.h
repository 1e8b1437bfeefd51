/*
 * text_options - the operator's options: the text of config.get, and as members of another result.
 */
#ifndef PROCPEN_MCP_TEXT_OPTIONS_H
#define PROCPEN_MCP_TEXT_OPTIONS_H

#include "mcp/text_part.h"

/* A line for each option: "sandbox.network = false (default true), set by --set". */
void text_options(struct text *t);

/* What 0 means for the option @key, between @before and @after: "no limit"; or nothing. */
void text_options_add_zero(struct text *t, const char *key, const char *before, const char *after);

#endif
