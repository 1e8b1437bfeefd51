/*
 * mcp_tool_names - our own texts with the names that a client of MCP can call.
 *
 * Hints and warnings name capabilities: process.kill. Their tools are called process_kill.
 */
#ifndef PROCPEN_MCP_TOOL_NAMES_H
#define PROCPEN_MCP_TOOL_NAMES_H

#include <stddef.h>

#include "base/jsonw.h"

/* Write @text into the open string of @w, with the names of tools in place of those of
 * capabilities, but not in names that hold one (tier.process.kill, a path). */
void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len);

#endif
