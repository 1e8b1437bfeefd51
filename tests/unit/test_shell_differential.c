/*
 * The parser against real shells. Syntax: random texts are given to `dash -n` and
 * `bash -n`, which run nothing. Words: random quoting and expansion of constants,
 * printed by the shells' own printf; there is no command in those words but printf.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "shell/parse.h"
#include "shell/words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXTS 150

extern char **environ;

static uint32_t seed = 20240917;

static size_t pick(size_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* ---- shells ---- */

static const char *find_shell(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "/bin/%s", name);
	if (access(path, X_OK) == 0)
		return path;
	snprintf(path, sizeof(path), "/usr/bin/%s", name);
	return access(path, X_OK) == 0 ? path : NULL;
}

/* Runs @shell @option @text; what it wrote to stdout in @out. Returns its exit status. */
static int run_shell(const char *shell, const char *option, const char *text, struct buf *out)
{
	char *argv[] = { (char *)(uintptr_t)shell, (char *)(uintptr_t)option, (char[]){ "-c" },
			 (char *)(uintptr_t)text, NULL };
	posix_spawn_file_actions_t actions;
	int pipes[2], status;
	char chunk[4096];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addclose(&actions, pipes[0]);
	assert_int_equal(posix_spawn(&pid, shell, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	while ((n = read(pipes[0], chunk, sizeof(chunk))) > 0)
		buf_add(out, chunk, (size_t)n);
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- syntax ---- */

static const char *const pieces[] = {
	"a", "b c", "x=1", "'q r'", "\"d $x\"", "$x", "${x:-y}", "$(a)", "$((1+2))", ";", "&", "&&",
	"||", "|", "\n", "(", ")", "{ ", " }", "if a", "; then", "; else", "; fi", "while a", "; do",
	"; done", "for i in a b", "case x in", "a)", ";;", "esac", "f()", "! a", "> f", "2>&1", "< f",
	"<<E\nt\nE\n", "<<'E'\n$x\nE\n", "# c\n", "\\\n", "\\;", "<(a)", "{a,b}", "~", "[x]", "elif b",
	"do", "until a", "<<<w", "$'x'", "|&", "=", "$", "\"", "'", "[[ a ]]",  "a=(b c)", "a+=b",
	"function f {", "((1))", "for ((;;))", "select x in a", "time a", "&>f", "coproc a",
	";&", "{d}>f", "a[1]=b", "!", "<<-E\n\tt\nE\n", "$(( 1", "${x", "f() (a)", "echo() { a; }",
};

static const char *const frames[] = {
	"%s; %s", "%s && %s", "( %s ) | %s", "{ %s; }; %s", "if %s; then %s; fi",
	"while %s; do %s; done", "for i in a; do %s; %s; done", "case x in a) %s;; *) %s;; esac",
	"f() { %s; }; %s", "a $( %s) %s", "\"$( %s)\" %s", "%s &\n%s", "%s <<'E'\n%s\nE\n", "%s # %s",
	"a ${x:-%s} %s", "! %s | %s",
};

static void add_text(struct buf *b, unsigned depth)
{
	if (depth == 0 || pick(3) == 0) {
		buf_adds(b, pieces[pick(COUNT(pieces))]);
		return;
	}
	for (const char *p = frames[pick(COUNT(frames))]; *p; p++) {
		if (p[0] != '%') {
			buf_addc(b, *p);
			continue;
		}
		add_text(b, depth - 1);
		p++;
	}
}

static enum shell_trouble trouble_of(const char *text, enum shell_family family)
{
	struct shell_setup setup = { .family = family };
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text t = { .s = text, .len = strlen(text) };
	struct shell_script s;
	enum shell_trouble trouble;

	shell_parse_with(&t, &setup, &budget, &s);
	trouble = s.trouble;
	shell_script_free(&s);
	return trouble;
}

/* What bash takes is shell text for any sh, what neither takes is none; each alone decides its own. */
static void compare_syntax(const char *dash, const char *bash, const char *text)
{
	struct buf unused;

	buf_init(&unused, 65536);
	bool in_dash = run_shell(dash, "-n", text, &unused) == 0;
	bool in_bash = run_shell(bash, "-n", text, &unused) == 0;
	enum shell_trouble ours = trouble_of(text, SHELL_FAMILY_POSIX);
	bool as_dash = trouble_of(text, SHELL_FAMILY_DASH) == SHELL_FINE;
	bool as_bash = trouble_of(text, SHELL_FAMILY_BASH) == SHELL_FINE;

	buf_release(&unused);
	if (in_dash != as_dash)
		fail_msg("dash %s it, and as dash we do not: %s", in_dash ? "takes" : "refuses", text);
	if (in_bash != as_bash)
		fail_msg("bash %s it, and as bash we do not: %s", in_bash ? "takes" : "refuses", text);
	if (in_bash && ours != SHELL_FINE)
		fail_msg("bash takes it, we do not (%d): %s", ours, text);
	if (!in_dash && !in_bash && ours == SHELL_FINE)
		fail_msg("no shell takes it, we do: %s", text);
}

static void test_shell_differential_syntax(void **state)
{
	char *dash = mem_strdup(find_shell("dash")), *bash = mem_strdup(find_shell("bash"));

	(void)state;
	if (!dash || !bash) {
		free(dash);
		free(bash);
		print_message("SKIP shell_differential: dash or bash is not installed\n");
		skip();
	}
	for (size_t i = 0; i < TEXTS; i++) {
		struct buf b;

		buf_init(&b, 65536);
		add_text(&b, 3);
		compare_syntax(dash, bash, b.data);
		buf_release(&b);
	}
	free(dash);
	free(bash);
}

/* ---- words ---- */

/* Of quoting and expansion, what both shells know; then what only bash knows. */
static const char *const word_pieces[] = {
	"a", "b", " ", " ", "'c d'", "\"e f\"", "\\g", "\\ ", "${x}", "\"$x\"", "${x}", "${x#p}", "${x%%q*}",
	"${none-d e}", "\"${none:-f g}\"", "${x:+h}", "$((2*3))", "''", "\"\"", "$#", "$1", "$@", "\"$@\"",
	"${#x}", "\\\n", "\"\\$x\\\\\"", "'\\'", "${y}", "\"$y\"", "/", ".", "-", "=", "${x##*q}",
};
static const char *const bash_pieces[] = {
	"{i,j}", "{1..3}", "$x{,/n} ", "$n{x,y} ",
	"$'k\\x6c'", "${x/q/r}", "${x//p}", "${x:1}", "${x:0:2}", "${x^^}",
	"${a[1]}", "\"${a[@]}\"", "${a[*]}", "{m}", "{m}n,o}", "${x: -1}",
};

static void our_words(const char *text, struct buf *out)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text t = { .s = text, .len = strlen(text) };
	struct shell_script s;

	shell_parse_with(&t, NULL, &budget, &s);
	if (s.trouble != SHELL_FINE)
		fail_msg("%s: %s", s.trouble_text, text);
	/* The last command of the first reading that is a printf. */
	for (size_t i = 0; i < s.command_count; i++) {
		struct shell_command *c = &s.commands[i];

		if (c->word_count < 2 || strcmp(c->words[0].text.s, "printf") != 0)
			continue;
		for (size_t k = 2; k < c->word_count; k++) {
			const char *word = shell_word_constant(&c->words[k]);

			if (!word)
				fail_msg("not resolved: %s", text);
			buf_addf(out, "<%s>", word);
		}
		if (c->word_count == 2)
			buf_adds(out, "<>");
		break;
	}
	shell_script_free(&s);
}

static void compare_words(const char *shell, bool bash)
{
	struct buf text, theirs, ours;

	buf_init(&text, 65536);
	buf_init(&theirs, 65536);
	buf_init(&ours, 65536);
	buf_adds(&text, "set -f; x=pqpq; y='s t'; set -- u 'v w'; ");
	if (bash)
		buf_adds(&text, "a=(1 '2 3'); nx=4; ny='5 6'; ");
	buf_adds(&text, "printf '<%s>' ");
	for (size_t n = 1 + pick(8); n > 0; n--)
		buf_adds(&text, bash && pick(3) == 0 ? bash_pieces[pick(COUNT(bash_pieces))]
						     : word_pieces[pick(COUNT(word_pieces))]);
	our_words(text.data, &ours);
	assert_int_equal(run_shell(shell, "-f", text.data, &theirs), 0);
	if (strcmp(ours.data, theirs.data) != 0)
		fail_msg("%s\nours   %s\n%s %s", text.data, ours.data, shell, theirs.data);
	buf_release(&text);
	buf_release(&theirs);
	buf_release(&ours);
}

static void words_of(const char *name)
{
	const char *shell = find_shell(name);

	if (!shell) {
		print_message("SKIP shell_differential: %s is not installed\n", name);
		skip();
	}
	for (size_t i = 0; i < TEXTS; i++)
		compare_words(shell, strcmp(name, "bash") == 0);
}

static void test_shell_differential_words_of_dash(void **state)
{
	(void)state;
	words_of("dash");
}

static void test_shell_differential_words_of_bash(void **state)
{
	(void)state;
	words_of("bash");
}

/* ---- words without a shell ---- */

#define BRACE_WORDS 2000

static const char *const brace_pieces[] = {
	"{", "{", "{", "}", "}", "}", ",", "..", "..", ".", "1", "-23", "+0", "a", "Z", "xy", "=",
	"''", "'1'", "'p,q'", "\"..\"", "\\{", "\\}", "\\,", "\\\n",
	"{}", "{,}", "{1..3}", "{a..c..2}", "{m}", "\"'{,}'\"",
};

/* What bash makes more of than one word, or another one, is refused. */
static void compare_split(const char *word, const char *theirs)
{
	ERR_LOCAL(e);
	char **words = NULL, ours[512];

	snprintf(ours, sizeof(ours), "f %s", word);
	if (shell_words_split(ours, &words, &e)) {
		err_release(&e);
		return;
	}
	assert_non_null(words[1]);
	assert_null(words[2]);
	snprintf(ours, sizeof(ours), "1 %s", words[1]);
	if (strcmp(ours, theirs) != 0)
		fail_msg("%s\nours %s\nbash %s", word, ours, theirs);
	mem_list_free(words);
}

static void test_shell_differential_braces_without_a_shell(void **state)
{
	static char words[BRACE_WORDS][128];
	const char *shell = find_shell("bash");
	struct buf text, theirs;
	char *line, *rest;

	(void)state;
	if (!shell) {
		print_message("SKIP shell_differential: bash is not installed\n");
		skip();
	}
	buf_init(&text, 128 * 1024);
	buf_init(&theirs, 1 << 20);
	buf_adds(&text, "f() { printf '%s %s\\n' $# \"$1\"; }\n");
	for (size_t i = 0; i < BRACE_WORDS; i++) {
		for (size_t n = 1 + pick(8); n > 0; n--)
			strcat(words[i], brace_pieces[pick(COUNT(brace_pieces))]);
		strcat(words[i], "x"); /* no piece joins what follows */
		buf_addf(&text, "f %s\n", words[i]);
	}
	assert_false(text.full);
	assert_int_equal(run_shell(shell, "-f", text.data, &theirs), 0);
	line = strtok_r(theirs.data, "\n", &rest);
	for (size_t i = 0; i < BRACE_WORDS; i++, line = strtok_r(NULL, "\n", &rest)) {
		assert_non_null(line);
		compare_split(words[i], line);
	}
	assert_null(line);
	buf_release(&text);
	buf_release(&theirs);
}

/* ---- variables ---- */

/* Those of a clean environment, and what shells set themselves. */
static const char *const variable_names[] = {
	"PWD", "PPID", "IFS", "PS1", "PS2", "PS4", "OPTIND", "OPTERR", "SHELL", "RANDOM",
	"SECONDS", "UID", "EUID", "HOSTNAME", "LINENO", "SHLVL", "HOSTTYPE", "OSTYPE", "MACHTYPE",
	"OLDPWD", "USER", "LOGNAME", "BASH", "BASHPID", "BASHOPTS", "SHELLOPTS",
	"BASH_VERSION", "BASH_SUBSHELL", "BASH_COMMAND", "BASH_EXECUTION_STRING",
	"BASH_SOURCE", "BASH_LINENO", "BASH_ENV", "FUNCNAME", "COMP_WORDBREAKS", "HISTFILE", "MAIL",
	"COLUMNS", "LINES", "REPLY", "PROMPT_COMMAND", "CDPATH", "0", "#", "$", "?", "!", "@",
};

/* May the last word of @text be empty, as far as we know? */
static bool may_be_empty(const char *text, enum shell_family family)
{
	struct shell_setup setup = { .family = family };
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text t = { .s = text, .len = strlen(text) };
	struct shell_script s;
	bool empty = true; /* also when there is no such word */

	shell_parse_with(&t, &setup, &budget, &s);
	assert_int_equal(s.trouble, SHELL_FINE);
	for (size_t i = 2; i < s.commands[0].word_count; i++) {
		const struct shell_word *w = &s.commands[0].words[i];
		const struct shell_unknown *unknown = shell_word_unknown(w, 0);

		empty &= w->text.len == 0 || (unknown && !unknown->is_set);
	}
	shell_script_free(&s);
	return empty;
}

/* What is empty there must be so to us. And what bash sets is set for us, where it is bash. */
static void variables_of(const char *name, enum shell_family family)
{
	char *clean[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "HOME=/" },
				 (char[]){ "SHELL=/bin/sh" }, (char[]){ "LANG=C.UTF-8" },
				 (char[]){ "TERM=dumb" }, NULL };
	char **own = environ;
	const char *shell = find_shell(name);

	if (!shell) {
		print_message("SKIP shell_differential: %s is not installed\n", name);
		skip();
	}
	environ = clean;
	for (size_t i = 0; i < COUNT(variable_names); i++) {
		struct buf theirs;
		char text[64];
		bool empty, ours;

		buf_init(&theirs, 4096);
		snprintf(text, sizeof(text), "printf %%s \"${%s}\"", variable_names[i]);
		assert_int_equal(run_shell(shell, "-f", text, &theirs), 0);
		empty = theirs.len == 0;
		ours = may_be_empty(text, family);
		buf_release(&theirs);
		if (empty && !ours)
			fail_msg("%s has no %s, we say it does", name, variable_names[i]);
		if (!empty && ours && family == SHELL_FAMILY_BASH)
			fail_msg("%s has %s, we say it may not", name, variable_names[i]);
	}
	environ = own;
}

static void test_shell_differential_variables_of_dash(void **state)
{
	(void)state;
	variables_of("dash", SHELL_FAMILY_DASH);
}

static void test_shell_differential_variables_of_bash(void **state)
{
	(void)state;
	variables_of("bash", SHELL_FAMILY_BASH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shell_differential_syntax),
		cmocka_unit_test(test_shell_differential_words_of_dash),
		cmocka_unit_test(test_shell_differential_words_of_bash),
		cmocka_unit_test(test_shell_differential_braces_without_a_shell),
		cmocka_unit_test(test_shell_differential_variables_of_dash),
		cmocka_unit_test(test_shell_differential_variables_of_bash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
