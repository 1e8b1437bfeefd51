/*
 * The walk of the syntax tree.
 *
 * It goes through the tree as a shell does: it expands words, assigns variables, opens files and
 * calls the functions of the text. What comes of it are the commands of the script (record.c).
 * Where a shell decides by what is not known here, the walk goes both ways:
 *
 * - A variable has all values that it may have at a place (values.c). A command is recorded once
 *   for each choice of values of the variables in its words (choice.c).
 * - All branches are walked, whether or not they would run (branch.c), and the body of a loop for a
 *   turn and one that follows it (loops.c). A log holds all changes of variables (vars.c): so what
 *   a branch has changed can be taken back, and what all of them have left be joined (join.c).
 *   vars_undo() leaves none of it, as behind a subshell; join_maybe() says that it may have been.
 * - Text that is not known is a character of its own, an unknown one. Known text of a command that
 *   may not run may be missing.
 *
 * All else that a command finds, such as what it reads and writes, is the place of the walk, which
 * eval_walk() puts back behind each command but for what that leaves: $_, set -e, and what exec
 * opens. The words of a command come back here for $(...) and <(...), and functions, eval and
 * aliases for their commands (call.c).
 */
#include "shell/expand.h"

/* Steps, besides those for characters. */
#define WORK_STAGE 20u /* stage of a pipeline */
#define WORK_COMPOUND 3u
#define WORK_BACKGROUND 14u
#define WORK_SUBSTITUTION 48u

/* ---- places and subshells ---- */

struct place eval_save_place(const struct expander *e)
{
	return (struct place){ e->io, e->jumps, e->last_word, e->context, e->parent, e->errexit,
			       e->nounset };
}

void eval_restore_place(struct expander *e, const struct place *p)
{
	e->io = p->io;
	e->jumps = p->jumps;
	e->last_word = p->last_word;
	e->context = p->context;
	e->parent = p->parent;
	e->errexit = p->errexit;
	e->nounset = p->nounset;
}

/* What is as before behind a subshell. */
struct subshell {
	struct place place;
	size_t mark, first; /* command */
	const struct function *functions;
	bool sets_unknown;
};

static struct subshell eval_enter_subshell(struct expander *e)
{
	struct subshell s = { eval_save_place(e), vars_mark(e), e->script->command_count,
			      e->memory->functions, e->sets_unknown };
	unsigned depth = shell_subshell_depth(e->context);

	depth += depth < SHELL_SUBSHELL_DEPTH_MAX;
	e->context = (e->context & SHELL_CONTEXT_MASK) | SHELL_IN_SUBSHELL |
		     depth << SHELL_DEPTH_SHIFT | ++e->subshells << SHELL_SUBSHELL_SHIFT;
	e->jumps = (struct jumps){ .breaks = NULL }; /* they end with it */
	return s;
}

/* Leave the subshell that ends at @at. */
static void eval_leave_subshell(struct expander *e, const struct subshell *s, uint32_t at)
{
	record_end(e, s->first);
	vars_undo(e, s->mark);
	call_leave(e, s->functions, at);
	e->sets_unknown = s->sets_unknown;
	eval_restore_place(e, &s->place);
}

/* ---- pipelines ---- */

enum status eval_negate(enum status s)
{
	return s == STATUS_OK ? STATUS_FAILED : s == STATUS_FAILED ? STATUS_OK : s;
}

/* The output of a stage, if any of it is known, is the input of the next. */
static void eval_pipe_input(struct expander *e, const struct chars *output)
{
	e->io.input = chars_any_known(output) ? value_make(e, output->v, output->len) : NULL;
	e->io.input_word = NULL;
}

/* Walk a stage in a subshell. With lastpipe the last one may change the variables of the shell. */
static enum status eval_stage(struct expander *e, const struct ast_node *n, struct chars *output)
{
	struct subshell sub = eval_enter_subshell(e);
	enum status s;

	if (n->next)
		e->io.capture = output;
	e->stage = n;
	s = eval_walk(e, n);
	e->stage = NULL;
	if (e->lastpipe && !n->next) {
		join_maybe(e, sub.mark);
		sub.mark = vars_mark(e);
	}
	eval_leave_subshell(e, &sub, n->end);
	return s;
}

static enum status eval_stages(struct expander *e, const struct ast_node *n)
{
	uint32_t piped_from = e->io.piped_from;
	enum status s = STATUS_OK;

	for (; n && !expand_failed(e); n = n->next) {
		struct chars output = { 0 };
		uint32_t first = (uint32_t)e->script->command_count;

		expand_charge(e, WORK_STAGE);
		s = eval_stage(e, n, &output);
		e->io.piped_from = e->script->command_count > first ? first : piped_from;
		eval_pipe_input(e, &output);
		chars_release(&output);
	}
	return s;
}

static enum status eval_pipe(struct expander *e, const struct ast_node *n)
{
	enum status s = STATUS_OK;

	if (n->body)
		s = n->body->next ? eval_stages(e, n->body) : eval_walk(e, n->body);
	return n->negated ? eval_negate(s) : s;
}

/* ---- compound commands ---- */

enum status eval_condition(struct expander *e, const struct ast_node *n)
{
	bool errexit = e->errexit;
	enum status s;

	e->errexit = false;
	s = eval_walk(e, n);
	e->errexit |= errexit;
	return s;
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

/* A loop may take no turn, and break or continue may skip a set -u in it. */
static enum status eval_loop(struct expander *e, const struct ast_node *n)
{
	bool nounset = e->nounset;
	enum status s = n->type == AST_FOR ? loops_for(e, n) : loops_while(e, n);

	e->nounset &= nounset;
	return s;
}

enum status eval_compound(struct expander *e, const struct ast_node *n)
{
	switch (n->type) {
	case AST_LIST:
		return branch_list(e, n);
	case AST_PIPE:
		return eval_pipe(e, n);
	case AST_GROUP:
	case AST_SUBSHELL:
		return n->body ? eval_walk(e, n->body) : STATUS_OK;
	case AST_IF:
		return branch_if(e, n);
	case AST_WHILE:
		e->script->sets_variables |= n->words != NULL; /* for ((...)) */
		return eval_loop(e, n);
	case AST_FOR:
		e->script->sets_variables = true;
		return eval_loop(e, n);
	case AST_CASE:
		return branch_case(e, n);
	case AST_ARITH:
		e->script->sets_variables = true;
		return n->words ? eval_arith(e, n) : STATUS_UNKNOWN;
	case AST_TEST:
		return record_test(e, n);
	default:
		return STATUS_UNKNOWN;
	}
}

static enum status eval_node(struct expander *e, const struct ast_node *n)
{
	if (n->type == AST_SIMPLE)
		return record_simple(e, n);
	return n->redirects ? record_redirected(e, n) : eval_compound(e, n);
}

static enum status eval_apart(struct expander *e, const struct ast_node *n)
{
	struct subshell sub = eval_enter_subshell(e);
	enum status s;

	e->context |= n->background ? SHELL_BACKGROUND : 0;
	s = eval_node(e, n);
	eval_leave_subshell(e, &sub, n->end);
	if (n->type == AST_SUBSHELL && n->name) { /* coproc NAME: the numbers of its pipes */
		e->script->sets_variables = true;
		vars_set(e, n->name, value_unknown(e, n->name, n->start));
	}
	return n->background ? STATUS_OK : s;
}

/* In the shell itself: some of the place may be another one afterwards. */
static enum status eval_here(struct expander *e, const struct ast_node *n)
{
	struct place place = eval_save_place(e);
	enum status s = eval_node(e, n);

	place.last_word = e->last_word;
	place.errexit = e->errexit;
	place.nounset = e->nounset;
	if (!n->redirects && n->body && /* exec < FILE */
	    (n->type == AST_LIST || n->type == AST_GROUP ||
	     (n->type == AST_PIPE && !n->body->next))) {
		place.io.input = e->io.input;
		place.io.input_word = e->io.input_word;
		place.io.piped_from = e->io.piped_from;
		place.io.descriptors = e->io.descriptors;
	}
	eval_restore_place(e, &place);
	return s;
}

enum status eval_walk(struct expander *e, const struct ast_node *n)
{
	const struct function *functions = e->memory->functions;
	enum status s;

	if (n->type == AST_SIMPLE && !n->background)
		return record_simple(e, n);
	if (n->type == AST_FUNCTION) {
		call_define(e, n);
		if (n->background)
			call_leave(e, functions, n->end);
		return STATUS_OK;
	}
	if (!expand_enter(e, n->start))
		return STATUS_UNKNOWN;
	expand_charge(e, n->background ? WORK_BACKGROUND : WORK_COMPOUND);
	s = n->type == AST_SUBSHELL || n->background ? eval_apart(e, n) : eval_here(e, n);
	expand_leave(e);
	return s;
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
	struct subshell sub;

	if (!expand_enter(e, at))
		return false;
	sub = eval_enter_subshell(e);
	e->context = (e->context & ~either) | inside;
	e->io.capture = out;
	eval_walk(e, list);
	eval_leave_subshell(e, &sub, list ? list->end : at);
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

	redirect_input_word(e); /* one word for the command and for what is in >(...) */
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
