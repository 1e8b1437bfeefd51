/*
 * A check in the build: each example in schema/blocklist.json is blocked by its rule, and
 * no counterexample is blocked; the rules of each pack can be read, have examples, and match as
 * these say. Runs none of them.
 */
#include <stdio.h>
#include <string.h>

#include "blocklist/blocklist.h"
#include "blocklist/command/table.h"
#include "policy/rulebook.h"

static int gen_examples_check(const struct blocklist_example *e)
{
	const struct blocklist_input in = { .command = e->command };
	struct blocklist_verdict v;

	blocklist_judge(&in, &v);
	if (e->blocked && v.blocked && strcmp(v.rule, e->rule) == 0)
		return 0;
	if (!e->blocked && !v.blocked)
		return 0;
	fprintf(stderr, "blocklist.json: %s: %s \"%s\" is %s%s\n", e->rule,
		e->blocked ? "example" : "counterexample", e->command,
		v.blocked ? "blocked by " : "allowed", v.blocked ? v.rule : "");
	return 1;
}

static int gen_examples_check_pack(const struct rulebook_file *file)
{
	struct ruleset rules = { .list = NULL };
	ERR_LOCAL(e);
	int failed = rulebook_read_file(&rules, file, TIER_CONFIRM, &e) || ruleset_test(&rules, &e);

	for (size_t i = 0; !failed && i < rules.count; i++)
		if (!rules.list[i].examples || !rules.list[i].counterexamples ||
		    !rules.list[i].reason || !rules.list[i].suggestion)
			failed = err_set(&e, ERR_INVALID_PARAMS, "rule \"%s\" lacks examples, "
					 "counterexamples, reason or suggestion", rules.list[i].id);
	if (failed)
		fprintf(stderr, "packs/%s.json: %s\n", file->name, e.message);
	err_release(&e);
	ruleset_release(&rules);
	return failed ? 1 : 0;
}

int main(void)
{
	int failed = 0;

	for (const struct rulebook_file *f = rulebook_files; f->name; f++)
		failed += gen_examples_check_pack(f);

	for (unsigned i = 0; i < blocklist_example_count; i++)
		failed += gen_examples_check(&blocklist_examples[i]);
	return failed != 0;
}
