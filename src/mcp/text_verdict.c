#include "mcp/text_verdict.h"

#include <inttypes.h>

#include "base/mem.h"

/* How a run ended, unless it exited by itself. */
static const struct {
	const char *reason, *words;
} ends[] = {
	{ "timeout", "timed out" },
	{ "idle", "ended for silence (idle_timeout)" },
	{ "killed_by_request", "killed by process_kill" },
	{ "cancelled", "cancelled" },
	{ "memory_limit", "killed by its memory limit" },
	{ "cpu_limit", "killed by its processor time limit" },
	{ "process_limit", "killed by its process limit" },
	{ "file_size_limit", "killed by its file size limit" },
	{ "seccomp", "killed by the sandbox for a refused system call" },
	{ "server_shutdown", "killed, because the server ends," },
	{ "supervisor_lost", "ended in an unknown way" },
};

void text_add_end(struct text *t, const struct outline_value *of)
{
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (text_is(t, of, "reason", ends[i].reason)) {
			text_add(t, "%s", ends[i].words);
			return;
		}
	if (text_has(t, of, "signal")) {
		text_add(t, "killed by ");
		text_put_member(t, text_member(t, of, "signal"));
	} else {
		text_add(t, text_is(t, of, "state", "timed_out") ? "timed out" : "killed");
	}
}

void text_add_verdict(struct text *t, const struct outline_value *of)
{
	const char *glue = " after ";

	if (text_is(t, of, "state", "running")) {
		text_add(t, "running");
		glue = " for ";
	} else if (text_has(t, of, "exit_code")) {
		text_add(t, "exit %" PRId64, text_number(t, of, "exit_code"));
		glue = " in ";
	} else {
		text_add_end(t, of);
	}
	text_add(t, "%s", glue);
	text_add_duration(t, text_number(t, of, "duration_ms"));
}
