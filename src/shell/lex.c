/*
 * Characters, blanks and words. A word is a list of parts; a run of plain
 * characters is one part that points into the text, so a long word costs little.
 */
#include "shell/lex.h"

#include <string.h>

/* ---- the reader ---- */

void lex_reader_init(struct lex_reader *r, struct lex_state *state, const struct shell_text *text)
{
	memset(r, 0, sizeof(*r));
	r->state = state;
	r->text = *text;
	r->end = text->len;
	r->pending_tail = &r->pending;
	r->peeked = SIZE_MAX;
}

void lex_fail(struct lex_reader *r, enum shell_trouble trouble, const char *what, size_t at)
{
	if (r->state->trouble == SHELL_FINE) {
		r->state->trouble = trouble;
		r->state->trouble_text = what;
		r->state->trouble_at = lex_origin(r, at);
	}
	r->pos = r->end;
}

void lex_unexpected(struct lex_reader *r)
{
	if (r->pos >= r->end)
		lex_fail(r, SHELL_SYNTAX, "an unexpected end of the text", r->pos);
	else
		lex_fail(r, SHELL_SYNTAX, "a word or operator where none may stand", r->pos);
}

void lex_close(struct lex_reader *r, size_t open)
{
	if (lex_peek(r, 0) == ')')
		r->pos++;
	else if (r->pos >= r->end)
		lex_fail(r, SHELL_SYNTAX, "a parenthesis that is not closed", open);
	else
		lex_unexpected(r);
}

bool lex_enter(struct lex_reader *r)
{
	if (r->state->depth == 0) {
		lex_fail(r, SHELL_TOO_DEEP, "too many levels of nesting", r->pos);
		return false;
	}
	if (shell_arena_spent(r->state->arena))
		lex_fail(r, SHELL_TOO_LONG, "a text too long to judge", r->pos);
	r->state->depth--;
	return true;
}

void lex_leave(struct lex_reader *r)
{
	r->state->depth++;
}

uint32_t lex_origin(const struct lex_reader *r, size_t pos)
{
	if (!r->text.at)
		return (uint32_t)pos;
	if (r->text.len == 0)
		return 0;
	return pos < r->text.len ? r->text.at[pos] : r->text.at[r->text.len - 1] + 1;
}

uint32_t lex_origin_end(const struct lex_reader *r, size_t pos)
{
	return pos == 0 ? lex_origin(r, 0) : lex_origin(r, pos - 1) + 1;
}

void lex_order(uint32_t *start, uint32_t *end)
{
	if (*start > *end) {
		uint32_t last = *end > 0 ? *end - 1 : 0;

		*end = *start + 1;
		*start = last;
	}
}

struct ast_text lex_slice(const struct lex_reader *r, size_t from, size_t to)
{
	return (struct ast_text){
		.s = r->text.s + from,
		.at = r->text.at ? r->text.at + from : NULL,
		.pos = (uint32_t)from,
		.len = (uint32_t)(to - from),
	};
}

/* ---- characters ---- */

#define N LEX_NAME
#define D LEX_DIGIT
#define M LEX_META
#define R LEX_RESERVED
#define P LEX_PATTERN
#define E LEX_ESCAPE

const uint8_t lex_classes[256] = {
	['\001'] = P, [' '] = M, ['\t'] = M, ['\n'] = M, [';'] = M, ['&'] = M, ['|'] = M,
	['<'] = M, ['>'] = M, ['('] = M, [')'] = M, ['!'] = R, ['{'] = R | P, ['}'] = R | P,
	['['] = R | P, [']'] = P, ['*'] = P, ['?'] = P, ['~'] = P, ['\\'] = R | E, ['$'] = E,
	['`'] = E, ['\''] = E, ['"'] = E, ['_'] = N,
	['0'] = D, ['1'] = D, ['2'] = D, ['3'] = D, ['4'] = D, ['5'] = D, ['6'] = D, ['7'] = D,
	['8'] = D, ['9'] = D,
	['A'] = N, ['B'] = N, ['C'] = N, ['D'] = N, ['E'] = N, ['F'] = N, ['G'] = N, ['H'] = N,
	['I'] = N, ['J'] = N, ['K'] = N, ['L'] = N, ['M'] = N, ['N'] = N, ['O'] = N, ['P'] = N,
	['Q'] = N, ['R'] = N, ['S'] = N, ['T'] = N, ['U'] = N, ['V'] = N, ['W'] = N, ['X'] = N,
	['Y'] = N, ['Z'] = N,
	['a'] = N, ['b'] = N, ['c'] = N | R, ['d'] = N | R, ['e'] = N | R, ['f'] = N | R,
	['g'] = N, ['h'] = N, ['i'] = N | R, ['j'] = N, ['k'] = N, ['l'] = N, ['m'] = N,
	['n'] = N, ['o'] = N, ['p'] = N, ['q'] = N, ['r'] = N, ['s'] = N | R, ['t'] = N | R,
	['u'] = N | R, ['v'] = N, ['w'] = N | R, ['x'] = N, ['y'] = N, ['z'] = N,
};

#undef N
#undef D
#undef M
#undef R
#undef P
#undef E

/* Blanks and a comment, up to a token or the newline. */
void lex_blank(struct lex_reader *r)
{
	for (;;) {
		lex_continuation(r);
		if (lex_peek(r, 0) != ' ' && lex_peek(r, 0) != '\t')
			break;
		r->pos++;
	}
	if (lex_peek(r, 0) == '#') {
		const char *start = r->text.s + r->pos;
		const char *newline = memchr(start, '\n', r->end - r->pos);

		r->pos = newline ? (size_t)(newline - r->text.s) : r->end;
	}
}

void lex_newlines(struct lex_reader *r)
{
	for (lex_blank(r); lex_peek(r, 0) == '\n'; lex_blank(r)) {
		r->pos++;
		if (r->pending)
			lex_here_bodies(r);
	}
}

/* ---- building a word ---- */

void lex_word_start(struct lex_reader *r, struct lex_word *b)
{
	b->word = shell_alloc(r->state->arena, sizeof(*b->word));
	b->word->start = lex_origin(r, r->pos);
	b->tail = &b->word->parts;
	b->last = NULL;
}

static bool is_plain_run(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!s[i] || lex_is(s[i], LEX_PATTERN))
			return false;
	return true;
}

void lex_word_end(struct lex_reader *r, struct lex_word *b)
{
	struct ast_word *w = b->word;

	w->end = lex_origin_end(r, r->pos);
	lex_order(&w->start, &w->end);
	w->simple = w->parts && !w->parts->next && w->parts->type == PART_TEXT &&
		    !w->parts->quoted && is_plain_run(w->parts->text.s, w->parts->text.len);
}

struct ast_part *lex_add_part(struct lex_reader *r, struct lex_word *b, enum ast_part_type type,
			      size_t from, bool quoted)
{
	struct ast_part *p = shell_alloc(r->state->arena, sizeof(*p));

	p->type = (uint8_t)type;
	p->quoted = quoted;
	p->text = lex_slice(r, from, r->pos > from ? r->pos : from);
	b->word->quoted |= quoted;
	*b->tail = p;
	b->tail = &p->next;
	b->last = p;
	if (shell_arena_spent(r->state->arena))
		lex_fail(r, SHELL_TOO_LONG, "a text too long to judge", from);
	return p;
}

void lex_add_text(struct lex_reader *r, struct lex_word *b, size_t from, size_t to, bool quoted)
{
	struct ast_part *p = b->last;

	if (p && p->type == PART_TEXT && p->quoted == quoted &&
	    p->text.s + p->text.len == r->text.s + from) {
		p->text.len += (uint32_t)(to - from);
		return;
	}
	p = lex_add_part(r, b, PART_TEXT, from, quoted);
	p->text.len = (uint32_t)(to - from);
}

/* ---- quoted text ---- */

static void lex_single(struct lex_reader *r, struct lex_word *b)
{
	size_t open = r->pos++;
	const char *close = memchr(r->text.s + r->pos, '\'', r->end - r->pos);

	if (!close) {
		lex_fail(r, SHELL_SYNTAX, "a single quote that is not closed", open);
		return;
	}
	lex_add_text(r, b, r->pos, (size_t)(close - r->text.s), true);
	r->pos = (size_t)(close - r->text.s) + 1;
}

static void lex_double(struct lex_reader *r, struct lex_word *b)
{
	r->pos++;
	lex_add_text(r, b, r->pos, r->pos, true);
	if (lex_enter(r)) {
		lex_quoted(r, b, '"');
		lex_leave(r);
	}
}

/* A backslash as it acts between double quotes. */
static void quoted_backslash(struct lex_reader *r, struct lex_word *b, int term)
{
	int c = lex_peek(r, 1);

	if (c == '\n') {
		r->pos += 2;
	} else if (c == '$' || c == '`' || c == '\\' || (c == '"' && term != -1) ||
		   (c == '}' && term == '}')) {
		lex_add_text(r, b, r->pos + 1, r->pos + 2, true);
		r->pos += 2;
	} else {
		lex_add_text(r, b, r->pos, r->pos + 1, true);
		r->pos++;
	}
}

static void quoted_run(struct lex_reader *r, struct lex_word *b, int term)
{
	size_t from = r->pos;

	for (; r->pos < r->end; r->pos++) {
		int c = (unsigned char)r->text.s[r->pos];

		if (c == '\\' || c == '$' || c == '`' || c == term || (c == '"' && term == '}'))
			break;
	}
	lex_add_text(r, b, from, r->pos, true);
}

void lex_quoted(struct lex_reader *r, struct lex_word *b, int term)
{
	size_t open = r->pos;

	while (!lex_failed(r)) {
		int c = lex_peek(r, 0);

		if (c == -1 && term != -1)
			lex_fail(r, SHELL_SYNTAX, term == '"' ? "a double quote that is not closed"
							      : "a ${ that is not closed",
				 open > 0 ? open - 1 : 0);
		if (c == -1)
			return;
		if (c == term) {
			r->pos++;
			return;
		}
		if (c == '\\')
			quoted_backslash(r, b, term);
		else if (c == '$')
			lex_dollar(r, b, true);
		else if (c == '`')
			lex_backquote(r, b, true);
		else if (c == '"' && term == '}')
			lex_double(r, b);
		else
			quoted_run(r, b, term);
	}
}

struct ast_word *lex_quoted_until(struct lex_reader *r, int term)
{
	struct lex_word b;

	lex_word_start(r, &b);
	b.word->quoted = true;
	lex_quoted(r, &b, term);
	lex_word_end(r, &b);
	return b.word;
}

/* ---- unquoted text ---- */

static bool ends_at(int c, enum lex_stop stop)
{
	switch (stop) {
	case STOP_WORD:
		return lex_is_meta(c);
	case STOP_BRACE:
		return c == '}';
	case STOP_SLASH:
		return c == '}' || c == '/';
	case STOP_COLON:
		return c == '}' || c == ':';
	case STOP_BRACKET:
		return c == ']';
	}
	return true;
}

static void lex_backslash(struct lex_reader *r, struct lex_word *b)
{
	if (lex_peek(r, 1) == '\n') {
		r->pos += 2;
	} else if (lex_peek(r, 1) == -1) {
		lex_add_text(r, b, r->pos, r->pos + 1, true);
		r->pos++;
	} else {
		lex_add_text(r, b, r->pos + 1, r->pos + 2, true);
		r->pos += 2;
	}
}

static void unquoted_run(struct lex_reader *r, struct lex_word *b, enum lex_stop stop)
{
	size_t from = r->pos++;

	for (; r->pos < r->end; r->pos++) {
		char c = r->text.s[r->pos];

		if (lex_is(c, LEX_ESCAPE) ||
		    (stop == STOP_WORD ? lex_is(c, LEX_META) : ends_at((unsigned char)c, stop)))
			break;
	}
	lex_add_text(r, b, from, r->pos, false);
}

/* bash's ?(a|b): the text up to the closing parenthesis, as it stands. */
static bool lex_extended_glob(struct lex_reader *r, struct lex_word *b)
{
	const struct ast_part *p = b->last;

	if (r->state->posix || !p || p->type != PART_TEXT || p->quoted || p->text.len == 0 ||
	    lex_peek(r, 1) == ')' || !strchr("?*+@!", p->text.s[p->text.len - 1]))
		return false;
	size_t from = r->pos, level = 0;

	for (; r->pos < r->end; r->pos++) {
		char c = r->text.s[r->pos];

		if (c == '\n' || c == '\'' || c == '"' || c == '$' || c == '`' || c == '\\')
			break;
		level += c == '(';
		if (c == ')' && --level == 0) {
			r->pos++;
			lex_add_text(r, b, from, r->pos, false);
			r->state->ambiguous = true;
			return true;
		}
	}
	r->pos = from;
	return false;
}

static bool starts_process(const struct lex_reader *r, int c)
{
	return (c == '<' || c == '>') && lex_peek(r, 1) == '(' && !r->state->posix;
}

/* One piece of an unquoted word. False: the word ends here. */
static bool lex_piece(struct lex_reader *r, struct lex_word *b, enum lex_stop stop)
{
	int c = lex_peek(r, 0);

	if (c == -1)
		return false;
	if (starts_process(r, c) && stop == STOP_WORD)
		lex_process(r, b);
	else if (c == '(' && stop == STOP_WORD && lex_extended_glob(r, b))
		return true;
	else if (ends_at(c, stop))
		return false;
	else if (c == '\\')
		lex_backslash(r, b);
	else if (c == '\'')
		lex_single(r, b);
	else if (c == '"')
		lex_double(r, b);
	else if (c == '$')
		lex_dollar(r, b, false);
	else if (c == '`')
		lex_backquote(r, b, false);
	else
		unquoted_run(r, b, stop);
	return true;
}

struct ast_word *lex_word_until(struct lex_reader *r, enum lex_stop stop)
{
	struct lex_word b;

	lex_word_start(r, &b);
	while (!lex_failed(r) && lex_piece(r, &b, stop))
		;
	lex_word_end(r, &b);
	return b.word;
}

struct ast_word *lex_word(struct lex_reader *r)
{
	lex_continuation(r);
	int c = lex_peek(r, 0);

	if (lex_failed(r) || (lex_is_meta(c) && !starts_process(r, c)))
		return NULL;
	return lex_word_until(r, STOP_WORD);
}
