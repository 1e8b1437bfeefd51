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

bool ast_mentions(const struct ast_node *n, const char *name, uint64_t *looked)
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
