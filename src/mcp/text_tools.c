#include "mcp/text_tools.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "mcp/text.h"
#include "mcp/text_verdict.h"
#include "proc/names.h"

#define COMMAND_MAX 200 /* bytes shown of the command of one run */
#define LIST_COMMAND_MAX 100
#define GROUPS_BYTES 1000
#define READER_BYTES 160 /* of the line of a run that waits for input */
#define LIVES_ON_MS 1000 /* so long process.kill waits for the effect of a signal */

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

/* "stdout 5 bytes". Returns whether any of them can be read. */
static bool text_tools_add_stream(struct text *t, const char *name, const struct output *o)
{
	text_add(t, "%s ", name);
	text_add_plural(t, (int64_t)o->total, "byte", "bytes");
	if (o->range->dropped)
		text_add(t, ", no longer kept");
	return o->total && !o->range->dropped;
}

/* How much the run has written, and the call that reads it. What matters of more than a page is
 * mostly its end. */
static void text_tools_add_output(struct text *t)
{
	const struct proc *run = t->a->run;
	bool any;

	if (!run || !(run->out.total + run->err.total))
		return;
	any = text_tools_add_stream(t, "stdout", &run->out);
	text_add(t, ", ");
	any |= text_tools_add_stream(t, "stderr", &run->err);
	if (any && text_may_call(t, "process_logs")) {
		text_add(t, ": ");
		text_open_call(t, "process_logs");
		text_add(t, run->out.total + run->err.total > MCP_TEXT_MAX
				    ? ",\"tail_lines\":50} reads its end"
				    : "} reads it");
	}
	text_add(t, "\n");
}

static void text_tools_add_alive(struct text *t, const struct outline_value *run)
{
	int64_t alive = text_number(t, run, "alive");
	bool running = text_is(t, run, "state", "running");

	if (alive < 1 || (running && alive == 1))
		return;
	text_add(t, running ? ", " : "; still alive: ");
	text_add_plural(t, alive, "process", "processes");
	if (!running && text_may_call(t, "process_kill"))
		text_add(t, ", process_kill ends %s", alive == 1 ? "it" : "them");
}

/* What a wait that was not met says, while the run goes on and when it has ended. */
static const struct {
	const char *until, *running, *ended;
} unmet[] = {
	{ "output", "no more output yet", "it ended without more output" },
	{ "pattern", "no line matches yet", "it ended, and no line matches" },
	{ "port", "it does not listen on the port yet",
	  "it ended, and nothing of it listens on the port" },
	{ "idle", "not silent for so long yet", "it ended before it was silent for so long" },
	{ "exit", "it has not ended yet", "" },
};

/* Without `from` the same call would wait for more than there is by then, and miss what comes
 * meanwhile. */
static void text_tools_add_wait_for_output(struct text *t, const struct proc *run)
{
	const char *stream = json_get_str(t->a->params, "stream", "both");

	text_add(t, "; ");
	text_open_call(t, "process_logs");
	text_add_place(t, strcmp(stream, "stderr") != 0, strcmp(stream, "stdout") != 0,
		       (int64_t)run->out.total, (int64_t)run->err.total);
	text_add(t, ",\"wait_ms\":45000} keeps waiting and shows it");
}

/* How to wait on for what has not come yet. To wait alone brings nothing of a run that waits for
 * input, but silence. */
static void text_tools_add_wait(struct text *t, const char *until)
{
	if (text_flag(t, "waits_for_input") && strcmp(until, "idle") != 0)
		return;
	if (!json_get_int(t->a->params, "wait_ms", 0))
		text_add(t, "; with wait_ms this call waits for it");
	else if (!strcmp(until, "output") && t->a->run && !json_object_get(t->a->params, "from") &&
		 text_may_call(t, "process_logs"))
		text_tools_add_wait_for_output(t, t->a->run);
	else
		text_add(t, "; the same call keeps waiting");
}

static void text_tools_add_unmet(struct text *t, const char *until)
{
	bool running = text_is(t, NULL, "state", "running");
	int64_t unsearched = text_number(t, NULL, "unsearched_bytes");

	for (size_t i = 0; i < COUNT_OF(unmet); i++)
		if (!strcmp(unmet[i].until, until))
			text_add(t, "%s", running ? unmet[i].running : unmet[i].ended);
	if (unsearched) {
		text_add(t, ", ");
		text_add_plural(t, unsearched, "byte", "bytes");
		text_add(t, " not searched");
	}
	if (running)
		text_tools_add_wait(t, until);
	else if (!strcmp(until, "port") && text_number(t, NULL, "alive") > 0)
		text_add(t, " yet; the same call looks again");
	text_add(t, "\n");
}

/* The same call would find the same line again. Another match between that and the end is in what
 * the call on the line before reads. */
static void text_tools_add_wait_for_match(struct text *t, const struct outline_value *match)
{
	const struct proc *run = t->a->run;
	bool err = text_is(t, match, "stream", "stderr");

	if (!run || !text_is(t, NULL, "state", "running") || !text_member(t, match, "text"))
		return;
	text_add(t,
		 "with stream %s and from %" PRIu64 " this call waits for a line still to come\n",
		 err ? "stderr" : "stdout", err ? run->err.total : run->out.total);
}

/* The line that matched, or where new output begins, and the call that reads on there. */
static void text_tools_add_match(struct text *t, const struct outline_value *match)
{
	const struct outline_value *groups = text_member(t, match, "groups");

	if (text_member(t, match, "text")) {
		text_add(t, "matched");
		if (text_number(t, match, "line_number"))
			text_add(t, " line %" PRId64, text_number(t, match, "line_number"));
		text_add(t, " of ");
		text_put_member(t, text_member(t, match, "stream"));
		text_add(t, ": ");
		text_put_match(t, match);
		if (groups && outline_next(&t->a->result->outline, groups, NULL)) {
			text_add(t, "\ngroups: ");
			text_add_json(t, groups, GROUPS_BYTES);
		}
	} else {
		text_add(t, "more output on ");
		text_put_member(t, text_member(t, match, "stream"));
	}
	text_add(t, "\n");
	if (text_may_call(t, "process_logs")) {
		text_open_call(t, "process_logs");
		text_add(t, ",\"stream\":");
		text_add_json(t, text_member(t, match, "stream"), 10);
		text_add(t, ",\"offset\":%" PRId64 "} reads from there on\n",
			 text_number(t, match, "offset"));
	}
	text_tools_add_wait_for_match(t, match);
}

static void text_tools_add_until(struct text *t)
{
	const char *until = json_get_str(t->a->params, "until", "exit");
	const struct outline_value *match = text_member(t, NULL, "match");
	bool waited = json_get_int(t->a->params, "wait_ms", 0);

	if (!text_flag(t, "matched")) {
		if (waited || strcmp(until, "exit") != 0)
			text_tools_add_unmet(t, until);
	} else if (text_has(t, match, "stream")) {
		text_tools_add_match(t, match);
	} else if (text_has(t, match, "port")) {
		text_add(t, "it listens on port %" PRId64 "\n", text_number(t, match, "port"));
	} else if (!strcmp(until, "idle")) {
		text_add(t, "silent for ");
		text_add_duration(t, json_get_int(t->a->params, "idle_ms", 0));
		text_add(t, " or longer\n");
	}
}

void text_monitor(struct text *t)
{
	text_add_verdict(t, NULL);
	if (text_flag(t, "waits_for_input"))
		text_add(t, ", waits for input");
	text_add_id(t);
	text_tools_add_alive(t, NULL);
	text_add(t, ": ");
	text_add_one_line(t, text_member(t, NULL, "command"), COMMAND_MAX);
	text_add(t, "\n");
	text_tools_add_usage(t);
	text_add_warnings(t);
	text_tools_add_until(t);
	if (text_has(t, text_member(t, NULL, "match"), "stream"))
		text_add_replaced(t);
	else
		text_tools_add_output(t);
	if (text_flag(t, "waits_for_input")) {
		text_add_input(t, text_member(t, NULL, "process_id"));
		text_add(t, "\n");
	}
}

/* ---- process.list and process.wait ---- */

/* A line for @run, if there is room for it beside @kept bytes. */
static bool text_tools_add_run(struct text *t, const struct outline_value *run, size_t kept)
{
	if (t->left <= TEXT_MARK_BYTES + LIST_COMMAND_MAX + kept)
		return false;
	text_put_member(t, text_member(t, run, "process_id"));
	text_add(t, " ");
	text_add_verdict(t, run);
	text_tools_add_alive(t, run);
	text_add(t, ": ");
	text_add_one_line(t, text_member(t, run, "command"), LIST_COMMAND_MAX);
	text_add(t, "\n");
	return true;
}

/* Lines for those of the array @ended that succeeded, or that did not. Returns how many. */
static int64_t text_tools_add_ended(struct text *t, const struct outline_value *ended, size_t kept,
				    bool success)
{
	const struct outline_value *v = NULL;
	int64_t shown = 0;

	while ((v = outline_next(&t->a->result->outline, ended, v)))
		if (success == (text_has(t, v, "exit_code") && !text_number(t, v, "exit_code")))
			shown += text_tools_add_run(t, v, kept);
	return shown;
}

/* "still running: p1-72cc, p2-72cc" */
static void text_tools_add_ids(struct text *t, const char *words, const char *key)
{
	const struct outline_value *all = text_member(t, NULL, key), *v = NULL;
	const char *glue = words;

	while (all && (v = outline_next(&t->a->result->outline, all, v))) {
		text_add(t, "%s", glue);
		text_put_member(t, v);
		glue = ", ";
	}
	if (glue != words)
		text_add(t, "\n");
}

static void text_tools_add_readers(struct text *t)
{
	const struct outline_value *all = text_member(t, NULL, "waits_for_input"), *v = NULL;

	while (all && (v = outline_next(&t->a->result->outline, all, v))) {
		text_put_member(t, v);
		text_add(t, " waits for input: ");
		text_add_input(t, v);
		text_add(t, "\n");
	}
}

/* How to wait on. That brings nothing where all that are pending wait for input. */
static const char *text_tools_wait_on(const struct text *t)
{
	if (text_count(t, NULL, "waits_for_input") == text_count(t, NULL, "pending"))
		return "";
	if (text_count(t, NULL, "forgotten"))
		return "A call with the ids of those that run keeps waiting.";
	if (json_get_int(t->a->params, "wait_ms", 0))
		return "The same call keeps waiting.";
	return "With wait_ms this call waits for their end.";
}

/* Those that did not succeed first. The ids, of which a call has 256 at most, always fit, and so do
 * those that wait for input. */
void text_wait(struct text *t)
{
	const struct outline_value *ended = text_member(t, NULL, "ended");
	int64_t shown, total = text_count(t, NULL, "ended");
	size_t kept = IDS_TEXT_SIZE * (size_t)(text_count(t, NULL, "forgotten") +
					       text_count(t, NULL, "pending")) +
		      READER_BYTES * (size_t)text_count(t, NULL, "waits_for_input");

	shown = text_tools_add_ended(t, ended, kept, false);
	shown += text_tools_add_ended(t, ended, kept, true);
	text_tools_add_ids(t, "no longer known: ", "forgotten");
	text_tools_add_ids(t, "still running: ", "pending");
	text_tools_add_readers(t);
	if (shown < total) {
		text_open_shown(t, shown, total);
		text_add(t, "failures first: ask for fewer at once ...]\n");
	}
	if (!text_flag(t, "matched"))
		text_add(t, "%s", text_tools_wait_on(t));
}

void text_list(struct text *t)
{
	const struct outline_value *all = text_member(t, NULL, "processes"), *v = NULL;
	int64_t total = text_number(t, NULL, "total"), shown = 0;

	while ((v = outline_next(&t->a->result->outline, all, v)) && text_tools_add_run(t, v, 0))
		shown++;
	if (!total)
		text_add(t, "no processes");
	if (shown >= total)
		return;
	text_open_shown(t, shown, total);
	text_add(t, "newest first: %s%s ...]",
		 shown < text_count(t, NULL, "processes") ? "state_filter picks some"
							  : "limit shows more",
		 shown < text_count(t, NULL, "processes") && text_may_call(t, "process_delete")
			 ? ", process_delete removes ended ones" : "");
}

/* ---- process.kill ---- */

static void text_tools_add_alive_now(struct text *t)
{
	if (!text_has(t, NULL, "alive"))
		return;
	text_add(t, ", ");
	text_add_plural(t, text_number(t, NULL, "alive"), "process alive", "processes alive");
}

/* Had the command ended by itself, so that the call was for what it left? */
static bool text_tools_had_ended(const struct text *t)
{
	return text_is(t, NULL, "reason", "exited") || text_is(t, NULL, "reason", "signaled");
}

/* Is the run still there after SIGTERM, which interactive shells ignore, and has it a terminal? */
static void text_tools_add_hangup(struct text *t)
{
	const char *name = json_get_str(t->a->params, "signal", "TERM");
	int64_t number = json_get_int(t->a->params, "signal", names_signal_number(name));

	if (number == SIGTERM && text_has_terminal(t) &&
	    text_number(t, NULL, "waited_ms") >= LIVES_ON_MS)
		text_add(t, "; an interactive shell ignores SIGTERM: signal \"HUP\" ends one at "
			    "once");
}

static void text_tools_add_gone(struct text *t)
{
	int64_t leftover = text_number(t, NULL, "leftover");
	bool had_ended = text_tools_had_ended(t);
	bool forced = text_flag(t, "forced") && !had_ended;

	if (had_ended) {
		text_add(t, "the command had ended; ");
		if (leftover > 0)
			text_add_plural(t, leftover, "process of it was ", "processes of it were ");
		else
			text_add(t, "what it left was ");
	}
	text_add(t, "ended by ");
	if (text_has(t, NULL, "signal_sent"))
		text_put_member(t, text_member(t, NULL, "signal_sent"));
	else
		text_add(t, "an earlier signal");
	text_add(t, " in ");
	text_add_duration(t, text_number(t, NULL, "waited_ms"));
	/* Of what another signal ends, only those count that outlive the command by a moment. */
	if (forced && leftover > 0) {
		text_add(t, " with ");
		text_add_plural(t, leftover, "child", "children");
	}
	if (forced)
		text_add(t, ", forced");
	text_add_id(t);
	if (forced)
		text_tools_add_hangup(t);
}

/* It had been sent a signal: how did it end, or did it not? */
static void text_tools_add_not_killed(struct text *t)
{
	text_put_member(t, text_member(t, NULL, "signal_sent"));
	if (text_is(t, NULL, "state", "running")) {
		text_add(t, text_number(t, NULL, "waited_ms") < LIVES_ON_MS
				    ? " sent, and it still runs" : " sent, and it lives on");
	} else if (text_is(t, NULL, "state", "completed")) {
		text_add(t, " sent; it ended by itself");
	} else if (text_is(t, NULL, "reason", "killed_by_request")) {
		text_add(t, " sent, and the command has ended");
	} else {
		text_add(t, " sent; meanwhile ");
		text_add_end(t, NULL);
	}
}

static void text_tools_add_not_gone(struct text *t)
{
	if (text_has(t, NULL, "signal_sent"))
		text_tools_add_not_killed(t);
	else
		text_add(t, "it had ended before the signal came");
	text_tools_add_alive_now(t);
	text_add_id(t);
	if (!text_is(t, NULL, "state", "running") && text_number(t, NULL, "alive") > 0)
		text_add(t, "; process_kill without a signal ends what is left");
}

static void text_tools_add_pending(struct text *t)
{
	text_tools_add_hangup(t);
	if (!text_may_call(t, "process_monitor"))
		return;
	text_add(t, "; ");
	text_open_call(t, "process_monitor");
	/* a run that is over has no end to wait for, whatever it left */
	text_add(t, text_is(t, NULL, "state", "running") ? ",\"wait_ms\":45000} waits for its end."
							 : "} shows whether that is gone.");
}

void text_kill(struct text *t)
{
	int64_t survivors = text_number(t, NULL, "survivors");

	if (text_flag(t, "pending")) {
		text_add(t, "being ended, not gone after ");
		text_add_duration(t, text_number(t, NULL, "waited_ms"));
		text_tools_add_alive_now(t);
		text_add_id(t);
		text_tools_add_pending(t);
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

/* ---- process.input ---- */

/* Text that is not complete, of which a warning tells, or a command that does not read. */
static void text_tools_add_queued(struct text *t)
{
	int64_t queued = text_number(t, NULL, "bytes_queued");

	if (!queued)
		return;
	text_add(t, "; ");
	text_add_plural(t, queued, "byte waits", "bytes wait");
	if (!text_number(t, NULL, "bytes_incomplete"))
		text_add(t, " until it reads");
}

/* Does the data end inside a line, so that who reads lines waits for more? On a terminal one
 * character may be a key. */
static bool text_tools_ends_in_line(const struct text *t)
{
	const char *data = json_get_str(t->a->params, "data", "");
	size_t len = json_string_length(json_object_get(t->a->params, "data"));
	size_t key = text_has_terminal(t);

	return len > key && (unsigned char)data[len - 1] >= ' ' && data[len - 1] != 0x7f &&
	       strcmp(json_get_str(t->a->params, "encoding", "utf8"), "base64") != 0;
}

/* The next call begins where the answer does; from the start it would return at once. */
void text_input(struct text *t)
{
	int64_t written = text_number(t, NULL, "bytes_written");
	bool closed = text_flag(t, "closed");
	bool refused = !closed && json_get_bool(t->a->params, "close", false);
	bool sent = written || !refused;
	/* a command that got nothing answers nothing */
	bool held = written && text_number(t, NULL, "bytes_incomplete") >= written;

	if (sent) {
		text_add(t, "took ");
		text_add_plural(t, written, "byte", "bytes");
	}
	if (written && !held && !closed && !refused && text_tools_ends_in_line(t))
		text_add(t, ", with no newline at the end");
	if (closed)
		text_add(t, ", then end of file");
	else if (refused)
		text_add(t, "%sno end of file was sent", sent ? ", but " : "");
	text_add_id(t);
	text_tools_add_queued(t);
	if (sent && !held && text_may_call(t, "process_logs")) {
		text_add(t, "; ");
		text_open_call(t, "process_logs");
		text_add_place(t, true, true, text_number(t, NULL, "stdout_size"),
			       text_number(t, NULL, "stderr_size"));
		text_add(t, ",\"wait_ms\":5000} shows what it answers.");
	}
	text_add_warnings(t);
}

/* ---- is_blocked ---- */

static void text_tools_add_question(struct text *t)
{
	text_add(t, "not blocked, but a human must allow it before it starts");
	if (text_has(t, NULL, "rule")) {
		text_add(t, ": rule \"");
		text_put_member(t, text_member(t, NULL, "rule"));
		text_add(t, text_has(t, NULL, "pack") ? "\" of pack " : "\"");
		text_put_member(t, text_member(t, NULL, "pack"));
		text_add(t, " asks for it");
	}
	text_add(t, ".");
}

void text_is_blocked(struct text *t)
{
	size_t reason_len, suggestion_len;
	const char *reason = text_bytes(t, text_member(t, NULL, "block_reason"), &reason_len);
	const char *suggestion = text_bytes(t, text_member(t, NULL, "suggestion"), &suggestion_len);

	if (text_flag(t, "blocked")) {
		text_add(t, "blocked: ");
		text_put_named(t, reason, reason_len);
	} else if (text_is(t, NULL, "decision", "confirm")) {
		text_tools_add_question(t);
	} else {
		text_add(t, "not blocked");
	}
	text_add(t, "%s", suggestion_len ? " " : "");
	text_put_named(t, suggestion, suggestion_len);
}
