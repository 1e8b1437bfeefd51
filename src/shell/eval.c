/*
 * Commands, walked as a shell would run them. A simple command is recorded once for each
 * choice of values of the variables in its words; all branches of compound commands are
 * walked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Steps, besides those for characters. */
#define WORK_COMMAND 24u
#define WORK_ASSIGN 30u
#define WORK_STAGE 20u /* stage of a pipeline */
#define WORK_COMPOUND 3u
#define WORK_BACKGROUND 14u
#define WORK_SUBSTITUTION 48u

/* Choices of a function's commands, where a word of a command calls it. */
#define CALL_CHOICES 2u

/* Values of x=$((...)): a count that grows under conditions has another at each turn. */
#define SUMS_MAX 4

/* ---- commands of the script ---- */

/* Add a command. What stands in its words is inside of it up to eval_close_command(). */
static uint32_t eval_open_command(struct expander *e, uint32_t start, uint32_t end)
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
	s->commands[s->command_count] = (struct shell_command){
		.context = e->context,
		.piped_from = e->io.piped_from,
		.parent = e->parent,
		.start = start,
		.end = end,
	};
	e->parent = (uint32_t)s->command_count++;
	return e->parent;
}

static void eval_close_command(struct expander *e, uint32_t index)
{
	e->parent = e->script->commands[index].parent;
}

static void eval_set_words(struct expander *e, uint32_t index, const struct words *words)
{
	struct shell_command *c = &e->script->commands[index];

	c->words = shell_alloc(e->arena, words->len * sizeof(*words->v));
	if (words->len > 0)
		memcpy(c->words, words->v, words->len * sizeof(*words->v));
	c->word_count = words->len;
}

static const struct shell_word *eval_input_word(struct expander *e)
{
	if (!e->io.input_word && e->io.input) {
		e->io.input_word = shell_alloc(e->arena, sizeof(*e->io.input_word));
		word_make(e, e->io.input->v, e->io.input->len, e->io.input_word);
	}
	return e->io.input_word;
}

static bool eval_has_known(const struct chars *output)
{
	for (size_t i = 0; i < output->len; i++)
		if (output->v[i].kind < CHAR_UNKNOWN || output->v[i].kind == CHAR_TILDE)
			return true;
	return false;
}

/* Command @index has written @output to a file. */
static void eval_set_output(struct expander *e, uint32_t index, struct chars *output)
{
	struct shell_word *word;

	if (eval_has_known(output)) {
		word = shell_alloc(e->arena, sizeof(*word));
		word_make(e, output->v, output->len, word);
		e->script->commands[index].output = word;
	}
	output->len = 0;
}

/* ---- redirections ---- */

static bool eval_is_descriptor(const struct shell_word *w)
{
	const char *s = shell_word_constant(w);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	return s && s[0] && (s[digits] == '\0' || strcmp(s + digits, "-") == 0);
}

static void eval_set_input(struct expander *e, struct value *v)
{
	e->io.input = v;
	e->io.input_word = NULL;
	e->io.piped_from = SHELL_NONE;
}

/* A here-string adds a newline to its word. */
static struct value *eval_here_string(struct expander *e, const struct shell_word *word)
{
	const struct value *v = word_value(e, word);
	struct chars c = { 0 };
	struct value *line;

	chars_copy(e, &c, v->v, v->len);
	chars_add(e, &c, '\n', CHAR_QUOTED, word_last(word), 0);
	line = value_make(e, c.v, c.len);
	chars_release(&c);
	return line;
}

/* What can be read behind the redirection; NULL: not known. */
static struct value *eval_opened(struct expander *e, const struct shell_redirect *r)
{
	switch (r->op) {
	case SHELL_HERE:
		return word_value(e, &r->target);
	case SHELL_STRING:
		return eval_here_string(e, &r->target);
	case SHELL_FROM:
	case SHELL_BOTH:
		return r->target.content ? word_value(e, r->target.content) : NULL;
	default:
		return NULL;
	}
}

/* Descriptors looked at for one. */
#define DESCRIPTORS_MAX 32

const struct descriptor *eval_descriptor(const struct expander *e, long fd)
{
	const struct descriptor *d = e->io.descriptors;

	for (unsigned i = 0; d && i < DESCRIPTORS_MAX; i++, d = d->older)
		if (d->fd == fd)
			return d;
	return NULL;
}

/* Note what N<FILE, N<&0 and the like open. */
static void eval_note_descriptor(struct expander *e, const struct shell_redirect *r)
{
	long from = strtol(r->target.text.s, NULL, 10);
	const struct descriptor *old = r->op == SHELL_DUP ? eval_descriptor(e, from) : NULL;
	struct descriptor *d;

	if (r->fd <= 2 || (r->op == SHELL_DUP && from > 2 && !old))
		return;
	d = shell_alloc_raw(e->arena, sizeof(*d));
	if (old)
		*d = *old;
	else if (r->op == SHELL_DUP && eval_is_descriptor(&r->target) &&
		 r->target.text.s[0] == '0')
		*d = (struct descriptor){ .input = e->io.input, .piped_from = e->io.piped_from };
	else
		*d = (struct descriptor){ .input = eval_opened(e, r), .piped_from = SHELL_NONE };
	d->fd = r->fd;
	d->older = e->io.descriptors;
	e->io.descriptors = d;
}

/* <&N: what N is; the input stays if that is not known. */
static void eval_input_from(struct expander *e, const struct shell_word *target)
{
	long fd = strtol(target->text.s, NULL, 10);
	const struct descriptor *d = eval_descriptor(e, fd);

	if (!eval_is_descriptor(target) || target->text.s[0] == '0' || (fd > 2 && !d))
		return;
	eval_set_input(e, d ? d->input : NULL);
	if (d)
		e->io.piped_from = d->piped_from;
}

static bool eval_is_device(const struct shell_word *w)
{
	return strncmp(w->text.s, "/dev/", 5) == 0;
}

/* Set e->io.input and e->io.capture as the redirection does. */
static void eval_redirect_effect(struct expander *e, const struct ast_redirect *r,
				 const struct shell_redirect *out)
{
	bool input = out->fd <= 0, output = out->fd == -1 || out->fd == 1;

	switch (out->op) {
	case SHELL_HERE:
	case SHELL_STRING:
	case SHELL_FROM:
	case SHELL_BOTH:
		if (input)
			eval_set_input(e, eval_opened(e, out));
		break;
	case SHELL_TO:
	case SHELL_APPEND:
		if (output)
			e->io.capture = eval_is_device(&out->target) ? NULL : e->io.to_file;
		break;
	case SHELL_DUP:
		if (out->fd == 0)
			eval_input_from(e, &out->target);
		if (output && r->op == SHELL_DUP && out->fd != 0)
			e->io.capture = NULL;
		break;
	}
}

static void eval_redirect(struct expander *e, const struct ast_redirect *r,
			  struct shell_redirect *out)
{
	out->op = (enum shell_redirect_op)r->op;
	out->fd = r->fd;
	if (r->target)
		expand_one(e, r->target, &out->target);
	else
		word_make(e, NULL, 0, &out->target);
	/* >&FILE redirects both streams to FILE; <& never writes. */
	if (r->ampersand && !eval_is_descriptor(&out->target) && r->fd != 0)
		out->op = SHELL_TO;
	eval_note_descriptor(e, out);
	eval_redirect_effect(e, r, out);
}

static void eval_redirects(struct expander *e, const struct ast_redirect *list, uint32_t command)
{
	struct shell_redirect *redirects;
	size_t count = 0;

	for (const struct ast_redirect *r = list; r; r = r->next)
		count++;
	if (count == 0)
		return;
	redirects = shell_alloc(e->arena, count * sizeof(*redirects));
	expand_charge(e, WORK_COMMAND * count);
	count = 0;
	for (const struct ast_redirect *r = list; r && !expand_failed(e); r = r->next) {
		e->script->sets_variables |= r->named;
		e->script->sets_path |= r->named;
		eval_redirect(e, r, &redirects[count++]);
	}
	struct shell_command *c = &e->script->commands[command];

	c->redirects = redirects;
	c->redirect_count = count;
}

/* ---- assignments ---- */

/* Is it x=$x... or x="$x..."? *@rest: the word behind that. A ~ there would begin a word. */
static bool eval_extends_itself(const struct expander *e, const struct ast_assign *a,
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
static struct value *eval_assigned_value(struct expander *e, const struct ast_assign *a)
{
	struct ast_word rest;
	bool unset;
	const struct value *before = NULL;

	if (a->append)
		return vars_append(e, vars_nameref(e, a->name), expand_value(e, a->value));
	if (eval_extends_itself(e, a, &rest))
		before = vars_value(e, a->name, &unset);
	if (!before)
		return expand_value(e, a->value);
	return value_append(e, before, expand_value(e, &rest));
}

/* Is it x=$((...))? */
static bool eval_is_sum(const struct ast_assign *a)
{
	const struct ast_part *p = a->value ? a->value->parts : NULL;

	return p && p->type == PART_ARITH && !p->next && !a->append;
}

/* The values that the assignment may have. */
static struct value *eval_assigned_values(struct expander *e, const struct ast_assign *a)
{
	struct value *first = NULL;
	struct choice c;

	choice_start(e, &c);
	if (eval_is_sum(a))
		c.max = SUMS_MAX;
	while (choice_next(e, &c)) {
		struct value *v = eval_assigned_value(e, a);

		if (first)
			vars_add_values(e, &first, v);
		else
			first = v;
	}
	choice_end(e, &c);
	return first;
}

static void eval_assign_array(struct expander *e, const struct ast_assign *a)
{
	struct words words = { 0 };

	for (const struct ast_word *w = a->items; w && !expand_failed(e); w = w->next)
		expand_word(e, w, &words);
	array_assign(e, vars_nameref(e, a->name), &words, a->append);
	words_release(&words);
}

static void eval_assign_element(struct expander *e, const struct ast_assign *a)
{
	struct chars key = { 0 };

	expand_parts(e, a->index->parts, &key, EXPAND_ONE);
	array_set_element(e, vars_nameref(e, a->name), &key, expand_value(e, a->value), a->append);
	chars_release(&key);
}

/* Assign to an array, in each choice, which are branches. */
static void eval_assign_items(struct expander *e, const struct ast_assign *a)
{
	struct choice c;

	choice_start_branches(e, &c);
	while (choice_next(e, &c))
		if (a->is_array)
			eval_assign_array(e, a);
		else
			eval_assign_element(e, a);
	choice_end(e, &c);
}

static void eval_assign(struct expander *e, const struct ast_assign *a, struct shell_assign *out)
{
	bool unset;
	struct value *v;

	expand_charge(e, WORK_ASSIGN);
	e->script->sets_variables |= a->is_array || a->index;
	if (a->is_array || a->index)
		eval_assign_items(e, a);
	else
		vars_set(e, vars_nameref(e, a->name), eval_assigned_values(e, a));
	v = vars_value(e, vars_nameref(e, a->name), &unset);
	out->name = shell_copy(e->arena, a->name, strlen(a->name));
	out->value.start = a->value ? a->value->start : 0;
	out->value.end = a->value ? a->value->end : 0;
	word_make(e, v ? v->v : NULL, v ? v->len : 0, &out->value);
}

/* The assignment x=$(...) or x="$(...)" whose status is that of the command @n; or NULL. */
static const struct ast_assign *eval_output_assign(const struct ast_node *n)
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

static void eval_succeeded(struct expander *e, const struct ast_node *n)
{
	const struct ast_assign *a = eval_output_assign(n);
	const struct assignment *b = a ? vars_get(e, a->name) : NULL;
	struct value *first = NULL, **tail = &first;

	for (const struct value *v = b ? b->values : NULL; v; v = v->other) {
		struct value *whole = value_make(e, v->v, v->len);

		for (uint32_t i = 0; i < whole->len; i++) {
			struct shell_char *c = &whole->v[i];

			if (char_is_known(c))
				c->name = 0;
			else if (char_is_unknown(c))
				*c = char_unknown(e, expand_name_text(e, c->name), c->kind, c->at);
		}
		*tail = whole;
		tail = &whole->other;
	}
	if (first)
		vars_set(e, a->name, first);
}

static unsigned eval_declare_array(struct expander *e, uint32_t index, const char *name)
{
	const struct shell_command *c = &e->script->commands[index];

	return builtin_declare_array(e, c->words, c->word_count, name);
}

/* The assignments of a command; those before a name hold for this command only. */
static void eval_assigns(struct expander *e, const struct ast_node *n, uint32_t index)
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
		if (n->words && !a->late)
			vars_local(e, &e->prefix, a->name);
		unsigned attributes = a->late ? eval_declare_array(e, index, a->name) : 0;

		eval_assign(e, a, &assigns[count++]);
		if (n->words && !a->late)
			vars_export(e, a->name);
		if (attributes)
			vars_set_attributes(e, a->name, attributes, 0);
	}
	struct shell_command *c = &e->script->commands[index];

	c->assigns = assigns;
	c->assign_count = count;
}

/* ---- words ---- */

static bool eval_is_assignment_word(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;

	return p && p->type == PART_TEXT && !p->quoted && memchr(p->text.s, '=', p->text.len);
}

static void eval_words(struct expander *e, const struct ast_node *n, uint32_t index)
{
	struct words words = { 0 };
	bool declares = false;

	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next) {
		if (declares && eval_is_assignment_word(w)) {
			struct shell_word one;

			expand_declared(e, w, &one);
			word_add(e, &words, &one);
		} else {
			expand_word(e, w, &words);
		}
		if (words.len == 1 && shell_word_constant(&words.v[0]))
			declares = builtin_declares(words.v[0].text.s);
	}
	eval_set_words(e, index, &words);
	words_release(&words);
}

/* ---- the command ---- */

/* Go behind command and builtin. Returns the name of what runs; NULL: not known. */
static const char *eval_skip_prefix(const struct shell_word **words, size_t *count)
{
	const char *name = *count > 0 ? shell_word_constant(*words) : NULL;

	while (name && *count > 1 && (name[0] == 'c' || name[0] == 'b') &&
	       (strcmp(name, "command") == 0 || strcmp(name, "builtin") == 0) &&
	       (*words)[1].text.s[0] != '-') {
		name = shell_word_constant(&(*words)[1]);
		(*words)++;
		(*count)--;
	}
	return name;
}

static enum status eval_run(struct expander *e, const struct shell_word *words, size_t count)
{
	const char *name = eval_skip_prefix(&words, &count);
	size_t mark = vars_mark(e);
	struct function *f;
	enum status s;

	f = name ? call_find_function(e, name) : NULL;
	if (f && !f->active && f->gone == SHELL_NONE)
		return call_function(e, f, words, count);
	if (f && !f->active) {
		call_function(e, f, words, count);
		join_maybe(e, mark, NULL);
	}
	if (name && builtin_run(e, words, count, &s))
		return s;
	return output_run(e, words, count);
}

/* Record the command with the values of one choice. Returns its index, or SHELL_NONE. */
static uint32_t eval_record(struct expander *e, const struct ast_node *n)
{
	uint32_t index = eval_open_command(e, n->start, n->end);

	if (index == SHELL_NONE)
		return index;
	eval_words(e, n, index);
	eval_redirects(e, n->redirects, index);
	eval_assigns(e, n, index);
	eval_close_command(e, index);
	struct shell_command *c = &e->script->commands[index];

	c->input = eval_input_word(e);
	c->piped_from = e->io.piped_from;
	c->version = e->memory->variables.version;
	return index;
}

static struct alias *eval_alias_of(struct expander *e, const struct ast_node *n)
{
	if (!n->words || !n->words->simple || !e->memory->alias_lists)
		return NULL;
	const struct ast_text *t = &n->words->parts->text;
	char name[64];

	if (t->len >= sizeof(name))
		return NULL;
	memcpy(name, t->s, t->len);
	name[t->len] = '\0';
	return call_find_alias(e, name);
}

/* exec < FILE: the redirections are those of the shell itself from here on. */
static bool eval_is_exec(const struct shell_command *c)
{
	return c->word_count == 1 && strcmp(c->words[0].text.s, "exec") == 0;
}

/* Run the command @index of the script, which was recorded for @n. */
static enum status eval_recorded(struct expander *e, const struct ast_node *n, uint32_t index,
				 struct alias *alias)
{
	/* eval_run() may reallocate script->commands: it gets the words, not the command. */
	const struct shell_command *recorded = &e->script->commands[index];
	const struct shell_word *words = recorded->words;
	size_t count = recorded->word_count;
	enum status s;

	if (count == 0) {
		e->last_word = NULL;
		return eval_output_assign(n) ? STATUS_UNKNOWN : STATUS_OK;
	}
	e->breaks += strcmp(words[0].text.s, "break") == 0;
	if (alias && !alias->active)
		s = call_alias(e, alias, words, count);
	else
		s = eval_run(e, words, count);
	e->script->commands[index].sourced = e->sourced;
	e->sourced = false;
	e->last_word = &words[count - 1];
	return s;
}

/* Record and run the command in the present choice. Returns its index, or SHELL_NONE. */
static uint32_t eval_choose(struct expander *e, const struct ast_node *n, struct alias *alias,
			    struct choice *c, enum status *status)
{
	uint32_t index = eval_record(e, n);

	if (index == SHELL_NONE || expand_failed(e))
		return index;
	choice_enter(e, c);
	*status = eval_recorded(e, n, index, alias);
	choice_leave(e, c);
	if (e->choice_count > CALL_CHOICES * c->found)
		e->choice_count = CALL_CHOICES * c->found;
	return index;
}

/* The choices of a command are branches, of which one runs. */
static enum status eval_simple(struct expander *e, const struct ast_node *n)
{
	struct chars written = { 0 };
	const struct streams io = e->io;
	struct local *prefix = e->prefix;
	uint32_t first = SHELL_NONE, index;
	struct alias *alias = eval_alias_of(e, n);
	enum status s = STATUS_UNKNOWN, one = STATUS_UNKNOWN;
	struct choice c;

	choice_start_branches(e, &c);
	/* Assignments alone are recorded once, and go through the choices by themselves. */
	e->choosing = n->words ? true : c.outer;
	while ((n->words || first == SHELL_NONE) && choice_next(e, &c)) {
		e->io = io;
		e->io.to_file = &written;
		index = eval_choose(e, n, alias, &c, &one);
		if (index == SHELL_NONE)
			break;
		eval_set_output(e, index, &written);
		s = first == SHELL_NONE || s == one ? one : STATUS_UNKNOWN;
		first = first == SHELL_NONE ? index : first;
	}
	choice_end(e, &c);
	if (first != SHELL_NONE && !expand_failed(e) && e->errexit)
		eval_succeeded(e, n);
	chars_release(&written);
	vars_end_locals(e, &e->prefix, prefix);
	if (first == SHELL_NONE || !eval_is_exec(&e->script->commands[first]))
		e->io = io;
	e->io.capture = io.capture;
	e->io.to_file = io.to_file;
	return s;
}

/* ---- lists, pipelines, compound commands ---- */

/* Plain values that a loop is walked for, by the number of loops around it. */
static const size_t loop_values[] = { 64, 8, 4, 2 };

/* The state of a walk, to restore. */
struct place {
	struct streams io;
	const struct shell_word *last_word;
	unsigned context;
	uint32_t parent;
	bool errexit;
};

static struct place eval_save_place(const struct expander *e)
{
	return (struct place){ e->io, e->last_word, e->context, e->parent, e->errexit };
}

static void eval_restore_place(struct expander *e, const struct place *p)
{
	e->io = p->io;
	e->last_word = p->last_word;
	e->context = p->context;
	e->parent = p->parent;
	e->errexit = p->errexit;
}

static enum status eval_negate(enum status s)
{
	return s == STATUS_OK ? STATUS_FAILED : s == STATUS_FAILED ? STATUS_OK : s;
}

/* ---- lists ---- */

/*
 * Members after && and || may be skipped: a variable that they assign then has two possible
 * values, but for the members behind them that run only if they did. The output of a member that
 * cannot run is not captured.
 */
struct chain {
	struct join join, first; /* first: of the members behind &&, before || */
	bool open;
	enum ast_join last; /* of the member before */
	size_t from;        /* where the output of the members before || begins */
	enum status status;
};

static void eval_end_chain(struct expander *e, struct chain *c)
{
	if (!c->open)
		return;
	join_branch(e, &c->join);
	join_end(e, &c->join, true);
	c->open = false;
}

static enum status eval_member(struct expander *e, const struct ast_node *n, enum status before)
{
	unsigned context = e->context;
	struct chars *capture = e->io.capture;
	enum status s;
	bool skipped = (n->join == JOIN_AND && before == STATUS_FAILED) ||
		       (n->join == JOIN_OR && before == STATUS_OK);

	if (n->join != JOIN_ALWAYS)
		e->context |= SHELL_CONDITIONAL;
	if (skipped)
		e->io.capture = NULL;
	s = eval_walk(e, n);
	e->context = context;
	e->io.capture = capture;
	if (skipped)
		return before;
	/* Which of both said so is not known. */
	if (before == STATUS_UNKNOWN && s == (n->join == JOIN_AND  ? STATUS_OK
					      : n->join == JOIN_OR ? STATUS_FAILED
								   : STATUS_UNKNOWN))
		return STATUS_UNKNOWN;
	return s;
}

/* Characters of output so far. */
static size_t eval_written(const struct expander *e)
{
	return e->io.capture ? e->io.capture->len : 0;
}

/* The command that wrote the capture from @from on may not run. */
static void eval_may_be_missing(struct expander *e, size_t from)
{
	for (size_t i = from; i < eval_written(e); i++) {
		struct shell_char *c = &e->io.capture->v[i];

		if (char_is_known(c))
			c->name = expand_name(e, NAME_MISSING);
		else if (char_is_unknown(c))
			c->c = UNKNOWN_ANY;
		expand_charge(e, 1);
	}
}

static bool eval_is_word(const struct ast_word *w, const char *text)
{
	return w && w->simple && w->parts->text.len == strlen(text) &&
	       memcmp(w->parts->text.s, text, w->parts->text.len) == 0;
}

/*
 * What a branch at @start wrote from @middle on is written if what is there from @from on is not.
 * Without a choice at hand both stay.
 */
static void eval_either(struct expander *e, uint32_t start, size_t from, size_t middle)
{
	struct chars *c = e->io.capture;
	struct value *v;
	char hidden[32];

	if (!e->choosing || !c || middle == from || c->len == middle)
		return;
	snprintf(hidden, sizeof(hidden), "|| %u", start);
	v = value_make(e, c->v + from, middle - from);
	v->other = value_make(e, c->v + middle, c->len - middle);
	v = vars_one_of(e, hidden, v);
	c->len = from;
	chars_copy(e, c, v->v, v->len);
}

/* The same of one that may write nothing, as those before it. */
static void eval_other_output(struct expander *e, uint32_t start, size_t from, size_t middle)
{
	if (e->io.capture && middle > from && e->io.capture->len > middle)
		eval_either(e, start, from, middle);
	else
		eval_may_be_missing(e, from);
}

/* Calls of functions that are looked into. */
#define LEAVES_DEPTH 4

/* Is it exit or, unless it is the end of a function's body, return, break or continue? */
static bool eval_is_jump(const struct ast_word *w, bool called)
{
	return eval_is_word(w, "exit") ||
	       (!called && (eval_is_word(w, "return") || eval_is_word(w, "break") ||
			    eval_is_word(w, "continue")));
}

/* Does it end with exit, as { ...; exit; } and a function that does? @called: so many of these. */
static bool eval_leaves_by(struct expander *e, const struct ast_node *n, unsigned called)
{
	struct function *f;

	while (n && !n->background &&
	       (n->type == AST_GROUP || n->type == AST_LIST ||
		(n->type == AST_PIPE && n->body && !n->body->next && !n->negated))) {
		for (n = n->body; n && n->next;)
			n = n->next;
		if (n && n->join == JOIN_OR)
			return false;
	}
	if (!n || n->background || n->type != AST_SIMPLE)
		return false;
	if (eval_is_jump(n->words, called > 0))
		return true;
	if (!n->words || !n->words->simple || called == LEAVES_DEPTH)
		return false;
	f = call_find_function(e, shell_copy(e->arena, n->words->parts->text.s,
					     n->words->parts->text.len));
	return f && eval_leaves_by(e, f->node->body, called + 1);
}

static bool eval_leaves(struct expander *e, const struct ast_node *n)
{
	return eval_leaves_by(e, n, 0);
}

/* a && @n || OTHER: may OTHER write when @n does not run? */
static bool eval_has_other(struct expander *e, const struct ast_node *n)
{
	const struct ast_node *other = n->next;

	return other && other->join == JOIN_OR && !eval_leaves(e, other) &&
	       !eval_is_word(other->words, "true") && !eval_is_word(other->words, ":");
}

/* Walk the member @n of a list, after @before. set -e ignores its failure before && and ||. */
static enum status eval_link(struct expander *e, const struct ast_node *n,
			     const struct ast_node *before, enum status status)
{
	bool errexit = e->errexit, tested = n->next && n->next->join != JOIN_ALWAYS;

	if (n->join == JOIN_AND)
		eval_succeeded(e, before);
	e->errexit &= !tested;
	status = eval_member(e, n, status);
	if (tested)
		e->errexit |= errexit;
	return status;
}

/* Open or close the chain before @n. */
static void eval_chain_to(struct expander *e, struct chain *c, const struct ast_node *n,
			  const struct ast_node *before)
{
	enum status runs = n->join == JOIN_AND ? STATUS_OK : STATUS_FAILED;
	bool either = c->open && n->join == JOIN_OR && c->last == JOIN_AND;

	if (n->join != JOIN_AND || c->last == JOIN_OR)
		eval_end_chain(e, c);
	if (n->join == JOIN_ALWAYS)
		c->from = eval_written(e);
	else if (!c->open && c->status != runs) {
		c->first = c->join;
		join_start(e, &c->join);
		c->join.instead = either ? &c->first : NULL;
		c->join.test = before;
		c->open = true;
	}
}

/* Before @n it is not known if that runs. If it does not, is nothing written? @first: nothing is
 * before it. */
static bool eval_may_skip(struct expander *e, const struct ast_node *n, bool first)
{
	if (n->join == JOIN_AND)
		return !eval_has_other(e, n);
	return n->join == JOIN_OR && first && !eval_leaves(e, n);
}

static enum status eval_list(struct expander *e, const struct ast_node *list)
{
	struct chain c = { .status = STATUS_OK };
	const struct ast_node *before = NULL;
	bool may_end = false;

	for (const struct ast_node *n = list->body; n && !expand_failed(e); n = n->next) {
		size_t from = eval_written(e);
		bool may_skip = c.status == STATUS_UNKNOWN && eval_may_skip(e, n, from == c.from);

		eval_chain_to(e, &c, n, before);
		c.status = eval_link(e, n, before, c.status);
		if (may_skip || may_end)
			eval_may_be_missing(e, from);
		if (n->join == JOIN_OR && c.last == JOIN_AND && !eval_leaves(e, n))
			eval_either(e, n->start, c.from, from);
		c.last = n->join;
		if (n->join == JOIN_OR && eval_leaves(e, n)) {
			eval_end_chain(e, &c);
			eval_succeeded(e, before);
			may_end = true;
		}
		before = n;
	}
	eval_end_chain(e, &c);
	return c.status;
}

/* ---- pipelines ---- */

/* The output of a stage, if any of it is known, is the input of the next. */
static void eval_pipe_input(struct expander *e, const struct chars *output)
{
	e->io.input = eval_has_known(output) ? value_make(e, output->v, output->len) : NULL;
	e->io.input_word = NULL;
}

/* With lastpipe the last stage may change the variables of the shell. */
static enum status eval_stage(struct expander *e, const struct ast_node *n, struct chars *output)
{
	size_t mark = vars_mark(e);
	enum status s;

	e->io.capture = output;
	s = eval_walk(e, n);
	if (e->lastpipe && !n->next)
		join_maybe(e, mark, NULL);
	else
		vars_undo(e, mark);
	return s;
}

/* Enter a subshell; eval_restore_place() leaves it. */
static void eval_enter_subshell(struct expander *e)
{
	unsigned depth = shell_subshell_depth(e->context);

	depth += depth < SHELL_SUBSHELL_DEPTH_MAX;
	e->context = (e->context & SHELL_CONTEXT_MASK) | SHELL_IN_SUBSHELL |
		     depth << SHELL_DEPTH_SHIFT | ++e->subshells << SHELL_SUBSHELL_SHIFT;
}

static enum status eval_pipe(struct expander *e, const struct ast_node *pipe)
{
	struct place place = eval_save_place(e);
	enum status s = STATUS_OK;

	if (!pipe->body || !pipe->body->next) {
		s = pipe->body ? eval_walk(e, pipe->body) : STATUS_OK;
		return pipe->negated ? eval_negate(s) : s;
	}
	for (const struct ast_node *n = pipe->body; n && !expand_failed(e); n = n->next) {
		struct chars output = { 0 };
		uint32_t first = (uint32_t)e->script->command_count;

		expand_charge(e, WORK_STAGE);
		eval_enter_subshell(e);
		s = eval_stage(e, n, n->next ? &output : place.io.capture);
		eval_restore_place(e, &place);
		if (e->script->command_count > first)
			e->io.piped_from = first;
		eval_pipe_input(e, &output);
		chars_release(&output);
	}
	eval_restore_place(e, &place);
	return pipe->negated ? eval_negate(s) : s;
}

/* ---- branches ---- */

/* Walk a condition: set -e ignores its failure. */
static void eval_condition(struct expander *e, const struct ast_node *n)
{
	bool errexit = e->errexit;

	e->errexit = false;
	eval_walk(e, n);
	e->errexit |= errexit;
}

/* Branches of which one runs, and writes its output instead of the others. */
struct branches {
	struct join join;
	size_t from;  /* where their output begins */
	bool several; /* one has been walked */
};

static enum status eval_branch(struct expander *e, struct branches *b, const struct ast_node *body)
{
	size_t middle = eval_written(e);
	enum status s = eval_walk(e, body);

	if (b->several)
		eval_other_output(e, body->start, b->from, middle);
	b->several = true;
	if (eval_leaves(e, body))
		join_leaving(e, &b->join);
	else
		join_branch(e, &b->join);
	return s;
}

/* @all: it is certain that one of them runs. */
static void eval_end_branches(struct expander *e, struct branches *b, bool all)
{
	join_end(e, &b->join, !all);
	if (!all)
		eval_may_be_missing(e, b->from);
}

/* Walk the condition before a branch of @b. That of an elif may not be reached. */
static void eval_if_condition(struct expander *e, struct branches *b, const struct ast_node *n)
{
	struct chars *capture = e->io.capture;
	size_t mark = vars_mark(e);

	e->io.capture = NULL;
	eval_condition(e, n);
	e->io.capture = capture;
	if (b->several)
		join_maybe(e, mark, NULL);
	b->join.mark = vars_mark(e);
}

static enum status eval_if(struct expander *e, const struct ast_node *n)
{
	struct branches b = { .join.test = n, .from = eval_written(e) };
	enum status s = STATUS_UNKNOWN;
	bool has_else;

	for (; n && n->type == AST_IF && !expand_failed(e); n = n->other) {
		eval_if_condition(e, &b, n->condition);
		e->context |= SHELL_CONDITIONAL;
		s = eval_branch(e, &b, n->body);
	}
	has_else = n && !expand_failed(e);
	if (has_else)
		eval_branch(e, &b, n);
	eval_end_branches(e, &b, has_else);
	return s == STATUS_OK ? STATUS_UNKNOWN : s;
}

/* Is a pattern of it a star, which matches all? */
static bool eval_matches_all(const struct ast_case *c)
{
	for (const struct ast_word *w = c->patterns; w; w = w->next) {
		const struct ast_part *p = w->parts;

		if (p && !p->next && p->type == PART_TEXT && !p->quoted && p->text.len == 1 &&
		    p->text.s[0] == '*')
			return true;
	}
	return false;
}

static enum status eval_case(struct expander *e, const struct ast_node *n)
{
	struct chars unused = { 0 };
	struct branches b = { .join.test = n, .from = eval_written(e) };
	bool all = false;

	if (n->words)
		expand_parts(e, n->words->parts, &unused, EXPAND_ONE);
	b.join.mark = vars_mark(e);
	e->context |= SHELL_CONDITIONAL;
	for (const struct ast_case *c = n->cases; c && !expand_failed(e); c = c->next) {
		for (const struct ast_word *w = c->patterns; w; w = w->next)
			expand_parts(e, w->parts, &unused, EXPAND_PATTERN);
		eval_branch(e, &b, c->body);
		all |= eval_matches_all(c);
	}
	eval_end_branches(e, &b, all);
	chars_release(&unused);
	return STATUS_UNKNOWN;
}

/* ---- loops ---- */

/*
 * Walk the body of a loop that runs any number of times. The @first turn is followed by a second
 * one if it assigned a variable, so that the body sees its own values: a turn begins with what the
 * one before has left.
 */
static void eval_loop(struct expander *e, const struct ast_node *n, bool first)
{
	size_t mark = vars_mark(e), body;

	if (n->condition)
		eval_condition(e, n->condition);
	body = vars_mark(e);
	eval_walk(e, n->body);
	if (first && vars_mark(e) != mark && e->loops <= 2 && !expand_failed(e))
		eval_loop(e, n, false);
	join_maybe(e, body, n);
}

/* Values of i in for ((i=0; i<n; i++)) that are followed one by one. */
#define TURNS_MAX 6u

/* How many values i has behind @first, if @test is i<limit or i>limit; more than RANGE_MAX: that is
 * not known. *@down: each is less than the one before. */
static uint64_t eval_turns(struct expander *e, const struct chars *test, int64_t first, bool *down)
{
	size_t at = 0, from;
	int64_t limit;

	while (at < test->len && test->v[at].c != '<' && test->v[at].c != '>')
		at++;
	*down = at < test->len && test->v[at].c == '>';
	from = at + 1 + (at + 1 < test->len && test->v[at + 1].c == '=');
	if (from >= test->len ||
	    !expand_arith(e, &(struct chars){ .v = test->v + from, .len = test->len - from },
			  &limit))
		return UINT64_MAX;
	if (*down ? limit > first : limit < first)
		return 0;
	return (*down ? (uint64_t)first - (uint64_t)limit : (uint64_t)limit - (uint64_t)first) -
	       (from == at + 1 && limit != first);
}

/* i of for ((i=2; i<65535; i++)), which is @first, has the next values too, and others. */
static void eval_note_range(struct expander *e, const struct ast_node *n, const char *name,
			    const struct chars *test, int64_t first, bool by_one)
{
	bool down;
	uint64_t turns = eval_turns(e, test, first, &down);
	bool range = turns > RANGE_MAX && turns <= INT64_MAX;
	struct value *all = NULL;
	char number[24];

	for (uint64_t i = 0; i <= turns && i <= TURNS_MAX && (i == 0 || !range); i++) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)((uint64_t)first + (down ? 0 - i : i)));
		vars_add_values(e, &all, value_text(e, number, n->start));
	}
	if (turns > TURNS_MAX || !by_one)
		vars_add_values(e, &all, value_unknown_set(e, range ? SHELL_RANGE : NAME_NUMBER,
							   n->start));
	vars_set(e, name, all);
}

static size_t eval_semicolon(const struct chars *text, size_t at)
{
	while (at < text->len && text->v[at].c != ';')
		at++;
	return at;
}

/* The header of for ((i=1; ...)): the first assignment, and how far i goes. *@name: i, or "". */
static void eval_header(struct expander *e, const struct ast_node *n, char name[64])
{
	struct chars text = { 0 };
	size_t first_end, test_end;
	const char *start = NULL, *step = NULL;
	int64_t first;
	bool unset;

	expand_parts(e, n->words->parts, &text, EXPAND_ONE);
	first_end = eval_semicolon(&text, 0);
	test_end = eval_semicolon(&text, first_end + 1);
	if (test_end < text.len) {
		start = chars_string(e, text.v, first_end);
		step = chars_string(e, text.v + test_end, text.len - test_end);
	}
	if (start && sscanf(start, " %63[A-Za-z0-9_]", name) == 1 &&
	    expand_arith(e, &(struct chars){ .v = text.v, .len = first_end }, &first) &&
	    vars_value(e, name, &unset))
		eval_note_range(e, n, name,
				&(struct chars){ .v = text.v + first_end + 1,
						 .len = test_end - first_end - 1 },
				first, step && (strstr(step, "++") || strstr(step, "--")));
	else
		name[0] = '\0';
	chars_release(&text);
}

/* Behind the loop @name has a value that it has in no turn. */
static void eval_after_header(struct expander *e, const struct ast_node *n, const char *name)
{
	struct value *all = NULL;
	const struct assignment *b = vars_get(e, name);

	if (b)
		vars_add_values(e, &all, b->values);
	vars_add_values(e, &all, value_unknown_set(e, NAME_NUMBER, n->start));
	vars_set(e, name, all);
}

/* A read that ends a loop finds no more of a known input: its variables are empty then. */
static void eval_end_of_input(struct expander *e, const struct ast_node *n)
{
	struct place place = eval_save_place(e);
	size_t mark = vars_mark(e);

	n = ast_single(n);
	if (!e->io.input || !n || n->type != AST_SIMPLE || !eval_is_word(n->words, "read"))
		return;
	eval_set_input(e, value_text(e, "", n->start));
	eval_walk(e, n);
	join_maybe(e, mark, NULL);
	eval_restore_place(e, &place);
}

static enum status eval_while(struct expander *e, const struct ast_node *n)
{
	char name[64] = "";

	if (n->words)
		eval_header(e, n, name);
	e->context |= SHELL_IN_LOOP | SHELL_CONDITIONAL;
	e->loops++;
	eval_loop(e, n, true);
	e->loops--;
	eval_end_of_input(e, n->condition);
	if (name[0])
		eval_after_header(e, n, name);
	return STATUS_UNKNOWN;
}

static bool eval_is_plain_value(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++) {
		char c = w->text.s[i];

		if (w->kind[i] != SHELL_LITERAL ||
		    !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

static void eval_values(struct expander *e, const struct ast_node *n, const struct words *values)
{
	size_t level = e->loops < 3 ? e->loops : 3, plain = 0;
	bool skipped = false;

	e->loops++;
	for (size_t i = 0; i < values->len && !expand_failed(e); i++) {
		if (eval_is_plain_value(&values->v[i]) && plain++ >= loop_values[level]) {
			skipped = true;
			continue;
		}
		vars_set(e, n->name, word_value(e, &values->v[i]));
		eval_walk(e, n->body);
	}
	if (skipped || values->len == 0) {
		vars_set(e, n->name, value_unknown(e, "{..}", n->start));
		eval_walk(e, n->body);
	}
	e->loops--;
}

/* Is @word among the first @count of @words? Unknown parts differ. */
static bool eval_has_word(struct expander *e, const struct words *words, size_t count,
			  const struct shell_word *word)
{
	expand_charge(e, count);
	for (size_t i = 0; i < count; i++) {
		const struct shell_word *w = &words->v[i];

		if (w->text.len == word->text.len && !w->unknown_count && !w->gone_to &&
		    memcmp(w->text.s, word->text.s, w->text.len) == 0 &&
		    memcmp(w->kind, word->kind, w->text.len) == 0)
			return true;
	}
	return false;
}

/*
 * The words of a loop, in each choice of values; those of later choices that are new. @last: the
 * last one of each choice, which the variable has afterwards. Returns whether there are several.
 */
static bool eval_loop_words(struct expander *e, const struct ast_node *n, struct words *out,
			    struct value **last)
{
	static struct ast_param all = { .name = "@" };
	struct ast_part part = { .type = PART_PARAM, .quoted = true, .param = &all };
	struct ast_word word = { .parts = &part, .start = n->start, .end = n->end };
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c)) {
		struct words words = { 0 };
		size_t before = out->len;

		if (n->plain_for)
			expand_word(e, &word, &words);
		for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next)
			expand_word(e, w, &words);
		for (size_t i = 0; i < words.len && !expand_failed(e); i++)
			if (!eval_has_word(e, out, before, &words.v[i]))
				word_add(e, out, &words.v[i]);
		if (words.len > 0)
			vars_add_values(e, last, word_value(e, &words.v[words.len - 1]));
		words_release(&words);
	}
	choice_end(e, &c);
	return c.count > 1;
}

/* Values of a loop with a break that are looked at for the one that it ends with. */
#define BROKEN_MAX 16

/* Behind the loop over @words: @last, or any of them if it was left before. */
static void eval_after_words(struct expander *e, const struct ast_node *n,
			     const struct words *words, struct value *last, bool several,
			     bool left)
{
	const struct assignment *b = vars_get(e, n->name);

	for (size_t i = 0; left && i < words->len && i < BROKEN_MAX; i++)
		vars_add_values(e, &last, word_value(e, &words->v[i]));
	if (!b || !last || !(several || last->other))
		return;
	vars_add_values(e, &last, b->values); /* the body may assign it */
	vars_set(e, n->name, last);
}

/* May there be no turn, since all of @words come from $x or $(...), which may be empty? */
static bool eval_may_have_no_words(const struct words *words)
{
	for (size_t i = 0; i < words->len; i++) {
		const struct shell_word *w = &words->v[i];

		if (w->quoted || w->text.len != 1 || w->kind[0] != SHELL_UNKNOWN_FIELDS)
			return false;
	}
	return true;
}

static enum status eval_for(struct expander *e, const struct ast_node *n)
{
	struct words values = { 0 };
	struct value *last = NULL;
	unsigned breaks = e->breaks;
	bool several = eval_loop_words(e, n, &values, &last);
	size_t mark = vars_mark(e);

	e->context |= SHELL_IN_LOOP;
	eval_values(e, n, &values);
	eval_after_words(e, n, &values, last, several, e->breaks != breaks);
	if (eval_may_have_no_words(&values))
		join_maybe(e, mark, NULL);
	words_release(&values);
	return STATUS_UNKNOWN;
}

/* ---- the rest ---- */

/* The operands of -v, -eq and the like are names of elements, or computed. */
static void eval_test_keys(struct expander *e, const struct words *words)
{
	static const char *const computes[] = { "-v",  "-R",  "-eq", "-ne", "-lt",
						"-le", "-gt", "-ge", NULL };
	bool has_keys = false;

	for (size_t i = 0; i < words->len; i++)
		has_keys |= words->v[i].text.s[0] == '-' &&
			    str_is_listed(words->v[i].text.s, computes);
	for (size_t i = 0; i < words->len && has_keys; i++)
		call_key(e, word_value(e, &words->v[i]), 0);
}

static enum status eval_test(struct expander *e, const struct ast_node *n)
{
	uint32_t index = eval_open_command(e, n->start, n->end);
	struct words words = { 0 };
	struct shell_word open = { .start = n->start, .end = n->start + 2 };

	if (index == SHELL_NONE)
		return STATUS_UNKNOWN;
	word_make(e,
		  (struct shell_char[]){ { n->start, 0, CHAR_QUOTED, '[' },
				   { n->start + 1, 0, CHAR_QUOTED, '[' } },
		  2, &open);
	word_add(e, &words, &open);
	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next) {
		struct shell_word word;

		expand_one(e, w, &word);
		word_add(e, &words, &word);
	}
	eval_close_command(e, index);
	e->script->commands[index].context |= SHELL_TEST;
	eval_set_words(e, index, &words);
	eval_test_keys(e, &words);
	words_release(&words);
	return STATUS_UNKNOWN;
}

static enum status eval_arith(struct expander *e, const struct ast_node *n)
{
	struct chars text = { 0 };
	int64_t result = 0;
	bool known;

	expand_parts(e, n->words->parts, &text, EXPAND_ONE);
	known = expand_arith(e, &text, &result);
	chars_release(&text);
	return !known ? STATUS_UNKNOWN : result ? STATUS_OK : STATUS_FAILED;
}

/* The caller puts back the place. */
static enum status eval_compound(struct expander *e, const struct ast_node *n)
{
	switch (n->type) {
	case AST_LIST:
		return eval_list(e, n);
	case AST_PIPE:
		return eval_pipe(e, n);
	case AST_GROUP:
	case AST_SUBSHELL:
		return n->body ? eval_walk(e, n->body) : STATUS_OK;
	case AST_IF:
		return eval_if(e, n);
	case AST_WHILE:
		e->script->sets_variables |= n->words != NULL; /* for ((...)) */
		return eval_while(e, n);
	case AST_FOR:
		e->script->sets_variables = true;
		return eval_for(e, n);
	case AST_CASE:
		return eval_case(e, n);
	case AST_ARITH:
		e->script->sets_variables = true;
		return n->words ? eval_arith(e, n) : STATUS_UNKNOWN;
	case AST_TEST:
		return eval_test(e, n);
	default:
		return STATUS_UNKNOWN;
	}
}

/* Record the redirections of a compound command, and walk that; again only for another input. */
static enum status eval_redirected_once(struct expander *e, const struct ast_node *n,
					struct choice *c)
{
	uint32_t index = eval_open_command(e, n->start, n->end);
	const struct shell_word *input;
	enum status s = STATUS_UNKNOWN;

	if (index == SHELL_NONE)
		return s;
	eval_redirects(e, n->redirects, index);
	eval_close_command(e, index);
	input = eval_input_word(e);
	e->script->commands[index].input = input;
	choice_enter(e, c);
	if (c->number == 1 || (input && e->others < OTHERS_MAX))
		s = eval_compound(e, n);
	choice_leave(e, c);
	return s;
}

/* They are recorded as a command for each choice of values, before the commands inside. */
static enum status eval_redirected(struct expander *e, const struct ast_node *n)
{
	struct place place = eval_save_place(e);
	struct chars written = { 0 };
	enum status s = STATUS_UNKNOWN;
	struct choice c;

	choice_start_branches(e, &c);
	while (choice_next(e, &c)) {
		uint32_t index = (uint32_t)e->script->command_count;

		eval_restore_place(e, &place);
		e->io.to_file = &written;
		s = eval_redirected_once(e, n, &c);
		if (index < e->script->command_count)
			eval_set_output(e, index, &written);
	}
	choice_end(e, &c);
	chars_release(&written);
	return c.join.branches > 0 ? STATUS_UNKNOWN : s;
}

static enum status eval_node(struct expander *e, const struct ast_node *n)
{
	if (n->type == AST_SIMPLE)
		return eval_simple(e, n);
	return n->redirects ? eval_redirected(e, n) : eval_compound(e, n);
}

enum status eval_walk(struct expander *e, const struct ast_node *n)
{
	enum status s;

	if (n->type == AST_SIMPLE && !n->background)
		return eval_simple(e, n);
	if (n->type == AST_FUNCTION) {
		call_define(e, n);
		return STATUS_OK;
	}
	if (!expand_enter(e, n->start))
		return STATUS_UNKNOWN;
	expand_charge(e, n->background ? WORK_BACKGROUND : WORK_COMPOUND);
	struct place place = eval_save_place(e);
	size_t mark = vars_mark(e);
	bool apart = n->type == AST_SUBSHELL || n->background;

	if (n->background)
		e->context |= SHELL_BACKGROUND;
	if (apart)
		eval_enter_subshell(e);
	s = eval_node(e, n);
	if (apart) {
		vars_undo(e, mark);
	} else {
		place.last_word = e->last_word;
		place.errexit = e->errexit;
	}
	if (!apart && !n->redirects && n->body && /* exec < FILE */
	    (n->type == AST_LIST || (n->type == AST_PIPE && !n->body->next))) {
		place.io.input = e->io.input;
		place.io.input_word = e->io.input_word;
		place.io.descriptors = e->io.descriptors;
	}
	eval_restore_place(e, &place);
	if (n->type == AST_SUBSHELL && n->name) { /* coproc NAME: the numbers of its pipes */
		e->script->sets_variables = true;
		vars_set(e, n->name, value_unknown(e, n->name, n->start));
	}
	expand_leave(e);
	return n->background ? STATUS_OK : s;
}

/* ---- substitutions ---- */

/* Shells leave out the NULs of an output, as of find -print0. */
static void eval_drop_nuls(struct chars *c, size_t from)
{
	size_t n = from;

	for (size_t i = from; i < c->len; i++)
		if (c->v[i].c || !char_is_known(&c->v[i]))
			c->v[n++] = c->v[i];
	c->len = n;
}

/* Is @n no more than <FILE? Then $(<FILE) is what is in the file, as of $(cat FILE). */
static bool eval_is_file(const struct ast_node *n)
{
	n = ast_single(n);
	return n->type == AST_SIMPLE && !n->words && !n->assigns && n->redirects &&
	       !n->redirects->next && n->redirects->op == SHELL_FROM && n->redirects->fd <= 0;
}

/* Walk the @list in a word, in a subshell whose output @out gets. False: it is too deep. */
static bool eval_inside(struct expander *e, const struct ast_node *list, uint32_t at,
			enum shell_context inside, struct chars *out)
{
	const unsigned either = SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS;
	struct place place = eval_save_place(e);
	size_t mark = vars_mark(e);

	if (!expand_enter(e, at))
		return false;
	e->context = (e->context & ~either) | inside;
	eval_enter_subshell(e);
	e->io.capture = out;
	eval_walk(e, list);
	vars_undo(e, mark);
	eval_restore_place(e, &place);
	expand_leave(e);
	return true;
}

void eval_substitution(struct expander *e, const struct ast_node *list, struct chars *out)
{
	struct shell_char content;
	size_t from = out->len;

	if (!list)
		return;
	expand_charge(e, WORK_SUBSTITUTION);
	if (!eval_inside(e, list, list->start, SHELL_IN_SUBSTITUTION, out))
		return;
	if (eval_is_file(list)) {
		content = char_unknown(e, "$(cat)", CHAR_UNKNOWN, list->start);
		chars_copy(e, out, &content, 1);
	}
	eval_drop_nuls(out, from);
	while (out->len > 0 && out->v[out->len - 1].c == '\n' &&
	       out->v[out->len - 1].kind == CHAR_QUOTED)
		out->len--;
}

void eval_process(struct expander *e, const struct ast_part *p, struct chars *out)
{
	struct chars output = { 0 };
	uint32_t at = p->text.at ? p->text.at[0] : p->text.pos;
	bool input = p->type == PART_INPUT;

	eval_input_word(e); /* one word for the command and for what is in >(...) */
	if (!eval_inside(e, p->list, at, SHELL_IN_PROCESS, input ? &output : NULL))
		return;
	if (input) {
		e->process = shell_alloc(e->arena, sizeof(*e->process));
		word_make(e, output.v, output.len, e->process);
	}
	chars_copy(e, out,
		   &(struct shell_char){ at, expand_name(e, input ? "<(" : ">("), CHAR_UNKNOWN,
				   UNKNOWN_SET },
		   1);
	chars_release(&output);
}
