/*
 * process.input: write to the stdin of a run. All of data is taken or nothing (proc/proc.h), and
 * what the command does not read waits in the server, so the call never waits.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/command.h"

struct input_task {
	char *bytes; /* decoded; NULL: no data */
	size_t len;
	bool close;
};

static void process_input_task_free(void *task)
{
	struct input_task *t = task;

	free(t->bytes);
	free(t);
}

static int process_input_check_size(const struct config *config, size_t len, struct err *e)
{
	int64_t max = config_int(config, CONFIG_LIMITS_INPUT_BYTES);

	if (len <= (size_t)max)
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "data has %zu bytes; one call takes at most %" PRId64
		" (limits.input_bytes)", len, max);
	return err_hint(e, "Send it in several calls.");
}

static int process_input_prepare(struct cap_call *call, struct err *e)
{
	struct req *r = call->r;
	struct input_task *t = mem_zalloc(sizeof(*t));

	r->task = t;
	r->task_free = process_input_task_free;
	t->close = json_get_bool(r->params, "close", false);
	if (command_decode(r->params, "data", "encoding", &t->bytes, &t->len, e))
		return -1;
	if (!t->bytes && !t->close) {
		err_set(e, ERR_INVALID_PARAMS, "there is neither data nor close: true");
		return err_hint(e, "Give the text as data; end a line with \\n.");
	}
	call->event.input = t->bytes;
	call->event.input_len = t->len;
	return process_input_check_size(call->c->config, t->len, e);
}

static enum cap_outcome process_input_start(struct cap_call *call)
{
	const struct input_task *t = call->r->task;
	const char *id = json_get_str(call->r->params, "process_id", "");
	struct proc *p = proctab_find(call->c->procs, id, call->e);
	struct jsonw *w = req_result(call->r);

	if (!p || proc_input(p, t->bytes, t->len, t->close, call->e))
		return CAP_FAILED;
	jsonw_str(w, "process_id", p->id);
	jsonw_int(w, "bytes_written", (int64_t)t->len);
	jsonw_int(w, "bytes_queued", (int64_t)proc_input_queued(p));
	jsonw_bool(w, "closed", t->close);
	return CAP_DONE;
}

const struct cap_ops cap_process_input = {
	.prepare = process_input_prepare,
	.start = process_input_start,
};
