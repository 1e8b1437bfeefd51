/*
 * mcp_call - the MCP methods that go through the gate, in every revision: tools/call,
 * and resources/read, which is a call of process.logs. A dialect for each revision
 * shapes the answers; a request keeps the revision in which it arrived.
 */
#ifndef PROCPEN_MCP_CALL_H
#define PROCPEN_MCP_CALL_H

#include "mcp/mcp.h"

/* Fill m->tools and m->reads. */
void mcp_call_init(struct mcp *m);

/* The methods tools/list, tools/call and resources/read. */
void mcp_call_list(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);
void mcp_call_tool(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);
void mcp_call_read(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);

/* notifications/cancelled: ids are compared as JSON values; unknown ones are ignored. */
void mcp_call_cancel(struct mcp *m, const struct rpc_message *message);

#endif
