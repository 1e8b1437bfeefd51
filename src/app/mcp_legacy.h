/*
 * mcp_legacy - MCP with a handshake: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25.
 *
 * Source: the specification's pages of those revisions. A request that comes
 * before any initialize is served with the shapes of 2025-11-25.
 */
#ifndef PROCPEN_APP_MCP_LEGACY_H
#define PROCPEN_APP_MCP_LEGACY_H

#include <stdbool.h>

#include "cap/cap.h"
#include "rpc/rpc.h"

enum mcp_revision { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25 };

/* The session of this process; there is one. */
struct mcp_legacy {
	struct cap *cap;
	struct reqtab *reqs;
	enum mcp_revision revision; /* of the session; 2025-11-25 before any */
	bool initialized;
	int log_level;              /* syslog order: 0 emergency ... 7 debug; notices are 5 */
};

void mcp_legacy_init(struct mcp_legacy *m, struct cap *cap, struct reqtab *reqs);

/* Is @method one of this protocol's (initialize, ping, tools/..., notifications/...)? */
bool mcp_legacy_owns(const char *method);

/* Handle one message whose method it owns. */
void mcp_legacy_message(struct mcp_legacy *m, struct rpc_message *message);

#endif
