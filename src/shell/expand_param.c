/* Parameters: $x, $@, ${x...}; what an operator makes of one is in shell_expand_operator.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

/* ---- values to cells ---- */

void expand_append(struct expander *e, struct cells *out, const struct value *v, bool quoted)
{
	size_t from = out->len;

	if (quoted)
		cells_add(e, out, '\0', CELL_EMPTY, 0, 0);
	cells_copy(e, out, v->v, v->len);
	for (size_t i = from; i < out->len && !quoted; i++) {
		if (out->v[i].kind == CELL_QUOTED)
			out->v[i].kind = CELL_FIELD;
		else if (out->v[i].kind == CELL_UNKNOWN)
			out->v[i].kind = CELL_UNKNOWN_FIELDS;
	}
}

void expand_unknown(struct expander *e, struct cells *out, const char *name, bool quoted,
		    uint32_t at)
{
	bool several = strcmp(name, "@") == 0;
	struct cell c = cell_unknown(e, name, quoted && !several ? CELL_UNKNOWN
								 : CELL_UNKNOWN_FIELDS, at);

	if (strcmp(name, "HOME") == 0)
		c = (struct cell){ at, c.name, CELL_TILDE, '~' };
	cells_copy(e, out, &c, 1);
}

/* ---- positional parameters ---- */

static bool is_number(const char *name)
{
	return name[0] >= '0' && name[0] <= '9';
}

/* "$@" and "$*", from the parameter @first on. */
static void append_all(struct expander *e, const char *name, struct value **v, size_t count,
		       bool quoted, struct cells *out)
{
	bool unset;
	const struct value *ifs = quoted && name[0] == '*' ? vars_value(e, "IFS", &unset) : NULL;

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && (name[0] == '@' || !quoted))
			cells_add(e, out, '\0', CELL_BREAK, 0, 0);
		else if (i > 0 && (!ifs || ifs->len))
			cells_add(e, out, ifs ? ifs->v[0].c : ' ', CELL_QUOTED, 0, 0);
		expand_append(e, out, v[i], quoted);
	}
	if (count == 0 && quoted && name[0] == '*')
		cells_add(e, out, '\0', CELL_EMPTY, 0, 0);
}

/* Parameters that are no variables. NULL: not known; *handled: is one of them. */
static struct value *special_value(struct expander *e, const char *name, uint32_t at, bool *handled)
{
	char text[32];

	*handled = true;
	if (is_number(name)) {
		size_t n = strtoul(name, NULL, 10);

		if (n < e->params.count)
			return e->params.v[n];
		return e->params.known ? value_text(e, "", at) : NULL;
	}
	if (strcmp(name, "#") == 0 && e->params.known) {
		snprintf(text, sizeof(text), "%zu", e->params.count > 0 ? e->params.count - 1 : 0);
		return value_text(e, text, at);
	}
	*handled = strchr("@*#?$!-", name[0]) && !name[1];
	return NULL;
}

/* ---- variables ---- */

/* Variables of every shell whose value is known without being assigned. */
static const struct {
	const char *name, *value;
} defaults[] = {
	{ "IFS", " \t\n" }, { "SHELL", DEFAULT_SHELL }, { "BASH", "/bin/bash" },
	{ "OPTIND", "1" },  { "PS1", "$ " },        { "PS2", "> " },        { "PS4", "+ " },
};

/*
 * What a parameter holds. NULL: not known. An unset variable that the text itself
 * has unset is empty; one that it never sets may come from the environment.
 */
static struct value *lookup(struct expander *e, const char *name, uint32_t at, bool *unset)
{
	bool handled;
	struct value *v = special_value(e, name, at, &handled);

	*unset = false;
	if (handled) {
		*unset = v && v->len == 0 && is_number(name);
		return v;
	}
	v = vars_value(e, name, unset);
	if (v || *unset)
		return v ? v : value_text(e, "", at);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (defaults[i].name[0] == name[0] && strcmp(defaults[i].name, name) == 0)
			return value_text(e, defaults[i].value, at);
	return NULL;
}

/* ---- arrays ---- */

static bool is_all_index(const struct ast_word *index)
{
	const struct ast_part *p = index->parts;

	return p && !p->next && p->type == PART_TEXT && p->text.len == 1 &&
	       (p->text.s[0] == '@' || p->text.s[0] == '*');
}

static int64_t index_number(struct expander *e, const struct ast_word *index)
{
	struct cells c = { 0 };
	int64_t n = -1;

	expand_parts(e, index->parts, &c, EXPAND_ONE);
	if (!expand_arith(e, &c, &n))
		n = -1;
	cells_release(&c);
	return n;
}

/* The name of an associative array's element, "m[k]"; NULL: the index may be a number. */
const char *expand_key(struct expander *e, const char *name, const struct ast_word *index)
{
	struct cells c = { 0 };
	const char *key, *joined = NULL;

	expand_parts(e, index->parts, &c, EXPAND_ONE);
	key = cells_string(e, c.v, c.len);
	cells_release(&c);
	if (key && *key && (*key < '0' || *key > '9')) {
		char *s = shell_alloc(e->arena, strlen(name) + strlen(key) + 3);

		sprintf(s, "%s[%s]", name, key);
		joined = s;
	}
	return joined;
}

/* x[i]; NULL: not known. */
static struct value *element(struct expander *e, const struct ast_param *p, uint32_t at)
{
	const char *key = expand_key(e, p->name, p->index);
	bool unset;
	struct value *v = key ? vars_value(e, key, &unset) : NULL;

	if (v)
		return v;
	struct binding *b = vars_get(e, p->name);
	int64_t n = index_number(e, p->index);

	if (!b || n < 0)
		return NULL;
	if (!b->is_array)
		return n == 0 ? b->values : value_text(e, "", at);
	return n < b->item_count && b->items[n] ? b->items[n] : value_text(e, "", at);
}

/* x[@] */
static bool whole_array(struct expander *e, const struct ast_param *p, bool quoted,
			struct cells *out)
{
	struct binding *b;
	char all[2] = { p->index->parts->text.s[0], '\0' };

	b = vars_get(e, p->name);
	if (!b)
		return false;
	if (b->is_array)
		append_all(e, all, b->items, b->item_count, quoted, out);
	else if (b->values)
		expand_append(e, out, b->values, quoted);
	return true;
}

/* ---- one parameter ---- */

static void length_of_all(struct expander *e, size_t count, bool quoted, uint32_t at,
			  struct cells *out)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", count);
	cells_text(e, out, text, quoted ? CELL_QUOTED : CELL_FIELD, at);
}

/* ${@:2:1}: from and how many. */
static void some_params(struct expander *e, const struct ast_param *p, bool quoted,
			struct cells *out)
{
	int64_t from = 0, len, n = (int64_t)e->params.count;

	if (!expand_number(e, p->arg, &from) || from < 0 || from > n)
		from = n;
	if (!p->arg2 || !expand_number(e, p->arg2, &len) || len < 0 || len > n - from)
		len = n - from;
	append_all(e, p->name, e->params.v + from, (size_t)len, quoted, out);
}

/* $@, $*, x[@]: true when that was all. */
static bool expand_several(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
			   struct cells *out)
{
	size_t count = e->params.count > 0 ? e->params.count - 1 : 0;

	if (p->index && is_all_index(p->index)) {
		struct binding *b = vars_get(e, p->name);

		if (p->op == PARAM_LENGTH && b && b->is_array)
			length_of_all(e, b->item_count, quoted, at, out);
		else if (p->op != PARAM_PLAIN || !whole_array(e, p, quoted, out))
			expand_unknown(e, out, p->name, false, at);
		expand_unused(e, p);
		return true;
	}
	if ((p->name[0] != '@' && p->name[0] != '*') || !e->params.known)
		return false;
	if (p->op == PARAM_PLAIN) {
		append_all(e, p->name, count ? e->params.v + 1 : NULL, count, quoted, out);
		return true;
	}
	if (p->op == PARAM_SUBSTRING) {
		some_params(e, p, quoted, out);
		return true;
	}
	if ((p->op == PARAM_ALTERNATE && count == 0))
		return true;
	if (p->op == PARAM_LENGTH) {
		length_of_all(e, count, quoted, at, out);
		return true;
	}
	return false;
}

/* ${!x}: the name of what is looked up. NULL: not known. */
static const char *indirect_name(struct expander *e, const char *name, uint32_t at)
{
	bool unset;
	struct value *v = lookup(e, name, at, &unset);

	return v && v->len > 0 ? cells_string(e, v->v, v->len) : NULL;
}

const char *expand_nameref(struct expander *e, const char *name)
{
	for (unsigned i = 0; i < e->nameref_count; i++)
		if (strcmp(e->namerefs[i], name) == 0) {
			const char *meant = indirect_name(e, name, 0);

			return meant ? meant : name;
		}
	return name;
}

/* ${HOME%/} */
static bool trims_slash(const struct ast_param *p)
{
	const struct ast_part *t = p->op == PARAM_SUFFIX && p->arg ? p->arg->parts : NULL;

	return t && !t->next && t->type == PART_TEXT && t->text.len == 1 && t->text.s[0] == '/';
}

/* What does not end in a slash is what it was. */
static struct value *without_slash(struct expander *e, struct value *v)
{
	const struct cell *last = v && v->len ? &v->v[v->len - 1] : NULL;

	return last && last->c == '/' && last->kind == CELL_QUOTED
		       ? value_make(e, v->v, v->len - 1) : v;
}

static void expand_single(struct expander *e, const struct ast_param *p, const char *name,
			  bool quoted, uint32_t at, struct cells *out)
{
	bool unset = false;
	struct value *v = p->index ? element(e, p, at) : lookup(e, name, at, &unset);

	if (p->op >= PARAM_DEFAULT && p->op <= PARAM_ALTERNATE) {
		expand_default(e, p, v, unset, quoted, at, out);
		return;
	}
	struct value *made = p->op == PARAM_PLAIN ? v : expand_operator(e, p, name, v, at);

	if (!made && trims_slash(p))
		made = without_slash(e, v);
	if (made)
		expand_append(e, out, made, quoted);
	else
		expand_unknown(e, out, p->op == PARAM_PLAIN || trims_slash(p) ? name : "${}",
			       quoted, at);
}

void expand_param(struct expander *e, const struct ast_param *p, bool quoted, uint32_t at,
		  struct cells *out)
{
	const char *name = p->name;

	expand_charge(e, WORK_PARAM);
	if (!name || !expand_enter(e, at)) {
		expand_unused(e, p);
		expand_unknown(e, out, "${}", quoted, at);
		return;
	}
	if (p->indirect && p->op != PARAM_NAMES)
		name = indirect_name(e, name, at);
	else if (e->nameref_count)
		name = expand_nameref(e, name);
	if (!name || p->op == PARAM_NAMES || p->op == PARAM_OTHER) {
		expand_unused(e, p);
		/* ${x@P}, ${x@E} and the like leave a plain value as it is. */
		bool unset;
		struct value *v = name && p->op == PARAM_OTHER ? lookup(e, name, at, &unset) : NULL;

		if (v && p->arg && p->arg->parts && p->arg->parts->text.len > 0 &&
		    p->arg->parts->text.s[0] == '@')
			expand_append(e, out, v, quoted);
		else
			expand_unknown(e, out, "${}", quoted, at);
	} else if (!expand_several(e, p, quoted, at, out)) {
		expand_single(e, p, name, quoted, at, out);
	}
	expand_leave(e);
}
