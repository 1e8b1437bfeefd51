#include "blocklist/effects/script_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/command/word.h"

/*
 * Strings joined by +, . or nothing are one word; anything else joined to them makes it partly
 * unknown.
 */
#define ARGUMENT_TOKENS_MAX 512
#define CONSTANT_PIECES_MAX 64
/* Steps of the budget for each step here. */
#define WORK_STEP 15u
/* Steps to search a word for a name, besides those for its bytes. */
#define WORK_SEARCH 6u

/* Tokens of an expression, behind a = or before a +, that are looked at. */
#define EXPRESSION_MAX 32

bool script_step(struct script_reader *r, size_t steps)
{
	return action_charge(r->out, WORK_STEP * (uint64_t)steps);
}

/* ---- pieces ---- */

/* The character @c of @kind as a word, at the place of token @i. */
static struct shell_word script_args_char(struct script_reader *r, char c, uint8_t kind, size_t i)
{
	size_t at = r->t.tokens[i].start;
	char *s = shell_copy(r->t.arena, &c, 1);
	uint8_t *kinds = shell_alloc(r->t.arena, 2);
	uint32_t *where = shell_alloc(r->t.arena, 2 * sizeof(*where));

	kinds[0] = kind;
	where[0] = r->t.text->text.at ? r->t.text->text.at[at] : (uint32_t)at;
	return (struct shell_word){ .text = { .s = s, .at = where, .len = 1 }, .kind = kinds,
				    .start = r->t.text->start, .end = r->t.text->end };
}

static void script_args_append(struct script_reader *r, struct script_args *a,
			       const struct shell_word *piece, bool join)
{
	size_t before = a->count ? a->words[a->count - 1].text.len : 0;

	if (!script_step(r, (before + piece->text.len) / SCRIPT_STEP_BYTES))
		return;
	if (a->format && a->count) { /* "rm %s" % "/", "rm {}".format("/") */
		struct shell_word *last = &a->words[a->count - 1];

		*last = word_replace(last, "%s", 2, piece, r->out->budget, r->t.arena);
		*last = word_replace(last, "{}", 2, piece, r->out->budget, r->t.arena);
	} else if (join && a->count) {
		a->words[a->count - 1] = word_concat(&a->words[a->count - 1], piece, r->t.arena);
	} else if (a->count < SCRIPT_ARGS_MAX) {
		a->words[a->count++] = *piece;
	}
}

/* The same of the character @c, at the place of token @i. */
static void script_args_append_char(struct script_reader *r, struct script_args *a, char c,
				    uint8_t kind, size_t i, bool join)
{
	struct shell_word piece = script_args_char(r, c, kind, i);

	script_args_append(r, a, &piece, join);
}

/* The character of chr(47) or String.fromCharCode(47) at token @i; 0: no such call. */
static char script_args_char_call(const struct script_reader *r, size_t i)
{
	long code;

	if (!script_token_in(&r->t, i, " chr Chr fromCharCode ") ||
	    !script_is_char(&r->t, i + 1, '(') ||
	    i + 3 >= r->t.count || r->t.tokens[i + 2].kind != TOKEN_NAME ||
	    !script_is_char(&r->t, i + 3, ')'))
		return 0;
	code = strtol(r->t.text->text.s + r->t.tokens[i + 2].start, NULL, 0);
	return code > 0 && code < 127 ? (char)code : 0;
}

/* The text of [104,97,108,116] from token @i on; *@end: the token after it. */
static bool script_args_char_list(struct script_reader *r, size_t i, struct shell_word *out,
				  size_t *end)
{
	char *s = shell_alloc(r->t.arena, SCRIPT_ARGS_MAX + 1);
	uint32_t *where = shell_alloc(r->t.arena, (SCRIPT_ARGS_MAX + 1) * sizeof(*where));
	size_t n = 0;

	for (; i < r->t.count && n < SCRIPT_ARGS_MAX && r->t.tokens[i].kind == TOKEN_NAME; i += 2) {
		char *rest;
		long code = strtol(r->t.text->text.s + r->t.tokens[i].start, &rest, 0);

		if (code < 9 || code > 126 ||
		    rest != r->t.text->text.s + r->t.tokens[i].end)
			break;
		where[n] = r->t.text->text.at ? r->t.text->text.at[r->t.tokens[i].start] : 0;
		s[n++] = (char)code;
		*end = i + 1;
		if (!script_is_char(&r->t, i + 1, ','))
			break;
	}
	*out = (struct shell_word){ .text = { .s = s, .at = where, .len = n },
				    .kind = shell_alloc(r->t.arena, n + 1),
				    .start = r->t.text->start, .end = r->t.text->end };
	return n > 2;
}

/* "ffo"[::-1] */
static bool script_args_is_reversed(const struct script_reader *r, size_t i)
{
	const struct script_token *t = &r->t.tokens[i];

	return t->end + 5 <= r->t.text->text.len && script_string(&r->t, i - 1) &&
	       strncmp(r->t.text->text.s + t->start, "[::-1]", 6) == 0;
}

static void script_args_reverse_last(struct script_reader *r, struct script_args *a)
{
	struct shell_word *w = &a->words[a->count - 1];
	size_t len = w->text.len;
	char *s = shell_copy(r->t.arena, w->text.s, len);
	uint8_t *kind = shell_alloc(r->t.arena, len + 1);

	if (!script_step(r, len / SCRIPT_STEP_BYTES))
		return;
	for (size_t k = 0; k < len; k++) {
		s[k] = w->text.s[len - 1 - k];
		kind[k] = w->kind[len - 1 - k];
	}
	w->text.s = s;
	w->kind = kind;
}

/* ---- variables ---- */

static const struct script_variable *script_args_named(const struct script_reader *r,
						       const char *name, size_t len)
{
	for (size_t k = r->variable_count; k-- > 0;)
		if (r->variables[k].len == len &&
		    memcmp(r->t.text->text.s + r->variables[k].start, name, len) == 0)
			return &r->variables[k];
	return NULL;
}

static const struct script_variable *script_args_find(const struct script_reader *r, size_t i)
{
	const struct script_token *t = i < r->t.count ? &r->t.tokens[i] : NULL;

	return t ? script_args_named(r, r->t.text->text.s + t->start, t->end - t->start) : NULL;
}

const struct shell_word *script_variable_at(const struct script_reader *r, size_t i)
{
	const struct script_variable *v = script_args_find(r, i);

	return v && !v->may_be_empty ? &v->value : NULL;
}

/* The string or the variable at token @i; NULL: there is none. */
static const struct shell_word *script_args_value(const struct script_reader *r, size_t i)
{
	const struct shell_word *text = script_string(&r->t, i);

	return text ? text : script_variable_at(r, i);
}

const struct script_variable *script_variable_of(const struct script_reader *r,
						 const struct shell_word *word)
{
	for (size_t k = r->variable_count; k-- > 0;)
		if (r->variables[k].value.text.s == word->text.s)
			return &r->variables[k];
	return NULL;
}

/* "rm -rf $x", "rm -rf #{x}" and f"rm -rf {x}": *@word with @value for the variable @v. Most words
 * do not speak of it, so it is searched for its name first. */
static void script_args_replace(struct script_reader *r, const struct script_variable *v,
				const struct shell_word *value, struct shell_word *word)
{
	static const char *const forms[][2] = {
		{ "$", "" }, { "#{", "}" }, { "${", "}" }, { "{", "}" }
	};
	const char *name = r->t.text->text.s + v->start;
	char *old;

	if (!action_charge(r->out, WORK_SEARCH + word->text.len / 4) ||
	    !memmem(word->text.s, word->text.len, name, v->len))
		return;
	old = shell_alloc(r->t.arena, v->len + 4);
	for (size_t k = 0; k < COUNT_OF(forms) &&
			   script_step(r, 1 + word->text.len / SCRIPT_STEP_BYTES); k++) {
		char *end = stpcpy(old, forms[k][0]);

		memcpy(end, name, v->len);
		strcpy(end + v->len, forms[k][1]);
		if (strstr(word->text.s, old))
			*word = word_replace(word, old, strlen(old), value, r->out->budget,
					     r->t.arena);
	}
}

struct shell_word script_with_variables(struct script_reader *r, const struct shell_word *word)
{
	struct shell_word out = *word;

	for (size_t v = 0; v < r->variable_count; v++)
		if (!r->variables[v].may_be_empty)
			script_args_replace(r, &r->variables[v], &r->variables[v].value, &out);
	return out;
}

/* @word for each item of the list @v; *@values is NULL if it does not speak of it. */
static size_t script_args_each_item(struct script_reader *r, const struct script_variable *v,
				    const struct shell_word *word, struct shell_word **values)
{
	struct shell_word *items, one = *word;
	size_t n;

	*values = NULL;
	script_args_replace(r, v, &v->value, &one);
	if (one.text.s == word->text.s)
		return 0;
	n = word_items(&v->value, false, r->out->budget, r->t.arena, &items);
	for (size_t i = 0; i < n; i++) {
		one = *word;
		script_args_replace(r, v, &items[i], &one);
		items[i] = script_with_variables(r, &one);
	}
	*values = items;
	return n;
}

size_t script_values(struct script_reader *r, const struct shell_word *word,
		     struct shell_word **values)
{
	size_t n = 0;

	*values = NULL;
	if (!strpbrk(word->text.s, "{$")) {
		*values = shell_alloc(r->t.arena, sizeof(**values));
		**values = *word;
		return 1;
	}
	for (size_t v = 0; v < r->variable_count && !*values; v++)
		if (r->variables[v].is_list)
			n = script_args_each_item(r, &r->variables[v], word, values);
	if (*values)
		return n;
	*values = shell_alloc(r->t.arena, sizeof(**values));
	**values = script_with_variables(r, word);
	return 1;
}

/* qw(a b) of Perl, %w[a b] of Ruby */
static bool script_args_is_words(const struct script_reader *r, size_t i)
{
	const char *s = r->t.text->text.s + r->t.tokens[i].start;

	return script_string(&r->t, i) && (*s == 'q' || *s == '%') && (s[1] == 'w' || s[1] == 'W');
}

/*
 * "a", "a" + "b", "a"."b", ["a", "b"], qw(a b) from token @i on, as one text; *@is_list: it is one
 * of the last two, and each of its words is one of the list.
 */
static bool script_args_constant(struct script_reader *r, size_t i, struct shell_word *out,
				 bool *is_list)
{
	bool list = script_is_char(&r->t, i, '[') || script_is_char(&r->t, i, '(');
	const struct shell_word *next;

	i += list;
	next = script_string(&r->t, i);
	if (!next)
		return false;
	*out = *next;
	*is_list = script_args_is_words(r, i) || (list && !strchr(out->text.s, ' '));
	for (size_t n = 0; n < CONSTANT_PIECES_MAX && (next = script_string(&r->t, i + 2));
	     n++, i += 2) {
		bool comma = list && script_is_char(&r->t, i + 1, ',');
		struct shell_word two[2] = { *out, *next };

		if (!(comma || script_is_char(&r->t, i + 1, '+') ||
		      script_is_char(&r->t, i + 1, '.')) ||
		    !script_step(r, (two[0].text.len + two[1].text.len) / SCRIPT_STEP_BYTES))
			break;
		*is_list &= script_args_is_words(r, i + 2) || !strchr(two[1].text.s, ' ');
		*out = comma ? word_join(two, 2, r->t.arena)
			     : word_concat(&two[0], &two[1], r->t.arena);
	}
	return true;
}

/* The call .expanduser() at token *@i, if it is there, of the path @out. *@i: behind it. */
static void script_args_expand_user(struct script_reader *r, size_t *i, struct shell_word *out)
{
	struct shell_word home, rest;

	if (!script_is_char(&r->t, *i, '.') || !script_token_in(&r->t, *i + 1, " expanduser ") ||
	    !script_is_char(&r->t, *i + 2, '(') || !script_is_char(&r->t, *i + 3, ')') ||
	    out->text.s[0] != '~')
		return;
	home = script_args_char(r, '~', SHELL_TILDE, *i);
	rest = word_slice(out, 1, out->text.len, r->t.arena);
	*out = word_concat(&home, &rest, r->t.arena);
	*i += 4;
}

/* The start of a path: Path("/etc"), Path.home(), Path("~").expanduser(), or a variable before a
 * slash. *@i: behind it. */
static bool script_args_path_start(struct script_reader *r, size_t *i, struct shell_word *out)
{
	size_t k = *i + (script_token_in(&r->t, *i, " pathlib ") ? 2 : 0);
	const struct shell_word *value;

	if (script_token_in(&r->t, k, " Path PosixPath PurePath ")) {
		bool home = script_is_char(&r->t, k + 1, '.') &&
			    script_token_in(&r->t, k + 2, " home ");
		size_t open = home ? k + 3 : k + 1, close = home ? open + 1 : open + 2;

		value = script_string(&r->t, open + 1);
		if (!script_is_char(&r->t, open, '(') || !script_is_char(&r->t, close, ')') ||
		    (!home && !value))
			return false;
		*out = home ? script_args_char(r, '~', SHELL_TILDE, k) : *value;
		*i = close + 1;
		script_args_expand_user(r, i, out);
		return true;
	}
	value = script_variable_at(r, k);
	if (!value || !script_is_char(&r->t, k + 1, '/'))
		return false;
	*out = *value;
	*i = k + 1;
	return true;
}

/* Path("/usr") / "lib" from token @i on: a path, if all of it is known. */
static bool script_args_path(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *part;

	if (!script_args_path_start(r, &i, out))
		return false;
	for (; script_is_char(&r->t, i, '/'); i += 2) {
		part = script_string(&r->t, i + 1);
		if (!part || !script_step(r, 1 + out->text.len / SCRIPT_STEP_BYTES))
			return false;
		*out = word_path(out, part, r->t.arena);
	}
	return !script_is_char(&r->t, i, '.');
}

/* ---- loops ---- */

/* Path("/").iterdir(), or root.iterdir() of a variable, from token @i on, as a glob. */
static bool script_args_iterdir(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *root = script_variable_at(r, i);
	struct shell_word path;

	if (root)
		i++;
	else if (script_args_path_start(r, &i, &path))
		root = &path;
	if (!root || !script_is_char(&r->t, i, '.') || !script_token_in(&r->t, i + 1, " iterdir "))
		return false;
	*out = word_below(root, r->t.arena);
	return true;
}

/* glob("/ *"), listdir("/") and Path("/").iterdir() from token @i on, as a glob. */
static bool script_args_listing(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *argument;
	bool globs;

	while (script_token_in(&r->t, i, " sorted list ") && script_is_char(&r->t, i + 1, '('))
		i += 2;
	if (script_token_in(&r->t, i, " glob os fs ") && script_is_char(&r->t, i + 1, '.'))
		i += 2;
	globs = script_token_in(&r->t, i, " glob iglob globSync ");
	if (!globs && !script_token_in(&r->t, i, " listdir readdirSync "))
		return script_args_iterdir(r, i, out);
	if (!script_is_char(&r->t, i + 1, '(') || !script_is_char(&r->t, i + 3, ')'))
		return false;
	argument = script_args_value(r, i + 2);
	if (!argument)
		return false;
	*out = globs ? *argument : script_args_char(r, '*', SHELL_LITERAL, i);
	return globs || argument->text.s[0] == '/' || word_is(argument, "~");
}

/* Is token @i the NAME of a block of Ruby, { |NAME|? */
static bool script_args_is_block(const struct script_reader *r, size_t i)
{
	return i > 5 && script_is_char(&r->t, i - 1, '|') &&
	       (script_is_char(&r->t, i - 2, '{') || script_token_in(&r->t, i - 2, " do "));
}

/* Is token @i the NAME of foreach (LIST as $NAME)? */
static bool script_args_is_foreach(const struct script_reader *r, size_t i)
{
	return i > 5 && script_is_char(&r->t, i - 1, '$') && script_token_in(&r->t, i - 2, " as ");
}

/* Dir["/ *"].each { |NAME|, Dir.children("/").each { |NAME|, foreach (scandir("/") as $NAME): as a
 * glob. */
static bool script_args_each(struct script_reader *r, size_t i, struct shell_word *out)
{
	bool foreach = script_args_is_foreach(r, i);
	size_t list = foreach ? i - 6 : i - 8;
	const struct shell_word *named;
	bool globs;

	if (!foreach &&
	    !(i > 7 && script_args_is_block(r, i) && script_is_char(&r->t, i + 1, '|') &&
	      script_token_in(&r->t, i - 3, " each ") && script_is_char(&r->t, i - 4, '.')))
		return false;
	globs = script_token_in(&r->t, list, " Dir glob ");
	named = script_string(&r->t, list + 2);
	if (!named || !(globs || script_token_in(&r->t, list, " children entries scandir ")))
		return false;
	*out = globs ? *named : script_args_char(r, '*', SHELL_LITERAL, list);
	return globs || named->text.s[0] == '/';
}

/*
 * ["a", "b"].forEach(NAME =>, list.map((NAME) =>, list.each { |NAME|, foreach (["a"] as $NAME) and
 * foreach my $NAME ("a") with NAME at token @i: the token that begins the list; r->t.count: it is
 * none.
 */
static size_t script_args_receiver(const struct script_reader *r, size_t i)
{
	size_t least = i > EXPRESSION_MAX ? i - EXPRESSION_MAX : 0;
	bool foreach = script_args_is_foreach(r, i);

	if (i > 1 && script_is_char(&r->t, i - 1, '$') && script_is_char(&r->t, i + 1, '(') &&
	    script_token_in(&r->t, i - 2, " my foreach "))
		return i + 1;
	if (script_args_is_block(r, i))
		i -= 2;
	else if (i > 5 && script_is_char(&r->t, i - 1, '('))
		i -= 1 + script_is_char(&r->t, i - 2, '(');
	else if (!foreach)
		return r->t.count;
	if (!foreach &&
	    !(script_token_in(&r->t, i - 1, " forEach map each ") &&
	      script_is_char(&r->t, i - 2, '.')))
		return r->t.count;
	i -= 3;
	if (script_args_is_words(r, i))
		return i;
	while (i > least && !script_is_char(&r->t, i, '[') && r->t.tokens[i].kind != TOKEN_NAME)
		i--;
	return i;
}

/* The list whose items NAME at token @i gets: of for NAME in LIST, or of its receiver. */
static bool script_args_items(struct script_reader *r, size_t i, bool loop,
			      struct shell_word *out)
{
	size_t at = loop ? i + 2 : script_args_receiver(r, i);
	const struct script_variable *list = script_args_find(r, at);
	bool is_list = list && list->is_list;

	if (is_list)
		*out = list->value;
	else if (!loop && at < r->t.count)
		return script_args_constant(r, at, out, &is_list) && is_list;
	return is_list;
}

/* os.path.expanduser("~"), os.environ["HOME"], os.homedir(), ENV["HOME"] from token @i on. */
static bool script_args_home(struct script_reader *r, size_t i, struct shell_word *out)
{
	static const char modules[] = " os path process env environ ENV Dir require Path ";
	size_t at;
	bool called;

	while (script_step(r, 1) && script_token_in(&r->t, i, " str ") &&
	       script_is_char(&r->t, i + 1, '('))
		i += 2;
	at = i;
	while (script_step(r, 1) &&
	       (script_token_in(&r->t, i, modules) || script_is_char(&r->t, i, '.') ||
		(i > at && script_token_in(&r->t, i - 1, " require ") &&
		 script_is_char(&r->t, i, '(') && script_is_char(&r->t, i + 2, ')'))))
		i += script_is_char(&r->t, i, '(') ? 3 : 1;
	called = script_token_in(&r->t, i, " expanduser getenv ") ||
		 (i > at && script_token_in(&r->t, i, " get "));
	i += called;
	if (script_token_in(&r->t, i, " homedir home HOME "))
		i += script_is_char(&r->t, i + 1, '(') ? 3 : 1;
	else if ((called || (i > at && script_is_char(&r->t, i, '['))) && i + 2 < r->t.count &&
		 script_string_in(&r->t, i + 1, " ~ ~/ HOME "))
		i += 3;
	else
		return false;
	if (script_is_char(&r->t, i, '.') || script_is_char(&r->t, i, '+') ||
	    script_is_char(&r->t, i, '/') || script_is_char(&r->t, i, ','))
		return false;
	*out = script_args_char(r, '~', SHELL_TILDE, at);
	return true;
}

/* Does an expression of the tokens from @from to @end speak of an empty text: get("X", ""),
 * x or "", nil.to_s? */
static bool script_args_says_empty(const struct script_reader *r, size_t from, size_t end)
{
	static const char texts[] = " to_s input gets strip trim argv ARGV ";

	for (; from < end; from++) {
		const struct shell_word *text = script_string(&r->t, from);

		if (text ? !text->text.len : script_token_in(&r->t, from, texts))
			return true;
	}
	return false;
}

/* The end of the expression that begins at token @i, as far as it is looked at. */
static size_t script_args_expression_end(const struct script_reader *r, size_t i)
{
	size_t end = i, most = i + EXPRESSION_MAX;

	most = most < r->t.count ? most : r->t.count;
	for (; end < most && !script_is_char(&r->t, end, ';'); end++)
		if (end > i && script_new_line(&r->t, end))
			break;
	return end;
}

void script_note_variable(struct script_reader *r, size_t i)
{
	bool loop = script_token_in(&r->t, i + 1, " in of ");
	struct script_variable *v = &r->variables[r->variable_count];

	if (r->t.tokens[i].kind != TOKEN_NAME || r->variable_count == SCRIPT_VARIABLES_MAX)
		return;
	*v = (struct script_variable){ .start = r->t.tokens[i].start,
				       .len = r->t.tokens[i].end - r->t.tokens[i].start };
	if (script_args_items(r, i, loop, &v->value)) {
		v->is_list = true;
	} else if (!r->picks && (loop ? script_args_listing(r, i + 2, &v->value)
				      : script_args_each(r, i, &v->value))) {
		v->is_listing = true;
	} else if (!loop && !script_is_char(&r->t, i + 1, '=')) {
		return;
	} else if (!script_args_constant(r, i + 2, &v->value, &v->is_list) &&
		   !script_args_path(r, i + 2, &v->value) &&
		   (loop || !script_args_home(r, i + 2, &v->value))) {
		if (loop || !script_step(r, 1) ||
		    !script_args_says_empty(r, i + 2, script_args_expression_end(r, i + 2)))
			return;
		v->may_be_empty = true;
	}
	r->variable_count++;
}

/* ---- arguments ---- */

static const char homes[] = " HOME home homedir expanduser_home HOMEPATH USERPROFILE ";
static const char silent[] =
	" r b u f rb br String os path Path pathlib join expanduser ENV environ "
	"process env File fs require shell True False true false capture_output "
	"check text stdout stderr PIPE subprocess recursive force ignore_errors "
	"qw q qq m s exit and or not map chr bytes bytearray list decode encode "
	"escapeshellarg escapeshellcmd shlex quote str String strval fromCharCode apply sh";

/* Does token @i join two pieces of an argument: + . or the slash of Path? */
static bool script_args_joins(const struct script_reader *r, size_t i)
{
	return script_is_char(&r->t, i, '+') || script_is_char(&r->t, i, '.') ||
	       (script_is_char(&r->t, i, '/') && i);
}

/* Is token @i part of os.homedir or process.env.HOME, which is no "a" . "b"? */
static bool script_args_is_member(const struct script_reader *r, size_t i)
{
	size_t dot = script_is_char(&r->t, i, '.') ? i : i + 1;

	return dot && script_is_char(&r->t, dot, '.') && script_token_in(&r->t, dot - 1, silent);
}

/* A part of a path that is not known: at its start, some directory. */
static void script_args_append_unknown(struct script_reader *r, struct script_args *a, size_t i,
				       bool join)
{
	if (join && a->count)
		script_args_append_char(r, a, '?', SHELL_UNKNOWN, i, true);
	else
		script_args_append_char(r, a, '.', SHELL_LITERAL, i, join);
}

/* Does @w end in an unknown part that begins a path? */
static bool script_args_ends_unknown(const struct shell_word *w)
{
	size_t i = w->text.len;

	while (i && w->kind[i - 1] == SHELL_UNKNOWN)
		i--;
	return i < w->text.len && (!i || strchr(" '\"", w->text.s[i - 1]));
}

/* The first token of the piece that ends before token @end, as far as it is looked at. */
static size_t script_args_piece_start(const struct script_reader *r, size_t end)
{
	size_t depth = 0, least = end > EXPRESSION_MAX ? end - EXPRESSION_MAX : 0;

	for (; end > least; end--) {
		if (script_is_char(&r->t, end - 1, ')') || script_is_char(&r->t, end - 1, ']'))
			depth++;
		else if (depth && (script_is_char(&r->t, end - 1, '(') ||
				   script_is_char(&r->t, end - 1, '[')))
			depth--;
		else if (!depth && r->t.tokens[end - 1].kind != TOKEN_NAME &&
			 !script_is_char(&r->t, end - 1, '.'))
			break;
	}
	return end;
}

/* May what stands before token @end be empty: x of x = get("X", ""), x.strip()? */
static bool script_args_may_be_empty(const struct script_reader *r, size_t end)
{
	size_t from = script_args_piece_start(r, end);
	const struct script_variable *v = from + 1 == end ? script_args_find(r, from) : NULL;

	return (v && v->may_be_empty) || script_args_says_empty(r, from, end);
}

/*
 * x + "/..." with @piece, "/...", at token @i: unlike in a shell, an x that nothing sets is an
 * error, and no empty text. So the unknown part is there, unless the script says otherwise.
 */
static void script_args_settle_base(struct script_reader *r, struct script_args *a, size_t i,
				    const struct shell_word *piece)
{
	static const struct shell_unknown set = { .is_set = true, .name = "+" };
	struct shell_word *last = a->count ? &a->words[a->count - 1] : NULL;
	struct shell_word base;

	if (i < 2 || !script_is_char(&r->t, i - 1, '+') ||
	    piece->text.s[0] != '/' || (last && !script_args_ends_unknown(last)) ||
	    !script_step(r, 1 + (last ? last->text.len : 0) / SCRIPT_STEP_BYTES) ||
	    script_args_may_be_empty(r, i - 1))
		return;
	base = script_args_char(r, '?', SHELL_UNKNOWN, i);
	base.unknowns = &set;
	base.unknown_count = 1;
	if (last)
		*last = word_slice(last, 0, last->text.len - 1, r->t.arena);
	script_args_append(r, a, &base, true);
}

/* {x} for the name x at token @i, as in f"{x}". */
static struct shell_word script_args_hole(struct script_reader *r, size_t i)
{
	const struct script_token *t = &r->t.tokens[i];
	char *text = shell_alloc(r->t.arena, t->end - t->start + 3);

	sprintf(text, "{%.*s}", (int)(t->end - t->start), r->t.text->text.s + t->start);
	return word_fixed(text, SHELL_LITERAL, r->t.text, r->t.arena);
}

/* A name among the arguments: a variable with a constant, a home, or unknown. One of a list stays a
 * name, for script_values(). */
static void script_args_take_name(struct script_reader *r, struct script_args *a, size_t i,
				  bool join)
{
	const struct shell_word *value = script_variable_at(r, i);
	const struct script_token *t = &r->t.tokens[i];
	struct shell_word piece;

	if (script_string(&r->t, i + 1) && t[1].start == t->end) /* f"..." */
		return;
	if (value && join && a->count && script_variable_of(r, value)->is_list) {
		piece = script_args_hole(r, i);
		script_args_append(r, a, &piece, true);
	} else if (value) {
		if (join)
			script_args_settle_base(r, a, i, value);
		script_args_append(r, a, value, join);
	} else if (script_token_in(&r->t, i, homes)) {
		script_args_append_char(r, a, '~', SHELL_TILDE, i, join);
	} else if (!script_token_in(&r->t, i, silent) &&
		   !strchr("0123456789", r->t.text->text.s[t->start]) && join && a->count) {
		script_args_append_char(r, a, '?', SHELL_UNKNOWN, i, true);
	}
}

/* ---- paths ---- */

/* path.join(a, "b"): its parts are one word. */
static void script_args_note_path(struct script_reader *r, struct script_args *a, size_t i,
				  size_t depth, bool join)
{
	bool module = script_string_in(&r->t, i - 3, " path ") && /* require("path") */
		      script_is_char(&r->t, i - 2, ')');

	if (!script_token_in(&r->t, i, " join resolve ") ||
	    !script_is_char(&r->t, i - 1, '.') || !script_is_char(&r->t, i + 1, '(') ||
	    !(module || script_token_in(&r->t, i - 2, " path File posix posixpath ")))
		return;
	a->path_depth = depth + 1;
	a->path_word = join && a->count ? a->count - 1 : a->count;
}

/* The comma at token @i inside path.join(...). True: the next part continues the word. */
static bool script_args_take_path_comma(struct script_reader *r, struct script_args *a, size_t i)
{
	const struct shell_word *next = script_string(&r->t, i + 1);
	bool empty = a->count == a->path_word;

	if (next && next->text.s[0] == '/')
		return false; /* os.path.join("a", "/etc") is /etc */
	if (empty && !next) /* nothing of it is known yet */
		return false;
	if (empty)
		script_args_append_unknown(r, a, i, false);
	script_args_append_char(r, a, '/', SHELL_LITERAL, i, true);
	return true;
}

/* Bytes [from, to) of a template: what stands in ${...}. */
static bool script_args_names_home(const struct shell_word *w, size_t from, size_t to)
{
	const char *s = w->text.s;
	size_t start;

	while (to > from && strchr("() ]\"'", s[to - 1]))
		to--;
	for (start = to; start > from && !strchr(". [\"'({", s[start - 1]);)
		start--;
	return list_has(homes, s + start, to - start);
}

/* What stands in ${...} of the template at token @i, from byte @from to @end. One of a list stays a
 * name, for script_values(). */
static void script_args_take_hole(struct script_reader *r, struct script_args *a, size_t i,
				  size_t from, size_t end, bool join)
{
	const struct shell_word *w = &r->t.tokens[i].string;
	const struct script_variable *v = script_args_named(r, w->text.s + from + 2,
							    end - from - 2);
	struct shell_word name;

	if (v && v->is_list) {
		name = word_slice(w, from + 1, end + 1, r->t.arena);
		script_args_append(r, a, &name, join);
	} else if (v && !v->may_be_empty) {
		script_args_append(r, a, &v->value, join);
	} else if (script_args_names_home(w, from + 2, end)) {
		script_args_append_char(r, a, '~', SHELL_TILDE, i, join);
	} else {
		script_args_append_unknown(r, a, i, join);
	}
}

/* `${os.homedir()}/x` of JavaScript */
static void script_args_take_template(struct script_reader *r, struct script_args *a, size_t i,
				      bool join)
{
	const struct shell_word *w = &r->t.tokens[i].string;
	size_t at = 0;

	for (const char *s = w->text.s, *open, *end;
	     script_step(r, 1 + w->text.len / SCRIPT_STEP_BYTES) &&
	     (open = strstr(s + at, "${")) != NULL;) {
		size_t from = (size_t)(open - s);
		struct shell_word text = word_slice(w, at, from, r->t.arena);

		end = strchr(open, '}');
		if (!end)
			break;
		if (text.text.len)
			script_args_append(r, a, &text, join);
		join |= text.text.len > 0;
		at = (size_t)(end - s) + 1;
		script_args_take_hole(r, a, i, from, at - 1, join);
		join = true;
	}
	if (at && at < w->text.len) {
		struct shell_word text = word_slice(w, at, w->text.len, r->t.arena);

		script_args_append(r, a, &text, join);
	}
}

static void script_args_take_string(struct script_reader *r, struct script_args *a, size_t i,
				    bool join)
{
	const struct shell_word *text = script_string(&r->t, i);

	if (text && join)
		script_args_settle_base(r, a, i, text);
	if (!text)
		script_args_take_template(r, a, i, join);
	else if (script_string_in(&r->t, i, " HOME USERPROFILE "))
		script_args_append_char(r, a, '~', SHELL_TILDE, i, join); /* process.env["HOME"] */
	else
		script_args_append(r, a, text, join);
}

/* The last token of require("os"). at token @i; 0: it is none. */
static size_t script_args_module_end(const struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, " require ") || !script_is_char(&r->t, i + 1, '(') ||
	    !script_is_char(&r->t, i + 3, ')') || !script_string(&r->t, i + 2))
		return 0;
	return i + 3 + script_is_char(&r->t, i + 4, '.');
}

/* Functions that return their argument, up to quotes. */
static const char quoters[] = " escapeshellarg escapeshellcmd quote str String strval ";

/* cwd="/x" of Python and {cwd: "/x"} of Node at token @i: where the program runs. */
static bool script_args_take_directory(struct script_reader *r, struct script_args *a, size_t i)
{
	if (!script_token_in(&r->t, i, " cwd ") ||
	    !(script_is_char(&r->t, i + 1, '=') || script_is_char(&r->t, i + 1, ':')))
		return false;
	a->directory = script_args_value(r, i + 2);
	return a->directory != NULL;
}

/*
 * require("x"), chr(47), cwd="/x", a comma, .reverse or .format at token *@i. True: it was one,
 * and *@i is its last token.
 */
static bool script_args_take_special(struct script_reader *r, struct script_args *a, size_t *i,
				     size_t depth, bool *join)
{
	char code = script_args_char_call(r, *i);
	size_t module = script_args_module_end(r, *i);

	if (module) {
		*i = module;
		return true;
	}
	if (script_args_take_directory(r, a, *i)) {
		*i += 2;
		*join = false;
		return true;
	}
	if (code) {
		script_args_append_char(r, a, code, SHELL_LITERAL, *i, *join);
		*join = script_args_joins(r, *i + 4);
		*i += 3;
		return true;
	}
	if (script_is_char(&r->t, *i, ',')) {
		*join = a->path_depth && a->path_depth == depth &&
			script_args_take_path_comma(r, a, *i);
		a->format &= depth > 1;
		return true;
	}
	if (!a->count || !script_is_char(&r->t, *i, '.'))
		return false;
	if (script_token_in(&r->t, *i + 1, " reverse ")) {
		script_args_reverse_last(r, a);
		*join = false;
	} else if (script_token_in(&r->t, *i + 1, " format ")) {
		a->format = true;
	} else {
		return false;
	}
	++*i;
	return true;
}

/* The slash of Path("/usr") / "lib" and of a known name behind the last argument. */
static bool script_args_is_slash(const struct script_reader *r, const struct script_args *a,
				 size_t i)
{
	if (!script_is_char(&r->t, i, '/') || !a->count || !i)
		return false;
	if (r->t.tokens[i - 1].kind == TOKEN_NAME)
		return script_variable_at(r, i - 1) != NULL;
	return script_string(&r->t, i - 1) ||
	       (script_is_char(&r->t, i - 1, ')') &&
		(script_string(&r->t, i - 2) ||
		 (script_is_char(&r->t, i - 2, '(') && script_token_in(&r->t, i - 3, homes))));
}

/* Is the next token a piece of the same argument? @c: the character at token @i, or 0. */
static bool script_args_goes_on(const struct script_reader *r, size_t i, char c, bool join)
{
	if (script_args_is_member(r, i))
		return join;
	return script_args_joins(r, i) || (join && c && strchr("([{$@", c)) ||
	       (join && script_is_char(&r->t, i + 1, '(') && script_token_in(&r->t, i, quoters)) ||
	       (script_string(&r->t, i) && script_string(&r->t, i + 1));
}

void script_read_args(struct script_reader *r, size_t i, struct script_args *a)
{
	size_t depth = 0, behind;
	struct shell_word codes;
	bool join = false;

	memset(a, 0, sizeof(*a));
	for (size_t last = i + ARGUMENT_TOKENS_MAX; i < r->t.count && i < last && script_step(r, 1);
	     i++) {
		const struct script_token *t = &r->t.tokens[i];
		char c = t->kind == TOKEN_OTHER ? r->t.text->text.s[t->start] : 0;

		if (script_args_take_special(r, a, &i, depth, &join))
			continue;
		if (script_args_is_slash(r, a, i))
			script_args_append_char(r, a, '/', SHELL_LITERAL, i, true);
		if (r->codes && t->kind == TOKEN_NAME &&
		    strchr("0123456789", r->t.text->text.s[t->start]) && script_step(r, 8) &&
		    script_args_char_list(r, i, &codes, &behind)) {
			script_args_append(r, a, &codes, join);
			i = behind - 1;
		} else if (c == '[' && a->count && script_args_is_reversed(r, i)) {
			script_args_reverse_last(r, a);
			i += 5;
		} else if (c == '(' || c == '[' || c == '{') {
			depth++;
		} else if (c == ')' || c == ']' || c == '}') {
			if (depth <= 1)
				break;
			if (depth == a->path_depth)
				a->path_depth = 0;
			depth--;
		} else if ((c == ';' || c == '|' || c == '&') && !depth) {
			break;
		} else if (c == '%' && script_string(&r->t, i - 1)) {
			a->format = true;
		} else if (t->kind == TOKEN_STRING || t->kind == TOKEN_RUN) {
			script_args_take_string(r, a, i, join);
		} else if (t->kind == TOKEN_NAME) {
			script_args_note_path(r, a, i, depth, join);
			script_args_take_name(r, a, i, join);
		}
		join = script_args_goes_on(r, i, c, join);
	}
	a->end = i;
}
