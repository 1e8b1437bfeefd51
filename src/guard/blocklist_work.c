/* What the rules of one program cost. Declared in blocklist_stage.h. */
#include "guard/blocklist_stage.h"
#include "guard/blocklist_walk.h"

/* Steps of the budget for a rule, and for an operand that an effect looks at. */
#define WORK_RULE 30u
#define WORK_OPERAND 20u

bool walk_spent(struct blocklist_walk *w, size_t steps)
{
	return !shell_budget_take(&w->budget, steps) || shell_arena_spent(&w->arena);
}

void walk_charge_rules(struct blocklist_walk *w, const struct blocklist_name *name,
		       const struct shell_word *words, size_t count)
{
	const struct blocklist_effect *e = name->program ? name->program->effects : NULL;
	size_t rules = 0, effects = 0, letters = 1;

	while (name->rules[rules] != UINT16_MAX)
		rules++;
	while (e && e[effects].name)
		effects++;
	for (size_t i = 1; i < count; i++) /* a cluster has an option in each letter */
		letters += words[i].text.s[0] == '-' ? words[i].text.len : 1;
	shell_budget_take(&w->budget, rules * (WORK_RULE + WORK_RULE * letters) +
					      effects * (WORK_RULE + WORK_OPERAND * letters));
}
