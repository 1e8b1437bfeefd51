#include "cap/cap.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cap/command.h"
#include "cap/grant.h"
#include "cap/judge.h"
#include "cap/notice.h"

const char *cap_why_none(const char *name)
{
	return !strcmp(name, "config.set") || !strcmp(name, "config_set")
		       ? ": no client can change the operator's options"
		       : NULL;
}

/* The name of a tool is that of the capability with _ for the dots. */
const struct cap_row *cap_find(const struct cap *c, const char *name)
{
	const bool dotted = strchr(name, '.');

	for (const struct cap_row *row = c->rows; row->name; row++)
		if (!strcmp(dotted ? row->name : row->tool_name, name))
			return row;
	return NULL;
}

enum tier cap_tier(const struct cap *c, const struct cap_row *row)
{
	return tier_of(c->config, row->tier_option, row->tier);
}

bool cap_may_ask(const struct cap *c, const struct cap_row *row)
{
	bool is_ruled = row->flags & CAP_COMMAND || row->ops->judge;

	return cap_tier(c, row) == TIER_CONFIRM || (is_ruled && rulebook_count(c->book));
}

/* ---- the call ---- */

static struct cap_call *cap_call_new(struct cap *c, struct req *r)
{
	struct cap_call *call = req_zalloc(r, sizeof(*call));

	r->call = call;
	call->c = c;
	call->r = r;
	call->row = r->row;
	call->tier = cap_tier(c, r->row);
	call->event = (struct audit_event){
		.event = "attempt",
		.request_id = r->id,
		.capability = r->row->name,
		.tier = tier_name(call->tier),
		.intent = json_get_str(r->params, "intent", NULL),
		.command = json_get_str(r->params, "command", NULL),
		.process_id = json_get_str(r->params, "process_id", NULL),
	};
	if (call->event.process_id && !*call->event.process_id)
		call->event.process_id = NULL; /* an empty id names no run and will be refused */
	return call;
}

/* The run that the call names, or NULL. */
static const struct proc *cap_target(const struct cap_call *call)
{
	const char *id = call->event.process_id;

	return id ? proctab_look_up(call->c->procs, id) : NULL;
}

/* ---- audit ---- */

static int cap_write_event(struct cap *c, const struct audit_event *event, struct err *e)
{
	int status = audit_write(c->audit, event, e);

	if (audit_has_moved(c->audit))
		log_warn("the directory of the audit log was removed, moved away or replaced: the "
			 "log goes on in a new file, %s", audit_path(c->audit));
	if (audit_has_sink_lost(c->audit))
		log_warn("audit.sink does not take all lines: its reader is too slow or gone. The "
			 "audit log has them; server_stop will say how many");
	return status;
}

void cap_record(struct cap *c, const struct audit_event *event)
{
	ERR_LOCAL(e);

	if (!cap_write_event(c, event, &e))
		return;
	c->lost_records++;
	log_error("%s", e.message);
	err_release(&e);
}

/* The record of @call: a line, or a count for a read that no rule decided. */
static void cap_record_call(struct cap_call *call)
{
	struct cap *c = call->c;

	if (!(call->row->flags & CAP_READS) || call->event.rule ||
	    config_bool(c->config, CONFIG_AUDIT_READS))
		cap_record(c, &call->event);
	else if (!call->counted)
		audit_count_read(c->audit, call->row->name);
	call->counted = true;
}

/* Add the pointer to `procpen doctor`, unless the hint has it already or a shortage, which doctor
 * does not explain, is the cause. */
static void cap_hint_doctor(struct err *e)
{
	if (e->type != ERR_SANDBOX_UNAVAILABLE || err_is_shortage(e->sys) ||
	    strstr(err_hint_text(e), "procpen doctor"))
		return;
	err_hint(e, "%s; `procpen doctor` shows all layers.", e->hint);
}

/* What stops @call, or has it asked for: a rule, or the tier; NULL: nothing. */
static const char *cap_rule(const struct cap_call *call)
{
	if (call->ruling.rule)
		return call->ruling.rule->id;
	return call->tier == TIER_DENY ? "tier.deny"
	       : call->tier == TIER_CONFIRM ? "tier.confirm" : NULL;
}

/* Record the refusal, then answer with @e. */
static void cap_refuse(struct cap_call *call, const char *decision, const char *rule, struct err *e)
{
	call->event.decision = decision;
	call->event.rule = rule;
	call->event.outcome = err_rows[e->type].name;
	call->c->metrics.counters.blocked += !strcmp(decision, "blocked");
	if (!strcmp(decision, "denied")) {
		call->c->metrics.counters.denied++;
		if (call->row->ops->denied)
			call->row->ops->denied(call, e);
	}
	cap_record_call(call);
	cap_hint_doctor(e);
	req_fail(call->r, e);
}

void cap_fail(struct cap_call *call, struct err *e)
{
	cap_refuse(call, "failed", NULL, e);
}

void cap_fail_cancelled(struct cap_call *call)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_CANCELLED, "the client cancelled this request; it has started nothing");
	cap_fail(call, &e);
}

int cap_set_late(struct err *e)
{
	err_set(e, ERR_LIMIT_REACHED,
		"the server is shutting down, and the command has not begun");
	e->lasting = true;
	return err_hint(e, "Start a new server.");
}

void cap_answer_late(void *ctx, struct req *r)
{
	ERR_LOCAL(e);

	(void)ctx;
	cap_set_late(&e);
	cap_fail(r->call, &e);
}

static const char *cap_decision(const struct blocklist_verdict *v)
{
	if (!v || !v->blocked)
		return "allowed";
	return v->unparsable ? "failed" : "blocked";
}

/* The attempt must be on disk before anything starts. */
static int cap_record_attempt(struct cap_call *call, const char *rule, struct err *e)
{
	struct cap *c = call->c;
	const struct blocklist_verdict *v = call->verdict;

	call->event.decision = cap_decision(v);
	call->event.rule = rule;
	if (v && v->blocked) {
		call->event.rule = v->rule;
		call->event.outcome = err_rows[command_blocked_type(v)].name;
		call->c->metrics.counters.blocked += !v->unparsable;
	}
	if (!(call->row->flags & CAP_STARTS) || !config_bool(c->config, CONFIG_AUDIT_REQUIRED)) {
		cap_record_call(call);
		return 0;
	}
	if (!cap_write_event(c, &call->event, e))
		return 0;
	/* Without an errno it is what we refuse, and the hint says why. */
	if (err_is_shortage(e->sys) || !e->sys)
		return -1;
	return err_hint(e, "Nothing was started: the operator must make the audit log writable "
			   "(--state-dir), or allow running without it "
			   "(--set audit.required=false).");
}

/* ---- the gate ---- */

void cap_go(struct cap_call *call)
{
	struct req *r = call->r;
	ERR_LOCAL(e);

	call->e = &e;
	switch (call->row->ops->start(call)) {
	case CAP_DONE:
		req_ok(r);
		break;
	case CAP_WAITING:
		break;
	case CAP_FAILED:
		cap_fail(call, &e);
		break;
	case CAP_BLOCKED:
		req_fail(r, &e);
		break;
	}
}

/* Judge once. Returns whether the call will have an effect. */
static bool cap_judge(struct cap_call *call)
{
	bool first = call->row->ops->judge && !call->judged;

	call->judged = true;
	return !first || call->row->ops->judge(call);
}

static void cap_start(struct req *r, const char *rule)
{
	struct cap_call *call = r->call;
	ERR_LOCAL(e);

	(void)cap_judge(call);
	if (cap_record_attempt(call, rule, &e))
		req_fail(r, &e);
	else
		cap_go(call);
}

/* Call @fn(@r, @rule), which may start something: in a later turn, where starts queue. */
static void cap_queue(struct req *r, const char *rule, starts_fn fn)
{
	struct cap *c = r->call->c;

	if (!(r->row->flags & CAP_STARTS)) {
		fn(r, rule);
		return;
	}
	r->answer_now = cap_answer_late;
	starts_take(&c->starts, c->loop, r, rule, fn);
}

/* What the human is to know of @call before an answer, with the @files that one for the session
 * binds. Where a start can write depends on the layers that work here, so the sandbox is prepared
 * for that. */
static void cap_write_question(struct jsonw *w, const struct cap_call *call, const json_t *files)
{
	if (call->row->flags & CAP_STARTS)
		judge_write_reach(w, call->c, call->r->params, call->event.user);
	grant_write_offer(w, call, files);
}

/* Write the notice (cap/notice.h) of @call, which names @target, for the host, an object, or the
 * @question, with @files. */
static void cap_write_notice(struct buf *notice, const struct cap_call *call,
			     const struct proc *target, bool question, const json_t *files)
{
	struct blocklist_input shown = call->judge;
	struct jsonw w;
	bool cut;

	shown.stdin_len += call->stdin_held;
	jsonw_init(&w, notice);
	jsonw_object(&w, NULL);
	cut = notice_write(&w, call->r, &call->event, &shown, call->row->input,
			   target ? proc_command(target) : NULL, question);
	if (call->ruling.rule)
		cut |= judge_write_rule(&w, &call->ruling);
	if (question)
		cap_write_question(&w, call, files);
	else if (call->grant.number)
		jsonw_int(&w, "grant", call->grant.number);
	jsonw_bool(&w, "truncated", cut);
	jsonw_end_object(&w);
}

/* Log the call on stderr, behind what @line has: what becomes of it. Leaves that empty. */
static void cap_log_call(const struct cap_call *call, const struct proc *target, struct buf *line)
{
	if (!call->r->dialect->from_operator) {
		buf_addc(line, ' ');
		notice_write_log(line, &call->event, target ? proc_masked(target) : NULL);
		log_text(LOG_LEVEL_NOTICE, line->data, line->len);
	}
	buf_clear(line);
}

static void cap_notify(struct cap_call *call)
{
	const struct proc *target = cap_target(call);
	const struct dialect *d = call->r->dialect;
	struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	buf_reserve(&text, NOTICE_USUAL);
	if (call->grant.number)
		buf_addf(&text, "grant %u (rule %s) allows", call->grant.number, cap_rule(call));
	else
		buf_adds(&text, "notify");
	cap_log_call(call, target, &text);
	if (d->notify) {
		cap_write_notice(&text, call, target, false, NULL);
		d->notify(call->r, &text);
	}
	buf_release(&text);
}

static void cap_hint_change(const struct cap_call *call, struct err *e)
{
	const struct rule *r = call->ruling.rule;
	char remedy[CONFIG_REMEDY_SIZE];

	config_remedy(call->c->config, call->row->tier_option, "...", remedy);
	if (call->ruling.pack)
		err_hint(e, "%srule \"%s\" of pack %s asks for it, which the "
			    "operator can change in packs (set by %.200s).", CAP_TO_MODEL, r->id,
			 call->ruling.pack, config_origin(call->c->config, CONFIG_PACKS));
	else if (r)
		err_hint(e, "%srule \"%s\" asks for it, which the operator "
			    "can change (%.200s).", CAP_TO_MODEL, r->id, r->origin);
	else
		err_hint(e, "%sthe operator can change this %s.", CAP_TO_MODEL, remedy);
}

static void cap_deny(struct cap_call *call, const char *why)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_PERMISSION_DENIED, "%s was not allowed: %s", call->row->name, why);
	cap_hint_change(call, &e);
	judge_name_rule(&call->ruling, &e);
	cap_refuse(call, "denied", cap_rule(call), &e);
}

/* What lets a call start that nobody can be asked about. */
static void cap_hint_unasked(const struct cap_call *call, struct err *e)
{
	static const char host[] = "Tell the user: use a host that can ask (MCP elicitation), or ";
	const struct rule *r = call->ruling.rule;
	char remedy[CONFIG_REMEDY_SIZE];

	config_remedy(call->c->config, call->row->tier_option, "notify", remedy);
	if (call->ruling.pack)
		err_hint(e, "%schange %s:confirm, which has rule \"%s\", to %s:notify in the "
			    "option packs (set by %.200s).", host, call->ruling.pack, r->id,
			 call->ruling.pack, config_origin(call->c->config, CONFIG_PACKS));
	else if (r)
		err_hint(e, "%schange rule \"%s\" (%.200s).", host, r->id, r->origin);
	else
		err_hint(e, "%sallow these calls without asking %s.", host, remedy);
}

static void cap_deny_unasked(struct cap_call *call)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_PERMISSION_DENIED,
		"%s needs a human's confirmation, and this client cannot be asked",
		call->row->name);
	cap_hint_unasked(call, &e);
	judge_suggest(&call->ruling, &e);
	judge_name_rule(&call->ruling, &e);
	cap_refuse(call, "denied", cap_rule(call), &e);
}

static void cap_pass_tier(struct cap_call *call);
static bool cap_is_refused_by_now(struct cap_call *call);

/* The human may have thought for long, and the start may have queued: what is refused by now was
 * no question, and an answer that was to other files than are there counts for nothing, and the
 * human is asked about these. */
static void cap_start_confirmed(struct req *r, const char *rule)
{
	struct cap_call *call = r->call;

	if (cap_is_refused_by_now(call))
		return;
	if (!grant_is_as_shown(call)) {
		cap_pass_tier(call);
		return;
	}
	grant_remember(call, call->wish);
	cap_start(r, rule);
}

static void cap_on_confirmed(struct req *r, const struct req_answer *answer)
{
	struct cap_call *call = r->call;
	bool closing = call->c->closing;

	if (!answer->allowed || closing) {
		cap_deny(call, closing ? "the server is shutting down" : answer->why);
		return;
	}
	r->on_cancel = r->answer_now = NULL; /* the capability sets its own */
	call->wish = answer->remember;
	cap_queue(r, cap_rule(call), cap_start_confirmed);
}

/* The client cancelled while a human was asked: record it as a denial. */
static void cap_on_cancel_question(void *call, struct req *r)
{
	ERR_LOCAL(e);

	err_set(&e, ERR_CANCELLED,
		"the client cancelled %s before a human had answered; nothing ran", r->row->name);
	cap_refuse(call, "denied", cap_rule(call), &e);
}

/* Another call needs the REQ_SLOT_END that this one holds. */
static void cap_give_up_question(void *call, struct req *r)
{
	(void)r;
	cap_deny(call, "too many newer calls of it came before an answer");
}

/* Answer with the question; the client calls again with the human's answer. */
static void cap_answer_with_question(struct cap_call *call, const struct buf *notice)
{
	struct req *r = call->r;

	call->event.decision = "asked";
	call->event.rule = cap_rule(call);
	cap_record_call(call);
	req_question(r, notice);
}

/* @files: that the answer binds, if it is for the session. */
static void cap_ask_human(struct cap_call *call, json_t *files)
{
	struct req *r = call->r;
	int deadline_ms = (int)config_int(call->c->config, CONFIG_CONFIRM_TIMEOUT_MS);
	const struct proc *target = cap_target(call);
	enum req_asked asked = REQ_CANNOT_ASK;
	struct buf notice;

	buf_init(&notice, SIZE_MAX / 2);
	buf_adds(&notice, "confirm");
	cap_log_call(call, target, &notice);
	cap_write_notice(&notice, call, target, true, files);
	r->on_cancel = cap_on_cancel_question;
	r->answer_now = cap_give_up_question;
	r->on_confirmed = cap_on_confirmed;
	r->on_cancel_ctx = r->answer_now_ctx = call;
	if (r->dialect->confirm)
		asked = r->dialect->confirm(r, &notice, deadline_ms);
	if (asked == REQ_ASK_BY_ANSWER)
		cap_answer_with_question(call, &notice);
	else if (asked == REQ_CANNOT_ASK)
		cap_deny_unasked(call);
	buf_release(&notice);
}

/* Is a human asked about @call, because no grant allows it? */
static bool cap_asks(struct cap_call *call)
{
	json_t *files = grant_read(call);
	bool granted = call->grant.number != 0;

	if (!granted && call->c->closing)
		cap_deny(call, "the server is shutting down");
	else if (!granted && call->r->cancelled) /* while its start queued */
		cap_on_cancel_question(call, call->r);
	else if (!granted)
		cap_ask_human(call, files);
	json_decref(files);
	return !granted;
}

/* What a rule blocks is not put to a human: all of the call is refused. */
static bool cap_is_blocked_unasked(struct cap_call *call)
{
	ERR_LOCAL(e);

	if (!call->row->ops->try_judge || !call->row->ops->try_judge(call, &e))
		return false;
	cap_refuse(call, cap_decision(call->verdict), call->verdict->rule, &e);
	return true;
}

/* If a rule denies the call, answers it. */
static bool cap_is_denied_by_rule(struct cap_call *call)
{
	ERR_LOCAL(e);

	if (!call->ruling.rule || call->tier != TIER_DENY)
		return false;
	judge_fail(&call->ruling, call->row->name, &e);
	cap_refuse(call, "denied", cap_rule(call), &e);
	return true;
}

/* The slot that a call with @params, checked or not, needs: a start, a wait_ms, a search (grep,
 * pattern) and a question to a human stay open. */
static enum req_slot cap_slot_needed(const struct cap_row *row, enum tier tier,
				     const json_t *params)
{
	if (row->flags & CAP_ENDS)
		return REQ_SLOT_END;
	if (row->flags & CAP_STARTS || json_get_int(params, "wait_ms", 0) > 0 ||
	    json_get_str(params, "grep", NULL) || json_get_str(params, "pattern", NULL) ||
	    tier == TIER_CONFIRM)
		return REQ_SLOT_WAIT;
	return REQ_SLOT_NONE;
}

/* Is there a place for @call, if a rule has made it one that waits? Else it is answered. */
static bool cap_takes_slot(struct cap_call *call)
{
	ERR_LOCAL(e);

	if (!req_take_slot(call->r, cap_slot_needed(call->row, call->tier, call->r->params), &e))
		return true;
	cap_fail(call, &e);
	return false;
}

static void cap_pass_tier(struct cap_call *call)
{
	switch (call->tier) {
	case TIER_DENY:
		if (!cap_is_denied_by_rule(call))
			cap_deny(call, "the operator denies this capability");
		break;
	case TIER_CONFIRM:
		if (!cap_takes_slot(call) || cap_is_blocked_unasked(call) || cap_asks(call))
			break;
		cap_notify(call);
		cap_start(call->r, cap_rule(call));
		break;
	case TIER_NOTIFY:
		if (cap_judge(call))
			cap_notify(call);
		cap_start(call->r, cap_rule(call));
		break;
	case TIER_AUTONOMOUS:
		cap_start(call->r, cap_rule(call));
		break;
	}
}

void cap_set_ruling(struct cap_call *call, const struct ruling *ruling)
{
	call->ruling = *ruling;
	call->tier = ruling->tier;
	call->event.tier = tier_name(ruling->tier);
	call->event.pack = ruling->pack;
}

/* Returns true if the blocklist or a rule refuses the call; it is then answered. */
static bool cap_judge_command(struct cap_call *call)
{
	struct blocklist_verdict verdict;
	struct ruling ruling;
	ERR_LOCAL(e);

	if (!(call->row->flags & CAP_COMMAND))
		return cap_is_denied_by_rule(call);
	judge_command(call->c, call->tier, call->r->params, &call->judge, NULL, &verdict,
		      &ruling);
	if (verdict.blocked) {
		command_fail_blocked(&verdict, &e);
		cap_refuse(call, cap_decision(&verdict), verdict.rule, &e);
		return true;
	}
	cap_set_ruling(call, &ruling);
	return cap_is_denied_by_rule(call);
}

/* Have directories or links changed since it was judged? Returns true if it is answered. */
static bool cap_is_refused_by_now(struct cap_call *call)
{
	ERR_LOCAL(e);

	if (call->row->ops->recheck && call->row->ops->recheck(call, &e)) {
		cap_fail(call, &e);
		return true;
	}
	if (!(call->row->flags & CAP_COMMAND))
		return false;
	call->tier = cap_tier(call->c, call->row);
	return cap_judge_command(call);
}

bool cap_is_full(struct cap *c, const struct cap_row *row, const json_t *params)
{
	return reqtab_full(c->reqs, cap_slot_needed(row, cap_tier(c, row), params));
}

/* The steps between schema and blocklist. */
static int cap_read_call(struct cap_call *call, struct err *e)
{
	const struct cap_ops *ops = call->row->ops;

	if (ops->prepare && ops->prepare(call, e))
		return -1;
	return req_take_slot(call->r, cap_slot_needed(call->row, call->tier, call->r->params), e);
}

/* Look up what the call names: there is no question to a human, and no notice, about a run that is
 * not there. */
static int cap_look_up(struct cap_call *call, struct err *e)
{
	const char *id = call->event.process_id;

	if (id && !proctab_find(call->c->procs, id, e))
		return -1;
	return call->row->ops->resolve ? call->row->ops->resolve(call, e) : 0;
}

static void cap_resolve(struct req *r, const char *rule)
{
	struct cap_call *call = r->call;
	ERR_LOCAL(e);

	(void)rule; /* none has decided yet */
	if (!cap_look_up(call, &e)) {
		cap_resume(call);
	} else if (call->tier == TIER_DENY) { /* which does not tell what is there */
		err_release(&e);
		cap_pass_tier(call);
	} else {
		cap_fail(call, &e);
	}
}

/* A repeat does not queue: it counts among those that wait for the call before as soon as it has
 * come. */
void cap_go_on(struct cap_call *call)
{
	ERR_LOCAL(e);
	int replayed = call->row->ops->replay ? call->row->ops->replay(call, &e) : 0;

	if (replayed < 0)
		cap_fail(call, &e);
	else if (!replayed)
		cap_queue(call->r, NULL, cap_resolve);
}

void cap_resume(struct cap_call *call)
{
	const struct cap_ops *ops = call->row->ops;

	if (!ops->postpone || !ops->postpone(call))
		cap_pass_tier(call);
}

void cap_replayed(struct cap_call *call, const struct proc *p)
{
	call->event.decision = "allowed";
	call->event.outcome = "replayed";
	call->event.process_id = p->id;
	cap_record_call(call);
	call->event.outcome = NULL; /* it may still start a run of its own */
	call->event.process_id = NULL; /* the record may go before the request */
}

static int cap_check_workspace(const struct cap *c, const struct cap_row *row, struct err *e)
{
	const struct err *why = c->no_workspace;

	if (!why || row->flags & CAP_ANYWHERE)
		return 0;
	err_set(e, ERR_BAD_DIRECTORY, "%s", why->message);
	return err_hint(e, "Tell the user to name it where the host starts procpen: "
			   "`procpen serve --workspace DIR`, or PROCPEN_WORKSPACE=DIR.");
}

static int cap_check_params(const struct req *r, struct err *e)
{
	struct schema input = *r->row->input;

	input.mcp = !r->dialect->events;
	if (r->dialect->from_operator)
		return 0;
	if (schema_check(&input, r->params, e))
		return -1;
	if (!(r->row->flags & CAP_STARTS))
		schema_fill_defaults(r->row->input, r->params);
	return 0;
}

static void cap_enter(struct cap *c, struct req *r)
{
	ERR_LOCAL(e);
	int bad = cap_check_workspace(c, r->row, &e) || cap_check_params(r, &e);
	struct cap_call *call = cap_call_new(c, r); /* with the parameters after the schema check */

	r->on_cancel = NULL; /* the capability sets its own */
	if (bad || cap_read_call(call, &e)) {
		cap_fail(call, &e);
		return;
	}
	if (!cap_judge_command(call))
		cap_go_on(call);
}

/* The timer also runs out on one that cap_let_go() let in and that still waits for its run. */
static void cap_on_held(void *ctx, struct req *r)
{
	if (!r->call)
		cap_enter(ctx, r);
}

static void cap_on_cancel_held(void *ctx, struct req *r)
{
	cap_fail_cancelled(cap_call_new(ctx, r));
}

/* Does @r wait for a workspace? */
static bool cap_keep(struct cap *c, struct req *r)
{
	int64_t left_ms = c->held_until_ms ? c->held_until_ms - clock_mono_ms() : 0;
	ERR_LOCAL(full);

	if (!c->no_workspace || left_ms <= 0 || r->row->flags & CAP_ANYWHERE)
		return false;
	if (req_take_slot(r, REQ_SLOT_WAIT, &full)) {
		err_release(&full);
		return false;
	}
	r->on_cancel = cap_on_cancel_held;
	r->on_cancel_ctx = c;
	req_timer(r, (double)left_ms, cap_on_held, c);
	return true;
}

void cap_call(struct cap *c, struct req *r)
{
	if (!cap_keep(c, r))
		cap_enter(c, r);
}

void cap_hold(struct cap *c, int ms)
{
	c->held_until_ms = clock_mono_ms() + ms;
}

/* In the order in which they came. To judge one may end others. */
void cap_let_go(struct cap *c)
{
	struct req *r = reqtab_first(c->reqs);

	c->held_until_ms = 0;
	while (r) {
		bool held = r->on_timer == cap_on_held && !r->call;
		struct req *next = r->next;

		if (held)
			cap_enter(c, r);
		r = held ? reqtab_first(c->reqs) : next;
	}
}

void cap_refused(struct cap *c, const struct cap_row *row, const json_t *params, const char *id,
		 size_t id_len, enum err_type why)
{
	AUTO_FREE char *request_id = mem_strndup(id, id_len);
	const struct audit_event event = {
		.event = "attempt",
		.request_id = request_id,
		.capability = row->name,
		.tier = tier_name(cap_tier(c, row)),
		.decision = "failed",
		.command = json_get_str(params, "command", NULL),
		.outcome = err_rows[why].name,
	};

	cap_record(c, &event);
}

int cap_permit(struct cap *c, const struct cap_row *row, const char *id, size_t id_len,
	       const char *process_id, struct err *e)
{
	AUTO_FREE char *request_id = mem_strndup(id, id_len);
	enum tier tier = cap_tier(c, row);
	bool allowed = tier < TIER_CONFIRM;
	char remedy[CONFIG_REMEDY_SIZE];
	struct audit_event event = {
		.event = "attempt",
		.request_id = request_id,
		.capability = row->name,
		.tier = tier_name(tier),
		.process_id = process_id,
		.decision = allowed ? "allowed" : "denied",
	};

	if (tier == TIER_NOTIFY) {
		AUTO_FREE char *shown = audit_redact_id(request_id);

		log_notice("notify %s of %s by request %s", row->name, process_id, shown);
	}
	if (!allowed) {
		config_remedy(c->config, row->tier_option, "...", remedy);
		event.rule = tier == TIER_DENY ? "tier.deny" : "tier.confirm";
		event.outcome = err_rows[ERR_PERMISSION_DENIED].name;
		err_set(e, ERR_PERMISSION_DENIED, "%s of process %s is not allowed this way: %s",
			row->name, process_id,
			tier == TIER_DENY ? "the operator denies this capability"
					  : "it needs a human's confirmation");
		if (tier == TIER_DENY)
			err_hint(e, "%sthe operator can change this %s.", CAP_TO_MODEL, remedy);
		else
			err_hint(e, "Call %s, which asks.", row->name);
	}
	cap_record(c, &event);
	return allowed ? 0 : -1;
}
