/*
 * The server's capabilities and instructions, as MCP clients see them. Only data; its
 * methods are in mcp/methods.c.
 */
#include "mcp/mcp.h"

static const char instructions[] =
	"procpen runs commands in one workspace and keeps track of every process they start.\n"
	"- process_run takes a command line for the shell that its description names, or a "
	"program and args without a shell. Read, search and edit files with your own file tools.\n"
	"- Each answer begins with the verdict: exit code, signal or timeout, and the process id "
	"in brackets. A non-zero exit is a normal result. At its timeout a command is killed with "
	"everything it started.\n"
	"- A command that outlives yield_ms (45 s) is answered as still running and goes on; "
	"process_monitor with wait_ms waits for its end. background:true is for servers and "
	"watchers. process_kill stops a run with everything it started.\n"
	"- Put temporary files into $TMPDIR: /tmp may not be writable (Java: "
	"-Djava.io.tmpdir=$TMPDIR).\n"
	"- Nested sandboxes (bwrap, Chromium without --no-sandbox), containers, mounts and perf "
	"may be refused; explain_denials:true names the refused calls.\n"
	"- Long output is cut in the middle. process_logs has all of it: offset for the next "
	"page, tail_lines for the end. The resource proc://logs/{process_id} is its newest part.\n"
	"- Some destructive commands are always refused (CommandBlocked); is_blocked says so "
	"beforehand. Do not rephrase a blocked command: follow the suggestion or ask the user.\n"
	"- agent_session shows the workspace, limits, permission tiers and sandbox layers. An "
	"error says what to do next.";

_Static_assert(sizeof(instructions) <= 2048, "hosts cut longer instructions");

const struct mcp_offer mcp_offer = {
	.name = "procpen",
	.title = "procpen process runner",
	.instructions = instructions,
	.handshake = "{\"tools\":{},\"resources\":{\"subscribe\":true},\"logging\":{}}",
	.stateless = "{\"tools\":{},\"resources\":{\"subscribe\":true},"
		     "\"extensions\":{\"" MCP_TASKS "\":{}}}",
};
