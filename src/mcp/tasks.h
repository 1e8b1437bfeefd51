/*
 * mcp_tasks - the extension io.modelcontextprotocol/tasks, for stateless requests
 * that declare it.
 *
 * A process_run whose command still runs when it would be answered (background,
 * or yield_ms is over) is answered with a task. Task and process are the same run: the
 * task id is the process id followed by a secret tag, so it can be neither guessed nor
 * derived from the process id. The process tools still take the process id.
 *
 * A run that ended is "completed" with any exit code, and has the result that
 * process_run would have given; "cancelled" only after tasks/cancel. A task lives
 * as long as its run's record.
 */
#ifndef PROCPEN_MCP_TASKS_H
#define PROCPEN_MCP_TASKS_H

#include "mcp/mcp.h"

struct mcp_tasks *mcp_tasks_new(struct mcp *m);
void mcp_tasks_free(struct mcp_tasks *t);

/*
 * Answer the request @r with a task: writes the line, with the @result so far in _meta, and returns
 * true. Returns false, and writes nothing, when it is to be answered with its result.
 */
bool mcp_tasks_answer(struct mcp_tasks *t, const struct req *r, const struct result *result,
		      struct buf *line);

/* The key of task @id, or 0 when there is no such task. */
uint64_t mcp_tasks_key(struct mcp_tasks *t, const char *id);

/* Write the members of the task with @key, as tasks/get shows it. False if there is none. */
bool mcp_tasks_write(struct mcp_tasks *t, struct jsonw *w, uint64_t key);

/* A run is over, or was never started. */
void mcp_tasks_on_end(struct mcp_tasks *t, const struct proc *run);

/* The methods tasks/get, tasks/update, tasks/cancel. */
void mcp_tasks_get(struct mcp *m, const struct rpc_message *message,
		   enum mcp_revision revision);
void mcp_tasks_update(struct mcp *m, const struct rpc_message *message,
		      enum mcp_revision revision);
void mcp_tasks_cancel(struct mcp *m, const struct rpc_message *message,
		      enum mcp_revision revision);

#endif
