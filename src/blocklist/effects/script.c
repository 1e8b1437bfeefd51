#include "blocklist/effects/script.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/script_args.h"

/* Steps of the budget for a text. */
#define WORK_TEXT 400u

/* ---- actions ---- */

static void script_touch(struct script_reader *r, const char *effect, const struct shell_word *word)
{
	action_touch(r->out, effect, word);
}

static void script_found(struct script_reader *r, const char *effect)
{
	action_found(r->out, effect, r->t.text, 1);
}

static void script_shell(struct script_reader *r, const struct shell_word *text)
{
	action_text(r->out, text, ACTION_LENIENT);
}

/* The program runs its standard input as shell text, after @before unless that is NULL. */
static void script_run_input(struct script_reader *r, const struct shell_word *before)
{
	struct shell_word both[2];

	action_flow(r->out, r->at->input_flow, r->t.text, 1);
	if (!r->at->input)
		return;
	both[0] = before ? *before : *r->at->input;
	both[1] = *r->at->input;
	both[0] = word_join(both, 1 + (before != NULL), r->t.arena);
	script_shell(r, &both[0]);
}

/* @effect is done to each argument, and to each file name on standard input. */
static void script_touch_each(struct script_reader *r, const char *effect)
{
	struct shell_word *items = NULL, names[DATAFLOW_NAMES_MAX];
	const struct place *at = r->at;
	size_t n = 0;

	for (size_t i = 0; i < at->arg_count; i++)
		script_touch(r, effect, &at->args[i]);
	if (at->input)
		n = word_items(at->input, true, r->out->budget, r->t.arena, &items);
	if (!n && at->flows && at->index != SHELL_NONE) {
		items = names;
		n = dataflow_names(at->flows, place_command(at)->piped_from, r->out->budget,
				   r->t.arena, names, DATAFLOW_NAMES_MAX);
	}
	for (size_t i = 0; i < n; i++)
		script_touch(r, effect, &items[i]);
}

static const char script_runs[] =
	" system popen Popen exec execl execlp execle execv execvp execve execvpe spawn spawnl "
	"spawnlp "
	"spawnv spawnvp spawnSync execSync execFile execFileSync call check_call check_output run "
	"getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec popen2 popen3 capture2 "
	"capture2e capture3 posix_spawn posix_spawnp execute spawn_shell create_subprocess_shell "
	"create_subprocess_exec sh command cmd CreateProcess startProcess Command outputOf "
	"exec_sync $ ";

/* Those of them whose names mean little else. */
static const char script_sure_runs[] =
	" run system popen Popen call check_call check_output exec execSync spawn spawnSync "
	"shell_exec passthru ";

static const char removes_tree[] =
	" rmtree remove_tree rm_rf rm_r rmSync rm rmdirSync removeSync RemoveAll remove_dir_all "
	"rimraf emptyDirSync emptyDir remove_entry_secure remove_entry deltree delTree ";
static const char removes[] = " unlink remove unlinkSync removedirs delete rm_f safe_unlink ";
static const char script_removed[] = "remove";

/* ---- aliases of calls ---- */

static bool script_is_same_text(const struct script_reader *r, size_t i, size_t k)
{
	const struct script_token *a = &r->t.tokens[i], *b = &r->t.tokens[k];

	return a->end - a->start == b->end - b->start &&
	       memcmp(r->t.text->text.s + a->start, r->t.text->text.s + b->start,
		      a->end - a->start) == 0;
}

/* s = os.system, const e = require("child_process").execSync */
static void script_note_alias(struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, script_runs) || script_is_char(&r->t, i + 1, '(') ||
	    !script_is_char(&r->t, i - 1, '.') || r->alias_count == SCRIPT_ALIASES_MAX)
		return;
	for (size_t k = i; k-- > 1 && i - k < 10 && !script_is_char(&r->t, k, ';');)
		if (script_is_char(&r->t, k, '=') && r->t.tokens[k - 1].kind == TOKEN_NAME) {
			r->aliases[r->alias_count++] = k - 1;
			return;
		}
}

/* from os import system as s, {execSync: e}, from shutil import rmtree as r */
static void script_note_renames(struct script_reader *r)
{
	for (size_t k = 2; k < r->t.count && r->alias_count < SCRIPT_ALIASES_MAX; k++) {
		bool as = script_token_in(&r->t, k - 1, " as ");
		bool tree = as && script_token_in(&r->t, k - 2, removes_tree);
		bool one = as && script_token_in(&r->t, k - 2, removes);
		bool run = (as || script_is_char(&r->t, k - 1, ':')) &&
			   script_token_in(&r->t, k - 2, script_runs);

		if (r->t.tokens[k].kind != TOKEN_NAME || !(tree || one || run))
			continue;
		r->alias_effects[r->alias_count] =
			tree ? "remove_tree" : one ? script_removed : NULL;
		r->aliases[r->alias_count++] = k;
	}
}

/* Is token @i another name of a call? *@effect: as in r->alias_effects. */
static bool script_renamed(const struct script_reader *r, size_t i, const char **effect)
{
	for (size_t k = 0; k < r->alias_count; k++)
		if (script_is_same_text(r, r->aliases[k], i)) {
			*effect = r->alias_effects[k];
			return r->aliases[k] != i;
		}
	return false;
}

/* ---- what fetches ---- */

/* Is the name @i used as one that is called or has members: requests.get, Net::HTTP, fetch(x)?
 * Prose has such words, too: https://x, "to fetch it". */
static bool script_is_used(const struct script_reader *r, size_t i)
{
	return script_is_char(&r->t, i + 1, '.') || script_is_char(&r->t, i + 1, '(') ||
	       (script_is_char(&r->t, i + 1, ':') && script_is_char(&r->t, i + 2, ':')) ||
	       (i && script_token_in(&r->t, i - 1, " import from use require as "));
}

/* Does token @i load a module in @list: require("net"), import("net"), import n from "net"? */
static bool script_is_module(const struct script_reader *r, size_t i, const char *list)
{
	const struct shell_word *w = &r->t.tokens[i].string;

	return i && r->t.tokens[i].kind == TOKEN_STRING &&
	       (script_token_in(&r->t, i - 1, " from import ") ||
		(i >= 2 && script_token_in(&r->t, i - 2, " require import "))) &&
	       list_has(list, w->text.s, w->text.len);
}

/* Is token @i the name of something that fetches? get is one with a URL, or a variable of Perl:
 * d.get(key) reads a dictionary. */
static bool script_fetches(const struct script_reader *r, size_t i)
{
	static const char modules[] = " http https node:http node:https node-fetch undici axios "
				      "got request superagent ";
	static const char names[] = " urlopen urllib urllib2 requests httpx http https fetch "
				    "file_get_contents LWP curl_exec urlretrieve open_uri "
				    "HTTParty axios URI Net HTTP aiohttp needle Faraday "
				    "RestClient ";
	size_t url = i + 1 + script_is_char(&r->t, i + 1, '(');

	if (!script_token_in(&r->t, i, " get "))
		return (script_token_in(&r->t, i, names) && script_is_used(r, i)) ||
		       script_is_module(r, i, modules);
	if (url < r->t.count && r->t.tokens[url].kind == TOKEN_STRING)
		return strncmp(r->t.tokens[url].string.text.s, "http", 4) == 0;
	return script_is_char(&r->t, url, '$') && (!i || !script_is_char(&r->t, i - 1, '>'));
}

/* ---- calls ---- */

/* Tcl's exec rm -rf /: bare words to the end of the line. */
static void script_read_bare_words(struct script_reader *r, size_t i)
{
	const struct shell_text *t = &r->t.text->text;
	size_t from = r->t.tokens[i].end, to = from;
	struct shell_word *text;

	if (!script_token_in(&r->t, i, " exec spawn ") || i + 1 >= r->t.count ||
	    r->t.tokens[i + 1].kind != TOKEN_NAME)
		return;
	while (to < t->len && t->s[to] != '\n' && t->s[to] != ';')
		to++;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = word_slice(r->t.text, from, to, r->t.arena);
	script_shell(r, text);
}

/* os.system(requests.get(url).text), exec(sys.stdin.read()) */
static void script_read_run_source(struct script_reader *r, size_t i, size_t end)
{
	bool command = script_token_in(&r->t, i, " system popen "); /* of code: all of the text */

	for (size_t k = i + 1; k < end && k < i + 12 && r->t.tokens[k].kind != TOKEN_STRING; k++) {
		if ((command && script_fetches(r, k)) ||
		    script_token_in(&r->t, k, " create_connection makefile recv "))
			script_found(r, "pipe.remote");
		if (script_token_in(&r->t, k, " stdin STDIN "))
			script_run_input(r, NULL);
	}
}

static void script_read_run(struct script_reader *r, size_t i)
{
	struct script_args a;
	struct shell_word *words;

	script_read_args(r, i + 1, &a);
	if (script_token_in(&r->t, i, " system popen exec eval ") &&
	    script_is_char(&r->t, i + 1, '('))
		script_read_run_source(r, i, a.end);
	if (!a.count && i >= 2 && script_is_char(&r->t, i - 1, '.') &&
	    r->t.tokens[i - 2].kind == TOKEN_STRING)
		a.words[a.count++] = r->t.tokens[i - 2].string; /* "text".execute() */
	if (!a.count)
		script_read_bare_words(r, i);
	if (!a.count)
		return;
	words = shell_alloc(r->t.arena, a.count * sizeof(*words));
	for (size_t k = 0; k < a.count; k++)
		words[k] = script_with_variables(r, &a.words[k]);
	script_shell(r, words);
	if (a.count > 1) {
		action_words(r->out, words, a.count, ACTION_LENIENT);
		/* execl("/bin/rm", "rm", "-rf", "/") has the name twice. */
		if (a.count > 2)
			action_words(r->out, words + 1, a.count - 1, ACTION_LENIENT);
	}
}

/* eval("...") of a constant */
static void script_read_eval(struct script_reader *r, size_t i)
{
	struct script_args a;
	struct shell_word *text;

	script_read_args(r, i + 1, &a);
	if (!a.count)
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = a.words[0];
	action_script(r->out, text, r->at->args, r->at->arg_count,
		      ACTION_FOREIGN | (r->awk ? ACTION_AWK : 0));
}

/* getattr(os, "system")("..."), require("child_process")["exec"]("...") */
static bool script_is_quoted_call(const struct script_reader *r, size_t i)
{
	const struct script_token *t = &r->t.tokens[i];

	return t->kind == TOKEN_STRING &&
	       (script_is_char(&r->t, i + 1, ')') || script_is_char(&r->t, i + 1, ']')) &&
	       script_is_char(&r->t, i + 2, '(') &&
	       list_has(script_sure_runs, t->string.text.s, t->string.text.len);
}

/* shell "TEXT" of Raku, "TEXT".! of Scala, system $_ of Perl. */
static void script_read_other_runs(struct script_reader *r, size_t i)
{
	if (script_token_in(&r->t, i, " shell ") && i + 1 < r->t.count &&
	    (r->t.tokens[i + 1].kind == TOKEN_STRING ||
	     (script_is_char(&r->t, i + 1, '(') && i + 2 < r->t.count &&
	      r->t.tokens[i + 2].kind == TOKEN_STRING)))
		script_read_run(r, i);
	if (r->t.tokens[i].kind == TOKEN_STRING && script_is_char(&r->t, i + 1, '.') &&
	    script_is_char(&r->t, i + 2, '!'))
		script_shell(r, &r->t.tokens[i].string);
	if (script_token_in(&r->t, i, " system exec eval ") && script_is_char(&r->t, i + 1, '$') &&
	    script_token_in(&r->t, i + 2, " _ "))
		script_run_input(r, NULL);
}

/* ---- awk ---- */

/* awk: print "x" > "/dev/sda", print | "sh", "cmd" | getline */
static void script_read_awk(struct script_reader *r, size_t i)
{
	const struct script_token *t = &r->t.tokens[i];
	struct shell_word *text;

	if (t->kind != TOKEN_STRING)
		return;
	if (i && script_is_char(&r->t, i - 1, '>'))
		script_touch(r, "write", &t->string);
	if (strncmp(t->string.text.s, "/inet/", 6) == 0 && r->getline)
		script_found(r, "pipe.remote");
	if ((i && script_is_char(&r->t, i - 1, '|')) || script_is_char(&r->t, i + 1, '|')) {
		text = shell_alloc(r->t.arena, sizeof(*text));
		*text = t->string;
		script_shell(r, text);
	}
}

/* ---- writing ---- */

/* A mode of open() that writes: "w", "wb", "r+", ">", "a". */
static bool script_is_write_mode(const struct shell_word *w)
{
	const char *s = w->text.s;

	return w->text.len <= 6 && (strpbrk(s, "wa+>x") != NULL) &&
	       strspn(s, "rwabtx+> <:utf8") == w->text.len;
}

static bool script_calls_open(const struct script_reader *r, size_t i)
{
	return script_token_in(&r->t, i, " open fopen sysopen File IO ");
}

/* open(F, ">/dev/sda"): the path after the sign. */
static void script_write_by_sign(struct script_reader *r, const struct shell_word *w)
{
	size_t skip = strspn(w->text.s, "+> ");
	struct shell_word path;

	if (!skip || w->text.s[0] == ' ' || skip == w->text.len)
		return;
	path = word_slice(w, skip, w->text.len, r->t.arena);
	script_touch(r, "write", &path);
}

/* open(F, "|cmd") and open(F, "cmd|") of Perl. */
static void script_run_by_sign(struct script_reader *r, const struct shell_word *w)
{
	size_t len = w->text.len;
	struct shell_word *text;

	if (len < 2 || (w->text.s[0] != '|' && w->text.s[len - 1] != '|'))
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = word_slice(w, w->text.s[0] == '|', len - (w->text.s[len - 1] == '|'),
				 r->t.arena);
	script_shell(r, text);
}

static void script_read_write(struct script_reader *r, size_t i)
{
	struct script_args a;
	bool mode = !script_calls_open(r, i);

	bool copies = script_token_in(&r->t, i,
				      " copyfile copy copy2 copyFileSync cp copyFile copyfileobj ");

	script_read_args(r, i + 1, &a);
	mode |= r->write_flags;
	for (size_t k = a.count < 2; k < a.count; k++)
		mode |= script_is_write_mode(&a.words[k]);
	for (size_t k = copies && a.count ? a.count - 1 : 0; k < a.count; k++) {
		if (script_calls_open(r, i)) {
			script_write_by_sign(r, &a.words[k]);
			script_run_by_sign(r, &a.words[k]);
		}
		if (mode)
			script_touch(r, "write", &a.words[k]);
	}
}

/* ---- removing and changing ---- */

/* Path("/etc/passwd").write_text(...), Path("/x").unlink(): the string precedes the call. */
static void script_read_method(struct script_reader *r, size_t i, const char *effect)
{
	if (i >= 3 && script_is_char(&r->t, i - 1, '.') && script_is_char(&r->t, i - 2, ')') &&
	    r->t.tokens[i - 3].kind == TOKEN_STRING)
		script_touch(r, effect, &r->t.tokens[i - 3].string);
}

/* for p in Path.home().iterdir(): all of it, if the loop has no condition. */
static void script_touch_home(struct script_reader *r, size_t i, const char *effect)
{
	struct shell_word *home;

	if (i < 5 || !script_token_in(&r->t, i, " iterdir ") ||
	    !script_is_char(&r->t, i - 2, ')') || !script_is_char(&r->t, i - 3, '(') ||
	    !script_token_in(&r->t, i - 4, " home ") || r->picks)
		return;
	home = shell_alloc(r->t.arena, sizeof(*home));
	*home = word_fixed("~", SHELL_TILDE, r->t.text, r->t.arena);
	script_touch(r, effect, home);
}

/* A call like glob() expands *, ? and [ of @w. */
static void script_mark_globs(struct script_reader *r, struct shell_word *w)
{
	uint8_t *kind = shell_alloc(r->t.arena, w->text.len + 1);

	memcpy(kind, w->kind, w->text.len);
	for (size_t i = 0; i < w->text.len; i++)
		if (strchr("*?[]", w->text.s[i]) && kind[i] == SHELL_LITERAL)
			kind[i] = SHELL_GLOB;
	w->kind = kind;
}

/* @effect is done to what a loop lists: glob("/ *"), listdir("/"), os.walk("/"), Dir["/ *"]. */
static void script_touch_listed(struct script_reader *r, const char *effect)
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

		if (!globs && !script_token_in(&r->t, i, walks))
			continue;
		script_read_args(r, i + 1, &a);
		if (i >= 3)
			script_read_method(r, i, effect);
		script_touch_home(r, i, effect);
		for (size_t k = 0; k < a.count; k++) {
			if (globs)
				script_mark_globs(r, &a.words[k]);
			script_touch(r, effect, &a.words[k]);
		}
	}
}

static void script_read_remove(struct script_reader *r, size_t i, const char *effect)
{
	struct script_args a;
	bool removes_it = strcmp(effect, "mode_call") != 0;

	script_read_args(r, i + 1, &a);
	if (effect == script_removed &&
	    (r->trees || (a.count > 1 && strcmp(a.words[1].text.s, "rf") == 0))) /* vim */
		effect = "remove_tree";
	for (size_t k = 0; k < a.count; k++) {
		script_mark_globs(r, &a.words[k]);
		script_touch(r, effect, &a.words[k]);
	}
	script_read_method(r, i, effect);
	if (!a.count && !r->listed[removes_it]) {
		script_touch_listed(r, removes_it ? "remove_tree" : effect);
		script_touch_each(r, effect);
	}
	r->listed[removes_it] |= !a.count;
}

/* ---- tokens ---- */

static const char moves[] = " rename renameSync move mv copyout ";
static const char writes[] =
	" open fopen writeFileSync writeFile appendFileSync appendFile "
	"file_put_contents write_text write_bytes truncate truncateSync File IO "
	"createWriteStream copyfile copy copy2 copyFileSync cp copyFile sysopen "
	"writeTextFile copyfileobj writelines ";
static const char modes_tree[] = " chmod_R chown_R ";

/* os.kill(-1, 9), kill 9, -1, process.kill(1) */
static void script_read_kill(struct script_reader *r, size_t i)
{
	const char *s = r->t.text->text.s, *effect = NULL;

	for (size_t k = i + 1; k < r->t.count && k < i + 10 && !script_is_char(&r->t, k, ')') &&
			       !script_is_char(&r->t, k, ';'); k++) {
		bool minus = script_is_char(&r->t, k - 1, '-');

		if (r->t.tokens[k].kind != TOKEN_NAME ||
		    r->t.tokens[k].end - r->t.tokens[k].start != 1 ||
		    s[r->t.tokens[k].start] != '1')
			continue;
		if (minus)
			effect = "kill_all";
		else if (script_is_char(&r->t, k - 1, '(') || script_is_char(&r->t, k - 1, ','))
			effect = "kill_init";
	}
	if (effect)
		script_found(r, effect);
}

/* array_map("unlink", ...) calls unlink for each. */
static void script_read_callback(struct script_reader *r, size_t i)
{
	static const char maps[] = " array_map array_walk call_user_func call_user_func_array ";
	const struct shell_word *w = &r->t.tokens[i].string;

	if (i < 2 || r->t.tokens[i].kind != TOKEN_STRING || !script_token_in(&r->t, i - 2, maps))
		return;
	if (list_has(removes, w->text.s, w->text.len) || strcmp(w->text.s, "rmdir") == 0)
		script_read_remove(r, i, "remove");
	if (list_has(script_runs, w->text.s, w->text.len))
		script_read_run(r, i);
}

/* awk runs text of its input: system($1), system("rm " $1). */
static void script_read_awk_system(struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, " system "))
		return;
	if (script_is_char(&r->t, i + 1, '(') && script_is_char(&r->t, i + 2, '$'))
		script_run_input(r, NULL);
	if (i + 3 < r->t.count && r->t.tokens[i + 2].kind == TOKEN_STRING &&
	    script_is_char(&r->t, i + 3, '$'))
		script_run_input(r, &r->t.tokens[i + 2].string);
}

/* require("rimraf")(...), require("rimraf").sync(...) */
static void script_read_rimraf(struct script_reader *r, size_t i)
{
	const struct shell_word *w = &r->t.tokens[i].string;

	if (r->t.tokens[i].kind != TOKEN_STRING || strcmp(w->text.s, "rimraf") != 0 ||
	    !script_is_char(&r->t, i + 1, ')'))
		return;
	if (script_is_char(&r->t, i + 2, '('))
		script_read_remove(r, i + 1, "remove_tree");
	else if (script_is_char(&r->t, i + 2, '.') && script_token_in(&r->t, i + 3, " sync "))
		script_read_remove(r, i + 3, "remove_tree");
}

static void script_read_renamed(struct script_reader *r, size_t i)
{
	const char *effect;

	if (!script_renamed(r, i, &effect))
		return;
	if (effect && script_is_char(&r->t, i + 1, '(')) /* r'...' is a string */
		script_read_remove(r, i, effect);
	else if (!effect && !script_token_in(&r->t, i, script_runs))
		script_read_run(r, i);
}

/* {run: "..."}, f(cmd="...") and run.add("...") call nothing that runs, nor does
 * for (command of ["..."]); run.call(null, "...") does. */
static bool script_is_run(const struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, script_runs))
		return false;
	if (script_is_char(&r->t, i + 1, '.') || script_is_char(&r->t, i + 1, ':'))
		return script_token_in(&r->t, i + 2, " apply bind call __call__ ") ||
		       r->t.tokens[i + 1].start > r->t.tokens[i].end; /* run :out, "x" of Raku */
	if (script_is_char(&r->t, i + 1, '='))
		return r->awk; /* command = "x"; command | getline */
	if (script_token_in(&r->t, i, " command ") && i >= 2 && script_is_char(&r->t, i - 1, '.') &&
	    !script_token_in(&r->t, i - 2, " Sys ")) /* of OCaml */
		return false;
	return !script_token_in(&r->t, i, " cmd command ") || script_is_char(&r->t, i + 1, '(') ||
	       (i + 1 < r->t.count && r->t.tokens[i + 1].kind == TOKEN_STRING);
}

/* os.replace("x", "y") and Path("x").replace("y"), not "text".replace("x", "y") */
static bool script_is_file_replace(const struct script_reader *r, size_t i)
{
	return script_token_in(&r->t, i, " replace ") && i >= 2 &&
	       (script_token_in(&r->t, i - 2, " os ") ||
		(i >= 5 && script_token_in(&r->t, i - 5, " Path PosixPath ") &&
		 r->t.tokens[i - 3].kind == TOKEN_STRING));
}

static void script_read_token(struct script_reader *r, size_t i)
{
	if (r->t.tokens[i].kind == TOKEN_RUN) {
		r->t.tokens[i].string = script_with_variables(r, &r->t.tokens[i].string);
		script_shell(r, &r->t.tokens[i].string);
		return;
	}
	if (r->awk)
		script_read_awk(r, i);
	script_note_alias(r, i);
	script_read_callback(r, i);
	script_read_rimraf(r, i);
	script_read_other_runs(r, i);
	if (script_is_quoted_call(r, i))
		script_read_run(r, i + 1);
	if (r->awk)
		script_read_awk_system(r, i);
	if (r->alias_count && r->t.tokens[i].kind == TOKEN_NAME)
		script_read_renamed(r, i);
	if (script_is_run(r, i))
		script_read_run(r, i);
	if (script_token_in(&r->t, i, " exec eval "))
		script_read_eval(r, i);
	if (script_token_in(&r->t, i, removes_tree))
		script_read_remove(r, i, "remove_tree");
	if (script_token_in(&r->t, i, removes))
		script_read_remove(r, i, script_removed);
	if (script_token_in(&r->t, i, moves) || script_is_file_replace(r, i))
		script_read_remove(r, i, "move");
	if (script_token_in(&r->t, i, " chmod chmodSync ") && i + 1 < r->t.count &&
	    (script_is_char(&r->t, i + 1, '(') || r->t.tokens[i + 1].kind == TOKEN_NAME))
		script_read_remove(r, i, "mode_call");
	if (script_token_in(&r->t, i, modes_tree))
		script_read_remove(r, i, "mode_tree");
	if (script_token_in(&r->t, i, writes) ||
	    (i >= 2 && script_token_in(&r->t, i, " write binwrite ") &&
	     script_token_in(&r->t, i - 2, " File IO "))) {
		script_read_write(r, i);
		if (script_token_in(&r->t, i, " write_text write_bytes truncate write "))
			script_read_method(r, i, "write");
	}
	if (script_token_in(&r->t, i, " kill killpg posix_kill "))
		script_read_kill(r, i);
}

/* ---- the text as a whole ---- */

static bool script_any(const struct script_reader *r,
		       bool (*is)(const struct script_reader *r, size_t i))
{
	for (size_t i = 0; i < r->t.count; i++)
		if (is(r, i))
			return true;
	return false;
}

static bool script_is_shell(const struct script_reader *r, size_t i)
{
	static const char shells[] = " sh bash /bin/sh /bin/bash dash /bin/dash ";
	const struct shell_word *w = &r->t.tokens[i].string;

	return r->t.tokens[i].kind == TOKEN_STRING && w->text.len &&
	       list_has(shells, w->text.s, strcspn(w->text.s, " "));
}

/* Does a shell that has @s behind its name, or as its next argument, still read its input: -i, -l,
 * --login, 0<&3, not x or -c? */
static bool script_leaves_input(const char *s)
{
	if (*s == '-')
		return s[1] == '-' || !memchr(s, 'c', strcspn(s, " "));
	return !*s || strchr("<>&", s[strspn(s, "0123456789")]);
}

/* A shell that reads its input: "/bin/sh -i", ["bash"], not "bash x" or ["bash", "-c", "x"]. */
static bool script_names_shell(const struct script_reader *r, size_t i)
{
	const char *rest;

	if (!script_is_shell(r, i))
		return false;
	rest = r->t.tokens[i].string.text.s + strcspn(r->t.tokens[i].string.text.s, " ");
	if (!script_leaves_input(rest + strspn(rest, " ")))
		return false;
	i++;
	while (script_is_char(&r->t, i, ',') || script_is_char(&r->t, i, '['))
		i++;
	return i >= r->t.count || r->t.tokens[i].kind != TOKEN_STRING || script_is_shell(r, i) ||
	       script_leaves_input(r->t.tokens[i].string.text.s);
}

/* connect(...) and require("net"); sqlite3.connect(...) opens a file. */
static bool script_connects(const struct script_reader *r, size_t i)
{
	return script_token_in(&r->t, i, " socket fsockopen pfsockopen TCPSocket Socket "
				      "create_connection createConnection Sockets INET ") ||
	       (script_token_in(&r->t, i, " connect ") && i >= 2 &&
		(!script_is_char(&r->t, i - 1, '.') || script_is_char(&r->t, i - 2, ')') ||
		 script_token_in(&r->t, i - 2, " net tls "))) ||
	       script_is_module(r, i, " net tls node:net node:tls ");
}

/* Does it open a connection and run a shell on it? */
static bool script_is_remote_shell(const struct script_reader *r)
{
	return script_any(r, script_connects) &&
	       (script_any_name(&r->t, " dup2 ") || script_any(r, script_names_shell)) &&
	       script_any_name(&r->t, " exec spawn pty popen Popen call run system shell_exec "
				      "proc_open execve passthru subprocess ");
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool script_starts_itself(const struct script_reader *r)
{
	bool endless = script_any_name(&r->t, " loop ") || strstr(r->t.text->text.s, "(;;)") ||
		       (script_any_name(&r->t, " while until ") &&
			script_any_name(&r->t, " 1 True true "));

	return endless && script_any_name(&r->t, " Popen spawn fork execFile ") &&
	       script_any_name(&r->t, " __file__ __filename __FILE__ argv argv0 ");
}

/* A call of its own or of a known module: not re.exec(x), model.eval() or $db->exec(x). */
static bool script_is_function(const struct script_reader *r, size_t i)
{
	static const char modules[] = " builtins __builtins__ globalThis global window Kernel "
				      "binding TOPLEVEL_BINDING child_process cp ";

	if (i < 2)
		return true;
	if (script_is_char(&r->t, i - 1, '>'))
		return !script_is_char(&r->t, i - 2, '-');
	return !script_is_char(&r->t, i - 1, '.') || script_is_char(&r->t, i - 2, ')') ||
	       script_token_in(&r->t, i - 2, modules);
}

/* "$c", "#{c}", `${c}`: text that holds other text. */
static bool script_is_interpolated(const struct script_reader *r, size_t i)
{
	const struct script_token *t = &r->t.tokens[i];

	return i < r->t.count && (t->kind == TOKEN_STRING || t->kind == TOKEN_RUN) &&
	       (strchr(t->string.text.s, '$') || strstr(t->string.text.s, "#{"));
}

/* Are the arguments behind token @i none, or a constant, which is judged by itself? */
static bool script_is_constant_call(const struct script_reader *r, size_t i)
{
	if (!script_is_char(&r->t, i + 1, '(') || i + 2 >= r->t.count)
		return false;
	if (script_is_char(&r->t, i + 2, ')'))
		return true;
	return (r->t.tokens[i + 2].kind == TOKEN_STRING || r->t.tokens[i + 2].kind == TOKEN_RUN) &&
	       !script_is_interpolated(r, i + 2) &&
	       (script_is_char(&r->t, i + 3, ')') ||
		(script_token_in(&r->t, i, " exec eval ") && script_is_char(&r->t, i + 3, ',')));
}

/* (0, eval)(x), eval.call(null, x), eval?.(x) */
static bool script_is_indirect_call(const struct script_reader *r, size_t i)
{
	if (script_is_char(&r->t, i + 1, ')'))
		return script_is_char(&r->t, i + 2, '(');
	i += script_is_char(&r->t, i + 1, '?');
	return script_is_char(&r->t, i + 1, '.') &&
	       (script_is_char(&r->t, i + 2, '(') || script_token_in(&r->t, i + 2, " call apply "));
}

/* Does a call run the text that it is given: exec(x), eval x, then(eval)? A block is none. */
static bool script_runs_code(const struct script_reader *r, size_t i)
{
	static const char functions[] = " exec eval execfile create_function Function ";
	static const char methods[] = " instance_eval class_eval runInThisContext runInNewContext ";

	if (!(script_token_in(&r->t, i, functions) && script_is_function(r, i)) &&
	    !script_token_in(&r->t, i, methods))
		return false;
	if (script_is_char(&r->t, i + 1, '('))
		return !script_is_constant_call(r, i);
	if (script_is_char(&r->t, i + 1, '$') || script_is_char(&r->t, i + 1, '[') ||
	    script_is_interpolated(r, i + 1) || script_is_indirect_call(r, i) ||
	    (i + 1 < r->t.count && (r->t.tokens[i + 1].kind == TOKEN_NAME ||
				    r->t.tokens[i + 1].kind == TOKEN_RUN)))
		return true;
	return i >= 2 && !script_is_char(&r->t, i + 1, '{') &&
	       (script_token_in(&r->t, i, " eval Function ") ||
		script_token_in(&r->t, i - 2, " map ")) &&
	       (script_is_char(&r->t, i - 1, '(') || script_is_char(&r->t, i - 1, '='));
}

/* Is token @i the name of something that decodes, Buffer.from("...", "base64") too? */
static bool script_decodes(const struct script_reader *r, size_t i)
{
	static const char names[] = " b64decode b32decode a85decode b85decode base64 decode64 "
				    "base64_decode unhexlify fromhex unpack atob decode_base64 "
				    "decompress gzinflate pack rot13 str_rot13 convert_uu hex2bin "
				    "codecs marshal ";

	if (script_token_in(&r->t, i, names))
		return true;
	for (size_t k = i + 1; script_token_in(&r->t, i, " Buffer ") && k < r->t.count &&
	     k < i + 16; k++)
		if (r->t.tokens[k].kind == TOKEN_STRING &&
		    list_has(" base64 hex base64url ", r->t.tokens[k].string.text.s,
			     r->t.tokens[k].string.text.len))
			return true;
	return false;
}

/* Variables that hold decoded text: c = b64decode("..."), then d = c.decode(). */
struct script_decoded {
	size_t names[SCRIPT_VARIABLES_MAX]; /* tokens */
	size_t count;
};

static bool script_is_decoded(const struct script_reader *r, const struct script_decoded *d,
			      size_t from, size_t end)
{
	for (size_t i = from; i < end && i < r->t.count; i++) {
		if (script_decodes(r, i))
			return true;
		for (size_t k = 0; r->t.tokens[i].kind == TOKEN_NAME && k < d->count; k++)
			if (script_is_same_text(r, d->names[k], i))
				return true;
	}
	return false;
}

/* The end of the statement that token @i is in: a ;, or a new line outside of brackets that goes on
 * nothing: not behind =, nor with a dot. */
static size_t script_statement_end(const struct script_reader *r, size_t i)
{
	const struct script_token *t = r->t.tokens;
	size_t end = i + 1;

	for (int depth = 0; end < r->t.count && end < i + 64; end++) {
		if (script_is_char(&r->t, end, ';') ||
		    (depth <= 0 && !script_is_char(&r->t, end, '.') &&
		     !script_is_char(&r->t, end - 1, '=') &&
		     memchr(r->t.text->text.s + t[end - 1].end, '\n',
			    t[end].start - t[end - 1].end)))
			break;
		depth += script_is_char(&r->t, end, '(') || script_is_char(&r->t, end, '[');
		depth -= script_is_char(&r->t, end, ')') || script_is_char(&r->t, end, ']');
	}
	return end;
}

/* Note the names that the = or in at token @i gives a value: c, d = x; my ($c) = x; c: str = x;
 * d["c"] += x; for c in x. */
static void script_note_decoded(const struct script_reader *r, size_t i, struct script_decoded *d)
{
	for (size_t k = i; k-- > 0 && i - k < 12 && d->count < SCRIPT_VARIABLES_MAX;) {
		const struct script_token *t = &r->t.tokens[k];

		if (script_is_char(&r->t, k, ';') || script_is_char(&r->t, k, '{') ||
		    memchr(r->t.text->text.s + t->end, '\n', t[1].start - t->end))
			return;
		if (t->kind == TOKEN_NAME && (k + 1 == i || t[1].kind != TOKEN_NAME) &&
		    !script_is_char(&r->t, k + 1, '$') && !script_is_char(&r->t, k + 1, '('))
			d->names[d->count++] = k;
	}
}

static bool script_sets(const struct script_reader *r, size_t i)
{
	if (script_token_in(&r->t, i, " in of "))
		return true;
	return i && script_is_char(&r->t, i, '=') && !script_is_char(&r->t, i + 1, '=') &&
	       !script_is_char(&r->t, i + 1, '>') && !script_is_char(&r->t, i - 1, '=') &&
	       !script_is_char(&r->t, i - 1, '!');
}

/* c = b64decode("..."), import b64decode as d */
static bool script_find_decoded(struct script_reader *r, struct script_decoded *d)
{
	for (size_t i = 1; i < r->t.count && d->count < SCRIPT_VARIABLES_MAX; i++) {
		size_t end;

		if (i + 1 < r->t.count && script_token_in(&r->t, i, " as ") &&
		    script_decodes(r, i - 1))
			d->names[d->count++] = i + 1;
		if (!script_sets(r, i))
			continue;
		end = script_statement_end(r, i);
		if (!script_step(r, (end - i) * (2 + d->count)))
			return false;
		if (script_is_decoded(r, d, i + 1, end))
			script_note_decoded(r, i, d);
	}
	return true;
}

/* c.exec(x) behind c = require("child_process") */
static bool script_is_of_child_process(const struct script_reader *r, size_t i)
{
	for (size_t k = 4; i >= 2 && script_is_char(&r->t, i - 1, '.') && k < r->t.count; k++)
		if (script_is_module(r, k, " child_process node:child_process ") &&
		    script_is_same_text(r, k - 4, i - 2))
			return true;
	return false;
}

static bool script_runs_command(struct script_reader *r, size_t i)
{
	const char *effect;

	if (script_token_in(&r->t, i, " exec "))
		return script_is_function(r, i) || (script_step(r, r->t.count / 8) &&
						    script_is_of_child_process(r, i));
	return script_token_in(&r->t, i, script_sure_runs) ||
	       (r->t.tokens[i].kind == TOKEN_NAME && script_is_char(&r->t, i + 1, '(') &&
		script_renamed(r, i, &effect) && !effect);
}

/* os.system(b64decode("...")), also by way of variables, which a function may use before they are
 * set */
static bool script_runs_decoded(struct script_reader *r)
{
	struct script_decoded d = { .count = 0 };

	if (!script_find_decoded(r, &d))
		return false;
	for (size_t i = 0; i < r->t.count && script_step(r, 1); i++) {
		size_t end;

		if (!script_runs_command(r, i))
			continue;
		end = script_statement_end(r, i);
		if (!script_step(r, (end - i) * (2 + d.count)))
			return false;
		if (script_is_decoded(r, &d, i + 1, end))
			return true;
	}
	return false;
}

/* fork(), fork while 1, {fork}: a call, not a word of prose. */
static bool script_forks(const struct script_reader *r, size_t i)
{
	return script_token_in(&r->t, i, " fork vfork pcntl_fork ") &&
	       (i + 1 >= r->t.count || r->t.tokens[i + 1].kind != TOKEN_NAME ||
		script_token_in(&r->t, i + 1,
				" while until for foreach if unless or and fork end do "));
}

/* while True: os.fork(): both that come back from it go on alike. */
static bool script_forks_blindly(const struct script_reader *r, size_t i)
{
	size_t end = i + 1;

	if (!script_forks(r, i))
		return false;
	if (script_is_char(&r->t, end, '(') && script_is_char(&r->t, end + 1, ')'))
		end += 2;
	if (i >= 2 && script_token_in(&r->t, i - 2, " os Process "))
		i -= 2;
	if (i && !script_is_char(&r->t, i - 1, '{') && !script_is_char(&r->t, i - 1, ':') &&
	    !script_is_char(&r->t, i - 1, ';') && !script_is_char(&r->t, i - 1, ')'))
		return false;
	return end >= r->t.count || script_is_char(&r->t, end, ';') ||
	       script_is_char(&r->t, end, '}') || script_statement_end(r, end - 1) == end ||
	       script_token_in(&r->t, end, " while until ");
}

/* A child that ends, or is waited for, is no bomb; nor are the workers of a cluster. */
static bool script_is_fork_bomb(const struct script_reader *r)
{
	static const char ends[] = " exit _exit wait waitpid wait3 wait4 execv execvp execve execl "
				   "execlp isMaster isPrimary isWorker ";

	if (script_any_name(&r->t, ends) && !script_any(r, script_forks_blindly))
		return false;
	return script_starts_itself(r) ||
	       (script_any(r, script_forks) &&
		script_any_name(&r->t, " while until loop for "));
}

/* Names that together mean harm, wherever in the text they are. */
static void script_read_names(struct script_reader *r)
{
	bool runs_code = script_any(r, script_runs_code);

	if (script_is_fork_bomb(r))
		script_found(r, "process.fork_bomb");
	if (script_is_remote_shell(r) || (runs_code && script_any(r, script_fetches)))
		script_found(r, "pipe.remote");
	if (script_any(r, script_decodes) && (runs_code || script_runs_decoded(r)))
		script_found(r, "pipe.decoded");
}

/* ctypes.CDLL(None).reboot(0x4321fedc) */
static void script_read_library_calls(struct script_reader *r)
{
	static const uint8_t kind[6];
	struct shell_word *word;

	if (!script_any_name(&r->t, " CDLL cdll PyDLL LoadLibrary dlopen ") ||
	    !script_any_name(&r->t, " reboot "))
		return;
	word = shell_alloc(r->t.arena, sizeof(*word));
	*word = (struct shell_word){ .text = { .s = "reboot", .len = 6 }, .kind = kind,
				     .start = r->t.text->start, .end = r->t.text->end };
	action_words(r->out, word, 1, ACTION_LENIENT);
}

static void script_read_whole(struct script_reader *r)
{
	script_read_library_calls(r);
	script_read_names(r);
}

void script_read(const struct shell_word *text, bool awk, const struct place *at,
		 struct action_list *out)
{
	struct script_reader r = { .t = { .text = text, .arena = out->arena }, .awk = awk,
				 .at = at, .out = out };

	if (!action_charge(out, WORK_TEXT + text->text.len))
		return;
	script_tokenize(&r.t);
	script_note_renames(&r);
	r.trees = script_any_name(&r.t, " recursive directory ") ||
		  strstr(text->text.s, "fs-extra");
	r.write_flags = script_any_name(&r.t, " O_WRONLY O_RDWR O_TRUNC ");
	r.codes = script_any_name(&r.t, " chr fromCharCode bytes bytearray pack Char ");
	r.getline = awk && script_any_name(&r.t, " getline ");
	r.picks = script_any_name(&r.t, " if ");
	for (size_t i = 1; i < r.t.count; i++) /* f(x) for x in ["a"]: used before assigned */
		if (script_token_in(&r.t, i, " in "))
			script_note_variable(&r, i - 1);
	for (size_t i = 0; i < r.t.count && script_step(&r, 1); i++) {
		script_read_token(&r, i);
		script_note_variable(&r, i);
	}
	if (!awk)
		script_read_whole(&r);
}
