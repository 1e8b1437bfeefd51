/*
 * Commands: reserved words, redirections, simple and compound commands, pipelines, lists.
 * Recursive descent on characters, since the tokens of a shell depend on where they stand.
 */
#include <string.h>

#include "base/mem.h"
#include "shell/lex.h"

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

/* Index of the first word that begins with e, and with s. */
#define FIRST_E 8u
#define FIRST_S 16u

static enum lex_reserved grammar_find_reserved(struct lex_reader *r, const char *word)
{
	/* The table is sorted by first letter, after the signs. */
	size_t from = word[0] < 'e' || word[0] > 'z' ? 0 : word[0] < 's' ? FIRST_E : FIRST_S;

	for (size_t i = from; i < COUNT_OF(reserved_words); i++) {
		const char *text = reserved_words[i].text;

		if (text[0] > word[0] && text[0] >= 'a' && text[0] <= 'z')
			break;
		if (text[0] != word[0] || text[1] != word[1] || strcmp(text, word) != 0)
			continue;
		if (reserved_words[i].which == WORD_TIME)
			lex_note_refused(r);
		else if (reserved_words[i].bash)
			lex_note_other(r);
		return reserved_words[i].bash && r->state->posix ? WORD_NONE
								 : reserved_words[i].which;
	}
	return WORD_NONE;
}

static enum lex_reserved grammar_read_reserved(struct lex_reader *r, size_t *end)
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
	return grammar_find_reserved(r, word);
}

enum lex_reserved grammar_peek_reserved(struct lex_reader *r, size_t *end)
{
	int c = lex_peek(r, 0);

	if (c < 0 || !(lex_classes[c] & LEX_RESERVED))
		return WORD_NONE;
	if (r->peeked != r->pos) {
		r->peeked = r->pos;
		r->peeked_word = (uint8_t)grammar_read_reserved(r, &r->peeked_end);
	}
	*end = r->peeked_end;
	return (enum lex_reserved)r->peeked_word;
}

bool grammar_take_reserved(struct lex_reader *r, enum lex_reserved which)
{
	size_t end = 0;

	if (lex_failed(r) || grammar_peek_reserved(r, &end) != which)
		return false;
	r->pos = end;
	return true;
}

/* ---- nodes ---- */

struct ast_node *grammar_new_node(struct lex_reader *r, enum ast_type type)
{
	struct ast_node *n = shell_alloc(r->state->arena, sizeof(*n));

	n->type = (uint8_t)type;
	n->start = lex_origin(r, r->pos);
	return n;
}

/* A copy of @n in the arena. */
static struct ast_node *grammar_kept_node(struct lex_reader *r, const struct ast_node *n)
{
	struct ast_node *kept = shell_alloc_raw(r->state->arena, sizeof(*kept));

	*kept = *n;
	return kept;
}

static struct ast_node *grammar_command(struct lex_reader *r);
static void grammar_function_body(struct lex_reader *r, struct ast_node *n);

/* ---- redirections ---- */

struct operator {
	const char *text;
	enum shell_redirect_op op;
	bool bash;
};

/* Longer operators first. */
static const struct operator redirect_operators[] = {
	{ "&>>", SHELL_APPEND, true }, { "&>", SHELL_TO, true },
	{ "<<<", SHELL_STRING, true }, { "<<-", SHELL_HERE, false },
	{ "<<", SHELL_HERE, false },   { "<>", SHELL_BOTH, false },
	{ "<&", SHELL_DUP, false },    { "<", SHELL_FROM, false },
	{ ">>", SHELL_APPEND, false }, { ">&", SHELL_DUP, false },
	{ ">|", SHELL_TO, false },     { ">", SHELL_TO, false },
};

static bool grammar_take_operator(struct lex_reader *r, const char *text)
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

static const struct operator *grammar_take_redirect_operator(struct lex_reader *r)
{
	for (size_t i = 0; i < COUNT_OF(redirect_operators); i++) {
		const struct operator *o = &redirect_operators[i];

		if (o->text[0] != lex_peek(r, 0) || (o->bash && r->state->posix))
			continue;
		if (!grammar_take_operator(r, o->text))
			continue;
		if (o->op == SHELL_STRING)
			lex_note_refused(r);
		else if (o->bash)
			lex_note_other(r);
		return o;
	}
	return NULL;
}

/* "2", in bash also "12" or "{name}", before "<" or ">". The position of the operator, or 0. */
static size_t grammar_descriptor_prefix(const struct lex_reader *r, int *fd)
{
	size_t i = r->pos;
	long value = 0;

	*fd = -1;
	while (i < r->end && r->text.s[i] >= '0' && r->text.s[i] <= '9' && value < 100000)
		value = value * 10 + (r->text.s[i++] - '0');
	if (i > r->pos + 1 && r->state->posix)
		return 0;
	if (i > r->pos) {
		*fd = (int)value;
	} else if (lex_peek(r, 0) == '{' && !r->state->posix) {
		for (i++; i < r->end && lex_is_name((unsigned char)r->text.s[i], false);)
			i++;
		if (i >= r->end || r->text.s[i++] != '}')
			return 0;
	} else {
		return 0;
	}
	return i < r->end && (r->text.s[i] == '<' || r->text.s[i] == '>') ? i : 0;
}

/* "a > 2>b": what names a descriptor is no target; only bash takes a number behind >&. */
static bool grammar_is_target(struct lex_reader *r, const struct ast_redirect *n)
{
	int fd;

	if (!grammar_descriptor_prefix(r, &fd))
		return true;
	lex_note_refused(r);
	return n->op == SHELL_DUP && fd >= 0 && !r->state->posix;
}

static void grammar_redirect_target(struct lex_reader *r, struct ast_redirect *n)
{
	if (n->op == SHELL_HERE) {
		lex_here_delimiter(r, n);
		return;
	}
	lex_blank(r);
	if (grammar_is_target(r, n))
		n->target = lex_word(r);
	if (!n->target)
		lex_unexpected(r);
}

/* Read a redirection at the position and add it at *@tail. False: there is none. */
static bool grammar_redirect(struct lex_reader *r, struct ast_redirect ***tail)
{
	int c = lex_peek(r, 0), fd = -1;
	size_t start = r->pos, op = 0;

	if (c == '<' || c == '>') {
		if (lex_peek(r, 1) == '(' && !r->state->posix)
			return false;
	} else if ((c >= '0' && c <= '9') || c == '{') {
		op = grammar_descriptor_prefix(r, &fd);
		if (!op)
			return false;
		r->pos = op;
	} else if (c != '&' || (lex_peek(r, 1) != '>' && lex_peek(r, 1) != '\\')) {
		return false;
	}
	const struct operator *o = grammar_take_redirect_operator(r);

	if (!o) {
		r->pos = start;
		return false;
	}
	struct ast_redirect *n = shell_alloc(r->state->arena, sizeof(*n));

	n->op = (uint8_t)o->op;
	n->fd = fd;
	n->named = c == '{';
	n->strip = strcmp(o->text, "<<-") == 0;
	n->ampersand = o->op == SHELL_DUP;
	/* <&FILE never writes. */
	if (o->op == SHELL_DUP && o->text[0] == '<' && fd == -1)
		n->fd = 0;
	**tail = n;
	*tail = &n->next;
	grammar_redirect_target(r, n);
	return true;
}

const struct ast_redirect *grammar_next_redirect(struct lex_reader *r)
{
	struct ast_redirect *n = NULL, **tail = &n;

	grammar_redirect(r, &tail);
	return n;
}

static void grammar_redirects(struct lex_reader *r, struct ast_redirect ***tail)
{
	do {
		lex_blank(r);
	} while (!lex_failed(r) && grammar_redirect(r, tail));
}

/* ---- assignments ---- */

size_t grammar_assigned_name(const struct lex_reader *r)
{
	size_t i = 0;

	while (lex_is_name(lex_peek(r, i), i == 0))
		i++;
	if (i == 0)
		return 0;
	if (lex_peek(r, i) == '=')
		return i;
	if (r->state->posix)
		return 0;
	if (lex_peek(r, i) == '+' && lex_peek(r, i + 1) == '=')
		return i;
	if (lex_peek(r, i) != '[')
		return 0;
	/* name[index]= : people write a constant or a variable as index. */
	for (size_t j = i + 1; j < i + 256 && lex_peek(r, j) > ' '; j++)
		if (lex_peek(r, j) == ']' &&
		    (lex_peek(r, j + 1) == '=' ||
		     (lex_peek(r, j + 1) == '+' && lex_peek(r, j + 2) == '=')))
			return i;
	return 0;
}

static struct ast_word *grammar_array_items(struct lex_reader *r)
{
	struct ast_word *first = NULL, **tail = &first, *w;
	size_t open = r->pos++;

	for (;;) {
		lex_newlines(r);
		w = lex_word(r);
		if (!w)
			break;
		*tail = w;
		tail = &w->next;
	}
	lex_close(r, open);
	return first;
}

static struct ast_assign *grammar_assign(struct lex_reader *r, size_t name_len)
{
	struct ast_assign *a = shell_alloc(r->state->arena, sizeof(*a));

	a->name = shell_copy(r->state->arena, r->text.s + r->pos, name_len);
	r->pos += name_len;
	if (lex_peek(r, 0) == '[') {
		r->pos++;
		a->index = lex_word_until(r, STOP_BRACKET);
		r->pos += lex_peek(r, 0) == ']';
	}
	/* An index with brackets inside: refused, because how bash reads it is not specified. */
	if (lex_peek(r, 0) != '=' && lex_peek(r, 0) != '+') {
		lex_unexpected(r);
		return a;
	}
	a->append = lex_peek(r, 0) == '+';
	r->pos += a->append ? 2 : 1;
	if (lex_peek(r, 0) == '(' && !r->state->posix) {
		lex_note_refused(r);
		a->is_array = true;
		a->items = grammar_array_items(r);
	} else {
		a->value = lex_word(r);
	}
	return a;
}

/* bash: commands whose arguments may be array assignments. */
static bool grammar_takes_arrays(const struct ast_word *name)
{
	static const char *const words[] = { "alias", "declare", "eval", "export", "let", "local",
					     "readonly", "typeset" };
	const struct ast_part *p = name->parts;

	if (!p || p->next || p->type != PART_TEXT || p->quoted)
		return false;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strlen(words[i]) == p->text.len && !memcmp(words[i], p->text.s, p->text.len))
			return true;
	return false;
}

/* NAME=( as an argument of the command @name. */
static bool grammar_is_late_array(const struct lex_reader *r, const struct ast_word *name)
{
	size_t len = r->state->posix ? 0 : grammar_assigned_name(r);

	return len > 0 &&
	       ((lex_peek(r, len) == '=' && lex_peek(r, len + 1) == '(') ||
		(lex_peek(r, len) == '+' && lex_peek(r, len + 2) == '(')) &&
	       grammar_takes_arrays(name);
}

/* ---- simple commands and functions ---- */

/* The text of a word without its quotes; NULL if it has an expansion. */
static const char *grammar_word_text(struct lex_reader *r, const struct ast_word *w)
{
	size_t len = 0;
	char *s;

	for (const struct ast_part *p = w->parts; p; p = p->next) {
		if (p->type != PART_TEXT)
			return NULL;
		len += p->text.len;
	}
	s = shell_alloc(r->state->arena, len + 1);
	len = 0;
	for (const struct ast_part *p = w->parts; p; p = p->next) {
		memcpy(s + len, p->text.s, p->text.len);
		len += p->text.len;
	}
	return s;
}

/* "name" was read and "(" follows: the rest of "name() body". */
static void grammar_function_rest(struct lex_reader *r, struct ast_node *n)
{
	n->name = grammar_word_text(r, n->words);
	r->pos++;
	lex_blank(r);
	if (!n->name || lex_peek(r, 0) != ')') {
		lex_unexpected(r);
		return;
	}
	r->pos++;
	grammar_function_body(r, n);
}

struct simple_reader {
	struct ast_node *node;
	struct ast_word **word_tail;
	struct ast_assign **assign_tail;
	struct ast_redirect **redirect_tail;
};

static void grammar_add_assign(struct lex_reader *r, struct simple_reader *s, size_t name_len)
{
	struct ast_assign *a = grammar_assign(r, name_len);

	a->late = s->node->words != NULL;
	*s->assign_tail = a;
	s->assign_tail = &a->next;
}

/* One assignment, redirection or word. False: the command ends here. */
static bool grammar_simple_piece(struct lex_reader *r, struct simple_reader *s)
{
	size_t name_len = s->node->words ? 0 : grammar_assigned_name(r);

	if (grammar_redirect(r, &s->redirect_tail))
		return true;
	if (name_len > 0) {
		grammar_add_assign(r, s, name_len);
		return true;
	}
	if (s->node->words && grammar_is_late_array(r, s->node->words)) {
		grammar_add_assign(r, s, grammar_assigned_name(r));
		return true;
	}
	struct ast_word *w = lex_word(r);

	if (!w)
		return false;
	*s->word_tail = w;
	s->word_tail = &w->next;
	return true;
}

static bool grammar_is_function_start(const struct lex_reader *r, const struct ast_node *n)
{
	return lex_peek(r, 0) == '(' && n->words && !n->words->next && !n->assigns && !n->redirects;
}

static struct ast_node *grammar_simple(struct lex_reader *r)
{
	struct ast_node *n = grammar_new_node(r, AST_SIMPLE);
	struct simple_reader s = { n, &n->words, &n->assigns, &n->redirects };
	size_t start = r->pos, end = start;

	while (!lex_failed(r) && grammar_simple_piece(r, &s)) {
		end = r->pos;
		lex_blank(r);
		if (grammar_is_function_start(r, n)) {
			grammar_function_rest(r, n);
			end = r->pos;
			break;
		}
	}
	if (end == start)
		lex_unexpected(r);
	n->end = lex_origin_end(r, end);
	lex_order(&n->start, &n->end);
	return n;
}

/* ---- compound commands ---- */

/* @which must stand here. */
static void grammar_expect(struct lex_reader *r, enum lex_reserved which)
{
	if (!lex_failed(r) && !grammar_take_reserved(r, which))
		lex_unexpected(r);
}

/* Read a list, which must not be empty. */
static struct ast_node *grammar_body(struct lex_reader *r)
{
	struct ast_node *list = grammar_list(r);

	if (!list->body && !lex_failed(r))
		lex_unexpected(r);
	return list;
}

/* ---- groups ---- */

static void grammar_subshell(struct lex_reader *r, struct ast_node *n)
{
	size_t open = r->pos++;

	n->type = AST_SUBSHELL;
	n->body = grammar_body(r);
	lex_close(r, open);
}

/*
 * "((": arithmetic where bash reads it as such; to dash, a subshell in a subshell. False, with
 * nothing read: not arithmetic.
 */
static bool grammar_arith_command(struct lex_reader *r, struct ast_node *n)
{
	size_t from = r->pos;
	struct lex_here **pending = r->pending_tail;

	if (lex_peek(r, 1) != '(' || r->state->posix)
		return false;
	lex_note_other(r);
	r->pos += 2;
	n->words = lex_arith(r, ')');
	if (lex_failed(r) || n->words) {
		n->type = AST_ARITH;
		return true;
	}
	lex_read_again(r, from, pending, "too many (( that are not arithmetic");
	return lex_failed(r);
}

static void grammar_group(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_GROUP;
	n->body = grammar_body(r);
	grammar_expect(r, WORD_CLOSE);
}

/* ---- conditionals and loops ---- */

static void grammar_if(struct lex_reader *r, struct ast_node *n)
{
	for (;;) {
		n->type = AST_IF;
		n->condition = grammar_body(r);
		grammar_expect(r, WORD_THEN);
		n->body = grammar_body(r);
		if (!grammar_take_reserved(r, WORD_ELIF))
			break;
		/* A chain of elif takes no level of the depth: branch_if() follows `other`. */
		n->other = grammar_new_node(r, AST_IF);
		n = n->other;
	}
	if (grammar_take_reserved(r, WORD_ELSE))
		n->other = grammar_body(r);
	grammar_expect(r, WORD_FI);
}

static void grammar_while(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_WHILE;
	n->condition = grammar_body(r);
	grammar_expect(r, WORD_DO);
	n->body = grammar_body(r);
	grammar_expect(r, WORD_DONE);
}

/* "do list done", or bash's "{ list; }". */
static void grammar_loop_body(struct lex_reader *r, struct ast_node *n)
{
	if (grammar_take_reserved(r, WORD_OPEN)) {
		n->body = grammar_body(r);
		grammar_expect(r, WORD_CLOSE);
	} else {
		grammar_expect(r, WORD_DO);
		n->body = grammar_body(r);
		grammar_expect(r, WORD_DONE);
	}
}

/* bash's for ((a; b; c)): the three expressions are kept as one text. */
static void grammar_arith_for(struct lex_reader *r, struct ast_node *n)
{
	lex_note_refused(r);
	r->pos += 2;
	n->type = AST_WHILE;
	n->words = lex_arith(r, ')');
	if (!n->words)
		lex_unexpected(r);
	lex_blank(r);
	if (lex_peek(r, 0) == ';')
		r->pos++;
	lex_newlines(r);
	grammar_loop_body(r, n);
}

static const char *grammar_function_name(struct lex_reader *r)
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

static void grammar_for_words(struct lex_reader *r, struct ast_node *n)
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

static void grammar_for(struct lex_reader *r, struct ast_node *n)
{
	lex_blank(r);
	if (lex_peek(r, 0) == '(' && lex_peek(r, 1) == '(') {
		grammar_arith_for(r, n);
		return;
	}
	n->type = AST_FOR;
	n->name = grammar_function_name(r);
	lex_newlines(r);
	if (grammar_take_reserved(r, WORD_IN)) {
		grammar_for_words(r, n);
	} else {
		n->plain_for = true;
		if (lex_peek(r, 0) == ';')
			r->pos++;
	}
	lex_newlines(r);
	grammar_loop_body(r, n);
}

/* ---- case ---- */

static void grammar_case_patterns(struct lex_reader *r, struct ast_case *item)
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

/* ";;", bash's ";&" and ";;&", behind @item. */
static bool grammar_take_case_end(struct lex_reader *r, struct ast_case *item)
{
	if (lex_peek(r, 0) != ';' || (lex_peek(r, 1) != ';' && lex_peek(r, 1) != '&'))
		return false;
	r->pos += 2;
	if (r->text.s[r->pos - 1] == ';' && lex_peek(r, 0) == '&') {
		item->compares = true;
		r->pos++;
	}
	item->goes_on = r->text.s[r->pos - 1] == '&';
	if (r->text.s[r->pos - 1] != '&')
		return true;
	lex_note_refused(r);
	return !r->state->posix;
}

static void grammar_case(struct lex_reader *r, struct ast_node *n)
{
	struct ast_case **tail = &n->cases;

	n->type = AST_CASE;
	lex_blank(r);
	n->words = lex_word(r);
	if (!n->words)
		lex_unexpected(r);
	lex_newlines(r);
	grammar_expect(r, WORD_IN);
	for (;;) {
		lex_newlines(r);
		if (lex_failed(r) || grammar_take_reserved(r, WORD_ESAC))
			return;
		struct ast_case *item = shell_alloc(r->state->arena, sizeof(*item));

		*tail = item;
		tail = &item->next;
		grammar_case_patterns(r, item);
		item->body = grammar_list(r);
		if (!grammar_take_case_end(r, item)) {
			grammar_expect(r, WORD_ESAC);
			return;
		}
	}
}

/* ---- [[ ]] ---- */

/* Between [[ and ]] only blanks and parentheses end a word; operators are words. */
static size_t grammar_test_operator(const struct lex_reader *r)
{
	int c = lex_peek(r, 0), next = lex_peek(r, 1);

	if ((c == '&' || c == '|') && next == c)
		return 2;
	return c == '<' || c == '>' || c == '(' || c == ')' || c == '|' ? 1 : 0;
}

/* Is the next '#' one of a regular expression, as in [[ $x =~ ^(#|$) ]], and not a comment? */
static bool grammar_hash_in_regex(const struct lex_reader *r, bool regex)
{
	return regex && lex_peek(r, 0) == '#' && strchr("(|)", r->text.s[r->pos - 1]);
}

static void grammar_test(struct lex_reader *r, struct ast_node *n)
{
	struct ast_word **tail = &n->words;
	size_t open = r->pos;
	char before = '\0';
	bool regex = false; /* behind =~, up to the next && or || */

	n->type = AST_TEST;
	for (;;) {
		if (!grammar_hash_in_regex(r, regex))
			lex_newlines(r);
		if (lex_failed(r))
			return;
		if (lex_peek(r, 0) == ']' && lex_peek(r, 1) == ']' && lex_is_meta(lex_peek(r, 2))) {
			r->pos += 2;
			return;
		}
		size_t len = grammar_test_operator(r), from = r->pos;

		if (len > 0) {
			before = (char)lex_peek(r, 0);
			r->pos += len;
			regex &= len == 1;
			continue;
		}
		*tail = lex_word(r);
		if (!*tail) {
			if (r->pos >= r->end)
				lex_fail(r, SHELL_SYNTAX, "a [[ that is not closed", open);
			lex_unexpected(r);
			return;
		}
		regex |= r->pos - from == 2 && memcmp(r->text.s + from, "=~", 2) == 0;
		(*tail)->before = before;
		before = '\0';
		tail = &(*tail)->next;
	}
}

/* ---- functions ---- */

/* The body after "name()" or "function name": any command, as in dash. */
static void grammar_function_body(struct lex_reader *r, struct ast_node *n)
{
	n->type = AST_FUNCTION;
	n->words = NULL;
	lex_newlines(r);
	n->body = grammar_command(r);
	/* In bash the body must be a compound command. */
	if (r->state->family == SHELL_FAMILY_BASH && !lex_failed(r) &&
	    (n->body->type == AST_SIMPLE || n->body->type == AST_FUNCTION))
		lex_unexpected(r);
}

static void grammar_function(struct lex_reader *r, struct ast_node *n)
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
	grammar_function_body(r, n);
}

/* coproc [NAME] compound, or coproc simple. */
static void grammar_coproc(struct lex_reader *r, struct ast_node *n)
{
	size_t start, name_end, end;

	lex_blank(r);
	start = r->pos;
	while (lex_is_name(lex_peek(r, 0), r->pos == start))
		r->pos++;
	name_end = r->pos;
	lex_blank(r);
	enum lex_reserved next = grammar_peek_reserved(r, &end);

	if (lex_peek(r, 0) != '(' && (next == WORD_NONE || r->pos == start))
		r->pos = start;
	n->name = r->pos > start
		? shell_copy(r->state->arena, r->text.s + start, name_end - start) : "COPROC";
	n->type = AST_SUBSHELL;
	n->background = true;
	n->body = grammar_command(r);
}

/* ---- any compound command ---- */

static bool grammar_dispatch(struct lex_reader *r, struct ast_node *n, enum lex_reserved word)
{
	switch (word) {
	case WORD_OPEN:
		grammar_group(r, n);
		return true;
	case WORD_IF:
		grammar_if(r, n);
		return true;
	case WORD_WHILE:
	case WORD_UNTIL:
		n->negated = word == WORD_UNTIL;
		grammar_while(r, n);
		return true;
	case WORD_FOR:
	case WORD_SELECT:
		grammar_for(r, n);
		return true;
	case WORD_CASE:
		grammar_case(r, n);
		return true;
	case WORD_TEST:
		grammar_test(r, n);
		return true;
	case WORD_FUNCTION:
		grammar_function(r, n);
		return true;
	case WORD_COPROC:
		grammar_coproc(r, n);
		return true;
	default:
		return false;
	}
}

/* A compound command with its redirections; NULL: none starts here. */
static struct ast_node *grammar_compound(struct lex_reader *r)
{
	size_t end = 0;
	enum lex_reserved word = grammar_peek_reserved(r, &end);
	struct ast_node *n;

	if (word == WORD_NONE && lex_peek(r, 0) != '(')
		return NULL;
	n = grammar_new_node(r, AST_GROUP);
	if (word == WORD_NONE) {
		if (!grammar_arith_command(r, n))
			grammar_subshell(r, n);
	} else {
		size_t start = r->pos;

		r->pos = end;
		if (!grammar_dispatch(r, n, word)) {
			r->pos = start;
			if (word != WORD_TIME)
				lex_unexpected(r);
			return NULL;
		}
	}
	struct ast_redirect **tail = &n->redirects;

	if (n->type != AST_FUNCTION)
		grammar_redirects(r, &tail);
	n->end = lex_origin_end(r, r->pos);
	lex_order(&n->start, &n->end);
	return n;
}

/* ---- any command ---- */

static struct ast_node *grammar_command(struct lex_reader *r)
{
	struct ast_node *n;

	if (!lex_enter(r))
		return grammar_new_node(r, AST_LIST);
	n = grammar_compound(r);
	if (!n)
		n = grammar_simple(r);
	lex_leave(r);
	return n;
}

/* ---- pipelines and lists ---- */

/* bash's "time" or "time -p"; with other options it is a program. */
static bool grammar_take_time(struct lex_reader *r)
{
	size_t start = r->pos;

	if (!grammar_take_reserved(r, WORD_TIME))
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

/* In bash a prefix may stand alone before the end of a list: $( time). */
static bool grammar_is_alone(const struct lex_reader *r, bool timed)
{
	int c = lex_peek(r, 0);

	return c == -1 || c == '\n' || (c == ';' && lex_peek(r, 1) != ';') || (c == ')' && timed);
}

/* "!" and "time" before a pipeline; dash allows one "!". True: a command must follow. */
static bool grammar_take_prefixes(struct lex_reader *r, struct ast_node *n)
{
	bool banged = false, timed = false, prefixed;

	for (;;) {
		if (grammar_take_reserved(r, WORD_BANG)) {
			if (banged)
				lex_note_refused(r);
			if (banged && r->state->posix)
				lex_unexpected(r);
			n->negated = !n->negated;
			banged = true;
			timed = false;
		} else if (grammar_take_time(r)) {
			timed = true;
		} else {
			break;
		}
		lex_blank(r);
	}
	prefixed = timed || (banged && !r->state->posix);
	if (!prefixed || !grammar_is_alone(r, timed))
		return true;
	lex_note_refused(r);
	return false;
}

static bool grammar_take_pipe(struct lex_reader *r)
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
	if (lex_peek(r, 0) == '&' && !r->state->posix) {
		lex_note_refused(r);
		r->pos++;
	}
	return true;
}

static struct ast_node *grammar_pipeline(struct lex_reader *r)
{
	struct ast_node n = { .type = AST_PIPE, .start = lex_origin(r, r->pos) };
	struct ast_node **tail = &n.body;

	if (grammar_take_prefixes(r, &n)) {
		do {
			lex_newlines(r);
			*tail = grammar_command(r);
			tail = &(*tail)->next;
			lex_blank(r);
		} while (!lex_failed(r) && grammar_take_pipe(r));
	}
	n.end = n.body ? n.body->end : n.start;
	if (n.body && !n.body->next && !n.negated)
		return n.body;
	return grammar_kept_node(r, &n);
}

/* "&&" or "||", and the newlines after it. */
static bool grammar_take_join(struct lex_reader *r, enum ast_join *join)
{
	int c = lex_peek(r, 0);

	if (c != '&' && c != '|' && c != '\\')
		return false;
	if (grammar_take_operator(r, "&&"))
		*join = JOIN_AND;
	else if (grammar_take_operator(r, "||"))
		*join = JOIN_OR;
	else
		return false;
	return true;
}

static bool grammar_ends_list(struct lex_reader *r)
{
	size_t end;
	int c = lex_peek(r, 0);

	if (c == -1 || c == ')')
		return true;
	if (c == ';' && (lex_peek(r, 1) == ';' || lex_peek(r, 1) == '&'))
		return true;
	switch (grammar_peek_reserved(r, &end)) {
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

/* "&" stands behind the list of pipelines at *@first: one shell runs all of it. */
static struct ast_node **grammar_background(struct lex_reader *r, struct ast_node **first)
{
	struct ast_node *n = *first, *list;

	if (n->next) {
		list = grammar_new_node(r, AST_LIST);
		list->start = n->start;
		list->end = lex_origin_end(r, r->pos);
		list->body = n;
		*first = n = list;
	}
	n->background = true;
	return &n->next;
}

/* Read pipelines joined by && and || and add them at *@tail. */
static void grammar_and_or(struct lex_reader *r, struct ast_node ***tail)
{
	enum ast_join join = JOIN_ALWAYS;
	struct ast_node **first = *tail;

	do {
		if (join != JOIN_ALWAYS)
			lex_newlines(r);
		struct ast_node *n = grammar_pipeline(r);

		n->join = (uint8_t)join;
		**tail = n;
		*tail = &n->next;
		lex_blank(r);
	} while (!lex_failed(r) && grammar_take_join(r, &join));
	if (!lex_failed(r) && lex_peek(r, 0) == '&')
		*tail = grammar_background(r, first);
}

/* After a command: ";", "&" or newlines. False: none of them. */
static bool grammar_take_separator(struct lex_reader *r)
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

struct ast_node *grammar_list(struct lex_reader *r)
{
	struct ast_node *n = grammar_new_node(r, AST_LIST), **tail = &n->body;

	lex_newlines(r);
	while (!lex_failed(r) && !grammar_ends_list(r)) {
		grammar_and_or(r, &tail);
		if (lex_failed(r) || !grammar_take_separator(r))
			break;
	}
	n->end = lex_origin_end(r, r->pos);
	lex_order(&n->start, &n->end);
	return n;
}

/*
 * As few commands as are complete in themselves, so that the caller can free their tree
 * before it reads the next ones.
 */
struct ast_node *grammar_next(struct lex_reader *r)
{
	struct ast_node n = { .type = AST_LIST, .start = lex_origin(r, r->pos) };
	struct ast_node **tail = &n.body;
	bool separated = true;

	lex_newlines(r);
	while (!lex_failed(r) && !grammar_ends_list(r)) {
		grammar_and_or(r, &tail);
		separated = !lex_failed(r) && grammar_take_separator(r);
		if (!separated || !r->pending)
			break;
	}
	if ((!n.body || !separated) && !lex_failed(r) && r->pos < r->end)
		lex_unexpected(r);
	if (r->pending)
		lex_here_bodies(r);
	return n.body && n.body->next ? grammar_kept_node(r, &n) : n.body;
}

struct ast_node *grammar_program(struct lex_state *state, const struct shell_text *text)
{
	struct lex_reader r;
	struct ast_node *n;

	lex_reader_init(&r, state, text);
	r.inner = true;
	n = grammar_list(&r);
	if (!lex_failed(&r) && r.pos < r.end)
		lex_unexpected(&r);
	if (r.pending)
		lex_here_bodies(&r);
	return n;
}
