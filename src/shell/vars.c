/*
 * Variables with all values that they ever had, by version, so that a nested text sees the
 * values at its command. A log of changes restores them at the end of a subshell or a branch.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Steps of an assignment. */
#define WORK_VARIABLE 18u

/* Bytes of options in a variable that are looked at. */
#define OPTIONS_MAX 256

/* One name may refer to another, and so on. */
#define NAMEREFS_MAX 8

static struct variable **vars_find_slot(const struct variables *t, const char *name)
{
	size_t i = str_hash(name, strlen(name)) & (t->slot_count - 1);

	while (t->slots[i] && strcmp(t->slots[i]->name, name) != 0)
		i = (i + 1) & (t->slot_count - 1);
	return &t->slots[i];
}

static struct variable *vars_find(struct variables *t, const char *name)
{
	return t->slot_count > 0 ? *vars_find_slot(t, name) : NULL;
}

static void vars_grow_slots(struct expander *e, struct variables *t)
{
	struct variable **old = t->slots;
	size_t old_count = t->slot_count;

	t->slot_count = old_count ? old_count * 4 : 32;
	t->slots = shell_alloc(e->arena, t->slot_count * sizeof(struct variable *));
	for (size_t i = 0; i < old_count; i++)
		if (old[i])
			*vars_find_slot(t, old[i]->name) = old[i];
}

static struct variable *vars_make_variable(struct expander *e, const char *name)
{
	struct variables *t = &e->memory->variables;

	if (t->count * 2 >= t->slot_count)
		vars_grow_slots(e, t);
	struct variable **slot = vars_find_slot(t, name);

	if (!*slot) {
		*slot = shell_alloc(e->arena, sizeof(**slot));
		(*slot)->name = shell_copy(e->arena, name, strlen(name));
		t->count++;
	}
	return *slot;
}

struct assignment *vars_current(const struct variable *v)
{
	return v->count > 0 ? v->history[v->count - 1].assignment : NULL;
}

/* The assignment in force at @version. */
static struct assignment *vars_binding_at(const struct variable *v, uint32_t version)
{
	uint32_t low = 0, high = v->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (v->history[middle].version <= version)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? v->history[low - 1].assignment : NULL;
}

/* The assignment in the outer texts, at the command that this text is a word of. */
static const struct assignment *vars_outer_binding(const struct shell_memory *m, const char *name,
						   const struct shell_memory **from)
{
	bool exported_only = false;

	while (m->outer) {
		uint32_t version = m->outer_version;

		exported_only |= m->outer_exported_only;
		m = m->outer;
		const struct variable *v = m->variables.slot_count > 0
						   ? *vars_find_slot(&m->variables, name)
						   : NULL;
		struct assignment *b = v ? vars_binding_at(v, version) : NULL;

		*from = m;
		if (b)
			return exported_only && !b->exported ? NULL : b;
	}
	return NULL;
}

static void vars_push_version(struct expander *e, struct variable *v, struct assignment *b);

/* A copy of an outer text's value, whose unknown characters have names of this text. */
static struct value *vars_import_value(struct expander *e, const struct shell_memory *from,
				       const struct value *values)
{
	struct value *first = NULL, **tail = &first;

	for (; values; values = values->other) {
		struct value *v = value_make(e, values->v, values->len);

		for (uint32_t i = 0; i < v->len; i++)
			if (v->v[i].name > 0)
				v->v[i].name = expand_name(e, from->names[v->v[i].name]);
		*tail = v;
		tail = &v->other;
	}
	return first;
}

static struct assignment *vars_import_binding(struct expander *e, const struct shell_memory *from,
					      const struct assignment *b)
{
	struct assignment *copy = shell_alloc(e->arena, sizeof(*copy));

	*copy = *b;
	copy->values = vars_import_value(e, from, b->values);
	if (e->memory->outer_exported_only) /* what a program gets are values only */
		copy->attributes = 0;
	e->has_namerefs |= copy->attributes & ATTRIBUTE_NAMEREF;
	copy->other = b->other ? vars_import_binding(e, from, b->other) : NULL;
	copy->items = shell_alloc(e->arena, b->item_count * sizeof(struct value *));
	for (uint32_t i = 0; i < b->item_count; i++)
		copy->items[i] = b->items[i] ? vars_import_value(e, from, b->items[i]) : NULL;
	expand_charge(e, b->item_count);
	return copy;
}

/* The variable, imported from the outer texts if this one has not set it; NULL: not set. */
static struct variable *vars_lookup(struct expander *e, const char *name)
{
	struct variable *v = vars_find(&e->memory->variables, name);
	const struct shell_memory *from = NULL;

	if ((v && v->count > 0) || !e->memory->outer)
		return v;
	const struct assignment *b = vars_outer_binding(e->memory, name, &from);

	if (!b)
		return v;
	v = vars_make_variable(e, name);
	vars_push_version(e, v, vars_import_binding(e, from, b));
	return v;
}

struct assignment *vars_get(struct expander *e, const char *name)
{
	struct variable *v = vars_lookup(e, name);

	return v ? vars_current(v) : NULL;
}

static struct value *vars_pick(struct value *values, uint32_t choice)
{
	while (choice-- > 0 && values->other)
		values = values->other;
	return values;
}

static struct assignment *vars_nth(struct assignment *b, uint32_t choice)
{
	while (choice-- > 0 && b->other)
		b = b->other;
	return b;
}

static uint32_t vars_count_others(const struct assignment *b)
{
	uint32_t n = 0;

	for (; b; b = b->other)
		n++;
	return n;
}

static uint32_t vars_count_values(const struct value *values)
{
	uint32_t n = 0;

	for (; values; values = values->other)
		n++;
	return n;
}

/* The index of the value that @v has in the present choice, the same each time. */
static uint32_t vars_choice_of(struct expander *e, struct variable *v, uint32_t values)
{
	if (values < 2)
		return 0;
	if (v->choice_version != e->choice_version || v->choice >= values) {
		v->choice_version = e->choice_version;
		v->choice = (uint32_t)(e->choice_left % values);
		e->choice_left /= values;
		if (e->choice_count < 1024)
			e->choice_count *= values;
	}
	return v->choice;
}

struct assignment *vars_chosen(struct expander *e, const char *name)
{
	struct variable *v = vars_lookup(e, name);
	struct assignment *b = v ? vars_current(v) : NULL;

	return b && b->other ? vars_nth(b, vars_choice_of(e, v, vars_count_others(b))) : b;
}

struct value *vars_value_or_unset(struct expander *e, const char *name, bool *is_unset)
{
	struct variable *v = vars_lookup(e, name);
	struct assignment *b = v ? vars_current(v) : NULL;

	bool several = b && b->other;

	if (several)
		b = vars_chosen(e, name);
	*is_unset = b && !b->is_set;
	if (!b || !b->values || several)
		return b ? b->values : NULL;
	return vars_pick(b->values, vars_choice_of(e, v, vars_count_values(b->values)));
}

struct value *vars_value(struct expander *e, const char *name)
{
	bool unset;

	return vars_value_or_unset(e, name, &unset);
}

struct value *vars_append(struct expander *e, const char *name, const struct value *more)
{
	bool unset;
	const struct value *before = vars_value_or_unset(e, name, &unset);

	const struct assignment *b = vars_get(e, name);

	if (b && b->attributes & ATTRIBUTE_INTEGER)
		return value_unknown_set(e, NAME_NUMBER, 0);
	if (!before)
		before = unset ? value_text(e, "", 0) : value_unknown(e, name, 0);
	return value_append(e, before, more);
}

struct value *vars_one_of(struct expander *e, const char *hidden, struct value *values)
{
	vars_set(e, hidden, values);
	return vars_value(e, hidden);
}

const char *vars_nameref(struct expander *e, const char *name)
{
	for (unsigned i = 0; e->has_namerefs && i < NAMEREFS_MAX; i++) {
		const struct assignment *b = vars_get(e, name);
		const struct value *v = b && b->attributes & ATTRIBUTE_NAMEREF
						? vars_value(e, name) : NULL;
		const char *target = v && v->len > 0 ? chars_string(e, v->v, v->len) : NULL;

		if (!target || !(target[0] == '_' || ((target[0] | 32) >= 'a' &&
						      (target[0] | 32) <= 'z')))
			break; /* it is no name: not $@ either */
		name = target;
	}
	return name;
}

/* ---- changes ---- */

static void vars_push_version(struct expander *e, struct variable *v, struct assignment *b)
{
	if (v->count == v->cap) {
		uint32_t cap = v->cap ? v->cap * 2 : 2;
		struct version *history = shell_alloc(e->arena, cap * sizeof(*history));

		if (v->count > 0)
			memcpy(history, v->history, v->count * sizeof(*history));
		v->history = history;
		v->cap = cap;
	}
	v->history[v->count++] = (struct version){ ++e->memory->variables.version, b };
}

static void vars_log_change(struct expander *e, struct variable *v)
{
	struct variables *t = &e->memory->variables;

	if (t->log_len == t->log_cap)
		t->log = shell_grow(e->arena, t->log, &t->log_cap, 32, sizeof(*t->log));
	t->log[t->log_len++] = (struct change){ v, vars_current(v) };
}

/* Of the options that @name holds, those that load no file; NULL: it is another variable. */
static const char *const *vars_options(const char *name, size_t len)
{
	static const char *const node[] = {
		"--enable-source-maps", "--experimental-vm-modules", "--max-http-header-size",
		"--max-old-space-size", "--max-semi-space-size", "--max_old_space_size",
		"--no-deprecation", "--no-warnings", "--openssl-legacy-provider",
		"--stack-trace-limit", "--trace-deprecation", "--trace-uncaught",
		"--trace-warnings", NULL,
	};
	static const char *const ruby[] = { "-W0", "-W1", "-W2", "-W:no-deprecated",
					    "-W:no-experimental", "-w", NULL };

	if (len == strlen("NODE_OPTIONS") && !memcmp(name, "NODE_OPTIONS", len))
		return node;
	return len == strlen("RUBYOPT") && !memcmp(name, "RUBYOPT", len) ? ruby : NULL;
}

/* Behind the option of @options at @s, and its value, a number; NULL: there is none of them. */
static const char *vars_option_end(const char *const *options, const char *s)
{
	size_t len = strcspn(s, "= ");

	while (*options && (strlen(*options) != len || memcmp(*options, s, len) != 0))
		options++;
	if (!*options)
		return NULL;
	s += len;
	s += *s == '=' ? 1 + strspn(s + 1, "0123456789") : 0;
	return !*s || *s == ' ' ? s : NULL;
}

/* Has the variable only options that load no file, if its value is @value? NULL: that is not
 * known. */
static bool vars_loads_nothing(const char *name, size_t len, const char *value)
{
	const char *const *options = vars_options(name, len);

	while (options && value && *(value += strspn(value, " ")))
		value = vars_option_end(options, value);
	return options && value;
}

bool shell_names_files(const char *name, size_t len, const char *value)
{
	static const char *const names[] = { "PATH", "CDPATH", "BASH_CMDS", "BASH_ALIASES",
					     "ENV", "BASH_ENV", "PROMPT_COMMAND",
					     "NODE_OPTIONS", "PERL5OPT", "PYTHONSTARTUP",
					     "RUBYOPT" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (*names[i] == *name && strlen(names[i]) == len && !memcmp(names[i], name, len))
			return !vars_loads_nothing(name, len, value);
	return (*name == 'L' && !strncmp(name, "LD_", 3)) ||
	       (*name == 'B' && !strncmp(name, "BASH_FUNC_", 10));
}

/* May files be run by @v, if it is what @b says? */
static bool vars_leads_to_files(const struct variable *v, const struct assignment *b)
{
	char text[OPTIONS_MAX] = "";
	const struct value *value = b->values;
	bool known = !b->is_array && (!value || (!value->other && value->len < OPTIONS_MAX));

	for (uint32_t i = 0; known && value && i < value->len; i++) {
		known = char_is_known(&value->v[i]);
		text[i] = value->v[i].c;
	}
	return shell_names_files(v->name, strlen(v->name), known ? text : NULL);
}

void vars_bind(struct expander *e, struct variable *v, struct assignment *b)
{
	static const char *const homes[] = { "HOME", "ZDOTDIR", "XDG_CONFIG_HOME", NULL };

	if (b && shell_names_files(v->name, strlen(v->name), NULL)) /* else its first value again */
		e->script->sets_path |= vars_leads_to_files(v, b);
	e->script->sets_home |= str_is_listed(v->name, homes);
	e->script->has_cdpath |= b && b->values && (b->values->len || b->values->other) &&
				 str_is(v->name, "CDPATH");
	vars_log_change(e, v);
	vars_push_version(e, v, b);
}

static bool vars_is_number(const struct value *v)
{
	uint32_t i = v->len > 1 && v->v[0].c == '-', first = i;

	for (; i < v->len; i++)
		if (v->v[i].kind != CHAR_QUOTED || v->v[i].c < '0' || v->v[i].c > '9')
			return false;
	return v->len == first + 1 || (v->len > 0 && v->v[first].c != '0');
}

/* What a variable with @attributes makes of @v. NULL: the same. */
static struct value *vars_converted(struct expander *e, const struct value *v, unsigned attributes)
{
	struct value *r;
	bool changed = false;
	char first = attributes & ATTRIBUTE_LOWER ? 'A' : 'a';

	if (attributes & ATTRIBUTE_INTEGER)
		return vars_is_number(v) ? NULL : value_unknown_set(e, NAME_NUMBER, 0);
	if (!(attributes & ATTRIBUTE_CAPITAL))
		return NULL;
	if ((attributes & ATTRIBUTE_CAPITAL) == ATTRIBUTE_CAPITAL)
		return value_unknown(e, NULL, 0);
	r = value_make(e, v->v, v->len);
	for (uint32_t i = 0; i < r->len; i++)
		if (char_is_known(&r->v[i]) && r->v[i].c >= first && r->v[i].c < first + 26) {
			r->v[i].c ^= 'a' ^ 'A';
			changed = true;
		}
	return changed ? r : NULL;
}

/* What a readonly variable keeps: where a branch has left it unset, it is not readonly. */
static struct value *vars_readonly(struct expander *e, const struct value *values)
{
	struct value *all = NULL;
	bool several = values && values->other;

	for (const struct value *v = values; v; v = v->other)
		if (!several || !value_is_any(v))
			values_add(e, &all, value_make(e, v->v, v->len));
	return all;
}

/*
 * The attributes of @before hold for @b. Whether they were given for certain is not known: what is
 * assigned to a variable that is readonly, or changes it, is possible as well as what comes of it.
 */
static void vars_keep_attributes(struct expander *e, const struct assignment *before,
				 struct assignment *b)
{
	struct value *all = NULL, *converted;

	b->attributes |= before->attributes;
	if (b->attributes & ATTRIBUTE_READONLY && !b->is_array)
		all = vars_readonly(e, before->values);
	for (const struct value *v = b->values; v; v = v->other)
		if ((converted = vars_converted(e, v, b->attributes)))
			values_add(e, &all, converted);
	values_add(e, &all, b->values);
	b->values = all;
	for (uint32_t i = 0; i < b->item_count; i++)
		if (b->items[i] && (converted = vars_converted(e, b->items[i], b->attributes)))
			b->items[i] = converted;
}

void vars_set_binding(struct expander *e, const char *name, struct assignment *b)
{
	struct variable *v = vars_lookup(e, name);
	struct assignment *before;

	v = v ? v : vars_make_variable(e, name);
	before = vars_current(v);
	expand_charge(e, WORK_VARIABLE);
	for (struct assignment *one = b; one; one = one->other) {
		one->is_set = true;
		one->exported |= before && before->exported;
		if (before && before->attributes)
			vars_keep_attributes(e, before, one);
	}
	if (before && before->attributes & ATTRIBUTE_READONLY &&
	    (b->is_array || before->is_array))
		b = values_union(e, b, before);
	vars_bind(e, v, b);
}

/* name=v of an array, @before: its first element is one of @values. */
static struct assignment *vars_with_first(struct expander *e, const struct assignment *before,
					  const struct value *values)
{
	struct assignment *all = NULL, *arrays = NULL;

	values_add_others(e, &arrays, before);
	for (const struct assignment *b = arrays; b; b = b->other) {
		for (const struct value *v = values; v; v = v->other) {
			struct assignment first = *b;

			first.other = NULL;
			first.is_array = true;
			first.item_room = first.item_count += first.item_count == 0;
			first.items = shell_alloc(e->arena, first.item_count * sizeof(v));
			if (b->item_count > 0)
				memcpy(first.items, b->items, b->item_count * sizeof(v));
			expand_charge(e, first.item_count);
			first.items[0] = value_make(e, v->v, v->len);
			first.values = first.items[0];
			values_add_others(e, &all, &first);
		}
	}
	return all;
}

void vars_set(struct expander *e, const char *name, struct value *value)
{
	const struct assignment *before = vars_get(e, name);
	struct assignment *b;

	if (value && before && (before->is_array || before->other)) {
		vars_set_binding(e, name, vars_with_first(e, before, value));
		return;
	}
	b = shell_alloc(e->arena, sizeof(*b));
	b->values = value;
	vars_set_binding(e, name, b);
}

void vars_export(struct expander *e, const char *name)
{
	struct assignment *before = vars_get(e, name);
	struct assignment *b;

	if (!before || before->exported)
		return;
	b = shell_alloc(e->arena, sizeof(*b));
	*b = *before;
	b->exported = true;
	vars_bind(e, vars_make_variable(e, name), b);
}

void vars_set_attributes(struct expander *e, const char *name, unsigned add, unsigned drop)
{
	const struct assignment *before = vars_get(e, name);
	struct assignment *b = shell_alloc(e->arena, sizeof(*b));

	if (before)
		*b = *before;
	else
		b->is_set = true; /* perhaps by the environment */
	b->attributes = (uint8_t)((b->attributes | add) & ~drop);
	e->has_namerefs |= b->attributes & ATTRIBUTE_NAMEREF;
	if ((before ? before->attributes : 0) != b->attributes)
		vars_bind(e, vars_make_variable(e, name), b);
}

void vars_unset(struct expander *e, const char *name)
{
	const struct assignment *before = vars_get(e, name);

	if (before && before->attributes & ATTRIBUTE_READONLY)
		return;
	vars_bind(e, vars_make_variable(e, name), shell_alloc(e->arena, sizeof(struct assignment)));
}

void vars_local(struct expander *e, struct local **list, const char *name)
{
	struct variable *v = vars_lookup(e, name);
	struct local *l = shell_alloc(e->arena, sizeof(*l));

	v = v ? v : vars_make_variable(e, name);
	l->variable = v;
	l->before = vars_current(v);
	l->older = *list;
	*list = l;
}

void vars_end_locals(struct expander *e, struct local **list, struct local *until)
{
	for (; *list != until; *list = (*list)->older)
		vars_bind(e, (*list)->variable, (*list)->before);
}

size_t vars_mark(struct expander *e)
{
	return e->memory->variables.log_len;
}

void vars_undo(struct expander *e, size_t mark)
{
	struct variables *t = &e->memory->variables;

	while (t->log_len > mark) {
		struct change *c = &t->log[--t->log_len];

		vars_push_version(e, c->variable, c->before);
	}
}
