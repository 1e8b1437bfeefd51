/*
 * mcp_task_source - the functions that mcp_tasks needs from a source of tasks.
 *
 * The server's source is its runs (mcp/task_runs.c), which never ask and never fail as tasks. The
 * server of tests/conformance is linked with another source, which has every status.
 */
#ifndef PROCPEN_MCP_TASK_SOURCE_H
#define PROCPEN_MCP_TASK_SOURCE_H

#include "mcp/mcp.h"

enum mcp_task_status {
	MCP_TASK_GONE,
	MCP_TASK_WORKING,
	MCP_TASK_INPUT_REQUIRED,
	MCP_TASK_COMPLETED,
	MCP_TASK_FAILED,
	MCP_TASK_CANCELLED,
};

struct mcp_task {
	uint64_t key;             /* never 0; of a run its struct proc.seq */
	char name[IDS_TEXT_SIZE]; /* the public part of its id */
	int64_t created_ms;       /* wall clock */
	void *own;                /* owned by the source */
	struct mcp_task *next;
};

/* The state of a task. */
struct mcp_task_look {
	enum mcp_task_status status;
	int64_t changed_ms; /* wall clock */
	bool lone;          /* has no run: the oldest of these are dropped */
	char message[160];
};

/* Return true, and fill @task (all zero), if @r is to be answered with a task. */
bool mcp_task_begin(struct mcp *m, const struct req *r, struct mcp_task *task);

/* Its state. MCP_TASK_GONE: forget the task. */
void mcp_task_look(struct mcp *m, const struct mcp_task *task, struct mcp_task_look *look);

/* Write what belongs to its status: result, error, inputRequests, or nothing. */
void mcp_task_write(struct mcp *m, struct jsonw *w, const struct mcp_task *task,
		    const struct mcp_task_look *look);

/* The client wants it ended, by @message (-1: that is not allowed); it answers a question. */
int mcp_task_cancel(struct mcp *m, const struct rpc_message *message, const struct mcp_task *task,
		    struct err *e);
void mcp_task_update(struct mcp *m, const struct mcp_task *task, const json_t *responses);

/* The run with the key of @task is over, or was never started. */
void mcp_task_on_end(const struct mcp_task *task, const struct proc *run);

/* Free task->own. */
void mcp_task_release(struct mcp_task *task);

#endif
