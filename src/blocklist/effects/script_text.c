#include "blocklist/effects/script_text.h"

#include <string.h>

#include "base/str.h"

/* Tokens of a call that are looked at. */
#define CALL_TOKENS_MAX 32

/* The character that the escape at the backslash @i means; *@used: the bytes it takes. */
static char script_text_escape(const char *s, size_t len, size_t i, size_t *used)
{
	char c = i + 1 < len ? s[i + 1] : '\\';

	*used = i + 1 < len ? 2 : 1;
	if (c == 'n' || c == 'r') /* the key Enter */
		return '\n';
	if (c == 't')
		return '\t';
	if (c == 'x' && i + 3 < len && str_hex_digit(s[i + 2]) >= 0 &&
	    str_hex_digit(s[i + 3]) >= 0) {
		*used = 4;
		return (char)(str_hex_digit(s[i + 2]) * 16 +
			      str_hex_digit(s[i + 3]));
	}
	if (c >= '0' && c <= '7') {
		int value = 0;

		for (*used = 1; *used < 4 && i + *used < len && s[i + *used] >= '0' &&
				s[i + *used] <= '7'; ++*used)
			value = value * 8 + s[i + *used] - '0';
		return (char)value;
	}
	return c;
}

/* Bytes [from, to) of the text with their escapes resolved. */
static struct shell_word script_text_string_value(struct script_text *r, size_t from, size_t to)
{
	const struct shell_text *t = &r->text->text;
	char *s = shell_alloc(r->arena, to - from + 1);
	uint8_t *kind = shell_alloc(r->arena, to - from + 1);
	uint32_t *at = shell_alloc(r->arena, (to - from + 1) * sizeof(*at));
	size_t len = 0, used;

	for (size_t i = from; i < to; i += used, len++) {
		used = 1;
		s[len] = t->s[i] == '\\' ? script_text_escape(t->s, to, i, &used) : t->s[i];
		kind[len] = r->text->kind[i];
		at[len] = t->at ? t->at[i] : (uint32_t)i;
	}
	if (len && s[0] == '~' && kind[0] == SHELL_LITERAL)
		kind[0] = SHELL_TILDE;
	return (struct shell_word){ .text = { .s = s, .at = at, .len = len }, .kind = kind,
				    .start = r->text->start, .end = r->text->end };
}

static void script_text_add_token(struct script_text *r, enum script_token_kind kind, size_t start,
				  size_t end)
{
	if (r->count == SCRIPT_TOKENS_MAX) { /* the harm may be in the rest */
		shell_arena_exhaust(r->arena);
		return;
	}
	r->tokens[r->count] = (struct script_token){ .kind = kind, .start = start, .end = end };
	if (kind == TOKEN_NAME)
		r->tokens[r->count].hash = list_hash(r->text->text.s + start, end - start);
	r->count++;
}

static void script_text_add_string(struct script_text *r, enum script_token_kind kind, size_t start,
				   size_t from, size_t to, size_t end)
{
	size_t before = r->count;

	script_text_add_token(r, kind, start, end);
	if (r->count == before)
		return;
	r->tokens[r->count - 1].string = script_text_string_value(r, from, to);
}

/* Where the string from @i on ends: at @width times @quote, or at the end of the text. */
static size_t script_text_string_end(const struct shell_text *t, size_t i, char quote, size_t width)
{
	for (; i < t->len; i++) {
		size_t n = 0;

		if (t->s[i] == '\\') {
			i++;
			continue;
		}
		while (n < width && i + n < t->len && t->s[i + n] == quote)
			n++;
		if (n == width)
			return i;
	}
	return t->len;
}

static size_t script_text_read_string(struct script_text *r, size_t i)
{
	const struct shell_text *t = &r->text->text;
	char quote = t->s[i];
	size_t width = i + 2 < t->len && quote != '`' && t->s[i + 1] == quote &&
		       t->s[i + 2] == quote ? 3 : 1;
	size_t end = script_text_string_end(t, i + width, quote, width);

	script_text_add_string(r, quote == '`' ? TOKEN_RUN : TOKEN_STRING, i, i + width, end,
			       end + width);
	return end + width;
}

/* Perl's q{} qq() qw[] qx{}, Ruby's %x() %w[] %q(). Returns the end, or 0 for anything else. */
static size_t script_text_read_quote_like(struct script_text *r, size_t i)
{
	static const char open[] = "{([<", close[] = "})]>";
	const struct shell_text *t = &r->text->text;
	size_t k = i + 1, end;
	const char *pair;
	bool run;

	if (t->s[i] == 'q')
		k += k < t->len && strchr("qwx", t->s[k]) != NULL;
	else if (k < t->len && strchr("xwqQWi", t->s[k]))
		k++;
	else
		return 0;
	run = t->s[k - 1] == 'x';
	if (k >= t->len || (i && str_is_name_char(t->s[i - 1])))
		return 0;
	pair = strchr(open, t->s[k]);
	if (!t->s[k] || (!pair && !strchr("|!/", t->s[k])))
		return 0;
	end = script_text_string_end(t, k + 1, pair ? close[pair - open] : t->s[k], 1);
	script_text_add_string(r, run ? TOKEN_RUN : TOKEN_STRING, i, k + 1, end, end + 1);
	return end + 1;
}

void script_tokenize(struct script_text *r)
{
	const struct shell_text *t = &r->text->text;
	size_t room = t->len < SCRIPT_TOKENS_MAX ? t->len : SCRIPT_TOKENS_MAX;

	r->tokens = shell_alloc(r->arena, (room + 1) * sizeof(*r->tokens));
	for (size_t i = 0, next; i < t->len; i = next) {
		char c = t->s[i];
		size_t quoted;

		next = i + 1;
		if (c == ' ' || c == '\t' || c == '\n')
			continue;
		if (c == '#' && (i == 0 || strchr(" \t\n;", t->s[i - 1]))) {
			const char *end = memchr(t->s + i, '\n', t->len - i);

			next = end ? (size_t)(end - t->s) : t->len;
			continue;
		}
		if (c == '"' || c == '\'' || c == '`') {
			next = script_text_read_string(r, i);
		} else if ((c == 'q' || c == '%') && (quoted = script_text_read_quote_like(r, i))) {
			next = quoted;
		} else if (str_is_name_char(c)) {
			while (next < t->len && str_is_name_char(t->s[next]))
				next++;
			script_text_add_token(r, TOKEN_NAME, i, next);
		} else {
			script_text_add_token(r, TOKEN_OTHER, i, next);
		}
	}
}

/* ---- queries ---- */

const struct shell_word *script_string(const struct script_text *t, size_t i)
{
	return i < t->count && t->tokens[i].kind == TOKEN_STRING ? &t->tokens[i].string : NULL;
}

bool script_string_in(const struct script_text *t, size_t i, const char *list)
{
	const struct shell_word *w = script_string(t, i);

	return w && list_has(list, w->text.s, w->text.len);
}

bool script_any_name(const struct script_text *r, const char *list)
{
	for (size_t i = 0; i < r->count; i++)
		if (script_token_in(r, i, list))
			return true;
	return false;
}

bool script_same_text(const struct script_text *t, size_t i, size_t k)
{
	const struct script_token *a = &t->tokens[i], *b = &t->tokens[k];

	return a->end - a->start == b->end - b->start &&
	       memcmp(t->text->text.s + a->start, t->text->text.s + b->start,
		      a->end - a->start) == 0;
}

bool script_is_module(const struct script_text *t, size_t i, const char *list)
{
	return script_string_in(t, i, list) && (script_token_in(t, i - 1, " from import ") ||
						script_token_in(t, i - 2, " require import "));
}

/* Has the call at token @i a comma among its arguments? */
static bool script_text_has_second(const struct script_text *t, size_t i)
{
	size_t depth = 0, last = i + CALL_TOKENS_MAX;

	for (i++; i < t->count && i < last; i++) {
		if (depth == 1 && script_is_char(t, i, ','))
			return true;
		depth += script_is_char(t, i, '(') || script_is_char(t, i, '[');
		if ((script_is_char(t, i, ')') || script_is_char(t, i, ']')) && --depth == 0)
			break;
	}
	return false;
}

bool script_joins_path(const struct script_text *t, size_t i)
{
	if (!script_token_in(t, i, " join resolve ") || !script_is_char(t, i + 1, '('))
		return false;
	if (!script_is_char(t, i - 1, '.')) /* from os.path import join; that of Perl joins texts */
		return script_any_name(t, " import ") && script_text_has_second(t, i);
	if (script_string_in(t, i - 3, " path ") && script_is_char(t, i - 2, ')')) /* require() */
		return true;
	return script_token_in(t, i - 2, " path File posix posixpath ") ||
	       (i >= 2 && i - 2 < t->count && t->tokens[i - 2].kind == TOKEN_NAME &&
		script_text_has_second(t, i));
}

bool script_new_line(const struct script_text *t, size_t i)
{
	size_t from;

	if (!i || i >= t->count)
		return !i;
	from = t->tokens[i - 1].end;
	return memchr(t->text->text.s + from, '\n', t->tokens[i].start - from);
}

bool script_new_statement(const struct script_text *t, size_t i)
{
	return !script_is_char(t, i, '.') && !script_is_char(t, i - 1, '=') &&
	       !script_is_char(t, i - 1, '(') && script_new_line(t, i);
}

size_t script_statement_end(const struct script_text *t, size_t i)
{
	size_t end = i + 1;

	for (int depth = 0; end < t->count && end < i + 64; end++) {
		if (script_is_char(t, end, ';') || (depth <= 0 && script_new_statement(t, end)))
			break;
		depth += script_is_char(t, end, '(') || script_is_char(t, end, '[');
		depth -= script_is_char(t, end, ')') || script_is_char(t, end, ']');
	}
	return end;
}

void script_statement_place(const struct script_text *t, size_t i, uint32_t *start,
			    uint32_t *end)
{
	const uint32_t *at = t->text->text.at;
	size_t from, to = t->tokens[script_statement_end(t, i) - 1].end - 1;

	for (size_t least = i > 8 ? i - 8 : 1; i > least && script_is_char(t, i - 1, '.') &&
					       t->tokens[i - 2].kind == TOKEN_NAME; i -= 2)
		;
	from = t->tokens[i].start;
	*start = at ? at[from] : (uint32_t)from;
	*end = 1 + (at ? at[to] : (uint32_t)to);
	if (*start + 1 < *end)
		return;
	*start = t->text->start;
	*end = t->text->end;
}

bool script_any(const struct script_text *t, bool (*is)(const struct script_text *t, size_t i))
{
	for (size_t i = 0; i < t->count; i++)
		if (is(t, i))
			return true;
	return false;
}
