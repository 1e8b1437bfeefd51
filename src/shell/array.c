/*
 * Arrays: x=(a [5]=b), x[i]=c, ${x[i]}. The elements of an associative one are variables with names
 * like "x[key]", and so are those behind INDEX_MAX. One at a place that is not known is appended,
 * and makes every place but the first unknown.
 */
#include <stdio.h>
#include <string.h>

#include "shell/expand.h"

#define INDEX_MAX 1024
/* Elements at places that are not known. */
#define OPEN_MAX 64u

/* ---- places ---- */

/* The variable of the element of @name that @key names; NULL: the key is not known. */
static const char *array_key(struct expander *e, const char *name, const struct chars *key)
{
	const char *text = chars_string(e, key->v, key->len);
	char *joined;

	if (!text || !*text)
		return NULL;
	joined = shell_alloc(e->arena, strlen(name) + strlen(text) + 3);
	sprintf(joined, "%s[%s]", name, text);
	return joined;
}

/* The number that @key is for @b. False: it is not known, or a text. */
static bool array_index(struct expander *e, const struct assignment *b, const struct chars *key,
			int64_t *n)
{
	if (b && b->attributes & ATTRIBUTE_ASSOCIATIVE)
		return false;
	if (!expand_arith(e, key, n))
		return false;
	if (*n < 0 && b && !b->is_open)
		*n += b->item_count;
	return *n >= 0 && *n < INDEX_MAX;
}

/* Put @v at the place @n, and with @append behind what is there. */
static void array_put(struct expander *e, struct assignment *b, uint32_t n, struct value *v,
		      bool append)
{
	if (n >= b->item_room) {
		uint32_t room = n + 1 > 2 * b->item_room ? n + 1 : 2 * b->item_room;
		struct value **items = shell_alloc(e->arena, room * sizeof(struct value *));

		if (b->item_count > 0)
			memcpy(items, b->items, b->item_count * sizeof(struct value *));
		expand_charge(e, room);
		b->items = items;
		b->item_room = room;
	}
	if (n >= b->item_count)
		b->item_count = n + 1;
	b->items[n] = append && b->items[n] ? value_append(e, b->items[n], v) : v;
}

/* Append @v, whose place is not known. Of many the last stands for any. */
static uint32_t array_put_somewhere(struct expander *e, const char *name, struct assignment *b,
				    struct value *v)
{
	b->is_open = true;
	if (b->item_count < OPEN_MAX)
		array_put(e, b, b->item_count, v, false);
	else
		array_put(e, b, b->item_count - 1, value_unknown(e, name, 0), false);
	return b->item_count;
}

/* Put @v where @key says. Returns the place behind it. */
static uint32_t array_put_key(struct expander *e, const char *name, struct assignment *b,
			      const struct chars *key, struct value *v, bool append)
{
	int64_t n;
	const char *element;

	if (array_index(e, b, key, &n)) {
		array_put(e, b, (uint32_t)n, v, append);
		return (uint32_t)n + 1;
	}
	element = array_key(e, name, key);
	if (element)
		vars_set(e, element, append ? vars_append(e, element, v) : v);
	return array_put_somewhere(e, name, b, v);
}

/* A copy of @before with room for @more elements; @before may be NULL. */
static struct assignment *array_copy(struct expander *e, const struct assignment *before,
				     uint32_t more)
{
	struct assignment *b = shell_alloc(e->arena, sizeof(*b));
	uint32_t old = 0;

	if (before && before->is_array) {
		old = before->item_count;
		b->is_open = before->is_open;
	} else if (before && before->values) {
		old = 1;
	}
	b->attributes = before ? before->attributes : 0;
	b->values = before ? before->values : NULL;
	b->is_array = true;
	b->item_count = old;
	b->item_room = old + more;
	b->items = shell_alloc(e->arena, (old + more) * sizeof(struct value *));
	if (old)
		memcpy(b->items, before->is_array ? before->items : &before->values,
		       old * sizeof(struct value *));
	expand_charge(e, old + more);
	return b;
}

/* ---- assignments ---- */

/* The end of the [key]= that @w begins with, or 0. */
static size_t array_key_end(const struct shell_word *w)
{
	const char *close = w->text.s[0] == '[' && w->kind[0] == SHELL_GLOB
				    ? strstr(w->text.s, "]=") : NULL;

	return close ? (size_t)(close - w->text.s) : 0;
}

static uint32_t array_put_word(struct expander *e, const char *name, struct assignment *b,
			       uint32_t next, const struct shell_word *w)
{
	struct value *v = word_value(e, w);
	size_t end = array_key_end(w);

	if (!end) {
		array_put(e, b, next, v, false);
		return next + 1;
	}
	struct chars key = { .v = v->v + 1, .len = end - 1 };

	return array_put_key(e, name, b, &key,
			     value_make(e, v->v + end + 2, v->len - end - 2), false);
}

/* $x of an array is its first element. */
static struct value *array_first(struct expander *e, const struct assignment *b)
{
	if (!b->item_count)
		return NULL;
	return b->items[0] ? b->items[0] : b->is_open ? NULL : value_text(e, "", 0);
}

/*
 * Copies of what @name may be before an assignment, each with room for @more elements; or, if that
 * does not @keep any, an empty array.
 */
static struct assignment *array_start(struct expander *e, const char *name, bool keep,
				      uint32_t more)
{
	const struct assignment *before = vars_get(e, name);
	struct assignment *all = NULL, *first = NULL, **tail = &first;

	if (!before || !keep) {
		first = array_copy(e, NULL, more);
		first->attributes = before ? before->attributes : 0;
		return first;
	}
	for (values_add_others(e, &all, before); all; all = all->other) {
		*tail = array_copy(e, all, more);
		tail = &(*tail)->other;
	}
	return first;
}

void array_assign(struct expander *e, const char *name, const struct words *words, bool append)
{
	struct assignment *all = array_start(e, name, append, (uint32_t)words->len);

	for (struct assignment *b = all; b; b = b->other) {
		uint32_t next = b->item_count;

		for (size_t i = 0; i < words->len; i++)
			next = array_put_word(e, name, b, next, &words->v[i]);
		b->values = array_first(e, b);
	}
	vars_set_binding(e, name, all);
}

static void array_fill_one(struct expander *e, const char *name, struct assignment *b,
			   struct value **items, uint32_t count, uint32_t from)
{
	for (uint32_t i = 0; i < count && from != ARRAY_UNKNOWN; i++)
		if (from + i < INDEX_MAX)
			array_put(e, b, from + i, items[i], false);
		else
			array_put_somewhere(e, name, b, items[i]);
	b->is_open |= from == ARRAY_UNKNOWN;
	b->values = from == ARRAY_UNKNOWN ? NULL : array_first(e, b);
}

void array_fill(struct expander *e, const char *name, struct value **items, uint32_t count,
		bool keeps, uint32_t from)
{
	struct assignment *all = array_start(e, name, keeps, count);

	for (struct assignment *b = all; b; b = b->other)
		array_fill_one(e, name, b, items, count, from);
	vars_set_binding(e, name, all);
}

void array_bind(struct expander *e, const char *name, struct value **items, uint32_t count,
		bool known)
{
	struct assignment *b = shell_alloc(e->arena, sizeof(*b));

	*b = (struct assignment){ .items = items, .item_count = count, .item_room = count,
				  .is_array = true, .is_open = !known };
	vars_set_binding(e, name, b);
}

static void array_set_one(struct expander *e, const char *name, struct assignment *b,
			  const struct chars *key, struct value *v, bool append)
{
	struct value *before = b->values, *values = NULL;

	array_put_key(e, name, b, key, v, append);
	b->values = array_first(e, b);
	if (b->is_open && before) {
		values_add(e, &values, before);
		values_add(e, &values, append ? value_append(e, before, v) : v);
		b->values = values;
	}
}

void array_set_element(struct expander *e, const char *name, const struct chars *key,
		       struct value *v, bool append)
{
	struct assignment *all = array_start(e, name, true, 1);

	for (struct assignment *b = all; b; b = b->other)
		array_set_one(e, name, b, key, v, append);
	vars_set_binding(e, name, all);
}

void array_unset_element(struct expander *e, const char *name, const struct chars *key)
{
	const struct assignment *before = vars_get(e, name);
	const char *element = array_key(e, name, key);
	struct assignment *all;
	int64_t n;

	if (element)
		vars_unset(e, element);
	if (!before || before->attributes & ATTRIBUTE_READONLY ||
	    !array_index(e, before, key, &n))
		return;
	if (!before->is_array && !before->other && n == 0) {
		vars_unset(e, name);
		return;
	}
	all = array_start(e, name, true, 0);
	for (struct assignment *b = all; b; b = b->other) {
		if (n < b->item_count)
			b->items[n] = NULL;
		b->values = array_first(e, b);
	}
	vars_set_binding(e, name, all);
}

/* ---- values ---- */

/* ${x[key]} of a key that is not known: any element. */
static struct value *array_any(struct expander *e, const char *name, const struct assignment *b)
{
	char *hidden = shell_alloc(e->arena, strlen(name) + 3);
	struct value *all = NULL;
	bool others = b && b->is_open;

	for (uint32_t i = 0; b && b->is_array && i < b->item_count && i < OPEN_MAX; i++) {
		values_add(e, &all, b->items[i]);
		others |= !b->items[i];
	}
	if (!all)
		return NULL;
	if (others)
		values_add(e, &all, value_unknown_given(e, name, 0));
	sprintf(hidden, "? %s", name);
	return vars_one_of(e, hidden, all);
}

struct value *array_element(struct expander *e, const char *name, const struct chars *key,
			    uint32_t at)
{
	const struct assignment *b = vars_chosen(e, name);
	const char *element;
	bool unset;
	int64_t n;
	struct value *v = NULL;

	if (!array_index(e, b, key, &n)) {
		element = array_key(e, name, key);
		v = element ? vars_value_or_unset(e, element, &unset) : NULL;
		if (v || (element && (unset || (b && b->attributes & ATTRIBUTE_ASSOCIATIVE))))
			return v;
		return array_any(e, name, b);
	}
	if (!b)
		return NULL;
	if (n == 0)
		v = vars_value(e, name);
	else if (b->is_array && !b->is_open && n < b->item_count)
		v = b->items[n];
	return v || b->is_open ? v : value_text(e, "", at);
}
