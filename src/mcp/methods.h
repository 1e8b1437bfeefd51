/*
 * methods - the table of MCP methods, other than those of one era itself (initialize,
 * server/discover ...). Includes each module that serves a method; both eras use it.
 */
#ifndef PROCPEN_MCP_METHODS_H
#define PROCPEN_MCP_METHODS_H

#include "mcp/mcp.h"

/* Serve @message. Returns false if this era has no such method. */
bool mcp_serve(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);

#endif
