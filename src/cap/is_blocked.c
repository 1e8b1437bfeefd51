/* is_blocked: the verdict of process.run on a command, without a start. */
#include <stdlib.h>

#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"
#include "cap/judge.h"

struct question {
	struct command command;
	struct err environment; /* what is wrong with it; ProtectedVariable is a verdict */
};

static void is_blocked_task_free(void *task)
{
	struct question *q = task;

	command_release(&q->command);
	err_release(&q->environment);
	free(q);
}

static int is_blocked_prepare(struct cap_call *call, struct err *e)
{
	struct question *q = mem_zalloc(sizeof(*q));
	const json_t *params = call->r->params;

	call->r->task = q;
	call->r->task_free = is_blocked_task_free;
	if (command_read(&q->command, params, call->c->scope, e))
		return -1;
	if (judge_environment(call->c, &q->command, params, &q->environment) &&
	    q->environment.type != ERR_PROTECTED_VARIABLE) {
		*e = q->environment;
		err_init(&q->environment);
		return -1;
	}
	command_judge(&q->command, call->c->config, call->c->shell, &call->judge);
	call->event.command = q->command.shown;
	call->event.masked = q->command.masked;
	return 0;
}

static enum cap_outcome is_blocked_start(struct cap_call *call)
{
	const struct cap_row *run = cap_find(call->c, "process.run");
	const struct question *q = call->r->task;
	struct blocklist_verdict v;
	struct ruling ruling;

	judge_command(call->c, cap_tier(call->c, run), call->r->params, &call->judge, NULL, &v,
		      &ruling);
	judge_write(req_result(call->r), &v, &ruling, &q->environment);
	return CAP_DONE;
}

const struct cap_ops cap_is_blocked = {
	.prepare = is_blocked_prepare,
	.start = is_blocked_start,
};
