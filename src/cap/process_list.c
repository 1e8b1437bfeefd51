/* process.list: records, newest first. */
#include <string.h>

#include "base/json.h"
#include "cap/cap.h"
#include "cap/run_members.h"
#include "proc/names.h"

#define LIVE_USAGE_MAX 20   /* runs whose usage is read now; reading a tree takes 0.1 ms */
#define ENTRY_RESERVE 1024  /* encoded bytes of an entry without its command and directory */

static void process_list_write_entry(struct jsonw *w, struct proc *p, int *live_reads)
{
	const struct usage *usage = &p->usage;

	if (p->tree_alive && (*live_reads)++ < LIVE_USAGE_MAX)
		usage = proc_usage(p);
	jsonw_object(w, NULL);
	jsonw_str(w, "process_id", p->id);
	run_members_command(w, p, RUN_MEMBERS_COMMAND_LIST_MAX);
	jsonw_str(w, "state", names_state(p->state));
	jsonw_int_or_null(w, "exit_code", proc_exit_code(p) >= 0, proc_exit_code(p));
	jsonw_time(w, "started_at", p->started_wall_ms);
	jsonw_int(w, "duration_ms", proc_duration_ms(p));
	run_members_usage(w, usage);
	jsonw_str(w, "working_directory", p->settings->cwd);
	run_members_pid(w, p);
	if (p->tree_alive && !usage->alive) /* not read now */
		jsonw_int(w, "alive", p->phase == PROC_SETTLED ? p->rare->leftover : 1);
	else
		run_members_alive(w, usage);
	jsonw_end_object(w);
}

static enum cap_outcome process_list_start(struct cap_call *call)
{
	struct req *r = call->r;
	const char *filter = json_get_str(r->params, "state_filter", "all");
	int64_t limit = json_get_int(r->params, "limit", 50), total = 0, shown = 0;
	size_t budget = req_list_bytes(r);
	struct jsonw *w = req_result(r);
	int live_reads = 0;

	jsonw_array(w, "processes");
	for (struct proc *p = NULL; (p = proctab_next(call->c->procs, p));) {
		if (strcmp(filter, "all") && strcmp(filter, names_state(p->state)))
			continue;
		total++;
		if (shown < limit &&
		    (!shown || w->out->len + ENTRY_RESERVE + strlen(p->settings->cwd) < budget)) {
			process_list_write_entry(w, p, &live_reads);
			shown++;
		}
	}
	jsonw_end_array(w);
	jsonw_int(w, "total", total);
	return CAP_DONE;
}

const struct cap_ops cap_process_list = {
	.start = process_list_start,
};
