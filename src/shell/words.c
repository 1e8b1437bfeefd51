/*
 * Reads words with the shell's lexer, as dash does. shell_words_split() refuses a text with the
 * place and reason. shell_words_program() returns NULL for any text that it does not fully
 * understand or that bash reads otherwise: then the shell itself reports an unknown command.
 */
#include "shell/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "shell/lex.h"

/* Levels of nesting, and bytes of the tree of one word. */
#define WORDS_DEPTH 64u
#define WORDS_BYTES (20u << 20)

/* dash(1), "Builtins", and those of bash and busybox, since /bin/sh may be any of them. */
static const char *const builtin_words[] = {
	".", ":", "[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo", "eval",
	"exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "jobs", "kill", "local",
	"printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "time", "times",
	"trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait",
	"bind", "builtin", "caller", "compgen", "complete", "compopt", "declare", "dirs", "disown",
	"enable", "help", "history", "let", "logout", "mapfile", "popd", "pushd", "readarray",
	"shopt", "source", "suspend", "typeset", NULL,
};

/* A text read word by word, and why reading stopped. */
struct words_reader {
	struct shell_arena arena;
	struct lex_state state;
	struct lex_reader lex;
	struct buf word;  /* the last one, without its quotes */
	struct buf shape; /* it again, each quoted part as WORDS_QUOTED or WORDS_QUOTED_COMMA */
	bool assigned;    /* it begins with NAME= */
	const char *what; /* why reading stopped, or NULL */
	size_t at;
};

static void words_init(struct words_reader *r, const char *text)
{
	struct shell_text all = { .s = text, .len = strlen(text) };

	memset(r, 0, sizeof(*r));
	shell_arena_init(&r->arena, WORDS_BYTES);
	r->state = (struct lex_state){
		.arena = &r->arena, .depth = WORDS_DEPTH, .again = 2 * all.len, .posix = true
	};
	lex_reader_init(&r->lex, &r->state, &all);
	r->lex.pos = strspn(text, " \t\n");
	buf_init(&r->word, all.len);
	buf_init(&r->shape, all.len);
}

static void words_end(struct words_reader *r)
{
	shell_arena_release(&r->arena);
	buf_release(&r->word);
	buf_release(&r->shape);
}

static bool words_stop(struct words_reader *r, const char *what, size_t at)
{
	r->what = what;
	r->at = at;
	return false;
}

/* Is there more than white space at the position? */
static bool words_more(struct words_reader *r)
{
	struct lex_reader *lex = &r->lex;
	size_t slashes = 0;

	lex_spaces(lex);
	if (lex->pos + strspn(lex->text.s + lex->pos, " \t\n") < lex->end)
		return true;
	while (slashes < lex->end && lex->text.s[lex->end - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2 && words_stop(r, "a backslash with nothing behind it", lex->end - 1);
}

/* The word at the position; NULL: an operator, a comment, or a trouble in the word. */
static const struct ast_word *words_read(struct words_reader *r)
{
	int c = lex_peek(&r->lex, 0);
	const struct ast_word *w;

	if (c == '#')
		words_stop(r, "a comment", r->lex.pos);
	else if (lex_is_meta(c))
		words_stop(r, c == '\n' ? "a second line" : "an operator", r->lex.pos);
	if (r->what)
		return NULL;
	w = lex_word(&r->lex);
	if (lex_failed(&r->lex))
		words_stop(r, r->state.trouble_text, r->state.trouble_at);
	return r->what ? NULL : w;
}

/* ---- braces, as bash reads them ---- */

/* What stands for quoted text where braces are looked for. A comma in it matters to bash: {a..','}
 * loses its braces. */
#define WORDS_QUOTED '"'
#define WORDS_QUOTED_COMMA '\''

#define WORDS_LEVELS 64u

/* Add an unquoted part of a word, or what stands for a quoted one, even for one without text. */
static void words_add_shape(struct buf *shape, const struct ast_part *p)
{
	if (!p->quoted)
		buf_add(shape, p->text.s, p->text.len);
	else
		buf_addc(shape, memchr(p->text.s, ',', p->text.len) ? WORDS_QUOTED_COMMA
								    : WORDS_QUOTED);
}

/* Behind the letter, or the integer, at @s; NULL: there is none. */
static const char *words_letter(const char *s)
{
	return (*s | 32) >= 'a' && (*s | 32) <= 'z' ? s + 1 : NULL;
}

static const char *words_integer(const char *s)
{
	size_t digits;

	s += *s == '-' || *s == '+';
	digits = strspn(s, "0123456789");
	return digits ? s + digits : NULL;
}

/* Does @s begin with 1..3} or a..e}, which may have an increment? */
static bool words_is_sequence(const char *s)
{
	const char *(*operand)(const char *s) = words_letter(s) ? words_letter : words_integer;

	s = operand(s);
	s = s && !strncmp(s, "..", 2) ? operand(s + 2) : NULL;
	if (s && !strncmp(s, "..", 2))
		s = words_integer(s + 2);
	return s && *s == '}';
}

/*
 * Would bash expand braces in a word of this @shape? A } that ends no list is plain text to the
 * outermost {, which stays open: {a}b,c} is a}b and c. Some rare words that bash leaves alone count
 * too, such as {1..x},y}.
 */
static bool words_has_braces(const char *shape)
{
	uint64_t commas = 0, dots = 0; /* a bit for each open level, the lowest for the last */
	bool quoted_comma = false;
	unsigned level = 0;

	for (const char *s = shape; *s; s++) {
		if (*s == '{' && (s > shape || (s[1] && s[1] != '}'))) {
			if (words_is_sequence(s + 1) || ++level > WORDS_LEVELS)
				return true;
			commas <<= 1;
			dots <<= 1;
		} else if (*s == '}' && level) {
			if (commas & 1 || (dots & 1 && quoted_comma))
				return true;
			commas >>= level > 1;
			dots >>= level > 1;
			level -= level > 1;
		} else if (level) {
			commas |= *s == ',';
			dots |= s[0] == '.' && s[1] == '.';
			quoted_comma |= *s == WORDS_QUOTED_COMMA;
		}
	}
	return false;
}

/* What a shell would do with the character @i of the unquoted @p, or NULL if it is plain. */
static const char *words_special(const struct words_reader *r, const struct ast_word *w,
				 const struct ast_part *p, uint32_t i)
{
	bool first = p == w->parts && i == 0;

	switch (p->text.s[i]) {
	case '$': /* in bash it may begin a quoted text */
		return "an expansion";
	case '*': case '?':
		return "a file name pattern";
	case '[':
		/* Alone it is the name of a program. */
		return first && !p->next && p->text.len == 1 ? NULL : "a file name pattern";
	case '~': /* bash reads it in every argument that looks like an assignment */
		return first || (r->assigned && i && strchr("=:", p->text.s[i - 1]))
			       ? "a home directory" : NULL;
	default:
		return NULL;
	}
}

/* Copy @w to r->word. False: it has an expansion or a glob. */
static bool words_take(struct words_reader *r, const struct ast_word *w)
{
	size_t brace = SIZE_MAX;

	buf_clear(&r->word);
	buf_clear(&r->shape);
	for (const struct ast_part *p = w->parts; p; p = p->next) {
		if (p->type != PART_TEXT)
			return words_stop(r, "an expansion", p->text.pos);
		for (uint32_t i = 0; i < p->text.len && !p->quoted; i++) {
			if (words_special(r, w, p, i))
				return words_stop(r, words_special(r, w, p, i), p->text.pos + i);
			if (p->text.s[i] == '{' && brace == SIZE_MAX)
				brace = p->text.pos + i;
		}
		buf_add(&r->word, p->text.s, p->text.len);
		words_add_shape(&r->shape, p);
	}
	return brace == SIZE_MAX || !words_has_braces(r->shape.data) ||
	       words_stop(r, "an expansion", brace);
}

/* Is there a reserved word of dash or bash at the position? */
static bool words_at_reserved(struct words_reader *r)
{
	size_t end;

	return grammar_peek_reserved(&r->lex, &end) != WORD_NONE || r->state.ambiguous;
}

static char *words_copy(const struct words_reader *r)
{
	return mem_strndup(r->word.len ? r->word.data : "", r->word.len);
}

/* ---- splitting ---- */

static int words_refuse(const struct words_reader *r, struct err *e)
{
	const char *at = r->lex.text.s + r->at;
	int shown = (int)utf8_cut(at, r->lex.end - r->at, 16);
	char quote = memchr(at, '"', (size_t)shown) ? '\'' : '"';

	err_set(e, ERR_INVALID_PARAMS,
		"cannot be split into words without a shell: %s at byte %zu (%c%.*s%c)",
		r->what, r->at, quote, shown, at, quote);
	return err_hint(e, "Set shell to true, use single quotes for plain text, or give the words "
			   "in args.");
}

/* Read the next word into r->word. False: there is none, or r->what says why. */
static bool words_next(struct words_reader *r, bool first)
{
	struct shell_arena_mark mark = shell_arena_mark(&r->arena);
	const struct ast_word *w;
	bool taken;

	if (!words_more(r))
		return false;
	r->assigned = grammar_assigned_name(&r->lex);
	if (first && r->assigned)
		return words_stop(r, "an assignment", r->lex.pos);
	if (first && words_at_reserved(r))
		return words_stop(r, "a reserved word", r->lex.pos);
	w = words_read(r);
	taken = w && words_take(r, w);
	shell_arena_rewind(&r->arena, &mark);
	return taken;
}

int shell_words_split(const char *text, char ***words, struct err *e)
{
	struct words_reader r;
	size_t count = 0, room = 0;
	char **list = NULL;
	int status = 0;

	words_init(&r, text);
	while (words_next(&r, count == 0)) {
		if (count + 1 >= room)
			list = mem_grow(list, &room, 16, sizeof(*list));
		list[count++] = words_copy(&r);
		list[count] = NULL;
	}
	if (r.what)
		status = words_refuse(&r, e);
	else if (!count)
		status = err_set(e, ERR_INVALID_PARAMS, "there is no word in it");
	words_end(&r);
	if (status == 0)
		*words = list;
	else
		mem_list_free(list);
	return status;
}

/* ---- recognising one simple command ---- */

/* Skip assignments before the command. False: they decide which program runs. */
static bool words_skip_assignments(struct words_reader *r)
{
	size_t len;

	while (words_more(r) && (len = grammar_assigned_name(&r->lex)) > 0) {
		/* PATH decides where the command is looked up. */
		if (len == 4 && memcmp(r->lex.text.s + r->lex.pos, "PATH", 4) == 0)
			return false;
		if (!words_read(r))
			return false;
	}
	return words_more(r);
}

bool shell_words_is_builtin(const char *name)
{
	return str_is_listed(name, builtin_words);
}

bool shell_words_is_plain_builtin(const char *name)
{
	static const char *const names[] = { ":", "true", "false", "cd", "echo", "pwd", "exit",
					     NULL };

	return str_is_listed(name, names);
}

/* Is r->word the name of a program to every shell? */
static bool words_is_program(const struct words_reader *r)
{
	return r->word.len && (strchr(r->word.data, '/') || !shell_words_is_builtin(r->word.data));
}

/* Pass a redirection, a comment or a word. False: the shell does more than start a program. */
static bool words_skip(struct words_reader *r)
{
	const struct ast_redirect *n = grammar_next_redirect(&r->lex);

	if (n && n->op == SHELL_HERE)
		return words_stop(r, "a here-document", r->lex.pos);
	if (lex_failed(&r->lex))
		return words_stop(r, r->state.trouble_text, r->state.trouble_at);
	if (!n && lex_peek(&r->lex, 0) != '#')
		return words_read(r);
	lex_blank(&r->lex);
	return true;
}

/* To bash a descriptor in braces stands before a redirection, to dash it is a word. */
static bool words_at_redirect(struct words_reader *r)
{
	return lex_peek(&r->lex, 0) == '{' || grammar_next_redirect(&r->lex);
}

char *shell_words_program(const char *text)
{
	struct words_reader r;
	char *program = NULL;

	words_init(&r, text);
	if (words_skip_assignments(&r) && !words_at_reserved(&r) &&
	    !words_at_redirect(&r)) {
		const struct ast_word *w = words_read(&r);

		if (w && words_take(&r, w) && words_is_program(&r))
			program = words_copy(&r);
	}
	while (program && words_more(&r) && words_skip(&r))
		;
	if (r.what || r.state.ambiguous) {
		free(program);
		program = NULL;
	}
	words_end(&r);
	return program;
}
