#include "cap/run_warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "blocklist/stream.h"
#include "cap/denied_calls.h"
#include "cap/refused_write.h"
#include "cap/run_limits.h"
#include "cap/run_log.h"

#define GIT_CONFIG_CHANGED "while this command ran, git settings changed that name what git " \
	"executes, outside of the sandbox too; look at them before you use git there: "
#define SAME_FAILURES 4 /* in a row, before they are worth a word */

__attribute__((format(printf, 2, 3))) static void run_warnings_add(struct jsonw *w, const char *fmt,
								   ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	jsonw_str(w, NULL, text);
}

void run_warnings_add_waiting(struct jsonw *w, const struct proc *p, size_t waiting)
{
	if (waiting)
		run_warnings_add(w, "%zu byte%s wait%s in the server: the text ends inside a "
				    "quote, a here-document or a command that goes on; "
				    "process.input sends the rest%s",
				 waiting, waiting == 1 ? "" : "s", waiting == 1 ? "s" : "",
				 proc_has_terminal(p) ? ", or \\u0003 (^C) to drop it" : "");
}

/* What was asked for and not done, or given and not taken. */
static void run_warnings_add_request(struct jsonw *w, const struct proc *p,
				     const struct run_result_options *v)
{
	const struct stream *stream = p->phase == PROC_SETTLED ? NULL : proc_attached(p);

	if (v->args_ignored)
		run_warnings_add(w, "args are $1, $2 ... of the shell string, which names none of "
				    "them; without shell, command is a program and gets them");
	if (v->stdin_ignored)
		run_warnings_add(w, "stdin was ignored, and the command reads /dev/null: %s",
				 p->background ? "a background run is fed with stdin_mode data or "
						 "pipe only" : "stdin_mode is null");
	run_warnings_add_waiting(w, p, stream ? stream_waiting(stream) : 0);
	if (v->stdin_edited)
		run_warnings_add(w, "a line of stdin was not judged by the blocklist: it has "
				    "editing keys other than erase, ^U and Enter, and only its "
				    "program knows what it is");
	if (v->timeout_ignored)
		run_warnings_add(w, "timeout was ignored: it is for a foreground run; max_runtime "
				    "bounds one in the background, and process.kill ends it");
	if (v->max_runtime_ignored)
		run_warnings_add(w, "max_runtime was ignored: it is for a background run; timeout "
				    "bounds this one");
	if (v->profile_ignored)
		run_warnings_add(w, "profile: default was ignored: here sandbox.profile is strict, "
				    "and a request can only tighten");
	if (v->network_ignored)
		run_warnings_add(w, "network: true was ignored: %s", v->network_ignored);
	run_limits_warn_idle(w, v->idle_limits);
}

static void run_warnings_add_unread(struct jsonw *w, const struct proc *p)
{
	if (p->rare->stdin_unread)
		run_warnings_add(w, "the command left %" PRIu64 " byte%s of its stdin unread",
				 p->rare->stdin_unread, p->rare->stdin_unread == 1 ? "" : "s");
}

static void run_warnings_add_leftover(struct jsonw *w, const struct proc *p)
{
	const uint32_t leftover = p->rare->leftover;
	bool one = leftover == 1;

	if (p->phase == PROC_SETTLED && p->tree_alive && leftover)
		run_warnings_add(w, "the command has ended, but %s%u process%s of it still run%s"
				    "%s; process.kill ends %s, and so does the end of the session",
				 p->leftover_unknown ? "at least " : "", leftover, one ? "" : "es",
				 one ? "s" : "",
				 proc_output_open(p) ? " and can still write to its output" : "",
				 one ? "it" : "them");
}

static void run_warnings_add_tree(struct jsonw *w, const struct proc *p)
{
	if (p->rare->survivors)
		run_warnings_add(w, "%u process%s could not be killed", p->rare->survivors,
				 p->rare->survivors == 1 ? "" : "es");
	if (p->supervisor_lost)
		run_warnings_add(w, "the shim of this run was killed from outside: how the "
				    "command ended, or whether it ran at all, is unknown");
	if (p->usage_partial)
		run_warnings_add(w, "resource_usage is too low: not all processes of this run "
				    "could be counted when it was killed");
}

static void run_warnings_add_memory(struct jsonw *w, const struct proc *p)
{
	if (p->out_of_memory)
		run_warnings_add(w, "the kernel has killed a process, of this run or of another, "
				    "because the memory limit that procpen itself runs under was "
				    "reached; to make room the output of %u finished run%s was "
				    "dropped", p->rare->dropped_logs,
				 p->rare->dropped_logs == 1 ? "" : "s");
}

/* Not only by this command: others may have run at the time. */
static void run_warnings_add_git_config(struct jsonw *w, const struct proc *p)
{
	const char *changes = p->rare->git_changes;

	if (!changes)
		return;
	jsonw_open_str(w, NULL);
	jsonw_piece_str(w, GIT_CONFIG_CHANGED);
	jsonw_piece_str(w, changes);
	jsonw_close_str(w);
}

static void run_warnings_add_log_file(struct jsonw *w, const struct cap *c, const struct proc *p)
{
	char text[320];

	if (run_log_warning(c, p, text, sizeof(text)))
		jsonw_str(w, NULL, text);
}

/* What is true of the run, whatever the request said. */
static void run_warnings_add_run(struct jsonw *w, const struct cap *c, const struct proc *p)
{
	run_warnings_add_unread(w, p);
	run_warnings_add_tree(w, p);
	run_warnings_add_memory(w, p);
	run_warnings_add_git_config(w, p);
	run_warnings_add_log_file(w, c, p);
}

void run_warnings_write_end(struct jsonw *w, const struct cap *c, struct proc *p)
{
	jsonw_array(w, "warnings");
	if (p->phase == PROC_SETTLED) {
		run_limits_warn(w, p);
		run_warnings_add_run(w, c, p);
		refused_write_warn(w, c, p);
		denied_calls_warn(w, p, false);
	}
	jsonw_end_array(w);
}

void run_warnings_write(struct jsonw *w, const struct cap *c, struct proc *p,
			const struct run_result_options *v)
{
	jsonw_array(w, "warnings");
	if (p->settings->applied.profile == CONFINE_NONE)
		run_warnings_add(w, "NOT SANDBOXED: the operator has set sandbox.profile=none; "
				    "this command could do anything that the user can do");
	run_limits_warn(w, p);
	run_warnings_add_request(w, p, v);
	run_warnings_add_leftover(w, p);
	run_warnings_add_run(w, c, p);
	if (v->same_failures >= SAME_FAILURES)
		run_warnings_add(w, "this command has failed the same way %u times in a row, and "
				    "no other command ran in between", v->same_failures);
	if (v->lost_records)
		run_warnings_add(w, "%u audit record%s could not be written; the server's stderr "
				    "says why", v->lost_records, v->lost_records == 1 ? "" : "s");
	refused_write_warn(w, c, p);
	denied_calls_warn(w, p, v->explain);
	jsonw_end_array(w);
}
