/* process.resize: change the size of a run's terminal. */
#include "base/json.h"
#include "cap/cap.h"

static enum cap_outcome process_resize_start(struct cap_call *call)
{
	const struct cap *c = call->c;
	const json_t *params = call->r->params;
	struct proc *p = proctab_find(c->procs, json_get_str(params, "process_id", ""), call->e);
	int64_t cols = json_get_int(params, "cols", 0), rows = json_get_int(params, "rows", 0);
	struct jsonw *w;

	if (!p || proc_resize(p, (unsigned)cols, (unsigned)rows, call->e))
		return CAP_FAILED;
	w = req_result(call->r);
	jsonw_str(w, "process_id", p->id);
	jsonw_int(w, "cols", cols);
	jsonw_int(w, "rows", rows);
	return CAP_DONE;
}

const struct cap_ops cap_process_resize = {
	.start = process_resize_start,
};
