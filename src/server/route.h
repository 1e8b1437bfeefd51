/* route - finds the dialect of each message, one table row per dialect. */
#ifndef PROCPEN_SERVER_ROUTE_H
#define PROCPEN_SERVER_ROUTE_H

#include "mcp/mcp.h"

struct route {
	struct cap *cap;
	struct reqtab *reqs;
	struct ask *ask;
	struct mcp mcp;
	struct dialect plain;
	int eof_ms; /* the longest struct dialect.eof_ms of those that were spoken so far */
};

void route_init(struct route *route, struct cap *cap, struct reqtab *reqs, struct ask *ask);
void route_release(struct route *route); /* after every request has ended */

/* A rpc_route_fn; @ctx: the struct route. */
void route_message(void *ctx, struct rpc_message *m);

/* Request @handle has ended: nobody is to be told of its progress. */
void route_request_ended(struct route *route, uint64_t handle);

/* Nothing will happen any more that could be told: requests that only listen are answered. */
void route_closing(struct route *route);

#endif
