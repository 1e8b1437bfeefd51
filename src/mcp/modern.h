/*
 * mcp_modern - MCP without handshake: revision 2026-07-28.
 *
 * Source: the specification's pages of that revision. Each request carries its
 * revision and its client's capabilities in _meta; there is no other state. The
 * server never sends a request to the client.
 */
#ifndef PROCPEN_MCP_MODERN_H
#define PROCPEN_MCP_MODERN_H

#include "mcp/mcp.h"

/* Does the message speak a stateless revision, well-formed or not? */
bool mcp_modern_owns(const struct rpc_message *message);

/* Handle one message that it owns. */
void mcp_modern_message(struct mcp *m, const struct rpc_message *message);

#endif
