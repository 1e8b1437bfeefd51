/* What the operators of ${x...} make of a value: defaults, parts, lengths, other letters. */
#include <stdio.h>
#include <string.h>

#include "shell/expand.h"

/* The word behind an operator; in quotes it is quoted as a whole. */
static void append_word(struct expander *e, const struct ast_word *w, struct cells *out)
{
	if (!w || !expand_enter(e, w->start))
		return;
	size_t from = out->len;

	expand_parts(e, w->parts, out, EXPAND_PATTERN);
	/* An unquoted word behind - or + is split like the rest; ~ at its start is a home. */
	for (size_t i = from; i < out->len; i++)
		if (out->v[i].kind == CELL_PLAIN &&
		    (out->v[i].c == ' ' || out->v[i].c == '\t' || out->v[i].c == '\n'))
			out->v[i].kind = CELL_FIELD;
	expand_leave(e);
}

/* ${x:0:1} of what is always a path. */
static bool starts_with_slash(const char *name)
{
	static const char *const names[] = { "HOME", "PWD", "OLDPWD", "PATH", "SHELL", "BASH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i][0] == name[0] && strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool expand_number(struct expander *e, const struct ast_word *w, int64_t *n)
{
	struct cells c = { 0 };
	bool ok;

	if (!w)
		return false;
	expand_parts(e, w->parts, &c, EXPAND_ONE);
	ok = expand_arith(e, &c, n);
	cells_release(&c);
	return ok;
}

static struct value *substring(struct expander *e, const struct value *v, const struct ast_param *p)
{
	int64_t from, len = 0, n = v->len;

	if (!expand_number(e, p->arg, &from) || (p->arg2 && !expand_number(e, p->arg2, &len)))
		return NULL;
	if (!cells_known(v->v, v->len))
		return NULL;
	if (from < 0)
		from = from + n < 0 ? n : from + n;
	if (from > n)
		from = n;
	if (!p->arg2)
		len = n - from;
	else if (len < 0)
		len = n + len - from;
	if (len < 0)
		len = 0;
	if (len > n - from)
		len = n - from;
	return value_make(e, v->v + from, (size_t)len);
}

static struct value *change_case(struct expander *e, const struct value *v,
				 const struct ast_param *p)
{
	struct value *r = value_make(e, v->v, v->len);

	for (uint32_t i = 0; i < r->len && (i == 0 || p->longest); i++) {
		char c = r->v[i].c;

		if (p->op == PARAM_UPPER && c >= 'a' && c <= 'z')
			r->v[i].c = (char)(c - 32);
		else if (p->op == PARAM_LOWER && c >= 'A' && c <= 'Z')
			r->v[i].c = (char)(c + 32);
	}
	return cells_known(v->v, v->len) ? r : NULL;
}

/* Known, or a list of file names: /proc/[0-9]*. */
static bool names_files(const struct value *v)
{
	for (uint32_t i = 0; i < v->len; i++)
		if (v->v[i].kind != CELL_GLOB && !cells_known(&v->v[i], 1))
			return false;
	return true;
}

/* Operators that compute a text from a known value. NULL: the result is not known. */
static struct value *compute(struct expander *e, const struct value *v, const struct ast_param *p)
{
	struct cells pattern = { 0 }, by = { 0 };
	struct value *r = NULL;
	char text[32];

	switch (p->op) {
	case PARAM_LENGTH:
		snprintf(text, sizeof(text), "%u", v->len);
		return cells_known(v->v, v->len) ? value_text(e, text, 0) : NULL;
	case PARAM_SUBSTRING:
		return substring(e, v, p);
	case PARAM_UPPER:
	case PARAM_LOWER:
		return change_case(e, v, p);
	case PARAM_PREFIX:
	case PARAM_SUFFIX:
	case PARAM_REPLACE:
	case PARAM_REPLACE_START:
	case PARAM_REPLACE_END:
		if (p->arg)
			expand_parts(e, p->arg->parts, &pattern, EXPAND_PATTERN);
		if (p->arg2)
			expand_parts(e, p->arg2->parts, &by, EXPAND_ONE);
		if (!cells_known(pattern.v, pattern.len))
			r = NULL;
		else if (p->op == PARAM_PREFIX || p->op == PARAM_SUFFIX)
			r = names_files(v) ? expand_trim(e, v, p, &pattern) : NULL;
		else if (cells_known(v->v, v->len))
			r = expand_replace(e, v, p, &pattern, &by);
		cells_release(&pattern);
		cells_release(&by);
		return r;
	default:
		return NULL;
	}
}

/* Substitutions in the words of an operator whose result is not used run nevertheless. */
void expand_unused(struct expander *e, const struct ast_param *p)
{
	struct cells unused = { 0 };

	if (p->arg)
		expand_parts(e, p->arg->parts, &unused, EXPAND_ONE);
	if (p->arg2)
		expand_parts(e, p->arg2->parts, &unused, EXPAND_ONE);
	cells_release(&unused);
}

/* What begins at @from is not empty. False: that was known. */
static bool mark_set(struct cells *c, size_t from)
{
	struct cell *first = NULL;
	bool missing = false;

	for (size_t i = c->len; i-- > from;) {
		const struct cell *cell = &c->v[i];

		if (cell->kind == CELL_EMPTY)
			continue;
		if (!cell_is_unknown(cell) && !(cell_is_known(cell) && cell->name))
			return false;
		missing |= cell_is_known(cell);
		first = &c->v[i];
	}
	for (size_t i = from; i < c->len && missing; i++)
		c->v[i].name = cell_is_known(&c->v[i]) ? 0 : c->v[i].name;
	if (first && !missing)
		first->c = UNKNOWN_SET;
	return first != NULL;
}

/* ${x:?} is there from @from on. It is not empty, or the shell ends here: neither is x later. */
static void require(struct expander *e, const struct ast_param *p, struct cells *out, size_t from)
{
	const struct binding *b = vars_get(e, p->name);

	if (mark_set(out, from) && !p->index && !(b && b->values && b->values->other))
		vars_set(e, p->name, value_make(e, out->v + from, out->len - from));
}

/*
 * ${x-w} and its kind. A variable that is not known may be empty or not: what is
 * certain then is only that the word may be used, and a rule should see it.
 */
void expand_default(struct expander *e, const struct ast_param *p, const struct value *v,
		    bool unset, bool quoted, uint32_t at, struct cells *out)
{
	bool empty = v && (unset || (p->colon && v->len == 0));
	bool path = !v && starts_with_slash(p->name) && strcmp(p->name, "OLDPWD") != 0;
	bool must = p->op == PARAM_ERROR;
	size_t from = out->len;

	if (p->op == PARAM_ALTERNATE) {
		if (!empty)
			append_word(e, p->arg, out);
		return;
	}
	if (!must && (empty || (!v && !path))) {
		append_word(e, p->arg, out);
		if (p->op == PARAM_ASSIGN && p->arg)
			vars_set(e, p->name, expand_value(e, p->arg));
		return;
	}
	if (v && !empty)
		expand_append(e, out, v, quoted);
	else
		expand_unknown(e, out, p->name, quoted, at);
	if (must && (p->colon || empty))
		require(e, p, out, from);
	expand_unused(e, p);
}

/* ${PWD%%"${PWD#?}"}: all but its first character is cut off. */
static bool keeps_first(struct expander *e, const struct ast_param *p, const char *name)
{
	struct cells c = { 0 };
	bool same = false;

	if (p->op != PARAM_SUFFIX || !p->arg || !starts_with_slash(name))
		return false;
	expand_parts(e, p->arg->parts, &c, EXPAND_PATTERN);
	for (size_t i = 0; i < c.len; i++)
		same |= c.v[i].kind >= CELL_UNKNOWN && c.v[i].name &&
			strcmp(expand_name_text(e, c.v[i].name), "${}") == 0;
	cells_release(&c);
	return same;
}

struct value *expand_operator(struct expander *e, const struct ast_param *p, const char *name,
			      const struct value *v, uint32_t at)
{
	int64_t from, len;

	if (!v && p->op == PARAM_SUBSTRING && starts_with_slash(name) &&
	    expand_number(e, p->arg, &from) && from == 0 && expand_number(e, p->arg2, &len) &&
	    len == 1)
		return value_text(e, "/", at);
	if (!v && keeps_first(e, p, name))
		return value_text(e, "/", at);
	if (v)
		return compute(e, v, p);
	expand_unused(e, p);
	return NULL;
}
