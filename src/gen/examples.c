/*
 * A check in the build: each example in schema/blocklist.json is blocked by its rule, and
 * no counterexample is blocked. Runs none of them.
 */
#include <stdio.h>
#include <string.h>

#include "blocklist/blocklist.h"
#include "blocklist/command/table.h"

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

int main(void)
{
	int failed = 0;

	for (unsigned i = 0; i < blocklist_example_count; i++)
		failed += gen_examples_check(&blocklist_examples[i]);
	return failed != 0;
}
