/*
 * Source: JSON-RPC 2.0, sections 4 to 6. A message with a method and no id is a
 * notification and is never answered; a message with a result or an error and no
 * method is the client's answer and is never answered either. The id of an error is
 * null where the message's own id is missing or illegal.
 */
#include "rpc/rpc.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

#define BATCH_ELEMENTS_MAX 1000

enum kind { KIND_CALL, KIND_ANSWER, KIND_DROP, KIND_INVALID };

static void rpc_begin_reply(struct jsonw *w, struct buf *line, const char *id, size_t id_len)
{
	jsonw_init(w, line);
	jsonw_object(w, NULL);
	jsonw_str(w, "jsonrpc", "2.0");
	if (id)
		jsonw_raw(w, "id", id, id_len);
	else
		jsonw_null(w, "id");
}

/* MCP defines members of `data` for these errors; write ours next to them. */
static bool rpc_has_own_data(const struct err *e)
{
	return e->type == ERR_RESOURCE_NOT_FOUND || e->type == ERR_MISSING_CLIENT_CAPABILITY ||
	       e->type == ERR_UNSUPPORTED_PROTOCOL_VERSION ||
	       (e->type == ERR_INVALID_PARAMS && json_object_get(e->details, "uri"));
}

static void rpc_write_members(struct jsonw *w, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
		jsonw_json(w, name, value);
}

void rpc_write_details(struct jsonw *w, const struct err *e, const struct result *partial)
{
	jsonw_object(w, "details");
	rpc_write_members(w, e->details);
	if (partial)
		jsonw_raw(w, "result", partial->json.data, partial->json.len);
	jsonw_end_object(w);
}

static void rpc_write_text(struct jsonw *w, const char *key, const char *text, rpc_write_fn write)
{
	jsonw_open_str(w, key);
	(write ? write : jsonw_piece)(w, text, strlen(text));
	jsonw_close_str(w);
}

static void rpc_write_action(struct jsonw *w, const struct err_action *action, rpc_write_fn write)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "name", action->name);
	rpc_write_text(w, "text", action->text, write);
	jsonw_end_object(w);
}

void rpc_write_actions(struct jsonw *w, const struct err *e, rpc_write_fn write)
{
	static const struct err_action retry = { "retry", "Call again a little later." };
	const struct err_action *action = err_rows[e->type].actions;
	bool passes = err_retryable(e) && !err_rows[e->type].retryable;

	jsonw_array(w, "actions");
	for (unsigned i = 0; action && action[i].name && !e->lasting && !passes; i++)
		if (!(e->left_out >> i & 1))
			rpc_write_action(w, &action[i], write);
	if (passes)
		rpc_write_action(w, &retry, write);
	jsonw_end_array(w);
}

static void rpc_write_data(struct jsonw *w, const struct err *e, const struct result *partial,
			   rpc_write_fn write)
{
	jsonw_object(w, "data");
	if (rpc_has_own_data(e))
		rpc_write_members(w, e->details);
	jsonw_str(w, "type", err_rows[e->type].name);
	rpc_write_text(w, "hint", err_hint_text(e), write);
	jsonw_bool(w, "retryable", err_retryable(e));
	rpc_write_actions(w, e, write);
	rpc_write_details(w, e, partial);
	jsonw_end_object(w);
}

void rpc_write_error(struct buf *line, const char *id, size_t id_len, const struct err *e,
		     const struct result *partial, rpc_write_fn write)
{
	struct jsonw w;

	rpc_begin_reply(&w, line, id, id_len);
	jsonw_object(&w, "error");
	jsonw_int(&w, "code", err_rows[e->type].code);
	rpc_write_text(&w, "message", e->message, write);
	rpc_write_data(&w, e, partial, write);
	jsonw_end_object(&w);
	jsonw_end_object(&w);
}

void rpc_write_notice(struct jsonw *w, const char *key, const struct req *r,
		      const struct buf *notice)
{
	jsonw_object(w, key);
	jsonw_raw(w, "request_id", r->id, strlen(r->id));
	jsonw_members(w, notice);
	jsonw_end_object(w);
}

void rpc_write_result(struct buf *line, const char *id, struct result *result)
{
	struct jsonw w;

	rpc_begin_reply(&w, line, id, strlen(id));
	jsonw_take(&w, "result", &result->json);
	jsonw_end_object(&w);
}

void rpc_open_notification(struct jsonw *w, struct buf *line, const char *method)
{
	jsonw_init(w, line);
	jsonw_object(w, NULL);
	jsonw_str(w, "jsonrpc", "2.0");
	jsonw_str(w, "method", method);
	jsonw_object(w, "params");
}

void rpc_close_notification(struct jsonw *w)
{
	jsonw_end_object(w);
	jsonw_end_object(w);
}

/* Answer with an error; releases @e. */
static void rpc_send_error(struct reqtab *t, struct req_batch *batch, const char *id, size_t id_len,
			   struct err *e, rpc_write_fn write)
{
	struct buf line;

	buf_init(&line, REQ_LINE_MAX);
	rpc_write_error(&line, id, id_len, e, NULL, write);
	if (line.full || !req_fits(batch, line.len)) {
		req_too_large(e);
		buf_clear(&line);
		rpc_write_error(&line, id, id_len, e, NULL, write);
	}
	reqtab_send(t, batch, line.data, line.len);
	buf_release(&line);
	err_release(e);
}

void rpc_refuse(struct reqtab *t, const struct rpc_message *m, struct err *e)
{
	if (m->duplicate_id) {
		req_duplicate_id(e, json_object_get(m->root, "id"));
		rpc_send_error(t, m->batch, NULL, 0, e, m->write);
	} else if (m->id) {
		rpc_send_error(t, m->batch, m->id, m->id_len, e, m->write);
	} else {
		err_release(e);
	}
}

bool rpc_refuse_notification(struct reqtab *t, const struct rpc_message *m)
{
	ERR_LOCAL(e);

	if (strcmp(m->method, "$/cancelRequest") != 0 && strncmp(m->method, "notifications/", 14))
		return false;
	err_set(&e, ERR_METHOD_NOT_FOUND, "`%.100s` is a notification, not a request", m->method);
	err_hint(&e, "Send it without an id.");
	rpc_refuse(t, m, &e);
	return true;
}

struct req *rpc_request(struct reqtab *t, const struct dialect *d, const struct rpc_message *m)
{
	ERR_LOCAL(e);
	struct req *r;

	r = req_new(t, d, m->id, m->id_len, json_incref(m->root), m->batch, &e);
	if (r)
		return r;
	rpc_refuse(t, m, &e);
	return NULL;
}

/* A string, or a number without a fractional part; its raw token is short enough to repeat. */
static bool rpc_is_legal_id(const json_t *id, size_t raw_len, size_t max)
{
	double value;

	if (raw_len > max)
		return false;
	if (json_is_string(id) || json_is_integer(id))
		return true;
	if (!json_is_real(id))
		return false;
	value = json_real_value(id);
	return fabs(value) >= 9007199254740992.0 || (double)(int64_t)value == value;
}

static enum kind rpc_invalid(struct err *e, const char *what)
{
	err_set(e, ERR_INVALID_REQUEST, "not a JSON-RPC 2.0 message: %s", what);
	return KIND_INVALID;
}

static bool rpc_is_version_2(const json_t *version)
{
	return json_is_string(version) && json_string_length(version) == strlen("2.0") &&
	       !strcmp(json_string_value(version), "2.0");
}

/* What is @m->root? Fills the rest of @m; of an invalid message, the id as far as it is legal. */
static enum kind rpc_classify(struct rpc_message *m, const char *text, size_t len, struct err *e)
{
	const json_t *id = json_object_get(m->root, "id");
	const json_t *method = json_object_get(m->root, "method");
	size_t id_max = m->batch ? RPC_BATCH_ID_MAX : RPC_ID_MAX;

	if (!json_is_object(m->root))
		return rpc_invalid(e, "it must be an object");
	m->params = json_object_get(m->root, "params");
	if (json_is_null(m->params)) /* Emacs' jsonrpc.el sends it for a call without any */
		m->params = NULL;
	if (id) {
		m->id = json_raw_member(text, len, "id", &m->id_len);
		BUG_IF(!m->id);
		if (!rpc_is_legal_id(id, m->id_len, id_max))
			m->id = NULL;
	}
	if (!method && (json_object_get(m->root, "result") || json_object_get(m->root, "error")))
		return KIND_ANSWER;
	if (!rpc_is_version_2(json_object_get(m->root, "jsonrpc")))
		return rpc_invalid(e, "`jsonrpc` must be \"2.0\"");
	if (!json_is_string(method) ||
	    strlen(json_string_value(method)) != json_string_length(method))
		return rpc_invalid(e, "`method` must be a string without NUL");
	m->method = json_string_value(method);
	if (id && !m->id)
		return err_set(e, ERR_INVALID_REQUEST,
			       "not a JSON-RPC 2.0 message: `id` must be a string or a whole "
			       "number of at most %zu bytes here",
			       id_max),
		       KIND_INVALID;
	if (m->params && !json_is_object(m->params) && !json_is_array(m->params))
		return id ? rpc_invalid(e, "`params` must be an object or an array") : KIND_DROP;
	return KIND_CALL;
}

/* Answer input that is not a message and has no id, up to RPC_GARBAGE_MAX in a row; releases @e. */
static void rpc_refuse_garbage(struct rpc *rpc, struct req_batch *batch, struct err *e)
{
	if (rpc->garbage < RPC_GARBAGE_MAX) {
		rpc->garbage++;
		rpc_send_error(rpc->reqs, batch, NULL, 0, e, NULL);
		return;
	}
	if (batch)
		batch_add(batch, NULL, 0);
	if (rpc->garbage == RPC_GARBAGE_MAX)
		log_notice("%d inputs in a row were not JSON-RPC (the last: %.120s); not "
			   "answering any more until a message arrives",
			   RPC_GARBAGE_MAX, e->message);
	rpc->garbage = RPC_GARBAGE_MAX + 1;
	err_release(e);
}

/* All that a request reads later. Many may wait, and the rest takes as much memory. */
static void rpc_keep_params(json_t *root)
{
	json_t *params = json_incref(json_object_get(root, "params"));

	json_object_clear(root);
	if (params)
		json_object_set_new(root, "params", params);
}

/* Handle one message; adds exactly one answer, or none, to @batch, now or later. */
static void rpc_handle(struct rpc *rpc, json_t *root, const char *text, size_t len,
		       struct req_batch *batch)
{
	struct rpc_message m = { .root = root, .batch = batch };
	ERR_LOCAL(e);

	enum kind kind = rpc_classify(&m, text, len, &e);

	m.duplicate_id = kind != KIND_ANSWER && m.id && req_find_id(rpc->reqs, m.id, m.id_len);
	if (kind != KIND_INVALID)
		rpc->garbage = 0;
	switch (kind) {
	case KIND_INVALID:
		if (m.id)
			rpc_refuse(rpc->reqs, &m, &e);
		else
			rpc_refuse_garbage(rpc, batch, &e);
		return;
	case KIND_CALL:
		rpc->route(rpc->ctx, &m);
		rpc_keep_params(root);
		break;
	case KIND_ANSWER:
		m.id = NULL;
		rpc->route(rpc->ctx, &m);
		break;
	case KIND_DROP:
		break;
	}
	if (batch && !m.id)
		batch_add(batch, NULL, 0);
}

/* The id of a refused text, if it is unambiguous. A long one is not parsed: it may be what has too
 * many values. */
static const char *rpc_refused_id(const char *text, size_t len, size_t *id_len)
{
	const char *raw = json_raw_sole_member(text, len, "id", id_len);
	json_t *id = NULL;
	bool legal;

	if (raw && *id_len <= RPC_ID_MAX)
		id = json_loadb(raw, *id_len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	legal = id && rpc_is_legal_id(id, *id_len, RPC_ID_MAX);
	json_decref(id);
	return legal ? raw : NULL;
}

static void rpc_refuse_text(struct rpc *rpc, enum json_fault fault, const char *why,
			    const char *text, size_t len)
{
	ERR_LOCAL(e);
	const char *id = NULL;
	size_t id_len = 0;

	if (fault == JSON_MALFORMED) {
		err_set(&e, ERR_PARSE_ERROR, "malformed JSON: %s", why);
	} else {
		err_set(&e, ERR_INVALID_REQUEST, "refused JSON: %s", why);
		id = rpc_refused_id(text, len, &id_len);
	}
	if (fault == JSON_TOO_MANY)
		err_hint(&e, "Send fewer values in one message: a long list can be lines of stdin, "
			     "or a file, and a long batch several ones.");
	if (id && req_find_id(rpc->reqs, id, id_len))
		id = NULL;
	if (id)
		rpc_send_error(rpc->reqs, NULL, id, id_len, &e, NULL);
	else
		rpc_refuse_garbage(rpc, NULL, &e);
}

static void rpc_begin_batch(struct rpc *rpc, json_t *array, const char *text, size_t len)
{
	size_t count = json_array_size(array);
	ERR_LOCAL(e);

	if (!count || count > BATCH_ELEMENTS_MAX) {
		json_decref(array);
		err_set(&e, ERR_INVALID_REQUEST, "a batch holds 1 to %d messages, this one %zu",
			BATCH_ELEMENTS_MAX, count);
		rpc_refuse_garbage(rpc, NULL, &e);
		return;
	}
	rpc->array = array;
	rpc->batch = batch_new(rpc->reqs, count);
	rpc->text = text;
	rpc->len = len;
	rpc->pos = rpc->index = 0;
}

bool rpc_more(struct rpc *rpc)
{
	const char *text;
	size_t len;
	json_t *root;

	if (!rpc->array)
		return false;
	text = json_raw_element(rpc->text, rpc->len, &rpc->pos, &len);
	BUG_IF(!text);
	root = json_incref(json_array_get(rpc->array, rpc->index++));
	if (rpc->index == json_array_size(rpc->array)) {
		json_decref(rpc->array);
		rpc->array = NULL;
	}
	rpc_handle(rpc, root, text, len, rpc->batch);
	json_decref(root);
	return rpc->array;
}

void rpc_line(struct rpc *rpc, const char *line, size_t len)
{
	enum json_fault fault;
	json_t *root;
	char why[160];

	BUG_IF(rpc->array);
	root = json_text_parse(line, len, RPC_DEPTH_MAX, &fault, why);
	if (!root) {
		rpc_refuse_text(rpc, fault, why, line, len);
	} else if (json_is_array(root)) {
		rpc_begin_batch(rpc, root, line, len);
	} else {
		rpc_handle(rpc, root, line, len, NULL);
		json_decref(root);
	}
}

void rpc_release(struct rpc *rpc)
{
	size_t left = rpc->array ? json_array_size(rpc->array) - rpc->index : 0;

	json_decref(rpc->array);
	rpc->array = NULL;
	while (left--)
		batch_add(rpc->batch, NULL, 0);
}

void rpc_too_long(struct rpc *rpc, size_t line_max)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_PARSE_ERROR, "a message of more than %zu bytes was skipped", line_max);
	err_hint(&e, "Send less at once; the operator can raise limits.line_bytes.");
	rpc_refuse_garbage(rpc, NULL, &e);
}

void rpc_broken_input(struct rpc *rpc, const char *why)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_PARSE_ERROR, "no more input is read: %s", why);
	err_hint(&e, "Send `Content-Length: N`, CR LF, an empty line, and a JSON text of N bytes.");
	rpc_send_error(rpc->reqs, NULL, NULL, 0, &e, NULL);
}
