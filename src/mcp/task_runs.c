/* Runs as tasks: a process_run whose command still runs when the call is answered. */
#include "mcp/task_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/named.h"
#include "cap/run_result.h"
#include "mcp/tools.h"

#define FAILED_KEPT_MS 600000 /* how long a task outlives a run that never started */

struct own {
	struct run_result_options result_options;
	struct err failure; /* the run never started */
	int64_t failed_ms;  /* monotonic */
	int64_t failed_wall_ms;
};

static struct proc *mcp_task_runs_run_of(const struct mcp *m, const struct mcp_task *task)
{
	return proctab_get(m->cap->procs, task->key);
}

bool mcp_task_begin(struct mcp *m, const struct req *r, struct mcp_task *task)
{
	const struct proc *run = r->run ? proctab_get(m->cap->procs, r->run) : NULL;
	struct own *own;

	if (!run || run->phase == PROC_SETTLED || m->cap->closing ||
	    strcmp(r->row->name, "process.run"))
		return false;
	own = mem_zalloc(sizeof(*own));
	own->result_options = *(const struct run_result_options *)r->task;
	task->own = own;
	task->key = run->seq;
	snprintf(task->name, sizeof(task->name), "%s", run->id);
	task->created_ms = run->started_wall_ms ? run->started_wall_ms : clock_wall_ms();
	return true;
}

static void mcp_task_runs_refresh(const struct mcp_task *task, const struct proc *run,
				  struct mcp_task_look *look)
{
	look->changed_ms = task->created_ms;
	if (run->phase != PROC_SETTLED) {
		look->status = MCP_TASK_WORKING;
		snprintf(look->message, sizeof(look->message), "process %s is running", run->id);
		return;
	}
	look->status = run->reason == PROC_REASON_CANCELLED ? MCP_TASK_CANCELLED
							    : MCP_TASK_COMPLETED;
	if (run->ended_wall_ms > look->changed_ms)
		look->changed_ms = run->ended_wall_ms;
	snprintf(look->message, sizeof(look->message), "process %s is over: %s", run->id,
		 names_reason(run->reason));
}

void mcp_task_look(struct mcp *m, const struct mcp_task *task, struct mcp_task_look *look)
{
	const struct proc *run = mcp_task_runs_run_of(m, task);
	const struct own *own = task->own;

	*look = (struct mcp_task_look){ .status = MCP_TASK_GONE };
	if (run) {
		mcp_task_runs_refresh(task, run, look);
	} else if (own->failure.type && clock_mono_ms() - own->failed_ms < FAILED_KEPT_MS) {
		look->status = MCP_TASK_COMPLETED;
		look->lone = true;
		look->changed_ms = own->failed_wall_ms > task->created_ms ? own->failed_wall_ms
									  : task->created_ms;
		snprintf(look->message, sizeof(look->message), "process %s could not be started",
			 task->name);
	}
}

/* Write the answer of process_run: a failed start and an exit code are results. */
void mcp_task_write(struct mcp *m, struct jsonw *w, const struct mcp_task *task,
		    const struct mcp_task_look *look)
{
	const struct mcp_shape *shape = &mcp_shapes[MCP_2026_07_28];
	struct proc *run = mcp_task_runs_run_of(m, task);
	struct own *own = task->own;
	ERR_LOCAL(e);
	struct result result;
	struct mcp_answer a = {
		.cap = m->cap, .row = cap_find(m->cap, "process.run"), .run = run,
		.options = &own->result_options,
	};

	if (look->status != MCP_TASK_COMPLETED)
		return;
	jsonw_object(w, "result");
	jsonw_str(w, "resultType", "complete");
	result_init(&result, REQ_LINE_MAX);
	if (run) {
		run_result_write(result_begin(&result, true), m->cap, run, &own->result_options);
		result_end(&result);
		a.result = &result;
	}
	if (!run) {
		e = own->failure;
		json_incref(e.details);
	}
	if (!run || run_result_is_failure(run, &e)) {
		named_mark_denied(m->cap, &e);
		mcp_tools_write_error(w, m, shape, &e, &a);
	} else {
		mcp_tools_write_result(w, m, shape, &a);
	}
	result_release(&result);
	err_release(&e);
	jsonw_end_object(w);
}

/* Cancelling has the effect of process.kill, so it has the same tier and audit record. */
int mcp_task_cancel(struct mcp *m, const struct rpc_message *message, const struct mcp_task *task,
		    struct err *e)
{
	struct proc *run = mcp_task_runs_run_of(m, task);

	if (!run || run->phase == PROC_SETTLED)
		return 0;
	if (cap_permit(m->cap, cap_find(m->cap, "process.kill"), message->id, message->id_len,
		       run->id, e)) {
		named_mark_denied(m->cap, e);
		return -1;
	}
	proc_kill_tree(run, PROC_REASON_CANCELLED);
	return 0;
}

/* A run asks no questions, so no answer is expected. */
void mcp_task_update(struct mcp *m, const struct mcp_task *task, const json_t *responses)
{
	(void)m;
	(void)task;
	(void)responses;
}

void mcp_task_on_end(const struct mcp_task *task, const struct proc *run)
{
	struct own *own = task->own;

	if (!run->rare->failure)
		return;
	own->failure = *run->rare->failure;
	json_incref(own->failure.details);
	own->failed_ms = clock_mono_ms();
	own->failed_wall_ms = clock_wall_ms();
}

void mcp_task_release(struct mcp_task *task)
{
	struct own *own = task->own;

	err_release(&own->failure);
	free(own);
}
