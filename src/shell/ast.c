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

bool ast_command_name(const struct ast_node *n, char name[AST_NAME_SIZE])
{
	const struct ast_text *t;

	if (!n->words || !n->words->simple)
		return false;
	t = &n->words->parts->text;
	if (t->len >= AST_NAME_SIZE)
		return false;
	memcpy(name, t->s, t->len);
	name[t->len] = '\0';
	return true;
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

static bool ast_is_text(const struct ast_word *w, const char *text)
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
