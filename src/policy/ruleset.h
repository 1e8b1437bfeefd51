/* ruleset - a list of rules from one place, each with an id of its own, and their self-tests. */
#ifndef PROCPEN_POLICY_RULESET_H
#define PROCPEN_POLICY_RULESET_H

#include "policy/rule.h"

#define RULESET_MAX 500

/* All zero: empty. */
struct ruleset {
	struct rule *list;
	size_t count;
	bool untested; /* who fills it leaves the self-tests to who uses it */
};

/* Add the rule @source, as rule_read(). 0, or -1 with InvalidParams; then nothing is added. */
int ruleset_add(struct ruleset *s, json_t *source, const char *origin, enum rule_source from,
		enum tier decision, struct err *e);
void ruleset_release(struct ruleset *s);

/* How many rules of @s, or none for NULL, are in force: those whose last day is not over. */
size_t ruleset_in_force(const struct ruleset *s);

/* The same, and unless @s is untested the rule must pass its self-tests. */
int ruleset_add_tested(struct ruleset *s, json_t *source, const char *origin,
		       enum rule_source from, struct err *e);

/* Does @r match its examples and not its counterexamples? Runs none of them. 0, or -1 with
 * InvalidParams for the first of which it does not hold. */
int ruleset_test_rule(const struct rule *r, struct err *e);

/* The same of all rules. */
int ruleset_test(const struct ruleset *s, struct err *e);

#endif
