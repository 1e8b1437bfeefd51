/* Assignments: x=w, x+=w, x[i]=w, x=(...). The variable gets the values of all choices. */
#include <string.h>

#include "base/str.h"
#include "shell/expand.h"

/* Steps of an assignment. */
#define WORK_ASSIGN 30u

/* Values of x=$((...)): a count that grows under conditions has another at each turn. */
#define SUMS_MAX 4

/* ---- values ---- */

/* Is it x=$x... or x="$x..."? *@rest: the word behind that. A ~ there would begin a word. */
static bool assign_extends_itself(const struct expander *e, const struct ast_assign *a,
				  struct ast_word *rest)
{
	const struct ast_part *p = a->value ? a->value->parts : NULL;

	if (p && p->type == PART_TEXT && p->quoted && !p->text.len)
		p = p->next;
	if (!p || p->type != PART_PARAM || p->param->op != PARAM_PLAIN || p->param->index ||
	    p->param->indirect || !p->param->name || strcmp(p->param->name, a->name) != 0 ||
	    strcmp(a->name, "_") == 0 || e->has_namerefs || !p->next)
		return false;
	*rest = *a->value;
	rest->parts = p->next;
	p = p->next;
	return p->type != PART_TEXT || p->quoted || !p->text.len || p->text.s[0] != '~';
}

/* The value of the assignment in the present choice. */
static struct value *assign_value(struct expander *e, const struct ast_assign *a)
{
	struct ast_word rest;
	const struct value *before = NULL;

	if (a->append)
		return vars_append(e, vars_nameref(e, a->name), expand_value(e, a->value));
	if (assign_extends_itself(e, a, &rest))
		before = vars_value(e, a->name);
	if (!before)
		return expand_value(e, a->value);
	return value_append(e, before, expand_value(e, &rest));
}

/* Is it x=$((...))? */
static bool assign_is_sum(const struct ast_assign *a)
{
	const struct ast_part *p = a->value ? a->value->parts : NULL;

	return p && p->type == PART_ARITH && !p->next && !a->append;
}

/* The values that the assignment may have. */
static struct value *assign_values(struct expander *e, const struct ast_assign *a)
{
	struct value *first = NULL;
	struct choice c;

	choice_start(e, &c); /* ${y=x} and the like assign */
	if (assign_is_sum(a))
		c.max = SUMS_MAX;
	while (choice_next(e, &c)) {
		struct value *v = assign_value(e, a);

		if (first)
			values_add(e, &first, v);
		else
			first = v;
	}
	choice_end(e, &c);
	return first;
}

/* ---- arrays ---- */

static void assign_array(struct expander *e, const struct ast_assign *a)
{
	struct words words = { 0 };

	for (const struct ast_word *w = a->items; w && !expand_failed(e); w = w->next)
		expand_word(e, w, &words);
	array_assign(e, vars_nameref(e, a->name), &words, a->append);
	words_release(&words);
}

static void assign_element(struct expander *e, const struct ast_assign *a)
{
	struct chars key = { 0 };

	expand_parts(e, a->index->parts, &key, EXPAND_ONE);
	array_set_element(e, vars_nameref(e, a->name), &key, expand_value(e, a->value), a->append);
	chars_release(&key);
}

/* Assign to an array, in each choice, which are branches. */
static void assign_items(struct expander *e, const struct ast_assign *a)
{
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c))
		if (a->is_array)
			assign_array(e, a);
		else
			assign_element(e, a);
	choice_end(e, &c);
}

/* ---- x=$(...) ---- */

const struct ast_assign *assign_of_output(const struct ast_node *n)
{
	const struct ast_assign *a = n->type == AST_SIMPLE && !n->words ? n->assigns : NULL;
	const struct ast_part *p;

	while (a && a->next)
		a = a->next;
	p = a && a->value && !a->index && !a->append ? a->value->parts : NULL;
	if (p && p->next && p->type == PART_TEXT && !p->text.len)
		p = p->next; /* skip the empty text of "" */
	return p && !p->next && p->type == PART_COMMAND ? a : NULL;
}

/* Is the output of @a that of a single command? Its status is the one of the assignment, then. */
static bool assign_is_of_one(const struct ast_assign *a)
{
	const struct ast_part *p = a->value->parts;
	const struct ast_node *n = p->next ? p->next->list : p->list;

	while (n && (n->type == AST_LIST || n->type == AST_PIPE) && !n->negated && n->body &&
	       !n->body->next)
		n = n->body;
	return n && n->type == AST_SIMPLE && !n->next && !n->background;
}

/* An unknown character of an output that is whole. @one: of a single command; these print something
 * or fail. */
static struct shell_char assign_whole(struct expander *e, const struct shell_char *c, bool one)
{
	static const char *const print_or_fail[] = { "$(realpath)", "$(readlink)", NULL };
	const char *name = expand_name_text(e, c->name);
	struct shell_char whole = char_unknown(e, name, c->kind, c->at);

	if (one && name && str_is_listed(name, print_or_fail))
		whole.c = UNKNOWN_SET;
	return whole;
}

void assign_succeeded(struct expander *e, const struct ast_node *n)
{
	const struct ast_assign *a = assign_of_output(n);
	const struct assignment *b = a ? vars_get(e, a->name) : NULL;
	struct value *first = NULL, **tail = &first;
	bool one = a && assign_is_of_one(a);

	for (const struct value *v = b ? b->values : NULL; v; v = v->other) {
		struct value *whole = value_make(e, v->v, v->len);

		for (uint32_t i = 0; i < whole->len; i++) {
			struct shell_char *c = &whole->v[i];

			if (char_is_known(c))
				c->name = 0;
			else if (char_is_unknown(c))
				*c = assign_whole(e, c, one);
		}
		*tail = whole;
		tail = &whole->other;
	}
	if (first)
		vars_set(e, a->name, first);
}

/* ---- of a command ---- */

static void assign_one(struct expander *e, const struct ast_assign *a, struct shell_assign *out)
{
	struct value *v;

	expand_charge(e, WORK_ASSIGN);
	e->script->sets_variables |= a->is_array || a->index;
	if (a->is_array || a->index)
		assign_items(e, a);
	else
		vars_set(e, vars_nameref(e, a->name), assign_values(e, a));
	v = vars_value(e, vars_nameref(e, a->name));
	out->name = shell_copy(e->arena, a->name, strlen(a->name));
	out->value.start = a->value ? a->value->start : 0;
	out->value.end = a->value ? a->value->end : 0;
	word_make(e, v ? v->v : NULL, v ? v->len : 0, &out->value);
}

static unsigned assign_declared(struct expander *e, uint32_t index, const char *name)
{
	const struct shell_command *c = &e->script->commands[index];

	return builtin_declare_array(e, &(struct call){ c->words, c->word_count }, name);
}

void assign_all(struct expander *e, const struct ast_node *n, uint32_t index)
{
	struct shell_assign *assigns;
	size_t count = 0;

	for (const struct ast_assign *a = n->assigns; a; a = a->next)
		count++;
	if (count == 0)
		return;
	assigns = shell_alloc(e->arena, count * sizeof(*assigns));
	count = 0;
	for (const struct ast_assign *a = n->assigns; a && !expand_failed(e); a = a->next) {
		bool prefix = n->words && !a->late;
		unsigned attributes = a->late ? assign_declared(e, index, a->name) : 0;

		if (prefix)
			vars_local(e, &e->prefix, a->name);
		assign_one(e, a, &assigns[count++]);
		if (prefix)
			vars_export(e, a->name);
		if (attributes)
			vars_set_attributes(e, a->name, attributes, 0);
	}
	struct shell_command *c = &e->script->commands[index];

	c->assigns = assigns;
	c->assign_count = count;
}

/* ---- by a builtin ---- */

size_t assign_name_length(const struct shell_word *w)
{
	const char *s = w->text.s;
	size_t n = 0;

	while (n < w->text.len && w->kind[n] == SHELL_LITERAL && str_is_name_char(s[n]) &&
	       (n > 0 || s[n] < '0' || s[n] > '9'))
		n++;
	return n;
}

void assign_word(struct expander *e, const struct shell_word *w, struct value *v, bool append)
{
	size_t n = assign_name_length(w), end = n;
	const char *name = vars_nameref(e, shell_copy(e->arena, w->text.s, n));

	if (n == 0)
		return;
	while (end < w->text.len && w->text.s[n] == '[' && w->text.s[end] != ']')
		end++;
	if (end > n) {
		const struct value *all = word_value(e, w);
		const struct chars key = { .v = all->v + n + 1, .len = end - n - 1 };

		call_key(e, all, n);
		array_set_element(e, name, &key, v, append);
	} else {
		vars_set(e, name, append ? vars_append(e, name, v) : v);
	}
}
