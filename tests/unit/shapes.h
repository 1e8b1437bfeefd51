/*
 * shapes - texts that are hard to read: one piece again and again, up to a size.
 *
 * What nests without end, what multiplies when it is expanded, what makes a
 * reader look back. For tests of bounds and for the bench. Nothing here is run.
 */
#ifndef PROCPEN_TESTS_UNIT_SHAPES_H
#define PROCPEN_TESTS_UNIT_SHAPES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shape {
	const char *before, *piece, *after; /* once, as often as it fits, once */
	const char *closer; /* behind, once for each piece; or NULL */
};

static const struct shape shapes[] = {
	{ "", "true;", "", NULL },
	{ "", "true\n", "", NULL },
	{ "", "rm -rf a;", "", NULL },
	{ "", "echo x >f;", "", NULL },
	{ "a", "|a", "", NULL },
	{ "a", "&&a", "", NULL },
	{ "", "a&", "", NULL },
	{ "", "! ", "a", NULL },
	{ "echo ", "x", "", NULL },
	{ "echo ", "x ", "", NULL },
	{ "echo ", "'q' ", "", NULL },
	{ "echo ", "\"q\"", "", NULL },
	{ "echo ", "\\x", "", NULL },
	{ "echo ", "\\\n", "", NULL },
	{ "echo $'", "\\x41", "'", NULL },
	{ "echo ", "\"$x\" ", "", NULL },
	{ "echo ", "$x", "", NULL },
	{ "echo ", "$@ ", "", NULL },
	{ "echo ", "* ", "", NULL },
	{ "rm -rf ", "/*", "", NULL },
	{ "rm -rf ", "../", "", NULL },
	{ "rm -rf ", "/a/..", "", NULL },
	{ "rm ", "-r ", "x", NULL },
	{ "rm -rf ", "/tmp/x ", "", NULL },
	{ "", "x=y ", "a", NULL },
	{ "", "x=x$x;", "", NULL },
	{ "x=a;", "x=$x$x;", "echo $x", NULL },
	{ "x=a;", "x=$x$x;", "$x", NULL },
	{ "x=a;", "x=${x}b;eval $x;", "", NULL },
	{ "", "set -- \"$@\" x;", "\"$@\"", NULL },
	{ "", "a=(1 2 3);", "", NULL },
	{ "", "a+=(x);", "${a[@]}", NULL },
	{ "echo ", "{a,b}", "", NULL },
	{ "echo ", "{a,b} ", "", NULL },
	{ "echo ", "{1..9}", "", NULL },
	{ "echo ", "{1..99999} ", "", NULL },
	{ "echo ", "{a,", "", "}" },
	{ "echo ", "{", "", NULL },
	{ "echo ", "$(x) ", "", NULL },
	{ "echo ", "`x` ", "", NULL },
	{ "echo ", "$(", "", ")" },
	{ "echo ", "$(", "", NULL },
	{ "echo ", "$((", "1", "))" },
	{ "echo $((", "(", "1", ")" },
	{ "echo $((", "1+", "1))", NULL },
	{ "echo ", "${x:-", "", "}" },
	{ "echo ", "\"${x:-", "", "}\"" },
	{ "echo ", "${x#a}", "", NULL },
	{ "x=aaaaaaaaaaaaaaaa;echo ", "${x##*a*a*a*b}", "", NULL },
	{ "x=aaaaaaaaaaaaaaaa;echo ", "${x//a/aa}", "", NULL },
	{ "", "(", "a", ")" },
	{ "", "{ ", "a", ";}" },
	{ "", "((", "a", "))" },
	{ "", "if a;then ", "a", ";fi" },
	{ "", "while a;do ", "a", ";done" },
	{ "", "for i in 1 2 3;do ", "a $i", ";done" },
	{ "", "for i in 1 2 3;do :;done;", "", NULL },
	{ "", "case x in x)", "a", ";;esac" },
	{ "case x in ", "a) b;;", "esac", NULL },
	{ "case x in ", "a|", "a) b;;esac", NULL },
	{ "", "f(){ ", "a", ";}" },
	{ "", "f(){ f;};", "f", NULL },
	{ "", "f(){ f|f&};", "f", NULL },
	{ "f(){ a;};", "f;", "", NULL },
	{ "f(){ f;f;f;};", "f;", "", NULL },
	{ "f0(){ a;};", "g(){ f0;f0;};g;", "", NULL },
	{ "", "alias a=b;a;", "", NULL },
	{ "alias a='a a';", "a;", "", NULL },
	{ "", "cat <<E\nx\nE\n", "", NULL },
	{ "cat ", "<<E ", "\nE\n", NULL },
	{ "cat ", "<<<x ", "", NULL },
	{ "cat ", ">x ", "", NULL },
	{ "cat ", "<(", "", ")" },
	{ "", "sudo ", "a", NULL },
	{ "", "env x=y ", "a", NULL },
	{ "", "timeout 5 ", "a", NULL },
	{ "", "xargs ", "a", NULL },
	{ "", "eval ", "a", NULL },
	{ "", "eval x;", "", NULL },
	{ "", "sh -c x;", "", NULL },
	{ "", "sh -c ", "a", NULL },
	{ "", "sh -c 'eval y';", "", NULL },
	{ "", "echo x|sh;", "", NULL },
	{ "", "echo eA==|base64 -d|sh;", "", NULL },
	{ "", "printf %s x|", "sh", NULL },
	{ "", "sh<<E\nx\nE\n", "", NULL },
	{ "", "python3 -c 'x';", "", NULL },
	{ "python3 -c '", "os.system(\"x\");", "'", NULL },
	{ "perl -e '", "`x`;", "'", NULL },
	{ "", "trap x 0;", "", NULL },
	{ "", "find . -exec ", "a", NULL },
	{ "find . ", "-exec a \\; ", "", NULL },
	{ "", "cd a;", "rm -rf *", NULL },
	{ "", "cd ..;", "rm -rf *", NULL },
	{ "", "kill -9 1234 ", "", NULL },
	{ "dd ", "if=a ", "of=b", NULL },
	{ "#", "x", "", NULL },
	{ "", "#\n", "", NULL },
	{ "", "\n", "", NULL },
	{ "", " ", "", NULL },
	{ "", "\"", "", NULL },
	{ "", "'", "", NULL },
	{ "", "`", "", NULL },
	{ "", "\\", "", NULL },
	{ "", "$", "", NULL },
	{ "", "\"$(", "", ")\"" },
	{ "", "\"`", "", NULL },
	{ "", "[[ ", "a", " ]]" },
	{ "[[ ", "( ", "a", " )" },
	{ "[[ a", " && a", " ]]", NULL },
	{ "", ";", "", NULL },
	{ "", "<", "", NULL },
	{ "", "\xff", "", NULL },
	{ "", "\xf0\x9f\x92\xa5", "", NULL },
	{ "", "\r\n", "", NULL },
	{ "x=1;", "((x++));", "", NULL },
	{ "", "read x<<<y;", "$x", NULL },
	{ "", "printf -v x y;", "$x", NULL },
	{ "", "x=$(echo $x y);", "$x", NULL },
	{ "for a in 1 2;do for b in 1 2;do for c in 1 2;do ", "x$a$b$c;", "done;done;done", NULL },
};
#define SHAPE_COUNT (sizeof(shapes) / sizeof(shapes[0]))

/* A text of at most @size bytes of shape @s. Heap. */
static inline char *shape_text(const struct shape *s, size_t size)
{
	size_t each = strlen(s->piece) + (s->closer ? strlen(s->closer) : 0);
	size_t once = strlen(s->before) + strlen(s->after);
	size_t count = size > once ? (size - once) / each : 0;
	char *text = malloc(size + once + 1), *end;

	if (!text)
		abort();
	end = stpcpy(text, s->before);
	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, s->piece);
	end = stpcpy(end, s->after);
	for (size_t i = 0; s->closer && i < count; i++)
		end = stpcpy(end, s->closer);
	return text;
}

#endif
