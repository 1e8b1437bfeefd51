#include "policy/ruleset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/rule.h"

static int ruleset_check_new(const struct ruleset *s, const struct rule *r, struct err *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->list[i].id, r->id))
			return err_set(e, ERR_INVALID_PARAMS, "rule \"%s\": the id is taken by the "
				       "one in %.300s", r->id, s->list[i].origin);
	if (s->count < RULESET_MAX)
		return 0;
	return err_set(e, ERR_INVALID_PARAMS, "there are more than %d rules", RULESET_MAX);
}

int ruleset_add(struct ruleset *s, json_t *source, const char *origin, enum rule_source from,
		enum tier decision, struct err *e)
{
	struct rule r;

	if (rule_read(&r, source, origin, from, decision, e) || ruleset_check_new(s, &r, e)) {
		rule_release(&r);
		return *e->hint ? -1 : err_hint(e, "`procpen config schema` has all members of a "
						   "rule, with what they take.");
	}
	s->list = mem_realloc(s->list, (s->count + 1) * sizeof(*s->list));
	s->list[s->count++] = r;
	return 0;
}

void ruleset_release(struct ruleset *s)
{
	for (size_t i = 0; i < s->count; i++)
		rule_release(&s->list[i]);
	free(s->list);
	*s = (struct ruleset){ .list = NULL };
}

/* ---- self-tests ---- */

struct ruleset_look {
	const struct rule *rule;
	enum rule_fit best;
};

static uint64_t ruleset_on_run(void *ctx, const struct blocklist_run *run)
{
	struct ruleset_look *look = ctx;
	uint64_t steps = 0;
	enum rule_fit fit = rule_fits(look->rule, run, &steps);

	look->best = fit > look->best ? fit : look->best;
	return steps;
}

static bool ruleset_matches(const struct rule *r, const char *command)
{
	struct ruleset_look look = { .rule = r };
	const struct blocklist_input in = { .command = command, .on_run = ruleset_on_run,
					    .on_run_ctx = &look, .directory = r->directory };
	struct blocklist_verdict v;

	blocklist_judge(&in, &v);
	return look.best >= (r->decision == TIER_AUTONOMOUS ? RULE_FITS : RULE_MAY_FIT);
}

static int ruleset_fail(const struct rule *r, const char *command, bool matches, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "rule \"%s\" %s its %s: %s", r->id,
		matches ? "matches" : "does not match", matches ? "counterexample" : "example",
		command);
	return err_hint(e, "`procpen policy explain 'COMMAND'` shows the words of a command.");
}

int ruleset_test_rule(const struct rule *r, struct err *e)
{
	for (const char **one = r->examples; one && *one; one++)
		if (!ruleset_matches(r, *one))
			return ruleset_fail(r, *one, false, e);
	for (const char **one = r->counterexamples; one && *one; one++)
		if (ruleset_matches(r, *one))
			return ruleset_fail(r, *one, true, e);
	return 0;
}

int ruleset_test(const struct ruleset *s, struct err *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (ruleset_test_rule(&s->list[i], e))
			return -1;
	return 0;
}

int ruleset_add_tested(struct ruleset *s, json_t *source, const char *origin,
		       enum rule_source from, struct err *e)
{
	if (ruleset_add(s, source, origin, from, TIER_DENY, e))
		return -1;
	if (s->untested || !ruleset_test_rule(&s->list[s->count - 1], e))
		return 0;
	rule_release(&s->list[--s->count]);
	return -1;
}
