#include "blocklist/effects/script_vars.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/script_loops.h"

#define CONSTANT_PIECES_MAX 64
/* A text or list of more bytes is a document, and no command that grows. */
#define GROWN_MAX 512
/* Steps of the budget for each step here. */
#define WORK_STEP 15u
/* Steps to search a word for a name, besides those for its bytes. */
#define WORK_SEARCH 6u
/* Steps to look at a token. */
#define WORK_LOOK 3u

bool script_step(struct script_reader *r, size_t steps)
{
	return action_charge(r->out, WORK_STEP * (uint64_t)steps);
}

struct shell_word script_char(struct script_reader *r, char c, uint8_t kind, size_t i)
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

/* ---- what they are ---- */

const struct script_variable *script_named_variable(const struct script_reader *r, const char *name,
						    size_t len)
{
	for (size_t k = r->variable_count; k-- > 0;)
		if (r->variables[k].len == len &&
		    memcmp(r->t.text->text.s + r->variables[k].start, name, len) == 0)
			return &r->variables[k];
	return NULL;
}

const struct script_variable *script_find_variable(const struct script_reader *r, size_t i)
{
	const struct script_token *t = i < r->t.count ? &r->t.tokens[i] : NULL;

	return t ? script_named_variable(r, r->t.text->text.s + t->start, t->end - t->start) : NULL;
}

const struct shell_word *script_variable_at(const struct script_reader *r, size_t i)
{
	const struct script_variable *v = script_find_variable(r, i);

	return v && !v->may_be_empty ? &v->value : NULL;
}

const struct shell_word *script_value_at(const struct script_reader *r, size_t i)
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
static void script_vars_replace(struct script_reader *r, const struct script_variable *v,
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
			script_vars_replace(r, &r->variables[v], &r->variables[v].value, &out);
	return out;
}

/* @word for each item of the list @v; *@values is NULL if it does not speak of it. */
static size_t script_vars_each_item(struct script_reader *r, const struct script_variable *v,
				    const struct shell_word *word, struct shell_word **values)
{
	struct shell_word *items, one = *word;
	size_t n;

	*values = NULL;
	script_vars_replace(r, v, &v->value, &one);
	if (one.text.s == word->text.s)
		return 0;
	n = word_items(&v->value, false, r->out->budget, r->t.arena, &items);
	for (size_t i = 0; i < n; i++) {
		one = *word;
		script_vars_replace(r, v, &items[i], &one);
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
			n = script_vars_each_item(r, &r->variables[v], word, values);
	if (*values)
		return n;
	*values = shell_alloc(r->t.arena, sizeof(**values));
	**values = script_with_variables(r, word);
	return 1;
}

/* qw(a b) of Perl, %w[a b] of Ruby */
static bool script_vars_is_words(const struct script_reader *r, size_t i)
{
	const char *s = r->t.text->text.s + r->t.tokens[i].start;

	return script_string(&r->t, i) && (*s == 'q' || *s == '%') && (s[1] == 'w' || s[1] == 'W');
}

/* The string at token @i, or the value of a name before or behind a +. */
static const struct shell_word *script_vars_piece(const struct script_reader *r, size_t i)
{
	const struct shell_word *text = script_string(&r->t, i);

	if (text || !(script_is_char(&r->t, i - 1, '+') || script_is_char(&r->t, i + 1, '+')) ||
	    script_is_char(&r->t, i + 2, '='))
		return text;
	return script_variable_at(r, i);
}

/* The last token of x, x.y, f(x)[0] and (x or y) from token @i on; 0: it is none of these. */
static size_t script_vars_unknown_end(const struct script_reader *r, size_t i)
{
	size_t depth = 0;

	if (script_is_char(&r->t, i, '('))
		i--;
	else if (i >= r->t.count || r->t.tokens[i].kind != TOKEN_NAME ||
		 strchr("0123456789", r->t.text->text.s[r->t.tokens[i].start]))
		return 0;
	for (size_t most = i + SCRIPT_EXPRESSION_MAX; i + 1 < r->t.count && i < most; i++) {
		bool opens = script_is_char(&r->t, i + 1, '(') || script_is_char(&r->t, i + 1, '[');

		if (!depth && !opens && !script_is_char(&r->t, i + 1, '.') &&
		    !script_is_char(&r->t, i, '.'))
			break;
		depth += opens;
		depth -= depth && (script_is_char(&r->t, i + 1, ')') ||
				   script_is_char(&r->t, i + 1, ']'));
	}
	return i;
}

/* What the tokens from @from to @end give, behind @before. As the start of a path it is there,
 * unless the script says otherwise: what nothing sets is an error, and no empty text. */
static struct shell_word script_vars_unknown(struct script_reader *r, size_t from, size_t end,
					     const struct shell_word *before)
{
	static const struct shell_unknown set = { .is_set = true, .name = "+" };
	const struct script_variable *v = from == end ? script_find_variable(r, from) : NULL;
	struct shell_word unknown = script_char(r, '?', SHELL_UNKNOWN, from);
	size_t len = before->text.len;

	if (len && !strchr(" '\"=", before->text.s[len - 1]))
		return unknown;
	if ((v && v->may_be_empty) || script_says_empty(r, from, end + 1))
		return unknown;
	unknown.unknowns = &set;
	unknown.unknown_count = 1;
	return unknown;
}

/* Is the item at token @i a list: a known one, or qw(a b)? */
static bool script_vars_is_list(const struct script_reader *r, size_t i)
{
	const struct script_variable *v = script_find_variable(r, i);

	return script_vars_is_words(r, i) || (v && v->is_list);
}

/* The brackets and the + or comma behind the piece at token @i of a list: ["a", "b"] + ["c"]. */
static size_t script_vars_next_item(const struct script_reader *r, size_t i)
{
	size_t k = i + 1;

	k += script_is_char(&r->t, k, ']') && script_is_char(&r->t, k + 1, '+');
	if (!script_is_char(&r->t, k, ',') && !script_is_char(&r->t, k, '+'))
		return 0;
	return k + 1 + script_is_char(&r->t, k + 1, '[');
}

/*
 * "a", "a" + "b", "a"."b", ["a", "b"], ["a"] + ["b"], qw(a b) from token @i on, as one text. A
 * name beside a + may have a known value. *@is_list: it is a list, each of its words one item.
 */
static bool script_vars_constant(struct script_reader *r, size_t i, struct shell_word *out,
				 bool *is_list)
{
	bool list = script_is_char(&r->t, i, '[') || script_is_char(&r->t, i, '(');
	const struct shell_word *next;
	struct shell_word unknown;
	size_t end;

	i += list;
	next = script_vars_piece(r, i);
	if (!next)
		return false;
	*out = *next;
	list |= script_vars_is_list(r, i);
	*is_list = script_vars_is_list(r, i) || (list && !strchr(out->text.s, ' '));
	for (size_t n = 0; n < CONSTANT_PIECES_MAX; n++) {
		size_t at = list ? script_vars_next_item(r, i) : i + 2;
		struct shell_word two[2] = { *out };

		next = at ? script_vars_piece(r, at) : NULL;
		end = at;
		if (!next && !list && script_is_char(&r->t, at - 1, '+') &&
		    (end = script_vars_unknown_end(r, at)) != 0) {
			unknown = script_vars_unknown(r, at, end, out);
			next = &unknown;
		}
		if (!next ||
		    !(list || script_is_char(&r->t, at - 1, '+') ||
		      script_is_char(&r->t, at - 1, '.')) ||
		    !script_step(r, (out->text.len + next->text.len) / SCRIPT_STEP_BYTES))
			break;
		i = end;
		two[1] = *next;
		*is_list &= script_vars_is_list(r, at) || !strchr(two[1].text.s, ' ');
		*out = list ? word_join(two, 2, r->t.arena)
			    : word_concat(&two[0], &two[1], r->t.arena);
	}
	return true;
}

/*
 * The item of a list at token *@i as a line of shell text: "ls -l" as it is, and of ["ls", "-l"]
 * each string in quotes. *@i: behind it. False: it is neither.
 */
static bool script_vars_line(struct script_reader *r, size_t *i, struct shell_word *out)
{
	struct shell_word words[CONSTANT_PIECES_MAX];
	bool list = script_is_char(&r->t, *i, '[') || script_is_char(&r->t, *i, '(');
	const struct shell_word *next;
	size_t n = 0;

	*i += list;
	while (n < CONSTANT_PIECES_MAX && (next = script_string(&r->t, *i)) != NULL) {
		words[n++] = *next;
		++*i;
		if (!list)
			break;
		*i += script_is_char(&r->t, *i, ',');
	}
	if (list && n)
		*out = word_quote(words, n, r->out->budget, r->t.arena);
	else if (n)
		*out = words[0];
	*i += list && script_is_char(&r->t, *i, ']');
	*i += list && script_is_char(&r->t, *i, ')');
	return n > 0;
}

/* ["a b", "c"] or [["a", "b"], ["c"]] from token @i on, a line for each; empty if it is neither, or
 * a list of a single string, unless @one. */
static struct shell_word script_vars_lines(struct script_reader *r, size_t i, bool one)
{
	struct shell_word parts[3] = { { .text = { .s = "" } } };
	bool several;

	if (!script_is_char(&r->t, i, '[') && !script_is_char(&r->t, i, '('))
		return parts[0];
	several = one || script_is_char(&r->t, i + 1, '[') || script_is_char(&r->t, i + 1, '(');
	i++;
	for (size_t n = 0; n < CONSTANT_PIECES_MAX && script_vars_line(r, &i, &parts[2]); n++) {
		if (!script_step(r, 1 + parts[0].text.len / SCRIPT_STEP_BYTES))
			break;
		parts[1] = script_char(r, '\n', SHELL_LITERAL, i);
		several |= n > 0;
		parts[0] = n ? word_concat_all(parts, COUNT_OF(parts), r->t.arena) : parts[2];
		if (!script_is_char(&r->t, i++, ','))
			break;
	}
	return several ? parts[0] : (struct shell_word){ .text = { .s = "" } };
}

/* The call .expanduser() at token *@i, if it is there, of the path @out. *@i: behind it. */
static void script_vars_expand_user(struct script_reader *r, size_t *i, struct shell_word *out)
{
	struct shell_word home, rest;

	if (!script_is_char(&r->t, *i, '.') || !script_token_in(&r->t, *i + 1, " expanduser ") ||
	    !script_is_char(&r->t, *i + 2, '(') || !script_is_char(&r->t, *i + 3, ')') ||
	    out->text.s[0] != '~')
		return;
	home = script_char(r, '~', SHELL_TILDE, *i);
	rest = word_slice(out, 1, out->text.len, r->t.arena);
	*out = word_concat(&home, &rest, r->t.arena);
	*i += 4;
}

/* The start of a path: Path("/etc"), Path.home(), Path("~").expanduser(), or a variable before a
 * slash. *@i: behind it. */
static bool script_vars_path_start(struct script_reader *r, size_t *i, struct shell_word *out)
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
		*out = home ? script_char(r, '~', SHELL_TILDE, k) : *value;
		*i = close + 1;
		script_vars_expand_user(r, i, out);
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
static bool script_vars_path(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *part;

	if (!script_vars_path_start(r, &i, out))
		return false;
	for (; script_is_char(&r->t, i, '/'); i += 2) {
		part = script_string(&r->t, i + 1);
		if (!part || !script_step(r, 1 + out->text.len / SCRIPT_STEP_BYTES))
			return false;
		*out = word_path(out, part, r->t.arena);
	}
	return !script_is_char(&r->t, i, '.');
}

/* os.path.join("/", "etc"), path.join(root, "lib") and path.resolve("/") from token @i on: a path,
 * if all of it is known. */
static bool script_vars_joined(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *part;

	if (script_token_in(&r->t, i, " os ") && script_is_char(&r->t, i + 1, '.'))
		i += 2;
	if (script_is_char(&r->t, i + 1, '.'))
		i += 2;
	if (!script_joins_path(&r->t, i))
		return false;
	for (i += 2; (part = script_value_at(r, i)) != NULL &&
		     script_step(r, 1 + part->text.len / SCRIPT_STEP_BYTES); i += 2) {
		bool first = !script_is_char(&r->t, i - 1, ',');

		*out = first || part->text.s[0] == '/' ? *part
						       : word_path(out, part, r->t.arena);
		if (!script_is_char(&r->t, i + 1, ','))
			return script_is_char(&r->t, i + 1, ')') &&
			       !script_is_char(&r->t, i + 2, '.');
	}
	return false;
}

/* ---- loops ---- */

/* The value at token @i; of x = "/etc"; [f(x, y) for y in listdir(x)], where the loop is read
 * before the rest, what x is set to before the loop. */
static const struct shell_word *script_vars_set_before(struct script_reader *r, size_t i)
{
	const struct shell_word *value = script_value_at(r, i);

	if (value || !r->ahead || i >= r->t.count || r->t.tokens[i].kind != TOKEN_NAME)
		return value;
	for (size_t k = i; k-- > 1 && action_charge(r->out, WORK_LOOK);)
		if (script_is_char(&r->t, k + 1, '=') && script_same_text(&r->t, k, i)) {
			script_note_variable(r, k);
			return script_variable_at(r, i);
		}
	return NULL;
}

/* .iterdir(), .glob("*") and .rglob("*") at token @i: all that is there. */
static bool script_vars_lists_all(const struct script_reader *r, size_t i)
{
	const struct shell_word *pattern = script_string(&r->t, i + 3);

	if (!script_is_char(&r->t, i, '.'))
		return false;
	return script_token_in(&r->t, i + 1, " iterdir ") ||
	       (script_token_in(&r->t, i + 1, " glob rglob ") && pattern &&
		pattern->text.s[strspn(pattern->text.s, "*/")] == '\0');
}

/* Path("/").iterdir(), or root.iterdir() of a variable, from token @i on, as a glob. */
static bool script_vars_iterdir(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *root = NULL;
	struct shell_word path;

	if (script_vars_lists_all(r, i + 1))
		root = script_vars_set_before(r, i++);
	else if (script_vars_path_start(r, &i, &path))
		root = &path;
	if (!root || !script_vars_lists_all(r, i))
		return false;
	*out = word_below(root, r->t.arena);
	return true;
}

/* glob("/ *"), listdir("/") and Path("/").iterdir() from token @i on, as a glob. */
static bool script_vars_listing(struct script_reader *r, size_t i, struct shell_word *out)
{
	const struct shell_word *argument;
	bool globs;

	while (script_token_in(&r->t, i, " sorted list ") && script_is_char(&r->t, i + 1, '('))
		i += 2;
	if (script_token_in(&r->t, i, " glob os fs ") && script_is_char(&r->t, i + 1, '.'))
		i += 2;
	globs = script_token_in(&r->t, i, " glob iglob globSync ");
	if (!globs && !script_token_in(&r->t, i, " listdir readdirSync "))
		return script_vars_iterdir(r, i, out);
	if (!script_is_char(&r->t, i + 1, '(') || !script_is_char(&r->t, i + 3, ')'))
		return false;
	argument = script_vars_set_before(r, i + 2);
	if (!argument)
		return false;
	*out = globs ? *argument : script_char(r, '*', SHELL_LITERAL, i);
	return globs || argument->text.s[0] == '/' || word_is(argument, "~");
}

/* Is token @i the NAME of a block of Ruby, { |NAME|? */
static bool script_vars_is_block(const struct script_reader *r, size_t i)
{
	return i > 4 && script_is_char(&r->t, i - 1, '|') &&
	       (script_is_char(&r->t, i - 2, '{') || script_token_in(&r->t, i - 2, " do "));
}

/* Is token @i the NAME of foreach (LIST as $NAME)? */
static bool script_vars_is_foreach(const struct script_reader *r, size_t i)
{
	return i > 5 && script_is_char(&r->t, i - 1, '$') && script_token_in(&r->t, i - 2, " as ");
}

/*
 * ["a", "b"].forEach(NAME =>, list.map((NAME) =>, list.map(function (NAME), list.each { |NAME|,
 * foreach (["a"] as $NAME) and foreach my $NAME ("a") with NAME at token @i: the token that begins
 * the list; r->t.count: it is none.
 */
static size_t script_vars_receiver(const struct script_reader *r, size_t i)
{
	size_t least = i > SCRIPT_EXPRESSION_MAX ? i - SCRIPT_EXPRESSION_MAX : 0;
	bool foreach = script_vars_is_foreach(r, i);

	if (i > 1 && script_is_char(&r->t, i - 1, '$') && script_is_char(&r->t, i + 1, '(') &&
	    script_token_in(&r->t, i - 2, " my foreach "))
		return i + 1;
	if (script_vars_is_block(r, i))
		i -= 2;
	else if (i > 5 && script_is_char(&r->t, i - 1, '('))
		i -= script_token_in(&r->t, i - 2, " function ")
			     ? 3 : 1 + script_is_char(&r->t, i - 2, '(');
	else if (!foreach)
		return r->t.count;
	if (!foreach &&
	    !(script_token_in(&r->t, i - 1, " forEach map each ") &&
	      script_is_char(&r->t, i - 2, '.')))
		return r->t.count;
	i -= 3;
	if (script_vars_is_words(r, i))
		return i;
	while (i > least && !script_is_char(&r->t, i, '[') && r->t.tokens[i].kind != TOKEN_NAME)
		i--;
	return i;
}

/* readdirSync("/").forEach(NAME =>, with NAME at token @i, as a glob. */
static bool script_vars_for_each(struct script_reader *r, size_t i, struct shell_word *out)
{
	size_t at = script_vars_receiver(r, i);

	if (at >= r->t.count)
		return false;
	return script_vars_listing(r, at - (at > 1 && script_is_char(&r->t, at - 1, '(') ? 2 : 0),
				   out);
}

/* Dir["/ *"].each { |NAME|, Dir.children("/").each { |NAME|, Dir.each_child("/") { |NAME|,
 * foreach (scandir("/") as $NAME): as a glob. */
static bool script_vars_each(struct script_reader *r, size_t i, struct shell_word *out)
{
	bool foreach = script_vars_is_foreach(r, i), block = script_vars_is_block(r, i);
	bool each = block && i > 7 && script_token_in(&r->t, i - 3, " each ");
	size_t list = each ? i - 8 : i - 6;
	const struct shell_word *named;
	bool globs;

	if (!foreach && !(block && i > 5 && script_is_char(&r->t, i + 1, '|')))
		return script_vars_for_each(r, i, out);
	globs = script_token_in(&r->t, list, " Dir glob ");
	named = script_string(&r->t, list + 2);
	if (!named || !(globs || script_token_in(&r->t, list, " children entries scandir "
							     "each_child foreach ")))
		return false;
	*out = globs ? *named : script_char(r, '*', SHELL_LITERAL, list);
	return globs || named->text.s[0] == '/';
}

/* The list whose items NAME at token @i gets: of for NAME in LIST, or of its receiver. */
static bool script_vars_items(struct script_reader *r, size_t i, bool loop, struct shell_word *out)
{
	size_t at = loop ? i + 2 : script_vars_receiver(r, i);
	const struct script_variable *list = script_find_variable(r, at);
	bool is_list = list && list->is_list;

	if (is_list)
		*out = list->value;
	else if (!loop && at < r->t.count)
		return script_vars_constant(r, at, out, &is_list) && is_list;
	return is_list;
}

/* os.path.expanduser("~"), os.environ["HOME"], os.homedir(), ENV["HOME"] from token @i on. */
static bool script_vars_home(struct script_reader *r, size_t i, struct shell_word *out)
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
	*out = script_char(r, '~', SHELL_TILDE, at);
	return true;
}

bool script_says_empty(const struct script_reader *r, size_t from, size_t end)
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
static size_t script_vars_expression_end(const struct script_reader *r, size_t i)
{
	size_t end = i, most = i + SCRIPT_EXPRESSION_MAX;

	most = most < r->t.count ? most : r->t.count;
	for (; end < most && !script_is_char(&r->t, end, ';'); end++)
		if (end > i && script_new_line(&r->t, end))
			break;
	return end;
}

/* The strings that @v, with its name at token @i, holds as a list or gets from a loop. */
static void script_vars_note_lines(struct script_reader *r, size_t i, bool loop,
				   struct script_variable *v)
{
	size_t at = loop ? i + 2 : script_vars_receiver(r, i);
	const struct script_variable *list = script_find_variable(r, at);

	v->is_item = at < r->t.count;
	if (v->is_item && list)
		v->lines = list->lines;
	else if (v->is_item || script_is_char(&r->t, i + 1, '='))
		v->lines = script_vars_lines(r, v->is_item ? at : i + 2, v->is_item);
}

/* The value of @v, with its name at token @i. False: it has none that is known. */
static bool script_vars_note_value(struct script_reader *r, size_t i, bool loop,
				   struct script_variable *v)
{
	if (script_vars_items(r, i, loop, &v->value)) {
		v->is_list = true;
	} else if ((loop ? script_vars_listing(r, i + 2, &v->value)
			 : script_vars_each(r, i, &v->value)) &&
		   !script_loop_picks(r, i)) {
		v->is_listing = true;
	} else if (!loop && !script_is_char(&r->t, i + 1, '=')) {
		return false;
	} else if (!script_vars_constant(r, i + 2, &v->value, &v->is_list) &&
		   !script_vars_path(r, i + 2, &v->value) &&
		   !script_vars_joined(r, i + 2, &v->value) &&
		   (loop || !script_vars_home(r, i + 2, &v->value))) {
		if (loop || !script_step(r, 1) ||
		    !script_says_empty(r, i + 2, script_vars_expression_end(r, i + 2)))
			return false;
		v->may_be_empty = true;
	}
	return true;
}

/* Where the constant of NAME += and NAME.append( begins, with NAME at token @i; 0: nowhere. */
static size_t script_vars_growth(const struct script_text *t, size_t i)
{
	if (script_is_char(t, i + 1, '+') && script_is_char(t, i + 2, '='))
		return i + 3;
	if (!script_is_char(t, i + 1, '.') || !script_is_char(t, i + 3, '(') ||
	    !script_token_in(t, i + 2, " append extend push concat "))
		return 0;
	return i + 3 + script_is_char(t, i + 4, '[');
}

/* cmd += " -rf", args += ["-rf"], args.append("-rf"), args.push("-rf"): what NAME at token @i has,
 * and more. False: it is none of these. */
static bool script_vars_grow(struct script_reader *r, size_t i)
{
	size_t from = script_vars_growth(&r->t, i);
	bool list = from && !script_string(&r->t, from), plain;
	const struct script_variable *old = from ? script_find_variable(r, i) : NULL;
	struct script_variable *v = old ? &r->variables[old - r->variables]
					: &r->variables[r->variable_count];
	struct shell_word parts[3], more;

	if (!from || (old ? old->may_be_empty || old->is_listing : !list) ||
	    !script_vars_constant(r, from, &more, &plain))
		return false;
	if (!old)
		*v = (struct script_variable){ .start = r->t.tokens[i].start,
					       .len = r->t.tokens[i].end - r->t.tokens[i].start,
					       .is_list = plain, .value = more,
					       .lines = script_vars_lines(r, from, true) };
	r->variable_count += !old;
	if (!old || v->value.text.len + v->lines.text.len > GROWN_MAX ||
	    !script_step(r, 1 + (v->value.text.len + v->lines.text.len + more.text.len) /
						SCRIPT_STEP_BYTES))
		return true;
	parts[0] = v->lines.text.len ? v->lines : v->value;
	parts[1] = script_char(r, '\n', SHELL_LITERAL, i);
	parts[2] = script_vars_lines(r, from, true);
	v->lines = list ? word_concat_all(parts, COUNT_OF(parts), r->t.arena) : v->lines;
	parts[0] = v->value;
	parts[1] = more;
	v->value = list ? word_join(parts, 2, r->t.arena)
			: word_concat(&parts[0], &parts[1], r->t.arena);
	v->is_list &= plain || !list;
	return true;
}

void script_note_variable(struct script_reader *r, size_t i)
{
	bool loop = script_token_in(&r->t, i + 1, " in of "), known;
	const struct script_variable *old;
	struct script_variable v;

	if (r->t.tokens[i].kind != TOKEN_NAME || r->variable_count == SCRIPT_VARIABLES_MAX ||
	    script_vars_grow(r, i))
		return;
	v = (struct script_variable){ .start = r->t.tokens[i].start,
				      .len = r->t.tokens[i].end - r->t.tokens[i].start };
	script_vars_note_lines(r, i, loop, &v);
	known = script_vars_note_value(r, i, loop, &v); /* may note the variable that it lists */
	old = known || !(loop || v.is_item) ? NULL : script_find_variable(r, i);
	if (!known && (v.lines.text.len || (old && old->is_listing)))
		v.value = script_char(r, '?', SHELL_UNKNOWN, i);
	else if (!known)
		return;
	if (r->variable_count < SCRIPT_VARIABLES_MAX)
		r->variables[r->variable_count++] = v;
}
