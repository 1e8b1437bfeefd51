/*
 * What a variable may be: several values or, where one of them is an array, several assignments.
 */
#include <string.h>

#include "shell/expand.h"

/* Characters that take one step: to compare values, to find words, to hash their parts. */
#define WORK_COMPARE 4u
#define WORK_SEARCH 2u
#define WORK_HASH 16u

/* Possible values of a variable at one place. */
#define ALTERNATIVES_MAX 8

/* Characters of them together from which on the longest stands for lists that are in it. */
#define ALTERNATIVES_LONG 512u

/* Characters from which on a value that has grown is not judged as a single word. */
#define GROWN_LONG 128u

/* ---- values ---- */

/* Are they equal, but for parts that may be missing or empty? */
static bool values_same_value(struct expander *e, const struct value *a, const struct value *b)
{
	if (a->len != b->len)
		return false;
	if (a->v == b->v) /* copies */
		return true;
	expand_charge(e, 1 + a->len / WORK_COMPARE);
	for (uint32_t i = 0; i < a->len; i++) {
		const struct shell_char *x = &a->v[i], *y = &b->v[i];

		if (x->kind != y->kind || (x->c != y->c && !char_is_unknown(x)) ||
		    (x->name != y->name && !char_is_known(x)))
			return false;
	}
	return true;
}

/* May more of @a than of @b be missing or empty? They are equal otherwise. */
static bool values_is_weaker(const struct value *a, const struct value *b)
{
	for (uint32_t i = 0; i < a->len; i++) {
		const struct shell_char *x = &a->v[i], *y = &b->v[i];

		if (char_is_known(x) ? x->name && !y->name : x->c > y->c)
			return true;
	}
	return false;
}

static void values_add_up_to(struct expander *e, struct value **list, const struct value *more,
			     size_t max)
{
	for (; more; more = more->other) {
		struct value **tail = list;
		size_t count = 0;

		for (; *tail && !values_same_value(e, *tail, more); tail = &(*tail)->other)
			count++;
		if (*tail && (*tail)->v != more->v && values_is_weaker(more, *tail)) {
			(*tail)->v = more->v;
			(*tail)->room = more->room;
		}
		if (*tail || count >= max)
			continue;
		*tail = shell_alloc(e->arena, sizeof(**tail));
		**tail = *more;
		(*tail)->other = NULL;
	}
}

void values_add(struct expander *e, struct value **list, const struct value *more)
{
	values_add_up_to(e, list, more, ALTERNATIVES_MAX);
}

/* ---- lists that grow under conditions ---- */

/*
 * x="$x $f" in a branch of a loop makes a value for each choice of words. The longest has the
 * words of all: where each word is judged, nothing is lost without the others. A value that may
 * be one word, as a path, counts by itself, and so does the shortest, for what it lacks.
 */

static bool values_is_blank(const struct value *v, uint32_t i)
{
	const struct shell_char *c = &v->v[i];

	return c->kind == CHAR_QUOTED && !c->name && (c->c == ' ' || c->c == '\t' || c->c == '\n');
}

/* Is it one in any use: begun by a blank, or with one between words? */
static bool values_is_list(struct expander *e, const struct value *v)
{
	uint32_t first = 0, next;

	while (first < v->len && !values_is_blank(v, first))
		first++;
	for (next = first; next < v->len && first > 0 && values_is_blank(v, next);)
		next++;
	expand_charge(e, next / WORK_COMPARE);
	return next < v->len;
}

/* Go back over blanks from *@end, and return the start of the word before them. */
static uint32_t values_word_before(const struct value *v, uint32_t *end)
{
	uint32_t from;

	while (*end > 0 && values_is_blank(v, *end - 1))
		--*end;
	for (from = *end; from > 0 && !values_is_blank(v, from - 1);)
		from--;
	return from;
}

static bool values_same_text(const struct shell_char *a, const struct shell_char *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (a[i].kind != b[i].kind || a[i].c != b[i].c || a[i].name != b[i].name)
			return false;
	return true;
}

/* Do the words of @v stand in @all, in their order? From the end: most lists grow there. */
static bool values_has_words(struct expander *e, const struct value *all, const struct value *v)
{
	uint32_t end = all->len, v_end = v->len, v_from;

	if (v->v == all->v && v->len < all->len && values_is_blank(all, v->len))
		return true; /* it has grown there */
	v_from = values_word_before(v, &v_end);
	while (v_end > 0 && end > 0) {
		uint32_t from = values_word_before(all, &end);

		if (end - from == v_end - v_from &&
		    values_same_text(all->v + from, v->v + v_from, end - from)) {
			v_end = v_from;
			v_from = values_word_before(v, &v_end);
		}
		end = from;
	}
	expand_charge(e, (all->len - end + v->len - v_end) / WORK_SEARCH);
	return v_end == 0;
}

/*
 * Does @all stand for the list @v, also where text is joined to its ends? Not if @v may be a
 * command: "echo rm x" does less than "rm x". A list begins or ends with a blank, or begins with
 * an option.
 */
static bool values_stands_for(struct expander *e, const struct value *all, const struct value *v)
{
	bool begins, ends;

	if (!values_is_list(e, v))
		return false;
	begins = values_is_blank(v, 0);
	ends = values_is_blank(v, v->len - 1);
	return begins == values_is_blank(all, 0) && ends == values_is_blank(all, all->len - 1) &&
	       (begins || ends || (v->v[0].c == '-' && all->v[0].c == '-')) &&
	       values_has_words(e, all, v);
}

/* Hashes of what stands in texts between blanks, quotes and operators. */
struct values_pieces {
	uint32_t *slots;
	size_t mask, count;
};

/* False: it was there before. */
static bool values_note_piece(struct values_pieces *p, uint32_t hash)
{
	size_t i = hash & p->mask;

	while (p->slots[i] && p->slots[i] != hash)
		i = (i + 1) & p->mask;
	if (p->slots[i] == hash)
		return false;
	if (p->count < p->mask / 2) {
		p->slots[i] = hash;
		p->count++;
	}
	return true;
}

/* Note the pieces of @v. Returns whether one is new. */
static bool values_note_pieces(struct expander *e, struct values_pieces *p, const struct value *v)
{
	uint32_t hash = 1;
	bool found = false;

	expand_charge(e, v->len / WORK_HASH);
	for (uint32_t i = 0; i <= v->len; i++) {
		if (i < v->len && !strchr(" \t\n;&|,\\\"'", v->v[i].c)) {
			hash = (hash ^ (uint8_t)v->v[i].c ^ (uint32_t)v->v[i].name << 8) *
			       0x9e3779b1u;
			hash ^= hash >> 15;
		} else {
			found |= hash != 1 && values_note_piece(p, hash | 1u);
			hash = 1;
		}
	}
	return found;
}

static void values_know_pieces(struct expander *e, struct values_pieces *p, const struct value *a,
			       const struct value *b)
{
	*p = (struct values_pieces){ .mask = 1 };
	while (p->mask < a->len + b->len)
		p->mask = p->mask << 1 | 1u;
	p->slots = shell_alloc(e->arena, (p->mask + 1) * sizeof(*p->slots));
	values_note_pieces(e, p, a);
	values_note_pieces(e, p, b);
}

/*
 * A long text that grows in each of two branches: more values than can be followed. The longest
 * and the shortest have all its parts, also where these are equally long: the first and the last.
 * One with a part that no other has which is kept, as of a third branch, is kept, too.
 */
static bool values_has_grown(struct expander *e, struct values_pieces *known, const struct value *v)
{
	return v->room && v->len > GROWN_LONG && !values_note_pieces(e, known, v);
}

/* Leave out what the longest stands for. It goes to the front: a function is called with that. */
static void values_drop_lists(struct expander *e, struct value **list)
{
	struct value **longest = list, *shortest = *list, *first;
	struct values_pieces known;
	size_t chars = 0;

	for (struct value **v = list; *v; v = &(*v)->other) {
		longest = (*v)->len > (*longest)->len ? v : longest;
		shortest = (*v)->len <= shortest->len ? *v : shortest;
		chars += (*v)->len;
	}
	if (chars < ALTERNATIVES_LONG)
		return;
	first = *longest;
	*longest = first->other;
	values_know_pieces(e, &known, first, shortest);
	for (struct value **v = list; *v;)
		if (*v != shortest &&
		    (values_stands_for(e, first, *v) || values_has_grown(e, &known, *v)))
			*v = (*v)->other;
		else
			v = &(*v)->other;
	first->other = *list;
	*list = first;
}

/* ---- arrays ---- */

/* Of longer arrays the first possible one is followed. */
#define OTHERS_ITEMS_MAX 64

static bool values_same_items(struct expander *e, const struct assignment *a,
			      const struct assignment *b)
{
	if (a->is_array != b->is_array || a->is_open != b->is_open || a->is_set != b->is_set ||
	    a->item_count != b->item_count)
		return false;
	expand_charge(e, 1 + a->item_count / WORK_COMPARE);
	for (uint32_t i = 0; i <= a->item_count; i++) {
		const struct value *x = i ? a->items[i - 1] : a->values;
		const struct value *y = i ? b->items[i - 1] : b->values;

		if (x == y)
			continue;
		if (!x || !y || x->len != y->len || !values_same_text(x->v, y->v, x->len))
			return false;
		expand_charge(e, 1 + x->len / WORK_COMPARE);
	}
	return true;
}

static void values_add_other(struct expander *e, struct assignment **list,
			     const struct assignment *b, const struct value *value)
{
	struct assignment *copy = shell_alloc(e->arena, sizeof(*copy));
	unsigned count = 0;

	*copy = *b;
	copy->other = NULL;
	if (value) {
		copy->values = shell_alloc(e->arena, sizeof(*copy->values));
		*copy->values = *value;
		copy->values->other = NULL;
	}
	for (; *list && !values_same_items(e, *list, copy); list = &(*list)->other)
		count++;
	if (!*list && count < ALTERNATIVES_MAX)
		*list = copy;
}

void values_add_others(struct expander *e, struct assignment **list, const struct assignment *b)
{
	for (; b; b = b->other) {
		const struct value *value = b->values;

		do {
			values_add_other(e, list, b, value);
			value = value ? value->other : NULL;
		} while (value);
	}
}

static bool values_are_short(const struct assignment *b)
{
	for (; b && b->item_count <= OTHERS_ITEMS_MAX; b = b->other)
		;
	return !b;
}

/* ---- both ---- */

struct assignment *values_union(struct expander *e, const struct assignment *a,
				const struct assignment *b)
{
	struct assignment *u = shell_alloc(e->arena, sizeof(*u)), *others = NULL;
	struct value *all = NULL;
	size_t count = 0;

	if ((a->is_array || a->other || b->is_array || b->other) && values_are_short(a) &&
	    values_are_short(b)) {
		values_add_others(e, &others, a);
		values_add_others(e, &others, b);
		others->exported |= b->exported;
		others->attributes |= b->attributes;
		return others;
	}
	*u = *a;
	values_add_up_to(e, &all, a->values, 2 * ALTERNATIVES_MAX);
	values_add_up_to(e, &all, b->values, 2 * ALTERNATIVES_MAX);
	if (a->is_set != b->is_set) {
		values_add_up_to(e, &all, value_text(e, "", 0), 2 * ALTERNATIVES_MAX);
		u->is_set = true;
	}
	values_drop_lists(e, &all);
	for (struct value *v = all; v; v = v->other)
		if (++count == ALTERNATIVES_MAX)
			v->other = NULL;
	u->values = all;
	u->exported |= b->exported;
	return u;
}
