#include "mcp/mcp.h"

#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/version.h"

const struct mcp_shape mcp_shapes[MCP_REVISIONS] = {
	[MCP_2024_11_05] = { .name = "2024-11-05" },
	[MCP_2025_03_26] = { .name = "2025-03-26", .batches = true, .annotations = true },
	[MCP_2025_06_18] = {
		.name = "2025-06-18",
		.annotations = true,
		.structured = true,
		.elicitation = true,
	},
	[MCP_2025_11_25] = {
		.name = "2025-11-25",
		.annotations = true,
		.structured = true,
		.elicitation = true,
		.elicitation_mode = true,
	},
	[MCP_2026_07_28] = {
		.name = "2026-07-28",
		.annotations = true,
		.structured = true,
		.elicitation_mode = true,
		.stateless = true,
	},
};

const char *mcp_text(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

int mcp_log_level(const char *name)
{
	static const char *const names[] = { "emergency", "alert",  "critical", "error",
					     "warning",	  "notice", "info",     "debug" };

	for (size_t i = 0; name && i < COUNT_OF(names); i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -1;
}

void mcp_note_client(struct mcp *m, const json_t *info)
{
	audit_set_client(m->cap->audit, mcp_text(info, "name"), mcp_text(info, "version"));
}

static void mcp_drop_null_members(json_t *object)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, name, value)
		if (json_is_null(value))
			json_object_del(object, name);
}

void mcp_drop_nulls(json_t *params)
{
	mcp_drop_null_members(params);
	mcp_drop_null_members(json_object_get(params, "_meta"));
	mcp_drop_null_members(json_object_get(params, "notifications"));
}

const json_t *mcp_meta(const json_t *root)
{
	const json_t *meta = json_object_get(json_object_get(root, "params"), "_meta");

	return json_is_object(meta) ? meta : NULL;
}

const json_t *mcp_declared(const json_t *root, const char *capability)
{
	const json_t *all = json_object_get(mcp_meta(root), MCP_META "clientCapabilities");
	const json_t *value = json_object_get(all, capability);

	return json_is_object(value) ? value : NULL;
}

bool mcp_declares_tasks(const json_t *root)
{
	return json_is_object(json_object_get(mcp_declared(root, "extensions"), MCP_TASKS));
}

bool mcp_shows_forms(const json_t *elicitation)
{
	return json_is_object(elicitation) &&
	       (!json_object_size(elicitation) ||
		json_is_object(json_object_get(elicitation, "form")));
}

void mcp_begin_result(struct jsonw *w, struct buf *line, const char *id, size_t id_len,
		      const struct mcp_shape *shape, const char *type)
{
	jsonw_init(w, line);
	jsonw_object(w, NULL);
	jsonw_str(w, "jsonrpc", "2.0");
	jsonw_raw(w, "id", id, id_len);
	jsonw_object(w, "result");
	if (shape->stateless)
		jsonw_str(w, "resultType", type);
}

void mcp_open_meta(struct jsonw *w, const struct mcp_shape *shape)
{
	jsonw_object(w, "_meta");
	if (!shape->stateless)
		return;
	jsonw_object(w, MCP_META "serverInfo");
	jsonw_str(w, "name", mcp_offer.name);
	jsonw_str(w, "title", mcp_offer.title);
	jsonw_str(w, "version", PROCPEN_VERSION);
	jsonw_end_object(w);
}

void mcp_close_result(struct jsonw *w)
{
	jsonw_end_object(w);
	jsonw_end_object(w);
}

void mcp_end_result(struct jsonw *w, const struct mcp_shape *shape)
{
	if (shape->stateless) {
		mcp_open_meta(w, shape);
		jsonw_end_object(w);
	}
	mcp_close_result(w);
}

void mcp_write_cache(struct jsonw *w, const struct mcp_shape *shape, int64_t ttl_ms, bool shared)
{
	if (!shape->stateless)
		return;
	jsonw_int(w, "ttlMs", ttl_ms);
	jsonw_str(w, "cacheScope", shared ? "public" : "private");
}

void mcp_reply_begin(struct mcp_reply *reply, const struct rpc_message *message,
		     const struct mcp_shape *shape)
{
	reply->message = message;
	reply->shape = shape;
	buf_init(&reply->line, REQ_LINE_MAX);
	mcp_begin_result(&reply->w, &reply->line, message->id, message->id_len, shape, "complete");
}

void mcp_reply_send(struct mcp *m, struct mcp_reply *reply)
{
	struct req_batch *batch = reply->message->batch;
	ERR_LOCAL(e);

	mcp_end_result(&reply->w, reply->shape);
	if (reply->line.full || !req_fits(batch, reply->line.len)) {
		req_too_large(&e);
		rpc_refuse(m->reqs, reply->message, &e);
	} else {
		reqtab_send(m->reqs, batch, reply->line.data, reply->line.len);
	}
	buf_release(&reply->line);
}

void mcp_reply_empty(struct mcp *m, const struct rpc_message *message,
		     const struct mcp_shape *shape)
{
	struct mcp_reply reply;

	mcp_reply_begin(&reply, message, shape);
	mcp_reply_send(m, &reply);
}

void mcp_refuse(struct mcp *m, const struct rpc_message *message, const char *fmt, ...)
{
	ERR_LOCAL(e);
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	err_set(&e, ERR_INVALID_PARAMS, "%.100s: %s", message->method, what);
	rpc_refuse(m->reqs, message, &e);
}

void mcp_refuse_without_tasks(struct mcp *m, const struct rpc_message *message)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_MISSING_CLIENT_CAPABILITY,
		"%s needs the extension " MCP_TASKS ", which this request does not declare",
		message->method);
	err_detail(&e, "requiredCapabilities", json_pack("{s:{s:{}}}", "extensions", MCP_TASKS));
	rpc_refuse(m->reqs, message, &e);
}

bool mcp_notify(struct mcp *m, const struct buf *line)
{
	struct outq *out = reqtab_outq(m->reqs);

	if (line->full || !outq_room(out, line->len + 1))
		return false;
	outq_push(out, line->data, line->len);
	return true;
}
