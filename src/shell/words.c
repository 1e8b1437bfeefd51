/*
 * Two readers of the same quoting rules. The splitter gives words or a refusal
 * with the place. The recogniser is far more cautious about its answer than about
 * its reading: whatever it does not fully understand is "not one simple command",
 * and then a real shell decides.
 */
#include "shell/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

/* XCU 2.4, and the words it leaves to implementations. */
static const char *const reserved_words[] = {
	"!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in",
	"then", "until", "while", "[[", "]]", "function", "select",
};

/* dash(1), "Builtins", and what bash and busybox add, as /bin/sh may be either. */
static const char *const builtin_words[] = {
	".", ":", "[", "alias", "bg", "break", "cd", "chdir", "command", "continue", "echo", "eval",
	"exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "jobs", "kill", "local",
	"printf", "pwd", "read", "readonly", "return", "set", "shift", "test", "time", "times",
	"trap", "true", "type", "ulimit", "umask", "unalias", "unset", "wait",
	"bind", "builtin", "caller", "compgen", "complete", "compopt", "declare", "dirs", "disown",
	"enable", "help", "history", "let", "logout", "mapfile", "popd", "pushd", "readarray",
	"shopt", "source", "suspend", "typeset",
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Ends a word when it stands outside quotes. */
static bool is_break(char c)
{
	return c == '\0' || strchr(" \t\n|&;<>()", c) != NULL;
}

static bool in_list(const char *const *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

static bool is_reserved(const char *word)
{
	return in_list(reserved_words, COUNT_OF(reserved_words), word);
}

/* Length of "NAME=" at @p, or 0. */
static size_t assignment_len(const char *p)
{
	size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return n > 0 && (p[0] < '0' || p[0] > '9') && p[n] == '=' ? n + 1 : 0;
}

/* Where the text ends when the white space behind it is dropped. */
static size_t trimmed_len(const char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\n", text[len - 1]))
		len--;
	/* A backslash that is not itself escaped takes the blank behind it along. */
	size_t slashes = 0;

	while (slashes < len && text[len - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2 && text[len] != '\0' ? len + 1 : len;
}

/* ---- one word, quotes removed ---- */

/* A reading position, and what is being read. */
struct words_reader {
	const char *start, *p, *end;
	struct buf word;
	bool quoted; /* the word has a quoted part */
	const char *what; /* why reading stopped, at p; NULL: fine */
};

static int stop(struct words_reader *r, const char *at, const char *what)
{
	r->p = at;
	r->what = what;
	return -1;
}

static int read_single(struct words_reader *r)
{
	const char *close = memchr(r->p + 1, '\'', (size_t)(r->end - r->p - 1));

	if (!close)
		return stop(r, r->p, "a single quote that is not closed");
	buf_add(&r->word, r->p + 1, (size_t)(close - r->p - 1));
	r->p = close + 1;
	return 0;
}

static int read_double(struct words_reader *r)
{
	const char *open = r->p++;

	for (; r->p < r->end && *r->p != '"'; r->p++) {
		if (*r->p == '$' || *r->p == '`')
			return stop(r, r->p, "an expansion");
		if (*r->p == '\\' && r->p + 1 < r->end && strchr("$`\"\\\n", r->p[1])) {
			r->p++;
			if (*r->p == '\n')
				continue;
		}
		buf_addc(&r->word, *r->p);
	}
	if (r->p >= r->end)
		return stop(r, open, "a double quote that is not closed");
	r->p++;
	return 0;
}

static int read_backslash(struct words_reader *r)
{
	if (r->p + 1 >= r->end)
		return stop(r, r->p, "a backslash with nothing behind it");
	if (r->p[1] == '\n') {
		r->p += 2;
		return 0;
	}
	r->quoted = true;
	buf_addc(&r->word, r->p[1]);
	r->p += 2;
	return 0;
}

/* What a shell would do with the unquoted character at r->p, or NULL when it is plain. */
static const char *special_at(const struct words_reader *r, bool word_start)
{
	switch (*r->p) {
	case '$': case '`':
		return "an expansion";
	case '*': case '?':
		return "a file name pattern";
	case '[':
		/* Alone it is the name of a program. */
		if (word_start && (r->p + 1 >= r->end || is_break(r->p[1])))
			return NULL;
		return "a file name pattern";
	case '~':
		return word_start ? "a home directory" : NULL;
	case '#':
		return word_start ? "a comment" : NULL;
	default:
		return NULL;
	}
}

/* Read the word at r->p into r->word. Returns 0, or -1 with r->p and r->what. */
static int read_word(struct words_reader *r)
{
	const char *first = r->p;

	buf_clear(&r->word);
	r->quoted = false;
	while (r->p < r->end && !is_break(*r->p)) {
		int status = 0;

		if (*r->p == '\\') {
			status = read_backslash(r);
		} else if (*r->p == '\'' || *r->p == '"') {
			r->quoted = true;
			status = *r->p == '"' ? read_double(r) : read_single(r);
		} else {
			const char *what = special_at(r, r->p == first);

			if (what)
				return stop(r, r->p, what);
			buf_addc(&r->word, *r->p++);
		}
		if (status != 0)
			return -1;
	}
	return 0;
}

static void skip_blanks(struct words_reader *r)
{
	while (r->p < r->end &&
	       (is_blank(*r->p) || (*r->p == '\\' && r->p + 1 < r->end && r->p[1] == '\n')))
		r->p += *r->p == '\\' ? 2 : 1;
}

static void reader_init(struct words_reader *r, const char *text)
{
	size_t len = trimmed_len(text);
	size_t head = strspn(text, " \t\n");

	memset(r, 0, sizeof(*r));
	r->start = text;
	r->end = text + len;
	r->p = head < len ? text + head : r->end;
	buf_init(&r->word, len);
}

static char *word_copy(const struct words_reader *r)
{
	return mem_strndup(r->word.len ? r->word.data : "", r->word.len);
}

/* ---- splitting ---- */

static int fail_split(const struct words_reader *r, const char *at, const char *what, struct err *e)
{
	int shown = (int)utf8_cut(at, (size_t)(r->end - at), 16);

	err_set(e, ERR_INVALID_PARAMS,
		"command: cannot be split into words without a shell: %s at byte %zu (\"%.*s\")",
		what, (size_t)(at - r->start), shown, at);
	return err_hint(e, "Set shell to true, use single quotes for plain text, or give the words "
			   "in args.");
}

/* Read all words. The caller frees *@words in every case. */
static int split_all(struct words_reader *r, char ***words, struct err *e)
{
	size_t count = 0, room = 0;

	for (;; skip_blanks(r)) {
		const char *at = r->p;

		if (count + 1 >= room) {
			room = room ? room * 2 : 16;
			*words = mem_realloc(*words, room * sizeof(**words));
			(*words)[count] = NULL;
		}
		if (r->p >= r->end)
			return 0;
		if (is_break(*r->p))
			return fail_split(r, at, *r->p == '\n' ? "a second line" : "an operator",
					  e);
		if (count == 0 && assignment_len(at))
			return fail_split(r, at, "an assignment", e);
		if (read_word(r) != 0)
			return fail_split(r, r->p, r->what, e);
		if (count == 0 && !r->quoted && r->word.len && is_reserved(r->word.data))
			return fail_split(r, at, "a reserved word", e);
		/* Only backslash-newline pairs: no word at all. */
		if (r->word.len == 0 && !r->quoted)
			continue;
		(*words)[count++] = word_copy(r);
		(*words)[count] = NULL;
	}
}

int shell_words_split(const char *text, char ***words, struct err *e)
{
	struct words_reader r;
	char **list = NULL;

	reader_init(&r, text);
	skip_blanks(&r);
	int status = split_all(&r, &list, e);

	buf_release(&r.word);
	if (status == 0 && !list[0])
		status = err_set(e, ERR_INVALID_PARAMS, "command: there is no word in it");
	if (status != 0) {
		shell_words_free(list);
		return -1;
	}
	*words = list;
	return 0;
}

void shell_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* ---- recognising one simple command ---- */

/* Deepest nesting of expansions that is followed. */
#define NESTING_MAX 32

static const char *skip_piece(const char *p, const char *end, int depth);

static const char *skip_single(const char *p, const char *end)
{
	const char *close = memchr(p + 1, '\'', (size_t)(end - p - 1));

	return close ? close + 1 : NULL;
}

static const char *skip_double(const char *p, const char *end, int depth)
{
	for (p++; p && p < end && *p != '"';)
		p = *p == '\'' ? p + 1 : skip_piece(p, end, depth + 1);
	return p && p < end ? p + 1 : NULL;
}

static const char *skip_backquotes(const char *p, const char *end)
{
	for (p++; p < end && *p != '`'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : NULL;
}

/*
 * $( ... ) or ${ ... }: to the matching bracket. Comments, here-documents and, in
 * a quoted ${...}, a single quote could hide one: not followed.
 */
static const char *skip_bracket(const char *p, const char *end, int depth)
{
	char open = p[1], close = open == '(' ? ')' : '}';
	int level = 0;

	for (p++; p && p < end;) {
		if (open == '(' && *p == '#' && strchr("( \t\n;|&", p[-1]))
			return NULL;
		if ((*p == '<' && p + 1 < end && p[1] == '<') || (open == '{' && *p == '\''))
			return NULL;
		if (*p == close && --level == 0)
			return p + 1;
		level += *p == open;
		p = *p == open || *p == close ? p + 1 : skip_piece(p, end, depth + 1);
	}
	return NULL;
}

/* Step over one character, quoted string or expansion. NULL: not understood. */
static const char *skip_piece(const char *p, const char *end, int depth)
{
	if (depth > NESTING_MAX)
		return NULL;
	switch (*p) {
	case '\\':
		return p + 1 < end ? p + 2 : NULL;
	case '\'':
		return skip_single(p, end);
	case '"':
		return skip_double(p, end, depth);
	case '`':
		return skip_backquotes(p, end);
	case '$':
		if (p + 1 < end && (p[1] == '(' || p[1] == '{'))
			return skip_bracket(p, end, depth);
		/* $'...' is one thing to dash and another to bash. */
		return p + 1 < end && p[1] == '\'' ? NULL : p + 1;
	default:
		return p + 1;
	}
}

/* Step over a word that may hold anything but operators. NULL: not understood. */
static const char *skip_word(const char *p, const char *end)
{
	while (p && p < end && !is_break(*p))
		p = skip_piece(p, end, 0);
	return p;
}

/* Are there only words from @r's position to the end? */
static bool only_words_left(struct words_reader *r)
{
	for (skip_blanks(r); r->p < r->end; skip_blanks(r)) {
		if (is_break(*r->p) || *r->p == '#')
			return false;
		r->p = skip_word(r->p, r->end);
		if (!r->p)
			return false;
	}
	return true;
}

/* Step over the assignments before the command. False when the command cannot be told then. */
static bool skip_assignments(struct words_reader *r)
{
	for (skip_blanks(r); r->p < r->end && assignment_len(r->p); skip_blanks(r)) {
		/* This one decides where the command is looked up. */
		if (strncmp(r->p, "PATH=", 5) == 0)
			return false;
		r->p = skip_word(r->p, r->end);
		if (!r->p)
			return false;
	}
	return r->p < r->end;
}

static bool is_program(const struct words_reader *r)
{
	const char *word = r->word.data;

	if (r->word.len == 0)
		return false;
	if (strchr(word, '/'))
		return true;
	if (!r->quoted && (is_reserved(word) || strchr(word, '{')))
		return false;
	return !in_list(builtin_words, COUNT_OF(builtin_words), word);
}

char *shell_words_program(const char *text)
{
	struct words_reader r;
	char *program = NULL;

	reader_init(&r, text);
	if (skip_assignments(&r) && read_word(&r) == 0 && is_program(&r)) {
		program = word_copy(&r);
		if (!only_words_left(&r)) {
			free(program);
			program = NULL;
		}
	}
	buf_release(&r.word);
	return program;
}
