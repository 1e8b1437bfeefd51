/*
 * Words. A word is a list of parts; a run of plain characters is one part that points into
 * the text, so a long word costs little. $(( may also begin a substitution with a subshell;
 * lex_state.again bounds the bytes that are read twice because of that.
 */
#include <string.h>

#include "base/str.h"
#include "shell/lex.h"

/* ---- building a word ---- */

void lex_word_start(struct lex_reader *r, struct lex_word *b)
{
	b->word = shell_alloc(r->state->arena, sizeof(*b->word));
	b->word->start = lex_origin(r, r->pos);
	b->tail = &b->word->parts;
	b->last = NULL;
}

static bool lex_is_plain_run(const char *s, size_t len)
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
		    !w->parts->quoted && lex_is_plain_run(w->parts->text.s, w->parts->text.len);
}

static struct ast_part *lex_add_part(struct lex_reader *r, struct lex_word *b,
				     enum ast_part_type type, size_t from, bool quoted)
{
	struct ast_part *p = shell_alloc(r->state->arena, sizeof(*p));

	p->type = (uint8_t)type;
	p->quoted = quoted;
	p->text = lex_slice(r, from, r->pos > from ? r->pos : from);
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

/* ---- $'...': a single-quoted text with backslash sequences ---- */

struct ansi {
	char *s;
	uint32_t *at;
	size_t len;
	bool ended; /* a NUL ended the string, not the quotes */
};

static void lex_ansi_put(struct ansi *a, char c, uint32_t at)
{
	if (a->ended || c == '\0') {
		a->ended = true;
		return;
	}
	a->s[a->len] = c;
	a->at[a->len++] = at;
}

static int lex_ansi_digit(int c, unsigned base)
{
	int v = c < 0 ? -1 : str_hex_digit((char)c);

	return v < (int)base ? v : -1;
}

/* Up to @max digits at the position. */
static uint32_t lex_ansi_number(struct lex_reader *r, unsigned base, int max)
{
	uint32_t value = 0;

	for (; max > 0 && lex_ansi_digit(lex_peek(r, 0), base) >= 0; max--, r->pos++)
		value = value * base + (uint32_t)lex_ansi_digit(lex_peek(r, 0), base);
	return value;
}

static void lex_ansi_put_character(struct ansi *a, uint32_t code, uint32_t at)
{
	if (code < 0x80) {
		lex_ansi_put(a, (char)code, at);
	} else if (code < 0x800) {
		lex_ansi_put(a, (char)(0xc0 | code >> 6), at);
		lex_ansi_put(a, (char)(0x80 | (code & 0x3f)), at);
	} else if (code < 0x10000) {
		lex_ansi_put(a, (char)(0xe0 | code >> 12), at);
		lex_ansi_put(a, (char)(0x80 | (code >> 6 & 0x3f)), at);
		lex_ansi_put(a, (char)(0x80 | (code & 0x3f)), at);
	} else {
		lex_ansi_put(a, (char)(0xf0 | (code >> 18 & 7)), at);
		lex_ansi_put(a, (char)(0x80 | (code >> 12 & 0x3f)), at);
		lex_ansi_put(a, (char)(0x80 | (code >> 6 & 0x3f)), at);
		lex_ansi_put(a, (char)(0x80 | (code & 0x3f)), at);
	}
}

/* The escape whose character after the backslash is at the position. */
static void lex_ansi_sequence(struct lex_reader *r, struct ansi *a, uint32_t at)
{
	static const char letters[] = "abeEfnrtv", values[] = "\a\b\033\033\f\n\r\t\v";
	int c = lex_peek(r, 0);
	const char *known = c > 0 ? strchr(letters, c) : NULL;

	if (c >= '0' && c <= '7') {
		lex_ansi_put(a, (char)lex_ansi_number(r, 8, 3), at);
		return;
	}
	r->pos++;
	if (known) {
		lex_ansi_put(a, values[known - letters], at);
	} else if (c == 'x' && lex_ansi_digit(lex_peek(r, 0), 16) >= 0) {
		lex_ansi_put(a, (char)lex_ansi_number(r, 16, 2), at);
	} else if ((c == 'u' || c == 'U') && lex_ansi_digit(lex_peek(r, 0), 16) >= 0) {
		lex_ansi_put_character(a, lex_ansi_number(r, 16, c == 'u' ? 4 : 8), at);
	} else if (c == 'c' && lex_peek(r, 0) != -1) {
		lex_ansi_put(a, (char)(lex_peek(r, 0) & 0x1f), at);
		r->pos++;
	} else {
		if (!strchr("\\'\"?", c))
			lex_ansi_put(a, '\\', at);
		lex_ansi_put(a, (char)c, at);
	}
}

static size_t lex_ansi_closing_quote(const struct lex_reader *r)
{
	size_t i = r->pos;

	while (i < r->end && r->text.s[i] != '\'')
		i += r->text.s[i] == '\\' ? 2 : 1;
	return i;
}

static void lex_ansi(struct lex_reader *r, struct lex_word *b)
{
	size_t open = r->pos++, close = lex_ansi_closing_quote(r);
	struct ansi a = { 0 };

	if (close >= r->end) {
		r->pos = r->end;
		lex_fail(r, SHELL_SYNTAX, "a $' that is not closed", open);
		return;
	}
	/* No escape makes more bytes than it has; \c may take the quote as its letter. */
	a.s = shell_alloc(r->state->arena, close - r->pos + 2);
	a.at = shell_alloc(r->state->arena, (close - r->pos + 2) * sizeof(*a.at));
	while (r->pos < close) {
		uint32_t at = lex_origin(r, r->pos);

		if (lex_peek(r, 0) == '\\') {
			r->pos++;
			lex_ansi_sequence(r, &a, at);
		} else {
			lex_ansi_put(&a, (char)lex_peek(r, 0), at);
			r->pos++;
		}
	}
	r->pos = close + 1;
	struct ast_part *p = lex_add_part(r, b, PART_TEXT, open, true);

	p->text = (struct ast_text){ .s = a.s, .at = a.at, .pos = 0, .len = (uint32_t)a.len };
}

/* ---- substitutions ---- */

static void lex_dollar(struct lex_reader *r, struct lex_word *b, bool quoted);

/* The commands in parentheses; reads the closing one. The opening one is at @open. */
static struct ast_node *lex_parenthesis(struct lex_reader *r, size_t open)
{
	struct lex_here **before = r->pending_tail;
	struct ast_node *list;

	if (!lex_enter(r))
		return grammar_new_node(r, AST_LIST);
	list = grammar_list(r);
	lex_leave(r);
	if (lex_peek(r, 0) != ')') {
		if (r->pos >= r->end)
			lex_fail(r, SHELL_SYNTAX, "a parenthesis that is not closed", open);
		lex_unexpected(r);
	} else if (r->pending && before != r->pending_tail) {
		/* dash reads the next lines as its body, bash runs them. */
		lex_fail(r, SHELL_SYNTAX, "a here-document whose body is behind its substitution",
			 open);
	} else {
		r->pos++;
	}
	return list;
}

static void lex_command_substitution(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;

	r->pos += 2;
	struct ast_node *list = lex_parenthesis(r, from + 1);

	lex_add_part(r, b, PART_COMMAND, from, quoted)->list = list;
}

static void lex_process(struct lex_reader *r, struct lex_word *b)
{
	size_t from = r->pos;
	bool input = lex_peek(r, 0) == '<';

	lex_note_refused(r);
	r->pos += 2;
	struct ast_node *list = lex_parenthesis(r, from + 1);

	lex_add_part(r, b, input ? PART_INPUT : PART_OUTPUT, from, true)->list = list;
}

/* The text in backquotes, without the backslashes that quote characters in it. */
static struct shell_text lex_backquoted(struct lex_reader *r, size_t from, size_t to, bool quoted)
{
	char *s = shell_alloc(r->state->arena, to - from + 1);
	uint32_t *at = shell_alloc(r->state->arena, (to - from + 1) * sizeof(*at));
	size_t len = 0;

	for (size_t i = from; i < to; i++) {
		char next = i + 1 < to ? r->text.s[i + 1] : 'x';

		if (r->text.s[i] == '\\' &&
		    (next == '\\' || next == '$' || next == '`' || (quoted && next == '"')))
			i++;
		s[len] = r->text.s[i];
		at[len++] = lex_origin(r, i);
	}
	return (struct shell_text){ s, at, len };
}

static void lex_backquote(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos++;

	while (r->pos < r->end && r->text.s[r->pos] != '`')
		r->pos += r->text.s[r->pos] == '\\' ? 2 : 1;
	if (r->pos >= r->end) {
		lex_fail(r, SHELL_SYNTAX, "a backquote that is not closed", from);
		return;
	}
	struct shell_text inner = lex_backquoted(r, from + 1, r->pos, quoted);

	r->pos++;
	struct ast_part *p = lex_add_part(r, b, PART_COMMAND, from, quoted);

	if (!lex_enter(r))
		return;
	p->list = grammar_program(r->state, &inner);
	lex_leave(r);
}

/* ---- arithmetic ---- */

/*
 * Reads up to the ')' or ']' on the outermost level and removes quotes, as shells do. NULL: not
 * arithmetic, because a single ')' closes more than was opened.
 */
struct ast_word *lex_arith(struct lex_reader *r, int close)
{
	struct lex_word b;
	size_t level = 0;

	lex_word_start(r, &b);
	while (!lex_failed(r)) {
		int c = lex_peek(r, 0);

		if (c == -1) {
			lex_fail(r, SHELL_SYNTAX, "arithmetic that is not closed", r->pos);
		} else if (c == close && level == 0) {
			if (close == ')' && lex_peek(r, 1) != ')')
				return NULL;
			lex_word_end(r, &b);
			r->pos += close == ')' ? 2 : 1;
			return b.word;
		} else if (c == '$') {
			lex_dollar(r, &b, true);
		} else if (c == '`') {
			lex_backquote(r, &b, true);
		} else if (c == '\\' && lex_peek(r, 1) != -1) {
			lex_add_text(r, &b, r->pos + 1, r->pos + 2, true);
			r->pos += 2;
		} else {
			level += c == (close == ')' ? '(' : '[');
			level -= c == close;
			if (c != '"' && c != '\'')
				lex_add_text(r, &b, r->pos, r->pos + 1, true);
			r->pos++;
		}
	}
	return b.word;
}

void lex_read_again(struct lex_reader *r, size_t from, struct lex_here **pending, const char *what)
{
	size_t again = r->pos - from;

	r->pos = from;
	r->pending_tail = pending;
	*pending = NULL;
	if (again > r->state->again)
		lex_fail(r, SHELL_TOO_DEEP, what, from);
	else
		r->state->again -= again;
}

static void lex_arith_substitution(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;
	struct lex_here **pending = r->pending_tail;
	struct ast_word *w = NULL;

	r->pos += 3;
	if (lex_enter(r)) {
		w = lex_arith(r, ')');
		lex_leave(r);
	}
	if (lex_failed(r) || w) {
		struct ast_part *p = lex_add_part(r, b, PART_ARITH, from, quoted);

		p->word = w;
		return;
	}
	lex_read_again(r, from, pending, "too many $(( that are not arithmetic");
	if (!lex_failed(r))
		lex_command_substitution(r, b, quoted);
}

/* ---- ${...} ---- */

static const char *lex_copy_name(struct lex_reader *r, size_t from, size_t to)
{
	char *name = shell_alloc(r->state->arena, to - from + 1);
	size_t len = 0;

	for (size_t i = from; i < to; i++) {
		if (r->text.s[i] == '\\' && i + 1 < to && r->text.s[i + 1] == '\n')
			i++;
		else
			name[len++] = r->text.s[i];
	}
	return name;
}

static bool lex_is_special_param(int c)
{
	return c > 0 && strchr("@*#?$!-", c);
}

/* The name of a parameter, or NULL. In braces, numbers above 9 are names too. */
static const char *lex_param_name(struct lex_reader *r, bool braces)
{
	lex_continuation(r);
	size_t from = r->pos;
	int c = lex_peek(r, 0);

	if (c >= '0' && c <= '9') {
		do {
			r->pos++;
			c = lex_peek(r, 0);
		} while (braces && c >= '0' && c <= '9');
	} else if (lex_is_name(c, true)) {
		do {
			r->pos++;
			lex_continuation(r);
		} while (lex_is_name(lex_peek(r, 0), false));
	} else if (lex_is_special_param(c)) {
		r->pos++;
	} else {
		return NULL;
	}
	return lex_copy_name(r, from, r->pos);
}

static bool lex_piece(struct lex_reader *r, struct lex_word *b, enum lex_stop stop);

static void lex_close_braced(struct lex_reader *r)
{
	if (lex_peek(r, 0) == '}')
		r->pos++;
	else
		lex_fail(r, SHELL_SYNTAX, "a ${ that is not closed", r->pos);
}

/* The word after an operator; single quotes act in it unless the parameter is quoted. */
static struct ast_word *lex_param_word(struct lex_reader *r, bool quoted)
{
	struct ast_word *w;

	if (quoted)
		return lex_quoted_until(r, '}');
	w = lex_word_until(r, STOP_BRACE);
	lex_close_braced(r);
	return w;
}

static bool lex_take_doubled(struct lex_reader *r, int c)
{
	if (lex_peek(r, 0) != c)
		return false;
	r->pos++;
	return true;
}

/* The pattern of ${x/p/w}; of ${x//p/w} it may begin with a slash. */
static struct ast_word *lex_replaced(struct lex_reader *r, bool all)
{
	struct lex_word b;

	lex_word_start(r, &b);
	if (all && lex_peek(r, 0) == '/') {
		lex_add_text(r, &b, r->pos, r->pos + 1, false);
		r->pos++;
	}
	while (!lex_failed(r) && lex_piece(r, &b, STOP_SLASH))
		;
	lex_word_end(r, &b);
	return b.word;
}

static void lex_replace(struct lex_reader *r, struct ast_param *p, bool quoted)
{
	p->op = PARAM_REPLACE;
	p->longest = lex_take_doubled(r, '/');
	if (!p->longest && lex_take_doubled(r, '#'))
		p->op = PARAM_REPLACE_START;
	else if (!p->longest && lex_take_doubled(r, '%'))
		p->op = PARAM_REPLACE_END;
	p->arg = lex_replaced(r, p->longest);
	if (lex_peek(r, 0) == '/') {
		r->pos++;
		p->arg2 = lex_param_word(r, quoted);
	} else {
		lex_close_braced(r);
	}
}

static void lex_substring(struct lex_reader *r, struct ast_param *p)
{
	p->op = PARAM_SUBSTRING;
	p->arg = lex_word_until(r, STOP_COLON);
	if (lex_peek(r, 0) == ':') {
		r->pos++;
		p->arg2 = lex_word_until(r, STOP_BRACE);
	}
	lex_close_braced(r);
}

static void lex_case_change(struct lex_reader *r, struct ast_param *p, int c)
{
	p->op = c == '^' ? PARAM_UPPER : PARAM_LOWER;
	p->longest = lex_take_doubled(r, c);
	p->arg = lex_param_word(r, false);
}

/* Read the operator after the name and the closing brace. */
static void lex_param_op(struct lex_reader *r, struct ast_param *p, bool quoted)
{
	int c;

	lex_continuation(r);
	c = lex_peek(r, 0);
	r->pos += c != -1;
	if (c == ':' && lex_peek(r, 0) > 0 && strchr("-=?+", lex_peek(r, 0))) {
		p->colon = true;
		c = lex_peek(r, 0);
		r->pos++;
	}
	switch (c) {
	case '}':
		return;
	case '-':
	case '=':
	case '?':
	case '+':
		p->op = c == '-' ? PARAM_DEFAULT : c == '=' ? PARAM_ASSIGN :
			c == '?' ? PARAM_ERROR : PARAM_ALTERNATE;
		p->arg = lex_param_word(r, quoted);
		return;
	case '#':
	case '%':
		p->op = c == '#' ? PARAM_PREFIX : PARAM_SUFFIX;
		p->longest = lex_take_doubled(r, c);
		p->arg = lex_param_word(r, false);
		return;
	case '/':
		lex_replace(r, p, quoted);
		return;
	case ':':
		lex_substring(r, p);
		return;
	case '^':
	case ',':
		lex_case_change(r, p, c);
		return;
	default:
		/* ${x@Q}, ${x!}, operators of other shells: the value is unknown. */
		p->op = PARAM_OTHER;
		r->pos -= c != -1;
		p->arg = lex_param_word(r, quoted);
	}
}

static void lex_index(struct lex_reader *r, struct ast_param *p)
{
	if (lex_peek(r, 0) != '[')
		return;
	r->pos++;
	p->index = lex_word_until(r, STOP_BRACKET);
	if (lex_peek(r, 0) == ']')
		r->pos++;
}

/* ${!name...}: the variable that it names, or a list of names. */
static void lex_indirect(struct lex_reader *r, struct ast_param *p)
{
	int c = lex_peek(r, 0);

	if ((c == '*' || c == '@') && lex_peek(r, 1) == '}') {
		r->pos++;
		p->op = PARAM_NAMES;
	} else if (p->index && p->index->parts && p->index->parts->text.len == 1 &&
		   strchr("@*", p->index->parts->text.s[0])) {
		p->op = PARAM_NAMES;
	}
	p->indirect = true;
}

/* ${ command; }: bash 5.3. */
static bool lex_braced_command(struct lex_reader *r, struct lex_word *b, size_t from, bool quoted)
{
	int c = lex_peek(r, 0);

	if (c != ' ' && c != '\t' && c != '\n' && c != '|')
		return false;
	r->pos += c == '|';
	struct ast_node *list = grammar_list(r);

	if (!grammar_take_reserved(r, WORD_CLOSE))
		lex_unexpected(r);
	lex_add_part(r, b, PART_COMMAND, from, quoted)->list = list;
	return true;
}

static bool lex_is_length(const struct lex_reader *r)
{
	int c = lex_peek(r, 1);

	return lex_peek(r, 0) == '#' &&
	       (lex_is_name(c, false) || (lex_is_special_param(c) && lex_peek(r, 2) == '}'));
}

static void lex_braced(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;
	struct ast_param *p = shell_alloc(r->state->arena, sizeof(*p));
	bool length, indirect;

	r->pos += 2;
	if (lex_braced_command(r, b, from, quoted))
		return;
	length = lex_is_length(r);
	indirect = !length && lex_peek(r, 0) == '!' &&
		   (lex_is_name(lex_peek(r, 1), false) || lex_peek(r, 1) == '@');
	r->pos += length || indirect;
	p->name = lex_param_name(r, true);
	if (p->name) {
		lex_index(r, p);
		if (indirect)
			lex_indirect(r, p);
	}
	uint8_t named = p->op;

	lex_param_op(r, p, quoted);
	if (named != PARAM_PLAIN)
		p->op = named;
	if (length)
		p->op = p->op == PARAM_PLAIN ? PARAM_LENGTH : PARAM_OTHER;
	lex_add_part(r, b, PART_PARAM, from, quoted)->param = p;
}

/* ---- $ ---- */

static bool lex_simple_param(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos++;
	const char *name = lex_param_name(r, false);

	if (!name) {
		r->pos = from;
		return false;
	}
	struct ast_param *p = shell_alloc(r->state->arena, sizeof(*p));

	p->name = name;
	lex_add_part(r, b, PART_PARAM, from, quoted)->param = p;
	return true;
}

/* $'...' and $"..."; in dash the $ is a plain character before a quoted text. */
static bool lex_dollar_quote(struct lex_reader *r, struct lex_word *b, int c)
{
	lex_note_other(r);
	if (r->state->posix)
		return false;
	r->pos++;
	if (c == '\'')
		lex_ansi(r, b);
	return true;
}

static void lex_dollar_deep(struct lex_reader *r, struct lex_word *b, bool quoted, int c)
{
	if (!lex_enter(r))
		return;
	if (c == '{') {
		lex_braced(r, b, quoted);
	} else if (c == '[') {
		size_t from = r->pos;

		r->pos += 2;
		struct ast_word *w = lex_arith(r, ']');

		lex_add_part(r, b, PART_ARITH, from, quoted)->word = w;
	} else if (lex_peek(r, 2) == '(') {
		lex_arith_substitution(r, b, quoted);
	} else {
		lex_command_substitution(r, b, quoted);
	}
	lex_leave(r);
}

static void lex_dollar(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;
	int c;

	r->pos++;
	lex_continuation(r);
	r->pos--; /* the character before the opening quote */
	c = lex_peek(r, 1);
	if (c == '(' || c == '{' || (c == '[' && !r->state->posix)) {
		lex_dollar_deep(r, b, quoted, c);
		return;
	}
	if (!quoted && (c == '\'' || c == '"') && lex_dollar_quote(r, b, c))
		return;
	if (c != -1 && lex_simple_param(r, b, quoted))
		return;
	lex_add_text(r, b, from, from + 1, quoted);
	r->pos++;
}

/* ---- quoted text ---- */

static void lex_quoted(struct lex_reader *r, struct lex_word *b, int term);

static void lex_single(struct lex_reader *r, struct lex_word *b)
{
	size_t open = r->pos++;
	const char *close = memchr(r->text.s + r->pos, '\'', r->end - r->pos);

	if (!close) {
		r->pos = r->end;
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

/* A backslash in double quotes. */
static void lex_quoted_backslash(struct lex_reader *r, struct lex_word *b, int term)
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

static void lex_quoted_run(struct lex_reader *r, struct lex_word *b, int term)
{
	size_t from = r->pos;

	for (; r->pos < r->end; r->pos++) {
		int c = (unsigned char)r->text.s[r->pos];

		if (c == '\\' || c == '$' || c == '`' || c == term || (c == '"' && term == '}'))
			break;
	}
	lex_add_text(r, b, from, r->pos, true);
}

static void lex_quoted(struct lex_reader *r, struct lex_word *b, int term)
{
	size_t open = r->pos;

	while (!lex_failed(r)) {
		int c = lex_peek(r, 0);

		if (c == -1 && term != -1)
			lex_fail(r, SHELL_SYNTAX,
				 term == '"' ? "a double quote that is not closed"
					     : "a ${ that is not closed",
				 open > 0 ? open - 1 : 0);
		if (c == -1)
			return;
		if (c == term) {
			r->pos++;
			return;
		}
		if (c == '\\')
			lex_quoted_backslash(r, b, term);
		else if (c == '$')
			lex_dollar(r, b, true);
		else if (c == '`')
			lex_backquote(r, b, true);
		else if (c == '"' && term == '}')
			lex_double(r, b);
		else
			lex_quoted_run(r, b, term);
	}
}

struct ast_word *lex_quoted_until(struct lex_reader *r, int term)
{
	struct lex_word b;

	lex_word_start(r, &b);
	lex_quoted(r, &b, term);
	lex_word_end(r, &b);
	return b.word;
}

/* ---- unquoted text ---- */

static bool lex_ends_at(int c, enum lex_stop stop)
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
	case STOP_PARENTHESIS:
		return c == ')';
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

static void lex_unquoted_run(struct lex_reader *r, struct lex_word *b, enum lex_stop stop)
{
	size_t from = r->pos++;

	for (; r->pos < r->end; r->pos++) {
		char c = r->text.s[r->pos];

		if (lex_is(c, LEX_ESCAPE) ||
		    (stop == STOP_WORD ? lex_is(c, LEX_META) : lex_ends_at((unsigned char)c, stop)))
			break;
	}
	lex_add_text(r, b, from, r->pos, false);
}

/* The place of the parenthesis that closes the one at r->pos in the same line, or r->end. */
static size_t lex_parenthesis_end(const struct lex_reader *r)
{
	const char *s = r->text.s;
	size_t level = 0, i;
	char quote = '\0';

	for (i = r->pos; i < r->end && (quote || s[i] != '\n'); i++) {
		if (s[i] == '\\' && quote != '\'')
			i++;
		else if (quote)
			quote = s[i] == quote ? '\0' : quote;
		else if (s[i] == '\'' || s[i] == '"' || s[i] == '`')
			quote = s[i];
		else if (s[i] == '(')
			level++;
		else if (s[i] == ')' && --level == 0)
			return i;
	}
	return r->end;
}

/* bash's ?(a|"b"): up to the closing parenthesis, whatever stands in it. */
static bool lex_extended_glob(struct lex_reader *r, struct lex_word *b)
{
	const struct ast_part *p = b->last;
	size_t end;

	if (r->state->posix || !p || p->type != PART_TEXT || p->quoted || p->text.len == 0 ||
	    lex_peek(r, 1) == ')' || !strchr("?*+@!", p->text.s[p->text.len - 1]))
		return false;
	end = lex_parenthesis_end(r);
	if (end == r->end)
		return false;
	r->state->ambiguous = true;
	while (r->pos <= end && !lex_failed(r))
		if (!lex_piece(r, b, STOP_PARENTHESIS)) {
			lex_add_text(r, b, r->pos, r->pos + 1, false);
			r->pos++;
		}
	return true;
}

static bool lex_starts_process(const struct lex_reader *r, int c)
{
	return (c == '<' || c == '>') && lex_peek(r, 1) == '(' && !r->state->posix;
}

/* One piece of an unquoted word. False: the word ends here. */
static bool lex_piece(struct lex_reader *r, struct lex_word *b, enum lex_stop stop)
{
	int c = lex_peek(r, 0);

	if (c == -1)
		return false;
	if (lex_starts_process(r, c) && stop == STOP_WORD)
		lex_process(r, b);
	else if (c == '(' && stop == STOP_WORD && lex_extended_glob(r, b))
		return true;
	else if (lex_ends_at(c, stop))
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
		lex_unquoted_run(r, b, stop);
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

	if (lex_failed(r) || (lex_is_meta(c) && !lex_starts_process(r, c)))
		return NULL;
	return lex_word_until(r, STOP_WORD);
}
