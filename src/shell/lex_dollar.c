/*
 * What $ and ` begin: parameters, command substitution, arithmetic, $'...'; and
 * process substitution. $(( may also be a substitution that begins with a
 * subshell; what is read twice because of that is bounded for the whole text.
 */
#include "shell/lex.h"

#include <string.h>

/* ---- substitutions ---- */

/* The commands from behind the opening parenthesis to behind the closing one. */
static struct ast_node *lex_parenthesis(struct lex_reader *r, size_t open)
{
	struct lex_here **before = r->pending_tail;
	struct ast_node *list;

	if (!lex_enter(r))
		return lex_new_node(r, AST_LIST);
	list = lex_list(r);
	lex_leave(r);
	if (lex_peek(r, 0) != ')') {
		if (r->pos >= r->end)
			lex_fail(r, SHELL_SYNTAX, "a parenthesis that is not closed", open);
		lex_unexpected(r);
	} else if (r->pending && before != r->pending_tail) {
		/* dash takes the next lines for its body, bash runs them. */
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

void lex_process(struct lex_reader *r, struct lex_word *b)
{
	size_t from = r->pos;
	bool input = lex_peek(r, 0) == '<';

	r->pos += 2;
	struct ast_node *list = lex_parenthesis(r, from + 1);

	lex_add_part(r, b, input ? PART_INPUT : PART_OUTPUT, from, true)->list = list;
}

/* The text between backquotes without the backslashes that protect it from them. */
static struct shell_text backquoted(struct lex_reader *r, size_t from, size_t to, bool quoted)
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

void lex_backquote(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos++;

	while (r->pos < r->end && r->text.s[r->pos] != '`')
		r->pos += r->text.s[r->pos] == '\\' ? 2 : 1;
	if (r->pos >= r->end) {
		lex_fail(r, SHELL_SYNTAX, "a backquote that is not closed", from);
		return;
	}
	struct shell_text inner = backquoted(r, from + 1, r->pos, quoted);

	r->pos++;
	struct ast_part *p = lex_add_part(r, b, PART_COMMAND, from, quoted);

	if (!lex_enter(r))
		return;
	p->list = lex_program(r->state, &inner);
	lex_leave(r);
}

/* ---- arithmetic ---- */

/*
 * Up to the ')' or ']' on the outermost level. Quotes are removed, as shells do;
 * NULL: no arithmetic, because a single ')' closes what was never opened.
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
	size_t again = r->pos - from;

	r->pos = from;
	r->pending_tail = pending;
	*pending = NULL;
	if (again > r->state->again) {
		lex_fail(r, SHELL_TOO_DEEP, "too many $(( that are no arithmetic", from);
		return;
	}
	r->state->again -= again;
	lex_command_substitution(r, b, quoted);
}

/* ---- ${...} ---- */

static const char *copy_name(struct lex_reader *r, size_t from, size_t to)
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

static bool is_special(int c)
{
	return c > 0 && strchr("@*#?$!-", c);
}

/* The name of a parameter, NULL if there is none; in braces 10 and above are names too. */
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
	} else if (is_special(c)) {
		r->pos++;
	} else {
		return NULL;
	}
	return copy_name(r, from, r->pos);
}

/* The word behind an operator; single quotes quote in it unless the whole is quoted. */
static struct ast_word *lex_param_word(struct lex_reader *r, bool quoted)
{
	struct ast_word *w;

	if (quoted)
		return lex_quoted_until(r, '}');
	w = lex_word_until(r, STOP_BRACE);
	if (lex_peek(r, 0) == '}')
		r->pos++;
	else
		lex_fail(r, SHELL_SYNTAX, "a ${ that is not closed", r->pos);
	return w;
}

static bool doubled(struct lex_reader *r, int c)
{
	if (lex_peek(r, 0) != c)
		return false;
	r->pos++;
	return true;
}

static void lex_replace(struct lex_reader *r, struct ast_param *p, bool quoted)
{
	p->op = PARAM_REPLACE;
	p->longest = doubled(r, '/');
	if (!p->longest && doubled(r, '#'))
		p->op = PARAM_REPLACE_START;
	else if (!p->longest && doubled(r, '%'))
		p->op = PARAM_REPLACE_END;
	p->arg = lex_word_until(r, STOP_SLASH);
	if (lex_peek(r, 0) == '/') {
		r->pos++;
		p->arg2 = lex_param_word(r, quoted);
	} else if (lex_peek(r, 0) == '}') {
		r->pos++;
	} else {
		lex_fail(r, SHELL_SYNTAX, "a ${ that is not closed", r->pos);
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
	if (lex_peek(r, 0) == '}')
		r->pos++;
	else
		lex_fail(r, SHELL_SYNTAX, "a ${ that is not closed", r->pos);
}

static void lex_case_change(struct lex_reader *r, struct ast_param *p, int c)
{
	p->op = c == '^' ? PARAM_UPPER : PARAM_LOWER;
	p->longest = doubled(r, c);
	p->arg = lex_param_word(r, false);
}

/* What stands behind the name, up to and with the closing brace. */
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
		p->longest = doubled(r, c);
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
		/* ${x@Q}, ${x!}, and what only other shells know: unknown, but its end is found. */
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

/* ${!name...}: the variable whose name it holds, or a list of names. */
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
	struct ast_node *list = lex_list(r);

	if (!lex_take_reserved(r, WORD_CLOSE))
		lex_unexpected(r);
	lex_add_part(r, b, PART_COMMAND, from, quoted)->list = list;
	return true;
}

static bool is_length(const struct lex_reader *r)
{
	int c = lex_peek(r, 1);

	return lex_peek(r, 0) == '#' && (lex_is_name(c, false) || (is_special(c) &&
		lex_peek(r, 2) == '}'));
}

static void lex_braced(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;
	struct ast_param *p = shell_alloc(r->state->arena, sizeof(*p));
	bool length, indirect;

	r->pos += 2;
	if (lex_braced_command(r, b, from, quoted))
		return;
	length = is_length(r);
	indirect = !length && lex_peek(r, 0) == '!' && (lex_is_name(lex_peek(r, 1), false) ||
							lex_peek(r, 1) == '@');
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

/* $'...' and $"..."; to dash the $ is a character before a quoted text. */
static bool lex_dollar_quote(struct lex_reader *r, struct lex_word *b, int c)
{
	r->state->ambiguous = true;
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

void lex_dollar(struct lex_reader *r, struct lex_word *b, bool quoted)
{
	size_t from = r->pos;
	int c;

	r->pos++;
	lex_continuation(r);
	r->pos--; /* the character before the opening one, whatever was joined */
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
