/* agent.session: the directories, limits and sandbox layers of this session. */
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "cap/cap.h"
#include "cap/run_env.h"
#include "cap/run_limits.h"
#include "cap/run_user.h"
#include "policy/env.h"

static void agent_session_write_directories(struct jsonw *w, const struct scope *scope)
{
	const char *const *directory = scope_directories(scope);

	jsonw_str(w, "workspace", scope_workspace(scope));
	jsonw_array(w, "accessible_directories");
	for (; *directory; directory++)
		jsonw_str(w, NULL, *directory);
	jsonw_end_array(w);
}

/* The TMPDIR of a command whose request names neither a user nor variables. */
static void agent_session_write_temporary(struct jsonw *w, const struct cap *c)
{
	struct confine_request request = { 0 };
	ERR_LOCAL(ignored); /* a run reports it */
	struct user user;
	const struct run_env env = { .config = c->config, .base = c->env_base,
				     .confine = c->confine, .request = &request, .user = &user };
	AUTO_FREE char **envp = NULL;

	if (!run_user_read(c->config, NULL, &user, &request, &ignored) &&
	    !confine_prepare(c->confine, &ignored))
		envp = run_env_build(&env);
	jsonw_str(w, "temporary_directory", envp ? env_get(envp, "TMPDIR") : NULL);
	users_release(&user);
	err_release(&ignored);
}

/* The limits are the numeric options, under the names of the options. */
static void agent_session_write_limits(struct jsonw *w, const struct config *config)
{
	jsonw_object(w, "limits");
	for (int key = 0; key < CONFIG_COUNT; key++)
		if (config_rows[key].type == CONFIG_INTEGER)
			jsonw_int(w, config_rows[key].name,
				  config_int(config, (enum config_key)key));
	jsonw_end_object(w);
	run_limits_write(w, config);
}

static void agent_session_write_capabilities(struct jsonw *w, const struct cap *c)
{
	jsonw_array(w, "capabilities");
	for (const struct cap_row *row = c->rows; row->name; row++) {
		jsonw_object(w, NULL);
		jsonw_str(w, "name", row->name);
		jsonw_str(w, "version", row->version);
		jsonw_str(w, "tier", tier_name(cap_tier(c, row)));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void agent_session_write_list(struct jsonw *w, const char *name, char *const *texts)
{
	jsonw_array(w, name);
	for (; *texts; texts++)
		jsonw_str(w, NULL, *texts);
	jsonw_end_array(w);
}

/* What .procpen.json has narrowed, and what of it was ignored. */
static void agent_session_write_project(struct jsonw *w, const struct project *p)
{
	if (!p->found)
		return;
	jsonw_object(w, "project");
	jsonw_str(w, "file", PROJECT_FILE);
	agent_session_write_list(w, "narrowed", p->narrowed);
	agent_session_write_list(w, "ignored", p->ignored);
	jsonw_int(w, "ignored_total", (int64_t)p->ignored_count);
	jsonw_end_object(w);
}

/* The files that the rules of @set come from: their origins without the lines. */
static void agent_session_write_files(struct jsonw *w, const struct ruleset *set)
{
	size_t len = 0;

	jsonw_array(w, "from");
	for (size_t i = 0; set && i < set->count; i++) {
		const char *origin = set->list[i].origin;
		const char *line = strrchr(origin, ':');
		AUTO_FREE char *file = mem_strndup(origin, (size_t)(line - origin));

		if (!i || strlen(file) != len || strncmp(file, set->list[i - 1].origin, len))
			jsonw_str(w, NULL, file);
		len = strlen(file);
	}
	jsonw_end_array(w);
}

/* The rules in force: how many, from where, and the packs. */
static void agent_session_write_policy(struct jsonw *w, const struct config *config,
				       const struct rulebook *book)
{
	jsonw_object(w, "policy");
	jsonw_str(w, "blocklist", config_choice(config, CONFIG_BLOCKLIST_LITERAL_MATCH));
	jsonw_int(w, "rules", (int64_t)rulebook_count(book));
	jsonw_int(w, "own_rules", (int64_t)ruleset_in_force(book->own));
	jsonw_int(w, "project_rules", (int64_t)ruleset_in_force(book->project));
	agent_session_write_files(w, book->own);
	jsonw_array(w, "packs");
	for (size_t i = 0; i < book->pack_count; i++) {
		jsonw_object(w, NULL);
		jsonw_str(w, "name", book->packs[i].file->name);
		jsonw_str(w, "decision", rule_decision_name(book->packs[i].decision));
		jsonw_int(w, "rules", (int64_t)book->packs[i].rules.count);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static void agent_session_write_text(void *ctx, const char *text)
{
	jsonw_str(ctx, NULL, text);
}

static void agent_session_write_missing(void *ctx, const char *layer, const char *reason,
					const char *remedy)
{
	struct jsonw *w = ctx;

	jsonw_object(w, NULL);
	jsonw_str(w, "layer", layer);
	jsonw_str(w, "reason", reason);
	jsonw_str(w, "remedy", remedy);
	jsonw_end_object(w);
}

/* Prepares the sandbox if no run has, so that it reports as active only layers that work. */
static void agent_session_write_sandbox(struct jsonw *w, const struct cap *c)
{
	ERR_LOCAL(e);
	bool ready = !confine_prepare(c->confine, &e);
	struct confine_request nothing;
	struct confine_applied usual;

	run_limits_usual(c->config, &nothing);
	jsonw_object(w, "sandbox");
	jsonw_array(w, "active");
	confine_probe_all(c->confine);
	if (ready) {
		confine_usual(c->confine, &nothing, &usual);
		confine_each_applied(c->confine, &usual, agent_session_write_text, w);
	}
	jsonw_end_array(w);
	jsonw_array(w, "readonly");
	if (ready)
		confine_each_readonly(c->confine, agent_session_write_text, w);
	jsonw_end_array(w);
	jsonw_array(w, "hidden");
	if (ready)
		confine_each_hidden(c->confine, agent_session_write_text, w);
	jsonw_end_array(w);
	jsonw_array(w, "missing");
	if (!ready)
		agent_session_write_missing(w, "all", e.message, err_hint_text(&e));
	confine_each_missing(c->confine, agent_session_write_missing, w);
	jsonw_end_array(w);
	jsonw_array(w, "gaps");
	confine_each_gap(c->confine, agent_session_write_text, w);
	jsonw_end_array(w);
	jsonw_end_object(w);
	err_release(&e);
}

/* In MCP the server sends no requests server.ping. */
static int agent_session_prepare(struct cap_call *call, struct err *e)
{
	if (!json_get_bool(call->r->params, "ping", false) || call->r->dialect->events)
		return 0;
	err_invalid(e, "ping",
		    "ping is for plain JSON-RPC, where it asks for requests server.ping");
	return err_hint(e, "Leave it out.");
}

/* Note whether the client answers server.ping, if it says so. */
static void agent_session_take_ping(struct cap_call *call)
{
	const json_t *ping = json_object_get(call->r->params, "ping");

	if (ping && call->r->dialect->events)
		call->c->pings = json_is_true(ping);
}

static enum cap_outcome agent_session_start(struct cap_call *call)
{
	const struct cap *c = call->c;
	struct jsonw *w = req_result(call->r);
	char host[IDS_HOST_SIZE];

	agent_session_take_ping(call);
	agent_session_write_directories(w, c->scope);
	agent_session_write_temporary(w, c);
	jsonw_str(w, "shell", c->shell->path);
	agent_session_write_limits(w, c->config);
	agent_session_write_capabilities(w, c);
	agent_session_write_list(w, "users", config_names(c->config, CONFIG_SANDBOX_USERS));
	agent_session_write_policy(w, c->config, c->book);
	agent_session_write_project(w, c->project);
	agent_session_write_sandbox(w, c);
	jsonw_object(w, "server");
	jsonw_str(w, "name", "procpen");
	jsonw_str(w, "version", c->version);
	jsonw_str(w, "instance", c->instance);
	ids_host(host);
	jsonw_str(w, "host", host);
	jsonw_end_object(w);
	jsonw_str(w, "audit_log", audit_path(c->audit));
	return CAP_DONE;
}

const struct cap_ops cap_agent_session = {
	.prepare = agent_session_prepare,
	.start = agent_session_start,
};
