#include "cap/run_events.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "blocklist/stream.h"
#include "cap/follow.h"
#include "cap/metrics.h"
#include "cap/run_key.h"
#include "cap/wait.h"
#include "policy/audit.h"
#include "policy/git_config.h"
#include "proc/names.h"

/* Write the end of @p, called @outcome, to the audit log. */
static void run_events_record_end(struct cap *c, const struct proc *p, const char *outcome)
{
	const struct audit_end end = {
		.exit_code = proc_exit_code(p),
		.signal = proc_signal_name(p),
		.reason = names_reason(p->reason),
		.duration_ms = proc_duration_ms(p),
		.stdout_size = c->passes_output ? -1 : (int64_t)p->out.total,
		.stderr_size = c->passes_output ? -1 : (int64_t)p->err.total,
		.leftover = p->leftover_unknown ? -1 : (int64_t)p->rare->leftover,
		.survivors = p->rare->survivors,
		.git_config = p->rare->git_changes,
	};
	const struct audit_event event = {
		.event = "end",
		.request_id = p->live->origin, /* the id of its attempt record */
		.process_id = p->id,
		.capability = "process.run",
		.command = proc_command(p),
		.masked = proc_masked(p),
		.cwd = p->settings->cwd,
		.outcome = outcome,
		.end = p->rare->failure ? NULL : &end,
	};

	cap_record(c, &event);
}

static void run_events_name_outcome(const struct cap *c, const struct proc *p, char *text,
				    size_t size)
{
	if (c->name_outcome)
		c->name_outcome(p, text, size);
	else if (p->rare->failure)
		snprintf(text, size, "%s", err_rows[p->rare->failure->type].name);
	else
		stpcpy(stpcpy(stpcpy(text, names_state(p->state)), "/"), names_reason(p->reason));
}

static void run_events_note_git_changes(struct cap *c, struct proc *p)
{
	git_config_look(c->git_config);
	p->rare->git_changes = git_config_changes(c->git_config, p->started_mono_us);
}

/* What of its stdin waited to be judged when its text was complete, it has not read either. */
static void run_events_count_held_input(struct proc *p)
{
	const struct stream *stream = proc_attached(p);

	if (stream)
		p->rare->stdin_unread += stream_waiting(stream);
}

void run_events_handle(void *cap, struct proc *p, unsigned events)
{
	struct cap *c = cap;
	char outcome[64];

	if (events & PROC_EVENT_SETTLED && p->out_of_memory)
		log_warn("the memory limit of this server was reached: the kernel has killed a "
			 "process, and the output of %u finished run%s was dropped",
			 p->rare->dropped_logs, p->rare->dropped_logs == 1 ? "" : "s");
	if (events & PROC_EVENT_SETTLED) {
		run_events_count_held_input(p);
		run_events_note_git_changes(c, p);
	}
	wait_wake(&c->waits, c->reqs, c, p, events); /* answer before the audit log is written */
	metrics_on_run(&c->metrics, p, events);
	if (events & (PROC_EVENT_REMOVED | PROC_EVENT_FAILED))
		run_key_forget(&c->run_keys, p->seq);
	follow_on_event(&c->follows, p, events);
	if ((events & PROC_EVENT_SETTLED || (events & PROC_EVENT_FAILED && p->announced)) &&
	    p->background && config_bool(c->config, CONFIG_SERVER_EXIT_EVENTS))
		follow_report_exit(c, p);
	if (events & (PROC_EVENT_SETTLED | PROC_EVENT_FAILED) && !p->replaced) {
		run_events_name_outcome(c, p, outcome, sizeof(outcome));
		run_events_record_end(c, p, outcome);
	}
	if (c->on_run)
		c->on_run(c->on_run_ctx, p, events);
}
