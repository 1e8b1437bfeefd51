/* Lists, pipelines and compound commands, walked as a shell would run them. */
#include <string.h>

#include "shell/expand.h"

/* Values of a plain kind that a loop is walked for, by the loops around it. */
static const size_t loop_values[] = { 64, 8, 4, 2 };

/* Where a walk is, to come back to. */
struct place {
	struct cells *capture;
	struct value *input;
	struct shell_word *input_word;
	struct params params;
	unsigned context;
	uint32_t piped_from, parent;
	bool errexit;
};

static struct place save_place(const struct expander *e)
{
	return (struct place){ e->capture, e->input, e->input_word, e->params, e->context,
			       e->piped_from, e->parent, e->errexit };
}

static void restore_place(struct expander *e, const struct place *p)
{
	e->capture = p->capture;
	e->input = p->input;
	e->input_word = p->input_word;
	e->params = p->params;
	e->context = p->context;
	e->piped_from = p->piped_from;
	e->parent = p->parent;
	e->errexit = p->errexit;
}

static enum status negate(enum status s)
{
	return s == STATUS_OK ? STATUS_FAILED : s == STATUS_FAILED ? STATUS_OK : s;
}

/* ---- lists ---- */

/*
 * Members behind && and || may be skipped: what they assign is then one of two
 * values. Output of a member that surely does not run is not captured.
 */
struct chain {
	struct join join;
	bool open;
	enum status status;
};

static void end_chain(struct expander *e, struct chain *c)
{
	if (!c->open)
		return;
	join_branch(e, &c->join);
	join_end(e, &c->join, true);
	c->open = false;
}

static enum status walk_member(struct expander *e, const struct ast_node *n, enum status before)
{
	unsigned context = e->context;
	struct cells *capture = e->capture;
	enum status s;
	bool skipped = (n->join == JOIN_AND && before == STATUS_FAILED) ||
		       (n->join == JOIN_OR && before == STATUS_OK);

	if (n->join != JOIN_ALWAYS)
		e->context |= SHELL_CONDITIONAL;
	if (skipped)
		e->capture = NULL;
	s = expand_walk(e, n);
	e->context = context;
	e->capture = capture;
	return skipped ? before : s;
}

/* What was written from @from on: the command that wrote it may not run. */
static void may_be_missing(struct expander *e, size_t from)
{
	size_t len = e->capture ? e->capture->len : 0;

	for (size_t i = from; i < len; i++) {
		struct cell *c = &e->capture->v[i];

		if (cell_is_known(c))
			c->name = expand_name(e, NAME_MISSING);
		else if (cell_is_unknown(c))
			c->c = UNKNOWN_ANY;
		expand_charge(e, 1);
	}
}

static bool is_word(const struct ast_word *w, const char *text)
{
	return w && w->simple && w->parts->text.len == strlen(text) &&
	       memcmp(w->parts->text.s, text, w->parts->text.len) == 0;
}

/* exit, return, and { ...; exit; } */
static bool leaves(const struct ast_node *n)
{
	if (n->type == AST_GROUP)
		n = n->body;
	if (n && n->type == AST_LIST)
		for (n = n->body; n && n->next;)
			n = n->next;
	return n && n->type == AST_SIMPLE && (is_word(n->words, "exit") ||
					      is_word(n->words, "return"));
}

/* Behind a && @n || OTHER, OTHER writes when @n does not run. */
static bool has_other(const struct ast_node *n)
{
	const struct ast_node *other = n->next;

	return other && other->join == JOIN_OR && !leaves(other) &&
	       !is_word(other->words, "true") && !is_word(other->words, ":");
}

/* A member of a list, behind @before. Its failure is looked at if && or || follows. */
static enum status walk_link(struct expander *e, const struct ast_node *n,
			     const struct ast_node *before, enum status status)
{
	bool errexit = e->errexit, looked_at = n->next && n->next->join != JOIN_ALWAYS;

	if (n->join == JOIN_AND)
		expand_succeeded(e, before);
	e->errexit &= !looked_at;
	status = walk_member(e, n, status);
	if (looked_at)
		e->errexit |= errexit;
	return status;
}

static enum status walk_list(struct expander *e, const struct ast_node *list)
{
	struct chain c = { .status = STATUS_OK };
	const struct ast_node *before = NULL;
	bool may_end = false;

	for (const struct ast_node *n = list->body; n && !expand_failed(e); n = n->next) {
		size_t from = e->capture ? e->capture->len : 0;
		bool may_skip = n->join == JOIN_AND && c.status == STATUS_UNKNOWN && !has_other(n);

		if (n->join == JOIN_ALWAYS)
			end_chain(e, &c);
		else if (!c.open && c.status == STATUS_UNKNOWN) {
			join_start(e, &c.join);
			c.open = true;
		}
		c.status = walk_link(e, n, before, c.status);
		if (may_skip || may_end)
			may_be_missing(e, from);
		if (n->join == JOIN_OR && leaves(n)) {
			end_chain(e, &c);
			expand_succeeded(e, before);
			may_end = true;
		}
		before = n;
	}
	end_chain(e, &c);
	return c.status;
}

/* ---- pipelines ---- */

/* What a stage wrote is what the next one reads, if any of it is known. */
static void pipe_input(struct expander *e, const struct cells *output)
{
	bool known = false;

	for (size_t i = 0; i < output->len && !known; i++)
		known = output->v[i].kind < CELL_UNKNOWN || output->v[i].kind == CELL_TILDE;
	e->input = known ? value_make(e, output->v, output->len) : NULL;
	e->input_word = NULL;
}

static enum status walk_stage(struct expander *e, const struct ast_node *n, struct cells *output)
{
	size_t mark = vars_mark(e);
	enum status s;

	e->capture = output;
	s = expand_walk(e, n);
	vars_undo(e, mark);
	return s;
}

/* What is inside ends with the place that was saved before. */
static void enter_subshell(struct expander *e)
{
	unsigned depth = shell_subshell_depth(e->context);

	depth += depth < SHELL_SUBSHELL_DEPTH_MAX;
	e->context = (e->context & SHELL_CONTEXT_MASK) | SHELL_IN_SUBSHELL |
		     depth << SHELL_DEPTH_SHIFT | ++e->subshells << SHELL_SUBSHELL_SHIFT;
}

static enum status walk_pipe(struct expander *e, const struct ast_node *pipe)
{
	struct place place = save_place(e);
	enum status s = STATUS_OK;

	if (!pipe->body || !pipe->body->next) {
		s = pipe->body ? expand_walk(e, pipe->body) : STATUS_OK;
		return pipe->negated ? negate(s) : s;
	}
	for (const struct ast_node *n = pipe->body; n && !expand_failed(e); n = n->next) {
		struct cells output = { 0 };
		uint32_t first = (uint32_t)e->script->command_count;

		expand_charge(e, WORK_STAGE);
		enter_subshell(e);
		s = walk_stage(e, n, n->next ? &output : place.capture);
		restore_place(e, &place);
		if (e->script->command_count > first)
			e->piped_from = first;
		pipe_input(e, &output);
		cells_release(&output);
	}
	restore_place(e, &place);
	return pipe->negated ? negate(s) : s;
}

/* ---- branches ---- */

/* Its failure is looked at. */
static void walk_condition(struct expander *e, const struct ast_node *n)
{
	bool errexit = e->errexit;

	e->errexit = false;
	expand_walk(e, n);
	e->errexit |= errexit;
}

static enum status walk_if(struct expander *e, const struct ast_node *n)
{
	enum status s = STATUS_UNKNOWN;
	struct join j;
	bool has_else = false;
	unsigned context = e->context;
	size_t from = e->capture ? e->capture->len : 0;

	join_start(e, &j);
	for (; n && !expand_failed(e); n = n->other) {
		if (n->type != AST_IF) {
			expand_walk(e, n);
			join_branch(e, &j);
			has_else = true;
			break;
		}
		struct cells *capture = e->capture;

		e->capture = NULL;
		walk_condition(e, n->condition);
		e->capture = capture;
		e->context |= SHELL_CONDITIONAL;
		s = expand_walk(e, n->body);
		join_branch(e, &j);
	}
	join_end(e, &j, !has_else);
	if (!has_else)
		may_be_missing(e, from);
	e->context = context;
	return s == STATUS_OK ? STATUS_UNKNOWN : s;
}

static enum status walk_case(struct expander *e, const struct ast_node *n)
{
	struct cells unused = { 0 };
	struct join j;
	unsigned context = e->context;

	if (n->words)
		expand_parts(e, n->words->parts, &unused, EXPAND_ONE);
	join_start(e, &j);
	e->context |= SHELL_CONDITIONAL;
	for (const struct ast_case *c = n->cases; c && !expand_failed(e); c = c->next) {
		for (const struct ast_word *w = c->patterns; w; w = w->next)
			expand_parts(e, w->parts, &unused, EXPAND_PATTERN);
		expand_walk(e, c->body);
		join_branch(e, &j);
	}
	join_end(e, &j, true);
	e->context = context;
	cells_release(&unused);
	return STATUS_UNKNOWN;
}

/* ---- loops ---- */

/*
 * The body runs any number of times. It is walked a second time when it assigned
 * something, so that it sees its own values.
 */
static void walk_repeated(struct expander *e, const struct ast_node *n)
{
	for (int pass = 0; pass < 2 && !expand_failed(e); pass++) {
		struct join j;
		size_t mark = vars_mark(e);
		bool changed;

		if (n->condition)
			walk_condition(e, n->condition);
		join_start(e, &j);
		expand_walk(e, n->body);
		join_branch(e, &j);
		join_end(e, &j, true);
		changed = vars_mark(e) != mark;
		if (!changed || e->loops > 2)
			break;
	}
}

static enum status walk_while(struct expander *e, const struct ast_node *n)
{
	unsigned context = e->context;
	struct cells text = { 0 };

	if (n->words)
		expand_parts(e, n->words->parts, &text, EXPAND_ONE);
	for (size_t i = 0; i < text.len; i++) /* for ((i=1; ...)): what is assigned at first */
		if (text.v[i].c == ';') {
			struct cells start = { .v = text.v, .len = i };
			int64_t result;

			expand_arith(e, &start, &result);
			break;
		}
	cells_release(&text);
	e->context |= SHELL_IN_LOOP | SHELL_CONDITIONAL;
	e->loops++;
	walk_repeated(e, n);
	e->loops--;
	e->context = context;
	return STATUS_UNKNOWN;
}

static bool is_plain_value(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++) {
		char c = w->text.s[i];

		if (w->kind[i] != SHELL_LITERAL ||
		    !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

static void walk_values(struct expander *e, const struct ast_node *n, const struct words *values)
{
	size_t level = e->loops < 3 ? e->loops : 3, plain = 0;
	bool skipped = false;

	e->loops++;
	for (size_t i = 0; i < values->len && !expand_failed(e); i++) {
		if (is_plain_value(&values->v[i]) && plain++ >= loop_values[level]) {
			skipped = true;
			continue;
		}
		vars_set(e, n->name, word_value(e, &values->v[i]));
		expand_walk(e, n->body);
	}
	if (skipped || values->len == 0) {
		vars_set(e, n->name, value_unknown(e, "{..}", n->start));
		expand_walk(e, n->body);
	}
	e->loops--;
}

static enum status walk_for(struct expander *e, const struct ast_node *n)
{
	struct words values = { 0 };
	unsigned context = e->context;

	if (n->plain_for) {
		static struct ast_param all = { .name = "@" };
		struct ast_part part = { .type = PART_PARAM, .quoted = true, .param = &all };
		struct ast_word word = { .parts = &part, .start = n->start, .end = n->end };

		expand_word(e, &word, &values);
	}
	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next)
		expand_word(e, w, &values);
	e->context |= SHELL_IN_LOOP;
	walk_values(e, n, &values);
	e->context = context;
	words_release(&values);
	return STATUS_UNKNOWN;
}

/* ---- the rest ---- */

static enum status walk_test(struct expander *e, const struct ast_node *n)
{
	uint32_t index = expand_new_command(e, n->start, n->end), parent = e->parent;
	struct words words = { 0 };
	struct shell_word open = { .start = n->start, .end = n->start + 2 };

	if (index == SHELL_NONE)
		return STATUS_UNKNOWN;
	word_make(e, (struct cell[]){ { n->start, 0, CELL_QUOTED, '[' },
				      { n->start + 1, 0, CELL_QUOTED, '[' } }, 2, &open);
	word_add(e, &words, &open);
	e->parent = index;
	for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next) {
		struct shell_word word;

		expand_one(e, w, &word);
		word_add(e, &words, &word);
	}
	e->parent = parent;
	struct shell_command *c = &e->script->commands[index];

	c->context |= SHELL_TEST;
	c->words = shell_alloc(e->arena, words.len * sizeof(*words.v));
	memcpy(c->words, words.v, words.len * sizeof(*words.v));
	c->word_count = words.len;
	words_release(&words);
	return STATUS_UNKNOWN;
}

static enum status walk_arith(struct expander *e, const struct ast_node *n)
{
	struct cells text = { 0 };
	int64_t result = 0;
	bool known;

	expand_parts(e, n->words->parts, &text, EXPAND_ONE);
	known = expand_arith(e, &text, &result);
	cells_release(&text);
	return !known ? STATUS_UNKNOWN : result ? STATUS_OK : STATUS_FAILED;
}

/* Redirections of a compound are a command of their own, before what is inside of it. */
static void compound_redirects(struct expander *e, const struct ast_node *n)
{
	if (!n->redirects)
		return;
	uint32_t index = expand_new_command(e, n->start, n->end);

	if (index == SHELL_NONE)
		return;
	expand_redirects(e, n->redirects, index);
	const struct shell_word *input = expand_input_word(e);

	e->script->commands[index].input = input;
}

static enum status walk_compound(struct expander *e, const struct ast_node *n)
{
	compound_redirects(e, n);
	switch (n->type) {
	case AST_LIST:
		return walk_list(e, n);
	case AST_PIPE:
		return walk_pipe(e, n);
	case AST_GROUP:
	case AST_SUBSHELL:
		return n->body ? expand_walk(e, n->body) : STATUS_OK;
	case AST_IF:
		return walk_if(e, n);
	case AST_WHILE:
		return walk_while(e, n);
	case AST_FOR:
		return walk_for(e, n);
	case AST_CASE:
		return walk_case(e, n);
	case AST_ARITH:
		return n->words ? walk_arith(e, n) : STATUS_UNKNOWN;
	case AST_TEST:
		return walk_test(e, n);
	default:
		return STATUS_UNKNOWN;
	}
}

enum status expand_walk(struct expander *e, const struct ast_node *n)
{
	enum status s;

	if (n->type == AST_SIMPLE && !n->background)
		return expand_simple(e, n);
	if (n->type == AST_FUNCTION) {
		expand_define(e, n);
		return STATUS_OK;
	}
	if (!expand_enter(e, n->start))
		return STATUS_UNKNOWN;
	expand_charge(e, n->background ? WORK_BACKGROUND : WORK_COMPOUND);
	struct place place = save_place(e);
	size_t mark = vars_mark(e);
	bool apart = n->type == AST_SUBSHELL || n->background;

	if (n->background)
		e->context |= SHELL_BACKGROUND;
	if (apart)
		enter_subshell(e);
	s = n->type == AST_SIMPLE ? expand_simple(e, n) : walk_compound(e, n);
	if (apart) {
		vars_undo(e, mark);
	} else {
		place.params = e->params;
		place.errexit = e->errexit;
	}
	if (!apart && !n->redirects && n->body && /* exec < FILE */
	    (n->type == AST_LIST || (n->type == AST_PIPE && !n->body->next))) {
		place.input = e->input;
		place.input_word = e->input_word;
	}
	restore_place(e, &place);
	expand_leave(e);
	return n->background ? STATUS_OK : s;
}

/* ---- substitutions ---- */

void expand_substitution(struct expander *e, const struct ast_node *list, struct cells *out)
{
	struct place place = save_place(e);
	size_t mark = vars_mark(e);

	if (!list || !expand_enter(e, list->start))
		return;
	expand_charge(e, WORK_SUBSTITUTION);
	e->context = (e->context & ~(unsigned)SHELL_IN_PROCESS) | SHELL_IN_SUBSTITUTION;
	enter_subshell(e);
	e->capture = out;
	expand_walk(e, list);
	while (out->len > 0 && out->v[out->len - 1].c == '\n' &&
	       out->v[out->len - 1].kind == CELL_QUOTED)
		out->len--;
	vars_undo(e, mark);
	restore_place(e, &place);
	expand_leave(e);
}

void expand_process(struct expander *e, const struct ast_part *p, struct cells *out)
{
	struct place place = save_place(e);
	struct cells output = { 0 };
	size_t mark = vars_mark(e);
	uint32_t at = p->text.at ? p->text.at[0] : p->text.pos;
	bool input = p->type == PART_INPUT;

	if (!expand_enter(e, at))
		return;
	e->context = (e->context & ~(unsigned)SHELL_IN_SUBSTITUTION) | SHELL_IN_PROCESS;
	enter_subshell(e);
	e->capture = input ? &output : NULL;
	expand_walk(e, p->list);
	if (input) {
		e->process = shell_alloc(e->arena, sizeof(*e->process));
		word_make(e, output.v, output.len, e->process);
	}
	cells_copy(e, out, &(struct cell){ at, expand_name(e, input ? "<(" : ">("), CELL_UNKNOWN,
					   UNKNOWN_SET }, 1);
	cells_release(&output);
	vars_undo(e, mark);
	restore_place(e, &place);
	expand_leave(e);
}
