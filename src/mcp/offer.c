/*
 * The server's capabilities and instructions, as MCP clients see them. Only data; its
 * methods are in mcp/methods.c.
 */
#include "mcp/mcp.h"

static const char instructions[] =
	"procpen runs commands in one workspace and keeps track of every process they "
	"start.\n"
	"- process_run: a string for bash (or the shell that agent_session names), or "
	"command plus args without a shell. A non-zero exit is a normal result. When the "
	"timeout (seconds, default 300) passes, everything the command started is killed "
	"and the result has state timed_out and the output so far.\n"
	"- A call that lasts longer than yield_ms (45 s here) answers with state running "
	"and a process_id; the process goes on. Use background: true for servers and "
	"watchers. Then process_monitor with wait_ms waits for the end, process_logs "
	"reads the output, process_kill stops it with everything it started.\n"
	"- Long output is shown by its two ends. process_logs reads everything: pass "
	"stdout_next_offset as offset to get the next page, tail_lines for the end; the "
	"resource proc://logs/{process_id} is the newest part of it.\n"
	"- state, reason, exit_code and signal are facts: exit_code is null unless the "
	"command ended by itself.\n"
	"- Some destructive commands are always refused (CommandBlocked); is_blocked "
	"tells beforehand. This list is a guardrail against mistakes, not a boundary. Do "
	"not rephrase a blocked command: follow the suggestion or ask the user.\n"
	"- agent_session shows the workspace, limits, permission tiers and sandbox "
	"layers. Errors carry a hint that says what to do next.";

_Static_assert(sizeof(instructions) <= 2048, "hosts cut longer instructions");

const struct mcp_offer mcp_offer = {
	.name = "procpen",
	.title = "procpen process runner",
	.instructions = instructions,
	.handshake = "{\"tools\":{},\"resources\":{\"subscribe\":true},\"logging\":{}}",
	.stateless = "{\"tools\":{},\"resources\":{\"subscribe\":true},"
		     "\"extensions\":{\"" MCP_TASKS "\":{}}}",
};
