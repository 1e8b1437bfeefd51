#include "blocklist/effects/script_files.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/script_loops.h"
#include "blocklist/effects/script_names.h"
#include "blocklist/effects/script_run.h"

/* A mode of open() that writes: "w", "wb", "r+", ">", "a". */
static bool script_files_is_write_mode(const struct shell_word *w)
{
	const char *s = w->text.s;

	return w->text.len <= 6 && (strpbrk(s, "wa+>x") != NULL) &&
	       strspn(s, "rwabtx+> <:utf8") == w->text.len;
}

/* open(F, ">/dev/sda"): the path after the sign. */
static void script_files_write_by_sign(struct script_reader *r, const struct shell_word *w)
{
	size_t skip = strspn(w->text.s, "+> ");
	struct shell_word path;

	if (!skip || w->text.s[0] == ' ' || skip == w->text.len)
		return;
	path = word_slice(w, skip, w->text.len, r->t.arena);
	action_touch(r->out, "write", &path);
}

/* open(F, "|cmd") and open(F, "cmd|") of Perl. */
static void script_files_run_by_sign(struct script_reader *r, const struct shell_word *w)
{
	size_t len = w->text.len;
	struct shell_word text;

	if (len < 2 || (w->text.s[0] != '|' && w->text.s[len - 1] != '|'))
		return;
	text = word_slice(w, w->text.s[0] == '|', len - (w->text.s[len - 1] == '|'), r->t.arena);
	script_note_shell(r, &text, 1);
	action_text(r->out, &text, ACTION_LENIENT);
}

/* open(F, "-|", "cmd", "arg") and open(F, "|-", "cmd") of Perl. */
static void script_files_run_by_mode(struct script_reader *r, const struct script_args *a)
{
	const char *mode = a->count > 1 ? a->words[0].text.s : "";
	size_t count = a->count - 1;
	struct shell_word *words;

	if (strncmp(mode, "-|", 2) != 0 && strncmp(mode, "|-", 2) != 0)
		return;
	words = shell_alloc(r->t.arena, count * sizeof(*words));
	memcpy(words, a->words + 1, count * sizeof(*words));
	script_note_shell(r, words, count);
	if (count > 1)
		action_words(r->out, words, count, ACTION_LENIENT);
	else
		action_text(r->out, words, ACTION_LENIENT);
}

/* A call like glob() expands *, ? and [ of @w, but no [ that has no ] behind it. */
static void script_files_mark_globs(struct script_reader *r, struct shell_word *w)
{
	uint8_t *kind = shell_alloc(r->t.arena, w->text.len + 1);
	const char *close = strrchr(w->text.s, ']');
	size_t sets = close ? (size_t)(close - w->text.s) : 0;

	memcpy(kind, w->kind, w->text.len);
	for (size_t i = 0; i < w->text.len; i++)
		if (strchr(i < sets ? "*?[]" : "*?]", w->text.s[i]) && kind[i] == SHELL_LITERAL)
			kind[i] = SHELL_GLOB;
	w->kind = kind;
}

/* @effect is done to @word, whose globs a call may expand. */
static void script_files_touch(struct script_reader *r, const char *effect, bool globs,
			       const struct shell_word *word)
{
	struct shell_word *values;
	size_t n = script_values(r, word, &values);

	for (size_t i = 0; i < n; i++) {
		if (globs)
			script_files_mark_globs(r, &values[i]);
		action_touch(r->out, effect, &values[i]);
	}
}

static void script_files_read_write(struct script_reader *r, size_t i)
{
	struct script_args a;
	bool opens = script_token_in(&r->t, i, " open fopen sysopen File IO ");
	bool copies = script_token_in(&r->t, i,
				      " copyfile copy copy2 copyFileSync cp cpSync copyFile "
				      "copyfileobj copy_stream copy_file ");
	bool mode = !opens || r->write_flags;

	script_read_args(r, i + 1, &a);
	if (opens)
		script_files_run_by_mode(r, &a);
	for (size_t k = a.count < 2; k < a.count; k++)
		mode |= script_files_is_write_mode(&a.words[k]);
	for (size_t k = copies && a.count ? a.count - 1 : 0; k < a.count; k++) {
		if (opens) {
			script_files_write_by_sign(r, &a.words[k]);
			script_files_run_by_sign(r, &a.words[k]);
		}
		if (mode)
			script_files_touch(r, "write", false, &a.words[k]);
	}
}

/* @effect is done to each argument, and to each file name on standard input. */
static void script_files_touch_each(struct script_reader *r, const char *effect)
{
	struct shell_word *items = NULL, names[DATAFLOW_NAMES_MAX];
	const struct place *at = r->at;
	size_t n = 0;

	for (size_t i = 0; i < at->arg_count; i++)
		action_touch(r->out, effect, &at->args[i]);
	if (place_input(at))
		n = word_items(place_input(at), true, r->out->budget, r->t.arena, &items);
	if (!n && at->flows && at->index != SHELL_NONE) {
		items = names;
		n = dataflow_names(at->flows, place_command(at)->piped_from, r->out->budget,
				   r->t.arena, names);
	}
	for (size_t i = 0; i < n; i++)
		action_touch(r->out, effect, &items[i]);
}

/* "/x" of Path("/x").NAME with NAME at token @i; NULL: there is none. */
static const struct shell_word *script_files_path_before(const struct script_reader *r, size_t i)
{
	return script_is_char(&r->t, i - 2, ')') ? script_string(&r->t, i - 3) : NULL;
}

/* Path("/etc/passwd").write_text(...), Path("/x").unlink(), path.unlink() of a variable: what the
 * path is precedes the call. */
static void script_files_read_method(struct script_reader *r, size_t i, const char *effect)
{
	const struct shell_word *value, *path = script_files_path_before(r, i);

	if (!script_is_char(&r->t, i - 1, '.'))
		return;
	/* names.remove("x") is of a list or a set. */
	value = script_token_in(&r->t, i, " remove ") ? NULL : script_variable_at(r, i - 2);
	if (value && !script_variable_of(r, value)->is_list)
		action_touch(r->out, effect, value);
	else if (path)
		action_touch(r->out, effect, path);
}

/* root.iterdir() and root.rglob("*"), where root is Path("/"). */
static void script_files_touch_variable(struct script_reader *r, size_t i, const char *effect)
{
	const struct shell_word *value = script_variable_at(r, i);

	if (value)
		action_touch(r->out, effect, value);
}

/* The end of the set of letters at @s, as [a-z] and []a]; NULL: it has none, and is a name. */
static const char *script_files_set_end(const char *s)
{
	size_t first = s[1] == '!' || s[1] == '^' ? 2 : 1;

	return s[first] ? strchr(s + first + 1, ']') : NULL;
}

/* Has the pattern a part of a name, besides wildcards and sets of letters? */
static bool script_files_has_name(const struct shell_text *pattern)
{
	for (const char *s = pattern->s; *s; s++) {
		if (*s == '[')
			s = script_files_set_end(s);
		if (!s || !strchr("*?]./", *s))
			return true;
	}
	return false;
}

/* rglob("*.pyc"), but not rglob("*"): some of what is there. */
static bool script_files_picks(const struct script_reader *r, size_t i)
{
	const struct shell_word *pattern = script_string(&r->t, i + 2);

	return script_token_in(&r->t, i, " glob rglob ") && script_is_char(&r->t, i - 1, '.') &&
	       pattern && script_files_has_name(&pattern->text);
}

/* Path("/").glob("etc/ *"), or of a variable: what is picked there. */
static void script_files_touch_picked(struct script_reader *r, size_t i, const char *effect)
{
	const struct shell_word *base = script_variable_at(r, i - 2);
	const struct shell_word *pattern = script_string(&r->t, i + 2);
	struct shell_word picked;

	if (!script_token_in(&r->t, i, " glob ") || !script_files_picks(r, i))
		return;
	if (!base)
		base = script_files_path_before(r, i);
	if (!base || !script_step(r, 1 + (base->text.len + pattern->text.len) /
					     SCRIPT_STEP_BYTES))
		return;
	picked = word_path(base, pattern, r->t.arena);
	script_files_mark_globs(r, &picked);
	action_touch(r->out, effect, &picked);
}

/* @effect is done to what a loop lists: glob("/ *"), listdir("/"), os.walk("/"), Dir["/ *"]. */
static void script_files_touch_listed(struct script_reader *r, const char *effect)
{
	static const char lists[] = " glob iglob Dir readdir opendir globSync ";
	static const char walks[] =
		" walk listdir scandir readdirSync rglob iterdir find finddepth "
		"children entries rii ";

	if (!action_charge(r->out, r->t.count))
		return;
	for (size_t i = 0; i < r->t.count; i++) {
		bool globs = script_token_in(&r->t, i, lists);
		struct script_args a;

		if ((!globs && !script_token_in(&r->t, i, walks)) ||
		    script_token_in(&r->t, i - 1, " import ") || script_loop_over_picks(r, i))
			continue;
		script_read_args(r, i + 1, &a);
		if (script_token_in(&r->t, i, " listdir scandir ") && !a.count &&
		    script_is_char(&r->t, i + 2, ')'))
			a.words[a.count++] = script_char(r, '.', SHELL_LITERAL, i);
		if (i >= 3 && !script_files_picks(r, i))
			script_files_read_method(r, i, effect);
		if (script_token_in(&r->t, i, " iterdir glob rglob ") &&
		    script_is_char(&r->t, i - 1, '.') && !script_files_picks(r, i))
			script_files_touch_variable(r, i - 2, effect);
		script_files_touch_picked(r, i, effect);
		for (size_t k = 0; k < a.count; k++) {
			if (globs)
				script_files_mark_globs(r, &a.words[k]);
			action_touch(r->out, effect, &a.words[k]);
		}
	}
}

/* rmtree(d) of a loop over a list or a directory: each of it. The names alone that listdir() gives
 * are no argument that says more. */
static void script_files_settle_loops(struct script_reader *r, struct script_args *a,
				      const char *effect)
{
	size_t kept = 0, n;
	struct shell_word *items;

	for (size_t k = 0; k < a->count; k++) {
		const struct script_variable *v = script_variable_of(r, &a->words[k]);

		n = 0;
		if (v && v->is_list)
			n = word_items(&v->value, false, r->out->budget, r->t.arena, &items);
		for (size_t m = 0; m < n; m++)
			action_touch(r->out, effect, &items[m]);
		if (v && v->is_listing && v->value.text.len > 1)
			script_files_touch(r, effect, true, &v->value);
		if (!v || !v->is_listing)
			a->words[kept++] = a->words[k];
	}
	a->count = kept;
}

void script_read_remove(struct script_reader *r, size_t i, const char *effect)
{
	struct script_args a;
	bool removes_it = strcmp(effect, "mode_call") != 0;

	script_read_args(r, i + 1, &a);
	if (effect == script_removed &&
	    (r->trees || (a.count > 1 && strcmp(a.words[1].text.s, "rf") == 0))) /* vim */
		effect = "remove_tree";
	if (strcmp(effect, "remove_tree") == 0)
		script_run_variables(r, i, &a, "rm -rf");
	script_files_settle_loops(r, &a, effect);
	for (size_t k = 0; k < a.count; k++)
		script_files_touch(r, effect, true, &a.words[k]);
	script_files_read_method(r, i, effect);
	if (!a.count && !r->listed[removes_it]) {
		script_files_touch_listed(r, removes_it ? "remove_tree" : effect);
		script_files_touch_each(r, effect);
	}
	r->listed[removes_it] |= !a.count;
}

/* Tcl's file delete -force /etc: bare words to the end of the command. */
static void script_files_read_bare_words(struct script_reader *r, size_t i)
{
	size_t from = r->t.tokens[i].end;
	struct shell_word text, *items;
	size_t n;

	if (!script_token_in(&r->t, i, " delete ") || !script_token_in(&r->t, i - 1, " file ") ||
	    script_is_char(&r->t, i + 1, '('))
		return;
	text = word_slice(r->t.text, from, from + strcspn(r->t.text->text.s + from, "\n;]}"),
			  r->t.arena);
	n = word_items(&text, false, r->out->budget, r->t.arena, &items);
	for (size_t k = 0; k < n; k++)
		if (items[k].text.s[0] != '-')
			action_touch(r->out, "remove_tree", &items[k]);
}

/* require("rimraf")(...), require("rimraf").sync(...) */
static void script_files_read_rimraf(struct script_reader *r, size_t i)
{
	if (!script_string_in(&r->t, i, " rimraf ") || !script_is_char(&r->t, i + 1, ')'))
		return;
	if (script_is_char(&r->t, i + 2, '('))
		script_read_remove(r, i + 1, "remove_tree");
	else if (script_is_char(&r->t, i + 2, '.') && script_token_in(&r->t, i + 3, " sync "))
		script_read_remove(r, i + 3, "remove_tree");
}

/* os.replace("x", "y") and Path("x").replace("y"), not "text".replace("x", "y") */
static bool script_files_is_replace(const struct script_reader *r, size_t i)
{
	return script_token_in(&r->t, i, " replace ") &&
	       (script_token_in(&r->t, i - 2, " os ") ||
		(script_token_in(&r->t, i - 5, " Path PosixPath ") && script_string(&r->t, i - 3)));
}

static void script_files_read_writes(struct script_reader *r, size_t i)
{
	static const char writes[] =
		" open fopen writeFileSync writeFile appendFileSync appendFile "
		"file_put_contents truncate truncateSync File IO "
		"createWriteStream copyfile copy copy2 copyFileSync cp cpSync copyFile sysopen "
		"writeTextFile copyfileobj writelines copy_stream copy_file ";
	bool of_file = script_token_in(&r->t, i, " write binwrite ") &&
		       script_token_in(&r->t, i - 2, " File IO ");

	if (of_file || script_token_in(&r->t, i, writes))
		script_files_read_write(r, i);
	if (script_token_in(&r->t, i, " write_text write_bytes truncate "))
		script_files_read_method(r, i, "write");
}

void script_read_files(struct script_reader *r, size_t i)
{
	static const char moves[] = " rename renameSync move mv copyout ";

	script_files_read_rimraf(r, i);
	if (script_token_in(&r->t, i, script_removes_tree) ||
	    (r->trees && script_token_in(&r->t, i, " rmdir ")))
		script_read_remove(r, i, "remove_tree");
	if (script_token_in(&r->t, i, script_removes))
		script_read_remove(r, i, script_removed);
	script_files_read_bare_words(r, i);
	if (script_token_in(&r->t, i, moves) || script_files_is_replace(r, i))
		script_read_remove(r, i, "move");
	if (script_token_in(&r->t, i, " chmod chmodSync ") && i + 1 < r->t.count &&
	    (script_is_char(&r->t, i + 1, '(') || r->t.tokens[i + 1].kind == TOKEN_NAME))
		script_read_remove(r, i, "mode_call");
	if (script_token_in(&r->t, i, " chmod_R chown_R "))
		script_read_remove(r, i, "mode_tree");
	script_files_read_writes(r, i);
}
