/* What the words of one program cost. Declared in blocklist_stage.h. */
#include "blocklist/stage.h"
#include "blocklist/walk.h"

/* Steps for a word, and for a letter of a cluster of options. */
#define WORK_READ 4u
#define WORK_LETTER 6u

bool walk_spent(struct blocklist_walk *w, size_t steps)
{
	uint64_t all = steps + w->rules.work;

	w->rules.work = 0;
	return !shell_budget_take(&w->budget, all) || shell_arena_spent(&w->arena);
}

bool walk_charge_words(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	size_t letters = 0;
	bool spent;

	for (size_t i = 1; i < count; i++)
		if (words[i].text.s[0] == '-' && words[i].text.s[1] != '-')
			letters += words[i].text.len;
	spent = walk_spent(w, WORK_READ * count + WORK_LETTER * letters);
	w->rules.limit = w->budget.work;
	return spent;
}
