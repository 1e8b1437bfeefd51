/*
 * mcp_subs - subscriptions to changes: resources/subscribe of the handshake
 * session, and subscriptions/listen of the stateless era.
 *
 * A listener is a request that stays open; every notification for it carries its
 * id. Changes are coalesced: at most five notifications a second for each
 * resource, and none to a client that does not read.
 */
#ifndef PROCPEN_MCP_SUBS_H
#define PROCPEN_MCP_SUBS_H

#include "mcp/mcp.h"

struct mcp_subs *mcp_subs_new(struct mcp *m);
void mcp_subs_free(struct mcp_subs *s);

/* Handshake: the methods resources/subscribe and resources/unsubscribe. */
void mcp_subs_subscribe(struct mcp *m, const struct rpc_message *message,
		        enum mcp_revision revision);
void mcp_subs_unsubscribe(struct mcp *m, const struct rpc_message *message,
			  enum mcp_revision revision);

/* Stateless: the method subscriptions/listen. */
void mcp_subs_listen(struct mcp *m, const struct rpc_message *message,
		     enum mcp_revision revision);

/* Handshake: a new session begins, which has subscribed to nothing. */
void mcp_subs_reset(struct mcp_subs *s);

/* Request @handle has ended. */
void mcp_subs_drop(struct mcp_subs *s, uint64_t handle);

/* The resource or list, or with @over the task too, that is known by @key has changed. */
void mcp_subs_changed(struct mcp_subs *s, uint64_t key, bool over);

/*
 * The record of run @key is about to go: say of its resource for the last time that it has changed,
 * show its task if its end was not shown yet, and drop both subscriptions.
 */
void mcp_subs_gone(struct mcp_subs *s, uint64_t key);

/* There will be no more changes: drop the session's subscriptions, answer every listener. */
void mcp_subs_end(struct mcp_subs *s);

#endif
