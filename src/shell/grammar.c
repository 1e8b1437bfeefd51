/*
 * Reserved words, lists and pipelines. Recursive descent on characters: a shell
 * has no tokens that do not depend on where they stand.
 */
#include "shell/lex.h"

#include <string.h>

#include "base/mem.h"

/* ---- reserved words ---- */

static const struct {
	const char *text;
	enum lex_reserved which;
	bool bash; /* an ordinary word to dash */
} reserved_words[] = {
	{ "!", WORD_BANG, false },       { "{", WORD_OPEN, false },
	{ "}", WORD_CLOSE, false },      { "[[", WORD_TEST, true },
	{ "case", WORD_CASE, false },    { "coproc", WORD_COPROC, true },
	{ "do", WORD_DO, false },        { "done", WORD_DONE, false },
	{ "elif", WORD_ELIF, false },    { "else", WORD_ELSE, false },
	{ "esac", WORD_ESAC, false },    { "fi", WORD_FI, false },
	{ "for", WORD_FOR, false },      { "function", WORD_FUNCTION, true },
	{ "if", WORD_IF, false },        { "in", WORD_IN, false },
	{ "select", WORD_SELECT, true }, { "then", WORD_THEN, false },
	{ "time", WORD_TIME, true },     { "until", WORD_UNTIL, false },
	{ "while", WORD_WHILE, false },
};

/* Where the words with these letters begin. */
#define FIRST_E 8u
#define FIRST_S 16u

static enum lex_reserved find_reserved(struct lex_reader *r, const char *word)
{
	/* The table is in the order of the first letters behind the signs. */
	size_t from = word[0] < 'e' || word[0] > 'z' ? 0 : word[0] < 's' ? FIRST_E : FIRST_S;

	for (size_t i = from; i < COUNT_OF(reserved_words); i++) {
		const char *text = reserved_words[i].text;

		if (text[0] > word[0] && text[0] >= 'a' && text[0] <= 'z')
			break;
		if (text[0] != word[0] || text[1] != word[1] || strcmp(text, word) != 0)
			continue;
		if (reserved_words[i].bash && reserved_words[i].which != WORD_TIME)
			r->state->ambiguous = true;
		return reserved_words[i].bash && r->state->posix ? WORD_NONE
								 : reserved_words[i].which;
	}
	return WORD_NONE;
}

static enum lex_reserved read_reserved(struct lex_reader *r, size_t *end)
{
	char word[10];
	size_t len = 0, i = r->pos;

	for (; i < r->end && !lex_is_meta((unsigned char)r->text.s[i]); i++) {
		if (r->text.s[i] == '\\' && i + 1 < r->end && r->text.s[i + 1] == '\n') {
			i++;
			continue;
		}
		if (len + 1 >= sizeof(word))
			return WORD_NONE;
		word[len++] = r->text.s[i];
	}
	word[len] = '\0';
	*end = i;
	return find_reserved(r, word);
}

enum lex_reserved lex_peek_reserved(struct lex_reader *r, size_t *end)
{
	int c = lex_peek(r, 0);

	if (c < 0 || !(lex_classes[c] & LEX_RESERVED))
		return WORD_NONE;
	if (r->peeked != r->pos) {
		r->peeked = r->pos;
		r->peeked_word = (uint8_t)read_reserved(r, &r->peeked_end);
	}
	*end = r->peeked_end;
	return (enum lex_reserved)r->peeked_word;
}

bool lex_take_reserved(struct lex_reader *r, enum lex_reserved which)
{
	size_t end = 0;

	if (lex_failed(r) || lex_peek_reserved(r, &end) != which)
		return false;
	r->pos = end;
	return true;
}

/* ---- commands ---- */

struct ast_node *lex_new_node(struct lex_reader *r, enum ast_type type)
{
	struct ast_node *n = shell_alloc(r->state->arena, sizeof(*n));

	n->type = (uint8_t)type;
	n->start = lex_origin(r, r->pos);
	return n;
}

/* @n of the stack, in the arena. */
static struct ast_node *kept_node(struct lex_reader *r, const struct ast_node *n)
{
	struct ast_node *kept = shell_alloc_raw(r->state->arena, sizeof(*kept));

	*kept = *n;
	return kept;
}

struct ast_node *lex_command(struct lex_reader *r)
{
	struct ast_node *n;

	if (!lex_enter(r))
		return lex_new_node(r, AST_LIST);
	n = lex_compound(r);
	if (!n)
		n = lex_simple(r);
	lex_leave(r);
	return n;
}

/* ---- pipelines and lists ---- */

/* bash's "time" without options but -p; with others it is a program. */
static bool take_time(struct lex_reader *r)
{
	size_t start = r->pos;

	if (!lex_take_reserved(r, WORD_TIME))
		return false;
	lex_blank(r);
	if (lex_peek(r, 0) == '-' && lex_peek(r, 1) == 'p' && lex_is_meta(lex_peek(r, 2))) {
		r->pos += 2;
		lex_blank(r);
	}
	if (lex_peek(r, 0) == '-') {
		r->pos = start;
		return false;
	}
	return true;
}

/* "!" and "time" before a pipeline, or alone to bash; true: a command must follow. */
static bool take_prefixes(struct lex_reader *r, struct ast_node *n)
{
	bool prefixed = false;

	for (;;) {
		if (lex_take_reserved(r, WORD_BANG)) {
			n->negated = !n->negated;
			prefixed = !r->state->posix;
		} else if (take_time(r)) {
			prefixed = true;
		} else {
			break;
		}
		lex_blank(r);
	}
	int c = lex_peek(r, 0);

	return !prefixed || !lex_is_meta(c) || c == '(' || c == '<' || c == '>' || c == '|';
}

static bool take_pipe(struct lex_reader *r)
{
	lex_continuation(r);
	if (lex_peek(r, 0) != '|')
		return false;
	size_t start = r->pos++;

	lex_continuation(r);
	if (lex_peek(r, 0) == '|') {
		r->pos = start;
		return false;
	}
	if (lex_peek(r, 0) == '&' && !r->state->posix)
		r->pos++;
	return true;
}

static struct ast_node *lex_pipeline(struct lex_reader *r)
{
	struct ast_node n = { .type = AST_PIPE, .start = lex_origin(r, r->pos) };
	struct ast_node **tail = &n.body;

	if (take_prefixes(r, &n)) {
		do {
			lex_newlines(r);
			*tail = lex_command(r);
			tail = &(*tail)->next;
			lex_blank(r);
		} while (!lex_failed(r) && take_pipe(r));
	}
	n.end = n.body ? n.body->end : n.start;
	if (n.body && !n.body->next && !n.negated)
		return n.body;
	return kept_node(r, &n);
}

/* "&&" or "||", and the newlines behind. */
static bool take_join(struct lex_reader *r, enum ast_join *join)
{
	int c = lex_peek(r, 0);

	if (c != '&' && c != '|' && c != '\\')
		return false;
	if (lex_take_operator(r, "&&"))
		*join = JOIN_AND;
	else if (lex_take_operator(r, "||"))
		*join = JOIN_OR;
	else
		return false;
	return true;
}

static bool ends_list(struct lex_reader *r)
{
	size_t end;
	int c = lex_peek(r, 0);

	if (c == -1 || c == ')')
		return true;
	if (c == ';' && (lex_peek(r, 1) == ';' || lex_peek(r, 1) == '&'))
		return true;
	switch (lex_peek_reserved(r, &end)) {
	case WORD_CLOSE:
	case WORD_DO:
	case WORD_DONE:
	case WORD_ELIF:
	case WORD_ELSE:
	case WORD_ESAC:
	case WORD_FI:
	case WORD_THEN:
		return true;
	default:
		return false;
	}
}

/* Pipelines joined by && and ||, added at *@tail. */
static void lex_and_or(struct lex_reader *r, struct ast_node ***tail)
{
	enum ast_join join = JOIN_ALWAYS;
	struct ast_node **first = *tail;

	do {
		if (join != JOIN_ALWAYS)
			lex_newlines(r);
		struct ast_node *n = lex_pipeline(r);

		n->join = (uint8_t)join;
		**tail = n;
		*tail = &n->next;
		lex_blank(r);
	} while (!lex_failed(r) && take_join(r, &join));
	if (lex_peek(r, 0) == '&')
		for (struct ast_node *n = *first; n; n = n->next)
			n->background = true;
}

/* Behind a command: ";", "&" or newlines. False: none of them. */
static bool take_separator(struct lex_reader *r)
{
	int c = lex_peek(r, 0);

	if (c == ';' && (lex_peek(r, 1) == ';' || lex_peek(r, 1) == '&'))
		return false;
	if (c == ';' || c == '&')
		r->pos++;
	else if (c != '\n')
		return false;
	lex_newlines(r);
	return true;
}

/* Commands up to what ends a list; that stays unread. */
struct ast_node *lex_list(struct lex_reader *r)
{
	struct ast_node *n = lex_new_node(r, AST_LIST), **tail = &n->body;

	lex_newlines(r);
	while (!lex_failed(r) && !ends_list(r)) {
		lex_and_or(r, &tail);
		if (lex_failed(r) || !take_separator(r))
			break;
	}
	n->end = lex_origin_end(r, r->pos);
	lex_order(&n->start, &n->end);
	return n;
}

/*
 * One step of a long text: as few commands as are complete in themselves, so that
 * their tree is gone before the next ones are read.
 */
struct ast_node *lex_next(struct lex_reader *r)
{
	struct ast_node n = { .type = AST_LIST, .start = lex_origin(r, r->pos) };
	struct ast_node **tail = &n.body;
	bool separated = true;

	lex_newlines(r);
	while (!lex_failed(r) && !ends_list(r)) {
		lex_and_or(r, &tail);
		separated = !lex_failed(r) && take_separator(r);
		if (!separated || !r->pending)
			break;
	}
	if ((!n.body || !separated) && !lex_failed(r) && r->pos < r->end)
		lex_unexpected(r);
	if (r->pending)
		lex_here_bodies(r);
	return n.body && n.body->next ? kept_node(r, &n) : n.body;
}

struct ast_node *lex_program(struct lex_state *state, const struct shell_text *text)
{
	struct lex_reader r;
	struct ast_node *n;

	lex_reader_init(&r, state, text);
	n = lex_list(&r);
	if (!lex_failed(&r) && r.pos < r.end)
		lex_unexpected(&r);
	if (r.pending)
		lex_here_bodies(&r);
	return n;
}
