/*
 * mcp_tools - capabilities as MCP tools: the list, and the members of results.
 *
 * Text and structured content are each complete on their own, also of an error:
 * hosts show their model the one or the other. The structured content of an error
 * is {"error": {type, code, message, hint, retryable, details}}, which the output
 * schemas in the list allow.
 */
#ifndef PROCPEN_MCP_TOOLS_H
#define PROCPEN_MCP_TOOLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "mcp/mcp.h"

/* The capability whose name, or tool name, is nearest to an unknown one; NULL when none is near. */
const struct cap_row *mcp_tools_nearest(const char *name);

/* Write the members of a tools/list result. */
void mcp_tools_write_list(struct jsonw *w, const struct mcp_shape *shape);

/* The members of a tools/call result. @result: the capability's; @run: see mcp_text_write(). */
void mcp_tools_write_result(struct jsonw *w, const struct result *result,
			    const struct mcp_shape *shape, const struct proc *run);

/* The same for an error, with _meta, where the error object stands too. @partial: see struct
 * dialect. */
void mcp_tools_write_error(struct jsonw *w, const struct err *e, const struct result *partial,
			   const struct mcp_shape *shape);

#endif
