#include "mcp/text_session.h"

#include <inttypes.h>
#include <string.h>

#include "mcp/text_options.h"
#include "mcp/tool_names.h"
#include "policy/tier.h"

/* Kept for what follows a list of paths: facts, tools, and what the sandbox lacks. */
#define LATER_BYTES 5000

/* A line of the string @key of @of, under @label. */
static void text_session_add_fact(struct text *t, const char *label, const struct outline_value *of,
				  const char *key)
{
	const struct outline_value *v = text_member(t, of, key);

	if (!v || v->json_len + TEXT_MARK_BYTES > t->left)
		return;
	text_add(t, "%s: ", label);
	text_add_value(t, v, t->left);
	text_add(t, "\n");
}

/* "label: a, b", unless the array @key of @of is empty; or, with "\n- ", a line for each. @later
 * bytes are kept for what follows. */
static void text_session_add_list(struct text *t, const char *label, const struct outline_value *of,
				  const char *key, const char *glue, size_t later)
{
	size_t kept = t->left < later ? t->left : later;

	if (!text_count(t, of, key))
		return;
	text_add(t, "%s:%s", label, *glue == '\n' ? glue : " ");
	t->left -= kept;
	text_add_elements(t, text_member(t, of, key), glue);
	t->left += kept;
	text_add(t, "\n");
}

/* "cpu_limit 1.5, timeout 3600": the numbers of @of, after @glue. Returns what stands before the
 * next one. */
static const char *text_session_add_numbers(struct text *t, const struct outline_value *of,
					    const char *glue)
{
	const struct outline_value *v = NULL;

	while (of && (v = outline_next(&t->a->result->outline, of, v))) {
		if (v->kind == OUTLINE_NULL || v->kind == OUTLINE_OBJECT)
			continue;
		text_add(t, "%s%s ", glue, v->key);
		text_add_json(t, v, TEXT_MARK_BYTES);
		glue = ", ";
	}
	return glue;
}

/* What a call may ask for at most; what is not there has no bound. */
static void text_session_add_allowances(struct text *t)
{
	const struct outline_value *allowances = text_member(t, NULL, "allowances");
	const char *glue = text_session_add_numbers(t, allowances, "allowances: ");

	text_session_add_numbers(t, text_member(t, allowances, "limits"),
				 *glue == ',' ? "; of limits: " : "allowances: of limits: ");
	text_end_line(t);
}

/* "tools of tier notify: process_run, process_kill" */
static void text_session_add_tools_of(struct text *t, enum tier tier)
{
	const struct outline_value *all = text_member(t, NULL, "capabilities"), *v = NULL;
	const char *glue = ": ";

	while (all && (v = outline_next(&t->a->result->outline, all, v))) {
		size_t len;
		const char *name = text_bytes(t, text_member(t, v, "name"), &len);

		if (!text_is(t, v, "tier", tier_name(tier)) ||
		    mcp_tool_names_is_plain(name, len))
			continue;
		if (*glue == ':')
			text_add(t, "tools of tier %s", tier_name(tier));
		text_add(t, "%s", glue);
		text_put_named(t, name, len);
		glue = ", ";
	}
	text_end_line(t);
}

static void text_session_add_packs(struct text *t, const struct outline_value *policy)
{
	const struct outline_value *packs = text_member(t, policy, "packs"), *v = NULL;
	const char *glue = "; packs ";

	while (packs && (v = outline_next(&t->a->result->outline, packs, v))) {
		text_add(t, "%s", glue);
		text_put_member(t, text_member(t, v, "name"));
		text_add(t, ":");
		text_put_member(t, text_member(t, v, "decision"));
		glue = ", ";
	}
}

/* What is judged beside the blocklist, and whether that looks into data. */
static void text_session_add_policy(struct text *t)
{
	const struct outline_value *policy = text_member(t, NULL, "policy");
	int64_t project = text_number(t, policy, "project_rules");

	text_add(t, "policy: blocklist applies to commands%s; ",
		 text_is(t, policy, "blocklist", "anywhere") ? " and data" : "");
	text_add_plural(t, text_number(t, policy, "rules"), "rule", "rules");
	if (project)
		text_add(t, ", %" PRId64 " of them the project's", project);
	text_session_add_packs(t, policy);
	text_add(t, "\n");
	text_session_add_list(t, "rules from", policy, "from", ", ", LATER_BYTES);
}

static void text_session_add_project(struct text *t)
{
	const struct outline_value *project = text_member(t, NULL, "project");
	int64_t more;

	if (!project)
		return;
	text_session_add_list(t, "narrowed by .procpen.json", project, "narrowed", ", ",
			      LATER_BYTES);
	text_session_add_list(t, "ignored of .procpen.json", project, "ignored", "\n- ",
			      LATER_BYTES);
	more = text_number(t, project, "ignored_total") - text_count(t, project, "ignored");
	if (more > 0)
		text_add(t, "- %" PRId64 " more\n", more);
}

/* "- landlock: the kernel lacks it; needs Linux 5.13" for each. */
static void text_session_add_missing(struct text *t, const struct outline_value *sandbox)
{
	const struct outline_value *missing = text_member(t, sandbox, "missing"), *v = NULL;
	size_t left_out = 0;

	if (text_count(t, sandbox, "missing"))
		text_add(t, "missing from the sandbox:\n");
	while (missing && (v = outline_next(&t->a->result->outline, missing, v))) {
		if (v->json_len + TEXT_MARK_BYTES > t->left) {
			left_out++;
			continue;
		}
		text_add(t, "- ");
		text_put_member(t, text_member(t, v, "layer"));
		text_add(t, ": ");
		text_put_member(t, text_member(t, v, "reason"));
		text_add(t, "; ");
		text_put_member(t, text_member(t, v, "remedy"));
		text_add(t, "\n");
	}
	if (left_out)
		text_add(t, "- [... %zu more left out ...]\n", left_out);
}

static void text_session_add_sandbox(struct text *t)
{
	const struct outline_value *sandbox = text_member(t, NULL, "sandbox");

	text_session_add_list(t, "sandbox", sandbox, "active", ", ", 0);
	text_session_add_missing(t, sandbox);
	text_session_add_list(t, "gaps of the sandbox", sandbox, "gaps", "\n- ", 0);
	text_session_add_list(t, "read-only", sandbox, "readonly", ", ", 0);
	text_session_add_list(t, "hidden", sandbox, "hidden", ", ", 0);
}

void text_session(struct text *t)
{
	const struct outline_value *server = text_member(t, NULL, "server");

	text_session_add_fact(t, "workspace", NULL, "workspace");
	text_session_add_list(t, "accessible directories", NULL, "accessible_directories", ", ",
			      LATER_BYTES);
	if (text_has(t, NULL, "temporary_directory"))
		text_session_add_fact(t, "temporary directory, $TMPDIR", NULL,
				      "temporary_directory");
	text_session_add_fact(t, "shell", NULL, "shell");
	text_options_changed(t, text_member(t, NULL, "limits"));
	text_session_add_allowances(t);
	for (int tier = TIER_AUTONOMOUS; tier <= TIER_DENY; tier++)
		text_session_add_tools_of(t, (enum tier)tier);
	text_session_add_list(t, "users that a command may run as", NULL, "users", ", ",
			      LATER_BYTES);
	text_session_add_policy(t);
	text_session_add_project(t);
	text_session_add_fact(t, "procpen", server, "version");
	text_session_add_fact(t, "instance", server, "instance");
	text_session_add_fact(t, "host", server, "host");
	text_session_add_fact(t, "audit log", NULL, "audit_log");
	text_session_add_sandbox(t);
}
