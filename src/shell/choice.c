/*
 * Choices of values. What uses a variable that may have several values is done once for each
 * combination of them. No list of the variables is needed before: they are met on the way.
 *
 * A choice is a number. Each variable that is met takes a digit of it, in the base of the count of
 * its values, and leaves the rest to those met later (e->choice_left); the product of the counts
 * says how many choices there are (e->choice_count). So choice 0, which takes the first value of
 * each, finds that out.
 */
#include "shell/expand.h"

/* Choices of one thing, and those for which what a command runs is walked. */
#define CHOICES_MAX 16
#define FOLLOWED_MAX 3u

/*
 * Of more choices than CHOICES_MAX the one to try as @number: every so many, each time one further,
 * so that the variables that change with each choice and those that change last have all of their
 * values.
 */
static uint64_t choice_spread(uint64_t number, uint64_t count)
{
	uint64_t stride = (count + CHOICES_MAX - 1) / CHOICES_MAX;

	return number * stride + number % stride;
}

void choice_start(struct expander *e, struct choice *c)
{
	*c = (struct choice){ .outer = e->choosing, .count = 1, .max = CHOICES_MAX };
	e->choosing = true;
	join_start(e, &c->join);
}

/* End the branch that a choice is. Where it runs something that is not walked, as the fourth call
 * of a function is not, what others assign is assigned there, too. */
static void choice_end_branch(struct expander *e, struct choice *c)
{
	join_branch(e, &c->join, e->unfollowed);
	c->several = true;
}

bool choice_next(struct expander *e, struct choice *c)
{
	if (c->outer)
		return c->number++ == 0;
	if (c->number > 0) {
		if (e->choice_count > c->count) /* some variables count in some choices only */
			c->count = e->choice_count;
		if (c->number >= c->count || c->number >= c->max || expand_failed(e))
			return false;
		choice_end_branch(e, c);
	}
	e->unfollowed = false;
	e->choice_version++;
	e->choice_left = choice_spread(c->number++, c->count);
	e->choice_count = 1;
	return true;
}

void choice_end(struct expander *e, struct choice *c)
{
	e->choosing = c->outer;
	if (c->several) {
		choice_end_branch(e, c);
		join_end(e, &c->join, false);
	}
	e->unfollowed = false;
}

void choice_enter(struct expander *e, struct choice *c)
{
	c->found = e->choice_count;
	c->choosing = e->choosing;
	e->choosing = c->outer;
	e->others += (unsigned)c->number - 1;
}

void choice_leave(struct expander *e, const struct choice *c)
{
	e->others -= (unsigned)c->number - 1;
	e->choosing = c->choosing;
	if (!c->outer)
		e->choice_count = c->found;
}

bool choice_is_followed(struct expander *e)
{
	e->unfollowed |= e->others >= FOLLOWED_MAX;
	return e->others < FOLLOWED_MAX;
}
