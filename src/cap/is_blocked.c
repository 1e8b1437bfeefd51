/* is_blocked: the verdict that process.run would give, without starting anything. */
#include <stdlib.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"

static void task_free(void *task)
{
	command_release(task);
	free(task);
}

static int prepare(struct cap *c, struct req *r, struct err *e)
{
	(void)c;
	r->task = mem_zalloc(sizeof(struct command));
	r->task_free = task_free;
	return command_read(r->task, r->params, e);
}

static void describe(const struct req *r, struct blocklist_input *judge, struct audit_event *event)
{
	const struct command *command = r->task;

	command_judge(command, judge);
	event->command = command->shown;
	event->argv = (const char *const *)command->argv;
}

static enum cap_outcome start(struct cap *c, struct req *r, struct buf *out, struct err *e)
{
	struct blocklist_verdict v;
	struct blocklist_input in;
	struct jsonw w;

	(void)e;
	command_judge(r->task, &in);
	command_judge_options(c->config, &in);
	blocklist_judge(&in, &v);
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	command_write_verdict(&w, &v);
	jsonw_end_object(&w);
	return CAP_DONE;
}

const struct cap_ops cap_is_blocked = {
	.prepare = prepare,
	.start = start,
	.describe = describe,
};
