#include "app/mcp_legacy.h"

#include <string.h>

#include "app/mcp_tools.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"

#define LEVEL_NOTICE 5
#define LEVEL_DEFAULT 6
#define REPLY_BYTES_MAX (1u << 20) /* guard for answers that are no capability's */

static const struct revision {
	const char *name;
	bool batches;
	struct mcp_tools_shape shape;
} revisions[] = {
	[MCP_2024_11_05] = { .name = "2024-11-05" },
	[MCP_2025_03_26] = { .name = "2025-03-26", .batches = true, .shape = { true, false } },
	[MCP_2025_06_18] = { .name = "2025-06-18", .shape = { true, true } },
	[MCP_2025_11_25] = { .name = "2025-11-25", .shape = { true, true } },
};

static const char *const level_names[] = { "emergency", "alert",  "critical", "error",
					   "warning",	"notice", "info",     "debug" };

/* For models: what the tools are for, and what they need not find out by trying. */
static const char instructions[] =
	"procpen runs commands in one workspace and keeps track of every process they "
	"start.\n"
	"- process_run: a string for /bin/sh, or command plus args without a shell. A "
	"non-zero exit is a normal result. When the timeout (seconds, default 300) "
	"passes, everything the command started is killed and the result has state "
	"timed_out and the output so far.\n"
	"- A call that lasts longer than yield_ms (45 s here) answers with state running "
	"and a process_id; the process goes on. Use background: true for servers and "
	"watchers. Then process_monitor with wait_ms waits for the end, process_logs "
	"reads the output, process_kill stops it with everything it started.\n"
	"- Results show the last lines only. process_logs reads everything: pass "
	"stdout_next_offset as offset to get the next page, tail_lines for the end.\n"
	"- state, reason, exit_code and signal are facts: exit_code is null unless the "
	"command ended by itself.\n"
	"- Some destructive commands are always refused (CommandBlocked); is_blocked "
	"tells beforehand. This list is a guardrail against mistakes, not a boundary. Do "
	"not rephrase a blocked command: follow the suggestion or ask the user.\n"
	"- agent_session shows the workspace, limits, permission tiers and sandbox "
	"layers. Errors carry a hint that says what to do next.";

static struct mcp_legacy *session; /* whom `notify` speaks for */

static const struct revision *revision_of(const struct req *r);

static void answer_ok(const struct req *r, const struct buf *result, struct buf *line)
{
	struct jsonw w;

	jsonw_init(&w, line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_raw(&w, "id", r->id, strlen(r->id));
	mcp_tools_write_result(&w, "result", result, &revision_of(r)->shape);
	jsonw_end_object(&w);
}

/* A failed call is a result, so that the model reads it; only what is no call at all is not. */
static void answer_fail(const struct req *r, const struct err *e, struct buf *line)
{
	struct jsonw w;

	if (e->type == ERR_METHOD_NOT_FOUND || e->type == ERR_INVALID_REQUEST ||
	    e->type == ERR_PARSE_ERROR) {
		rpc_write_error(line, r->id, strlen(r->id), e);
		return;
	}
	jsonw_init(&w, line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_raw(&w, "id", r->id, strlen(r->id));
	mcp_tools_write_error(&w, "result", e);
	jsonw_end_object(&w);
}

/* One notice per request, so it is bounded as answers are and need not ask for room. */
static void notify(struct reqtab *t, const struct req *r, const struct buf *json)
{
	struct buf line;
	struct jsonw w;

	(void)r;
	if (!session->initialized || session->log_level < LEVEL_NOTICE)
		return;
	buf_init(&line, REPLY_BYTES_MAX);
	jsonw_init(&w, &line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_str(&w, "method", "notifications/message");
	jsonw_object(&w, "params");
	jsonw_str(&w, "level", "notice");
	jsonw_str(&w, "logger", "procpen");
	jsonw_raw(&w, "data", json->data, json->len);
	jsonw_end_object(&w);
	jsonw_end_object(&w);
	if (!line.full)
		outq_push(reqtab_outq(t), line.data, line.len);
	buf_release(&line);
}

/*
 * The text of a result stands in the line twice, as text and as structured
 * content, and a page is sized for what a model is shown.
 */
#define DIALECT(revision) { \
	.name = "mcp " revision, \
	.page_bytes = 32u << 10, \
	.text_bytes = 480u << 10, \
	.list_bytes = 160u << 10, /* in the text a list is JSON again and may double */ \
	.yield_ms = 45000, \
	.silent_cancel = true, \
	.ok = answer_ok, \
	.fail = answer_fail, \
	.notify = notify, \
}

static const struct dialect dialects[] = {
	[MCP_2024_11_05] = DIALECT("2024-11-05"),
	[MCP_2025_03_26] = DIALECT("2025-03-26"),
	[MCP_2025_06_18] = DIALECT("2025-06-18"),
	[MCP_2025_11_25] = DIALECT("2025-11-25"),
};

static bool is_ours(const struct dialect *d)
{
	return d >= dialects && d < dialects + COUNT_OF(dialects);
}

/* A request keeps the revision it came in, also when the client initializes again. */
static const struct revision *revision_of(const struct req *r)
{
	return &revisions[r->dialect - dialects];
}

void mcp_legacy_init(struct mcp_legacy *m, struct cap *cap, struct reqtab *reqs)
{
	*m = (struct mcp_legacy){
		.cap = cap,
		.reqs = reqs,
		.revision = MCP_2025_11_25,
		.log_level = LEVEL_DEFAULT,
	};
	session = m;
}

static void reply(struct mcp_legacy *m, const struct rpc_message *message, const struct buf *result)
{
	struct buf line;
	struct jsonw w;

	buf_init(&line, REPLY_BYTES_MAX);
	jsonw_init(&w, &line);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "jsonrpc", "2.0");
	jsonw_raw(&w, "id", message->id, message->id_len);
	if (result)
		jsonw_raw(&w, "result", result->data, result->len);
	else
		jsonw_raw(&w, "result", "{}", 2);
	jsonw_end_object(&w);
	reqtab_send(m->reqs, message->batch, line.data, line.len);
	buf_release(&line);
}

static void refuse(struct mcp_legacy *m, const struct rpc_message *message, const char *what)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_INVALID_PARAMS, "%s: %s", message->method, what);
	rpc_refuse(m->reqs, message, &e);
}

static void write_initialize(const struct mcp_legacy *m, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "protocolVersion", revisions[m->revision].name);
	jsonw_object(&w, "capabilities");
	jsonw_raw(&w, "tools", "{}", 2);
	jsonw_raw(&w, "logging", "{}", 2);
	jsonw_end_object(&w);
	jsonw_object(&w, "serverInfo");
	jsonw_str(&w, "name", "procpen");
	if (revisions[m->revision].shape.structured)
		jsonw_str(&w, "title", "procpen process runner");
	jsonw_str(&w, "version", m->cap->version);
	jsonw_end_object(&w);
	jsonw_str(&w, "instructions", instructions);
	jsonw_end_object(&w);
}

/* A revision that we do not know, or one without a handshake, is answered with our newest. */
static void initialize(struct mcp_legacy *m, const struct rpc_message *message)
{
	const char *wanted = json_get_str(message->params, "protocolVersion", NULL);
	struct buf result;

	if (!wanted) {
		refuse(m, message, "`protocolVersion` must be a string such as \"2025-11-25\"");
		return;
	}
	m->revision = MCP_2025_11_25;
	for (size_t i = 0; i < COUNT_OF(revisions); i++)
		if (!strcmp(wanted, revisions[i].name))
			m->revision = (enum mcp_revision)i;
	m->initialized = true;
	buf_init(&result, REPLY_BYTES_MAX);
	write_initialize(m, &result);
	reply(m, message, &result);
	buf_release(&result);
}

static void ping(struct mcp_legacy *m, const struct rpc_message *message)
{
	reply(m, message, NULL);
}

static void set_level(struct mcp_legacy *m, const struct rpc_message *message)
{
	const char *name = json_get_str(message->params, "level", "");

	for (size_t i = 0; i < COUNT_OF(level_names); i++) {
		if (strcmp(name, level_names[i]))
			continue;
		m->log_level = (int)i;
		reply(m, message, NULL);
		return;
	}
	refuse(m, message, "`level` must be one of debug, info, notice, warning, error, critical, "
			   "alert, emergency");
}

static void list_tools(struct mcp_legacy *m, const struct rpc_message *message)
{
	const json_t *cursor = json_object_get(message->params, "cursor");
	struct buf result;

	if (cursor && (!json_is_string(cursor) || json_string_length(cursor))) {
		refuse(m, message, "no such cursor: all tools are on the first page");
		return;
	}
	buf_init(&result, REPLY_BYTES_MAX);
	mcp_tools_write_list(&result, &revisions[m->revision].shape);
	reply(m, message, &result);
	buf_release(&result);
}

static void refuse_tool(struct mcp_legacy *m, const struct rpc_message *message, const char *name)
{
	const struct cap_row *nearest = mcp_tools_nearest(name);
	struct err e = ERR_INIT;

	err_set(&e, ERR_INVALID_PARAMS, "unknown tool `%.100s`%s%s%s", name,
		nearest ? "; did you mean `" : "", nearest ? nearest->tool_name : "",
		nearest ? "`?" : "");
	err_hint(&e, "tools/list shows all tools.");
	rpc_refuse(m->reqs, message, &e);
}

static void call_tool(struct mcp_legacy *m, const struct rpc_message *message)
{
	const char *name = json_get_str(message->params, "name", NULL);
	json_t *arguments = json_object_get(message->params, "arguments");
	const struct cap_row *row;
	struct req *r;

	if (!name) {
		refuse(m, message, "`name` must be a string");
		return;
	}
	if (arguments && !json_is_object(arguments)) {
		refuse(m, message, "`arguments` must be an object");
		return;
	}
	row = strlen(name) == json_get_strlen(message->params, "name") ? cap_find(name) : NULL;
	if (!row) {
		refuse_tool(m, message, name);
		return;
	}
	r = rpc_request(m->reqs, &dialects[m->revision], message);
	if (!r) {
		cap_refused(m->cap, row, arguments, message->id, message->id_len);
		return;
	}
	if (!arguments) {
		arguments = json_object();
		json_object_set_new(message->params, "arguments", arguments);
	}
	r->row = row;
	r->params = arguments;
	cap_call(m->cap, r);
}

/* Ids are compared as JSON values: 1 is not "1". Unknown and finished ones are ignored. */
static void cancel(struct mcp_legacy *m, const struct rpc_message *message)
{
	const json_t *wanted = json_object_get(message->params, "requestId");

	if (message->id || !wanted)
		return;
	for (struct req *r = reqtab_first(m->reqs); r; r = r->next) {
		if (is_ours(r->dialect) && json_equal(json_object_get(r->root, "id"), wanted)) {
			req_cancel(r);
			return;
		}
	}
}

static const struct {
	const char *method;
	void (*call)(struct mcp_legacy *m, const struct rpc_message *message);
	bool notification;
} methods[] = {
	{ "tools/call", call_tool, false },
	{ "ping", ping, false },
	{ "initialize", initialize, false },
	{ "tools/list", list_tools, false },
	{ "logging/setLevel", set_level, false },
	{ "notifications/cancelled", cancel, true },
};

/* Everything beneath these names belongs to this protocol, whether we serve it or not. */
static const char *const prefixes[] = { "tools/",      "notifications/", "logging/", "resources/",
					"prompts/",    "completion/",	 "tasks/",   "roots/",
					"sampling/",   "elicitation/" };

bool mcp_legacy_owns(const char *method)
{
	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (!strcmp(method, methods[i].method))
			return true;
	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (!strncmp(method, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Batches exist in one revision only, and never hold the handshake itself. */
static bool is_misplaced(const struct mcp_legacy *m, const struct rpc_message *message)
{
	if (!message->batch)
		return false;
	return !m->initialized || !revisions[m->revision].batches ||
	       !strcmp(message->method, "initialize");
}

void mcp_legacy_message(struct mcp_legacy *m, struct rpc_message *message)
{
	struct err e = ERR_INIT;

	if (is_misplaced(m, message)) {
		err_set(&e, ERR_INVALID_REQUEST, "%s cannot be part of a batch here",
			message->method);
		err_hint(&e, "Send it as a line of its own.");
		rpc_refuse(m->reqs, message, &e);
		return;
	}
	if (json_is_array(message->params)) {
		refuse(m, message, "`params` must be an object");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		if (strcmp(message->method, methods[i].method))
			continue;
		if (methods[i].notification == !message->id)
			methods[i].call(m, message);
		else if (message->id)
			break;
		return;
	}
	err_set(&e, ERR_METHOD_NOT_FOUND, "this server has no method %.100s", message->method);
	err_hint(&e, "It serves tools, ping and logging/setLevel.");
	rpc_refuse(m->reqs, message, &e);
}
