/*
 * Simple commands: their words once for each choice among the values of the
 * variables in them, their assignments, their redirections, and what they change.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"

/* Times that one command is told, each with other values. */
#define VARIANTS_MAX 16

/* ---- slots ---- */

uint32_t expand_new_command(struct expander *e, uint32_t start, uint32_t end)
{
	struct shell_script *s = e->script;

	if (e->budget->commands == 0) {
		expand_trouble(e, SHELL_TOO_LONG, "too many commands", start);
		return SHELL_NONE;
	}
	e->budget->commands--;
	expand_charge(e, WORK_COMMAND);
	if (s->command_count == e->command_cap) {
		e->command_cap = e->command_cap ? e->command_cap * 2 : 8;
		s->commands = mem_realloc(s->commands, e->command_cap * sizeof(*s->commands));
	}
	bool inside = e->context & (SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS);

	s->commands[s->command_count] = (struct shell_command){
		.context = e->context,
		.function = e->function,
		.piped_from = e->piped_from,
		.parent = inside ? e->parent : SHELL_NONE,
		.start = start,
		.end = end,
	};
	return (uint32_t)s->command_count++;
}

const struct shell_word *expand_input_word(struct expander *e)
{
	if (!e->input_word && e->input) {
		e->input_word = shell_alloc(e->arena, sizeof(*e->input_word));
		word_make(e, e->input->v, e->input->len, e->input_word);
	}
	return e->input_word;
}

/* ---- redirections ---- */

static bool is_descriptor(const struct shell_word *w)
{
	const char *s = expand_constant(w);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	return s && s[0] && (s[digits] == '\0' || strcmp(s + digits, "-") == 0);
}

static void set_input(struct expander *e, struct value *v)
{
	e->input = v;
	e->input_word = NULL;
	e->piped_from = SHELL_NONE;
}

/* A here-string has a newline that its word has not. */
static void here_string(struct expander *e, const struct shell_word *word)
{
	const struct value *v = word_value(e, word);
	struct cells c = { 0 };

	cells_copy(e, &c, v->v, v->len);
	cells_add(e, &c, '\n', CELL_QUOTED, word->end, 0);
	set_input(e, value_make(e, c.v, c.len));
	cells_release(&c);
}

/* What the redirection means for what the command reads and who hears it. */
static void redirect_effect(struct expander *e, const struct ast_redirect *r,
			    const struct shell_redirect *out)
{
	bool input = out->fd <= 0, output = out->fd == -1 || out->fd == 1;

	switch (out->op) {
	case SHELL_HERE:
		if (input)
			set_input(e, word_value(e, &out->target));
		break;
	case SHELL_STRING:
		if (input)
			here_string(e, &out->target);
		break;
	case SHELL_FROM:
	case SHELL_BOTH:
		if (input)
			set_input(e, out->target.content ? word_value(e, out->target.content)
							 : NULL);
		break;
	case SHELL_TO:
	case SHELL_APPEND:
		if (output)
			e->capture = NULL;
		break;
	case SHELL_DUP:
		if (output && r->op == SHELL_DUP && out->fd != 0)
			e->capture = NULL;
		break;
	}
}

static void expand_redirect(struct expander *e, const struct ast_redirect *r,
			    struct shell_redirect *out)
{
	out->op = (enum shell_redirect_op)r->op;
	out->fd = r->fd;
	if (r->target)
		expand_one(e, r->target, &out->target);
	else
		word_make(e, NULL, 0, &out->target);
	/* >&FILE is a redirection of both to a file; <& never writes. */
	if (r->ampersand && !is_descriptor(&out->target) && r->fd != 0)
		out->op = SHELL_TO;
	redirect_effect(e, r, out);
}

void expand_redirects(struct expander *e, const struct ast_redirect *list, uint32_t command)
{
	struct shell_redirect *redirects;
	size_t count = 0;
	uint32_t parent = e->parent;

	for (const struct ast_redirect *r = list; r; r = r->next)
		count++;
	if (count == 0)
		return;
	redirects = shell_alloc(e->arena, count * sizeof(*redirects));
	expand_charge(e, WORK_COMMAND * count);
	count = 0;
	e->parent = command;
	for (const struct ast_redirect *r = list; r && !expand_failed(e); r = r->next)
		expand_redirect(e, r, &redirects[count++]);
	e->parent = parent;
	struct shell_command *c = &e->script->commands[command];

	c->redirects = redirects;
	c->redirect_count = count;
}

/* ---- choices ---- */

struct choice {
	bool outer;
	uint64_t number, count;
};

static void choice_start(struct expander *e, struct choice *c)
{
	*c = (struct choice){ .outer = e->choosing, .count = 1 };
	e->choosing = true;
}

/* The next choice; false: all were made. */
static bool choice_next(struct expander *e, struct choice *c)
{
	if (c->outer)
		return c->number++ == 0;
	if (c->number > 0) {
		c->count = e->choice_count < VARIANTS_MAX ? e->choice_count : VARIANTS_MAX;
		if (c->number >= c->count || expand_failed(e))
			return false;
	}
	e->epoch++;
	e->choice_left = c->number++;
	e->choice_count = 1;
	return true;
}

static void choice_end(struct expander *e, const struct choice *c)
{
	e->choosing = c->outer;
}

/* ---- assignments ---- */

static struct value *append_value(struct expander *e, const char *name, const struct value *more)
{
	struct cells c = { 0 };
	bool unset;
	struct value *before = vars_value(e, name, &unset);

	if (before)
		cells_copy(e, &c, before->v, before->len);
	else if (!unset)
		cells_add(e, &c, '?', CELL_UNKNOWN, 0, expand_name(e, name));
	cells_copy(e, &c, more->v, more->len);
	struct value *v = value_make(e, c.v, c.len);

	cells_release(&c);
	return v;
}

/* All values that the assignment may give. */
static struct value *assigned_values(struct expander *e, const struct ast_assign *a)
{
	struct value *first = NULL, **tail = &first;
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c)) {
		struct value *v = expand_value(e, a->value);

		*tail = a->append ? append_value(e, a->name, v) : v;
		tail = &(*tail)->other;
	}
	choice_end(e, &c);
	return first;
}

/* An item; [key]=value also sets name[key]. */
static struct value *array_item(struct expander *e, const char *name, const struct shell_word *w)
{
	struct value *v = word_value(e, w);
	const char *close = w->text.s[0] == '[' ? strstr(w->text.s, "]=") : NULL;

	if (!close)
		return v;
	size_t key = (size_t)(close - w->text.s) + 1, len = strlen(name);
	char *joined = shell_alloc(e->arena, len + key + 1);

	memcpy(joined, name, len);
	memcpy(joined + len, w->text.s, key);
	v = value_make(e, v->v + key + 1, v->len - key - 1);
	vars_set(e, joined, v);
	return v;
}

static void assign_array(struct expander *e, const struct ast_assign *a)
{
	struct binding *b = shell_alloc(e->arena, sizeof(*b));
	struct binding *before = a->append ? vars_get(e, a->name) : NULL;
	uint32_t old = before && before->is_array ? before->item_count : 0;
	struct words words = { 0 };

	for (const struct ast_word *w = a->items; w && !expand_failed(e); w = w->next)
		expand_word(e, w, &words);
	b->is_array = true;
	b->item_count = old + (uint32_t)words.len;
	b->items = shell_alloc(e->arena, b->item_count * sizeof(struct value *));
	for (uint32_t i = 0; i < old; i++)
		b->items[i] = before->items[i];
	for (size_t i = 0; i < words.len; i++)
		b->items[old + i] = array_item(e, a->name, &words.v[i]);
	b->values = b->item_count > 0 ? b->items[0] : NULL;
	expand_charge(e, b->item_count);
	words_release(&words);
	vars_set_binding(e, a->name, b);
}

#define INDEX_MAX 1024

static void assign_element(struct expander *e, const struct ast_assign *a)
{
	struct binding *before = vars_get(e, a->name), *b = shell_alloc(e->arena, sizeof(*b));
	const char *key = expand_key(e, a->name, a->index);
	struct cells c = { 0 };
	int64_t n;

	if (key)
		vars_set(e, key, expand_value(e, a->value));
	expand_parts(e, a->index->parts, &c, EXPAND_ONE);
	if (!expand_arith(e, &c, &n) || n < 0 || n >= INDEX_MAX)
		n = 0;
	cells_release(&c);
	uint32_t old = before && before->is_array ? before->item_count : 0;

	b->is_array = true;
	b->item_count = n >= old ? (uint32_t)n + 1 : old;
	b->items = shell_alloc(e->arena, b->item_count * sizeof(struct value *));
	for (uint32_t i = 0; i < b->item_count; i++)
		b->items[i] = i < old ? before->items[i] : value_text(e, "", 0);
	expand_charge(e, b->item_count);
	b->items[n] = expand_value(e, a->value);
	b->values = b->items[0];
	vars_set_binding(e, a->name, b);
}

void expand_assign(struct expander *e, const struct ast_assign *a, struct shell_assign *out)
{
	bool unset;
	struct value *v;

	expand_charge(e, WORK_ASSIGN);
	if (a->is_array)
		assign_array(e, a);
	else if (a->index)
		assign_element(e, a);
	else
		vars_set(e, expand_nameref(e, a->name), assigned_values(e, a));
	v = vars_value(e, expand_nameref(e, a->name), &unset);
	out->name = shell_copy(e->arena, a->name, strlen(a->name));
	out->value.start = a->value ? a->value->start : 0;
	out->value.end = a->value ? a->value->end : 0;
	word_make(e, v ? v->v : NULL, v ? v->len : 0, &out->value);
}

/* x=$(...), also in quotes: the assignment whose output tells the status of @n; NULL: none. */
static const struct ast_assign *output_assign(const struct ast_node *n)
{
	const struct ast_assign *a = n->type == AST_SIMPLE && !n->words ? n->assigns : NULL;
	const struct ast_part *p;

	while (a && a->next)
		a = a->next;
	p = a && a->value && !a->index && !a->append ? a->value->parts : NULL;
	if (p && p->next && p->type == PART_TEXT && !p->text.len)
		p = p->next; /* the empty text of "" */
	return p && !p->next && p->type == PART_COMMAND ? a : NULL;
}

void expand_succeeded(struct expander *e, const struct ast_node *n)
{
	const struct ast_assign *a = output_assign(n);
	const struct binding *b = a ? vars_get(e, a->name) : NULL;
	struct value *first = NULL, **tail = &first;

	for (const struct value *v = b ? b->values : NULL; v; v = v->other) {
		struct value *whole = value_make(e, v->v, v->len);

		for (uint32_t i = 0; i < whole->len; i++) {
			struct cell *c = &whole->v[i];

			if (cell_is_known(c))
				c->name = 0;
			else if (cell_is_unknown(c))
				*c = cell_unknown(e, expand_name_text(e, c->name), c->kind, c->at);
		}
		*tail = whole;
		tail = &whole->other;
	}
	if (first)
		vars_set(e, a->name, first);
}

/* The assignments of a command; before a name they hold for this command only. */
static void expand_assigns(struct expander *e, const struct ast_node *n, uint32_t index)
{
	struct shell_assign *assigns;
	size_t count = 0;
	uint32_t parent = e->parent;

	for (const struct ast_assign *a = n->assigns; a; a = a->next)
		count++;
	if (count == 0)
		return;
	assigns = shell_alloc(e->arena, count * sizeof(*assigns));
	count = 0;
	e->parent = index;
	for (const struct ast_assign *a = n->assigns; a && !expand_failed(e); a = a->next) {
		if (n->words && !a->late)
			vars_local(e, &e->prefix, a->name);
		expand_assign(e, a, &assigns[count++]);
		if (n->words && !a->late)
			vars_export(e, a->name);
	}
	e->parent = parent;
	struct shell_command *c = &e->script->commands[index];

	c->assigns = assigns;
	c->assign_count = count;
}

/* ---- words ---- */

const char *expand_constant(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] != SHELL_LITERAL)
			return NULL;
	return w->text.s;
}

static bool is_assignment_word(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;

	return p && p->type == PART_TEXT && !p->quoted && memchr(p->text.s, '=', p->text.len);
}

static void expand_words(struct expander *e, const struct ast_node *n, uint32_t index)
{
	struct words words = { 0 };
	uint32_t parent = e->parent;
	bool declares = false;

	e->parent = index;
	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next) {
		if (declares && is_assignment_word(w)) {
			struct shell_word one;

			expand_one(e, w, &one);
			word_add(e, &words, &one);
		} else {
			expand_word(e, w, &words);
		}
		if (words.len == 1 && expand_constant(&words.v[0]))
			declares = expand_is_declaration(words.v[0].text.s);
	}
	e->parent = parent;
	struct shell_command *c = &e->script->commands[index];

	c->words = shell_alloc(e->arena, words.len * sizeof(*words.v));
	if (words.len > 0)
		memcpy(c->words, words.v, words.len * sizeof(*words.v));
	c->word_count = words.len;
	words_release(&words);
}

/* ---- the command ---- */

static enum status run(struct expander *e, const struct shell_word *words, size_t count)
{
	const char *name = count > 0 ? expand_constant(&words[0]) : NULL;
	struct function *f;
	enum status s;

	while (name && count > 1 && (name[0] == 'c' || name[0] == 'b') &&
	       (strcmp(name, "command") == 0 || strcmp(name, "builtin") == 0) &&
	       words[1].text.s[0] != '-') {
		name = expand_constant(&words[1]);
		words++;
		count--;
	}
	f = name ? expand_find_function(e, name) : NULL;
	if (f && !f->active)
		return expand_call(e, f, words, count);
	if (name && expand_builtin(e, words, count, &s))
		return s;
	return expand_output(e, words, count);
}

/* Words, assignments and redirections of one choice; the slot, or SHELL_NONE. */
static uint32_t tell(struct expander *e, const struct ast_node *n, bool first)
{
	uint32_t index = expand_new_command(e, n->start, n->end);

	if (index == SHELL_NONE)
		return index;
	expand_words(e, n, index);
	if (first || n->words)
		expand_redirects(e, n->redirects, index);
	if (first)
		expand_assigns(e, n, index);
	struct shell_command *c = &e->script->commands[index];
	const struct shell_word *input = expand_input_word(e);

	c = &e->script->commands[index];
	c->input = input;
	c->piped_from = e->piped_from;
	c->stamp = e->memory->variables.stamp;
	return index;
}

static struct alias *alias_of(struct expander *e, const struct ast_node *n)
{
	if (!n->words || !n->words->simple || !e->memory->alias_lists)
		return NULL;
	const struct ast_text *t = &n->words->parts->text;
	char name[64];

	if (t->len >= sizeof(name))
		return NULL;
	memcpy(name, t->s, t->len);
	name[t->len] = '\0';
	return expand_find_alias(e, name);
}

/* exec < FILE: the shell itself reads it from here on. */
static bool opens_input(const struct shell_command *c)
{
	if (c->word_count != 1 || strcmp(c->words[0].text.s, "exec"))
		return false;
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].fd <= 0 && c->redirects[i].op != SHELL_TO &&
		    c->redirects[i].op != SHELL_APPEND)
			return true;
	return false;
}

enum status expand_simple(struct expander *e, const struct ast_node *n)
{
	struct cells *capture = e->capture;
	struct value *input = e->input;
	struct shell_word *input_word = e->input_word;
	struct local *prefix = e->prefix;
	uint32_t piped_from = e->piped_from, first = SHELL_NONE;
	struct alias *alias = alias_of(e, n);
	enum status s = STATUS_UNKNOWN;
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c)) {
		e->capture = capture;
		e->input = input;
		e->input_word = input_word;
		e->piped_from = piped_from;
		uint32_t index = tell(e, n, first == SHELL_NONE);

		if (index == SHELL_NONE)
			break;
		if (first == SHELL_NONE)
			first = index;
	}
	choice_end(e, &c);
	if (first != SHELL_NONE && !expand_failed(e)) {
		/* The script may move its commands while one of them is run. */
		struct shell_command *told = &e->script->commands[first];

		if (alias && !alias->active && told->word_count > 0)
			s = expand_alias(e, alias, told->words, told->word_count);
		else if (told->word_count > 0)
			s = run(e, told->words, told->word_count);
		else
			s = output_assign(n) ? STATUS_UNKNOWN : STATUS_OK;
		if (e->errexit)
			expand_succeeded(e, n);
	}
	vars_end_locals(e, &e->prefix, prefix);
	e->capture = capture;
	if (first != SHELL_NONE && opens_input(&e->script->commands[first]))
		return s; /* what it reads from now on */
	e->input = input;
	e->input_word = input_word;
	e->piped_from = piped_from;
	return s;
}
