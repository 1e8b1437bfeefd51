/*
 * mcp_tool_names - names of tools in place of those of capabilities.
 *
 * Hints and warnings name capabilities: process.kill. Their tools are called process_kill.
 */
#ifndef PROCPEN_MCP_TOOL_NAMES_H
#define PROCPEN_MCP_TOOL_NAMES_H

#include <stddef.h>

#include "base/jsonw.h"

/*
 * Write @text, a hint or warning of ours, into the open string of @w, with names of tools for
 * those of capabilities. Longer names that contain one stay: tier.process.kill, a path.
 */
void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len);

#endif
