/* route - passes each message to its dialect, one table row per dialect. */
#ifndef PROCPEN_SERVER_ROUTE_H
#define PROCPEN_SERVER_ROUTE_H

#include "mcp/mcp.h"

struct route {
	struct cap *cap;
	struct reqtab *reqs;
	struct ask *ask;
	struct mcp mcp;
	struct dialect plain;
	bool warned_of_no_id;
	int eof_ms; /* the longest struct dialect.eof_ms of the dialects used so far */
};

void route_init(struct route *route, struct cap *cap, struct reqtab *reqs, struct ask *ask);
void route_release(struct route *route); /* after every request has ended */

/* A rpc_route_fn; @ctx: the struct route. */
void route_message(void *ctx, struct rpc_message *m);

/* Request @handle has ended: stop reporting its progress. */
void route_request_ended(struct route *route, uint64_t handle);

/* Ask the client whether it is there, if it can be asked: the handshake's `ping`, or `server.ping`
 * of a plain client that agreed to it by agent.session. Its answer counts by being input. */
void route_ping(struct route *route);

/* There will be no more events: answer the requests that only listen, end the stream of metrics. */
void route_closing(struct route *route);

#endif
