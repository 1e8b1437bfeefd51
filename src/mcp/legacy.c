#include "mcp/legacy.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/version.h"
#include "mcp/call.h"
#include "mcp/methods.h"
#include "mcp/roots.h"
#include "mcp/subs.h"

static const struct mcp_shape *mcp_legacy_shape_of(const struct mcp *m)
{
	return &mcp_shapes[m->revision];
}

static void mcp_legacy_write_initialize(const struct mcp_shape *shape, struct jsonw *w)
{
	jsonw_str(w, "protocolVersion", shape->name);
	jsonw_raw(w, "capabilities", mcp_offer.handshake, strlen(mcp_offer.handshake));
	jsonw_object(w, "serverInfo");
	jsonw_str(w, "name", mcp_offer.name);
	if (shape->structured)
		jsonw_str(w, "title", mcp_offer.title);
	jsonw_str(w, "version", PROCPEN_VERSION);
	jsonw_end_object(w);
	jsonw_str(w, "instructions", mcp_offer.instructions);
}

/* A revision that we do not know, or one without a handshake, is answered with our newest. */
static void mcp_legacy_initialize(struct mcp *m, const struct rpc_message *message)
{
	const char *wanted = mcp_text(message->params, "protocolVersion");
	const json_t *capabilities = json_object_get(message->params, "capabilities");
	struct mcp_reply reply;

	if (!wanted) {
		mcp_refuse(m, message,
			   "`protocolVersion` must be a string such as \"2025-11-25\"");
		return;
	}
	m->revision = MCP_NEWEST_HANDSHAKE;
	for (int i = 0; i < MCP_REVISIONS; i++)
		if (!mcp_shapes[i].stateless && !strcmp(wanted, mcp_shapes[i].name))
			m->revision = (enum mcp_revision)i;
	m->initialized = true;
	mcp_note_client(m, json_object_get(message->params, "clientInfo"));
	m->log_level = MCP_LEVEL_DEFAULT;
	mcp_subs_reset(m->subs);
	m->elicits = mcp_shows_forms(json_object_get(capabilities, "elicitation"));
	m->has_roots = json_is_object(json_object_get(capabilities, "roots"));
	mcp_reply_begin(&reply, message, mcp_legacy_shape_of(m));
	mcp_legacy_write_initialize(mcp_legacy_shape_of(m), &reply.w);
	mcp_reply_send(m, &reply);
}

static void mcp_legacy_ping(struct mcp *m, const struct rpc_message *message)
{
	mcp_reply_empty(m, message, mcp_legacy_shape_of(m));
}

static void mcp_legacy_set_level(struct mcp *m, const struct rpc_message *message)
{
	int level = mcp_log_level(mcp_text(message->params, "level"));

	if (level < 0) {
		mcp_refuse(m, message, "`level` must be one of debug, info, notice, warning, "
				       "error, critical, alert, emergency");
		return;
	}
	m->log_level = level;
	mcp_reply_empty(m, message, mcp_legacy_shape_of(m));
}

static void mcp_legacy_initialized(struct mcp *m, const struct rpc_message *message)
{
	(void)message;
	if (m->initialized)
		mcp_roots_ask(m);
}

static const struct {
	const char *method;
	void (*call)(struct mcp *m, const struct rpc_message *message);
	bool notification;
} methods[] = {
	{ "ping", mcp_legacy_ping, false },
	{ "initialize", mcp_legacy_initialize, false },
	{ "logging/setLevel", mcp_legacy_set_level, false },
	{ "notifications/initialized", mcp_legacy_initialized, true },
	{ "notifications/cancelled", mcp_call_cancel, true },
};

/* Every method with these prefixes belongs to MCP, served or not. */
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

/* Batches exist in one revision only, and never contain initialize. */
static bool mcp_legacy_is_misplaced(const struct mcp *m, const struct rpc_message *message)
{
	if (!message->batch)
		return false;
	return !m->initialized || !mcp_legacy_shape_of(m)->batches ||
	       !strcmp(message->method, "initialize");
}

/* Serve a method that only the handshake has. Returns false if it is none. */
static bool mcp_legacy_serve_own(struct mcp *m, const struct rpc_message *message)
{
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		if (strcmp(message->method, methods[i].method) ||
		    methods[i].notification == (message->id != NULL))
			continue;
		methods[i].call(m, message);
		return true;
	}
	return false;
}

void mcp_legacy_message(struct mcp *m, const struct rpc_message *message)
{
	ERR_LOCAL(e);

	if (mcp_legacy_is_misplaced(m, message)) {
		err_set(&e, ERR_INVALID_REQUEST, "%s cannot be part of a batch here",
			message->method);
		err_hint(&e, "Send it as a line of its own.");
		rpc_refuse(m->reqs, message, &e);
		return;
	}
	if (json_is_array(message->params)) {
		mcp_refuse(m, message, "`params` must be an object");
		return;
	}
	if (mcp_legacy_serve_own(m, message) || !message->id ||
	    mcp_serve(m, message, m->revision) || rpc_refuse_notification(m->reqs, message))
		return;
	err_set(&e, ERR_METHOD_NOT_FOUND, "this server has no method `%.100s`", message->method);
	err_hint(&e, "The answer to initialize names the capabilities that it serves.");
	rpc_refuse(m->reqs, message, &e);
}
