/* What is asked of a syntax tree without a walk. */
#include "shell/ast.h"

#include <string.h>

bool ast_is_word(const struct ast_word *w, const char *text)
{
	return w && w->simple && w->parts->text.len == strlen(text) &&
	       memcmp(w->parts->text.s, text, w->parts->text.len) == 0;
}

const struct ast_node *ast_single(const struct ast_node *n)
{
	while (n && (n->type == AST_LIST || n->type == AST_PIPE) && n->body && !n->body->next)
		n = n->body;
	return n;
}

const char *ast_command_name(const struct ast_node *n, struct shell_arena *arena)
{
	const struct ast_text *t;

	if (!n->words || !n->words->simple)
		return NULL;
	t = &n->words->parts->text;
	return shell_copy(arena, t->s, t->len);
}

static bool ast_words_mention(const struct ast_word *w, const char *name, uint64_t *looked)
{
	for (; w; w = w->next)
		for (const struct ast_part *p = w->parts; p; p = p->next, ++*looked)
			if (p->type == PART_PARAM && p->param->name &&
			    strcmp(p->param->name, name) == 0)
				return true;
	return false;
}

static bool ast_mentions(const struct ast_node *n, const char *name, uint64_t *looked)
{
	n = ast_single(n);
	if (!n)
		return false;
	if (n->type == AST_IF || n->type == AST_WHILE)
		return ast_mentions(n->condition, name, looked);
	if (n->type != AST_LIST)
		return ast_words_mention(n->words, name, looked);
	for (n = n->body; n; n = n->next, ++*looked) /* [ $x ] && [ $y ] */
		if (ast_words_mention(n->words, name, looked))
			return true;
	return false;
}

bool ast_is_text(const struct ast_word *w, const char *text)
{
	const struct ast_part *p = w ? w->parts : NULL;

	return p && !p->next && p->type == PART_TEXT && p->text.len == strlen(text) &&
	       memcmp(p->text.s, text, p->text.len) == 0;
}

/* Is it $name, "$name" or "${name:-}"? */
static bool ast_is_variable(const struct ast_word *w, const char *name)
{
	const struct ast_part *p = w ? w->parts : NULL;

	while (p && p->type == PART_TEXT && !p->text.len)
		p = p->next;
	if (!p || p->type != PART_PARAM || !p->param->name || strcmp(p->param->name, name) != 0 ||
	    p->param->index || p->param->indirect)
		return false;
	if (p->param->op != PARAM_PLAIN &&
	    (p->param->op != PARAM_DEFAULT || (p->param->arg && p->param->arg->parts)))
		return false;
	for (p = p->next; p; p = p->next)
		if (p->type != PART_TEXT || p->text.len)
			return false;
	return true;
}

/* The operands of [ ], [[ ]] or test; NULL: it is none of them. */
static const struct ast_word *ast_operands(const struct ast_node *n)
{
	const struct ast_word *w = n->words;

	if (n->type == AST_SIMPLE)
		return ast_is_text(w, "[") || ast_is_text(w, "test") ? w->next : NULL;
	return n->type == AST_TEST ? w : NULL;
}

enum ast_ask ast_asks(const struct ast_node *n, const char *name, uint64_t *looked)
{
	const struct ast_word *w;
	bool empty;

	if (!ast_mentions(n, name, looked))
		return ASK_NOTHING;
	if (n->type == AST_IF || n->type == AST_WHILE)
		return n->negated ? ASK_SOMETHING : ast_asks(n->condition, name, looked);
	while ((n->type == AST_LIST || n->type == AST_PIPE) && !n->negated && !n->body->next)
		n = n->body;
	w = ast_operands(n);
	empty = ast_is_text(w, "-z");
	if (empty || ast_is_text(w, "-n"))
		w = w->next;
	if (!ast_is_variable(w, name) || (w->next && !ast_is_text(w->next, "]")))
		return ASK_SOMETHING;
	return empty ? ASK_EMPTY : ASK_SET;
}

/* ---- variables that are not empty, or not another text ---- */

/* The variable that @w is; with @quoted only if it is in quotes. NULL: it is something else. */
static const char *ast_variable(const struct ast_word *w, bool quoted)
{
	const struct ast_part *p = w->parts;

	while (p && p->type == PART_TEXT && !p->text.len)
		p = p->next;
	if (!p || p->type != PART_PARAM || !p->param->name || (quoted && !p->quoted))
		return NULL;
	return ast_is_variable(w, p->param->name) ? p->param->name : NULL;
}

/* Is it -n, or a test of a file, which no empty name has? */
static bool ast_needs_text(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;

	return p && !p->next && p->type == PART_TEXT && p->text.len == 2 && p->text.s[0] == '-' &&
	       strchr("nabcdefghkprsuwxGLNOS", p->text.s[1]);
}

/* The text that @w is; NULL: it is another, or to [[ ]] a pattern. */
static const struct ast_text *ast_constant(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;

	while (p && p->next && p->type == PART_TEXT && !p->text.len)
		p = p->next;
	if (!p || p->next || p->type != PART_TEXT)
		return NULL;
	for (size_t i = 0; i < p->text.len && !p->quoted; i++)
		if (strchr("*?[\\~(", p->text.s[i]))
			return NULL;
	return &p->text;
}

/*
 * The variable that is not *@text if the condition from @w to before @end @holds, or does not; or
 * NULL. @splits: an unquoted one that is empty is no word, so that [ -n $x ] holds.
 */
static const char *ast_condition_sets(const struct ast_word *w, const struct ast_word *end,
				      const struct ast_tests *t, bool splits,
				      const struct ast_text **text)
{
	static const struct ast_text empty = { .s = "" };
	const struct ast_word *second = w->next != end ? w->next : NULL;
	const struct ast_word *third = second && second->next != end ? second->next : NULL;

	*text = &empty;
	if (!second)
		return t->holds ? ast_variable(w, false) : NULL;
	if (!third && t->holds)
		return ast_needs_text(w) ? ast_variable(second, splits) : NULL;
	if (!third)
		return ast_is_text(w, "-z") ? ast_variable(second, false) : NULL;
	*text = ast_constant(third);
	if (third->next != end || !*text ||
	    !(t->holds ? ast_is_text(second, "!=")
		       : ast_is_text(second, "=") ||
				 (ast_is_text(second, "==") && (t->bash || !splits))))
		return NULL;
	return ast_variable(w, splits);
}

/* Is the command that @n is, as of ast_single(), behind a "!"? */
static bool ast_is_negated(const struct ast_node *n)
{
	const struct ast_node *inner = ast_single(n);
	bool negated = false;

	for (; n != inner; n = n->body)
		negated ^= n->negated;
	return negated;
}

/* The operands of the test @n; NULL: it is none. To dash [[ is a program that does not exist. */
static const struct ast_word *ast_test_words(const struct ast_node *n)
{
	return n->type == AST_SIMPLE && ast_is_text(n->words, "[[") ? n->words->next
								    : ast_operands(n);
}

/* Does "and" stand at @w, a word of the test @n, or in [[ ]] before it; with @or that? */
static bool ast_is_joint(const struct ast_node *n, const struct ast_word *w, bool or)
{
	return n->type == AST_TEST ? w->before == (or ? '|' : '&')
				   : ast_is_text(w, or ? "-o" : "-a");
}

/* "!", a bracket, an operator of [[ ]] that compares, or "or", with @or "and"? */
static bool ast_is_other(const struct ast_node *n, const struct ast_word *w, bool or)
{
	if (n->type == AST_TEST)
		return (w->before && !ast_is_joint(n, w, or)) || ast_is_text(w, "!");
	return ast_is_joint(n, w, !or) || (w->parts && w->parts->type == PART_TEXT &&
					   w->parts->text.len == 1 &&
					   strchr("!()", w->parts->text.s[0]));
}

static bool ast_ends_test(const struct ast_word *w)
{
	return ast_is_text(w, "]") || ast_is_text(w, "]]");
}

/* Does [ end with ], and test without one? All else is an error, and no test that fails. */
static bool ast_is_closed(const struct ast_node *n)
{
	const struct ast_word *w = n->words->next;

	while (w && !ast_ends_test(w))
		w = w->next;
	return ast_is_text(n->words, "[") ? w && !w->next : !w;
}

/* The words of [ ], [[ ]] or test, which may be several conditions: with "and" between them each
 * holds if all do, with "or" none if all do not. */
static void ast_test_sets(const struct ast_node *n, const struct ast_tests *t)
{
	const struct ast_word *w = ast_test_words(n), *end;
	bool absent = w != ast_operands(n);

	if (!t->holds && (absent || (n->type == AST_SIMPLE && !ast_is_closed(n))))
		return;
	for (end = w; end; end = end->next)
		if (ast_is_other(n, end, !t->holds))
			return;
	for (; w && !ast_ends_test(w); w = end) {
		const struct ast_text *text;
		const char *name;

		end = w->next;
		while (end && !ast_ends_test(end) && !ast_is_joint(n, end, !t->holds))
			end = end->next;
		name = ast_condition_sets(w, end, t, n->type == AST_SIMPLE && !absent, &text);
		if (name)
			t->found(t->ctx, name, text);
		if (end && n->type == AST_SIMPLE && ast_is_joint(n, end, !t->holds))
			end = end->next;
	}
}

void ast_sets(const struct ast_node *n, const struct ast_node *end, const struct ast_tests *t)
{
	const enum ast_join joined = t->holds ? JOIN_AND : JOIN_OR;

	for (const struct ast_node *m = n; m != end; m = m->next) {
		const struct ast_node *test = ast_single(m);

		if ((m != n && m->join != joined) || test->background || !ast_test_words(test) ||
		    test->assigns)
			return;
	}
	for (; n != end; n = n->next) {
		struct ast_tests one = *t;

		one.holds ^= ast_is_negated(n);
		ast_test_sets(ast_single(n), &one);
	}
}
