/* $'...': a single-quoted text with backslash sequences. */
#include <string.h>

#include "shell/lex.h"

struct ansi {
	char *s;
	uint32_t *at;
	size_t len;
	bool ended; /* a NUL ended the string, not the quotes */
};

static void put(struct ansi *a, char c, uint32_t at)
{
	if (a->ended || c == '\0') {
		a->ended = true;
		return;
	}
	a->s[a->len] = c;
	a->at[a->len++] = at;
}

static int digit(int c, unsigned base)
{
	int v = c >= '0' && c <= '9' ? c - '0' :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;

	return (unsigned)v < base ? v : -1;
}

/* Up to @max digits behind the position. */
static uint32_t number(struct lex_reader *r, unsigned base, int max)
{
	uint32_t value = 0;

	for (; max > 0 && digit(lex_peek(r, 0), base) >= 0; max--, r->pos++)
		value = value * base + (uint32_t)digit(lex_peek(r, 0), base);
	return value;
}

static void put_character(struct ansi *a, uint32_t code, uint32_t at)
{
	if (code < 0x80) {
		put(a, (char)code, at);
	} else if (code < 0x800) {
		put(a, (char)(0xc0 | code >> 6), at);
		put(a, (char)(0x80 | (code & 0x3f)), at);
	} else if (code < 0x10000) {
		put(a, (char)(0xe0 | code >> 12), at);
		put(a, (char)(0x80 | (code >> 6 & 0x3f)), at);
		put(a, (char)(0x80 | (code & 0x3f)), at);
	} else {
		put(a, (char)(0xf0 | (code >> 18 & 7)), at);
		put(a, (char)(0x80 | (code >> 12 & 0x3f)), at);
		put(a, (char)(0x80 | (code >> 6 & 0x3f)), at);
		put(a, (char)(0x80 | (code & 0x3f)), at);
	}
}

/* One backslash sequence, at the character behind the backslash. */
static void sequence(struct lex_reader *r, struct ansi *a, uint32_t at)
{
	static const char letters[] = "abeEfnrtv", values[] = "\a\b\033\033\f\n\r\t\v";
	int c = lex_peek(r, 0);
	const char *known = c > 0 ? strchr(letters, c) : NULL;

	if (c >= '0' && c <= '7') {
		put(a, (char)number(r, 8, 3), at);
		return;
	}
	r->pos++;
	if (known) {
		put(a, values[known - letters], at);
	} else if (c == 'x' && digit(lex_peek(r, 0), 16) >= 0) {
		put(a, (char)number(r, 16, 2), at);
	} else if ((c == 'u' || c == 'U') && digit(lex_peek(r, 0), 16) >= 0) {
		put_character(a, number(r, 16, c == 'u' ? 4 : 8), at);
	} else if (c == 'c' && lex_peek(r, 0) != -1) {
		put(a, (char)(lex_peek(r, 0) & 0x1f), at);
		r->pos++;
	} else {
		if (!strchr("\\'\"?", c))
			put(a, '\\', at);
		put(a, (char)c, at);
	}
}

static size_t closing_quote(const struct lex_reader *r)
{
	size_t i = r->pos;

	while (i < r->end && r->text.s[i] != '\'')
		i += r->text.s[i] == '\\' ? 2 : 1;
	return i;
}

void lex_ansi(struct lex_reader *r, struct lex_word *b)
{
	size_t open = r->pos++, close = closing_quote(r);
	struct ansi a = { 0 };

	if (close >= r->end) {
		lex_fail(r, SHELL_SYNTAX, "a $' that is not closed", open);
		return;
	}
	/* No sequence makes more bytes than it has; \c may take the quote as its letter. */
	a.s = shell_alloc(r->state->arena, close - r->pos + 2);
	a.at = shell_alloc(r->state->arena, (close - r->pos + 2) * sizeof(*a.at));
	while (r->pos < close) {
		uint32_t at = lex_origin(r, r->pos);

		if (lex_peek(r, 0) == '\\') {
			r->pos++;
			sequence(r, &a, at);
		} else {
			put(&a, (char)lex_peek(r, 0), at);
			r->pos++;
		}
	}
	r->pos = close + 1;
	struct ast_part *p = lex_add_part(r, b, PART_TEXT, open, true);

	p->text = (struct ast_text){ .s = a.s, .at = a.at, .pos = 0, .len = (uint32_t)a.len };
}
