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
	bool unparsable; /* no shell accepts the command */
	char why[2 * RULE_ONE_MAX]; /* no better; "": no command was seen */
};

static void ruleset_say_why(struct ruleset_look *look, const struct blocklist_run *run,
			    const struct rule_miss *miss)
{
	const char *word = miss->word ? shell_word_constant(miss->word) : NULL;
	bool without = miss->member && !strncmp(miss->member, "without", strlen("without"));
	char *why = look->why;
	size_t size = sizeof(look->why);

	if (look->best == RULE_OTHER_PROGRAM && run->count)
		snprintf(why, size, "its program is \"%.256s\"", run->program.s);
	else if (look->best == RULE_OTHER_PROGRAM)
		snprintf(why, size, "it runs no program");
	else if (look->best == RULE_OTHER_DIRECTORY)
		snprintf(why, size, "it runs in another directory");
	else if (look->best == RULE_MAY_FIT)
		snprintf(why, size, "what decides is not known before it runs");
	else if (look->best == RULE_OTHER_WORDS && miss->member)
		snprintf(why, size, "\"%.256s\" of %s is %s it", miss->element, miss->member,
			 without ? "in" : "not in");
	else if (word)
		snprintf(why, size, "\"%.256s\" is not named by words, where \"*\" lets further "
			 "words pass", word);
	else
		snprintf(why, size, "a word is not known before it runs");
}

static uint64_t ruleset_on_run(void *ctx, const struct blocklist_run *run)
{
	struct ruleset_look *look = ctx;
	struct rule_miss miss = { .member = NULL };
	struct rule_work work = { .steps = 0 };
	enum rule_fit fit = rule_fits(look->rule, run, &miss, &work);

	if (fit > look->best || !*look->why) {
		look->best = fit;
		ruleset_say_why(look, run, &miss);
	}
	return work.steps;
}

/* Does the rule of @look match @command? *@why: why not; good until the next call. */
static bool ruleset_matches(struct ruleset_look *look, const char *command, const char **why)
{
	const struct rule *r = look->rule;
	const struct blocklist_input in = { .command = command, .on_run = ruleset_on_run,
					    .on_run_ctx = look, .directory = r->directory };
	struct blocklist_verdict v;

	look->best = RULE_OTHER_PROGRAM;
	*look->why = '\0';
	blocklist_judge(&in, &v);
	look->unparsable = v.unparsable;
	if (v.unparsable)
		*why = "no shell accepts it";
	else if (v.blocked && r->decision == TIER_AUTONOMOUS)
		*why = "the blocklist blocks it, so no allow has an effect";
	else
		*why = *look->why ? look->why : "it runs no program";
	return !v.unparsable &&
	       look->best >= (r->decision == TIER_AUTONOMOUS ? RULE_FITS : RULE_MAY_FIT);
}

static int ruleset_fail(const struct rule *r, const char *what, const char *command,
			const char *why, struct err *e)
{
	/* A model reads what is wrong in a project's file: no words of the file there. */
	if (rule_is_of_project(r))
		err_set(e, ERR_INVALID_PARAMS, "rule \"%s\" %s", r->id, what);
	else
		err_set(e, ERR_INVALID_PARAMS, "rule \"%s\" %s: %.320s%s%s", r->id, what, command,
			why ? ": " : "", why ? why : "");
	return err_hint(e, "Correct one of them; `procpen policy test FILE` tries all rules of a "
			   "file.");
}

int ruleset_test_rule(const struct rule *r, struct err *e)
{
	struct ruleset_look look = { .rule = r };
	const char *why;

	for (const char **one = r->examples; one && *one; one++)
		if (!ruleset_matches(&look, *one, &why))
			return ruleset_fail(r, "does not match its example", *one, why, e);
	for (const char **one = r->counterexamples; one && *one; one++) {
		if (ruleset_matches(&look, *one, &why))
			return ruleset_fail(r, "matches its counterexample", *one, NULL, e);
		if (look.unparsable)
			return ruleset_fail(r, "cannot be tried on its counterexample", *one, why,
					    e);
	}
	return 0;
}

int ruleset_test(const struct ruleset *s, struct err *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (ruleset_test_rule(&s->list[i], e))
			return -1;
	return 0;
}

size_t ruleset_in_force(const struct ruleset *s)
{
	size_t count = 0;

	for (size_t i = 0; s && i < s->count; i++)
		count += !rule_is_over(&s->list[i]);
	return count;
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
