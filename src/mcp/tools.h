/*
 * mcp_tools - capabilities as MCP tools: the list, and the members of results.
 *
 * A model reads the text (mcp/text.h). Programs find the result object in
 * _meta["dev.procpen/result"], and the facts that the text of an error lacks (type, code,
 * retryable, details) in _meta["dev.procpen/error"]. Structured content, and its schema in
 * tools/list, exist only with mcp.structured, because several hosts show it to their model instead
 * of the text. It then replaces the result in _meta; for an error it is {"error": {message, hint,
 * type, ...}}, which the listed output schemas allow.
 */
#ifndef PROCPEN_MCP_TOOLS_H
#define PROCPEN_MCP_TOOLS_H

#include "base/err.h"
#include "base/jsonw.h"
#include "mcp/mcp.h"
#include "mcp/answer.h"

#define MCP_RESULT_KEY "dev.procpen/result"

/* The capability whose name or tool name is nearest to the unknown @name, or NULL. */
const struct cap_row *mcp_tools_nearest(const char *name);

/* Write the members of a tools/list result. */
void mcp_tools_write_list(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape);

/* Write the members of a tools/call result, with _meta. */
void mcp_tools_write_result(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			    const struct mcp_answer *a);

/* The same for an error. @a->result: the result of the failed call, if it has one. */
void mcp_tools_write_error(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			   const struct err *e, const struct mcp_answer *a);

#endif
