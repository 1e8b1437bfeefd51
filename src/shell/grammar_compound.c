/* Compound commands: groups, conditionals, loops, case, functions, [[ ]], (( )). */
#include "shell/lex.h"

#include <string.h>

/* @which must stand here. */
static void expect(struct lex_reader *r, enum lex_reserved which)
{
	if (!lex_failed(r) && !lex_take_reserved(r, which))
		lex_unexpected(r);
}

/* A list that is not empty. */
static struct ast_node *lex_body(struct lex_reader *r)
{
	struct ast_node *list = lex_list(r);

	if (!list->body && !lex_failed(r))
		lex_unexpected(r);
	return list;
}

/* ---- groups ---- */

static void lex_subshell(struct lex_reader *r, struct ast_node *n)
{
	size_t open = r->pos++;

	n->type = AST_SUBSHELL;
	n->body = lex_body(r);
	lex_close(r, open);
}

/*
 * "((": arithmetic if bash takes it so, for dash a subshell in a subshell. False,
 * with nothing read: not arithmetic.
 */
static bool lex_arith_command(struct lex_reader *r, struct ast_node *n)
{
	size_t from = r->pos;
	struct lex_here **pending = r->pending_tail;

	if (lex_peek(r, 1) != '(' || r->state->posix)
		return false;
	r->state->ambiguous = true;
	r->pos += 2;
	n->words = lex_arith(r, ')');
	if (lex_failed(r) || n->words) {
		n->type = AST_ARITH;
		return true;
	}
	size_t again = r->pos - from;

	r->pos = from;
	r->pending_tail = pending;
	*pending = NULL;
	if (again > r->state->again) {
		lex_fail(r, SHELL_TOO_DEEP, "too many (( that are no arithmetic", from);
		return true;
	}
	r->state->again -= again;
	return false;
}

static void lex_group(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_GROUP;
	n->body = lex_body(r);
	expect(r, WORD_CLOSE);
}

/* ---- conditionals and loops ---- */

static void lex_if(struct lex_reader *r, struct ast_node *n)
{
	for (;;) {
		n->type = AST_IF;
		n->condition = lex_body(r);
		expect(r, WORD_THEN);
		n->body = lex_body(r);
		if (!lex_take_reserved(r, WORD_ELIF))
			break;
		/* A chain of elif is a list, not a depth: its evaluation goes along `other`. */
		n->other = lex_new_node(r, AST_IF);
		n = n->other;
	}
	if (lex_take_reserved(r, WORD_ELSE))
		n->other = lex_body(r);
	expect(r, WORD_FI);
}

static void lex_while(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_WHILE;
	n->condition = lex_body(r);
	expect(r, WORD_DO);
	n->body = lex_body(r);
	expect(r, WORD_DONE);
}

/* "do list done", or bash's "{ list; }". */
static void lex_loop_body(struct lex_reader *r, struct ast_node *n)
{
	if (lex_take_reserved(r, WORD_OPEN)) {
		n->body = lex_body(r);
		expect(r, WORD_CLOSE);
	} else {
		expect(r, WORD_DO);
		n->body = lex_body(r);
		expect(r, WORD_DONE);
	}
}

/* bash's for ((a; b; c)): its three expressions are one text to us. */
static void lex_arith_for(struct lex_reader *r, struct ast_node *n)
{
	r->pos += 2;
	n->type = AST_WHILE;
	n->words = lex_arith(r, ')');
	if (!n->words)
		lex_unexpected(r);
	lex_blank(r);
	if (lex_peek(r, 0) == ';')
		r->pos++;
	lex_newlines(r);
	lex_loop_body(r, n);
}

static const char *lex_name(struct lex_reader *r)
{
	size_t from = r->pos;

	while (lex_is_name(lex_peek(r, 0), r->pos == from))
		r->pos++;
	if (r->pos == from || !lex_is_meta(lex_peek(r, 0))) {
		lex_unexpected(r);
		return "";
	}
	return shell_copy(r->state->arena, r->text.s + from, r->pos - from);
}

static void for_words(struct lex_reader *r, struct ast_node *n)
{
	struct ast_word **tail = &n->words;

	for (;;) {
		lex_blank(r);
		*tail = lex_word(r);
		if (!*tail)
			break;
		tail = &(*tail)->next;
	}
	if (lex_peek(r, 0) == ';' || lex_peek(r, 0) == '\n')
		r->pos += lex_peek(r, 0) == ';';
	else
		lex_unexpected(r);
}

static void lex_for(struct lex_reader *r, struct ast_node *n)
{
	lex_blank(r);
	if (lex_peek(r, 0) == '(' && lex_peek(r, 1) == '(') {
		lex_arith_for(r, n);
		return;
	}
	n->type = AST_FOR;
	n->name = lex_name(r);
	lex_newlines(r);
	if (lex_take_reserved(r, WORD_IN)) {
		for_words(r, n);
	} else {
		n->plain_for = true;
		if (lex_peek(r, 0) == ';')
			r->pos++;
	}
	lex_newlines(r);
	lex_loop_body(r, n);
}

/* ---- case ---- */

static void case_patterns(struct lex_reader *r, struct ast_case *item)
{
	struct ast_word **tail = &item->patterns;

	if (lex_peek(r, 0) == '(')
		r->pos++;
	for (;;) {
		lex_blank(r);
		*tail = lex_word(r);
		if (!*tail) {
			lex_unexpected(r);
			return;
		}
		tail = &(*tail)->next;
		lex_blank(r);
		if (lex_peek(r, 0) != '|')
			break;
		r->pos++;
	}
	if (lex_peek(r, 0) == ')')
		r->pos++;
	else
		lex_unexpected(r);
}

/* ";;", bash's ";&" and ";;&". */
static bool take_case_end(struct lex_reader *r)
{
	if (lex_peek(r, 0) != ';' || (lex_peek(r, 1) != ';' && lex_peek(r, 1) != '&'))
		return false;
	r->pos += 2;
	if (r->text.s[r->pos - 1] == ';' && lex_peek(r, 0) == '&')
		r->pos++;
	return true;
}

static void lex_case(struct lex_reader *r, struct ast_node *n)
{
	struct ast_case **tail = &n->cases;

	n->type = AST_CASE;
	lex_blank(r);
	n->words = lex_word(r);
	if (!n->words)
		lex_unexpected(r);
	lex_newlines(r);
	expect(r, WORD_IN);
	for (;;) {
		lex_newlines(r);
		if (lex_failed(r) || lex_take_reserved(r, WORD_ESAC))
			return;
		struct ast_case *item = shell_alloc(r->state->arena, sizeof(*item));

		*tail = item;
		tail = &item->next;
		case_patterns(r, item);
		item->body = lex_list(r);
		if (!take_case_end(r)) {
			expect(r, WORD_ESAC);
			return;
		}
	}
}

/* ---- [[ ]] ---- */

/* Between [[ and ]] only blanks and parentheses end a word; operators are words. */
static size_t test_operator(const struct lex_reader *r)
{
	int c = lex_peek(r, 0), next = lex_peek(r, 1);

	if ((c == '&' || c == '|') && next == c)
		return 2;
	return c == '<' || c == '>' || c == '(' || c == ')' || c == '|' ? 1 : 0;
}

static void lex_test(struct lex_reader *r, struct ast_node *n)
{
	struct ast_word **tail = &n->words;
	size_t open = r->pos;

	n->type = AST_TEST;
	for (;;) {
		lex_newlines(r);
		if (lex_failed(r))
			return;
		if (lex_peek(r, 0) == ']' && lex_peek(r, 1) == ']' && lex_is_meta(lex_peek(r, 2))) {
			r->pos += 2;
			return;
		}
		size_t len = test_operator(r);

		r->pos += len;
		if (len > 0)
			continue;
		*tail = lex_word(r);
		if (!*tail) {
			if (r->pos >= r->end)
				lex_fail(r, SHELL_SYNTAX, "a [[ that is not closed", open);
			lex_unexpected(r);
			return;
		}
		tail = &(*tail)->next;
	}
}

/* ---- functions ---- */

/* The body behind "name()" or "function name"; any command, as dash takes it. */
struct ast_node *lex_function_body(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_FUNCTION;
	n->words = NULL;
	lex_newlines(r);
	n->body = lex_command(r);
	return n;
}

static void lex_function(struct lex_reader *r, struct ast_node *n)
{
	size_t from;

	lex_blank(r);
	from = r->pos;
	while (!lex_is_meta(lex_peek(r, 0)))
		r->pos++;
	if (r->pos == from) {
		lex_unexpected(r);
		return;
	}
	n->name = shell_copy(r->state->arena, r->text.s + from, r->pos - from);
	lex_blank(r);
	if (lex_peek(r, 0) == '(') {
		r->pos++;
		lex_blank(r);
		if (lex_peek(r, 0) == ')')
			r->pos++;
		else
			lex_unexpected(r);
	}
	lex_function_body(r, n);
}

/* coproc [NAME] compound, or coproc simple. */
static void lex_coproc(struct lex_reader *r, struct ast_node *n)
{
	size_t start, end;

	lex_blank(r);
	start = r->pos;
	while (lex_is_name(lex_peek(r, 0), r->pos == start))
		r->pos++;
	lex_blank(r);
	enum lex_reserved next = lex_peek_reserved(r, &end);

	if (lex_peek(r, 0) != '(' && (next == WORD_NONE || r->pos == start))
		r->pos = start;
	n->type = AST_SUBSHELL;
	n->background = true;
	n->body = lex_command(r);
}

/* ---- which one ---- */

static bool dispatch(struct lex_reader *r, struct ast_node *n, enum lex_reserved word)
{
	switch (word) {
	case WORD_OPEN:
		lex_group(r, n);
		return true;
	case WORD_IF:
		lex_if(r, n);
		return true;
	case WORD_WHILE:
	case WORD_UNTIL:
		lex_while(r, n);
		return true;
	case WORD_FOR:
	case WORD_SELECT:
		lex_for(r, n);
		return true;
	case WORD_CASE:
		lex_case(r, n);
		return true;
	case WORD_TEST:
		lex_test(r, n);
		return true;
	case WORD_FUNCTION:
		lex_function(r, n);
		return true;
	case WORD_COPROC:
		lex_coproc(r, n);
		return true;
	default:
		return false;
	}
}

/* A compound command with its redirections; NULL: none starts here. */
struct ast_node *lex_compound(struct lex_reader *r)
{
	size_t end = 0;
	enum lex_reserved word = lex_peek_reserved(r, &end);
	struct ast_node *n;

	if (word == WORD_NONE && lex_peek(r, 0) != '(')
		return NULL;
	n = lex_new_node(r, AST_GROUP);
	if (word == WORD_NONE) {
		if (!lex_arith_command(r, n))
			lex_subshell(r, n);
	} else {
		size_t start = r->pos;

		r->pos = end;
		if (!dispatch(r, n, word)) {
			r->pos = start;
			if (word != WORD_TIME)
				lex_unexpected(r);
			return NULL;
		}
	}
	struct ast_redirect **tail = &n->redirects;

	if (n->type != AST_FUNCTION)
		lex_redirects(r, &tail);
	n->end = lex_origin_end(r, r->pos);
	lex_order(&n->start, &n->end);
	return n;
}
