#include "mcp/text_tools.h"

#include <inttypes.h>

#include "mcp/text_verdict.h"

#define COMMAND_MAX 200 /* bytes shown of the command of one run */
#define LIST_COMMAND_MAX 100

/* ---- process.monitor ---- */

static void text_tools_add_usage(struct text *t)
{
	const struct outline_value *usage = text_member(t, NULL, "resource_usage");

	if (text_is(t, NULL, "state", "running") && text_has(t, NULL, "pid"))
		text_add(t, "pid %" PRId64 ", ", text_number(t, NULL, "pid"));
	text_add(t, "started ");
	text_put_member(t, text_member(t, NULL, "started_at"));
	if (text_number(t, usage, "cpu_ms")) {
		text_add(t, ", processor time ");
		text_add_duration(t, text_number(t, usage, "cpu_ms"));
	}
	if (text_number(t, usage, "memory_peak_bytes")) {
		text_add(t, ", memory peak ");
		text_add_plural(t, text_number(t, usage, "memory_peak_bytes"), "byte", "bytes");
	}
	text_add(t, "\n");
}

/* How much the run has written, and the call that reads it. */
static void text_tools_add_output(struct text *t)
{
	const struct proc *run = t->a->run;

	if (!run || !(run->out.total + run->err.total))
		return;
	text_add(t, "stdout ");
	text_add_plural(t, (int64_t)run->out.total, "byte", "bytes");
	text_add(t, ", stderr ");
	text_add_plural(t, (int64_t)run->err.total, "byte", "bytes");
	text_add(t, ": ");
	text_open_call(t, "process_logs");
	text_add(t, "} reads it\n");
}

static void text_tools_add_alive(struct text *t, const struct outline_value *run)
{
	int64_t alive = text_number(t, run, "alive");
	bool running = text_is(t, run, "state", "running");

	if (alive < 1 || (running && alive == 1))
		return;
	text_add(t, running ? ", " : "; still alive: ");
	text_add_plural(t, alive, "process", "processes");
	if (!running)
		text_add(t, ", process_kill ends them");
}

void text_monitor(struct text *t)
{
	text_add_verdict(t, NULL);
	if (text_flag(t, "waits_for_input"))
		text_add(t, ", waits for input");
	text_add_id(t, " ", NULL);
	text_tools_add_alive(t, NULL);
	text_add(t, ": ");
	text_add_one_line(t, text_member(t, NULL, "command"), COMMAND_MAX);
	text_add(t, "\n");
	text_tools_add_usage(t);
	if (text_has(t, NULL, "match")) {
		text_add(t, "matched: ");
		text_add_json(t, text_member(t, NULL, "match"), 1000);
		text_add(t, "\n");
	}
	text_tools_add_output(t);
}

/* ---- process.list ---- */

void text_list(struct text *t)
{
	const struct outline *o = &t->a->result->outline;
	const struct outline_value *all = text_member(t, NULL, "processes"), *v = NULL;
	int64_t total = text_number(t, NULL, "total"), shown = 0;

	while ((v = outline_next(o, all, v)) && t->left > TEXT_MARK_BYTES + LIST_COMMAND_MAX) {
		text_put_member(t, text_member(t, v, "process_id"));
		text_add(t, " ");
		text_add_verdict(t, v);
		text_tools_add_alive(t, v);
		text_add(t, ": ");
		text_add_one_line(t, text_member(t, v, "command"), LIST_COMMAND_MAX);
		text_add(t, "\n");
		shown++;
	}
	if (!total)
		text_add(t, "no processes");
	else if (shown < total)
		text_add(t, "[... %" PRId64 " of %" PRId64 " shown, newest first: state_filter or "
			    "limit picks others ...]", shown, total);
}

/* ---- process.kill ---- */

static void text_tools_add_alive_now(struct text *t)
{
	if (!text_has(t, NULL, "alive"))
		return;
	text_add(t, ", ");
	text_add_plural(t, text_number(t, NULL, "alive"), "process alive", "processes alive");
}

static void text_tools_add_gone(struct text *t)
{
	int64_t leftover = text_number(t, NULL, "leftover");

	text_add(t, "ended by ");
	text_put_member(t, text_member(t, NULL, "signal_sent"));
	text_add(t, " in ");
	text_add_duration(t, text_number(t, NULL, "waited_ms"));
	if (leftover > 0) {
		text_add(t, " with ");
		text_add_plural(t, leftover, "child", "children");
	}
	if (text_flag(t, "forced") && !text_is(t, NULL, "state", "completed"))
		text_add(t, ", forced");
	text_add_id(t, " ", NULL);
}

static void text_tools_add_not_gone(struct text *t)
{
	bool running = text_is(t, NULL, "state", "running");

	if (!text_has(t, NULL, "signal_sent")) {
		text_add(t, "it had ended before the signal came");
	} else {
		text_put_member(t, text_member(t, NULL, "signal_sent"));
		text_add(t, running ? " sent, and it lives on" : " sent; it ended by itself");
	}
	text_tools_add_alive_now(t);
	text_add_id(t, " ", NULL);
}

void text_kill(struct text *t)
{
	int64_t survivors = text_number(t, NULL, "survivors");

	if (text_flag(t, "pending")) {
		text_add(t, "being ended, not gone after ");
		text_add_duration(t, text_number(t, NULL, "waited_ms"));
		text_tools_add_alive_now(t);
		text_add_id(t, " ", NULL);
		text_add(t, "; ");
		text_open_call(t, "process_monitor");
		text_add(t, ",\"wait_ms\":45000} waits for its end.");
	} else if (text_flag(t, "killed")) {
		text_tools_add_gone(t);
	} else {
		text_tools_add_not_gone(t);
	}
	if (survivors > 0) {
		text_add(t, "\nwarning: ");
		text_add_plural(t, survivors, "process", "processes");
		text_add(t, " could not be killed");
	}
}

/* ---- process.delete ---- */

void text_delete(struct text *t)
{
	text_add_plural(t, text_number(t, NULL, "deleted"), "record", "records");
	text_add(t, " deleted, ");
	text_add_plural(t, text_number(t, NULL, "bytes_freed"), "byte", "bytes");
	text_add(t, " of output freed");
}

/* ---- is_blocked ---- */

void text_is_blocked(struct text *t)
{
	size_t kept;
	const char *suggestion = text_bytes(t, text_member(t, NULL, "suggestion"), &kept);

	if (!text_flag(t, "blocked")) {
		text_add(t, "not blocked");
		return;
	}
	text_add(t, "blocked: ");
	text_put_member(t, text_member(t, NULL, "block_reason"));
	if (kept) {
		text_add(t, " ");
		text_put_named(t, suggestion, kept);
	}
}
