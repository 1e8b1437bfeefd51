/*
 * methods - the one table of what MCP clients may call, beside what makes an era
 * (initialize ...). It stands above all that serves a method, and below the two eras.
 */
#ifndef PROCPEN_MCP_METHODS_H
#define PROCPEN_MCP_METHODS_H

#include "mcp/mcp.h"

/* Serve @message by the method of that name. Returns false when there is none in this era. */
bool mcp_serve(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);

#endif
