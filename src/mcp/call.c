#include "mcp/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/utf8.h"
#include "mcp/confirm.h"
#include "mcp/progress.h"
#include "mcp/resources.h"
#include "mcp/tasks.h"
#include "mcp/tool_names.h"
#include "mcp/tools.h"

#define LEVEL_NOTICE 5
#define NOTICE_BYTES_MAX REQ_LINE_MAX
#define BATCH_TEXT_BYTES (300u << 10) /* of the texts of all calls of a batch */
#define LEAST_TEXT_BYTES 1200         /* of each */

static struct mcp *mcp_of(const struct req *r)
{
	return r->dialect->ctx;
}

static const struct mcp_shape *mcp_call_shape_of(const struct req *r)
{
	return &mcp_shapes[r->dialect->revision];
}

/* ---- tools ---- */

static void mcp_call_question(const struct req *r, const struct buf *notice, struct buf *line)
{
	const struct mcp_shape *shape = mcp_call_shape_of(r);
	struct jsonw w;

	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "input_required");
	mcp_confirm_write_question(&w, r, notice);
	mcp_end_result(&w, shape);
}

/* The calls of a batch share its line. */
static size_t mcp_call_text_max(const struct req *r)
{
	size_t max = BATCH_TEXT_BYTES / r->share;

	return max > LEAST_TEXT_BYTES ? max : LEAST_TEXT_BYTES;
}

/* The mcp_answer of @r. */
static struct mcp_answer mcp_call_answer_of(const struct req *r, const struct result *result)
{
	const struct cap *c = mcp_of(r)->cap;
	const char *id = json_get_str(r->params, "process_id", NULL);
	ERR_LOCAL(ignored);
	struct mcp_answer a = { .cap = c, .row = r->row, .result = result, .params = r->params,
				.text_max = mcp_call_text_max(r) };

	if (r->run)
		a.run = proctab_get(c->procs, r->run);
	else if (id)
		a.run = proctab_find(c->procs, id, &ignored);
	err_release(&ignored);
	if (!strcmp(r->row->name, "process.run"))
		a.options = r->task;
	return a;
}

static void mcp_call_tool_ok(const struct req *r, struct result *result, struct buf *line)
{
	const struct mcp_shape *shape = mcp_call_shape_of(r);
	struct mcp_answer a;
	struct jsonw w;

	if (shape->stateless && mcp_tasks_answer(mcp_of(r)->tasks, r, result, line))
		return;
	a = mcp_call_answer_of(r, result);
	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "complete");
	mcp_tools_write_result(&w, mcp_of(r), shape, &a);
	mcp_close_result(&w);
}

/* A failed call is a result, so that the model sees it; only an invalid call is an error. */
static void mcp_call_tool_fail(const struct req *r, const struct err *e,
			       const struct result *partial, struct buf *line)
{
	const struct mcp_shape *shape = mcp_call_shape_of(r);
	struct mcp_answer a = mcp_call_answer_of(r, partial);
	struct jsonw w;

	if (e->type == ERR_METHOD_NOT_FOUND || e->type == ERR_INVALID_REQUEST ||
	    e->type == ERR_PARSE_ERROR || e->type == ERR_MISSING_CLIENT_CAPABILITY) {
		rpc_write_error(line, r->id, strlen(r->id), e, NULL, mcp_tool_names_write);
		return;
	}
	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "complete");
	mcp_tools_write_error(&w, mcp_of(r), shape, e, &a);
	mcp_close_result(&w);
}

/* ---- resources ---- */

static const char *mcp_call_uri_of(const struct req *r)
{
	return json_get_str(json_object_get(r->root, "params"), "uri", "");
}

static void mcp_call_read_ok(const struct req *r, struct result *result, struct buf *line)
{
	const struct mcp_shape *shape = mcp_call_shape_of(r);
	struct jsonw w;

	mcp_begin_result(&w, line, r->id, strlen(r->id), shape, "complete");
	mcp_resources_write(&w, mcp_call_uri_of(r), r->params, result, shape);
	mcp_end_result(&w, shape);
}

static void mcp_call_read_fail(const struct req *r, const struct err *e,
			       const struct result *partial, struct buf *line)
{
	struct err shown = *e;

	(void)partial; /* reading starts nothing */
	json_incref(shown.details);
	mcp_resources_error(&shown, mcp_call_uri_of(r), mcp_call_shape_of(r));
	rpc_write_error(line, r->id, strlen(r->id), &shown, NULL, mcp_tool_names_write);
	err_release(&shown);
}

/* ---- notices and questions ---- */

/* At most one notice per request: bounded as answers are, so it needs no outq_room(). */
static void mcp_call_send_log_message(const struct mcp *m, const struct req *r,
				      const struct buf *notice)
{
	struct buf line;
	struct jsonw w;

	if (!m->initialized || m->log_level < LEVEL_NOTICE)
		return;
	buf_init(&line, NOTICE_BYTES_MAX);
	rpc_open_notification(&w, &line, "notifications/message");
	jsonw_str(&w, "level", "notice");
	jsonw_str(&w, "logger", "procpen");
	rpc_write_notice(&w, "data", r, notice);
	rpc_close_notification(&w);
	if (!line.full)
		outq_push(reqtab_outq(m->reqs), line.data, line.len);
	buf_release(&line);
}

/* Without a session there are no log messages: the notice is the first progress report, a line for
 * people. */
static void mcp_call_report_start(const struct req *r)
{
	const char *what = json_get_str(r->params, "command", NULL);
	char text[1024];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s starts: ", r->row->tool_name);

	if (!what)
		what = json_get_str(r->params, "process_id", "");
	len += utf8_show(text + len, sizeof(text) - len - 1, what, strlen(what));
	text[len] = '\0';
	mcp_progress_say(mcp_of(r)->progress, r, 0, -1, text);
}

static void mcp_call_notify(const struct req *r, const struct buf *notice)
{
	if (mcp_call_shape_of(r)->stateless)
		mcp_call_report_start(r);
	else
		mcp_call_send_log_message(mcp_of(r), r, notice);
}

static enum req_asked mcp_call_confirm(struct req *r, const struct buf *notice, int deadline_ms)
{
	const struct mcp_shape *shape = mcp_call_shape_of(r);

	if (shape->stateless)
		return mcp_confirm_stateless(mcp_of(r), r, notice, deadline_ms);
	return mcp_confirm_elicit(mcp_of(r), r, shape, notice, deadline_ms);
}

/* ---- dialects ---- */

/*
 * A line must stay below 1 MiB. Output of a process is in it once beside the text, in the result in
 * _meta; twice with mcp.structured for a run that a limit ended: in the error as structured content
 * and in _meta. A resource has it once; both streams must fit with every byte escaped. A page of
 * process.logs is as much as the text of a result shows (mcp/text.h), so that a client that reads
 * only that text gets every byte.
 */
#define PAGE_BYTES 9500
#define TOOL_TEXT_BYTES (400u << 10)
#define READ_TEXT_BYTES (800u << 10)

void mcp_call_init(struct mcp *m)
{
	struct dialect tool = {
		.ctx = m,
		.page_bytes = PAGE_BYTES,
		.text_bytes = TOOL_TEXT_BYTES,
		.list_bytes = 160u << 10,
		.summary_bytes = 4096,
		.yield_ms = 45000,
		.eof_ms = MCP_EOF_MS,
		.wait_max_ms = 45000,
		.silent_cancel = true,
		.cleans = true,
		.outlined = true,
		.ok = mcp_call_tool_ok,
		.fail = mcp_call_tool_fail,
		.notify = mcp_call_notify,
		.confirm = mcp_call_confirm,
		.question = mcp_call_question,
	}, read = tool;

	read.page_bytes = read.text_bytes = READ_TEXT_BYTES;
	read.ok = mcp_call_read_ok;
	read.fail = mcp_call_read_fail;
	for (int revision = 0; revision < MCP_REVISIONS; revision++) {
		tool.revision = read.revision = revision;
		m->tools[revision] = tool;
		m->reads[revision] = read;
	}
}

/* ---- methods ---- */

void mcp_call_list(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision)
{
	const json_t *cursor = json_object_get(message->params, "cursor");
	struct mcp_reply reply;

	if (cursor && (!json_is_string(cursor) || json_string_length(cursor))) {
		mcp_refuse(m, message, "no such cursor: all tools are on the first page");
		return;
	}
	mcp_reply_begin(&reply, message, &mcp_shapes[revision]);
	mcp_tools_write_list(&reply.w, m, &mcp_shapes[revision]);
	mcp_reply_send(m, &reply);
}

/*
 * Pass the call of @row to the gate, with @arguments (consumed) inside the message's params.
 * @asked: the client's own arguments or URI, for which a confirmation is valid.
 */
static void mcp_call_call(struct mcp *m, const struct rpc_message *message,
			  enum mcp_revision revision, const struct dialect *d,
			  const struct cap_row *row, json_t *arguments, const json_t *asked)
{
	struct mcp_confirmation *confirmation = NULL;
	ERR_LOCAL(e);
	struct req *r;

	/* Refuse before the confirmation is used, so that it holds for another try. */
	if (mcp_shapes[revision].stateless && !message->duplicate_id &&
	    !cap_is_full(m->cap, row, arguments) &&
	    mcp_confirm_read(m, message, row, asked, &confirmation, &e)) {
		rpc_refuse(m->reqs, message, &e);
		cap_refused(m->cap, row, arguments, message->id, message->id_len,
			    ERR_INVALID_PARAMS);
		json_decref(arguments);
		return;
	}
	r = rpc_request(m->reqs, d, message);
	if (!r) {
		cap_refused(m->cap, row, arguments, message->id, message->id_len,
			    ERR_INVALID_REQUEST);
		json_decref(arguments);
		free(confirmation);
		return;
	}
	json_object_set_new(message->params, "arguments", arguments); /* the request owns it */
	r->row = row;
	r->params = arguments;
	r->extra = confirmation;
	mcp_progress_watch(m->progress, r, &mcp_shapes[revision]);
	cap_call(m->cap, r);
}

/* All that can be called: tools/list may leave some out. */
static void mcp_call_hint_tools(struct err *e)
{
	struct buf list;

	buf_init(&list, sizeof(e->hint) - 1);
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (!(row->flags & CAP_PLAIN))
			buf_addf(&list, "%s%s", list.len ? ", " : "Tools: ", row->tool_name);
	err_hint(e, "%s.", list.data);
	buf_release(&list);
}

/* There is no tool @name. @plain: the method that it names, or NULL. */
static void mcp_call_refuse_tool(struct mcp *m, const struct rpc_message *message, const char *name,
				 const struct cap_row *plain)
{
	const struct cap_row *nearest = mcp_tools_nearest(name);
	const char *why = cap_why_none(name);
	ERR_LOCAL(e);

	if (why || (nearest && nearest->flags & CAP_PLAIN))
		nearest = NULL;
	err_set(&e, ERR_INVALID_PARAMS, "unknown tool `%.100s`%s%s%s", name,
		plain ? ": " : nearest ? "; did you mean `" : why ? why : "",
		plain ? plain->name : nearest ? nearest->tool_name : "",
		plain ? " is a method of plain JSON-RPC" : nearest ? "`?" : "");
	if (plain && !strcmp(plain->name, "process.follow"))
		err_hint(&e, "Call process_logs with wait_ms: it waits for output.");
	else
		mcp_call_hint_tools(&e);
	rpc_refuse(m->reqs, message, &e);
}

void mcp_call_tool(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision)
{
	const char *name = mcp_text(message->params, "name");
	json_t *arguments = json_object_get(message->params, "arguments");
	const struct cap_row *row;

	if (!name) {
		mcp_refuse(m, message, "`name` must be a string without NUL");
		return;
	}
	if (arguments && !json_is_object(arguments)) {
		mcp_refuse(m, message, "`arguments` must be an object");
		return;
	}
	row = cap_find(m->cap, name);
	if (!row || row->flags & CAP_PLAIN) {
		mcp_call_refuse_tool(m, message, name, row);
		return;
	}
	arguments = arguments ? json_incref(arguments) : json_object();
	mcp_call_call(m, message, revision, &m->tools[revision], row, arguments, arguments);
}

void mcp_call_read(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision)
{
	const char *uri = mcp_text(message->params, "uri");
	json_t *arguments;

	if (!uri) {
		mcp_refuse(m, message, "`uri` must be a string");
		return;
	}
	arguments = mcp_resources_arguments(m, uri);
	if (arguments)
		/* The offsets of the newest output change; a confirmation is for the URI. */
		mcp_call_call(m, message, revision, &m->reads[revision],
			      cap_find(m->cap, "process.logs"), arguments,
			      json_object_get(message->params, "uri"));
	else
		mcp_resources_refuse(m, message, uri, &mcp_shapes[revision]);
}

void mcp_call_cancel(struct mcp *m, const struct rpc_message *message)
{
	struct req *r = req_find_value(m->reqs, json_object_get(message->params, "requestId"));

	if (r && r->dialect->ctx == m)
		req_cancel(r);
}
