#include "cap/run_members.h"

#include <string.h>

#include "base/utf8.h"
#include "proc/input_wait.h"
#include "proc/names.h"

void run_members_command(struct jsonw *w, const struct proc *p, size_t max)
{
	const char *command = proc_command(p);
	size_t len = strlen(command), shown = utf8_cut(command, len, max);

	jsonw_open_str(w, "command");
	jsonw_piece(w, command, shown);
	if (shown < len)
		jsonw_piece_str(w, "…");
	jsonw_close_str(w);
}

static void run_members_state(struct jsonw *w, const struct proc *p)
{
	jsonw_str(w, "state", names_state(p->state));
	jsonw_str(w, "reason", names_reason(p->reason));
}

static void run_members_end(struct jsonw *w, const struct proc *p)
{
	int code = proc_exit_code(p);

	jsonw_int_or_null(w, "exit_code", code >= 0, code);
	jsonw_str(w, "signal", proc_signal_name(p));
}

void run_members_head(struct jsonw *w, const struct proc *p, size_t command_max)
{
	jsonw_str(w, "process_id", p->id);
	run_members_command(w, p, command_max);
	run_members_state(w, p);
	run_members_end(w, p);
}

void run_members_times(struct jsonw *w, const struct proc *p)
{
	jsonw_int(w, "duration_ms", proc_duration_ms(p));
	jsonw_time(w, "started_at", p->started_wall_ms);
	jsonw_time(w, "ended_at", p->phase == PROC_SETTLED ? p->ended_wall_ms : 0);
}

void run_members_pid(struct jsonw *w, const struct proc *p)
{
	pid_t pid = proc_pid(p);

	jsonw_int_or_null(w, "pid", pid, pid);
}

void run_members_usage(struct jsonw *w, const struct usage *u)
{
	jsonw_object(w, "resource_usage");
	jsonw_int(w, "cpu_ms", u->cpu_ms);
	jsonw_int(w, "memory_peak_bytes", u->memory_peak_bytes);
	jsonw_int(w, "io_read_bytes", u->io_read_bytes);
	jsonw_int(w, "io_write_bytes", u->io_write_bytes);
	jsonw_end_object(w);
}

void run_members_alive(struct jsonw *w, const struct usage *u)
{
	jsonw_int_or_null(w, "alive", u->alive >= 0, u->alive);
}

static void run_members_input(struct jsonw *w, struct proc *p, const struct usage *u)
{
	enum input_wait waits = input_wait_of(p, u);

	if (waits == INPUT_WAIT_UNKNOWN)
		jsonw_null(w, "waits_for_input");
	else
		jsonw_bool(w, "waits_for_input", waits == INPUT_WAIT_YES);
}

void run_members_record(struct jsonw *w, struct proc *p, size_t command_max, const struct usage *u)
{
	run_members_head(w, p, command_max);
	run_members_times(w, p);
	run_members_usage(w, u);
	run_members_pid(w, p);
	jsonw_str(w, "working_directory", p->settings->cwd);
	run_members_alive(w, u);
	run_members_input(w, p, u);
}

void run_members_tree(struct jsonw *w, const struct proc *p)
{
	int64_t leftover = p->leftover_unknown ? -1 : (int64_t)p->rare->leftover;

	if (p->tree_alive && p->phase != PROC_SETTLED)
		leftover = p->usage.alive - !p->exited;
	jsonw_int_or_null(w, "leftover", leftover >= 0, leftover);
	jsonw_int(w, "survivors", p->rare->survivors);
}
