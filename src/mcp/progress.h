/*
 * mcp_progress - progress notifications for calls that wait for a run.
 *
 * Only for requests with a progressToken (0 and "" are tokens too). The message is the
 * newest line of output, the value the bytes of output so far, which only grows. At most
 * five a second for each request, none once it is answered or cancelled, and none to
 * a client that does not read.
 */
#ifndef PROCPEN_MCP_PROGRESS_H
#define PROCPEN_MCP_PROGRESS_H

#include "mcp/mcp.h"

struct mcp_progress *mcp_progress_new(struct mcp *m);
void mcp_progress_free(struct mcp_progress *p);

/* Report on @r if its message has a token. */
void mcp_progress_watch(struct mcp_progress *p, const struct req *r, const struct mcp_shape *shape);

/*
 * Report at once, without the rate limit: @value, which must be above that of the last
 * report of @r, of @total (negative: unknown), and @text. Returns false when @r has no
 * token.
 */
bool mcp_progress_say(struct mcp_progress *p, const struct req *r, int64_t value, int64_t total,
		      const char *text);

/* Request @handle has ended. */
void mcp_progress_drop(struct mcp_progress *p, uint64_t handle);

/* A run has more output. */
void mcp_progress_on_output(struct mcp_progress *p, const struct proc *run);

#endif
