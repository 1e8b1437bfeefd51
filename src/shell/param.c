/* Parameters: $x, $@, and the operators of ${x...}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

#define WORK_PARAM 12u
#define WORK_ELEMENTS 4u /* elements that take one step to count */

static bool param_is_number(const char *name)
{
	return *name >= '0' && *name <= '9';
}

/* Does set -u end the shell at $@name, which nothing sets, or is it there? */
static bool param_must_be_set(struct expander *e, const char *name)
{
	const struct assignment *b;

	if (!e->nounset || e->sets_unknown || !str_is_name_char(*name) ||
	    strcmp(name, "BASH_REMATCH") == 0) /* [[ sets it, to empty texts too */
		return false;
	if (!param_is_number(name)) {
		b = vars_chosen(e, name);
		return !b || !b->is_set;
	}
	b = vars_chosen(e, PARAMS);
	return b && !b->is_open && strtoul(name, NULL, 10) >= b->item_count;
}

/* ---- values to chars ---- */

static void param_append(struct expander *e, struct chars *out, const struct value *v,
			 bool quoted)
{
	size_t from = out->len;

	if (quoted)
		chars_add(e, out, '\0', CHAR_EMPTY, 0, 0);
	chars_copy(e, out, v->v, v->len);
	if (!quoted)
		chars_unquote(out, from);
}

/* A value that is not known. With set -u one that nothing sets is there: the shell ends else. */
static void param_unknown(struct expander *e, struct chars *out, const char *name,
			  bool quoted, uint32_t at)
{
	bool several = strcmp(name, "@") == 0;
	const struct assignment *b = vars_get(e, name);
	struct shell_char c = char_unknown(e, name, quoted && !several ? CHAR_UNKNOWN
								 : CHAR_UNKNOWN_FIELDS, at);

	if (c.c == UNKNOWN_ANY && param_must_be_set(e, name))
		c.c = UNKNOWN_SET;
	if (c.c == UNKNOWN_ANY && (e->sets_unknown || e->in_code || (b && b->is_array)))
		c.c = UNKNOWN_GIVEN;
	if (strcmp(name, "HOME") == 0)
		c = (struct shell_char){ at, c.name, CHAR_TILDE, '~' };
	chars_copy(e, out, &c, 1);
}

/* ---- operators ---- */

/* Append the word after an operator; if the parameter is quoted, so is all of it. */
static void param_append_word(struct expander *e, const struct ast_word *w, struct chars *out)
{
	if (!w || !expand_enter(e, w->start))
		return;
	size_t from = out->len;

	expand_parts(e, w->parts, out, EXPAND_PATTERN);
	/* An unquoted word after - or + is split as well; a ~ at its start is a home. */
	for (size_t i = from; i < out->len; i++)
		if (out->v[i].kind == CHAR_PLAIN &&
		    (out->v[i].c == ' ' || out->v[i].c == '\t' || out->v[i].c == '\n'))
			out->v[i].kind = CHAR_FIELD;
	expand_leave(e);
}

/* Does the variable always hold an absolute path, so that ${x:0:1} is a slash? */
static bool param_starts_with_slash(const char *name)
{
	static const char *const names[] = { "HOME", "PWD", "OLDPWD", "PATH", "SHELL", "BASH" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

static bool param_number(struct expander *e, const struct ast_word *w, int64_t *n)
{
	struct chars c = { 0 };
	bool ok;

	if (!w)
		return false;
	expand_parts(e, w->parts, &c, EXPAND_ONE);
	ok = expand_arith(e, &c, n);
	chars_release(&c);
	return ok;
}

static struct value *param_substring(struct expander *e, const struct value *v,
				     const struct ast_param *p)
{
	int64_t from, len = 0, n = v->len;

	if (!param_number(e, p->arg, &from) || (p->arg2 && !param_number(e, p->arg2, &len)))
		return NULL;
	if (!chars_known(v->v, v->len))
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

static struct value *param_change_case(struct expander *e, const struct value *v,
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
	return chars_known(v->v, v->len) ? r : NULL;
}

/* Is the value known, or a list of file names like /proc/[0-9]*? The first part of ~/x is known in
 * so far as the shortest ${x%/?*} ends behind it. */
static bool param_names_files(const struct value *v, const struct ast_param *p)
{
	uint32_t i = p->op == PARAM_SUFFIX && !p->longest && v->len > 1 &&
		     v->v[0].kind == CHAR_TILDE && v->v[1].c == '/';

	for (; i < v->len; i++)
		if (v->v[i].kind != CHAR_GLOB && !chars_known(&v->v[i], 1))
			return false;
	return true;
}

/* The marks of "" in @c are no characters of a pattern. */
static void param_drop_marks(struct chars *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind != CHAR_EMPTY)
			c->v[n++] = c->v[i];
	c->len = n;
}

/* Operators that compute a text from a known value. NULL: the result is unknown. */
static struct value *param_compute(struct expander *e, const struct value *v,
				   const struct ast_param *p)
{
	struct chars pattern = { 0 }, by = { 0 };
	struct value *r = NULL;
	char text[32];

	switch (p->op) {
	case PARAM_LENGTH:
		snprintf(text, sizeof(text), "%u", v->len);
		return chars_known(v->v, v->len) ? value_text(e, text, 0) : NULL;
	case PARAM_SUBSTRING:
		return param_substring(e, v, p);
	case PARAM_UPPER:
	case PARAM_LOWER:
		return param_change_case(e, v, p);
	case PARAM_PREFIX:
	case PARAM_SUFFIX:
	case PARAM_REPLACE:
	case PARAM_REPLACE_START:
	case PARAM_REPLACE_END:
		if (p->arg)
			expand_parts(e, p->arg->parts, &pattern, EXPAND_PATTERN);
		if (p->arg2)
			expand_parts(e, p->arg2->parts, &by, EXPAND_ONE);
		param_drop_marks(&pattern);
		if (!chars_known(pattern.v, pattern.len))
			r = NULL;
		else if (p->op == PARAM_PREFIX || p->op == PARAM_SUFFIX)
			r = param_names_files(v, p) ? glob_trim(e, v, p, &pattern) : NULL;
		else if (chars_known(v->v, v->len))
			r = glob_replace(e, v, p, &pattern, &by);
		chars_release(&pattern);
		chars_release(&by);
		return r;
	default:
		return NULL;
	}
}

/* Expand the words of an operator that are not used, to record their substitutions. */
static void param_unused(struct expander *e, const struct ast_param *p)
{
	struct chars unused = { 0 };

	if (p->arg)
		expand_parts(e, p->arg->parts, &unused, EXPAND_ONE);
	if (p->arg2)
		expand_parts(e, p->arg2->parts, &unused, EXPAND_ONE);
	chars_release(&unused);
}

/* Note that the chars from @from on are not empty. False: they were not, for certain. */
static bool param_mark_set(struct chars *c, size_t from)
{
	struct shell_char *first = NULL;
	bool missing = false;

	for (size_t i = c->len; i-- > from;) {
		const struct shell_char *ch = &c->v[i];

		if (ch->kind == CHAR_EMPTY)
			continue;
		if (!char_is_unknown(ch) && !(char_is_known(ch) && ch->name))
			return false;
		missing |= char_is_known(ch);
		first = &c->v[i];
	}
	for (size_t i = from; i < c->len && missing; i++)
		c->v[i].name = char_is_known(&c->v[i]) ? 0 : c->v[i].name;
	if (first && !missing)
		first->c = UNKNOWN_SET;
	return first != NULL;
}

/*
 * The chars from @from on are ${x:?}, and not empty, because otherwise the shell ends here, or
 * ${x:=w} of an x that has a value. So x is that from here on, where it is one of several in each
 * choice too.
 */
static void param_settle(struct expander *e, const struct ast_param *p, struct chars *out,
			 size_t from)
{
	const struct assignment *b = vars_get(e, p->name);
	bool several = b && b->values && b->values->other, marked;

	marked = p->op == PARAM_ERROR && param_mark_set(out, from);
	if (p->index || (b && (b->is_array || b->other)))
		return;
	if (several ? e->choosing : marked)
		vars_set(e, p->name, value_make(e, out->v + from, out->len - from));
}

/* ${x=w} of an x that has no value: it gets one, and is that, so that its quotes are gone. */
static struct value *param_assign(struct expander *e, const struct ast_param *p)
{
	struct value *v = expand_value(e, p->arg);
	struct chars key = { 0 };

	if (p->index) {
		expand_parts(e, p->index->parts, &key, EXPAND_ONE);
		array_set_element(e, p->name, &key, v, false);
		chars_release(&key);
	} else {
		vars_set(e, p->name, v);
	}
	return v;
}

/* Is it the value of a variable that a branch did not assign; or with @empty, may it be empty? */
static bool param_may_be_none(const struct value *v, bool empty)
{
	bool none = v->len > 0 && (empty || (v->len == 1 && !v->v[0].name));

	for (uint32_t i = 0; i < v->len && none; i++)
		none = char_is_unknown(&v->v[i]) && v->v[i].c != UNKNOWN_SET;
	return none;
}

/*
 * ${x-w}, ${x=w}, ${x?w}, ${x+w}. The word is used for an unknown variable too: it may be used,
 * so the rules must see it.
 */
static void param_default(struct expander *e, const struct ast_param *p, const struct value *v,
			  bool unset, bool quoted, uint32_t at, struct chars *out)
{
	bool empty = v && (unset || (p->colon && v->len == 0));
	bool path = !v && param_starts_with_slash(p->name) && strcmp(p->name, "OLDPWD") != 0;
	bool must = p->op == PARAM_ERROR;
	size_t from = out->len;

	if (v && param_may_be_none(v, p->colon && !must))
		v = NULL;
	if (p->op == PARAM_ALTERNATE) {
		if (!empty)
			param_append_word(e, p->arg, out);
		if (!v && !path)
			chars_may_be_missing(e, out, from);
		return;
	}
	if (!must && (empty || (!v && !path))) {
		if (p->op == PARAM_ASSIGN && p->arg)
			param_append(e, out, param_assign(e, p), quoted);
		else
			param_append_word(e, p->arg, out);
		return;
	}
	if (v && !empty)
		param_append(e, out, v, quoted);
	else
		param_unknown(e, out, p->name, quoted, at);
	if ((must && (p->colon || empty)) || p->op == PARAM_ASSIGN)
		param_settle(e, p, out, from);
	param_unused(e, p);
}

/* Is it ${PWD%%"${PWD#?}"}, the first character of PWD? */
static bool param_keeps_first(struct expander *e, const struct ast_param *p, const char *name)
{
	struct chars c = { 0 };
	bool same = false;

	if (p->op != PARAM_SUFFIX || !p->arg || !param_starts_with_slash(name))
		return false;
	expand_parts(e, p->arg->parts, &c, EXPAND_PATTERN);
	for (size_t i = 0; i < c.len; i++)
		same |= c.v[i].kind >= CHAR_UNKNOWN && c.v[i].name &&
			strcmp(expand_name_text(e, c.v[i].name), "${}") == 0;
	chars_release(&c);
	return same;
}

static struct value *param_operator(struct expander *e, const struct ast_param *p, const char *name,
				    const struct value *v, uint32_t at)
{
	int64_t from, len;

	if (!v && p->op == PARAM_SUBSTRING && param_starts_with_slash(name) &&
	    param_number(e, p->arg, &from) && from == 0 && param_number(e, p->arg2, &len) &&
	    len == 1)
		return value_text(e, "/", at);
	if (!v && param_keeps_first(e, p, name))
		return value_text(e, "/", at);
	if (v)
		return param_compute(e, v, p);
	param_unused(e, p);
	return NULL;
}

/* ---- positional parameters ---- */

/* "$@", or "$*" with a @joined of *: the @count elements @v. */
static void param_append_all(struct expander *e, char joined, struct value **v, size_t count,
			     bool quoted, struct chars *out)
{
	const struct value *ifs = quoted && joined == '*' ? vars_value(e, "IFS") : NULL;

	for (size_t i = 0, first = 0; i < count; i++) {
		if (!v[i]) { /* an element that is not set */
			first += i == first;
			continue;
		}
		if (i > first && (joined == '@' || !quoted))
			chars_add(e, out, '\0', CHAR_BREAK, 0, 0);
		else if (i > first && (!ifs || ifs->len))
			chars_add(e, out, ifs ? ifs->v[0].c : ' ', CHAR_QUOTED, 0, 0);
		param_append(e, out, v[i], quoted);
	}
	if (count == 0 && quoted && joined == '*')
		chars_add(e, out, '\0', CHAR_EMPTY, 0, 0);
}

/* The value of a parameter that is no variable. NULL: unknown. *handled: it is such a one. */
static struct value *param_special_value(struct expander *e, const char *name, uint32_t at,
					 bool *handled)
{
	const struct assignment *params;
	char text[32];

	*handled = true;
	if (param_is_number(name)) {
		size_t n = strtoul(name, NULL, 10);
		struct value *v = n || e->posix ? NULL : vars_value(e, "BASH_ARGV0");

		if (v)
			return v;
		params = vars_chosen(e, PARAMS);
		if (params && n < params->item_count)
			return params->items[n];
		return params && !params->is_open ? value_text(e, "", at) : NULL;
	}
	if (strcmp(name, "#") == 0 && (params = vars_chosen(e, PARAMS)) && !params->is_open) {
		snprintf(text, sizeof(text), "%u", params->item_count - 1);
		return value_text(e, text, at);
	}
	if (name[0] == '_' && !name[1] && e->last_word)
		return word_value(e, e->last_word);
	*handled = strchr("@*#?$!-", name[0]) && !name[1];
	return NULL;
}

/* ---- variables ---- */

/*
 * The value of a parameter. NULL: unknown. A variable that the text has unset is empty; one
 * that it never sets may come from the environment.
 */
static struct value *param_lookup(struct expander *e, const char *name, uint32_t at, bool *unset)
{
	bool handled;
	struct value *v = param_special_value(e, name, at, &handled);

	*unset = false;
	if (handled) {
		*unset = v && v->len == 0 && param_is_number(name);
		return v;
	}
	v = vars_value_or_unset(e, name, unset);
	if (v || *unset)
		return v ? v : value_text(e, "", at);
	return initial_value(e, name, at);
}

/* ---- arrays ---- */

static bool param_is_all_index(const struct ast_word *index)
{
	return ast_is_text(index, "@") || ast_is_text(index, "*");
}

bool param_is_list(const struct ast_param *p)
{
	if (p->index)
		return ast_is_text(p->index, "@");
	return p->name && strcmp(p->name, "@") == 0;
}

/* x[i]; NULL: unknown. */
static struct value *param_element(struct expander *e, const struct ast_param *p, uint32_t at)
{
	struct chars key = { 0 };
	struct value *v;

	expand_parts(e, p->index->parts, &key, EXPAND_ONE);
	v = array_element(e, p->name, &key, at);
	if (!v && key.len == 1 && key.v[0].c == '0' && !vars_get(e, p->name))
		v = initial_value(e, p->name, at);
	chars_release(&key);
	return v;
}

/* ---- one parameter ---- */

static void param_length_of_all(struct expander *e, size_t count, bool quoted, uint32_t at,
				struct chars *out)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", count);
	chars_text(e, out, text, quoted ? CHAR_QUOTED : CHAR_FIELD, at);
}

/* 'x': what bash prints of it for a shell to read. */
static struct value *param_quoted(struct expander *e, const struct value *v)
{
	struct chars out = { 0 };

	chars_text(e, &out, "'", CHAR_QUOTED, 0);
	for (uint32_t i = 0; i < v->len; i++) {
		if (v->v[i].kind == CHAR_QUOTED && v->v[i].c == '\'')
			chars_text(e, &out, "'\\'", CHAR_QUOTED, v->v[i].at);
		chars_copy(e, &out, &v->v[i], 1);
	}
	chars_text(e, &out, "'", CHAR_QUOTED, 0);
	return value_take(e, &out);
}

static struct value *param_unescaped(struct expander *e, const struct value *v)
{
	struct chars out = { 0 };

	printf_escaped(e, v, &out);
	return value_take(e, &out);
}

/* ${x@op} of @v. NULL: not known. */
static struct value *param_transformed(struct expander *e, const struct value *v, char op)
{
	struct ast_param p = { .op = op == 'L' ? PARAM_LOWER : PARAM_UPPER, .longest = op != 'u' };

	switch (op) {
	case 'L':
	case 'U':
	case 'u':
		return param_change_case(e, v, &p);
	case 'Q':
		return param_quoted(e, v);
	case 'E':
		return param_unescaped(e, v);
	case 'P':
		return call_prompt(e, v);
	default: /* A and K print more than the value, a only attributes */
		return NULL;
	}
}

/* The op of ${x@op}; NUL: it is something else. */
static char param_transform_op(const struct ast_param *p)
{
	const struct ast_part *t = p->op == PARAM_OTHER && p->arg ? p->arg->parts : NULL;

	return t && t->text.len == 2 && t->text.s[0] == '@' ? t->text.s[1] : '\0';
}

/* What $@, $* or x[@] stands for. */
struct list {
	struct value **v; /* NULL: an element that is not set */
	size_t count;
	bool known;  /* these, and no others */
	char joined; /* '*': by IFS, in quotes; else '@' */
};

static size_t param_count_set(struct expander *e, const struct list *l)
{
	size_t n = 0;

	expand_charge(e, l->count / WORK_ELEMENTS);
	for (size_t i = 0; i < l->count; i++)
		n += l->v[i] != NULL;
	return n;
}

/* ${@:2:1}, ${@: -1}; of an array too. False: it is not known which. */
static bool param_some(struct expander *e, const struct ast_param *p, const struct list *l,
		       bool quoted, struct chars *out)
{
	int64_t from, len, n = (int64_t)l->count;

	if (!l->known || param_count_set(e, l) < l->count)
		return false;
	if (!param_number(e, p->arg, &from) || (p->arg2 && !param_number(e, p->arg2, &len)))
		return false;
	if (from < 0)
		from += n;
	if (from < 0 || from > n)
		from = n;
	if (!p->arg2 || len < 0 || len > n - from)
		len = n - from;
	param_append_all(e, l->joined, l->v + from, (size_t)len, quoted, out);
	return true;
}

/* ${@-w} and the like. */
static void param_list_default(struct expander *e, const struct ast_param *p, const struct list *l,
			       bool quoted, struct chars *out)
{
	size_t set = param_count_set(e, l);
	bool empty = set == 0 || (p->colon && l->count == 1 && l->v[0]->len == 0);

	if (empty == (p->op == PARAM_ALTERNATE)) {
		if (!empty)
			param_append_all(e, l->joined, l->v, l->count, quoted, out);
		param_unused(e, p);
	} else {
		param_append_word(e, p->arg, out);
	}
}

/* ${@#p}, ${@/p/w}, ${@^}, ${@@Q} and the like: each element changes. */
static void param_list_each(struct expander *e, const struct ast_param *p, const struct list *l,
			    bool quoted, uint32_t at, struct chars *out)
{
	struct value **made = shell_alloc(e->arena, (l->count + 1) * sizeof(*made));
	char op = param_transform_op(p);

	for (size_t i = 0; i < l->count && !expand_failed(e); i++) {
		if (!l->v[i])
			continue;
		made[i] = op ? param_transformed(e, l->v[i], op) : param_compute(e, l->v[i], p);
		if (!made[i])
			made[i] = value_unknown(e, "${}", at);
	}
	expand_charge(e, l->count);
	param_append_all(e, l->joined, made, l->count, quoted, out);
}

/* Append what @p makes of the list. False: it is not known. */
static bool param_list(struct expander *e, const struct ast_param *p, const struct list *l,
		       bool quoted, uint32_t at, struct chars *out)
{
	switch (p->op) {
	case PARAM_PLAIN:
		param_append_all(e, l->joined, l->v, l->count, quoted, out);
		return l->known || l->count > 0;
	case PARAM_LENGTH:
		if (l->known)
			param_length_of_all(e, param_count_set(e, l), quoted, at, out);
		return l->known;
	case PARAM_SUBSTRING:
		return param_some(e, p, l, quoted, out);
	case PARAM_DEFAULT:
	case PARAM_ASSIGN:
	case PARAM_ERROR:
	case PARAM_ALTERNATE:
		if (l->known)
			param_list_default(e, p, l, quoted, out);
		else if (p->op <= PARAM_ASSIGN) /* perhaps there is none */
			param_append_word(e, p->arg, out);
		return l->known || p->op <= PARAM_ASSIGN;
	default:
		if (l->known)
			param_list_each(e, p, l, quoted, at, out);
		return l->known;
	}
}

/* ${x[@]} */
static void param_array(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
			struct chars *out)
{
	struct assignment *b = vars_chosen(e, p->name);
	struct list l = { .joined = p->index->parts->text.s[0] };
	struct value *one;
	bool nounset = e->nounset;

	if (b && b->is_array) {
		l.v = b->items;
		l.count = b->item_count;
		l.known = !b->is_open;
	} else if (b && (one = vars_value(e, p->name))) {
		l.v = &one;
		l.count = 1;
		l.known = true;
	} else if (b) {
		l.known = true;
	}
	if (l.count && !b->is_array && p->op == PARAM_SUBSTRING) {
		param_list_each(e, p, &l, quoted, at, out); /* a part of the text */
		return;
	}
	if (param_list(e, p, &l, quoted, at, out))
		return;
	e->nounset = false; /* it takes an array that nothing sets as an empty one */
	param_unknown(e, out, p->name, false, at);
	e->nounset = nounset;
	param_unused(e, p);
}

/* Append $@, $* or x[@]. False: @p is none of these. */
static bool param_several(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
			  struct chars *out)
{
	const struct assignment *params;
	size_t none = p->op != PARAM_SUBSTRING; /* but for $0 */

	if (p->index && param_is_all_index(p->index)) {
		param_array(e, p, quoted, at, out);
		return true;
	}
	if ((p->name[0] != '@' && p->name[0] != '*') || !(params = vars_chosen(e, PARAMS)) ||
	    params->is_open)
		return false;
	return param_list(e, p,
			  &(struct list){ params->items + none, params->item_count - none, true,
					  p->name[0] },
			  quoted, at, out);
}

/* ${!x}: the name that x holds. NULL: unknown. */
static const char *param_indirect_name(struct expander *e, const char *name, uint32_t at)
{
	bool unset;
	struct value *v = param_lookup(e, name, at, &unset);

	return v && v->len > 0 ? chars_string(e, v->v, v->len) : NULL;
}

/* Is it ${x%TEXT}? */
static bool param_trims(const struct ast_param *p, const char *text)
{
	return p->op == PARAM_SUFFIX && ast_is_text(p->arg, text);
}

/* @v without the slash at its end, if it has one. */
static struct value *param_without_slash(struct expander *e, struct value *v)
{
	const struct shell_char *last = v && v->len ? &v->v[v->len - 1] : NULL;

	return last && last->c == '/' && last->kind == CHAR_QUOTED ? value_make(e, v->v, v->len - 1)
								   : v;
}

/* Is the value that of HOME, which the text does not know? */
static bool param_is_home(const char *name, const struct value *v)
{
	return v ? v->len == 1 && v->v[0].kind == CHAR_TILDE : !strcmp(name, "HOME");
}

static void param_single(struct expander *e, const struct ast_param *p, const char *name,
			 bool quoted, uint32_t at, struct chars *out)
{
	bool unset = false;
	struct value *v = p->index ? param_element(e, p, at) : param_lookup(e, name, at, &unset);

	if (p->op >= PARAM_DEFAULT && p->op <= PARAM_ALTERNATE) {
		param_default(e, p, v, unset, quoted, at, out);
		return;
	}
	if (p->op == PARAM_PLAIN && unset && param_must_be_set(e, name))
		v = NULL;
	struct value *made = p->op == PARAM_PLAIN ? v : param_operator(e, p, name, v, at);

	if (!made && param_trims(p, "/"))
		made = param_without_slash(e, v);
	else if (!made && param_trims(p, "/*") && !p->longest && param_is_home(name, v))
		made = value_text(e, "/home", at); /* as of dirname */
	if (made)
		param_append(e, out, made, quoted);
	else
		param_unknown(e, out, p->op == PARAM_PLAIN || param_trims(p, "/") ? name : "${}",
			      quoted, at);
}

/* ${x@op}, ${!x*} */
static void param_transform(struct expander *e, const struct ast_param *p, const char *name,
			    bool quoted, uint32_t at, struct chars *out)
{
	char op = name ? param_transform_op(p) : '\0';
	bool unset;
	struct value *v = !op ? NULL : p->index ? param_element(e, p, at)
						: param_lookup(e, name, at, &unset);

	v = v ? param_transformed(e, v, op) : NULL;
	if (v)
		param_append(e, out, v, quoted);
	else
		param_unknown(e, out, "${}", quoted, at);
}

void expand_param(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
		  struct chars *out)
{
	const char *name = p->name;
	struct ast_param target;

	expand_charge(e, WORK_PARAM);
	if (!name || !expand_enter(e, at)) {
		param_unused(e, p);
		param_unknown(e, out, "${}", quoted, at);
		return;
	}
	if (p->indirect && p->op != PARAM_NAMES) {
		name = param_indirect_name(e, name, at);
	} else if (e->has_namerefs) {
		target = *p;
		target.name = name = vars_nameref(e, name);
		p = &target;
	}
	if (name && p->op != PARAM_NAMES && param_several(e, p, quoted, at, out)) {
		;
	} else if (!name || p->op == PARAM_NAMES || p->op == PARAM_OTHER) {
		param_unused(e, p);
		param_transform(e, p, name, quoted, at, out);
	} else {
		param_single(e, p, name, quoted, at, out);
	}
	expand_leave(e);
}
