/* Redirections: descriptor, operator, target. */
#include "shell/lex.h"

#include <string.h>

#include "base/mem.h"

struct operator {
	const char *text;
	enum shell_redirect_op op;
	bool bash;
};

/* Longer ones first. */
static const struct operator operators[] = {
	{ "&>>", SHELL_APPEND, true }, { "&>", SHELL_TO, true },
	{ "<<<", SHELL_STRING, true }, { "<<-", SHELL_HERE, false },
	{ "<<", SHELL_HERE, false },   { "<>", SHELL_BOTH, false },
	{ "<&", SHELL_DUP, false },    { "<", SHELL_FROM, false },
	{ ">>", SHELL_APPEND, false }, { ">&", SHELL_DUP, false },
	{ ">|", SHELL_TO, false },     { ">", SHELL_TO, false },
};

bool lex_take_operator(struct lex_reader *r, const char *text)
{
	size_t start = r->pos;

	for (; *text; text++) {
		lex_continuation(r);
		if (lex_peek(r, 0) != *text) {
			r->pos = start;
			return false;
		}
		r->pos++;
	}
	return true;
}

static const struct operator *take_redirect_operator(struct lex_reader *r)
{
	for (size_t i = 0; i < COUNT_OF(operators); i++) {
		const struct operator *o = &operators[i];

		if (o->text[0] != lex_peek(r, 0) || (o->bash && r->state->posix))
			continue;
		if (!lex_take_operator(r, o->text))
			continue;
		if (o->bash && o->op != SHELL_STRING)
			r->state->ambiguous = true;
		return o;
	}
	return NULL;
}

/* "2" before "<" or ">", or bash's "{name}". Gives the position of the operator, or 0. */
static size_t descriptor_prefix(const struct lex_reader *r, int *fd)
{
	size_t i = r->pos;
	long value = 0;

	*fd = -1;
	while (i < r->end && r->text.s[i] >= '0' && r->text.s[i] <= '9' && value < 100000)
		value = value * 10 + (r->text.s[i++] - '0');
	if (i > r->pos) {
		*fd = (int)value;
	} else if (lex_peek(r, 0) == '{' && !r->state->posix) {
		for (i++; i < r->end && lex_is_name((unsigned char)r->text.s[i], false);)
			i++;
		if (i >= r->end || r->text.s[i++] != '}')
			return 0;
	}
	return i < r->end && (r->text.s[i] == '<' || r->text.s[i] == '>') ? i : 0;
}

static void redirect_target(struct lex_reader *r, struct ast_redirect *n)
{
	if (n->op == SHELL_HERE) {
		lex_here_delimiter(r, n);
		return;
	}
	lex_blank(r);
	n->target = lex_word(r);
	if (!n->target)
		lex_unexpected(r);
}

/* A redirection at the position, added to the list; false if there is none. */
bool lex_redirect(struct lex_reader *r, struct ast_redirect ***tail)
{
	int c = lex_peek(r, 0), fd = -1;
	size_t start = r->pos, op = 0;

	if (c == '<' || c == '>') {
		if (lex_peek(r, 1) == '(' && !r->state->posix)
			return false;
	} else if ((c >= '0' && c <= '9') || c == '{') {
		op = descriptor_prefix(r, &fd);
		if (!op)
			return false;
		r->pos = op;
	} else if (c != '&' || (lex_peek(r, 1) != '>' && lex_peek(r, 1) != '\\')) {
		return false;
	}
	const struct operator *o = take_redirect_operator(r);

	if (!o) {
		r->pos = start;
		return false;
	}
	struct ast_redirect *n = shell_alloc(r->state->arena, sizeof(*n));

	n->op = (uint8_t)o->op;
	n->fd = fd;
	n->strip = strcmp(o->text, "<<-") == 0;
	n->ampersand = o->op == SHELL_DUP;
	/* <&FILE never writes. */
	if (o->op == SHELL_DUP && o->text[0] == '<' && fd == -1)
		n->fd = 0;
	**tail = n;
	*tail = &n->next;
	redirect_target(r, n);
	return true;
}

void lex_redirects(struct lex_reader *r, struct ast_redirect ***tail)
{
	do {
		lex_blank(r);
	} while (!lex_failed(r) && lex_redirect(r, tail));
}
