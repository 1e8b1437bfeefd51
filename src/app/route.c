/*
 * The dialect is found per message, by its own content: the first row that wants
 * the message gets it. A dialect to come is one more row.
 */
#include "app/route.h"

#include <string.h>

#include "app/mcp_tools.h"
#include "rpc/plain.h"

#define STATELESS_KEY "io.modelcontextprotocol/protocolVersion"

void route_init(struct route *route, struct cap *cap, struct reqtab *reqs, struct ask *ask)
{
	route->cap = cap;
	route->reqs = reqs;
	route->ask = ask;
	mcp_legacy_init(&route->mcp, cap, reqs);
	plain_set_ask(ask);
}

static bool is_response(const struct rpc_message *m)
{
	return !m->method;
}

static void take_response(struct route *route, struct rpc_message *m)
{
	ask_answer(route->ask, m->root);
}

/* MCP without a handshake, which is not spoken yet: its clients fall back on this error. */
static bool is_stateless(const struct rpc_message *m)
{
	return !strcmp(m->method, "server/discover") ||
	       json_object_get(json_object_get(m->params, "_meta"), STATELESS_KEY);
}

static void refuse_stateless(struct route *route, struct rpc_message *m)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_METHOD_NOT_FOUND,
		"this server speaks MCP with a handshake (2024-11-05 to 2025-11-25), "
		"not the stateless revisions");
	err_hint(&e, "Send initialize, and no protocol version in _meta.");
	rpc_refuse(route->reqs, m, &e);
}

static bool is_mcp(const struct rpc_message *m)
{
	return mcp_legacy_owns(m->method);
}

static void take_mcp(struct route *route, struct rpc_message *m)
{
	mcp_legacy_message(&route->mcp, m);
}

static bool is_cancel(const struct rpc_message *m)
{
	return !strcmp(m->method, "$/cancelRequest") && !m->id;
}

static void cancel(struct route *route, struct rpc_message *m)
{
	const json_t *wanted = json_object_get(m->params, "id");

	for (struct req *r = reqtab_first(route->reqs); wanted && r; r = r->next) {
		if (r->dialect == &plain_dialect &&
		    json_equal(json_object_get(r->root, "id"), wanted)) {
			req_cancel(r);
			return;
		}
	}
}

static void refuse_method(struct route *route, struct rpc_message *m)
{
	const struct cap_row *nearest = mcp_tools_nearest(m->method);
	struct err e = ERR_INIT;

	err_set(&e, ERR_METHOD_NOT_FOUND, "there is no method `%.100s`%s%s%s", m->method,
		nearest ? "; did you mean `" : "", nearest ? nearest->name : "",
		nearest ? "`?" : "");
	rpc_refuse(route->reqs, m, &e);
}

static bool is_anything(const struct rpc_message *m)
{
	return m->method;
}

/* A capability by its own name. A notification is ignored: nobody could hear of the result. */
static void call_capability(struct route *route, struct rpc_message *m)
{
	const struct cap_row *row = cap_find(m->method);
	struct err e = ERR_INIT;
	json_t *params = m->params;
	struct req *r;

	if (!m->id)
		return;
	if (!row || strcmp(row->name, m->method)) {
		refuse_method(route, m);
		return;
	}
	if (json_is_array(params)) {
		err_set(&e, ERR_INVALID_PARAMS, "%s: params must be an object with named members",
			m->method);
		rpc_refuse(route->reqs, m, &e);
		return;
	}
	r = rpc_request(route->reqs, &plain_dialect, m);
	if (!r) {
		cap_refused(route->cap, row, params, m->id, m->id_len);
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

static const struct {
	bool (*wants)(const struct rpc_message *m);
	void (*take)(struct route *route, struct rpc_message *m);
} dialects[] = {
	{ is_response, take_response },
	{ is_stateless, refuse_stateless },
	{ is_mcp, take_mcp },
	{ is_cancel, cancel },
	{ is_anything, call_capability },
};

void route_message(void *ctx, struct rpc_message *m)
{
	size_t i = 0;

	while (!dialects[i].wants(m))
		i++;
	dialects[i].take(ctx, m);
}
