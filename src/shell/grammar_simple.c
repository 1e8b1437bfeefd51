/*
 * Simple commands: assignments, words and redirections, and the "name()" of a function.
 * Declared in shell_lex.h.
 */
#include "shell/lex.h"

#include <string.h>

/* ---- assignments ---- */

/* Length of NAME before =, += or [index]= at the position; 0: no assignment. */
static size_t assigned_name(const struct lex_reader *r)
{
	size_t i = 0;

	while (lex_is_name(lex_peek(r, i), i == 0))
		i++;
	if (i == 0)
		return 0;
	if (lex_peek(r, i) == '=')
		return i;
	if (r->state->posix)
		return 0;
	if (lex_peek(r, i) == '+' && lex_peek(r, i + 1) == '=')
		return i;
	if (lex_peek(r, i) != '[')
		return 0;
	/* name[index]= : an index of a constant or a variable is what anybody writes. */
	for (size_t j = i + 1; j < i + 256 && lex_peek(r, j) > ' '; j++)
		if (lex_peek(r, j) == ']' && (lex_peek(r, j + 1) == '=' ||
		    (lex_peek(r, j + 1) == '+' && lex_peek(r, j + 2) == '=')))
			return i;
	return 0;
}

static struct ast_word *array_items(struct lex_reader *r)
{
	struct ast_word *first = NULL, **tail = &first, *w;
	size_t open = r->pos++;

	for (;;) {
		lex_newlines(r);
		w = lex_word(r);
		if (!w)
			break;
		*tail = w;
		tail = &w->next;
	}
	lex_close(r, open);
	return first;
}

static struct ast_assign *lex_assign(struct lex_reader *r, size_t name_len)
{
	struct ast_assign *a = shell_alloc(r->state->arena, sizeof(*a));

	a->name = shell_copy(r->state->arena, r->text.s + r->pos, name_len);
	r->pos += name_len;
	if (lex_peek(r, 0) == '[') {
		r->pos++;
		a->index = lex_word_until(r, STOP_BRACKET);
		r->pos += lex_peek(r, 0) == ']';
	}
	/* An index with brackets of its own inside: what bash makes of it nobody can read. */
	if (lex_peek(r, 0) != '=' && lex_peek(r, 0) != '+') {
		lex_unexpected(r);
		return a;
	}
	a->append = lex_peek(r, 0) == '+';
	r->pos += a->append ? 2 : 1;
	if (lex_peek(r, 0) == '(' && !r->state->posix) {
		a->is_array = true;
		a->items = array_items(r);
	} else {
		a->value = lex_word(r);
	}
	return a;
}

/* NAME=( as an argument: declare, local, export. */
static bool is_late_array(const struct lex_reader *r)
{
	size_t len = r->state->posix ? 0 : assigned_name(r);

	return len > 0 && ((lex_peek(r, len) == '=' && lex_peek(r, len + 1) == '(') ||
			   (lex_peek(r, len) == '+' && lex_peek(r, len + 2) == '('));
}

/* ---- simple commands and functions ---- */

/* The text of a word without its quotes; NULL if there is more in it than text. */
static const char *word_text(struct lex_reader *r, const struct ast_word *w)
{
	size_t len = 0;
	char *s;

	for (const struct ast_part *p = w->parts; p; p = p->next) {
		if (p->type != PART_TEXT)
			return NULL;
		len += p->text.len;
	}
	s = shell_alloc(r->state->arena, len + 1);
	len = 0;
	for (const struct ast_part *p = w->parts; p; p = p->next) {
		memcpy(s + len, p->text.s, p->text.len);
		len += p->text.len;
	}
	return s;
}

/* "name" was read and "(" follows: the rest of "name() body". */
static void function_rest(struct lex_reader *r, struct ast_node *n)
{
	n->name = word_text(r, n->words);
	r->pos++;
	lex_blank(r);
	if (!n->name || lex_peek(r, 0) != ')') {
		lex_unexpected(r);
		return;
	}
	r->pos++;
	lex_function_body(r, n);
}

struct simple_reader {
	struct ast_node *node;
	struct ast_word **word_tail;
	struct ast_assign **assign_tail;
	struct ast_redirect **redirect_tail;
};

static void add_assign(struct lex_reader *r, struct simple_reader *s, size_t name_len)
{
	struct ast_assign *a = lex_assign(r, name_len);

	a->late = s->node->words != NULL;
	*s->assign_tail = a;
	s->assign_tail = &a->next;
}

/* One assignment, redirection or word. False: the command ends here. */
static bool simple_piece(struct lex_reader *r, struct simple_reader *s)
{
	size_t name_len = s->node->words ? 0 : assigned_name(r);

	if (lex_redirect(r, &s->redirect_tail))
		return true;
	if (name_len > 0) {
		add_assign(r, s, name_len);
		return true;
	}
	if (s->node->words && is_late_array(r)) {
		add_assign(r, s, assigned_name(r));
		return true;
	}
	struct ast_word *w = lex_word(r);

	if (!w)
		return false;
	*s->word_tail = w;
	s->word_tail = &w->next;
	return true;
}

static bool is_function_start(const struct lex_reader *r, const struct ast_node *n)
{
	return lex_peek(r, 0) == '(' && n->words && !n->words->next && !n->assigns &&
	       !n->redirects;
}

struct ast_node *lex_simple(struct lex_reader *r)
{
	struct ast_node *n = lex_new_node(r, AST_SIMPLE);
	struct simple_reader s = { n, &n->words, &n->assigns, &n->redirects };
	size_t start = r->pos, end = start;

	while (!lex_failed(r) && simple_piece(r, &s)) {
		end = r->pos;
		lex_blank(r);
		if (is_function_start(r, n)) {
			function_rest(r, n);
			end = r->pos;
			break;
		}
	}
	if (end == start)
		lex_unexpected(r);
	n->end = lex_origin_end(r, end);
	lex_order(&n->start, &n->end);
	return n;
}
