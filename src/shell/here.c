/* Here-documents: the delimiter at the operator, the bodies after the next newline. */
#include <string.h>

#include "shell/lex.h"

/* ---- the delimiter ---- */

/* The position after the quoted text at @at; r->end + 1 if it is not closed on its line. */
static size_t here_skip_quoted(const struct lex_reader *r, size_t at)
{
	char quote = r->text.s[at++];

	for (; at < r->end && r->text.s[at] != '\n'; at++) {
		if (r->text.s[at] == quote)
			return at + 1;
		if (quote == '"' && r->text.s[at] == '\\')
			at++;
	}
	return r->end + 1;
}

/* The position after the delimiter; beyond r->end if it takes more than a line. */
static size_t here_delimiter_end(const struct lex_reader *r)
{
	size_t at = r->pos;

	while (at < r->end && !lex_is_meta((unsigned char)r->text.s[at])) {
		if (r->text.s[at] == '\\')
			at += at + 1 < r->end && r->text.s[at + 1] == '\n' ? r->end : 2;
		else if (r->text.s[at] == '\'' || r->text.s[at] == '"')
			at = here_skip_quoted(r, at);
		else
			at++;
	}
	return at;
}

/* The delimiter [from, to) without its quotes; *quoted: it had quotes. */
static char *here_unquote(struct lex_reader *r, size_t from, size_t to, bool *quoted)
{
	char *s = shell_alloc(r->state->arena, to - from + 1);
	size_t len = 0;
	char quote = '\0';

	for (size_t i = from; i < to; i++) {
		char c = r->text.s[i];

		if (quote ? c == quote : c == '\'' || c == '"') {
			quote = quote ? '\0' : c;
			*quoted = true;
		} else if (c == '\\' && quote != '\'' && i + 1 < to &&
			   (!quote || strchr("\"\\$`", r->text.s[i + 1]))) {
			s[len++] = r->text.s[++i];
			*quoted = true;
		} else {
			s[len++] = c;
		}
	}
	return s;
}

void lex_here_delimiter(struct lex_reader *r, struct ast_redirect *redirect)
{
	lex_blank(r);
	size_t end = here_delimiter_end(r);

	if (end == r->pos) {
		lex_unexpected(r);
	} else if (end > r->end) {
		/* No line can be that delimiter, or shells differ about it. */
		lex_fail(r, SHELL_SYNTAX, "a here-document's delimiter of more than a line",
			 r->pos);
	}
	if (lex_failed(r))
		return;
	redirect->delimiter = here_unquote(r, r->pos, end, &redirect->raw);
	r->pos = end;
	struct lex_here *h = shell_alloc(r->state->arena, sizeof(*h));

	h->redirect = redirect;
	*r->pending_tail = h;
	r->pending_tail = &h->next;
}

/* ---- the bodies ---- */

struct line {
	size_t start, text, end; /* text: after tabs to strip; end: at the newline */
};

static struct line here_next_line(const struct lex_reader *r, size_t at, bool strip)
{
	struct line l = { at, at, at };
	const char *newline = memchr(r->text.s + at, '\n', r->end - at);

	l.end = newline ? (size_t)(newline - r->text.s) : r->end;
	while (strip && l.text < l.end && r->text.s[l.text] == '\t')
		l.text++;
	return l;
}

static bool here_is_joined(const struct lex_reader *r, struct line l)
{
	size_t slashes = 0;

	while (l.end - slashes > l.text && r->text.s[l.end - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2 && l.end < r->end;
}

static bool here_is_delimiter(const struct lex_reader *r, struct line l, const char *delimiter,
			      size_t len)
{
	return l.end - l.text == len && memcmp(r->text.s + l.text, delimiter, len) == 0;
}

/* Is it a delimiter to bash only, which joins its lines with backslash and newline? */
static bool here_is_split_delimiter(const struct lex_reader *r, struct line l,
				    const char *delimiter, size_t len)
{
	size_t seen = 0;

	for (size_t i = l.text; i < r->end && r->text.s[i] != '\n'; i++) {
		if (r->text.s[i] == '\\' && i + 1 < r->end && r->text.s[i + 1] == '\n')
			i++;
		else if (seen >= len || r->text.s[i] != delimiter[seen++])
			return false;
	}
	return seen == len;
}

/* The position after the body's last line; *next: after the delimiter's line. */
static size_t here_find_end(struct lex_reader *r, const struct ast_redirect *h, size_t *next)
{
	size_t len = strlen(h->delimiter), at = r->pos;
	bool joined = false;

	while (at < r->end) {
		struct line l = here_next_line(r, at, h->strip);

		if (!joined && here_is_delimiter(r, l, h->delimiter, len)) {
			*next = l.end < r->end ? l.end + 1 : r->end;
			return l.start;
		}
		if (!joined && !h->raw && here_is_joined(r, l) &&
		    here_is_split_delimiter(r, l, h->delimiter, len))
			lex_fail(r, SHELL_SYNTAX, "a here-document's delimiter over two lines", at);
		joined = !h->raw && here_is_joined(r, l);
		at = l.end < r->end ? l.end + 1 : r->end;
	}
	r->state->unfinished |= !r->inner;
	*next = r->end;
	return r->end;
}

/* The body without the tabs at the start of its lines. */
static struct shell_text here_stripped(struct lex_reader *r, size_t from, size_t to)
{
	char *s = shell_alloc(r->state->arena, to - from + 1);
	uint32_t *at = shell_alloc(r->state->arena, (to - from + 1) * sizeof(*at));
	size_t len = 0;
	bool start = true;

	for (size_t i = from; i < to; i++) {
		if (start && r->text.s[i] == '\t')
			continue;
		start = r->text.s[i] == '\n';
		s[len] = r->text.s[i];
		at[len++] = lex_origin(r, i);
	}
	return (struct shell_text){ s, at, len };
}

static void here_read_body(struct lex_reader *r, struct ast_redirect *h)
{
	size_t from = r->pos, next, to = here_find_end(r, h, &next);
	struct lex_reader sub = *r;

	if (lex_failed(r))
		return;
	if (h->strip) {
		struct shell_text body = here_stripped(r, from, to);

		lex_reader_init(&sub, r->state, &body);
	} else {
		sub.pos = from;
		sub.end = to;
	}
	sub.inner = true;
	sub.pending = NULL;
	sub.pending_tail = &sub.pending;
	if (h->raw) {
		struct lex_word b;

		lex_word_start(&sub, &b);
		lex_add_text(&sub, &b, sub.pos, sub.end, true);
		sub.pos = sub.end;
		lex_word_end(&sub, &b);
		h->target = b.word;
	} else if (lex_enter(&sub)) {
		h->target = lex_quoted_until(&sub, -1);
		lex_leave(&sub);
	}
	r->pos = lex_failed(r) ? r->end : next;
}

void lex_here_bodies(struct lex_reader *r)
{
	struct lex_here *h = r->pending;

	r->pending = NULL;
	r->pending_tail = &r->pending;
	for (; h && !lex_failed(r); h = h->next)
		here_read_body(r, h->redirect);
}

void lex_newlines(struct lex_reader *r)
{
	size_t first = 0;

	for (lex_blank(r); lex_peek(r, 0) == '\n'; lex_blank(r)) {
		r->pos++;
		if (r->pending)
			lex_here_bodies(r);
		if (!first)
			first = r->pos;
	}
	r->line_end = first;
}
