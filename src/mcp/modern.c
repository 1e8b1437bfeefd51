#include "mcp/modern.h"

#include <string.h>

#include "base/jsonw.h"
#include "mcp/call.h"
#include "mcp/methods.h"

#define REVISION MCP_2026_07_28
#define SHAPE (&mcp_shapes[REVISION])
#define DISCOVER_TTL_MS 3600000

/* Null is as good as none. */
static bool mcp_modern_has(const json_t *meta, const char *key)
{
	const json_t *value = json_object_get(meta, key);

	return value && !json_is_null(value);
}

bool mcp_modern_owns(const struct rpc_message *message)
{
	const json_t *meta = mcp_meta(message->root);

	return mcp_modern_has(meta, MCP_META "protocolVersion") ||
	       mcp_modern_has(meta, MCP_META "clientCapabilities") ||
	       !strcmp(message->method, "server/discover") ||
	       !strcmp(message->method, "subscriptions/listen");
}

/* ---- what each request must carry ---- */

static int mcp_modern_check_version(const json_t *meta, struct err *e)
{
	const char *version = mcp_text(meta, MCP_META "protocolVersion");

	if (!version)
		return err_set(e, ERR_INVALID_PARAMS,
			       "_meta must have `" MCP_META "protocolVersion`, a string");
	if (!strcmp(version, SHAPE->name))
		return 0;
	err_set(e, ERR_UNSUPPORTED_PROTOCOL_VERSION, "protocol version %.60s is not supported",
		version);
	err_detail(e, "supported", json_pack("[s]", SHAPE->name));
	err_detail_text(e, "requested", version);
	return -1;
}

static int mcp_modern_check_level(const json_t *level, struct err *e)
{
	if (!level || mcp_log_level(json_string_value(level)) >= 0)
		return 0;
	return err_set(e, ERR_INVALID_PARAMS, "`" MCP_META "logLevel` is not a log level");
}

static int mcp_modern_check_meta(struct mcp *m, const json_t *meta, struct err *e)
{
	const json_t *info = json_object_get(meta, MCP_META "clientInfo");

	if (mcp_modern_check_version(meta, e))
		return -1;
	if (!json_is_object(json_object_get(meta, MCP_META "clientCapabilities")))
		return err_set(e, ERR_INVALID_PARAMS,
			       "_meta must have `" MCP_META "clientCapabilities`, an object");
	if (info && !json_is_object(info))
		return err_set(e, ERR_INVALID_PARAMS,
			       "`" MCP_META "clientInfo` must be an object");
	if (info)
		mcp_note_client(m, info);
	return mcp_modern_check_level(json_object_get(meta, MCP_META "logLevel"), e);
}

/* ---- methods ---- */

static void mcp_modern_discover(struct mcp *m, const struct rpc_message *message)
{
	struct mcp_reply reply;
	struct jsonw *w = &reply.w;

	mcp_reply_begin(&reply, message, SHAPE);
	jsonw_array(w, "supportedVersions");
	jsonw_str(w, NULL, SHAPE->name);
	jsonw_end_array(w);
	jsonw_raw(w, "capabilities", mcp_offer.stateless, strlen(mcp_offer.stateless));
	jsonw_str(w, "instructions", mcp_offer.instructions);
	mcp_write_cache(w, SHAPE, DISCOVER_TTL_MS, true);
	mcp_reply_send(m, &reply);
}

static void mcp_modern_call_method(struct mcp *m, const struct rpc_message *message, struct err *e)
{
	if (!strcmp(message->method, "server/discover")) {
		mcp_modern_discover(m, message);
		return;
	}
	if (mcp_serve(m, message, REVISION) || rpc_refuse_notification(m->reqs, message))
		return;
	err_set(e, ERR_METHOD_NOT_FOUND, "revision %s has no method `%.100s` here", SHAPE->name,
		message->method);
	err_hint(e, "Call server/discover for what this server serves.");
	rpc_refuse(m->reqs, message, e);
}

void mcp_modern_message(struct mcp *m, const struct rpc_message *message)
{
	ERR_LOCAL(e);

	if (!message->id) {
		if (!strcmp(message->method, "notifications/cancelled"))
			mcp_call_cancel(m, message);
		return;
	}
	if (message->batch) {
		err_set(&e, ERR_INVALID_REQUEST, "revision %s has no batches", SHAPE->name);
		err_hint(&e, "Send each request as a line of its own.");
		rpc_refuse(m->reqs, message, &e);
	} else if (mcp_modern_check_meta(m, mcp_meta(message->root), &e)) {
		rpc_refuse(m->reqs, message, &e);
	} else {
		mcp_modern_call_method(m, message, &e);
	}
}
