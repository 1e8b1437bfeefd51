/* Calls that run a command or a text, by whatever name they were given. */
#include "blocklist/code_reader.h"

#include <string.h>

#include "blocklist/args.h"
#include "blocklist/code.h"
#include "blocklist/wrap.h"

const char code_runs[] =
	" system popen Popen exec execl execlp execle execv execvp execve execvpe spawn spawnl "
	"spawnlp "
	"spawnv spawnvp spawnSync execSync execFile execFileSync call check_call check_output run "
	"getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec popen2 popen3 capture2 "
	"capture2e capture3 posix_spawn posix_spawnp execute spawn_shell create_subprocess_shell "
	"create_subprocess_exec sh command cmd CreateProcess startProcess Command outputOf "
	"exec_sync $ ";

static const char run_names[] = " system popen Popen exec run call check_output execSync spawn ";

/* ---- other names ---- */

static bool same_text(const struct code_reader *r, size_t i, size_t k)
{
	const struct code_token *a = &r->t.tokens[i], *b = &r->t.tokens[k];

	return a->end - a->start == b->end - b->start &&
	       memcmp(r->t.text->text.s + a->start, r->t.text->text.s + b->start,
		      a->end - a->start) == 0;
}

/* s = os.system, const e = require("child_process").execSync */
void code_note_alias(struct code_reader *r, size_t i)
{
	if (!code_token_in(&r->t, i, code_runs) || code_is_char(&r->t, i + 1, '(') ||
	    !code_is_char(&r->t, i - 1, '.') || r->alias_count == CODE_ALIASES_MAX)
		return;
	for (size_t k = i; k-- > 1 && i - k < 10 && !code_is_char(&r->t, k, ';');)
		if (code_is_char(&r->t, k, '=') && r->t.tokens[k - 1].kind == TOKEN_NAME) {
			r->aliases[r->alias_count++] = k - 1;
			return;
		}
}

/* from os import system as s, {execSync: e}: another name for a call. */
void code_note_renames(struct code_reader *r)
{
	for (size_t k = 2; k < r->t.count && r->alias_count < CODE_ALIASES_MAX; k++)
		if (r->t.tokens[k].kind == TOKEN_NAME &&
		    (code_is_char(&r->t, k - 1, ':') || code_token_in(&r->t, k - 1, " as ")) &&
		    code_token_in(&r->t, k - 2, code_runs))
			r->aliases[r->alias_count++] = k;
}

bool code_renamed(const struct code_reader *r, size_t i)
{
	for (size_t k = 0; k < r->alias_count; k++)
		if (same_text(r, r->aliases[k], i))
			return r->aliases[k] != i;
	return false;
}

/* ---- calls ---- */

/* exec rm -rf / of Tcl: bare words to the end of the line. */
static void read_bare(struct code_reader *r, size_t i)
{
	const struct shell_text *t = &r->t.text->text;
	size_t from = r->t.tokens[i].end, to = from;
	struct shell_word *text;

	if (!code_token_in(&r->t, i, " exec spawn ") || i + 1 >= r->t.count ||
	    r->t.tokens[i + 1].kind != TOKEN_NAME)
		return;
	while (to < t->len && t->s[to] != '\n' && t->s[to] != ';')
		to++;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = shell_wrap_slice(r->t.text, from, to, r->t.arena);
	code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
}

/* os.system(requests.get(url).text), exec(sys.stdin.read()) */
static void read_run_source(struct code_reader *r, size_t i, size_t end)
{
	static const char fetches[] = " urlopen requests httpx curl_exec file_get_contents "
				      "create_connection makefile recv ";

	for (size_t k = i + 1; k < end && k < i + 12 && r->t.tokens[k].kind != TOKEN_STRING; k++) {
		if (code_token_in(&r->t, k, fetches))
			code_found(r, "pipe.remote");
		if (code_token_in(&r->t, k, " stdin STDIN "))
			code_add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
	}
}

void code_read_run(struct code_reader *r, size_t i)
{
	struct code_args a;
	struct shell_word *words;

	code_read_args(r, i + 1, &a);
	if (code_token_in(&r->t, i, " system popen exec eval ") &&
	    code_is_char(&r->t, i + 1, '('))
		read_run_source(r, i, a.end);
	if (!a.count && i >= 2 && code_is_char(&r->t, i - 1, '.') &&
	    r->t.tokens[i - 2].kind == TOKEN_STRING)
		a.words[a.count++] = r->t.tokens[i - 2].string; /* "text".execute() */
	if (!a.count)
		read_bare(r, i);
	if (!a.count)
		return;
	words = shell_alloc(r->t.arena, a.count * sizeof(*words));
	for (size_t k = 0; k < a.count; k++)
		words[k] = code_with_variables(r, &a.words[k]);
	code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, words, 1 });
	if (a.count > 1) {
		code_add_call(r, (struct blocklist_code_call){ CODE_WORDS, NULL, words, a.count });
		/* execl("/bin/rm", "rm", "-rf", "/"): the name is there twice. */
		if (a.count > 2)
			code_add_call(r, (struct blocklist_code_call){ CODE_WORDS, NULL, words + 1,
								       a.count - 1 });
	}
}

/* eval("...") of a constant */
void code_read_eval(struct code_reader *r, size_t i)
{
	struct code_args a;
	struct shell_word *text;

	code_read_args(r, i + 1, &a);
	if (!a.count)
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = a.words[0];
	code_add_call(r, (struct blocklist_code_call){ CODE_NESTED, NULL, text, 1 });
}

/* getattr(os, "system")("..."), require("child_process")["exec"]("...") */
bool code_is_quoted_call(const struct code_reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];

	return t->kind == TOKEN_STRING &&
	       (code_is_char(&r->t, i + 1, ')') || code_is_char(&r->t, i + 1, ']')) &&
	       code_is_char(&r->t, i + 2, '(') &&
	       blocklist_listed(run_names, t->string.text.s, t->string.text.len);
}

/* shell "TEXT" of Raku, "TEXT".! of Scala, system $_ of Perl. */
void code_read_other_runs(struct code_reader *r, size_t i)
{
	if (code_token_in(&r->t, i, " shell ") && i + 1 < r->t.count &&
	    (r->t.tokens[i + 1].kind == TOKEN_STRING ||
	     (code_is_char(&r->t, i + 1, '(') && i + 2 < r->t.count &&
	      r->t.tokens[i + 2].kind == TOKEN_STRING)))
		code_read_run(r, i);
	if (r->t.tokens[i].kind == TOKEN_STRING && code_is_char(&r->t, i + 1, '.') &&
	    code_is_char(&r->t, i + 2, '!'))
		code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL,
							       &r->t.tokens[i].string, 1 });
	if (code_token_in(&r->t, i, " system exec eval ") && code_is_char(&r->t, i + 1, '$') &&
	    code_token_in(&r->t, i + 2, " _ "))
		code_add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
}

/* ---- awk ---- */

/* awk: print "x" > "/dev/sda", print | "sh", "cmd" | getline */
void code_read_awk(struct code_reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];
	struct shell_word *text;

	if (t->kind != TOKEN_STRING)
		return;
	if (i && code_is_char(&r->t, i - 1, '>'))
		code_add_effect(r, "write", &t->string);
	if (strncmp(t->string.text.s, "/inet/", 6) == 0 && r->getline)
		code_found(r, "pipe.remote");
	if ((i && code_is_char(&r->t, i - 1, '|')) || code_is_char(&r->t, i + 1, '|')) {
		text = shell_alloc(r->t.arena, sizeof(*text));
		*text = t->string;
		code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
	}
}
