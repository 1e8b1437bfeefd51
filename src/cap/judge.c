#include "cap/judge.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cap/command.h"
#include "cap/run_log.h"
#include "policy/env.h"

#define JUDGE_TEXT_MAX (RULING_SHOWN_MAX + RULE_ID_MAX + RULE_TEXT_MAX + 64)
#define JUDGE_QUOTED_MAX 200 /* bytes of a project's text that are shown: ours has room behind it */

/* ---- the request ---- */

/* Can a run with a sandbox? Prepares it, because which layers work decides that. */
static bool judge_can_write_confined(const struct cap *c, const char *path)
{
	ERR_LOCAL(ignored);
	bool prepared = !confine_prepare(c->confine, &ignored);

	err_release(&ignored);
	return !prepared || confine_can_write(c->confine, path);
}

/* Can any run? */
static bool judge_can_write(void *cap, const char *path)
{
	const struct cap *c = cap;

	return !strcmp(config_choice(c->config, CONFIG_SANDBOX_PROFILE), "none") ||
	       judge_can_write_confined(c, path);
}

/* Does the request leave a way for text into the command, now or later? */
static bool judge_has_input(const json_t *params)
{
	return json_object_get(params, "stdin") || json_get_bool(params, "tty", false) ||
	       !strcmp(json_get_str(params, "stdin_mode", ""), "pipe");
}

struct installed *judge_installed(struct cap *c)
{
	c->installed.can_write = judge_can_write;
	c->installed.ctx = c;
	return c->confine && scope_workspace(c->scope) ? &c->installed : NULL;
}

void judge_command(struct cap *c, enum tier tier, const json_t *params,
		   const struct blocklist_input *in, const struct ruling_watch *watch,
		   struct blocklist_verdict *v, struct ruling *ruling)
{
	const struct ruling_request rq = {
		.book = c->book,
		.tier = tier,
		.capability = RULE_RUN,
		.user = json_get_str(params, "user", NULL),
		.has_input = judge_has_input(params),
		.has_log_file = run_log_wanted(params),
		.installed = judge_installed(c),
		.watch = watch,
	};

	ruling_judge(&rq, in, v, ruling);
}

void judge_input(const struct cap *c, const struct judge_part *part, struct ruling *ruling)
{
	struct ruling_request rq = { .book = c->book, .tier = part->tier,
				     .capability = RULE_INPUT, .has_input = true };
	struct blocklist_verdict ignored;
	struct blocklist_input in;
	struct buf text;
	size_t from;

	*ruling = (struct ruling){ .tier = part->tier };
	if (!rulebook_count(c->book) || !part->stream)
		return;
	buf_init(&text, SIZE_MAX / 2);
	stream_preview(part->stream, part->bytes, part->len, &text, &in, &from);
	rq.from = BLOCKLIST_INPUT_BASE + (uint32_t)from;
	ruling_judge(&rq, &in, &ignored, ruling);
	buf_release(&text);
}

int judge_environment(const struct cap *c, const struct command *command, const json_t *params,
		      struct err *e)
{
	const json_t *environment = json_object_get(params, "environment");

	return command_runs_nothing(command) ? 0
					     : env_check(c->config, environment, command->shell, e);
}

/* ---- in words ---- */

/* What ends @text as a sentence; the operator may have written it with or without. */
static const char *judge_stop(const char *text)
{
	return *text && strchr(".!?", text[strlen(text) - 1]) ? "" : ".";
}

/* @before and @text, a reason or a suggestion of @r, as part of a text of ours; "" for NULL.
 * Commands can write a project's file, so what its rules say is quoted wherever we speak. */
static char *judge_words(const struct rule *r, const char *before, const char *text)
{
	size_t len = text ? strlen(text) : 0, shown = utf8_cut(text, len, JUDGE_QUOTED_MAX);
	json_t *value = text && rule_is_of_project(r) ? json_stringn(text, shown) : NULL;
	char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL, *words;

	words = mem_printf("%s%s%s", text ? before : "", quoted ? quoted : text ? text : "",
			   quoted && shown < len ? "..." : "");
	free(quoted);
	json_decref(value);
	return words;
}

char *judge_reason(const struct rule *r)
{
	return judge_words(r, ": ", r->reason);
}

char *judge_suggestion(const struct rule *r)
{
	const char *before = rule_is_of_project(r) ? "The file of the project says: " : "";

	return judge_words(r, before, r->suggestion);
}

/* "rule "site.prod" denies "deploy.sh prod": reason" */
static void judge_say(const struct ruling *ruling, char *text, size_t size)
{
	const struct rule *r = ruling->rule;
	AUTO_FREE char *reason = judge_reason(r);

	snprintf(text, size, "%s%s%srule \"%s\" denies \"%s\"%s",
		 ruling->pack ? "pack " : "", ruling->pack ? ruling->pack : "",
		 ruling->pack ? ", " : "", r->id, ruling->shown, reason);
}

/* A hint begins with a capital, and a command that the operator suggests stays as it is. */
static const char *judge_start(const char *suggestion)
{
	return *suggestion && (unsigned char)*suggestion < 0x80 && !isupper(*suggestion)
		       ? "Instead: "
		       : "";
}

void judge_name_rule(const struct ruling *ruling, struct err *e)
{
	if (!ruling->rule)
		return;
	err_detail(e, "rule", json_string(ruling->rule->id));
	if (ruling->pack)
		err_detail(e, "pack", json_string(ruling->pack));
}

void judge_suggest(const struct ruling *ruling, struct err *e)
{
	const struct rule *r = ruling->rule;
	AUTO_FREE char *suggestion = r ? judge_suggestion(r) : NULL;

	/* a quoted one may end as a sentence before its quote does */
	if (suggestion && *suggestion)
		err_hint(e, "%s%s%s %s", judge_start(suggestion), suggestion,
			 *judge_stop(suggestion) ? judge_stop(r->suggestion) : "", e->hint);
}

void judge_fail(const struct ruling *ruling, const char *capability, struct err *e)
{
	char text[JUDGE_TEXT_MAX];

	judge_say(ruling, text, sizeof(text));
	err_set(e, ERR_PERMISSION_DENIED, "%s was not allowed: %s", capability, text);
	/* a pack's rule stays as it is, but whether the pack counts is the operator's choice */
	err_hint(e, "%sthe operator can change %s%.200s%s.", CAP_TO_MODEL,
		 ruling->pack ? "this in packs" : "the rule (",
		 ruling->pack ? "" : ruling->rule->origin, ruling->pack ? "" : ")");
	judge_suggest(ruling, e);
	judge_name_rule(ruling, e);
}

static void judge_write_rule_members(struct jsonw *w, const struct rule *r, const char *pack)
{
	jsonw_str(w, "id", r->id);
	if (pack)
		jsonw_str(w, "pack", pack);
	if (r->reason)
		jsonw_str(w, "reason", r->reason);
}

bool judge_write_rule(struct jsonw *w, const struct ruling *ruling)
{
	jsonw_object(w, "rule");
	judge_write_rule_members(w, ruling->rule, ruling->pack);
	jsonw_str(w, "command", ruling->shown);
	jsonw_end_object(w);
	if (!ruling->also_count)
		return false;
	jsonw_array(w, "also_rules");
	for (unsigned i = 0; i < ruling->also_count && i < RULING_ALSO_MAX; i++) {
		jsonw_object(w, NULL);
		judge_write_rule_members(w, ruling->also[i].rule, ruling->also[i].pack);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	return ruling->also_count > RULING_ALSO_MAX;
}

/* @ports: none are all. */
static void judge_write_ports(struct jsonw *w, char *const *ports)
{
	if (!*ports)
		return;
	jsonw_array(w, "network_ports");
	for (; *ports; ports++)
		jsonw_int(w, NULL, strtol(*ports, NULL, 10));
	jsonw_end_array(w);
}

/* Its own temporary directory aside. */
static void judge_write_writable(struct jsonw *w, struct cap *c, bool confined)
{
	char *const *more = config_names(c->config, CONFIG_SANDBOX_WRITABLE);

	jsonw_array(w, "may_write");
	if (confined ? judge_can_write_confined(c, "/") : judge_can_write(c, "/")) {
		jsonw_str(w, NULL, "/");
	} else {
		for (const char *const *one = scope_directories(c->scope); *one; one++)
			jsonw_str(w, NULL, *one);
		for (char *const *one = more; *one; one++)
			jsonw_str(w, NULL, *one);
	}
	jsonw_end_array(w);
}

void judge_write_reach(struct jsonw *w, struct cap *c, const json_t *params, const char *user)
{
	const char *profile = config_choice(c->config, CONFIG_SANDBOX_PROFILE);
	bool strict = !strcmp(profile, "strict") ||
		      !strcmp(json_get_str(params, "profile", "default"), "strict");
	bool network = config_bool(c->config, CONFIG_SANDBOX_NETWORK) && !strict &&
		       json_get_bool(params, "network", true);

	if (!user && !geteuid())
		user = "root";
	if (user)
		jsonw_str(w, "user", user);
	judge_write_writable(w, c, json_object_get(params, "profile"));
	jsonw_bool(w, "network", network);
	if (network)
		judge_write_ports(w, config_names(c->config, CONFIG_SANDBOX_NETWORK));
}

/* @reason: becomes a sentence. @match: the verdict of the blocklist that it is, or NULL. */
static void judge_write_refusal(struct jsonw *w, const char *reason, const char *rule,
				const char *suggestion, const struct blocklist_verdict *match)
{
	const char *stop = judge_stop(reason);

	jsonw_bool(w, "blocked", true);
	jsonw_open_str(w, "block_reason");
	jsonw_piece_str(w, reason);
	jsonw_piece_str(w, stop);
	jsonw_close_str(w);
	jsonw_str(w, "rule", rule);
	if (match && match->has_span) {
		jsonw_array(w, "span");
		jsonw_int(w, NULL, (int64_t)match->start);
		jsonw_int(w, NULL, (int64_t)match->end);
		jsonw_end_array(w);
	} else {
		jsonw_null(w, "span");
	}
	jsonw_str(w, "suggestion", suggestion);
}

/* Whoever is to ask a human may do without, if there is another way. */
static void judge_write_unblocked(struct jsonw *w, const struct ruling *ruling)
{
	const struct rule *r = ruling->rule;
	AUTO_FREE char *suggestion =
		r && ruling->tier == TIER_CONFIRM ? judge_suggestion(r) : NULL;

	jsonw_bool(w, "blocked", false);
	jsonw_null(w, "block_reason");
	jsonw_str(w, "rule", r ? r->id : NULL);
	jsonw_null(w, "span");
	jsonw_str(w, "suggestion", suggestion && *suggestion ? suggestion : NULL);
}

static void judge_write_denied(struct jsonw *w, const struct ruling *ruling)
{
	char text[JUDGE_TEXT_MAX];

	if (ruling->rule) {
		AUTO_FREE char *suggestion = judge_suggestion(ruling->rule);

		judge_say(ruling, text, sizeof(text));
		judge_write_refusal(w, text, ruling->rule->id, *suggestion ? suggestion : NULL,
				    NULL);
	} else {
		judge_write_refusal(w, "The operator denies process.run", "tier.deny", NULL,
				    NULL);
	}
}

void judge_write(struct jsonw *w, const struct blocklist_verdict *v, const struct ruling *ruling,
		 const struct err *environment)
{
	bool denied = v->blocked || ruling->tier == TIER_DENY;
	bool protects = !denied && environment && environment->type;

	if (v->blocked) {
		judge_write_refusal(w, v->reason, v->rule, v->suggestion, v);
	} else if (denied) {
		judge_write_denied(w, ruling);
	} else if (protects) {
		judge_write_refusal(w, environment->message, JUDGE_ENVIRONMENT, environment->hint,
				    NULL);
	} else {
		judge_write_unblocked(w, ruling);
	}
	jsonw_str(w, "decision",
		  rule_decision_name(v->blocked || protects ? TIER_DENY : ruling->tier));
	jsonw_str(w, "pack", v->blocked || protects ? NULL : ruling->pack);
}
