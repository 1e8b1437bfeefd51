/*
 * What may not run: the members of a list behind && and ||, and the branches of if and case. Each
 * is walked. Afterwards a variable has the values that any of them leaves, and those from before
 * if none may run; and what they write is one of several outputs, or may be missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "shell/expand.h"

/* ---- output ---- */

/* Characters of output so far. */
static size_t branch_written(const struct expander *e)
{
	return e->io.capture ? e->io.capture->len : 0;
}

void branch_may_be_missing(struct expander *e, size_t from)
{
	if (e->io.capture)
		chars_may_be_missing(e, e->io.capture, from);
}

/*
 * What a branch at @start wrote from @middle on is written if what is there from @from on is not.
 * Without a choice at hand both stay.
 */
static void branch_either(struct expander *e, uint32_t start, size_t from, size_t middle)
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
static void branch_other_output(struct expander *e, uint32_t start, size_t from, size_t middle)
{
	if (e->io.capture && middle > from && e->io.capture->len > middle)
		branch_either(e, start, from, middle);
	else
		branch_may_be_missing(e, from);
}

/* What has been written up to a return to @to is all that its call writes then. */
static void branch_note_output(struct expander *e, struct join *to)
{
	const struct chars *c = e->io.capture;

	if (e->choosing && c && c == to->capture && c->len > to->from)
		values_add(e, &to->written, value_make(e, c->v + to->from, c->len - to->from));
}

/* A branch has left by the last jump: what it wrote from @middle on is noted, if that returns. */
static void branch_drop_output(struct expander *e, size_t middle)
{
	const struct join *to = e->jumped;

	if (to && to == e->jumps.returns && to->written && to->capture == e->io.capture)
		e->io.capture->len = middle;
}

/* Behind the @body of a function, which writes what stands there or what it did up to a return. */
static void branch_end_output(struct expander *e, struct join *j, const struct ast_node *body)
{
	struct chars *c = j->capture;
	char hidden[32];

	if (!j->written)
		return;
	if (c->len > j->from)
		values_add(e, &j->written, value_make(e, c->v + j->from, c->len - j->from));
	snprintf(hidden, sizeof(hidden), "return %u", body->start);
	j->written = vars_one_of(e, hidden, j->written);
	c->len = j->from;
	chars_copy(e, c, j->written->v, j->written->len);
}

/* ---- exit ---- */

/* Calls of functions that are looked into. */
#define LEAVES_DEPTH 4

/*
 * Is it exit or, unless it is the end of a function's body, return, break or continue? Where there
 * is nothing to leave, the shell goes on, but dash ends at a return.
 */
static bool branch_is_jump(const struct expander *e, const struct ast_word *w, bool called)
{
	if (ast_is_word(w, "return"))
		return !called && (e->context & SHELL_IN_FUNCTION ||
				   e->memory->family != SHELL_FAMILY_BASH);
	if (ast_is_word(w, "break") || ast_is_word(w, "continue"))
		return !called && e->loops;
	return ast_is_word(w, "exit");
}

/* May it fail? Others in front of && exit, as echo, are not expected to. */
static bool branch_is_test(const struct ast_node *n)
{
	if (n->type == AST_PIPE && n->negated)
		return true;
	return n->type == AST_TEST || n->type == AST_ARITH || ast_is_word(n->words, "test") ||
	       (n->words && n->words->parts->type == PART_TEXT &&
		n->words->parts->text.len == 1 && n->words->parts->text.s[0] == '[');
}

/* Does it end with exit, as { ...; exit; } and a function that does? @called: so many of these. */
static bool branch_leaves_by(struct expander *e, const struct ast_node *n, unsigned called)
{
	const struct ast_node *before = NULL;
	struct function *f;
	const char *name;

	while (n && !n->background &&
	       (n->type == AST_GROUP || n->type == AST_LIST ||
		(n->type == AST_PIPE && n->body && !n->body->next && !n->negated))) {
		for (n = n->body; n && n->next; n = n->next) {
			expand_charge(e, 1);
			before = n;
			if (called && ast_is_word(n->words, "return"))
				return false; /* it may be back before its exit */
		}
		if (n && (n->join == JOIN_OR || (n->join == JOIN_AND && branch_is_test(before))))
			return false;
	}
	if (!n || n->background || n->type != AST_SIMPLE)
		return false;
	if (branch_is_jump(e, n->words, called > 0))
		return true;
	name = called == LEAVES_DEPTH ? NULL : ast_command_name(n, e->arena);
	if (!name)
		return false;
	f = call_find_function(e, name);
	return f && branch_leaves_by(e, f->node->body, called + 1);
}

static bool branch_leaves(struct expander *e, const struct ast_node *n)
{
	return branch_leaves_by(e, n, 0);
}

/* ---- jumps ---- */

/* Where break N or continue N leads, which are @inner for the innermost loop. */
static struct join *branch_outer_loop(struct join *inner, const struct call *c)
{
	long n = c->count > 1 ? strtol(c->words[1].text.s, NULL, 10) : 1;

	for (; n > 1 && inner && inner->outer; n--)
		inner = inner->outer;
	return inner;
}

/*
 * return 1 is none: it says that a function has failed, and who calls it asks. But where a test led
 * to it, that alone keeps no value out of the commands behind the call.
 */
void branch_note_jump(struct expander *e, const struct call *c)
{
	const char *name = c->words[0].text.s;
	bool fails = c->count > 1 && !str_is(c->words[1].text.s, "0");
	struct join *to = NULL;

	if (str_is(name, "break"))
		to = branch_outer_loop(e->jumps.breaks, c);
	else if (str_is(name, "continue"))
		to = branch_outer_loop(e->jumps.continues, c);
	else if (str_is(name, "return") && !fails)
		to = e->jumps.returns;
	else if (str_is(name, "return") && e->jumps.returns)
		e->jumps.returns->may_fail = true;
	e->jumped = to;
	if (to)
		join_jump(e, to);
	if (to && to == e->jumps.returns)
		branch_note_output(e, to);
}

void branch_end_jumps(struct expander *e, struct join *j, const struct ast_node *body)
{
	if (j->branches == 0)
		return;
	if (branch_leaves(e, body))
		vars_undo(e, j->mark);
	else
		join_branch(e, j, false);
	join_end(e, j, false);
}

enum status branch_body(struct expander *e, const struct ast_node *body)
{
	const struct jumps outer = e->jumps;
	struct join end;
	enum status s;

	join_start(e, &end);
	end.capture = e->io.capture;
	end.from = branch_written(e);
	e->jumps = (struct jumps){ .returns = &end };
	s = eval_walk(e, body);
	e->jumps = outer;
	branch_end_jumps(e, &end, body);
	if (end.may_fail)
		join_untest(e, end.mark);
	branch_end_output(e, &end, body);
	return end.branches ? STATUS_UNKNOWN : s;
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

static void branch_end_chain(struct expander *e, struct chain *c)
{
	if (!c->open)
		return;
	join_branch(e, &c->join, false);
	join_end(e, &c->join, true);
	c->open = false;
}

static enum status branch_member(struct expander *e, const struct ast_node *n, enum status before)
{
	unsigned context = e->context;
	const struct function *functions = e->memory->functions;
	struct chars *capture = e->io.capture;
	enum status s;
	bool errexit = e->errexit, nounset = e->nounset;
	bool skipped = (n->join == JOIN_AND && before == STATUS_FAILED) ||
		       (n->join == JOIN_OR && before == STATUS_OK);

	if (n->join != JOIN_ALWAYS)
		e->context |= SHELL_CONDITIONAL;
	if (skipped)
		e->io.capture = NULL;
	s = eval_walk(e, n);
	if (n->join != JOIN_ALWAYS) {
		call_leave(e, functions, n->end);
		e->errexit &= errexit; /* set -e may be skipped */
		e->nounset &= nounset;
	}
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

/* a && @n || OTHER: may OTHER write when @n does not run? */
static bool branch_has_other(struct expander *e, const struct ast_node *n)
{
	const struct ast_node *other = n->next;

	return other && other->join == JOIN_OR && !branch_leaves(e, other) &&
	       !ast_is_word(other->words, "true") && !ast_is_word(other->words, ":");
}

/* Walk the member @n of a list, after @before. set -e ignores its failure before && and ||. */
static enum status branch_link(struct expander *e, const struct ast_node *n,
			       const struct ast_node *before, enum status status)
{
	bool errexit = e->errexit, tested = n->next && n->next->join != JOIN_ALWAYS;

	if (n->join == JOIN_AND)
		assign_succeeded(e, before);
	e->errexit &= !tested;
	status = branch_member(e, n, status);
	if (tested)
		e->errexit |= errexit;
	return status;
}

/* Open or close the chain before @n. */
static void branch_chain_to(struct expander *e, struct chain *c, const struct ast_node *n,
			    const struct ast_node *before)
{
	enum status runs = n->join == JOIN_AND ? STATUS_OK : STATUS_FAILED;
	bool either = c->open && n->join == JOIN_OR && c->last == JOIN_AND;

	if (n->join != JOIN_AND || c->last == JOIN_OR)
		branch_end_chain(e, c);
	if (n->join == JOIN_ALWAYS)
		c->from = branch_written(e);
	else if (!c->open && c->status != runs) {
		c->first = c->join;
		join_start(e, &c->join);
		c->join.instead = either ? &c->first : NULL;
		c->join.test = before;
		c->join.holds = n->join == JOIN_OR;
		c->join.fails = !c->join.holds;
		c->open = true;
	}
	/* Of a || b && @n and a && b || @n it is not certain that b ran. */
	if (c->open && (c->last == JOIN_ALWAYS || c->last == n->join))
		join_assume(e, before, n, n->join == JOIN_AND);
}

/* Before @n it is not known if that runs. If it does not, is nothing written? @first: nothing is
 * before it. */
static bool branch_may_skip(struct expander *e, const struct ast_node *n, bool first)
{
	if (n->join == JOIN_AND)
		return !branch_has_other(e, n);
	return n->join == JOIN_OR && first && !branch_leaves(e, n);
}

/* Is no member behind @n that runs only if it did, or did not? */
static bool branch_ends_chain(const struct ast_node *n)
{
	return !n->next || n->next->join == JOIN_ALWAYS;
}

enum status branch_list(struct expander *e, const struct ast_node *list)
{
	struct chain c = { .status = STATUS_OK };
	const struct ast_node *before = NULL, *first = list->body;
	bool may_end = false, leaves;

	for (const struct ast_node *n = list->body; n && !expand_failed(e); n = n->next) {
		size_t from = branch_written(e);
		bool may_skip = c.status == STATUS_UNKNOWN && branch_may_skip(e, n, from == c.from);

		first = n->join == JOIN_ALWAYS ? n : first;
		branch_chain_to(e, &c, n, before);
		c.status = branch_link(e, n, before, c.status);
		leaves = n->join != JOIN_ALWAYS && branch_leaves(e, n);
		if (n->join == JOIN_AND && leaves)
			branch_drop_output(e, from);
		if (may_skip || may_end)
			branch_may_be_missing(e, from);
		if (n->join == JOIN_OR && c.last == JOIN_AND && !leaves)
			branch_either(e, n->start, c.from, from);
		c.last = n->join;
		if (leaves && n->join == JOIN_OR) {
			branch_end_chain(e, &c);
			assign_succeeded(e, before);
			may_end = true;
		}
		if (leaves && branch_ends_chain(n)) {
			branch_end_chain(e, &c);
			join_assume(e, first, n, n->join == JOIN_OR);
		}
		before = n;
	}
	branch_end_chain(e, &c);
	return c.status;
}

/* ---- if and case ---- */

/* Branches of which one runs, and writes its output instead of the others. */
struct branches {
	struct join join;
	size_t from;  /* where their output begins */
	bool several; /* one has been walked */
	bool no_errexit; /* set -e does not hold behind one */
};

/* End the branch that has walked @body, and has written from @middle on. */
static void branch_walked(struct expander *e, struct branches *b, const struct ast_node *body,
			  size_t middle)
{
	bool leaves = branch_leaves(e, body);

	if (b->several)
		branch_other_output(e, body->start, b->from, middle);
	b->several = true;
	b->no_errexit |= !leaves && !e->errexit;
	if (leaves && e->jumped) { /* what holds there is noted */
		vars_undo(e, b->join.mark);
		branch_drop_output(e, middle);
	} else {
		join_branch(e, &b->join, leaves);
	}
}

static enum status branch_walk(struct expander *e, struct branches *b, const struct ast_node *body)
{
	size_t middle = branch_written(e);
	const struct function *functions = e->memory->functions;
	bool errexit = e->errexit, nounset = e->nounset;
	enum status s = eval_walk(e, body);

	call_leave(e, functions, body->end);
	branch_walked(e, b, body, middle);
	e->errexit = errexit;
	e->nounset &= nounset;
	return s;
}

/* Walk the body of @c, and those that run after it. */
static void branch_item(struct expander *e, struct branches *b, const struct ast_case *c)
{
	size_t middle = branch_written(e);
	const struct function *functions = e->memory->functions;
	const struct ast_node *body = c->body;
	bool errexit = e->errexit, nounset = e->nounset;

	eval_walk(e, body);
	for (; c->goes_on && c->next && !expand_failed(e); c = c->next) {
		if (c->compares)
			join_jump(e, &b->join);
		eval_walk(e, c->next->body);
	}
	call_leave(e, functions, c->body->end);
	branch_walked(e, b, body, middle);
	e->errexit = errexit;
	e->nounset &= nounset;
}

/* @all: it is certain that one of them runs. */
static void branch_end(struct expander *e, struct branches *b, bool all)
{
	join_end(e, &b->join, !all);
	if (b->join.branches > 0)
		e->errexit = !b->no_errexit && (all || e->errexit);
	if (!all)
		branch_may_be_missing(e, b->from);
}

/* Walk the condition before a branch of @b. That of an elif may not be reached. */
static void branch_condition(struct expander *e, struct branches *b, const struct ast_node *n)
{
	struct chars *capture = e->io.capture;
	size_t mark = vars_mark(e);

	e->io.capture = NULL;
	eval_condition(e, n);
	e->io.capture = capture;
	if (b->several)
		join_maybe(e, mark);
	b->join.mark = vars_mark(e);
}

/* The condition of @n, an if, holds from here on, or does not. */
static void branch_assume(struct expander *e, const struct ast_node *n, bool holds)
{
	const struct ast_node *c = n->condition;

	join_assume(e, c && c->type == AST_LIST ? c->body : c, NULL, holds);
}

enum status branch_if(struct expander *e, const struct ast_node *n)
{
	struct branches b = { .join.test = n, .join.fails = !n->other, .from = branch_written(e) };
	const struct ast_node *first = n;
	bool has_else, fails = true;

	for (; n && n->type == AST_IF && !expand_failed(e); n = n->other) {
		branch_condition(e, &b, n->condition);
		branch_assume(e, n, true);
		e->context |= SHELL_CONDITIONAL;
		fails &= branch_walk(e, &b, n->body) == STATUS_FAILED;
	}
	has_else = n && !expand_failed(e);
	if (has_else && n == first->other)
		branch_assume(e, first, false);
	if (has_else)
		fails &= branch_walk(e, &b, n) == STATUS_FAILED;
	branch_end(e, &b, has_else);
	if (!first->other && branch_leaves(e, first->body))
		branch_assume(e, first, false);
	return has_else && fails ? STATUS_FAILED : STATUS_UNKNOWN; /* of none that runs it is 0 */
}

/* Is a pattern of it a star, which matches all? */
static bool branch_matches_all(const struct ast_case *c)
{
	for (const struct ast_word *w = c->patterns; w; w = w->next) {
		const struct ast_part *p = w->parts;

		if (p && !p->next && p->type == PART_TEXT && !p->quoted && p->text.len == 1 &&
		    p->text.s[0] == '*')
			return true;
	}
	return false;
}

enum status branch_case(struct expander *e, const struct ast_node *n)
{
	struct chars unused = { 0 };
	struct branches b = { .join.test = n, .from = branch_written(e) };
	bool all = false;

	if (n->words)
		expand_parts(e, n->words->parts, &unused, EXPAND_ONE);
	b.join.mark = vars_mark(e);
	e->context |= SHELL_CONDITIONAL;
	for (const struct ast_case *c = n->cases; c && !expand_failed(e); c = c->next) {
		for (const struct ast_word *w = c->patterns; w; w = w->next)
			expand_parts(e, w->parts, &unused, EXPAND_PATTERN);
		branch_item(e, &b, c);
		all |= branch_matches_all(c);
	}
	branch_end(e, &b, all);
	chars_release(&unused);
	return STATUS_UNKNOWN;
}
