#include "blocklist/directories.h"

#include <stdlib.h>

#include "shell/script.h"

/* Steps of the budget for a directory of the list that pushd or popd turns. */
#define WORK_PUSHED 100u

void directories_copy(struct directories *to, const struct directories *from)
{
	to->moved = from->moved;
	to->searched = from->searched;
	path_dir_copy(&to->now, &from->now);
	path_dir_copy(&to->before, &from->before);
	to->pushed = from->pushed;
}

static void directories_push(struct directories *d, const struct path_dir *dir,
			     struct shell_arena *arena)
{
	struct pushed *p = shell_alloc_raw(arena, sizeof(*p));

	path_dir_copy(&p->dir, dir);
	p->older = d->pushed;
	d->pushed = p;
}

static void directories_pop(struct directories *d)
{
	path_dir_copy(&d->now, &d->pushed->dir);
	d->pushed = d->pushed->older;
}

/* The place in a list of @count that +N or -N names; @count: none. */
static size_t directories_place_named(const char *name, size_t count)
{
	unsigned long n = strtoul(name + 1, NULL, 10);

	if (n >= count)
		return count;
	return name[0] == '-' ? count - 1 - n : n;
}

/*
 * pushd +N: the list, of the directory and those that are remembered, turns until that place is
 * the first. popd +N: it goes.
 */
static void directories_turn(struct directories *d, const struct action *a,
			     struct shell_budget *budget, struct shell_arena *arena)
{
	bool pops = a->flags & ACTION_POP;
	const struct path_dir **list;
	struct path_dir here;
	size_t count = 1, n;

	for (const struct pushed *p = d->pushed; p; p = p->older)
		count++;
	n = directories_place_named(a->word->text.s, count);
	if (!shell_budget_take(budget, WORK_PUSHED * count) || n == count || (pops && count == 1))
		return; /* it fails */
	list = shell_alloc(arena, count * sizeof(*list));
	path_dir_copy(&here, &d->now);
	list[0] = &here;
	for (size_t i = 1; i < count; i++, d->pushed = d->pushed->older)
		list[i] = &d->pushed->dir;
	for (size_t i = count; i-- > 1;)
		if (!pops)
			directories_push(d, list[(n + i) % count], arena);
		else if (i != n && !(n == 0 && i == 1))
			directories_push(d, list[i], arena);
	if (pops && n > 0)
		return; /* it stays where it is */
	path_dir_copy(&d->now, list[pops ? 1 : n]);
	path_dir_copy(&d->before, &here);
}

/* a->word: NULL for an unknown directory, if no flag says which. */
static void directories_go(struct directories *d, const struct action *a,
			   struct shell_arena *arena)
{
	struct path_dir before;

	if ((a->flags & ACTION_POP) && !d->pushed)
		return; /* it fails */
	path_dir_copy(&before, &d->now);
	if (a->flags & ACTION_POP)
		directories_pop(d);
	else if (a->flags & ACTION_BACK)
		path_dir_copy(&d->now, &d->before);
	else if (a->word)
		path_chdir(&d->now, a->word);
	else
		path_dir_forget(&d->now);
	path_dir_copy(&d->before, &before);
	if (a->flags & ACTION_PUSH)
		directories_push(d, &before, arena);
}

bool directories_path(const struct directories *d, const struct shell_word *word, char *out,
		      size_t size)
{
	struct path_dir dir;

	path_dir_copy(&dir, &d->now);
	path_chdir(&dir, word);
	return path_dir_text(&dir, out, size);
}

void directories_change(struct directories *d, const struct action *a, struct shell_budget *budget,
			struct shell_arena *arena)
{
	struct path_dir there;

	d->moved = true;
	if (a->flags & ACTION_STAY) {
		path_dir_copy(&there, &d->now);
		path_chdir(&there, a->word);
		directories_push(d, &there, arena);
	} else if (a->flags & ACTION_TURN) {
		directories_turn(d, a, budget, arena);
	} else {
		directories_go(d, a, arena);
	}
}

void directories_enter(struct directories *d, unsigned context, struct subshells *s)
{
	unsigned scope = context & ~SHELL_CONTEXT_MASK, depth = shell_subshell_depth(scope);

	while (s->count && s->list[s->count - 1].scope != scope &&
	       shell_subshell_depth(s->list[s->count - 1].scope) >= depth)
		directories_copy(d, &s->list[--s->count].outside);
	if (!depth || s->count == SUBSHELLS_MAX ||
	    (s->count && s->list[s->count - 1].scope == scope))
		return;
	s->list[s->count].scope = scope;
	directories_copy(&s->list[s->count++].outside, d);
}
