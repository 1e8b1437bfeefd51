/*
 * mcp_tools - capabilities as MCP tools: the list, and results as text.
 *
 * The text of a result is complete on its own, because several hosts show their
 * model nothing else:
 *
 *	exit_code: 1
 *	resource_usage: {"cpu_ms":3}
 *	--- stderr_summary (42 bytes)
 *	cc: error: no input files
 *
 * First everything short, one member a line, then strings that are long or have
 * several lines, each with its size, so that no output can pass for a member.
 */
#ifndef PROCPEN_APP_MCP_TOOLS_H
#define PROCPEN_APP_MCP_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/jsonw.h"
#include "cap/cap.h"

/* What a revision of the protocol knows of tools. */
struct mcp_tools_shape {
	bool annotations; /* since 2025-03-26 */
	bool structured;  /* title, outputSchema, structuredContent: since 2025-06-18 */
};

/* The capability whose name, or tool name, is nearest to an unknown one; NULL when none is near. */
const struct cap_row *mcp_tools_nearest(const char *name);

/* Write the object of a tools/list result. */
void mcp_tools_write_list(struct buf *out, const struct mcp_tools_shape *shape);

/* Write the object of a tools/call result. @result: the capability's, as compact as jsonw is. */
void mcp_tools_write_result(struct jsonw *w, const char *key, const struct buf *result,
			    const struct mcp_tools_shape *shape);

/* The same for an error: the text says all, the error object lies under one key of _meta. */
void mcp_tools_write_error(struct jsonw *w, const char *key, const struct err *e);

#endif
