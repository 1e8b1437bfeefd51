/*
 * mcp_tool_names - names of tools in place of those of capabilities.
 *
 * Errors and warnings name capabilities: process.kill. Their tools are called process_kill.
 */
#ifndef PROCPEN_MCP_TOOL_NAMES_H
#define PROCPEN_MCP_TOOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/jsonw.h"

/*
 * Write @text, an error's message or hint or a warning, into the open string of @w, with names of
 * tools for those of capabilities, where these count as named (cap/named.h).
 */
void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len);

/* Is @text the name of a capability that no MCP client can call, and nothing else? */
bool mcp_tool_names_is_plain(const char *text, size_t len);

#endif
