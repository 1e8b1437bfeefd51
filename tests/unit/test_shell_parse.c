/* The texts in this file are data to read. None of them is ever run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "shell/parse.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a script as text ---- */

/* Literals as they are; globs as "\*"; a home "<~>"; unknown "<name>", "<*name>" for fields, with
 * a ! behind the name if it is not empty; "<-" and "->" around what may be missing. */
static void put_word(struct buf *b, const struct shell_word *w)
{
	for (size_t i = 0; i <= w->text.len; i++) {
		const struct shell_unknown *u = shell_word_unknown(w, i);

		if (w->gone_to && i == w->gone_from)
			buf_adds(b, "<-");
		if (w->gone_to && i == w->gone_to)
			buf_adds(b, "->");
		if (i == w->text.len)
			break;
		switch (w->kind[i]) {
		case SHELL_LITERAL:
			buf_addc(b, w->text.s[i]);
			break;
		case SHELL_GLOB:
			buf_addf(b, "\\%c", w->text.s[i]);
			break;
		case SHELL_TILDE:
			buf_adds(b, "<~>");
			break;
		default:
			buf_addf(b, "<%s%s%s>", w->kind[i] == SHELL_UNKNOWN_FIELDS ? "*" : "",
				 u ? u->name : "", u && u->is_set ? "!" : "");
		}
	}
	if (w->content) {
		buf_adds(b, "{");
		put_word(b, w->content);
		buf_adds(b, "}");
	}
}

static void put_command(struct buf *b, const struct shell_command *c)
{
	static const char *const ops[] = { ">", ">>", "<", "<>", "<<", "<<<", "&" };

	for (size_t i = 0; i < c->assign_count; i++) {
		buf_addf(b, "%s=", c->assigns[i].name);
		put_word(b, &c->assigns[i].value);
		buf_adds(b, " ");
	}
	for (size_t i = 0; i < c->word_count; i++) {
		buf_adds(b, i > 0 ? "|" : "");
		put_word(b, &c->words[i]);
	}
	for (size_t i = 0; i < c->redirect_count; i++) {
		if (c->redirects[i].fd >= 0)
			buf_addf(b, " %d%s", c->redirects[i].fd, ops[c->redirects[i].op]);
		else
			buf_addf(b, " %s", ops[c->redirects[i].op]);
		put_word(b, &c->redirects[i].target);
	}
	if (c->input) {
		buf_adds(b, " INPUT ");
		put_word(b, c->input);
	}
	buf_adds(b, "\n");
}

static void put_script(struct buf *b, const struct shell_script *s)
{
	for (size_t i = 0; i < s->command_count; i++)
		put_command(b, &s->commands[i]);
	if (s->trouble != SHELL_FINE)
		buf_addf(b, "TROUBLE %d\n", s->trouble);
}

static void parse(const char *text, struct shell_script *s)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text t = { .s = text, .len = strlen(text) };

	shell_parse_with(&t, NULL, &budget, s);
}

static void assert_commands(const char *text, const char *expected)
{
	struct shell_script s;
	struct buf b;

	buf_init(&b, 1 << 20);
	parse(text, &s);
	put_script(&b, &s);
	if (strcmp(b.data ? b.data : "", expected) != 0)
		fail_msg("%s\n--- is\n%s--- should be\n%s", text, b.data ? b.data : "", expected);
	buf_release(&b);
	shell_script_free(&s);
}

struct example {
	const char *text, *commands;
};

static void assert_examples(const struct example *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_commands(list[i].text, list[i].commands);
}

/* ---- the language ---- */

static void test_shell_parse_quoting(void **state)
{
	static const struct example list[] = {
		{ "r\"\"m '-r'f \\/", "rm|-rf|/\n" },
		{ "a\\\nb c", "ab|c\n" },
		{ "\"a\\\nb\" 'a\\b' \"a\\b\\$\"", "ab|a\\b|a\\b$\n" },
		{ "\"\" '' x", "|" "|x\n" },
		{ "a\\", "a\\\n" },
		{ "echo $ a$ \"$\"", "echo|$|a$|$\n" },
		{ "echo \"it's\"", "echo|it's\n" },
		{ "# nothing", "" },
		{ "a # b\nc#d", "a\nc#d\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
	/* To dash the $ of $'...' is a character: both readings. */
	assert_commands("$'\\x72\\155'", "rm\n$\\x72\\155\n");
}

static void test_shell_parse_two_readings(void **state)
{
	static const struct example list[] = {
		/* For bash one string, for dash a string and two commands. */
		{ "echo $'\\'; b; #'", "echo|'; b; #\necho|$\\\nb\n" },
		{ "((a b))", "a|b\n" },
		{ "a &>f", "a >f\na\n >f\n" },
		{ "[[ a && b ]]", "[[|a|b\n[[|a\nb|]]\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

static void test_shell_parse_commands(void **state)
{
	static const struct example list[] = {
		{ "a;b&c&&d||e|f\ng", "a\nb\nc\nd\ne\nf\ng\n" },
		{ "! a | b", "a\nb\n" },
		{ "(a; b) | { c; }", "a\nb\nc\n" },
		{ "if a; then b; elif c; then d; else e; fi", "a\nb\nc\nd\ne\n" },
		{ "while a; do b; done; until c; do d; done", "a\nb\nc\nd\n" },
		{ "for x in 1 2; do a $x; done", "a|1\na|2\n" },
		{ "for x do a; done", "a\n" },
		{ "case x in (a|b) c;; *) d ;; esac", "c\nd\n" },
		{ "f() { a; }; b", "b\na\n" },
		{ "f() { a \"$1\"; }; f x; f y", "f|x\na|x\nf|y\na|y\n" },
		{ "f() (a) >x; f", "f\n >x\na\n" },
		{ "x=1 a >f 2>>g <h 3<>i 2>&1", "x=1 a >f 2>>g <h 3<>i 2&1\n" },
		{ "a >& f", "a >f\n" },
		{ "{ a; } >f", " >f\na\n" },
		{ "a=1 b=2", "a=1 b=2 \n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
	assert_commands("time -p a", "a\n");
	assert_commands("time -v a", "time|-v|a\n");
}

static void test_shell_parse_here(void **state)
{
	static const struct example list[] = {
		{ "a <<E\nx $HOME\nE\nb", "a <<x <~>\n INPUT x <~>\n\nb\n" },
		{ "a <<'E'\n$x\nE", "a <<$x\n INPUT $x\n\n" },
		{ "a <<-E\n\tx\n\tE\nb", "a <<x\n INPUT x\n\nb\n" },
		{ "a <<E; b <<F\n1\nE\n2\nF", "a <<1\n INPUT 1\n\nb <<2\n INPUT 2\n\n" },
		{ "a <<E\nno end", "a <<no end INPUT no end\n" },
		{ "a <<<'x y'", "a <<<x y INPUT x y\n\n" },
		{ "a <<E\n$(b)\nE", "a <<<$(b)>\n INPUT <$(b)>\n\nb\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

static void test_shell_parse_substitution(void **state)
{
	static const struct example list[] = {
		{ "a $(b) `c` \"$(d)\"", "a|<*$(b)>|<*$(c)>|<$(d)>\nb\nc\nd\n" },
		{ "a `b \\`c\\``", "a|<*$(b)>\nb|<*$(c)>\nc\n" },
		{ "a ${x:-$(b)}", "a|<*$(b)>\nb\n" },
		{ "a $(case x in y) b;; esac)", "a|<*$(b)>\nb\n" },
		{ "a <(echo x) >(b)", "a|<<(!>{x\n}|<>(!>\necho|x\nb\n" },
		{ "a $((b(1)))", "a|<$(())>\n" },
		{ "a $((b); (c))", "a|<*$(b)><*$(c)>\nb\nc\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

/* ---- what is known ---- */

static void test_shell_parse_variables(void **state)
{
	static const struct example list[] = {
		{ "x=a; $x b", "x=a \na|b\n" },
		{ "x='a b'; $x \"$x\"", "x=a b \na|b|a b\n" },
		{ "x=a; x=$x$x; $x", "x=a \nx=aa \naa\n" },
		{ "export x=a; $x; unset x; b $x", "export|x=a\na\nunset|x\nb\n" },
		{ "b $x \"$x\" $x/y", "b|<*x>|<x>|<*x>/y\n" },
		{ "b $1 $@ \"$@\" c$*", "b|c\n" },
		{ "b $HOME \"$HOME/x\" ~/y ~u", "b|<~>|<~>/x|<~>/y|<~>u\n" },
		{ "HOME=/; b ~ $HOME", "HOME=/ \nb|/|/\n" },
		{ "set -- a b; c $2 $# \"$@\"", "set|--|a|b\nc|b|2|a|b\n" },
		{ "(x=a); b $x", "x=a \nb|<*x>\n" },
		{ "x=a b $x; c $x", "x=a b|<*x>\nc|<*x>\n" },
		{ "a=(x y); b \"${a[@]}\" ${a[1]} ${#a[@]}", "a=x \nb|x|y|y|2\n" },
		{ "declare -A m=([k]=v); b ${m[k]}", "m=v declare|-A\nb|v\n" },
		{ "IFS=,; x=a,b; $x", "IFS=, \nx=a,b \na|b\n" },
		{ "a${IFS}b", "a|b\n" },
		{ "printf -v x %s a; $x", "printf|-v|x|%s|a\na\n" },
		{ "read x y <<< 'a b'; $y", "read|x|y <<<a b INPUT a b\n\nb\n" },
		{ "cd /; b $PWD", "cd|/\nb|/\n" },
		{ "f() { local x=a; $x; }; f; $x", "f\nlocal|x=a\na\n<*x>\n" },
		{ "b ${x?}/c ${x:-}/c ${x:?}/c ${x:-}/c", "b|<*x>/c|/c|<*x!>/c|<*x!>/c\n" },
		{ "a && b ${x:?}; c $x; if b ${x:?}; then c $x; fi; c $x",
		  "a\nb|<*x!>\nc|<*x>\nb|<*x!>\nc|<*x!>\nc|<*x!>\n" },
		{ "if a; then b ${x:?}; fi; c $x", "a\nb|<*x!>\nc|<*x>\n" },
		{ "b \"${HOME:?}\" ${HOME:?a}/c ${PWD:?}", "b|<~>|<~>/c|<*PWD!>\n" },
		{ "x=$(y); b \"$x\" ${x:?} \"$x\"; x=a$z; b ${x:?}",
		  "x=<$(y)> \ny\nb|<$(y)>|<*$(y)!>|<$(y)!>\nx=a<z> \nb|a<*z>\n" },
		{ "x=; b ${x:?}/c; unset x; b ${x?}/c", "x= \nb|<*x!>/c\nunset|x\nb|<*x!>/c\n" },
		{ "x=$HOME/; b ${x%/}; x=$HOME; b ${x%/}", "x=<~>/ \nb|<~>\nx=<~> \nb|<~>\n" },
		{ "b $0 ${0%/*} $UID $USER $OLDPWD $PPID $#",
		  "b|/bin/sh|/bin|<*UID>|<*USER>|<*OLDPWD>|<*PPID!>|0\n" },
		{ "b $PWD $(mktemp) \"$$\" $x", "b|<*PWD!>|<*$(mktemp)!>|<$!>|<*x>\nmktemp\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

static void test_shell_parse_operators(void **state)
{
	static const struct example list[] = {
		{ "x=abcabc; b ${#x} ${x#a} ${x##*b} ${x%c} ${x%%b*}", "x=abcabc \nb|6|bcabc|c|abcab|a\n" },
		{ "x=abc; b ${x/b/X} ${x//[ac]/-} ${x/#a} ${x/%c/d}", "x=abc \nb|aXc|-b-|bc|abd\n" },
		{ "x=abc; b ${x:1} ${x:1:1} ${x: -1} ${x^} ${x^^}", "x=abc \nb|bc|b|c|Abc|ABC\n" },
		{ "y=x; x=a; b ${!y} ${z:-c} ${x:+d} ${x-e}", "y=x \nx=a \nb|a|c|d|a\n" },
		{ "b ${HOME:0:1} ${HOME%/}", "b|/|<~>\n" },
		{ "b $((1+2*3)) $((0x10)) $((-(2-5)))", "b|7|16|3\n" },
		{ "b $((7/2)) $((1?5:6)) $((1<2))", "b|<$(())>|<$(())>|<$(())>\n" },
		{ "x=4; b $((x+1)) $((x=x*2)) $x", "x=4 \nb|5|8|8\n" },
		{ "x=4; b $((x+=2)) \"$x\"; x=4; let ++x; b \"$x\"",
		  "x=4 \nb|<$(())>|<$(())!>\nx=4 \nlet|++x\nb|<$(())!>\n" },
		{ "x=4; b $((x>=2)) $((x <<= 1)) \"$x\"",
		  "x=4 \nb|<$(())>|<$(())>|<$(())!>\n" },
		{ "x=4; b $((x==2)) $((x<<1)) $x", "x=4 \nb|<$(())>|<$(())>|4\n" },
		{ "b {a,b}c {1..3} {} {a} x{,y}", "b|ac|bc|1|2|3|{}|{a}|x|xy\n" },
		{ "b {a}b,c} {a..}b,c} {a{1..2}b}c,d}", "b|a}b|c|a..}b|c|a1b}c|a2b}c|d\n" },
		{ "b {a..{b,c}} {a..'b,c'} {a..b.c} {a,b{c}", "b|a..b|a..c|a..b,c|{a..b.c}|{a,b{c}\n" },
		{ "b @(x|y) +(z) a?(u) !(a|b)c '@(q)' @(x@(*.c|d)|!(e))",
		  "b|x|y|z|a|au|\\*c|@(q)|x\\*.c|xd|\\*\n" },
		{ "b * a? [ab] '*' [", "b|\\*|a\\?|\\[ab\\]|*|[\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

static void test_shell_parse_output(void **state)
{
	static const struct example list[] = {
		{ "$(echo a) b", "a|b\necho|a\n" },
		{ "x=`printf '%s%s' a b`; $x", "x=ab \nprintf|%s%s|a|b\nab\n" },
		{ "echo a | tr a b | c", "echo|a\ntr|a|b INPUT a\n\nc INPUT b\n\n" },
		{ "echo YWI= | base64 -d | c", "echo|YWI=\nbase64|-d INPUT YWI=\n\nc INPUT ab\n" },
		{ "c <<< $(rev <<< ba)", "c <<<ab INPUT ab\n\nrev <<<ba INPUT ba\n\n" },
		{ "$(which a)", "/usr/bin/a\nwhich|a\n" },
		{ "false && echo x; a $(false && echo x || echo y)",
		  "false\necho|x\na|y\nfalse\necho|x\necho|y\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

/* A command behind && may not run, and then its output is missing. */
static void test_shell_parse_missing(void **state)
{
	static const struct example list[] = {
		{ "x=$(test && echo b); c $x/d ${x:?}", "x=<-b-> \ntest\necho|b\nc|<-b->/d|b\n" },
		{ "x=$(test && pwd); c $x ${x:?}",
		  "x=<$(pwd)> \ntest\npwd\nc|<*$(pwd)>|<*$(pwd)!>\n" },
		{ "x=e$(test && echo $y/b)f; c $x",
		  "x=e<y><-/b->f \ntest\necho|<*y>/b\nc|e<*y><-/b->f\n" },
		{ "c $(echo a && echo b) $(false && echo b)",
		  "c|a|b\necho|a\necho|b\nfalse\necho|b\n" },
		{ "c $(test && echo b || echo d) $(test && echo b || :)",
		  "c|b|<-b->\ntest\necho|b\necho|d\ntest\necho|b\n:\n"
		  "c|d|<-b->\ntest\necho|b\necho|d\ntest\necho|b\n:\n" },
		{ "c $(test || exit; echo b) $(test || { echo d; exit; }; echo b)",
		  "c|<-b->|d|<-b->\ntest\nexit\necho|b\ntest\necho|d\nexit\necho|b\n" },
		{ "c $(if test; then echo b; fi) $(if test; then echo b; else echo d; fi)",
		  "c|<-b->|b\ntest\necho|b\ntest\necho|b\necho|d\n"
		  "c|<-b->|d\ntest\necho|b\ntest\necho|b\necho|d\n" },
		{ "x=$(test && echo b) && c $x; c $x",
		  "x=<-b-> \ntest\necho|b\nc|b\nc|<-b->\n" },
		{ "x=$(test && echo b) || exit; c $x",
		  "x=<-b-> \ntest\necho|b\nexit\nc|b\n" },
		{ "set -e; x=\"$(test && echo b)\"; c $x", "set|-e\nx=<-b-> \ntest\necho|b\nc|b\n" },
		{ "set -e; x=$(test && echo b) || d; c $x",
		  "set|-e\nx=<-b-> \ntest\necho|b\nd\nc|<-b->\n" },
		{ "set -euo pipefail; c $1", "set|-euo|pipefail\nc|<*1!>\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

static void test_shell_parse_choices(void **state)
{
	static const struct example list[] = {
		{ "if a; then x=1; else x=2; fi; b $x", "a\nx=1 \nx=2 \nb|1\nb|2\n" },
		{ "x=1; a && x=2; b $x", "x=1 \na\nx=2 \nb|2\nb|1\n" },
		{ "for c in r m; do x=$x$c; done", "x=<x>r \nx=<x>rm \n" },
		{ "eval 'a; b'", "eval|a; b\na\nb\n" },
		{ "eval \"a '$x'\"", "eval|a '<x>'\na|<x>\n" },
		{ "alias x='a b'; x c", "alias|x=a b\nx|c\na|b|c\n" },
	};

	(void)state;
	assert_examples(list, COUNT(list));
}

/* ---- places ---- */

static void test_shell_parse_places(void **state)
{
	static const char text[] = "x=abc; echo $(b \"$x\") | c";
	struct shell_script s;

	(void)state;
	parse(text, &s);
	assert_int_equal(s.command_count, 4);
	assert_int_equal(s.commands[1].start, 7);
	assert_int_equal(s.commands[1].end, 21);
	assert_int_equal(s.commands[2].parent, 1);
	assert_true(s.commands[2].context & SHELL_IN_SUBSTITUTION);
	assert_int_equal(s.commands[2].words[1].start, 16);
	assert_int_equal(s.commands[2].words[1].end, 20);
	/* The characters of a value keep the place where they were written. */
	assert_int_equal(s.commands[2].words[1].text.at[0], 2);
	assert_int_equal(s.commands[3].piped_from, 1);
	shell_script_free(&s);

	parse(":(){ :|:& };:", &s);
	assert_int_equal(s.function_count, 1);
	assert_string_equal(s.functions[0].name, ":");
	for (uint32_t i = s.functions[0].first; i < s.functions[0].last; i++)
		assert_true(s.commands[i].context & SHELL_BACKGROUND);
	assert_int_equal(s.commands[s.functions[0].first + 1].piped_from, s.functions[0].first);
	shell_script_free(&s);
}

/* A text inside a text: what was assigned before its command, and unknown stays unknown. */
static void test_shell_parse_nested(void **state)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_script outer, inner;
	struct shell_setup setup = { .outer = &outer, .exported_only = true };
	struct buf b;

	(void)state;
	parse("x=1; export y=2; sh -c \"a $z '$z' \\$x \\$y\"; x=3 sh -c 'b $x'", &outer);
	for (size_t i = 2; i < 4; i++) {
		buf_init(&b, 4096);
		setup.outer_command = (uint32_t)i;
		shell_parse_word(&outer.commands[i].words[2], &setup, &budget, &inner);
		put_script(&b, &inner);
		assert_string_equal(b.data, i == 2 ? "a|<*z>|<z>|<*x>|2\n" : "b|3\n");
		buf_release(&b);
		shell_script_free(&inner);
	}
	shell_script_free(&outer);
}

/* ---- refusals and bounds ---- */

/* bash sets variables of its own, also in a text that it runs itself. */
static void test_shell_parse_for_bash(void **state)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_script outer, inner;
	struct shell_setup setup = { .family = SHELL_FAMILY_BASH };
	const char *text = "a $UID $USER 'b $RANDOM'";
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	shell_parse_with(&(struct shell_text){ text, NULL, strlen(text) }, &setup, &budget, &outer);
	put_script(&b, &outer);
	assert_string_equal(b.data, "a|<*UID!>|<*USER>|b $RANDOM\n");
	for (int other = 0; other < 2; other++) {
		setup = (struct shell_setup){ .outer = &outer, .exported_only = other };
		buf_clear(&b);
		shell_parse_word(&outer.commands[0].words[3], &setup, &budget, &inner);
		put_script(&b, &inner);
		assert_string_equal(b.data, other ? "b|<*RANDOM>\n" : "b|<*RANDOM!>\n");
		shell_script_free(&inner);
	}
	buf_release(&b);
	shell_script_free(&outer);
}

/* What is read twice for some sh, and what is no text, says the shell that reads it. */
static void test_shell_parse_of_families(void **state)
{
	static const struct {
		const char *text, *posix, *dash, *bash; /* NULL: refused */
	} cases[] = {
		{ "a &> b", "a >b\na\n >b\n", "a >b\na\n >b\n", "a >b\n" },
		{ "[[ a > b ]]", "[[|a|b\n[[|a|]] >b\n", "[[|a|b\n[[|a|]] >b\n", "[[|a|b\n" },
		{ "a $'b'", "a|b\na|$b\n", "a|b\na|$b\n", "a|b\n" },
		{ "x=(a); b", "x=a \nb\n", NULL, "x=a \nb\n" },
		{ "a <(b)", "a|<<(!>{<$(b)>}\nb\n", NULL, "a|<<(!>{<$(b)>}\nb\n" },
		{ "[[ a", NULL, "[[|a\n[[|a\n", NULL },
		{ "f() a; b", "b\na\n", "b\na\n", NULL },
		{ "b !(c)", "b|\\*\n", NULL, "b|\\*\n" },
		{ "a >&2>b", "a &2 >b\n", NULL, "a &2 >b\n" },
		{ "a >&12>b", "a &12 >b\n", "a &12 >b\na &12 >b\n", "a &12 >b\n" },
		{ "a >{d}>b", NULL, "a >\na >{d} >b\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *expected[] = { cases[i].posix, cases[i].dash, cases[i].bash };

		for (size_t k = 0; k < COUNT(expected); k++) {
			struct shell_setup setup = { .family = (enum shell_family)k };
			struct shell_budget budget = SHELL_BUDGET_INIT;
			struct shell_script s;
			struct buf b;

			buf_init(&b, 4096);
			shell_parse_with(&(struct shell_text){ cases[i].text, NULL,
							       strlen(cases[i].text) },
					 &setup, &budget, &s);
			put_script(&b, &s);
			if (s.trouble != (expected[k] ? SHELL_FINE : SHELL_SYNTAX) ||
			    (expected[k] && strcmp(b.data, expected[k])))
				fail_msg("%s, family %zu: %d\n%s", cases[i].text, k, s.trouble,
					 b.data ? b.data : "");
			buf_release(&b);
			shell_script_free(&s);
		}
	}
}

static void test_shell_parse_refuses(void **state)
{
	static const char *const texts[] = {
		"'", "\"", "`", "$(", "${x", "$((1", "(", "a)", "{ a", "a; }", "if a; then b", "fi",
		"for", "for x in", "case x in a", "a &&", "| a", "a | | b", "; a", "a ;; b", "a <", "a > > b",
		"a << ", "f( x", "() a", "do a", "a=(", "$'", "while a; done", "[[ a", "a () ", "\"$(\"",
		"a > 2>b", "a >>2<b", "a <1>&2",
		/* A delimiter for bash, none for dash; a body for dash, commands for bash. */
		"a <<EOF\nEO\\\nF\nb\nEOF", "a $(b <<E)\nx\nE",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct shell_script s;

		parse(texts[i], &s);
		if (s.trouble != SHELL_SYNTAX)
			fail_msg("\"%s\" is taken for a shell text (%d)", texts[i], s.trouble);
		assert_non_null(s.trouble_text);
		shell_script_free(&s);
	}
}

static void assert_bound(const char *piece, size_t times, const char *before, enum shell_trouble t)
{
	struct buf b;
	struct shell_script s;

	buf_init(&b, 8u << 20);
	buf_adds(&b, before);
	for (size_t i = 0; i < times; i++)
		buf_adds(&b, piece);
	parse(b.data, &s);
	if (s.trouble != t)
		fail_msg("%zu times \"%s\": %d %s", times, piece, s.trouble,
			 s.trouble_text ? s.trouble_text : "");
	shell_script_free(&s);
	buf_release(&b);
}

static void test_shell_parse_bounds(void **state)
{
	(void)state;
	assert_bound("( ", 100000, "", SHELL_TOO_DEEP);
	assert_bound("$(", 100000, "", SHELL_TOO_DEEP);
	assert_bound("${x:-", 100000, "", SHELL_TOO_DEEP);
	assert_bound("a\n", 99999, "", SHELL_FINE);
	assert_bound("a\n", 400000, "", SHELL_TOO_LONG);
	assert_bound("x=$x$x;", 40, "x=aaaaaaaa;", SHELL_TOO_LONG);
	assert_bound("{a,b}", 40, "echo ", SHELL_TOO_LONG);
	assert_bound("f;f;f;f;", 1, "f(){ f; };", SHELL_FINE);
	assert_bound("a", 1 << 20, "", SHELL_FINE);
}

/* A text with a NUL is none; an empty one is nothing. */
static void test_shell_parse_odd_texts(void **state)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text nul = { .s = "a\0b", .len = 3 }, empty = { .s = "", .len = 0 };
	struct shell_script s;

	(void)state;
	shell_parse_with(&nul, NULL, &budget, &s);
	assert_int_equal(s.trouble, SHELL_SYNTAX);
	assert_int_equal(s.trouble_at, 1);
	shell_script_free(&s);
	shell_parse_with(&empty, NULL, &budget, &s);
	assert_int_equal(s.trouble, SHELL_FINE);
	assert_int_equal(s.command_count, 0);
	shell_script_free(&s);
}

/* A newline that the shell adds to a word at the end of the text has its place in the text. */
static void test_shell_parse_ends_with_the_text(void **state)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text t = { .s = ". /dev/stdin <<< 'a\\'", .len = 21 };
	struct shell_script s;

	(void)state;
	shell_parse_with(&t, NULL, &budget, &s);
	assert_int_equal(s.command_count, 2);
	assert_string_equal(s.commands[1].words[0].text.s, "a");
	assert_true(s.commands[1].end <= t.len);
	shell_script_free(&s);
}

/* ---- lines ---- */

/* The text with "|" at the end of each complete line, and "!" where only comments and empty lines
 * come before it; "..." at the end: more is awaited. */
static void expect_lines(const char *text, const char *expected)
{
	struct shell_lines lines;
	struct buf b;
	size_t from = 0;

	buf_init(&b, 4096);
	shell_lines_read(text, strlen(text), &lines);
	for (size_t i = 0; i < lines.count; i++) {
		buf_add(&b, text + from, lines.idle[i] - from);
		if (lines.idle[i] < lines.ends[i])
			buf_addc(&b, '!');
		buf_add(&b, text + lines.idle[i], lines.ends[i] - lines.idle[i]);
		buf_addc(&b, '|');
		from = lines.ends[i];
	}
	buf_adds(&b, text + from);
	if (lines.open)
		buf_adds(&b, "...");
	assert_string_equal(b.data, expected);
	buf_release(&b);
	free(lines.ends);
	free(lines.idle);
}

static void test_shell_lines_end_where_the_shell_runs_them(void **state)
{
	(void)state;
	expect_lines("", "");
	expect_lines("\n\n", "\n!\n|");
	expect_lines("# a\n \n", "# a\n! \n|");
	expect_lines("a\n# b", "a\n# b");
	expect_lines("a\nb; c\n", "a\n|b; c\n|");
	expect_lines("a\n  b # it's\n# don't\nc", "a\n|  b # it's\n!# don't\n|c");
	expect_lines("a;\n# b \\\nc\n\n", "a;\n# b \\\nc\n!\n|");
	expect_lines("a 'b\n# c'\n\t# d\n", "a 'b\n# c'\n!\t# d\n|");
	expect_lines("cat <<E; b\n# c\nE\n# d\n", "cat <<E; b\n# c\nE\n!# d\n|");
	expect_lines("{ a\n# b\n}\n\n  ", "{ a\n# b\n}\n!\n|  ");
	expect_lines("a \\\n# b\n# c\n", "a \\\n# b\n!# c\n|");
	expect_lines("if a; then\nb\nfi\nc\n", "if a; then\nb\nfi\n|c\n|");
	expect_lines("f() {\na\n}\nf\n", "f() {\na\n}\n|f\n|");
	expect_lines("a 'b\nc'\nd\n", "a 'b\nc'\n|d\n|");
	expect_lines("cat <<E\n'\nE\nd\n", "cat <<E\n'\nE\n|d\n|");
	expect_lines("a &&\nb\n", "a &&\nb\n|");
	expect_lines("a \\\nb\n", "a \\\nb\n|");
	expect_lines("a \\\\\n", "a \\\\\n|");
}

static void test_shell_lines_are_open(void **state)
{
	static const char *const texts[] = {
		"echo 'a", "echo \"a\n", "echo \"$(a", "echo `a", "echo $'a\\'", "echo ${a", "echo ${a/b",
		"echo ${a:1", "echo $((1", "((1", "[[ a", "a=(b", "(a\n", "{ a\n", "if a\n",
		"if a; then b\n", "while a; do\n", "for i in a\n", "case a in\n", "f()\n", "f() {",
		"a |\n", "a ||", "a && ", "a \\", "a \\\n", "cat <<E", "cat <<E\na\n", "cat <<-'E'\n\tE ",
		"cat <<E\n${a\n",
	};
	char text[64], expected[64];

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		snprintf(text, sizeof(text), "x\n%s", texts[i]);
		snprintf(expected, sizeof(expected), "x\n|%s...", texts[i]);
		expect_lines(text, expected);
	}
}

/* What no further text can mend is not open: a wrong word, a quote in closed backquotes. */
static void test_shell_lines_end_at_a_mistake(void **state)
{
	(void)state;
	expect_lines("a\nfi\nb\n", "a\n|fi\nb\n");
	expect_lines("a\n)", "a\n|)");
	expect_lines("echo `a 'b`\n", "echo `a 'b`\n");
	expect_lines("if a; then fi", "if a; then fi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shell_parse_quoting),
		cmocka_unit_test(test_shell_parse_two_readings),
		cmocka_unit_test(test_shell_parse_commands),
		cmocka_unit_test(test_shell_parse_here),
		cmocka_unit_test(test_shell_parse_substitution),
		cmocka_unit_test(test_shell_parse_variables),
		cmocka_unit_test(test_shell_parse_operators),
		cmocka_unit_test(test_shell_parse_output),
		cmocka_unit_test(test_shell_parse_missing),
		cmocka_unit_test(test_shell_parse_choices),
		cmocka_unit_test(test_shell_parse_places),
		cmocka_unit_test(test_shell_parse_nested),
		cmocka_unit_test(test_shell_parse_for_bash),
		cmocka_unit_test(test_shell_parse_of_families),
		cmocka_unit_test(test_shell_parse_refuses),
		cmocka_unit_test(test_shell_parse_bounds),
		cmocka_unit_test(test_shell_parse_odd_texts),
		cmocka_unit_test(test_shell_parse_ends_with_the_text),
		cmocka_unit_test(test_shell_lines_end_where_the_shell_runs_them),
		cmocka_unit_test(test_shell_lines_are_open),
		cmocka_unit_test(test_shell_lines_end_at_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
