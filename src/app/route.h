/* route - finds the dialect of each message, one table row per dialect. */
#ifndef PROCPEN_APP_ROUTE_H
#define PROCPEN_APP_ROUTE_H

#include "app/mcp_legacy.h"
#include "rpc/ask.h"

struct route {
	struct cap *cap;
	struct reqtab *reqs;
	struct ask *ask;
	struct mcp_legacy mcp;
};

void route_init(struct route *route, struct cap *cap, struct reqtab *reqs, struct ask *ask);

/* A rpc_route_fn; @ctx: the struct route. */
void route_message(void *ctx, struct rpc_message *m);

#endif
