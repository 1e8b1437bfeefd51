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

static bool ast_word_mentions(const struct ast_word *w, const char *name)
{
	for (; w; w = w->next)
		for (const struct ast_part *p = w->parts; p; p = p->next)
			if (p->type == PART_PARAM && p->param->name &&
			    strcmp(p->param->name, name) == 0)
				return true;
	return false;
}

bool ast_mentions(const struct ast_node *n, const char *name)
{
	n = ast_single(n);
	if (!n)
		return false;
	if (n->type == AST_IF || n->type == AST_WHILE)
		return ast_mentions(n->condition, name);
	if (n->type != AST_LIST)
		return ast_word_mentions(n->words, name);
	for (n = n->body; n; n = n->next) /* [ $x ] && [ $y ] */
		if (ast_word_mentions(n->words, name))
			return true;
	return false;
}
