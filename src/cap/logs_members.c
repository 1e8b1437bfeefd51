#include "cap/logs_members.h"

#include "proc/names.h"

static void logs_members_write_evicted(struct jsonw *w, const char *key, const struct output *o)
{
	uint64_t from, to;

	if (!output_evicted(o, &from, &to)) {
		jsonw_null(w, key);
		return;
	}
	jsonw_array(w, key);
	jsonw_int(w, NULL, (int64_t)from);
	jsonw_int(w, NULL, (int64_t)to);
	jsonw_end_array(w);
}

void logs_members_begin(struct jsonw *w, const struct proc *p)
{
	jsonw_str(w, "process_id", p->id);
	jsonw_str(w, "state", names_state(p->state));
}

void logs_members_end(struct jsonw *w, const struct proc *p, uint64_t out_next, uint64_t err_next)
{
	jsonw_int(w, "stdout_size", (int64_t)p->out.total);
	jsonw_int(w, "stderr_size", (int64_t)p->err.total);
	jsonw_int(w, "stdout_next_offset", (int64_t)out_next);
	jsonw_int(w, "stderr_next_offset", (int64_t)err_next);
	logs_members_write_evicted(w, "stdout_evicted", &p->out);
	logs_members_write_evicted(w, "stderr_evicted", &p->err);
}
