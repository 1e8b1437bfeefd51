/*
 * Tries the table of dialects in order: the first one that a message belongs to handles it. A new
 * dialect is one more row.
 */
#include "server/route.h"

#include <string.h>

#include "base/log.h"
#include "mcp/call.h"
#include "mcp/legacy.h"
#include "mcp/modern.h"
#include "mcp/progress.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"
#include "mcp/tool_names.h"
#include "mcp/tools.h"
#include "policy/approval.h"
#include "rpc/plain.h"

static void route_on_run(void *ctx, struct proc *p, unsigned events)
{
	struct route *route = ctx;
	bool over = events & (PROC_EVENT_SETTLED | PROC_EVENT_FAILED);

	if (over)
		mcp_tasks_on_end(route->mcp.tasks, p); /* first: the others read the task */
	if (events & PROC_EVENT_OUTPUT)
		mcp_progress_on_output(route->mcp.progress, p);
	if (over || (events & PROC_EVENT_OUTPUT))
		mcp_subs_changed(route->mcp.subs, p->seq, over);
	if (events & PROC_EVENT_REMOVED)
		mcp_subs_gone(route->mcp.subs, p->seq);
}

void route_init(struct route *route, struct cap *cap, struct reqtab *reqs, struct ask *ask)
{
	struct mcp *m = &route->mcp;

	*route = (struct route){ .cap = cap, .reqs = reqs, .ask = ask, .eof_ms = MCP_EOF_MS };
	m->cap = cap;
	m->reqs = reqs;
	m->ask = ask;
	m->all_parameters = !strcmp(config_choice(cap->config, CONFIG_MCP_TOOLS), "all");
	m->structured = config_bool(cap->config, CONFIG_MCP_STRUCTURED);
	m->revision = MCP_NEWEST_HANDSHAKE;
	m->log_level = MCP_LEVEL_DEFAULT;
	m->approvals = approval_new();
	m->progress = mcp_progress_new(m);
	m->subs = mcp_subs_new(m);
	m->tasks = mcp_tasks_new(m);
	mcp_call_init(m);
	route->plain = plain_dialect(ask);
	cap->on_run = route_on_run;
	cap->on_run_ctx = route;
}

void route_release(struct route *route)
{
	mcp_subs_free(route->mcp.subs);
	mcp_progress_free(route->mcp.progress);
	mcp_tasks_free(route->mcp.tasks);
	approval_free(route->mcp.approvals);
}

void route_request_ended(struct route *route, uint64_t handle)
{
	mcp_progress_drop(route->mcp.progress, handle);
	mcp_subs_drop(route->mcp.subs, handle);
}

/* Any answer will do, and none too. */
static void route_on_pong(void *ctx, uint64_t handle, const json_t *result, const char *why)
{
	(void)ctx;
	(void)handle;
	(void)result;
	(void)why;
}

void route_ping(struct route *route)
{
	const char *method = route->mcp.initialized ? "ping" : "server.ping";
	int deadline_ms = (int)config_int(route->cap->config, CONFIG_SERVER_LEASE_MS);
	struct buf params;

	if (!route->mcp.initialized && !route->cap->pings)
		return;
	buf_init(&params, 2);
	buf_adds(&params, "{}");
	(void)ask_send(route->ask, method, &params, deadline_ms, route_on_pong, NULL, 0);
	buf_release(&params);
}

void route_closing(struct route *route)
{
	(void)metrics_stop(route->cap); /* else a slow reader would never have read all */
	mcp_subs_end(route->mcp.subs);
}

/* Each of these returns false for a message that is not its own. */

static bool route_response(struct route *route, struct rpc_message *m)
{
	if (m->method)
		return false;
	ask_answer(route->ask, m->root);
	return true;
}

static bool route_modern(struct route *route, struct rpc_message *m)
{
	if (!mcp_modern_owns(m))
		return false;
	m->write = mcp_tool_names_write;
	mcp_drop_nulls(m->params);
	mcp_modern_message(&route->mcp, m);
	return true;
}

static bool route_legacy(struct route *route, struct rpc_message *m)
{
	if (!mcp_legacy_owns(m->method))
		return false;
	m->write = mcp_tool_names_write;
	mcp_drop_nulls(m->params);
	mcp_legacy_message(&route->mcp, m);
	return true;
}

static bool route_cancel(struct route *route, struct rpc_message *m)
{
	struct req *r;

	if (strcmp(m->method, "$/cancelRequest") != 0 || m->id)
		return false;
	r = req_find_value(route->reqs, json_object_get(m->params, "id"));
	if (r && r->dialect == &route->plain)
		req_cancel(r);
	return true;
}

static void route_refuse_method(struct route *route, struct rpc_message *m)
{
	const struct cap_row *nearest = mcp_tools_nearest(m->method);
	const char *why = cap_why_none(m->method);
	ERR_LOCAL(e);

	if (rpc_refuse_notification(route->reqs, m))
		return;
	if (why)
		nearest = NULL;
	err_set(&e, ERR_METHOD_NOT_FOUND, "there is no method `%.100s`%s%s%s", m->method,
		nearest ? "; did you mean `" : why ? why : "", nearest ? nearest->name : "",
		nearest ? "`?" : "");
	rpc_refuse(route->reqs, m, &e);
}

/* A notification could have no answer. */
static bool route_refuse(struct route *route, struct rpc_message *m)
{
	if (m->id) {
		route->eof_ms = route->plain.eof_ms;
		route_refuse_method(route, m);
	}
	return true;
}

static void route_call_capability(struct route *route, const struct cap_row *row,
				  struct rpc_message *m)
{
	ERR_LOCAL(e);
	json_t *params = m->params;
	struct req *r;

	if (json_is_array(params)) {
		err_set(&e, ERR_INVALID_PARAMS, "%s: params must be an object with named members",
			m->method);
		err_hint(&e, "Give each parameter by its name: \"params\":{\"name\":value}.");
		rpc_refuse(route->reqs, m, &e);
		return;
	}
	r = rpc_request(route->reqs, &route->plain, m);
	if (!r) {
		cap_refused(route->cap, row, params, m->id, m->id_len, ERR_INVALID_REQUEST);
		return;
	}
	if (!params) {
		params = json_object();
		json_object_set_new(m->root, "params", params);
	}
	r->row = row;
	r->params = params;
	cap_call(route->cap, r);
}

/* A capability by its own name. */
static bool route_capability(struct route *route, struct rpc_message *m)
{
	const struct cap_row *row = cap_find(route->cap, m->method);

	if (!row || strcmp(row->name, m->method) != 0)
		return false;
	if (m->id) {
		route->eof_ms = route->plain.eof_ms;
		route_call_capability(route, row, m);
	}
	return true;
}

/* No method of MCP's handshake has the name of a capability. */
static bool (*const dialects[])(struct route *route, struct rpc_message *m) = {
	route_response, route_modern, route_capability, route_legacy, route_cancel, route_refuse,
};

/* Is @m a call? The audit log records calls even if they are refused. */
static bool route_is_call(const struct route *route, const struct rpc_message *m)
{
	return !strcmp(m->method, "tools/call") || !strcmp(m->method, "resources/read") ||
	       cap_find(route->cap, m->method);
}

/* A script that waits for the answer to a call without an id waits for good: say so, once. */
static void route_warn_of_no_id(struct route *route, const struct rpc_message *m)
{
	if (m->id || m->duplicate_id || !m->method || route->warned_of_no_id ||
	    !route_is_call(route, m))
		return;
	route->warned_of_no_id = true;
	log_warn("%s came without an id, as a notification: nothing is called, and there is no "
		 "answer; give each request an id", m->method);
}

void route_message(void *ctx, struct rpc_message *m)
{
	struct route *route = ctx;
	ERR_LOCAL(e);
	size_t i = 0;

	if (m->duplicate_id && !route_is_call(route, m)) {
		rpc_refuse(route->reqs, m, &e);
		return;
	}

	route_warn_of_no_id(route, m);
	while (!dialects[i](route, m))
		i++;
}
