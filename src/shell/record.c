/*
 * The commands of the script. A simple command is recorded once for each choice of values of the
 * variables in its words, and then does what it does to the walk: a function, a builtin, its
 * output. The redirections of a compound command and the words of [[ ]] are commands, too.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Steps, besides those for characters. */
#define WORK_COMMAND 24u

/* Choices of a function's commands, where a word of a command calls it. */
#define CALL_CHOICES 2u

/* ---- a command ---- */

/* Add a command. What stands in its words is inside of it up to record_close(). */
static uint32_t record_open(struct expander *e, uint32_t start, uint32_t end)
{
	struct shell_script *s = e->script;

	expand_charge(e, WORK_COMMAND);
	if (s->command_count == e->command_cap)
		s->commands = mem_grow(s->commands, &e->command_cap, 8, sizeof(*s->commands));
	s->commands[s->command_count] = (struct shell_command){
		.context = e->context,
		.piped_from = e->io.piped_from,
		.parent = e->parent,
		.start = start,
		.end = end,
		.end_version = SHELL_NONE,
	};
	e->parent = (uint32_t)s->command_count++;
	return e->parent;
}

static void record_close(struct expander *e, uint32_t index)
{
	e->parent = e->script->commands[index].parent;
}

static void record_set_words(struct expander *e, uint32_t index, const struct words *words)
{
	struct shell_command *c = &e->script->commands[index];

	c->words = shell_alloc(e->arena, words->len * sizeof(*words->v));
	if (words->len > 0)
		memcpy(c->words, words->v, words->len * sizeof(*words->v));
	c->word_count = words->len;
}

/* Command @index has written @output to a file. */
static void record_set_output(struct expander *e, uint32_t index, struct chars *output)
{
	struct shell_word *word;

	if (chars_any_known(output)) {
		word = shell_alloc(e->arena, sizeof(*word));
		word_make(e, output->v, output->len, word);
		e->script->commands[index].output = word;
	}
	output->len = 0;
}

/* Commands that take one step to mark. */
#define WORK_END 8u

void record_end(struct expander *e, size_t first)
{
	struct shell_script *s = e->script;

	expand_charge(e, (s->command_count - first) / WORK_END);
	for (size_t i = first; i < s->command_count; i++)
		if (s->commands[i].end_version == SHELL_NONE)
			s->commands[i].end_version = e->memory->variables.version;
}

/* ---- simple commands ---- */

static bool record_is_assignment(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;

	return p && p->type == PART_TEXT && !p->quoted && memchr(p->text.s, '=', p->text.len);
}

static void record_words(struct expander *e, const struct ast_node *n, uint32_t index)
{
	struct words words = { 0 };
	bool declares = false;

	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next) {
		if (declares && record_is_assignment(w)) {
			struct shell_word one;

			expand_declared(e, w, &one);
			word_add(e, &words, &one);
		} else {
			expand_word(e, w, &words);
		}
		if (words.len == 1 && shell_word_constant(&words.v[0]))
			declares = builtin_declares(words.v[0].text.s);
	}
	record_set_words(e, index, &words);
	words_release(&words);
}

/* Record the command with the values of the present choice. Returns its index. */
static uint32_t record_choice(struct expander *e, const struct ast_node *n)
{
	uint32_t index = record_open(e, n->start, n->end);

	record_words(e, n, index);
	redirect_all(e, n->redirects, index);
	assign_all(e, n, index);
	record_close(e, index);
	struct shell_command *c = &e->script->commands[index];

	c->input = redirect_input_word(e);
	c->piped_from = e->io.piped_from;
	c->version = e->memory->variables.version;
	return index;
}

/* ---- what it runs ---- */

/* Go behind command and builtin. Returns the name of what runs; NULL: not known. */
static const char *record_skip_prefix(struct call *c)
{
	const char *name = shell_word_constant(c->words);

	while (name && c->count > 1 && (name[0] == 'c' || name[0] == 'b') &&
	       (str_is(name, "command") || str_is(name, "builtin")) &&
	       c->words[1].text.s[0] != '-') {
		c->words++;
		c->count--;
		name = shell_word_constant(c->words);
	}
	return name;
}

/* Bodies of one name, each defined in a branch, that are walked for a call. */
#define BODIES_MAX 3u

/*
 * Call @f, which may not be defined, and those of its name that are then. Returns whether one of
 * them runs for certain. Of two that branches define, one is taken to run, as of if and else.
 */
static bool record_call_any(struct expander *e, struct function *f, const struct call *c)
{
	const struct ast_node *node = NULL; /* a loop defines the same one in each turn */
	bool certain = false;
	unsigned bodies = 0;
	struct join j;

	join_start(e, &j);
	for (; f && !certain && bodies < BODIES_MAX; f = call_older(f)) {
		expand_charge(e, 1);
		certain = f->gone == SHELL_NONE;
		if (f->node == node)
			continue;
		node = f->node;
		bodies++;
		if (!f->active)
			call_function(e, f, c);
		join_branch(e, &j, false);
	}
	join_end(e, &j, bodies < 2);
	return certain;
}

static enum status record_run(struct expander *e, struct call c)
{
	const char *name = record_skip_prefix(&c);
	struct function *f;
	enum status s;

	f = name ? call_find_function(e, name) : NULL;
	if (f && !f->active && f->gone == SHELL_NONE)
		return call_function(e, f, &c);
	if (f && !f->active && record_call_any(e, f, &c))
		return STATUS_UNKNOWN;
	if (name && builtin_run(e, &c, &s))
		return s;
	return output_run(e, &c);
}

static struct alias *record_alias(struct expander *e, const struct ast_node *n)
{
	const char *name = e->memory->alias_lists ? ast_command_name(n, e->arena) : NULL;

	return name ? call_find_alias(e, name) : NULL;
}

/* Run the command @index of the script, which was recorded for @n. */
static enum status record_run_recorded(struct expander *e, const struct ast_node *n, uint32_t index,
				       struct alias *alias)
{
	/* record_run() may reallocate script->commands: it gets the words, not the command. */
	const struct shell_command *recorded = &e->script->commands[index];
	const struct call c = { recorded->words, recorded->word_count };
	enum status s;

	if (c.count == 0) {
		e->last_word = NULL;
		return assign_of_output(n) ? STATUS_UNKNOWN : STATUS_OK;
	}
	branch_note_jump(e, &c);
	if (alias && !alias->active)
		s = call_alias(e, alias, &c);
	else
		s = record_run(e, c);
	e->script->commands[index].sourced = e->sourced;
	e->sourced = false;
	e->last_word = &c.words[c.count - 1];
	return s;
}

/* Record and run the command in the present choice. Returns its index. */
static uint32_t record_and_run(struct expander *e, const struct ast_node *n, struct alias *alias,
			       struct choice *c, enum status *status)
{
	uint32_t index = record_choice(e, n);

	if (expand_failed(e))
		return index;
	choice_enter(e, c);
	*status = record_run_recorded(e, n, index, alias);
	choice_leave(e, c);
	if (e->choice_count > CALL_CHOICES * c->found)
		e->choice_count = CALL_CHOICES * c->found;
	return index;
}

/* exec < FILE: the redirections are those of the shell itself from here on. */
static bool record_is_exec(const struct shell_command *c)
{
	return c->word_count == 1 && str_is(c->words[0].text.s, "exec");
}

/* What each choice of a stage writes begins a line, as of printf %s "$x" | sh. */
static void record_end_line(struct expander *e, struct chars *c)
{
	const struct shell_char *last = c && c->len ? &c->v[c->len - 1] : NULL;

	if (last && last->c != '\n' && last->c != '\0')
		chars_add(e, c, '\n', CHAR_QUOTED, last->at, 0);
}

/* The choices of a command are branches, of which one runs. */
enum status record_simple(struct expander *e, const struct ast_node *n)
{
	struct chars written = { 0 };
	const struct streams io = e->io;
	const struct shell_word *last_word = e->last_word;
	struct local *prefix = e->prefix;
	uint32_t first = SHELL_NONE, index;
	struct alias *alias = record_alias(e, n);
	enum status s = STATUS_UNKNOWN, one = STATUS_UNKNOWN;
	bool chooses = n->words || n->redirects, is_stage = n == e->stage;
	struct choice c;

	choice_start(e, &c);
	/* Assignments alone are recorded once, and go through the choices by themselves. */
	e->choosing = chooses || c.outer;
	while ((chooses || first == SHELL_NONE) && choice_next(e, &c)) {
		if (c.number > 1 && is_stage)
			record_end_line(e, io.capture);
		e->io = io;
		e->io.to_file = &written;
		e->last_word = last_word;
		index = record_and_run(e, n, alias, &c, &one);
		record_set_output(e, index, &written);
		s = first == SHELL_NONE || s == one ? one : STATUS_UNKNOWN;
		first = first == SHELL_NONE ? index : first;
	}
	choice_end(e, &c);
	if (first != SHELL_NONE && !expand_failed(e) && e->errexit)
		assign_succeeded(e, n);
	chars_release(&written);
	vars_end_locals(e, &e->prefix, prefix);
	if (first == SHELL_NONE || !record_is_exec(&e->script->commands[first]))
		e->io = io;
	e->io.capture = io.capture;
	e->io.to_file = io.to_file;
	return s;
}

/* ---- [[ ]] ---- */

/* The operands of -v, -eq and the like are names of elements, or computed. */
static void record_test_keys(struct expander *e, const struct words *words)
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

enum status record_test(struct expander *e, const struct ast_node *n)
{
	uint32_t index = record_open(e, n->start, n->end);
	struct words words = { 0 };
	struct shell_word open = { .start = n->start, .end = n->start + 2 };

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
	record_close(e, index);
	e->script->commands[index].context |= SHELL_TEST;
	record_set_words(e, index, &words);
	record_test_keys(e, &words);
	words_release(&words);
	return STATUS_UNKNOWN;
}

/* ---- redirections of compound commands ---- */

/* Record the redirections in the present choice, and walk the command; again only for another
 * input. */
static enum status record_redirected_once(struct expander *e, const struct ast_node *n,
					  struct choice *c)
{
	uint32_t index = record_open(e, n->start, n->end);
	const struct shell_word *input;
	enum status s = STATUS_UNKNOWN;

	redirect_all(e, n->redirects, index);
	record_close(e, index);
	input = redirect_input_word(e);
	e->script->commands[index].input = input;
	choice_enter(e, c);
	if (c->number == 1 || (input && choice_is_followed(e)))
		s = eval_compound(e, n);
	else
		e->unfollowed = true;
	choice_leave(e, c);
	return s;
}

enum status record_redirected(struct expander *e, const struct ast_node *n)
{
	struct place place = eval_save_place(e);
	struct chars written = { 0 };
	enum status s = STATUS_UNKNOWN;
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c)) {
		uint32_t index = (uint32_t)e->script->command_count;

		eval_restore_place(e, &place);
		e->io.to_file = &written;
		s = record_redirected_once(e, n, &c);
		if (index < e->script->command_count)
			record_set_output(e, index, &written);
	}
	choice_end(e, &c);
	chars_release(&written);
	return c.several ? STATUS_UNKNOWN : s;
}
