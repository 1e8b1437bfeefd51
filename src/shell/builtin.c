/* Builtins that change variables, parameters or aliases: export, local, set, read, eval, ... */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* ---- NAME=VALUE ---- */

/* The part of @w from @from on. */
static struct value *builtin_rest_value(struct expander *e, const struct shell_word *w, size_t from)
{
	const struct value *all = word_value(e, w);

	return value_make(e, all->v + from, all->len - from);
}

static struct value *builtin_value_home(struct expander *e, uint32_t at)
{
	struct shell_char c = { at, expand_name(e, "HOME"), CHAR_TILDE, '~' };

	return value_make(e, &c, 1);
}

/* What the options of declare and the like say. */
struct declaration {
	size_t first; /* the word behind them */
	bool local, export, functions;
	unsigned add, drop; /* enum attribute */
};

static unsigned builtin_attribute(char option)
{
	static const struct {
		char option;
		uint8_t attribute;
	} all[] = {
		{ 'r', ATTRIBUTE_READONLY }, { 'l', ATTRIBUTE_LOWER }, { 'u', ATTRIBUTE_UPPER },
		{ 'c', ATTRIBUTE_CAPITAL }, { 'i', ATTRIBUTE_INTEGER },
		{ 'n', ATTRIBUTE_NAMEREF }, { 'A', ATTRIBUTE_ASSOCIATIVE },
	};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (all[i].option == option)
			return all[i].attribute;
	return 0;
}

static void builtin_declare_option(struct declaration *d, bool on, char option, bool declares)
{
	d->functions |= option == 'f' || option == 'F';
	d->local &= option != 'g';
	d->export |= on && option == 'x';
	if (on && (declares || option == 'A'))
		d->add |= builtin_attribute(option);
	else if (declares)
		d->drop |= builtin_attribute(option) & ~(unsigned)ATTRIBUTE_READONLY;
}

static struct declaration builtin_declaration(const struct call *c)
{
	const char *name = c->words[0].text.s;
	struct declaration d = { .first = 1, .export = strcmp(name, "export") == 0 };
	bool declares = !d.export && strcmp(name, "readonly") != 0;

	d.local = declares;
	d.add = declares || d.export ? 0 : ATTRIBUTE_READONLY;
	for (; d.first < c->count && strchr("-+", c->words[d.first].text.s[0]); d.first++) {
		const char *s = c->words[d.first].text.s;

		if (!s[0])
			break;
		for (size_t k = 1; s[k]; k++)
			builtin_declare_option(&d, s[0] == '-', s[k], declares);
	}
	return d;
}

/* declare -a a='(x y)': bash reads the list of the text. */
static bool builtin_is_list(const struct expander *e, const struct value *v)
{
	return !e->posix && v->len > 1 && v->v[0].c == '(' && v->v[v->len - 1].c == ')';
}

static bool builtin_in_function(const struct expander *e)
{
	return e->context & SHELL_IN_FUNCTION;
}

/* A variable of a function has no elements of the one that it hides. */
static void builtin_local(struct expander *e, const char *name)
{
	const struct assignment *before = vars_get(e, name);

	vars_local(e, &e->locals, name);
	if (before && before->is_array)
		vars_unset(e, name);
}

static void builtin_declare_one(struct expander *e, const struct shell_word *w,
				const struct declaration *d)
{
	size_t n = assign_name_length(w), at = n;
	const char *name = shell_copy(e->arena, w->text.s, n), *s = w->text.s;
	bool local = d->local && builtin_in_function(e), append;
	unsigned before = d->add & ~(unsigned)ATTRIBUTE_READONLY;
	struct value *v = NULL;

	while (at < w->text.len && s[n] == '[' && s[at] != '=')
		at++;
	append = strncmp(s + at, "+=", 2) == 0 || (at > n && s[at] == '=' && s[at - 1] == '+');
	if (n == 0 || (at < w->text.len && s[at] != '=' && !append))
		return;
	if (at < w->text.len)
		v = builtin_rest_value(e, w, at + 1 + (s[at] == '+'));
	if (local)
		builtin_local(e, name);
	if (before || d->drop)
		vars_set_attributes(e, name, before, d->drop);
	if (v && builtin_is_list(e, v))
		v = value_unknown(e, name, w->start);
	/* In a function the name may be a local one already, or begin empty. */
	if (v && append && local && at == n) {
		struct value *all = vars_append(e, name, v);

		values_add(e, &all, v);
		vars_set(e, name, all);
	} else if (v && before & ATTRIBUTE_NAMEREF) {
		vars_set(e, name, v);
	} else if (v) {
		assign_word(e, w, v, append);
	} else if (local) {
		vars_unset(e, name);
	}
	if (d->add & ATTRIBUTE_READONLY)
		vars_set_attributes(e, name, ATTRIBUTE_READONLY, 0);
	if (d->export)
		vars_export(e, name);
}

static enum status builtin_declare(struct expander *e, const struct call *c)
{
	const struct declaration d = builtin_declaration(c);

	bool fails = !builtin_in_function(e) && strcmp(c->words[0].text.s, "local") == 0;
	size_t mark = vars_mark(e);

	for (size_t i = d.first; i < c->count && !d.functions; i++)
		builtin_declare_one(e, &c->words[i], &d);
	if (fails) /* outside of functions, in most shells */
		join_maybe(e, mark);
	return STATUS_OK;
}

unsigned builtin_declare_array(struct expander *e, const struct call *c, const char *name)
{
	const struct declaration d = builtin_declaration(c);
	unsigned before = d.add & ~(unsigned)ATTRIBUTE_READONLY;

	if (d.local && builtin_in_function(e))
		builtin_local(e, name);
	if (before || d.drop)
		vars_set_attributes(e, name, before, d.drop);
	return d.add & ATTRIBUTE_READONLY;
}

/* With @refs, of -n, only a nameref is unset. */
static void builtin_unset_variable(struct expander *e, const struct shell_word *w, bool refs)
{
	const char *name = w->text.s;
	const struct assignment *b = vars_get(e, name);
	size_t n = assign_name_length(w), end = w->text.len;
	const struct value *all;

	if (n < end && w->text.s[n] == '[' && w->text.s[end - 1] == ']') {
		all = word_value(e, w);
		name = vars_nameref(e, shell_copy(e->arena, name, n));
		array_unset_element(e, name,
				    &(struct chars){ .v = all->v + n + 1, .len = end - n - 2 });
	} else if (!refs)
		vars_unset(e, vars_nameref(e, name));
	else if (b && b->attributes & ATTRIBUTE_NAMEREF)
		vars_unset(e, name);
}

static enum status builtin_unset(struct expander *e, const struct call *c)
{
	bool functions = false, refs = false;
	size_t i = 1;

	for (; i < c->count && c->words[i].text.s[0] == '-'; i++) {
		functions |= strchr(c->words[i].text.s, 'f') != NULL;
		refs |= strchr(c->words[i].text.s, 'n') != NULL;
	}
	for (; i < c->count; i++) {
		const char *name = c->words[i].text.s;

		call_key(e, word_value(e, &c->words[i]), 0);
		if (functions || !vars_get(e, name))
			call_unset(e, name, c->words[i].start);
		if (!functions && assign_name_length(&c->words[i]) > 0)
			builtin_unset_variable(e, &c->words[i], refs);
	}
	return STATUS_OK;
}

/* ---- parameters ---- */

/* set [OPTION]... [--] a b */
static enum status builtin_set(struct expander *e, const struct call *c)
{
	size_t i = 1;
	bool dashes = false;

	for (; i < c->count && !dashes; i++) {
		const char *s = c->words[i].text.s, *name = "";

		e->nounset &= shell_word_constant(&c->words[i]) != NULL;
		if ((s[0] != '-' && s[0] != '+') || c->words[i].kind[0] != SHELL_LITERAL)
			break;
		dashes = strcmp(s, "--") == 0 || strcmp(s, "-") == 0;
		if (s[strlen(s) - 1] == 'o' && i + 1 < c->count) /* set -euo pipefail */
			name = c->words[++i].text.s;
		e->nounset &= shell_word_constant(&c->words[i]) != NULL;
		if (strchr(s, 'e') || strcmp(name, "errexit") == 0)
			e->errexit = s[0] == '-';
		if (strchr(s, 'u') || strcmp(name, "nounset") == 0)
			e->nounset = s[0] == '-';
	}
	if (i < c->count || dashes)
		call_set_params(e, &(struct call){ c->words + i - 1, c->count - i + 1 });
	return STATUS_OK;
}

/* The parameters that are left behind the first @n of @b; unknown ones if @n is SIZE_MAX. False:
 * there are not as many. */
static bool builtin_shift_one(struct expander *e, struct assignment *b, size_t n)
{
	size_t count = b->item_count, first = n == SIZE_MAX ? 0 : n;
	struct value **v = shell_alloc(e->arena, (count + 1) * sizeof(struct value *));

	expand_charge(e, count);
	if (b->is_open || count == 0 || first > count - 1)
		return false;
	v[0] = b->items[0];
	for (size_t i = 1; i < count - first; i++)
		v[i] = n == SIZE_MAX ? value_unknown_set(e, "1", 0) : b->items[i + n];
	b->items = v;
	b->item_count = b->item_room = (uint32_t)(count - first);
	b->is_open = n == SIZE_MAX && count > 1; /* of none, none are left */
	return n != SIZE_MAX;
}

static enum status builtin_shift(struct expander *e, const struct call *c)
{
	const char *s = c->count > 1 ? shell_word_constant(&c->words[1]) : "1";
	struct assignment *all = NULL;
	bool shifts = true;

	values_add_others(e, &all, vars_get(e, PARAMS));
	for (struct assignment *b = all; b; b = b->other)
		shifts &= builtin_shift_one(e, b, s ? strtoul(s, NULL, 10) : SIZE_MAX);
	if (all)
		vars_set_binding(e, PARAMS, all);
	return shifts && all ? STATUS_OK : STATUS_UNKNOWN;
}

/* ---- cd ---- */

/* A longer PWD is unknown, as a longer working directory is to the rules. */
#define PWD_MAX 256

/* Append the known @v to the absolute path @c, without "." and with ".." resolved. */
static void builtin_add_path(struct expander *e, struct chars *c, const struct value *v)
{
	for (uint32_t from = 0, end; from < v->len; from = end + 1) {
		const struct shell_char *part = v->v + from;

		for (end = from; end < v->len && v->v[end].c != '/';)
			end++;
		if (end == from || (end - from == 1 && part[0].c == '.'))
			continue;
		if (end - from == 2 && part[0].c == '.' && part[1].c == '.') {
			while (c->len > 0 && c->v[--c->len].c != '/')
				;
			continue;
		}
		chars_add(e, c, '/', CHAR_QUOTED, part[0].at, 0);
		chars_copy(e, c, part, end - from);
	}
}

static struct value *builtin_value_before(struct expander *e, const char *name)
{
	struct value *v = vars_value(e, name);

	return v && v->len && v->v[0].c == '/' && chars_known(v->v, v->len) ? v : NULL;
}

/* Where cd @w leads, or NULL: unknown. */
static struct value *builtin_directory(struct expander *e, const struct shell_word *w)
{
	const char *path = shell_word_constant(w);
	const struct value *before = builtin_value_before(e, "PWD");
	struct chars joined = { 0 };
	struct value *v = NULL;

	if (path && strcmp(path, "-") == 0)
		return builtin_value_before(e, "OLDPWD");
	if (w->text.len > 0 && w->kind[0] == SHELL_TILDE)
		return word_value(e, w);
	if (!path || path[0] == '-' || (path[0] != '/' && !before))
		return NULL;
	if (path[0] != '/')
		builtin_add_path(e, &joined, before);
	builtin_add_path(e, &joined, word_value(e, w));
	if (joined.len == 0)
		chars_add(e, &joined, '/', CHAR_QUOTED, w->start, 0);
	if (joined.len <= PWD_MAX)
		v = value_make(e, joined.v, joined.len);
	chars_release(&joined);
	return v;
}

/* @v alone, without the other possible values behind it. */
static struct value *builtin_only_value(struct expander *e, const struct value *v)
{
	struct value *only = shell_alloc(e->arena, sizeof(*only));

	*only = (struct value){ .v = v->v, .len = v->len };
	return only;
}

/* PWD becomes @v, or unknown; OLDPWD what PWD was. */
static enum status builtin_set_directory(struct expander *e, struct value *v, uint32_t at)
{
	const struct value *before = vars_value(e, "PWD");

	vars_set(e, "PWD", v ? builtin_only_value(e, v) : value_unknown(e, "PWD", at));
	if (before)
		vars_set(e, "OLDPWD", builtin_only_value(e, before));
	return STATUS_UNKNOWN;
}

/* cd sets PWD: to the directory, or to unknown if that is relative to an unknown one. */
static enum status builtin_cd(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	struct value *v = c->count == 1 ? builtin_value_home(e, w->start)
					: builtin_directory(e, w);

	return builtin_set_directory(e, v, w->start);
}

/* pushd DIR is cd DIR; without one, and popd: to what the stack has; -n: nowhere. */
static enum status builtin_pushd(struct expander *e, const struct call *c)
{
	if (c->count > 1 && strcmp(c->words[1].text.s, "-n") == 0)
		return STATUS_UNKNOWN;
	const struct shell_word *w = &c->words[c->count - 1];
	bool goes = c->words[0].text.s[1] == 'u' && c->count > 1 && w->text.s[0] != '+';

	return builtin_set_directory(e, goes ? builtin_directory(e, w) : NULL, w->start);
}

/* ---- the rest ---- */

static enum status builtin_printf(struct expander *e, const struct call *c)
{
	struct chars out = { 0 };
	bool joined = c->count > 1 && c->words[1].text.len > 2; /* -vNAME */
	size_t format = joined ? 2 : 3, option = joined ? 2 : 0;
	struct shell_word name;

	if (c->count <= format || strncmp(c->words[1].text.s, "-v", 2) != 0)
		return output_run(e, c);
	name = c->words[format - 1];
	name.text.s += option;
	name.text.len -= option;
	name.kind += option;
	printf_format(e, &(struct call){ c->words + format, c->count - format }, &out);
	if (assign_name_length(&name) > 0)
		assign_word(e, &name, value_make(e, out.v, out.len), false);
	chars_release(&out);
	return STATUS_OK;
}

static enum status builtin_eval(struct expander *e, const struct call *c)
{
	return call_eval(e, &(struct call){ c->words + 1, c->count - 1 });
}

static enum status builtin_alias(struct expander *e, const struct call *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const struct shell_word *w = &c->words[i];
		const char *equals = strchr(w->text.s, '=');

		if (!equals || equals == w->text.s)
			continue;
		size_t n = (size_t)(equals - w->text.s);

		call_set_alias(e, shell_copy(e->arena, w->text.s, n),
			       builtin_rest_value(e, w, n + 1));
	}
	return STATUS_OK;
}

static enum status builtin_unalias(struct expander *e, const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		call_set_alias(e, shell_copy(e->arena, c->words[i].text.s, c->words[i].text.len),
			       NULL);
	return STATUS_OK;
}

static enum status builtin_let(struct expander *e, const struct call *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);
		struct chars text = { .v = v->v, .len = v->len };
		int64_t result;

		call_key(e, v, 0);
		expand_arith(e, &text, &result);
	}
	return STATUS_UNKNOWN;
}

/* test -v NAME */
static enum status builtin_test(struct expander *e, const struct call *c)
{
	for (size_t i = 1; i + 1 < c->count; i++)
		if (strcmp(c->words[i].text.s, "-v") == 0)
			call_key(e, word_value(e, &c->words[i + 1]), 0);
	return output_run(e, c);
}

static enum status builtin_true(struct expander *e, const struct call *c)
{
	(void)e;
	(void)c;
	return STATUS_OK;
}

static enum status builtin_false(struct expander *e, const struct call *c)
{
	(void)e;
	(void)c;
	return STATUS_FAILED;
}

/* ---- source ---- */

/* Commands searched backwards for the one that wrote a file. */
#define WRITERS_MAX 32
/* Longer texts are read apart. */
#define SOURCE_MAX (32u << 10)

static const char *builtin_file_name(const struct shell_word *w)
{
	const char *s = shell_word_constant(w);

	while (s && s[0] == '.' && s[1] == '/')
		s += 2;
	return s;
}

/* Does @c name the file but in redirections? Then it may write it, or not. */
static bool builtin_names_file(struct expander *e, const struct shell_command *c, const char *name)
{
	size_t len = strlen(name);

	expand_charge(e, c->word_count + c->redirect_count);
	for (size_t i = 0; i < c->word_count; i++) {
		const struct shell_text *t = &c->words[i].text;

		if (t->len >= len && strcmp(t->s + t->len - len, name) == 0)
			return true;
	}
	return false;
}

/* What the last command before @now that wrote the file @name wrote; NULL: not known, not all, or
 * it may be skipped. */
static const struct shell_word *builtin_written(struct expander *e, const struct shell_word *now,
						const char *name)
{
	const unsigned branches = SHELL_CONDITIONAL | SHELL_IN_LOOP | SHELL_IN_FUNCTION;
	const unsigned maybe = branches & ~e->context;
	size_t i = e->script->command_count;

	for (size_t left = WRITERS_MAX; left > 0 && i-- > 0; left--) {
		const struct shell_command *c = &e->script->commands[i];
		bool itself = c->word_count && now >= c->words && now < c->words + c->word_count;

		for (size_t k = 0; k < c->redirect_count; k++) {
			const struct shell_redirect *r = &c->redirects[k];
			const char *file = r->op == SHELL_TO || r->op == SHELL_APPEND
						   ? builtin_file_name(&r->target) : NULL;

			if (file && strcmp(file, name) == 0)
				return r->op == SHELL_TO && r->fd <= 1 && !(c->context & maybe)
					       ? c->output : NULL;
		}
		if (!itself && builtin_names_file(e, c, name))
			return NULL;
	}
	return NULL;
}

/* source FILE: a text that is known runs here. What comes from outside is read where it stands. */
static enum status builtin_source(struct expander *e, const struct call *c)
{
	static const char *const inputs[] = { "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", NULL };
	const struct shell_word *file = c->count > 1 ? &c->words[1] : NULL, *text = NULL;
	const char *name = file ? builtin_file_name(file) : NULL;
	struct assignment *params = vars_get(e, PARAMS);
	struct shell_word input = { .start = 0 };
	enum status s;

	if (file && file->content) {
		text = file->content;
	} else if (name && e->io.input && e->io.input != e->given_input &&
		   str_is_listed(name, inputs)) {
		word_make(e, e->io.input->v, e->io.input->len, &input);
		text = &input;
	} else if (name) {
		text = builtin_written(e, c->words, name);
	}
	if (!text || text->text.len > SOURCE_MAX || word_is_partial(text)) {
		e->sets_unknown |= file != NULL;
		return STATUS_UNKNOWN;
	}
	if (c->count > 2)
		call_set_params(e, &(struct call){ c->words + 1, c->count - 1 });
	s = call_eval(e, &(struct call){ text, 1 });
	if (c->count > 2 && params)
		vars_set_binding(e, PARAMS, params);
	e->sourced = true;
	return s;
}

/* ---- options ---- */

/* shopt -s lastpipe, shopt -uo nounset */
static enum status builtin_shopt(struct expander *e, const struct call *c)
{
	for (size_t i = 2; i < c->count; i++) {
		e->lastpipe |= strchr(c->words[1].text.s, 's') &&
			       strcmp(c->words[i].text.s, "lastpipe") == 0;
		e->nounset &= strcmp(c->words[i].text.s, "nounset") != 0;
	}
	return STATUS_UNKNOWN;
}

/* getopts OPTIONS NAME */
static enum status builtin_getopts(struct expander *e, const struct call *c)
{
	vars_set(e, "OPTARG", value_unknown_given(e, "OPTARG", c->words[0].start));
	vars_set(e, "OPTIND", value_unknown(e, "OPTIND", c->words[0].start));
	if (c->count > 2)
		assign_word(e, &c->words[2],
			       value_unknown(e, c->words[2].text.s, c->words[2].start), false);
	return STATUS_UNKNOWN;
}

static const struct builtin {
	const char *name;
	enum status (*run)(struct expander *e, const struct call *c);
	bool declares;
} builtins[] = {
	{ ".", builtin_source, false },
	{ "[", builtin_test, false },
	{ ":", builtin_true, false },        { "alias", builtin_alias, true },
	{ "cd", builtin_cd, false },         { "chdir", builtin_cd, false },
	{ "declare", builtin_declare, true }, { "eval", builtin_eval, false },
	{ "export", builtin_declare, true }, { "false", builtin_false, false },
	{ "getopts", builtin_getopts, false },
	{ "let", builtin_let, false },       { "local", builtin_declare, true },
	{ "mapfile", read_lines, false },    { "popd", builtin_pushd, false },
	{ "printf", builtin_printf, false }, { "pushd", builtin_pushd, false },
	{ "read", read_run, false },         { "readarray", read_lines, false },
	{ "readonly", builtin_declare, true }, { "set", builtin_set, false },
	{ "shift", builtin_shift, false },   { "shopt", builtin_shopt, false },
	{ "source", builtin_source, false },
	{ "test", builtin_test, false },
	{ "true", builtin_true, false },
	{ "typeset", builtin_declare, true }, { "unalias", builtin_unalias, false },
	{ "unset", builtin_unset, false },
};

/* For each first letter, 1 + the index of its first row in builtins[]; 0: none. */
static uint8_t builtin_begins[128];

static void builtin_fill_begins(void)
{
	for (size_t i = COUNT_OF(builtins); i-- > 0;)
		builtin_begins[(unsigned char)builtins[i].name[0]] = (uint8_t)(i + 1);
}

static const struct builtin *builtin_find(const char *name)
{
	unsigned char c = (unsigned char)name[0];

	if (!builtin_begins[':'])
		builtin_fill_begins();
	if (c >= sizeof(builtin_begins) || !builtin_begins[c])
		return NULL;
	for (size_t i = builtin_begins[c] - 1u; i < COUNT_OF(builtins); i++) {
		const char *text = builtins[i].name;

		if (text[0] != name[0])
			break;
		if (text[1] == name[1] && strcmp(text, name) == 0)
			return &builtins[i];
	}
	return NULL;
}

bool builtin_declares(const char *name)
{
	const struct builtin *b = builtin_find(name);

	return b && b->declares;
}

bool builtin_run(struct expander *e, const struct call *c, enum status *status)
{
	const struct builtin *b = builtin_find(c->words[0].text.s);

	if (!b)
		return false;
	*status = b->run(e, c);
	return true;
}
