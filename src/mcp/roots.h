/*
 * roots - asks the client for its roots, once, where the server has no workspace.
 *
 * Source: https://modelcontextprotocol.io/specification/2025-11-25/client/roots. Hosts start
 * servers in / or the home and tell where the project is only here. The first root that can be the
 * workspace becomes it, for good; a later roots/list_changed moves nothing. Roots that are no
 * file:// URI of this machine are skipped.
 */
#ifndef PROCPEN_MCP_ROOTS_H
#define PROCPEN_MCP_ROOTS_H

#include "mcp/mcp.h"

/* The client is ready (notifications/initialized). Asks if there is no workspace, the client
 * declares roots, and it was not asked before. Calls wait for the answer, for 2 seconds at most. */
void mcp_roots_ask(struct mcp *m);

#endif
