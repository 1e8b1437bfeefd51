/* The reader: position and trouble, characters, blanks and comments. */
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
		r->state->unfinished |= r->pos >= r->end && !r->inner;
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
	['<'] = M, ['>'] = M, ['('] = M | P, [')'] = M, ['!'] = R, ['{'] = R | P, ['}'] = R | P,
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

void lex_blank(struct lex_reader *r)
{
	lex_spaces(r);
	if (lex_peek(r, 0) == '#') {
		const char *start = r->text.s + r->pos;
		const char *newline = memchr(start, '\n', r->end - r->pos);

		r->pos = newline ? (size_t)(newline - r->text.s) : r->end;
	}
}
