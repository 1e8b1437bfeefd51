/*
 * mcp_confirm - a human's confirmation, asked through an MCP client.
 *
 * Handshake, since 2025-06-18: a request elicitation/create to the client, while
 * other traffic goes on. Stateless: the call is answered with input_required and
 * a requestState (policy/approval.h), and the client calls again with both the
 * human's answer and that state. Only "accept" with allow = true allows; `remember`
 * beside it is the wish that the answer counts for longer.
 *
 * The message to the human quotes every text from outside, and shows characters that
 * are invisible or reorder others by their code.
 */
#ifndef PROCPEN_MCP_CONFIRM_H
#define PROCPEN_MCP_CONFIRM_H

#include "base/digest.h"
#include "mcp/mcp.h"
#include "policy/approval.h"

/* r->extra of a stateless call: the confirmation that it carries, the state of its question. */
struct mcp_confirmation {
	unsigned char request[DIGEST_SIZE]; /* digest of capability and what is asked for */
	bool answered;
	struct req_answer answer;         /* if so */
	unsigned char shown[DIGEST_SIZE];   /* digest of the notice that the human was shown */
	char state[APPROVAL_SIZE];
};

/*
 * Before the gate: read inputResponses and requestState of a stateless call of @row
 * for @asked, its arguments as sent, or the URI. Returns 0 and sets *@found (heap; NULL
 * if no call of it asks a human), or -1 with InvalidParams.
 */
int mcp_confirm_read(struct mcp *m, const struct rpc_message *message, const struct cap_row *row,
		     const json_t *asked, struct mcp_confirmation **found, struct err *e);

/* The two ways to ask; see struct dialect. @notice: what the gate shows to the human. */
enum req_asked mcp_confirm_elicit(struct mcp *m, struct req *r, const struct mcp_shape *shape,
				  const struct buf *notice, int deadline_ms);
enum req_asked mcp_confirm_stateless(struct mcp *m, struct req *r, const struct buf *notice,
				     int deadline_ms);

/* Write the members of an input_required result: the question of a request that is r->question. */
void mcp_confirm_write_question(struct jsonw *w, const struct req *r, const struct buf *notice);

#endif
