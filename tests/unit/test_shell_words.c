#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "shell/words.h"

struct split_case {
	const char *text;
	const char *words[8]; /* NULL-terminated */
};

static void test_shell_words_splits_like_a_shell(void **state)
{
	static const struct split_case cases[] = {
		{ "ls", { "ls" } },
		{ "  ls \t -l  \n", { "ls", "-l" } },
		{ "echo 'a b' \"c d\"", { "echo", "a b", "c d" } },
		{ "echo a'b'\"c\"d", { "echo", "abcd" } },
		{ "echo '' \"\"", { "echo", "", "" } },
		{ "echo '$x `y` * \\'", { "echo", "$x `y` * \\" } },
		{ "echo \"\\$x \\\" \\\\ \\` \\n 'q'\"", { "echo", "$x \" \\ ` \\n 'q'" } },
		{ "echo a\\ b \\* \\$x \\~ \\#", { "echo", "a b", "*", "$x", "~", "#" } },
		{ "echo a\\\nb \\\n c", { "echo", "ab", "c" } },
		{ "echo \"a\\\nb\"", { "echo", "ab" } },
		{ "echo 'a\nb'", { "echo", "a\nb" } },
		{ "echo a\\ ", { "echo", "a " } },
		{ "echo \"a$ $\"", { "echo", "a$ $" } },
		{ "echo a\\\\ ", { "echo", "a\\" } },
		{ "echo a\\\\\n", { "echo", "a\\" } },
		{ "dd if=/dev/zero of=x", { "dd", "if=/dev/zero", "of=x" } },
		{ "git show HEAD@{1} a~1 b#c", { "git", "show", "HEAD@{1}", "a~1", "b#c" } },
		{ "find . -name {}", { "find", ".", "-name", "{}" } },
		{ "echo {a} a{b,c d,e} {a','b}", { "echo", "{a}", "a{b,c", "d,e}", "{a,b}" } },
		{ "echo \"{a,b}\" \\{1..3} {a\\,b}", { "echo", "{a,b}", "{1..3}", "{a,b}" } },
		{ "git log @{u}..@{1},x", { "git", "log", "@{u}..@{1},x" } },
		{ "echo {a,b{c} {a,b x{..}y", { "echo", "{a,b{c}", "{a,b", "x{..}y" } },
		{ "echo {1..} {a..}", { "echo", "{1..}", "{a..}" } },
		{ "echo {1..x} {a..1} {1..2x}", { "echo", "{1..x}", "{a..1}", "{1..2x}" } },
		{ "echo {ab..c} {1...3} {1.3}", { "echo", "{ab..c}", "{1...3}", "{1.3}" } },
		{ "echo {1..2..} {1..2..x}", { "echo", "{1..2..}", "{1..2..x}" } },
		{ "echo {'1'..3} {1..\\3} {1..''3}", { "echo", "{1..3}", "{1..3}", "{1..3}" } },
		{ "echo {a}{b} {} {},b} a,b}", { "echo", "{a}{b}", "{}", "{},b}", "a,b}" } },
		{ "scp a:~/b c=d~ --e=~", { "scp", "a:~/b", "c=d~", "--e=~" } },
		{ "echo if then }", { "echo", "if", "then", "}" } },
		{ "'if' x", { "if", "x" } },
		{ "i\\f x", { "if", "x" } },
		{ "[ -f x ]", { "[", "-f", "x", "]" } },
		{ "'A=b' c", { "A=b", "c" } },
		{ "1A=b c", { "1A=b", "c" } },
		{ "echo \xc3\xa9 '\xe2\x82\xac'", { "echo", "\xc3\xa9", "\xe2\x82\xac" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ERR_LOCAL(e);
		char **words = NULL;
		size_t n = 0;

		if (shell_words_split(cases[i].text, &words, &e) != 0)
			fail_msg("%s: %s", cases[i].text, e.message);
		for (; cases[i].words[n]; n++) {
			assert_non_null(words[n]);
			assert_string_equal(words[n], cases[i].words[n]);
		}
		assert_null(words[n]);
		mem_list_free(words);
	}
}

static void test_shell_words_refuses_what_needs_a_shell(void **state)
{
	static const struct {
		const char *text, *what;
		int at;
	} cases[] = {
		{ "ls | wc", "an operator", 3 },
		{ "ls; pwd", "an operator", 2 },
		{ "ls &", "an operator", 3 },
		{ "a && b", "an operator", 2 },
		{ "ls > x", "an operator", 3 },
		{ "cat <x", "an operator", 4 },
		{ "ls 2>x", "an operator", 4 },
		{ "(ls)", "an operator", 0 },
		{ "f() x", "an operator", 1 },
		{ "ls\npwd", "a second line", 2 },
		{ "echo $x", "an expansion", 5 },
		{ "echo a$x", "an expansion", 6 },
		{ "echo \"$x\"", "an expansion", 6 },
		{ "echo `x`", "an expansion", 5 },
		{ "echo \"`x`\"", "an expansion", 6 },
		{ "ls *.c", "a file name pattern", 3 },
		{ "ls a?", "a file name pattern", 4 },
		{ "ls [ab]", "a file name pattern", 3 },
		{ "cd ~", "a home directory", 3 },
		{ "cd ~root/x", "a home directory", 3 },
		{ "dd of=~/x", "a home directory", 6 },
		{ "x y=a:~", "a home directory", 6 },
		{ "cp x.{c,h} y", "an expansion", 5 },
		{ "echo a{1..3}", "an expansion", 6 },
		{ "echo {3..-1}", "an expansion", 5 },
		{ "echo {1.\\\n.3}", "an expansion", 5 },
		{ "echo {+01..3..-2}", "an expansion", 5 },
		{ "echo {a..Z}", "an expansion", 5 },
		{ "echo {a..c..2}", "an expansion", 5 },
		{ "echo {{a..c}x", "an expansion", 5 },
		{ "echo {a}..{b..c}", "an expansion", 5 },
		{ "echo {,}", "an expansion", 5 },
		{ "echo {a}b,c}", "an expansion", 5 },
		{ "echo a{},b}", "an expansion", 6 },
		{ "echo ''{},b}", "an expansion", 7 },
		{ "echo {a,{b,c}", "an expansion", 5 },
		{ "echo {a{b},c}", "an expansion", 5 },
		{ "echo {a{b,c}", "an expansion", 5 },
		{ "echo {a..'b,c'}", "an expansion", 5 },
		{ "echo {'a b',c}", "an expansion", 5 },
		{ "{echo,a}", "an expansion", 0 },
		{ "ls #x", "a comment", 3 },
		{ "# x", "a comment", 0 },
		{ "A=b c", "an assignment", 0 },
		{ "A=", "an assignment", 0 },
		{ "if x", "a reserved word", 0 },
		{ "{ ls", "a reserved word", 0 },
		{ "! ls", "a reserved word", 0 },
		{ "while true", "a reserved word", 0 },
		{ "echo 'a", "not closed", 5 },
		{ "echo \"a", "not closed", 5 },
		{ "echo \"a\\\"", "not closed", 5 },
		{ "echo a\\", "a backslash", 6 },
		{ "echo a$", "an expansion", 6 },
		{ "echo $'a'", "an expansion", 5 },
		{ "echo `x", "a backquote that is not closed", 5 },
		{ "echo a $(x", "not closed", 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ERR_LOCAL(e);
		char **words = NULL;
		char at[32];

		snprintf(at, sizeof(at), "at byte %d ", cases[i].at);
		if (shell_words_split(cases[i].text, &words, &e) == 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_int_equal(e.type, ERR_INVALID_PARAMS);
		assert_null(words);
		if (!strstr(e.message, cases[i].what) || !strstr(e.message, at))
			fail_msg("%s: \"%s\" and \"%s\" are not in: %s", cases[i].text,
				 cases[i].what, at, e.message);
		assert_non_null(strstr(e.hint, "args"));
	}
}

static void test_shell_words_refuses_no_words(void **state)
{
	static const char *const texts[] = { "", " ", "\n\t ", "\\\n", " \\\n " };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ERR_LOCAL(e);
		char **words = NULL;

		assert_int_equal(shell_words_split(texts[i], &words, &e), -1);
		assert_int_equal(e.type, ERR_INVALID_PARAMS);
		assert_null(words);
	}
}

static void test_shell_words_many_words(void **state)
{
	enum { COUNT = 60000 };
	char *text = malloc(2 * COUNT + 1);
	ERR_LOCAL(e);
	char **words = NULL;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		memcpy(text + 2 * i, "x ", 3);
	assert_int_equal(shell_words_split(text, &words, &e), 0);
	while (words[n])
		n++;
	assert_int_equal(n, COUNT);
	mem_list_free(words);
	free(text);
}

static void test_shell_words_program_of_simple_commands(void **state)
{
	static const struct {
		const char *text, *program;
	} cases[] = {
		{ "frob", "frob" },
		{ "  frob -x  \n", "frob" },
		{ "frob $x \"$(date)\" `y` *.c ~ ${z:-a b}", "frob" },
		{ "frob $(echo ')' \"(\" | wc)", "frob" },
		{ "frob \"a $(b \"c\") d\"", "frob" },
		{ "frob $((1 + 2))", "frob" },
		{ "frob '|' \"&\" \\;", "frob" },
		{ "A=1 B=\"$x y\" C=$(date) frob", "frob" },
		{ "'frob' x", "frob" },
		{ "\"my prog\" x", "my prog" },
		{ "\\frob", "frob" },
		{ "fr'o'b", "frob" },
		{ "./run.sh a", "./run.sh" },
		{ "/bin/echo x", "/bin/echo" },
		{ "dir/if x", "dir/if" },
		{ "'if' x", "if" },
		{ "echo2 x", "echo2" },
		{ "fr{ob} x", "fr{ob}" },
		{ "frob a#b {a,b} a=b", "frob" },
		{ "frob $", "frob" },
		{ "frob $(x # )\n)", "frob" },
		{ "frob $(cat << E\n)\nE\n)", "frob" },
		{ "frob > x", "frob" },
		{ "frob 2>&1", "frob" },
		{ "frob <x y >>$z 2>/dev/null -v", "frob" },
		{ "frob 2>&- <&- >|x <>y", "frob" },
		{ "frob # x", "frob" },
		{ "frob >x # y\n", "frob" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *program = shell_words_program(cases[i].text);

		if (!program)
			fail_msg("not recognised: %s", cases[i].text);
		assert_string_equal(program, cases[i].program);
		free(program);
	}
}

static void test_shell_words_program_leaves_the_rest_to_the_shell(void **state)
{
	static const char *const texts[] = {
		"", " ", "echo x", "cd /", "'cd' /", "[ -f x ]", ". ./x", ": x", "exec frob",
		"true", "time frob", "frob; ls", "frob | wc", "frob && ls", "frob &", "frob >",
		"frob > # x", "frob <x | wc", "frob 2>&1; ls", "frob << E\nE", "frob <<- E\nE",
		"frob <<< x", "frob <(x)", "frob > >(x)", "frob &> x", "frob >& x &", "frob > x\nls",
		"frob >x $(", "frob\nls", "2>&1 frob", ">x frob", "A=1 2>x frob", "{fd}>x frob",
		"<x 2>&1 frob", "&>x frob", "<< E frob\nE", "(frob)", "{ frob; }",
		"frob() { x; }", "if frob; then x; fi", "! frob", "for i in a", "[[ x ]]",
		"frob # x\nls", "# frob", "$frob x", "`frob`", "\"$frob\" x", "fr*b", "~/frob", "A=1",
		"A=1 B=2", "PATH=/x frob", "A=1 PATH=/x frob", "fr{o,i}b", "'f'r{o,i}b", "./{frob,x}",
		"frob 'x", "frob \"x",
		"frob \\", "frob $(x", "frob `x", "frob ${x", "frob $'a\\'b' ; ls '",
		"frob \"${x:-'}\" ; ls \"${y:-'}\"",
		"''", "'' x", "A=$(x", "frob)", "frob $(if)", "coproc frob", "frob $\"x\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *program = shell_words_program(texts[i]);

		if (program)
			fail_msg("\"%s\" gave %s", texts[i], program);
	}
}

/* "frob $(x $(x ... ))", @depth deep: is it followed? */
static bool nested_is_followed(int depth)
{
	char text[1024] = "frob ";

	for (int i = 0; i < depth; i++)
		strcat(text, "$(x ");
	for (int i = 0; i < depth; i++)
		strcat(text, ")");
	char *program = shell_words_program(text);
	bool followed = program != NULL;

	free(program);
	return followed;
}

static void test_shell_words_program_bounds_nesting(void **state)
{
	enum { DEPTH = 30000 };
	char *text = malloc(6 + 3 * DEPTH);
	char *end = stpcpy(text, "frob ");

	(void)state;
	for (int i = 0; i < DEPTH; i++)
		end = stpcpy(end, "$(x");
	assert_null(shell_words_program(text));
	free(text);
	assert_true(nested_is_followed(20));
	assert_false(nested_is_followed(40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shell_words_splits_like_a_shell),
		cmocka_unit_test(test_shell_words_refuses_what_needs_a_shell),
		cmocka_unit_test(test_shell_words_refuses_no_words),
		cmocka_unit_test(test_shell_words_many_words),
		cmocka_unit_test(test_shell_words_program_of_simple_commands),
		cmocka_unit_test(test_shell_words_program_leaves_the_rest_to_the_shell),
		cmocka_unit_test(test_shell_words_program_bounds_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
