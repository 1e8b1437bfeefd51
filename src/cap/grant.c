#include "cap/grant.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cap/judge.h"
#include "policy/env.h"
#include "policy/run_files.h"

/* What a command's text tells while it is judged. */
struct grant_look {
	json_t *rules; /* all that ask, as "pack/id", in the order in which they match */
	struct run_files files;
};

static void grant_on_look(void *ctx, const struct ruling_look *look)
{
	struct grant_look *g = ctx;

	if (!look->rule)
		run_files_look(&g->files, look->run);
	else if (look->fit >= RULE_MAY_FIT && look->rule->decision == TIER_CONFIRM)
		json_array_append_new(g->rules, json_sprintf("%s/%s", look->pack ? look->pack : "",
							     look->rule->id));
}

/* Why what @environment, of the request, does is not known before it runs; NULL: it is. */
static const char *grant_lacks_environment(const json_t *environment)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)environment, name, value) {
		const char *text = json_string_value(value);

		if (strcmp(name, "PATH") && shell_names_files(name, strlen(name), text))
			return "its environment sets a variable that leads to files, such as "
			       "CDPATH";
		if (text && (strstr(text, "$(") || strchr(text, '`')))
			return "a value of its environment may be run as a command";
	}
	return NULL;
}

/* Returns the files for people, or NULL. */
static json_t *grant_read_command(struct cap_call *call, json_t *bound)
{
	const json_t *environment = json_object_get(call->r->params, "environment");
	struct grant_look g = {
		.rules = json_array(),
		.files.path = json_get_str(environment, "PATH", env_base_path()),
		.files.installed = judge_installed(call->c),
		.files.has_tty = json_is_true(json_object_get(call->r->params, "tty")),
		.files.sets_home = json_object_get(environment, "HOME") ||
				   json_object_get(environment, "ZDOTDIR") ||
				   json_object_get(environment, "XDG_CONFIG_HOME"),
	};
	const struct ruling_watch watch = { .on_look = grant_on_look, .ctx = &g };
	struct blocklist_verdict ignored;
	struct ruling ruling;
	json_t *scripts;

	g.files.lacks = grant_lacks_environment(environment);
	judge_command(call->c, call->tier, call->r->params, &call->judge, &watch, &ignored,
		      &ruling);
	call->grant.lacks = g.files.lacks;
	scripts = json_incref(g.files.scripts);
	json_object_set_new(bound, "rules", g.rules);
	if (g.files.list)
		json_object_set(bound, "files", g.files.list);
	if (json_object_set_new(bound, "directory", json_string(call->event.cwd)))
		call->grant.lacks = "the name of its directory is not UTF-8";
	run_files_release(&g.files);
	return scripts;
}

/* Digest what a grant for @call binds, or set call->grant.lacks. Returns the files for people. */
static json_t *grant_digest(struct cap_call *call)
{
	static const char *const left_out[] = {
		"intent", "timeout", "max_runtime", "idle_timeout", "yield_ms", "wait_ms",
		"stdout_lines", "stderr_lines", "max_output_bytes", NULL,
	};
	unsigned char params[DIGEST_SIZE];
	char hex[DIGEST_TEXT_SIZE];
	json_t *bound, *files = NULL;
	char *text;

	run_key_digest_params(call->c->config, call->r, left_out, params);
	digest_hex(params, sizeof(params), hex);
	bound = json_pack("{s:s, s:s}", "capability", call->row->name, "params", hex);
	if (call->row->flags & CAP_COMMAND)
		files = grant_read_command(call, bound);
	text = json_dumps(bound, JSON_COMPACT | JSON_SORT_KEYS);
	if (!call->grant.lacks &&
	    grants_digest(&call->c->grants, text, strlen(text), call->grant.digest))
		call->grant.lacks = "the system has no random bytes";
	free(text);
	json_decref(bound);
	return files;
}

json_t *grant_read(struct cap_call *call)
{
	struct cap_grant *g = &call->grant;
	json_t *files = NULL;

	*g = (struct cap_grant){ 0 };
	if (!config_bool(call->c->config, CONFIG_APPROVAL_REMEMBER))
		g->lacks = "approval.remember is off";
	else if (call->row->ops->judge)
		g->lacks = "what it does depends on the input before it";
	else
		files = grant_digest(call);
	if (!g->lacks)
		g->number = grants_find(&call->c->grants, g->digest);
	call->event.grant = g->number;
	return files;
}

bool grant_is_as_shown(struct cap_call *call)
{
	const struct cap_grant shown = call->grant;

	if (shown.lacks)
		return true;
	json_decref(grant_read(call));
	if (call->grant.lacks || !digest_equal(call->grant.digest, shown.digest, DIGEST_SIZE))
		return false;
	call->event.grant = 0; /* the answer allows it, whatever another one has granted since */
	return true;
}

void grant_remember(struct cap_call *call, enum req_remember wish)
{
	struct cap_grant *g = &call->grant;
	const char *rule = call->ruling.rule ? call->ruling.rule->id : "tier.confirm";
	AUTO_FREE char *id = NULL;

	if (wish == REQ_ONCE)
		return;
	id = audit_redact_id(call->r->id);
	if (wish == REQ_UNKNOWN_TIME)
		g->lacks = "`remember` is neither \"once\" nor \"session\"";
	if (g->lacks) {
		call->event.remember = "ignored";
		log_warn("the answer to %s by request %s counts once, the wish to remember it was "
			 "ignored: %s", call->row->name, id, g->lacks);
		return;
	}
	call->event.remember = "session";
	call->event.grant = grants_add(&call->c->grants, g->digest);
	log_notice("grant %u: %s as request %s asks for it is allowed until this server ends "
		   "(rule %s)", call->event.grant, call->row->name, id, rule);
}

void grant_write_offer(struct jsonw *w, const struct cap_call *call, const json_t *files)
{
	char hex[DIGEST_TEXT_SIZE];

	if (call->grant.lacks)
		return;
	digest_hex(call->grant.digest, sizeof(call->grant.digest), hex);
	jsonw_str(w, "remember", hex);
	if (json_array_size(files))
		jsonw_json(w, "scripts", files);
}
