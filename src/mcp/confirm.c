#include "mcp/confirm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/tool_names.h"

#define QUESTION "confirm" /* the key of our one question */
#define FORM_BYTES_MAX (4u << 20) /* never reached: the notice is bounded (cap/notice.h) */

/* ---- the question ---- */

/* The gate's own text, so it needs none of the checks of json_text_parse(). A new reference. */
static json_t *mcp_confirm_read_notice(const struct buf *json)
{
	json_t *notice = json_loadb(json->data, json->len, JSON_ALLOW_NUL, NULL);

	BUG_IF(!notice);
	return notice;
}

static void mcp_confirm_add_visible(struct jsonw *w, const char *text, size_t len)
{
	for (size_t at = 0, used; at < len; at += used) {
		char escape[16];

		if (utf8_next(text + at, len - at, &used) != UTF8_VALID)
			continue;
		if (!utf8_is_hidden(text + at, used)) {
			jsonw_piece(w, text + at, used);
			continue;
		}
		snprintf(escape, sizeof(escape), "\\u{%x}",
			 (unsigned)utf8_code_point(text + at, used));
		jsonw_piece_str(w, escape);
	}
}

/* One line "<label>: <value as JSON>", so that no value can look like another line. */
static void mcp_confirm_add_line(struct jsonw *w, const char *label, const json_t *value)
{
	AUTO_FREE char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	if (!text)
		return;
	jsonw_piece_str(w, "\n");
	jsonw_piece_str(w, label);
	jsonw_piece_str(w, ": ");
	mcp_confirm_add_visible(w, text, strlen(text));
}

struct question_line {
	const char *label, *member;
};

static void mcp_confirm_add_lines(struct jsonw *w, const struct question_line *lines, size_t count,
				  const json_t *of)
{
	for (size_t i = 0; i < count; i++)
		mcp_confirm_add_line(w, lines[i].label, json_object_get(of, lines[i].member));
}

static void mcp_confirm_write_message(struct jsonw *w, const json_t *notice)
{
	static const struct question_line lines[] = {
		{ "Command", "command" },
		{ "Arguments", "args" },
		{ "Process", "process_id" },
		{ "Which runs", "process_command" },
		{ "Signal", "signal" },
		{ "Directory", "working_directory" },
		{ "Output also to", "log_file" },
		{ "Input", "stdin" },
		{ "Variables set", "environment" },
		{ "Options", "options" },
		{ "As user", "user" },
		{ "May write", "may_write" },
		{ "Network", "network" },
		{ "TCP ports only", "network_ports" },
		{ "An answer for the session also binds the files", "scripts" },
		{ "Reason given by the agent", "intent" },
	};
	static const struct question_line rule_lines[] = {
		{ "Rule that asks", "id" },
		{ "Of pack", "pack" },
		{ "Its reason", "reason" },
		{ "About", "command" },
	};
	const char *capability = json_get_str(notice, "capability", "this call");

	jsonw_open_str(w, "message");
	jsonw_piece_str(w, "Allow ");
	mcp_tool_names_write(w, capability, strlen(capability));
	jsonw_piece_str(w, "?");
	mcp_confirm_add_lines(w, lines, COUNT_OF(lines), notice);
	mcp_confirm_add_lines(w, rule_lines, COUNT_OF(rule_lines), json_object_get(notice, "rule"));
	mcp_confirm_add_line(w, "Other rules that ask", json_object_get(notice, "also_rules"));
	if (json_is_true(json_object_get(notice, "truncated")))
		jsonw_piece_str(w, "\nParts are left out where [...] stands: refuse it if they "
				   "matter.");
	jsonw_close_str(w);
}

static void mcp_confirm_write_allow(struct jsonw *w, bool only_once)
{
	jsonw_object(w, "allow");
	jsonw_str(w, "type", "boolean");
	jsonw_str(w, "title", only_once ? "Allow this once" : "Allow this");
	jsonw_str(w, "description", only_once ? "Only this call, exactly as it is shown."
					      : "The call exactly as it is shown.");
	jsonw_bool(w, "default", false);
	jsonw_end_object(w);
}

/* No default: 2025-06-18 has none for a choice. */
static void mcp_confirm_write_remember(struct jsonw *w)
{
	jsonw_object(w, "remember");
	jsonw_str(w, "type", "string");
	jsonw_str(w, "title", "How long the answer counts");
	jsonw_str(w, "description",
		  "once: for this call. session: do not ask again for the same call, with the same "
		  "files where it runs some, until this server ends.");
	jsonw_array(w, "enum");
	jsonw_str(w, NULL, "once");
	jsonw_str(w, NULL, "session");
	jsonw_end_array(w);
	jsonw_end_object(w);
}

/* The params of elicitation/create. */
static void mcp_confirm_write_form(struct jsonw *w, const char *key, const struct buf *json,
				   bool mode)
{
	json_t *notice = mcp_confirm_read_notice(json);

	jsonw_object(w, key);
	if (mode)
		jsonw_str(w, "mode", "form");
	mcp_confirm_write_message(w, notice);
	jsonw_object(w, "requestedSchema");
	jsonw_str(w, "type", "object");
	jsonw_object(w, "properties");
	mcp_confirm_write_allow(w, !json_object_get(notice, "remember"));
	if (json_object_get(notice, "remember"))
		mcp_confirm_write_remember(w);
	jsonw_end_object(w);
	jsonw_array(w, "required");
	jsonw_str(w, NULL, "allow");
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	json_decref(notice);
}

/* ---- the answer ---- */

/* What an ElicitResult says. */
static struct req_answer mcp_confirm_read_result(const json_t *result)
{
	const char *action = json_get_str(result, "action", "");
	const json_t *content = json_object_get(result, "content");
	struct req_answer answer = {
		.remember = req_read_remember(json_object_get(content, "remember")),
	};

	answer.allowed = !strcmp(action, "accept") &&
			 json_is_true(json_object_get(content, "allow"));
	if (answer.allowed)
		return answer;
	if (!strcmp(action, "accept"))
		answer.why = "the user did not allow it";
	else if (!strcmp(action, "decline"))
		answer.why = "the user declined";
	else if (!strcmp(action, "cancel"))
		answer.why = "the user closed the question without an answer";
	else
		answer.why = "the client's answer was none of accept, decline and cancel";
	return answer;
}

/* ---- handshake ---- */

static void mcp_confirm_on_elicited(void *reqs, uint64_t handle, const json_t *result,
				    const char *why)
{
	struct req_answer answer = { .why = why };

	if (result)
		answer = mcp_confirm_read_result(result);
	req_confirmed(reqs, handle, &answer);
}

enum req_asked mcp_confirm_elicit(struct mcp *m, struct req *r, const struct mcp_shape *shape,
				  const struct buf *notice, int deadline_ms)
{
	struct buf params;
	struct jsonw w;
	int failed;

	if (!shape->elicitation || !m->elicits)
		return REQ_CANNOT_ASK;
	buf_init(&params, FORM_BYTES_MAX);
	jsonw_init(&w, &params);
	mcp_confirm_write_form(&w, NULL, notice, shape->elicitation_mode);
	failed = ask_send_mcp(m->ask, "elicitation/create", &params, deadline_ms,
			      mcp_confirm_on_elicited, r->tab, r->handle);
	buf_release(&params);
	return failed ? REQ_CANNOT_ASK : REQ_ASKED;
}

/* ---- stateless ---- */

static void mcp_confirm_digest_json(const char *prefix, const json_t *value,
				    unsigned char out[DIGEST_SIZE])
{
	AUTO_FREE char *json = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	struct buf bytes;

	buf_init(&bytes, SIZE_MAX / 2);
	buf_adds(&bytes, prefix);
	buf_addc(&bytes, '\0');
	buf_adds(&bytes, json ? json : "");
	digest_bytes(bytes.data, bytes.len, out);
	buf_release(&bytes);
}

/* The client may repeat its parameters, and variables, in another order. The form shows the
 * variables as the object that they are, which the digest sorts; their names are a list besides. */
static void mcp_confirm_digest_notice(const struct buf *json, unsigned char out[DIGEST_SIZE])
{
	json_t *notice = mcp_confirm_read_notice(json);

	json_object_del(notice, "environment_names");
	mcp_confirm_digest_json("shown", notice, out);
	json_decref(notice);
}

/* The client's answer to our question: NULL if there is none. Returns -1 when it is malformed. */
static int mcp_confirm_find_response(const json_t *params, const json_t **response, struct err *e)
{
	const json_t *all = json_object_get(params, "inputResponses");
	const char *action;

	*response = json_object_get(all, QUESTION);
	if (all && !json_is_object(all))
		return err_set(e, ERR_INVALID_PARAMS, "inputResponses must be an object");
	if (!*response)
		return 0;
	action = mcp_text(*response, "action");
	if (action && (!strcmp(action, "accept") || !strcmp(action, "decline") ||
		       !strcmp(action, "cancel")))
		return 0;
	return err_set(e, ERR_INVALID_PARAMS,
		       "inputResponses." QUESTION
		       " must have an action: accept, decline or cancel");
}

static int mcp_confirm_read_answer(struct mcp *m, const json_t *params, struct mcp_confirmation *c,
				   struct err *e)
{
	const char *state = mcp_text(params, "requestState");
	const json_t *response;

	if (mcp_confirm_find_response(params, &response, e))
		return -1;
	if (!json_object_get(params, "requestState"))
		return 0; /* without requestState it is no answer to our question */
	if (!state)
		return err_set(e, ERR_INVALID_PARAMS, "requestState must be a string");
	if (approval_redeem(m->approvals, state, c->request, c->shown, e))
		return -1;
	c->answered = response != NULL;
	if (response)
		c->answer = mcp_confirm_read_result(response);
	return 0;
}

int mcp_confirm_read(struct mcp *m, const struct rpc_message *message, const struct cap_row *row,
		     const json_t *asked, struct mcp_confirmation **found, struct err *e)
{
	struct mcp_confirmation *c;

	*found = NULL;
	if (!cap_may_ask(m->cap, row))
		return 0;
	c = mem_zalloc(sizeof(*c));
	mcp_confirm_digest_json(row->name, asked, c->request);
	if (mcp_confirm_read_answer(m, message->params, c, e)) {
		free(c);
		return err_hint(e, "Nothing ran. Call again without requestState and "
				   "inputResponses to be asked again.");
	}
	*found = c;
	return 0;
}

enum req_asked mcp_confirm_stateless(struct mcp *m, struct req *r, const struct buf *notice,
				     int deadline_ms)
{
	struct mcp_confirmation *c = r->extra;
	unsigned char shown[DIGEST_SIZE];

	if (!c)
		return REQ_CANNOT_ASK;
	mcp_confirm_digest_notice(notice, shown);
	if (c->answered && (!c->answer.allowed || digest_equal(shown, c->shown, DIGEST_SIZE))) {
		const struct req_answer answer = c->answer; /* @c goes with the request */

		c->answered = false; /* it was to this question alone */
		req_confirmed(r->tab, r->handle, &answer);
		return REQ_ASKED;
	}
	/* No human has been asked, or was shown another notice. */
	if (!mcp_shows_forms(mcp_declared(r->root, "elicitation")) ||
	    approval_issue(m->approvals, c->request, shown, deadline_ms, c->state))
		return REQ_CANNOT_ASK;
	return REQ_ASK_BY_ANSWER;
}

void mcp_confirm_write_question(struct jsonw *w, const struct req *r, const struct buf *notice)
{
	const struct mcp_confirmation *c = r->extra;

	jsonw_object(w, "inputRequests");
	jsonw_object(w, QUESTION);
	jsonw_str(w, "method", "elicitation/create");
	mcp_confirm_write_form(w, "params", notice, true);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_str(w, "requestState", c->state);
}
