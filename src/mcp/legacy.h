/*
 * mcp_legacy - MCP with a handshake: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25.
 *
 * Source: the specification's pages of those revisions. A request that arrives
 * before any initialize is served with the shapes of 2025-11-25.
 */
#ifndef PROCPEN_MCP_LEGACY_H
#define PROCPEN_MCP_LEGACY_H

#include "mcp/mcp.h"

/* Is @method one of this protocol's (initialize, ping, tools/..., notifications/...)? */
bool mcp_legacy_owns(const char *method);

/* Handle one message whose method it owns. */
void mcp_legacy_message(struct mcp *m, const struct rpc_message *message);

#endif
