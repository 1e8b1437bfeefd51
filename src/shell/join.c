/*
 * Variables behind branches: what each of them leaves, and what was before if none may run.
 */
#include <ctype.h>
#include <string.h>

#include "shell/expand.h"

/* Steps for a variable of a test. */
#define WORK_ASSUME 30u

/* ---- the branches ---- */

struct join_entry {
	struct join_entry *older;
	struct variable *variable;
	struct assignment *assignment;
	size_t seen; /* branches that assign it */
};

void join_start(struct expander *e, struct join *j)
{
	*j = (struct join){ .mark = vars_mark(e) };
}

static void join_add(struct expander *e, struct join *j, struct variable *v, bool leaves)
{
	struct join_entry *entry = j->entries;

	while (entry && entry->variable != v) {
		entry = entry->older;
		e->fuel -= e->fuel > 0;
	}
	if (!entry) {
		entry = shell_alloc(e->arena, sizeof(*entry));
		entry->variable = v;
		entry->older = j->entries;
		j->entries = entry;
		entry->assignment = vars_current(v);
	} else if (vars_current(v)) {
		entry->assignment = entry->assignment
					    ? values_union(e, entry->assignment, vars_current(v))
					    : vars_current(v);
	}
	entry->seen += !leaves;
}

/* Note what a branch has assigned. */
static void join_note(struct expander *e, struct join *j, bool leaves)
{
	struct variables *t = &e->memory->variables;
	uint32_t merge = ++t->version;

	j->branches += !leaves;
	for (size_t i = j->mark; i < t->log_len; i++) {
		struct variable *v = t->log[i].variable;

		if (v->merge == merge)
			continue;
		v->merge = merge;
		if (expand_failed(e))
			break;
		join_add(e, j, v, leaves);
	}
}

void join_branch(struct expander *e, struct join *j, bool leaves)
{
	join_note(e, j, leaves);
	vars_undo(e, j->mark);
}

void join_jump(struct expander *e, struct join *j)
{
	expand_charge(e, e->memory->variables.log_len - j->mark);
	join_note(e, j, false);
}

/* ---- if none runs ---- */

/* Is its value itself, known only not to be empty, by ${x:?}? */
static bool join_is_itself(const struct expander *e, const struct variable *v,
			   const struct assignment *b)
{
	const struct shell_char *c = b->values && b->values->len == 1 ? b->values->v : NULL;

	return c && !b->values->other && c->kind == CHAR_UNKNOWN && c->name &&
	       strcmp(expand_name_text(e, c->name), v->name) == 0;
}

static const struct assignment *join_instead(const struct join *j, const struct variable *v)
{
	const struct join_entry *entry = j->instead ? j->instead->entries : NULL;

	while (entry && entry->variable != v)
		entry = entry->older;
	return entry ? entry->assignment : NULL;
}

/* @before, where a test has asked for it: what may be any text is not empty. With @exact only
 * what is not empty is left; NULL: nothing. */
static const struct assignment *join_tested(struct expander *e, const struct assignment *before,
					    bool exact)
{
	struct assignment *b;
	struct value *all = NULL;

	if (before->is_array || before->other)
		return before;
	for (const struct value *v = before->values; v; v = v->other) {
		struct value *one = value_make(e, v->v, v->len);

		if (exact && !one->len)
			continue;
		if (value_is_any(one)) {
			one->v->name = one->v->name ? one->v->name : expand_name(e, "${}");
			one->v->c = UNKNOWN_SET;
		}
		values_add(e, &all, one);
	}
	if (exact && !all)
		return NULL;
	b = shell_alloc(e->arena, sizeof(*b));
	*b = *before;
	b->values = all;
	return b;
}

/* Is the variable not empty where no branch of @j runs? *@exact: the test asks for just that. */
static bool join_is_tested(struct expander *e, const struct join *j, const struct variable *v,
			   bool *exact)
{
	uint64_t looked = 0;
	enum ast_ask ask = j->test ? ast_asks(j->test, v->name, &looked) : ASK_NOTHING;
	bool known = (j->holds || j->fails) && ask >= ASK_EMPTY;

	expand_charge(e, looked);
	*exact = known && (ask == ASK_SET) == j->holds;
	return known ? *exact : ask != ASK_NOTHING;
}

/* What the variable is if no branch assigns it, which is @after otherwise. NULL: that is not told
 * from what one assigns. */
static const struct assignment *join_skipped(struct expander *e, const struct join *j,
					     const struct variable *v,
					     const struct assignment *after)
{
	const struct assignment *before = join_instead(j, v);
	bool exact, tested = join_is_tested(e, j, v, &exact);
	struct assignment *b;
	struct value *value;

	before = before ? before : vars_current(v);
	if (before && before->is_set) {
		before = tested ? join_tested(e, before, exact) : before;
		return before ? before : after;
	}
	if (before && exact)
		return after; /* it is not set, so a branch runs */
	if (!before && join_is_itself(e, v, after))
		return NULL;
	value = before || strchr(v->name, '[') ? value_text(e, "", 0)
					       : initial_unassigned(e, v->name, tested);
	b = shell_alloc(e->arena, sizeof(*b));
	b->values = value;
	b->is_set = true;
	return b;
}

void join_end(struct expander *e, struct join *j, bool may_skip)
{
	for (struct join_entry *entry = j->entries; entry && !expand_failed(e);
	     entry = entry->older) {
		const struct assignment *before = NULL;
		struct assignment *after = entry->assignment;

		if (!after)
			continue;
		if (may_skip || entry->seen < j->branches) {
			before = join_skipped(e, j, entry->variable, after);
			if (!before)
				continue;
			after = values_union(e, after, before);
		}
		vars_bind(e, entry->variable, after);
	}
}

void join_maybe(struct expander *e, size_t mark)
{
	struct join j = { .mark = mark };

	join_branch(e, &j, false);
	join_end(e, &j, true);
}

/* ---- behind a test ---- */

/* @v is not empty: if a command wrote all of it, that has run. */
static void join_is_whole(struct value *v)
{
	bool missing = v->len > 0;

	for (uint32_t i = 0; i < v->len; i++)
		missing &= char_is_known(&v->v[i]) && v->v[i].name;
	for (uint32_t i = 0; i < v->len && missing; i++)
		v->v[i].name = 0;
}

static bool join_is_text(const struct value *v, const struct ast_text *text)
{
	bool same = v->len == text->len;

	for (uint32_t i = 0; i < v->len && same; i++)
		same = char_is_known(&v->v[i]) && !v->v[i].name && v->v[i].c == text->s[i];
	return same;
}

/* @before without the value @text; NULL: it has no other. */
static const struct assignment *join_without(struct expander *e, const struct assignment *before,
					     const struct ast_text *text)
{
	struct assignment *b = shell_alloc(e->arena, sizeof(*b));

	if (before->is_array || before->other)
		return before;
	*b = *before;
	b->values = NULL;
	for (const struct value *v = before->values; v; v = v->other)
		if (!join_is_text(v, text))
			values_add(e, &b->values, value_make(e, v->v, v->len));
	return b->values ? b : NULL;
}

/* @name is not @text here. What is never anything else does not come here: it may be any other. */
static void join_assume_set(void *ctx, const char *name, const struct ast_text *text)
{
	struct expander *e = ctx;
	const struct assignment *before = vars_get(e, name), *tested;
	struct assignment *b;

	expand_charge(e, WORK_ASSUME);
	if (!isalpha((unsigned char)name[0]) || e->has_namerefs || !strcmp(name, "HOME"))
		return;
	if (!before) {
		if (!text->len && !initial_value(e, name, 0))
			vars_set(e, name, value_unknown_set(e, name, 0));
		return;
	}
	tested = text->len ? join_without(e, before, text) : join_tested(e, before, true);
	if (tested == before)
		return;
	b = shell_alloc(e->arena, sizeof(*b));
	if (tested)
		*b = *tested;
	else
		b->values = value_unknown_set(e, name, 0);
	b->untested = !e->jumps.returns ? NULL : before->untested ? before->untested : before;
	for (struct value *v = b->values; v && !text->len; v = v->other)
		join_is_whole(v);
	vars_set_binding(e, name, b);
}

void join_untest(struct expander *e, size_t mark)
{
	const struct variables *t = &e->memory->variables;

	for (size_t i = mark, end = t->log_len; i < end && !expand_failed(e); i++) {
		struct variable *v = t->log[i].variable;
		const struct assignment *b = vars_current(v);
		struct assignment *all;

		expand_charge(e, 1);
		if (!b || !b->untested)
			continue;
		all = values_union(e, b, b->untested);
		all->untested = NULL;
		vars_bind(e, v, all);
	}
}

void join_assume(struct expander *e, const struct ast_node *test, const struct ast_node *end,
		 bool holds)
{
	const struct ast_tests tests = { .holds = holds, .ctx = e, .found = join_assume_set,
					 .bash = e->memory->family == SHELL_FAMILY_BASH };

	ast_sets(test, end, &tests);
}
