/*
 * mcp_tools - capabilities as MCP tools: the list, and the members of results.
 *
 * A model reads the text (mcp/text.h). Programs find the result object in
 * _meta["dev.procpen/result"]; of an error, what its text does not say (type, code, retryable,
 * details) in _meta["dev.procpen/error"]. Several hosts show their model the structured content and
 * drop the text, so that is sent, and its schema listed, with mcp.structured only: then in place of
 * the result in _meta, and of an error as {"error": {message, hint, type, ...}}, which the listed
 * output schemas allow.
 */
#ifndef PROCPEN_MCP_TOOLS_H
#define PROCPEN_MCP_TOOLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "mcp/mcp.h"
#include "mcp/answer.h"

/* The capability whose name, or tool name, is nearest to an unknown one; NULL when none is near. */
const struct cap_row *mcp_tools_nearest(const char *name);

/* Write the members of a tools/list result. */
void mcp_tools_write_list(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape);

/* The members of a tools/call result, _meta too. */
void mcp_tools_write_result(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			    const struct mcp_answer *a);

/* The same for an error. @a->result: what the failed call has to show all the same; or NULL. */
void mcp_tools_write_error(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			   const struct err *e, const struct mcp_answer *a);

#endif
