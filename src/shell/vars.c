/*
 * Variables with all values that they ever had, by version, so that a nested text sees the
 * values at its command. A log of changes restores them at the end of a subshell or a branch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Steps of an assignment; characters that take one to compare values, and to find words. */
#define WORK_VARIABLE 18u
#define WORK_COMPARE 4u
#define WORK_SEARCH 2u
#define WORK_HASH 16u

/* Bytes of options in a variable that are looked at. */
#define OPTIONS_MAX 256
/* Possible values of a variable at one place. */
#define ALTERNATIVES_MAX 8

/* One name may refer to another, and so on. */
#define NAMEREFS_MAX 8

/* Characters of them together from which on the longest stands for lists that are in it. */
#define ALTERNATIVES_LONG 512u

/* Characters from which on a value that has grown is not judged as a single word. */
#define GROWN_LONG 128u

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

static struct assignment *vars_current(const struct variable *v)
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

struct value *vars_value(struct expander *e, const char *name, bool *is_unset)
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

struct value *vars_append(struct expander *e, const char *name, const struct value *more)
{
	bool unset;
	const struct value *before = vars_value(e, name, &unset);

	const struct assignment *b = vars_get(e, name);

	if (b && b->attributes & ATTRIBUTE_INTEGER)
		return value_unknown_set(e, NAME_NUMBER, 0);
	if (!before)
		before = unset ? value_text(e, "", 0) : value_unknown(e, name, 0);
	return value_append(e, before, more);
}

struct value *vars_one_of(struct expander *e, const char *hidden, struct value *values)
{
	bool unset;

	vars_set(e, hidden, values);
	return vars_value(e, hidden, &unset);
}

const char *vars_nameref(struct expander *e, const char *name)
{
	bool unset;

	for (unsigned i = 0; e->has_namerefs && i < NAMEREFS_MAX; i++) {
		const struct assignment *b = vars_get(e, name);
		const struct value *v = b && b->attributes & ATTRIBUTE_NAMEREF
						? vars_value(e, name, &unset) : NULL;
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

	if (t->log_len == t->log_cap) {
		size_t cap = t->log_cap ? t->log_cap * 2 : 32;
		struct change *log = shell_alloc(e->arena, cap * sizeof(*log));

		if (t->log_len > 0)
			memcpy(log, t->log, t->log_len * sizeof(*log));
		t->log = log;
		t->log_cap = cap;
	}
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
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return !vars_loads_nothing(name, len, value);
	return !strncmp(name, "LD_", 3) || !strncmp(name, "BASH_FUNC_", 10);
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

static void vars_bind(struct expander *e, struct variable *v, struct assignment *b)
{
	static const char *const homes[] = { "HOME", "ZDOTDIR", "XDG_CONFIG_HOME", NULL };

	if (b && shell_names_files(v->name, strlen(v->name), NULL)) /* else its first value again */
		e->script->sets_path |= vars_leads_to_files(v, b);
	e->script->sets_home |= str_is_listed(v->name, homes);
	e->script->has_cdpath |= b && b->values && (b->values->len || b->values->other) &&
				 !strcmp(v->name, "CDPATH");
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

/* Is nothing known of @v, as of a variable that a branch has left unset? */
static bool vars_is_any(const struct value *v)
{
	return v->len == 1 && v->v->kind == CHAR_UNKNOWN && v->v->c == UNKNOWN_ANY;
}

/* What a readonly variable keeps: where a branch has left it unset, it is not readonly. */
static struct value *vars_readonly(struct expander *e, const struct value *values)
{
	struct value *all = NULL;
	bool several = values && values->other;

	for (const struct value *v = values; v; v = v->other)
		if (!several || !vars_is_any(v))
			vars_add_values(e, &all, value_make(e, v->v, v->len));
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
			vars_add_values(e, &all, converted);
	vars_add_values(e, &all, b->values);
	b->values = all;
	for (uint32_t i = 0; i < b->item_count; i++)
		if (b->items[i] && (converted = vars_converted(e, b->items[i], b->attributes)))
			b->items[i] = converted;
}

static struct assignment *vars_union_of(struct expander *e, const struct assignment *a,
					const struct assignment *b);

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
		b = vars_union_of(e, b, before);
	vars_bind(e, v, b);
}

/* name=v of an array, @before: its first element is one of @values. */
static struct assignment *vars_with_first(struct expander *e, const struct assignment *before,
					  const struct value *values)
{
	struct assignment *all = NULL, *arrays = NULL;

	vars_add_others(e, &arrays, before);
	for (const struct assignment *b = arrays; b; b = b->other) {
		for (const struct value *v = values; v; v = v->other) {
			struct assignment first = *b;

			first.is_array = true;
			first.item_room = first.item_count += first.item_count == 0;
			first.items = shell_alloc(e->arena, first.item_count * sizeof(v));
			if (b->item_count > 0)
				memcpy(first.items, b->items, b->item_count * sizeof(v));
			expand_charge(e, first.item_count);
			first.items[0] = value_make(e, v->v, v->len);
			first.values = first.items[0];
			vars_add_others(e, &all, &first);
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

/* ---- branches ---- */

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

/* Are they equal, but for parts that may be missing or empty? */
static bool vars_same_value(struct expander *e, const struct value *a, const struct value *b)
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
static bool vars_is_weaker(const struct value *a, const struct value *b)
{
	for (uint32_t i = 0; i < a->len; i++) {
		const struct shell_char *x = &a->v[i], *y = &b->v[i];

		if (char_is_known(x) ? x->name && !y->name : x->c == UNKNOWN_ANY && x->c != y->c)
			return true;
	}
	return false;
}

static void vars_add_up_to(struct expander *e, struct value **list, const struct value *more,
			   size_t max)
{
	for (; more; more = more->other) {
		struct value **tail = list;
		size_t count = 0;

		for (; *tail && !vars_same_value(e, *tail, more); tail = &(*tail)->other)
			count++;
		if (*tail && (*tail)->v != more->v && vars_is_weaker(more, *tail)) {
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

void vars_add_values(struct expander *e, struct value **list, const struct value *more)
{
	vars_add_up_to(e, list, more, ALTERNATIVES_MAX);
}

/* ---- lists that grow under conditions ---- */

/*
 * x="$x $f" in a branch of a loop makes a value for each choice of words. The longest has the
 * words of all: where each word is judged, nothing is lost without the others. A value that may
 * be one word, as a path, counts by itself, and so does the shortest, for what it lacks.
 */

static bool vars_is_blank(const struct value *v, uint32_t i)
{
	const struct shell_char *c = &v->v[i];

	return c->kind == CHAR_QUOTED && !c->name && (c->c == ' ' || c->c == '\t' || c->c == '\n');
}

/* Is it one in any use: begun by a blank, or with one between words? */
static bool vars_is_list(struct expander *e, const struct value *v)
{
	uint32_t first = 0, next;

	while (first < v->len && !vars_is_blank(v, first))
		first++;
	for (next = first; next < v->len && first > 0 && vars_is_blank(v, next);)
		next++;
	expand_charge(e, next / WORK_COMPARE);
	return next < v->len;
}

/* Go back over blanks from *@end, and return the start of the word before them. */
static uint32_t vars_word_before(const struct value *v, uint32_t *end)
{
	uint32_t from;

	while (*end > 0 && vars_is_blank(v, *end - 1))
		--*end;
	for (from = *end; from > 0 && !vars_is_blank(v, from - 1);)
		from--;
	return from;
}

static bool vars_same_text(const struct shell_char *a, const struct shell_char *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (a[i].kind != b[i].kind || a[i].c != b[i].c || a[i].name != b[i].name)
			return false;
	return true;
}

/* Do the words of @v stand in @all, in their order? From the end: most lists grow there. */
static bool vars_has_words(struct expander *e, const struct value *all, const struct value *v)
{
	uint32_t end = all->len, v_end = v->len, v_from;

	if (v->v == all->v && v->len < all->len && vars_is_blank(all, v->len))
		return true; /* it has grown there */
	v_from = vars_word_before(v, &v_end);
	while (v_end > 0 && end > 0) {
		uint32_t from = vars_word_before(all, &end);

		if (end - from == v_end - v_from &&
		    vars_same_text(all->v + from, v->v + v_from, end - from)) {
			v_end = v_from;
			v_from = vars_word_before(v, &v_end);
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
static bool vars_stands_for(struct expander *e, const struct value *all, const struct value *v)
{
	bool begins, ends;

	if (!vars_is_list(e, v))
		return false;
	begins = vars_is_blank(v, 0);
	ends = vars_is_blank(v, v->len - 1);
	return begins == vars_is_blank(all, 0) && ends == vars_is_blank(all, all->len - 1) &&
	       (begins || ends || (v->v[0].c == '-' && all->v[0].c == '-')) &&
	       vars_has_words(e, all, v);
}

/* Hashes of what stands in texts between blanks, quotes and operators. */
struct vars_pieces {
	uint32_t *slots;
	size_t mask, count;
};

/* False: it was there before. */
static bool vars_note_piece(struct vars_pieces *p, uint32_t hash, bool add)
{
	size_t i = hash & p->mask;

	while (p->slots[i] && p->slots[i] != hash)
		i = (i + 1) & p->mask;
	if (p->slots[i] == hash)
		return false;
	if (add && p->count < p->mask / 2) {
		p->slots[i] = hash;
		p->count++;
	}
	return true;
}

/* Has @v a piece that is not in @p? With @add it is put there. */
static bool vars_has_new_piece(struct expander *e, struct vars_pieces *p, const struct value *v,
			       bool add)
{
	uint32_t hash = 1;
	bool found = false;

	expand_charge(e, v->len / WORK_HASH);
	for (uint32_t i = 0; i <= v->len && (add || !found); i++) {
		if (i < v->len && !strchr(" \t\n;&|,\\\"'", v->v[i].c)) {
			hash = (hash ^ (uint8_t)v->v[i].c ^ (uint32_t)v->v[i].name << 8) *
			       0x9e3779b1u;
			hash ^= hash >> 15;
		} else {
			found |= hash != 1 && vars_note_piece(p, hash | 1u, add);
			hash = 1;
		}
	}
	return found;
}

static void vars_know_pieces(struct expander *e, struct vars_pieces *p, const struct value *a,
			     const struct value *b)
{
	*p = (struct vars_pieces){ .mask = 1 };
	while (p->mask < a->len + b->len)
		p->mask = p->mask << 1 | 1u;
	p->slots = shell_alloc(e->arena, (p->mask + 1) * sizeof(*p->slots));
	vars_has_new_piece(e, p, a, true);
	vars_has_new_piece(e, p, b, true);
}

/*
 * A long text that grows in each of two branches: more values than can be followed. The longest
 * and the shortest have all its parts, also where these are equally long: the first and the last.
 * One with a part that no other has which is kept, as of a third branch, is kept, too.
 */
static bool vars_has_grown(struct expander *e, struct vars_pieces *known, const struct value *v)
{
	return v->room && v->len > GROWN_LONG && !vars_has_new_piece(e, known, v, true);
}

/* Leave out what the longest stands for. It goes to the front: a function is called with that. */
static void vars_drop_lists(struct expander *e, struct value **list)
{
	struct value **longest = list, *shortest = *list, *first;
	struct vars_pieces known;
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
	vars_know_pieces(e, &known, first, shortest);
	for (struct value **v = list; *v;)
		if (*v != shortest &&
		    (vars_stands_for(e, first, *v) || vars_has_grown(e, &known, *v)))
			*v = (*v)->other;
		else
			v = &(*v)->other;
	first->other = *list;
	*list = first;
}

/* ---- arrays in branches ---- */

/* Of longer arrays the first possible one is followed. */
#define OTHERS_ITEMS_MAX 64

static bool vars_same_items(struct expander *e, const struct assignment *a,
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
		if (!x || !y || x->len != y->len || !vars_same_text(x->v, y->v, x->len))
			return false;
		expand_charge(e, 1 + x->len / WORK_COMPARE);
	}
	return true;
}

static void vars_add_other(struct expander *e, struct assignment **list,
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
	for (; *list && !vars_same_items(e, *list, copy); list = &(*list)->other)
		count++;
	if (!*list && count < ALTERNATIVES_MAX)
		*list = copy;
}

void vars_add_others(struct expander *e, struct assignment **list, const struct assignment *b)
{
	for (; b; b = b->other) {
		const struct value *value = b->values;

		do {
			vars_add_other(e, list, b, value);
			value = value ? value->other : NULL;
		} while (value);
	}
}

static bool vars_are_short(const struct assignment *b)
{
	for (; b && b->item_count <= OTHERS_ITEMS_MAX; b = b->other)
		;
	return !b;
}

static struct assignment *vars_union_of(struct expander *e, const struct assignment *a,
					const struct assignment *b)
{
	struct assignment *u = shell_alloc(e->arena, sizeof(*u)), *others = NULL;
	struct value *all = NULL;
	size_t count = 0;

	if (b && (a->is_array || a->other || b->is_array || b->other) && vars_are_short(a) &&
	    vars_are_short(b)) {
		vars_add_others(e, &others, a);
		vars_add_others(e, &others, b);
		others->exported |= b->exported;
		others->attributes |= b->attributes;
		return others;
	}
	*u = *a;
	vars_add_up_to(e, &all, a->values, 2 * ALTERNATIVES_MAX);
	if (b)
		vars_add_up_to(e, &all, b->values, 2 * ALTERNATIVES_MAX);
	if (b && a->is_set != b->is_set) {
		vars_add_up_to(e, &all, value_text(e, "", 0), 2 * ALTERNATIVES_MAX);
		u->is_set = true;
	}
	vars_drop_lists(e, &all);
	for (struct value *v = all; v; v = v->other)
		if (++count == ALTERNATIVES_MAX)
			v->other = NULL;
	u->values = all;
	u->exported |= b && b->exported;
	return u;
}

static void vars_join_add(struct expander *e, struct join *j, struct variable *v, bool leaves)
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
					    ? vars_union_of(e, entry->assignment, vars_current(v))
					    : vars_current(v);
	}
	entry->seen += !leaves;
}

/* End a branch: note its assignments in @j and undo them. */
static void vars_end_branch(struct expander *e, struct join *j, bool leaves)
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
		vars_join_add(e, j, v, leaves);
	}
	vars_undo(e, j->mark);
}

void join_branch(struct expander *e, struct join *j)
{
	vars_end_branch(e, j, false);
}

void join_leaving(struct expander *e, struct join *j)
{
	vars_end_branch(e, j, true);
}

/* Is its value itself, known only not to be empty, by ${x:?}? */
static bool vars_is_itself(const struct expander *e, const struct variable *v,
			   const struct assignment *b)
{
	const struct shell_char *c = b->values && b->values->len == 1 ? b->values->v : NULL;

	return c && c->kind == CHAR_UNKNOWN && c->name &&
	       strcmp(expand_name_text(e, c->name), v->name) == 0;
}

static const struct assignment *vars_joined_instead(const struct join *j, const struct variable *v)
{
	const struct join_entry *entry = j->instead ? j->instead->entries : NULL;

	while (entry && entry->variable != v)
		entry = entry->older;
	return entry ? entry->assignment : NULL;
}

/* @before, of which any text may be, where a test has asked for it: that is not empty. */
static const struct assignment *vars_tested(struct expander *e, const struct assignment *before)
{
	struct assignment *b;
	struct value *all = NULL;

	if (before->is_array || before->other)
		return before;
	for (const struct value *v = before->values; v; v = v->other) {
		struct value *one = value_make(e, v->v, v->len);

		if (vars_is_any(one)) {
			one->v->name = one->v->name ? one->v->name : expand_name(e, "${}");
			one->v->c = UNKNOWN_SET;
		}
		vars_add_values(e, &all, one);
	}
	b = shell_alloc(e->arena, sizeof(*b));
	*b = *before;
	b->values = all;
	return b;
}

/* What the variable is if no branch assigns it. NULL: that is not told from what one assigns. */
static const struct assignment *vars_skipped(struct expander *e, const struct join *j,
					     const struct variable *v,
					     const struct assignment *after)
{
	const struct assignment *before = vars_joined_instead(j, v);
	bool tested = j->test && ast_mentions(j->test, v->name);
	struct assignment *b;
	struct value *value;

	before = before ? before : vars_current(v);
	if (before && before->is_set)
		return tested ? vars_tested(e, before) : before;
	if (!before && vars_is_itself(e, v, after))
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
	for (struct join_entry *entry = j->entries; entry; entry = entry->older) {
		const struct assignment *before = NULL;
		struct assignment *after = entry->assignment;

		if (!after)
			continue;
		if (may_skip || entry->seen < j->branches) {
			before = vars_skipped(e, j, entry->variable, after);
			if (!before)
				continue;
			after = vars_union_of(e, after, before);
		}
		vars_bind(e, entry->variable, after);
	}
}

void join_maybe(struct expander *e, size_t mark, const struct ast_node *test)
{
	struct join j = { .mark = mark, .test = test };

	join_branch(e, &j);
	join_end(e, &j, true);
}
