/* Functions, aliases and eval: parts of the script that run elsewhere in it. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"
#include "shell/lex.h"

#define WORK_CALL 10u
/* Functions, or aliases, of one text: each call searches them. */
#define FUNCTIONS_MAX 1000

static unsigned call_list_of(const char *name)
{
	return str_hash(name, strlen(name)) % NAMED_LISTS;
}

void call_forget(struct expander *e)
{
	struct shell_memory *m = e->memory;

	m->functions = NULL;
	m->function_lists = NULL;
	m->function_count = 0;
	m->alias_lists = NULL;
}

/* ---- functions ---- */

void call_define(struct expander *e, const struct ast_node *n)
{
	struct function *f = shell_alloc(e->arena, sizeof(*f));

	f->name = n->name ? n->name : "";
	f->node = n;
	e->keep_tree = true;
	f->index = f->gone = SHELL_NONE;
	f->older = e->memory->functions;
	e->memory->functions = f;
	if (!e->memory->function_lists)
		e->memory->function_lists =
			shell_alloc(e->arena, NAMED_LISTS * sizeof(struct function *));
	struct function **list = &e->memory->function_lists[call_list_of(f->name)];

	f->same = *list;
	*list = f;
	e->memory->function_count++;
	if (e->memory->function_count > FUNCTIONS_MAX)
		expand_trouble(e, SHELL_TOO_LONG, "too many functions", n->start);
}

/* Add a function of an outer text to this script's table. */
static struct function *call_import_function(struct expander *e, const struct function *f)
{
	bool keep = e->keep_tree;

	call_define(e, f->node);
	e->keep_tree = keep;
	e->memory->functions->imported = true;
	return e->memory->functions;
}

struct function *call_find_function(struct expander *e, const char *name)
{
	const struct shell_memory *m = e->memory;

	for (;;) {
		struct function *f = m->function_lists ? m->function_lists[call_list_of(name)]
						       : NULL;

		for (; f; f = f->same)
			if (strcmp(f->name, name) == 0)
				return m == e->memory ? f : call_import_function(e, f);
		if (!m->outer || m->outer_exported_only)
			return NULL;
		m = m->outer;
	}
}

struct function *call_older(const struct function *f)
{
	struct function *g = f->same;

	while (g && strcmp(g->name, f->name) != 0)
		g = g->same;
	return g;
}

/* Add the function to shell_script.functions, at its first walk. */
static void call_list_function(struct expander *e, struct function *f)
{
	struct shell_script *s = e->script;

	if (s->function_count == e->function_cap)
		s->functions = mem_grow(s->functions, &e->function_cap, 4, sizeof(*s->functions));
	f->index = (uint32_t)s->function_count;
	s->functions[s->function_count++] = (struct shell_function){
		.name = f->name,
		.first = (uint32_t)s->command_count,
		.last = (uint32_t)s->command_count,
		.start = f->node->start,
		.end = f->node->end,
		.gone = f->gone,
		.uncalled = !(e->context & SHELL_IN_CALL),
	};
}

/* Behind @at a call of @f may run the body or not. */
static void call_mark_gone(struct expander *e, struct function *f, uint32_t at)
{
	if (f->gone != SHELL_NONE)
		return;
	f->gone = at;
	if (f->index != SHELL_NONE)
		e->script->functions[f->index].gone = at;
}

void call_unset(struct expander *e, const char *name, uint32_t at)
{
	for (struct function *f = call_find_function(e, name); f; f = call_older(f))
		call_mark_gone(e, f, at);
}

void call_leave(struct expander *e, const struct function *since, uint32_t at)
{
	for (struct function *f = e->memory->functions; f && f != since; f = f->older)
		if (!f->imported)
			call_mark_gone(e, f, at);
}

/* Walk the body with the parameters of @c, or unknown ones if that is NULL. */
static enum status call_body(struct expander *e, struct function *f, const struct call *c,
			     unsigned context)
{
	struct local *locals = e->locals;
	unsigned was = e->context;
	bool listed = f->index == SHELL_NONE, nounset = e->nounset;
	enum status s;

	if (!choice_is_followed(e) || !expand_enter(e, f->node->start))
		return STATUS_UNKNOWN;
	expand_charge(e, WORK_CALL);
	e->context |= SHELL_IN_FUNCTION | context;
	if (listed)
		call_list_function(e, f);
	f->active = true;
	vars_local(e, &e->locals, PARAMS);
	if (c)
		call_set_params(e, c);
	else
		array_fill(e, PARAMS, NULL, 0, false, ARRAY_UNKNOWN);
	s = branch_body(e, f->node->body);
	e->nounset &= nounset; /* return may skip set -u */
	if (listed)
		e->script->functions[f->index].last = (uint32_t)e->script->command_count;
	vars_end_locals(e, &e->locals, locals);
	f->active = false;
	e->context = was;
	expand_leave(e);
	return s;
}

void call_set_params(struct expander *e, const struct call *c)
{
	const struct assignment *before = vars_get(e, PARAMS);
	struct value **v = shell_alloc(e->arena, (c->count + 1) * sizeof(struct value *));
	bool known = true;

	v[0] = before && before->item_count > 0 ? before->items[0]
						: value_text(e, e->memory->shell_path, 0);
	for (size_t i = 1; i < c->count; i++)
		v[i] = word_value(e, &c->words[i]);
	/* After a word that may become any number of words, the parameters are unknown. */
	for (size_t i = 1; i < c->count; i++)
		for (size_t k = 0; k < c->words[i].text.len; k++)
			known &= c->words[i].kind[k] != SHELL_UNKNOWN_FIELDS || c->count == 2;
	array_bind(e, PARAMS, v, (uint32_t)(c->count ? c->count : 1), known);
}

enum status call_function(struct expander *e, struct function *f, const struct call *c)
{
	return call_body(e, f, c, SHELL_IN_CALL);
}

/* Oldest first: the functions that they call are then called, and not walked again. */
void call_uncalled(struct expander *e)
{
	size_t n = e->memory->function_count;
	struct function **all = shell_alloc(e->arena, (n + 1) * sizeof(struct function *));
	struct function *f = e->memory->functions;

	for (size_t i = n; i-- > 0 && f; f = f->older)
		all[i] = f;
	for (size_t i = 0; i < n && !expand_failed(e); i++) {
		size_t mark = vars_mark(e), first = e->script->command_count;

		if (!all[i] || all[i]->index != SHELL_NONE)
			continue;
		call_body(e, all[i], NULL, 0);
		record_end(e, first);
		vars_undo(e, mark);
	}
}

/* ---- texts ---- */

/* A longer text that the script builds is not parsed. */
#define AGAIN_MAX (256u << 10)

static enum status call_text(struct expander *e, const struct shell_word *word)
{
	struct shell_text text = mark_text(e->arena, word);
	struct lex_state lex = lex_state_of(&e->memory->tree, e->depth / EXPAND_LEVELS,
					    e->memory->family, text.len);
	struct shell_arena_mark mark = shell_arena_mark(lex.arena);
	uint32_t at = text.len > 0 ? text.at[0] : 0;
	struct ast_node *program;
	bool marked = e->marked;
	enum status s;
	size_t given;

	expand_charge(e, WORK_TEXT + 4 * text.len);
	if (!choice_is_followed(e) || expand_failed(e) || !expand_enter(e, at))
		return STATUS_UNKNOWN;
	e->marked = true;
	lex.posix = e->posix;
	given = lex.arena->given;
	program = grammar_program(&lex, &text);
	expand_charge(e, (lex.arena->given - given) / WORK_TREE);
	s = eval_walk(e, program);
	/*
	 * Unknown characters may be the missing quote or target. A text that dash refuses is no
	 * trouble if bash may run it.
	 */
	if (lex.trouble == SHELL_SYNTAX && (word_is_partial(word) || e->posix))
		lex.trouble = SHELL_FINE;
	if (lex.trouble != SHELL_FINE)
		expand_trouble(e, lex.trouble, lex.trouble_text, lex.trouble_at);
	e->marked = marked;
	if (!e->keep_tree && !shell_arena_spent(lex.arena))
		shell_arena_rewind(lex.arena, &mark);
	expand_leave(e);
	return s;
}

/* @chars, which this releases, are shell text that runs here; *@text: the word that they are. */
static enum status call_chars(struct expander *e, struct chars *chars, struct shell_word *text)
{
	unsigned context = e->context;
	enum status s;

	word_make(e, chars->v, chars->len, text);
	chars_release(chars);
	e->context |= SHELL_IN_EVAL;
	s = call_text(e, text);
	e->context = context;
	return s;
}

/* eval: its words, joined by blanks, are shell text. */
enum status call_eval(struct expander *e, const struct call *c)
{
	struct chars joined = { 0 };
	struct shell_word text = { 0 };
	enum status s;

	for (size_t i = 0; i < c->count && !expand_failed(e); i++) {
		const struct shell_word *w = &c->words[i];

		if (joined.len + w->text.len > AGAIN_MAX) {
			expand_trouble(e, SHELL_TOO_LONG, "an eval too long to judge", w->start);
			break;
		}
		const struct value *v = word_value(e, w);

		if (i > 0)
			chars_add(e, &joined, ' ', CHAR_QUOTED, w->start, 0);
		chars_copy(e, &joined, v->v, v->len);
	}
	s = call_chars(e, &joined, &text);
	e->sets_unknown |= text.text.len && text.kind[0] >= SHELL_UNKNOWN; /* eval "$(x)" */
	return s;
}

/* Append what @word is in double quotes that shell text ends with. */
static void call_quoted(struct expander *e, const struct shell_word *word, struct chars *out)
{
	struct shell_text text = mark_text(e->arena, word);
	struct lex_state lex = lex_state_of(&e->memory->tree, e->depth / EXPAND_LEVELS,
					    e->memory->family, text.len);
	struct lex_reader r;
	const struct ast_word *quoted = NULL;
	bool marked = e->marked;

	expand_charge(e, WORK_TEXT + 4 * text.len);
	if (expand_failed(e) || !expand_enter(e, word->start))
		return;
	lex_reader_init(&r, &lex, &text);
	r.inner = true;
	if (lex_enter(&r)) {
		quoted = lex_quoted_until(&r, -1);
		lex_leave(&r);
	}
	e->marked = e->keep_tree = true;
	if (quoted)
		expand_parts(e, quoted->parts, out, EXPAND_ONE);
	e->marked = marked;
	expand_leave(e);
}

void call_key(struct expander *e, const struct value *v, size_t from)
{
	struct chars unused = { 0 };
	struct shell_word word = { 0 };
	bool opens = false;

	for (size_t i = from; i < v->len; i++) {
		opens |= v->v[i].c == '[';
		if (!opens || (v->v[i].c != '`' && v->v[i].c != '$'))
			continue;
		word_make(e, v->v + from, v->len - from, &word);
		call_quoted(e, &word, &unused);
		break;
	}
	chars_release(&unused);
}

struct value *call_prompt(struct expander *e, const struct value *v)
{
	struct chars out = { 0 };
	struct shell_word word = { 0 };
	struct value *r;
	bool expands = false, escapes = false;

	for (uint32_t i = 0; i < v->len; i++) {
		expands |= v->v[i].c == '$' || v->v[i].c == '`';
		escapes |= v->v[i].c == '\\';
	}
	if (!expands)
		return escapes ? NULL : value_make(e, v->v, v->len);
	word_make(e, v->v, v->len, &word);
	call_quoted(e, &word, &out);
	r = value_take(e, &out);
	return escapes ? NULL : r;
}

/* ---- aliases ---- */

struct alias *call_find_alias(struct expander *e, const char *name)
{
	struct alias **lists = e->memory->alias_lists;

	for (struct alias *a = lists ? lists[call_list_of(name)] : NULL; a; a = a->same)
		if (strcmp(a->name, name) == 0)
			return a->value ? a : NULL;
	return NULL;
}

void call_set_alias(struct expander *e, const char *name, struct value *value)
{
	struct alias *a = shell_alloc(e->arena, sizeof(*a));

	a->name = name;
	a->value = value;
	if (!e->memory->alias_lists)
		e->memory->alias_lists =
			shell_alloc(e->arena, NAMED_LISTS * sizeof(struct alias *));
	struct alias **list = &e->memory->alias_lists[call_list_of(name)];

	a->same = *list;
	*list = a;
	if (++e->memory->alias_count > FUNCTIONS_MAX)
		expand_trouble(e, SHELL_TOO_LONG, "too many aliases", 0);
}

/* The alias's text, then the resolved words of the command, quoted again. */
enum status call_alias(struct expander *e, struct alias *a, const struct call *c)
{
	struct chars joined = { 0 };
	struct shell_word text = { 0 };
	enum status s;

	chars_copy(e, &joined, a->value->v, a->value->len);
	for (size_t i = 1; i < c->count && !expand_failed(e); i++) {
		const struct shell_word *w = &c->words[i];
		const struct value *v = word_value(e, w);

		chars_add(e, &joined, ' ', CHAR_QUOTED, w->start, 0);
		for (uint32_t k = 0; k < v->len; k++) {
			if (v->v[k].kind == CHAR_QUOTED)
				chars_add(e, &joined, '\\', CHAR_QUOTED, v->v[k].at, 0);
			chars_copy(e, &joined, &v->v[k], 1);
		}
		if (v->len == 0)
			chars_text(e, &joined, "''", CHAR_QUOTED, w->start);
	}
	a->active = true;
	s = call_chars(e, &joined, &text);
	a->active = false;
	return s;
}
