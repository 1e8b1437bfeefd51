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

/* ---- pieces ---- */

/* Has the argument that is read a word yet? What a join adds to it is no part of the one before:
 * exec("x", (e) => console.log(e)). */
static bool script_args_has_word(const struct script_args *a)
{
	return a->count > a->begun;
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
	} else if (join && script_args_has_word(a)) {
		a->words[a->count - 1] = word_concat(&a->words[a->count - 1], piece, r->t.arena);
	} else if (a->count < SCRIPT_ARGS_MAX) {
		a->words[a->count++] = *piece;
	}
}

/* The same of the character @c, at the place of token @i. */
static void script_args_append_char(struct script_reader *r, struct script_args *a, char c,
				    uint8_t kind, size_t i, bool join)
{
	struct shell_word piece = script_char(r, c, kind, i);

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

/* ---- arguments ---- */

static const char homes[] = " HOME home homedir expanduser_home HOMEPATH USERPROFILE ~ ";
static const char silent[] =
	" r b u f rb br String os path Path Dir pathlib join expanduser ENV environ "
	"process env File fs require shell True False true false capture_output "
	"check text stdout stderr PIPE subprocess recursive force ignore_errors "
	"qw q qq m s exit and or not map chr bytes bytearray list decode encode "
	"split escapeshellarg escapeshellcmd shlex quote str String strval fromCharCode apply sh";

/* Is the + at token @i one of lists: ["a"] + ["b"], args + ["b"], ["a"] + args? */
static bool script_args_joins_lists(const struct script_reader *r, size_t i)
{
	const struct script_variable *left = i ? script_find_variable(r, i - 1) : NULL;
	const struct script_variable *right = script_find_variable(r, i + 1);

	return script_is_char(&r->t, i + 1, '[') || (left && left->is_list) ||
	       (right && right->is_list && script_is_char(&r->t, i - 1, ']'));
}

/* Does token @i join two pieces of an argument: + . or the slash of Path? */
static bool script_args_joins(const struct script_reader *r, size_t i)
{
	if (script_is_char(&r->t, i, '+') && script_args_joins_lists(r, i))
		return false;
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
	if (join && script_args_has_word(a))
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
	size_t depth = 0, least = end > SCRIPT_EXPRESSION_MAX ? end - SCRIPT_EXPRESSION_MAX : 0;

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
	const struct script_variable *v = from + 1 == end ? script_find_variable(r, from) : NULL;

	return (v && v->may_be_empty) || script_says_empty(r, from, end);
}

/*
 * x + "/..." with @piece, "/...", at token @i: unlike in a shell, an x that nothing sets is an
 * error, and no empty text. So the unknown part is there, unless the script says otherwise. The x
 * of x . "/..." would be empty, but in copy("a", x . "/...") it is mostly set.
 */
static void script_args_settle_base(struct script_reader *r, struct script_args *a, size_t i,
				    const struct shell_word *piece)
{
	static const struct shell_unknown set = { .is_set = true, .name = "+" };
	struct shell_word *last = script_args_has_word(a) ? &a->words[a->count - 1] : NULL;
	struct shell_word base;
	bool adds = script_is_char(&r->t, i - 1, '+') ||
		    (a->begun && script_is_char(&r->t, i - 1, '.'));

	if (i < 2 || !adds || piece->text.s[0] != '/' ||
	    (last && !script_args_ends_unknown(last)) ||
	    !script_step(r, 1 + (last ? last->text.len : 0) / SCRIPT_STEP_BYTES) ||
	    script_args_may_be_empty(r, i - 1))
		return;
	base = script_char(r, '?', SHELL_UNKNOWN, i);
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

/* Is the bracket or comma at token @i of basename(x), relpath("a", x), relative(x, "a") or
 * expand_path("a", x)? */
static bool script_args_is_base(const struct script_text *t, size_t i)
{
	if (script_is_char(t, i, ',') && script_string(t, i - 1))
		i -= 2;
	return script_is_char(t, i, '(') &&
	       script_token_in(t, i - 1, " basename relpath relative expand_path ");
}

/* os.getcwd(), Path.cwd(), process.cwd(), getcwd() and Dir.pwd at token @i, but not behind cwd= */
static bool script_args_is_directory(const struct script_reader *r, size_t i)
{
	size_t before = script_is_char(&r->t, i - 1, '.') ? i - 3 : i - 1;

	if (script_is_char(&r->t, before, '=') || script_args_is_base(&r->t, before))
		return false;
	return (script_token_in(&r->t, i, " getcwd cwd ") && script_is_char(&r->t, i + 1, '(')) ||
	       (script_token_in(&r->t, i, " pwd ") && script_token_in(&r->t, i - 2, " Dir "));
}

/* A name among the arguments: a variable with a constant, a home, the directory, or unknown. One of
 * a list stays a name, for script_values(). */
static void script_args_take_name(struct script_reader *r, struct script_args *a, size_t i,
				  bool join)
{
	const struct shell_word *value = script_variable_at(r, i);
	const struct script_token *t = &r->t.tokens[i];
	struct shell_word piece;

	if (script_string(&r->t, i + 1) && t[1].start == t->end) /* f"..." */
		return;
	if (value && join && script_args_has_word(a) && script_variable_of(r, value)->is_list) {
		piece = script_args_hole(r, i);
		script_args_append(r, a, &piece, true);
	} else if (value) {
		if (join)
			script_args_settle_base(r, a, i, value);
		script_args_append(r, a, value, join);
	} else if (script_args_is_directory(r, i)) {
		script_args_append_char(r, a, '.', SHELL_LITERAL, i, join);
	} else if (script_token_in(&r->t, i, homes) && !script_is_char(&r->t, i - 1, '/')) {
		script_args_append_char(r, a, '~', SHELL_TILDE, i, join);
	} else if (!script_token_in(&r->t, i, silent) &&
		   !strchr("0123456789", r->t.text->text.s[t->start]) && join &&
		   script_args_has_word(a)) {
		script_args_append_char(r, a, '?', SHELL_UNKNOWN, i, true);
	}
}

/* ---- paths ---- */

/* path.join(a, "b"): its parts are one word. */
static void script_args_note_path(struct script_reader *r, struct script_args *a, size_t i,
				  size_t depth, bool join)
{
	if (!script_joins_path(&r->t, i))
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
	const struct script_variable *v = script_named_variable(r, w->text.s + from + 2,
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

/* "rm -rf #{Dir.home}/x" of Ruby, f"rm -rf {Path.home()}/x" of Python and "rm -rf $ENV{HOME}/x" of
 * Perl: @w with a ~ for the home, where a word begins with it.
 * What a variable holds stays a name, for script_values(). */
static struct shell_word script_args_with_home(struct script_reader *r, const struct shell_word *w,
					       size_t i)
{
	size_t from = strcspn(w->text.s, "{"), to = from + strcspn(w->text.s + from, "}");
	const char *s = w->text.s;
	struct shell_word parts[3];

	if (to >= w->text.len || script_named_variable(r, s + from + 1, to - from - 1) ||
	    !script_args_names_home(w, from + 1, to) ||
	    !script_step(r, 1 + w->text.len / SCRIPT_STEP_BYTES))
		return *w;
	if (from > 3 && strncmp(s + from - 4, "$ENV", 4) == 0)
		from -= 4;
	else
		from -= from && strchr("#$", s[from - 1]);
	if (from && !strchr(" '\"=", s[from - 1]))
		return *w;
	parts[0] = word_slice(w, 0, from, r->t.arena);
	parts[1] = script_char(r, '~', SHELL_TILDE, i);
	parts[2] = word_slice(w, to + 1, w->text.len, r->t.arena);
	return word_concat_all(parts, 3, r->t.arena);
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

/* "/".join(parts), parts.join("/"): what stands between the parts is none of them. */
static bool script_args_separates(const struct script_text *t, size_t i)
{
	if (script_is_char(t, i + 1, '.') && script_token_in(t, i + 2, " join "))
		return true;
	return script_is_char(t, i - 1, '(') && script_token_in(t, i - 2, " join ") &&
	       script_is_char(t, i - 3, '.') && script_is_char(t, i + 1, ')') &&
	       !script_joins_path(t, i - 2);
}

static void script_args_take_string(struct script_reader *r, struct script_args *a, size_t i,
				    bool join)
{
	const struct shell_word *text = script_string(&r->t, i);
	struct shell_word with_home;

	if (text && text->text.s[0] == '/' && script_args_separates(&r->t, i))
		return;
	if (text && join)
		script_args_settle_base(r, a, i, text);
	if (!text) {
		script_args_take_template(r, a, i, join);
	} else if (script_string_in(&r->t, i, " HOME USERPROFILE ")) { /* process.env["HOME"] */
		script_args_append_char(r, a, '~', SHELL_TILDE, i, join);
	} else {
		with_home = script_args_with_home(r, text, i);
		script_args_append(r, a, &with_home, join);
	}
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

/* Does token @i end an argument? */
static bool script_args_ends(const struct script_text *t, size_t i)
{
	return i < t->count && t->tokens[i].kind == TOKEN_OTHER &&
	       strchr(",;)]}", t->text->text.s[t->tokens[i].start]);
}

/* The absolute path that token @i is by itself among the values of an expression that begins at
 * token @from: x or "/usr", x ? "/usr" : y, str("/usr"), "/usr" if x else y; NULL: it is none. */
static const struct shell_word *script_args_alternative(const struct script_reader *r, size_t from,
							size_t i)
{
	const struct script_text *t = &r->t;
	const struct shell_word *value = script_value_at(r, i);
	size_t end = i + 1;

	if (!value || !strchr("/~", value->text.s[0]))
		return NULL;
	while (i > from &&
	       (script_is_char(t, i - 1, '(') || script_token_in(t, i - 1, " str Path ")))
		i--;
	if (i > from && !script_token_in(t, i - 1, " or else ") && !script_is_char(t, i - 1, '|') &&
	    !script_is_char(t, i - 1, '?') && !script_is_char(t, i - 1, ':'))
		return NULL;
	return script_args_ends(t, end) || script_token_in(t, end, " or if ") ||
			       script_is_char(t, end, '|') || script_is_char(t, end, '?') ||
			       script_is_char(t, end, ':')
		       ? value : NULL;
}

/* Pass over what computes the value of cwd= from token @i on, and set a->directory if that is a
 * home, or one of the values is known. Returns its last token. */
static size_t script_args_skip_directory(struct script_reader *r, struct script_args *a, size_t i)
{
	const struct shell_word *one = NULL;
	struct shell_word *home = NULL;
	size_t depth = 0, from = i;
	bool more = false;

	for (; i < r->t.count && script_step(r, 1); i++) {
		char c = r->t.tokens[i].kind == TOKEN_OTHER
				 ? r->t.text->text.s[r->t.tokens[i].start] : 0;

		if (!depth && script_args_ends(&r->t, i))
			break;
		depth += c && strchr("([{", c);
		depth -= c && strchr(")]}", c);
		if (!one)
			one = script_args_alternative(r, from, i);
		if (script_args_module_end(r, i))
			i = script_args_module_end(r, i);
		else if (script_token_in(&r->t, i, homes) || script_string_in(&r->t, i, homes))
			home = home ? home : shell_alloc(r->t.arena, sizeof(*home));
		else
			more |= script_string(&r->t, i) || c == '/' ||
				(r->t.tokens[i].kind == TOKEN_NAME &&
				 !script_token_in(&r->t, i, silent) &&
				 !script_token_in(&r->t, i, " get getenv str resolve fetch "));
	}
	if (home)
		*home = script_char(r, '~', SHELL_TILDE, i - 1);
	a->directory = more || !home ? one : home;
	return i - 1;
}

/*
 * cwd="/x" of Python and {cwd: "/x"} of Node at token *@i: where the program runs; input="x" and
 * input=b"x": what it reads; encoding="x" is no argument either. *@i: the last token of it.
 */
static bool script_args_take_named(struct script_reader *r, struct script_args *a, size_t *i)
{
	const struct shell_word *unused, **to = NULL;
	size_t value = *i + 2;

	if (script_token_in(&r->t, *i, " cwd "))
		to = &a->directory;
	else if (script_token_in(&r->t, *i, " input "))
		to = &a->input;
	else if (script_token_in(&r->t, *i, " encoding errors "))
		to = &unused;
	if (!to || !(script_is_char(&r->t, *i + 1, '=') || script_is_char(&r->t, *i + 1, ':')))
		return false;
	value += script_token_in(&r->t, value, " b r ") && script_string(&r->t, value + 1);
	*to = script_value_at(r, value);
	if (to == &a->directory && !(*to && script_args_ends(&r->t, value + 1)))
		*i = script_args_skip_directory(r, a, value);
	else if (*to)
		*i = value;
	return *to != NULL || to == &a->directory;
}

/*
 * require("x"), chr(47), cwd="/x", input="x", a comma, .reverse or .format at token *@i. True: it
 * was one, and *@i is its last token.
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
	if (script_args_take_named(r, a, i)) {
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
		a->begun = *join ? a->begun : a->count;
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
		join = script_args_goes_on(r, i, c, join) ||
		       (join && a->path_depth > depth); /* before the bracket of path.join( */
	}
	a->end = i;
}
