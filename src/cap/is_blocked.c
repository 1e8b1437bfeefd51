/* is_blocked: the verdict of process.run on a command, without a start. */
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/judge.h"

static void is_blocked_task_free(void *task)
{
	command_release(task);
	free(task);
}

static int is_blocked_prepare(struct cap_call *call, struct err *e)
{
	struct command *command = mem_zalloc(sizeof(*command));

	call->r->task = command;
	call->r->task_free = is_blocked_task_free;
	if (command_read(command, call->r->params, call->c->scope, e) ||
	    (judge_environment(call->c, command, call->r->params, e) &&
	     e->type != ERR_PROTECTED_VARIABLE))
		return -1;
	err_release(e);
	command_judge(command, call->c->config, call->c->shell, &call->judge);
	call->event.command = command->shown;
	call->event.masked = command->masked;
	return 0;
}

static enum cap_outcome is_blocked_start(struct cap_call *call)
{
	const struct cap_row *run = cap_find(call->c, "process.run");
	struct err environment = ERR_INIT;
	struct blocklist_verdict v;
	struct ruling ruling;

	(void)judge_environment(call->c, call->r->task, call->r->params, &environment);
	judge_command(call->c, cap_tier(call->c, run), call->r->params, &call->judge, NULL, &v,
		      &ruling);
	judge_write(req_result(call->r), &v, &ruling, &environment);
	err_release(&environment);
	return CAP_DONE;
}

const struct cap_ops cap_is_blocked = {
	.prepare = is_blocked_prepare,
	.start = is_blocked_start,
};
