#include "cap/cap.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cap/command.h"
#include "cap/notice.h"
#include "proc/names.h"

#define RESULT_MAX (16u * 1024 * 1024) /* replies are bounded by what goes in; this is a backstop */

const struct cap_row *cap_find(const char *name)
{
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (!strcmp(row->name, name) || !strcmp(row->tool_name, name))
			return row;
	return NULL;
}

enum tier cap_tier(const struct cap *c, const struct cap_row *row)
{
	return policy_tier(c->config, row->name, row->tier);
}

/* ---- audit ---- */

/* What is known of the call so far. */
static struct audit_event event_of(struct cap *c, const struct req *r)
{
	struct audit_event event = {
		.event = "attempt",
		.request_id = r->id,
		.capability = r->row->name,
		.tier = policy_tier_name(cap_tier(c, r->row)),
		.intent = json_get_str(r->params, "intent", NULL),
		.command = json_get_str(r->params, "command", NULL),
		.process_id = json_get_str(r->params, "process_id", NULL),
	};
	struct blocklist_input unused;

	if (event.process_id && !*event.process_id)
		event.process_id = NULL; /* refused anyway: an id is never empty */

	if (r->task && r->row->ops->describe)
		r->row->ops->describe(r, &unused, &event);
	return event;
}

static void record(struct cap *c, const struct audit_event *event)
{
	struct err e = ERR_INIT;

	if (!audit_write(c->audit, event, &e))
		return;
	log_error("%s", e.message);
	err_release(&e);
}

/* Whoever knows what a layer lacks says that; where to look for the rest is the same for all. */
static void name_the_doctor(struct err *e)
{
	char hint[sizeof(e->hint)];

	if (e->type != ERR_SANDBOX_UNAVAILABLE || strstr(err_hint_text(e), "procpen doctor"))
		return;
	strcpy(hint, e->hint);
	err_hint(e, "%s; `procpen doctor` shows all layers", hint);
}

/* Answer with @e; the record says so first. */
static void refuse(struct cap *c, struct req *r, const char *decision, const char *rule,
		   struct err *e)
{
	struct audit_event event = event_of(c, r);

	event.decision = decision;
	event.rule = rule;
	event.outcome = err_rows[e->type].name;
	record(c, &event);
	name_the_doctor(e);
	req_fail(r, e);
}

/* The attempt must be on disk before anything starts. */
static int record_attempt(struct cap *c, const struct req *r, const char *rule, struct err *e)
{
	struct audit_event event = event_of(c, r);

	event.decision = "allowed";
	event.rule = rule;
	if (!(r->row->flags & CAP_STARTS) || !config_bool(c->config, CONFIG_AUDIT_REQUIRED)) {
		record(c, &event);
		return 0;
	}
	if (!audit_write(c->audit, &event, e))
		return 0;
	return err_hint(e, "nothing was started: the operator must make the audit log writable "
			   "(--state-dir), or allow running without it "
			   "(--set audit.required=false)");
}

/* ---- the gate ---- */

static void start(struct cap *c, struct req *r, const char *rule)
{
	struct err e = ERR_INIT;
	struct buf out;

	if (record_attempt(c, r, rule, &e)) {
		req_fail(r, &e);
		return;
	}
	buf_init(&out, RESULT_MAX);
	switch (r->row->ops->start(c, r, &out, &e)) {
	case CAP_DONE:
		req_ok(r, &out);
		break;
	case CAP_WAITING:
		break;
	case CAP_FAILED:
		refuse(c, r, "failed", NULL, &e);
		break;
	}
	buf_release(&out);
}

/* The command of the run that @event names, or NULL. */
static const char *target_of(struct cap *c, const struct audit_event *event)
{
	const struct proc *target = NULL;
	struct err ignored = ERR_INIT;

	if (event->process_id)
		target = proctab_find(c->procs, event->process_id, &ignored);
	err_release(&ignored);
	return target ? target->command : NULL;
}

/* What the host is told or asked (cap/notice.h). */
static void write_notice(struct cap *c, const struct req *r, bool question, struct buf *json)
{
	const struct audit_event event = event_of(c, r);
	struct blocklist_input in = { 0 };
	struct audit_event unused;

	if (r->row->flags & CAP_COMMAND)
		r->row->ops->describe(r, &in, &unused);
	buf_init(json, NOTICE_MAX);
	notice_write(json, r, &event, &in, r->row->input, target_of(c, &event), question);
}

/* A line on stderr. */
static void log_call(struct cap *c, const struct req *r, const char *what)
{
	const struct audit_event event = event_of(c, r);
	struct buf json;

	buf_init(&json, NOTICE_MAX);
	notice_write_log(&json, &event, target_of(c, &event));
	log_notice("%s %s", what, json.data);
	buf_release(&json);
}

static void tell(struct cap *c, const struct req *r)
{
	struct buf json;

	log_call(c, r, "notify");
	if (!r->dialect->notify)
		return;
	write_notice(c, r, false, &json);
	r->dialect->notify(c->reqs, r, &json);
	buf_release(&json);
}

static void deny(struct cap *c, struct req *r, const char *rule, const char *why)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_PERMISSION_DENIED, "%s was not allowed: %s", r->row->name, why);
	err_hint(&e, "do not retry unchanged; the operator can change this with --set tier.%s=...",
		 r->row->name);
	refuse(c, r, "denied", rule, &e);
}

/* The one denial that the user can do something about. */
static void deny_unasked(struct cap *c, struct req *r)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_PERMISSION_DENIED,
		"%s needs a human's confirmation, and this client cannot be asked", r->row->name);
	err_hint(&e,
		 "tell the user: use a host that can ask (MCP elicitation), or start procpen with "
		 "`serve --set tier.%s=notify` to allow these calls without asking",
		 r->row->name);
	refuse(c, r, "denied", "tier.confirm", &e);
}

static void confirmed(struct cap *c, struct req *r)
{
	r->on_cancel = r->answer_now = NULL; /* what it starts sets its own */
	start(c, r, "tier.confirm");
}

static void on_confirmed(void *ctx, uint64_t handle, bool allowed, const char *why)
{
	struct cap *c = ctx;
	struct req *r = req_find(c->reqs, handle);

	if (!r)
		return;
	if (!allowed || c->closing)
		deny(c, r, "tier.confirm", c->closing ? "the server is shutting down" : why);
	else
		confirmed(c, r);
}

/* The client does not want it any more: the attempt is recorded like any other denial. */
static void on_cancel_question(void *ctx, struct req *r)
{
	deny(ctx, r, "tier.confirm", "cancelled by the client");
}

/* It holds the place of a call that ends something, and a newer one needs it. */
static void give_up_question(void *ctx, struct req *r)
{
	deny(ctx, r, "tier.confirm", "too many newer calls of it came before an answer");
}

/* The question is the answer; the client calls again with what the human said. */
static void answer_with_question(struct cap *c, struct req *r, const struct buf *json)
{
	struct audit_event event = event_of(c, r);

	event.decision = "asked";
	event.rule = "tier.confirm";
	record(c, &event);
	r->question = true;
	r->on_cancel = r->answer_now = NULL;
	req_ok(r, json);
}

static void ask(struct cap *c, struct req *r)
{
	int deadline_ms = (int)config_int(c->config, CONFIG_CONFIRM_TIMEOUT_MS);
	enum req_asked asked = REQ_CANNOT_ASK;
	struct buf json;

	log_call(c, r, "confirm");
	write_notice(c, r, true, &json);
	r->on_cancel = on_cancel_question;
	r->answer_now = give_up_question;
	r->on_cancel_ctx = r->answer_now_ctx = c;
	if (r->dialect->confirm)
		asked = r->dialect->confirm(c->reqs, r, &json, deadline_ms, on_confirmed, c);
	if (asked == REQ_ASK_BY_ANSWER)
		answer_with_question(c, r, &json);
	else if (asked == REQ_CANNOT_ASK)
		deny_unasked(c, r);
	buf_release(&json);
}

static void pass_tier(struct cap *c, struct req *r)
{
	switch (cap_tier(c, r->row)) {
	case TIER_DENY:
		deny(c, r, "tier.deny", "the operator denies this capability");
		break;
	case TIER_CONFIRM:
		ask(c, r);
		break;
	case TIER_NOTIFY:
		tell(c, r);
		start(c, r, NULL);
		break;
	case TIER_AUTONOMOUS:
		start(c, r, NULL);
		break;
	}
}

/* True when the blocklist stops it (answered). */
static bool blocked(struct cap *c, struct req *r)
{
	struct blocklist_verdict verdict;
	struct blocklist_input in;
	struct audit_event event = { 0 };
	struct err e = ERR_INIT;

	if (!(r->row->flags & CAP_COMMAND))
		return false;
	r->row->ops->describe(r, &in, &event);
	command_judge_options(c->config, &in);
	blocklist_judge(&in, &verdict);
	if (!verdict.blocked)
		return false;
	err_set(&e, ERR_COMMAND_BLOCKED, "%s", verdict.reason);
	err_hint(&e, "%s", verdict.suggestion);
	err_detail(&e, "rule", json_string(verdict.rule));
	if (verdict.has_span)
		err_detail(&e, "span",
			   json_pack("[I,I]", (json_int_t)verdict.start, (json_int_t)verdict.end));
	refuse(c, r, "blocked", verdict.rule, &e);
	return true;
}

/* What a call with these parameters, checked or not, needs: starts, waits by wait_ms and questions
 * to a human are not answered in their turn. */
static enum req_place place_of(struct cap *c, const struct cap_row *row, const json_t *params)
{
	if (row->flags & CAP_ENDS)
		return REQ_ENDS;
	if (row->flags & CAP_STARTS || json_get_int(params, "wait_ms", 0) > 0 ||
	    cap_tier(c, row) == TIER_CONFIRM)
		return REQ_WAITS;
	return REQ_NO_PLACE;
}

bool cap_is_full(struct cap *c, const struct cap_row *row, const json_t *params)
{
	return reqtab_full(c->reqs, place_of(c, row, params));
}

void cap_call(struct cap *c, struct req *r)
{
	const struct cap_ops *ops = r->row->ops;
	struct err e = ERR_INIT;

	if (schema_check(r->row->input, r->params, &e) ||
	    (ops->prepare && ops->prepare(c, r, &e)) ||
	    req_take_place(r, place_of(c, r->row, r->params), &e)) {
		refuse(c, r, "failed", NULL, &e);
		return;
	}
	if (blocked(c, r))
		return;
	if (ops->resolve && ops->resolve(c, r, &e)) {
		refuse(c, r, "failed", NULL, &e);
		return;
	}
	pass_tier(c, r);
}

void cap_refused(struct cap *c, const struct cap_row *row, const json_t *params, const char *id,
		 size_t id_len)
{
	cap_refused_as(c, row, params, id, id_len, ERR_INVALID_REQUEST);
}

void cap_refused_as(struct cap *c, const struct cap_row *row, const json_t *params, const char *id,
		    size_t id_len, enum err_type why)
{
	AUTO_FREE char *request_id = mem_strndup(id, id_len);
	const struct audit_event event = {
		.event = "attempt",
		.request_id = request_id,
		.capability = row->name,
		.tier = policy_tier_name(cap_tier(c, row)),
		.decision = "failed",
		.command = json_get_str(params, "command", NULL),
		.outcome = err_rows[why].name,
	};

	record(c, &event);
}

int cap_permit(struct cap *c, const struct cap_row *row, const char *id, size_t id_len,
	       const char *process_id, struct err *e)
{
	AUTO_FREE char *request_id = mem_strndup(id, id_len);
	enum tier tier = cap_tier(c, row);
	struct audit_event event = {
		.event = "attempt",
		.request_id = request_id,
		.capability = row->name,
		.tier = policy_tier_name(tier),
		.process_id = process_id,
		.decision = "allowed",
	};

	if (tier == TIER_NOTIFY)
		log_notice("notify %s of %s, asked for by request %s", row->name, process_id,
			   request_id);
	if (tier == TIER_CONFIRM || tier == TIER_DENY) {
		event.decision = "denied";
		event.rule = tier == TIER_DENY ? "tier.deny" : "tier.confirm";
		event.outcome = err_rows[ERR_PERMISSION_DENIED].name;
		err_set(e, ERR_PERMISSION_DENIED, "%s of process %s is not allowed this way: %s",
			row->name, process_id,
			tier == TIER_DENY ? "the operator denies this capability"
					  : "it needs a human's confirmation");
		err_hint(e, tier == TIER_DENY ? "do not retry; the operator can change this with "
						"--set tier.%s=..."
					      : "Call %s, which asks.",
			 row->name);
	}
	record(c, &event);
	return tier == TIER_CONFIRM || tier == TIER_DENY ? -1 : 0;
}

/* ---- what runs do ---- */

static void record_end(struct cap *c, const struct proc *p, const char *outcome)
{
	struct audit_event event = {
		.event = "end",
		.request_id = p->origin, /* joins the end to its attempt */
		.process_id = p->id,
		.capability = "process.run",
		.command = p->command,
		.cwd = p->cwd,
		.outcome = outcome,
	};

	record(c, &event);
}

void cap_on_proc_event(void *cap, struct proc *p, unsigned events)
{
	struct cap *c = cap;
	char outcome[64];

	wait_wake(&c->waits, c->reqs, c, p, events); /* whoever waits is answered first */
	if (events & PROC_EVENT_SETTLED) {
		snprintf(outcome, sizeof(outcome), "%s/%s", names_state(p->state),
			 names_reason(p->reason));
		record_end(c, p, outcome);
	}
	if (events & PROC_EVENT_FAILED)
		record_end(c, p, err_rows[p->failure->type].name);
	if (c->on_run)
		c->on_run(c->on_run_ctx, p, events);
}
