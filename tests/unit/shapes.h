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

/* A long path, and a text twelve times. */
#define LONG "/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/01234567"
#define MANY(text) text text text text text text text text text text text text
/* A piece alone; with what stands before and behind it; one that is closed once for each. */
#define ONLY(piece) { "", piece, "", NULL }
#define SPAN(before, piece, after) { before, piece, after, NULL }
#define NEST(before, piece, inside, closer) { before, piece, inside, closer }

static const struct shape shapes[] = {
	/* commands and what joins them */
	ONLY("true;"), ONLY("true\n"), ONLY("rm -rf a;"), ONLY("echo x >f;"), SPAN("a", "|a", ""),
	SPAN("a", "&&a", ""), ONLY("a&"), SPAN("", "! ", "a"),
	/* words and quotes */
	SPAN("echo ", "x", ""), SPAN("echo ", "x ", ""), SPAN("echo ", "'q' ", ""),
	SPAN("echo ", "\"q\"", ""), SPAN("echo ", "\\x", ""), SPAN("echo ", "\\\n", ""),
	SPAN("echo $'", "\\x41", "'"), SPAN("echo ", "\"$x\" ", ""), SPAN("echo ", "$x", ""),
	SPAN("echo ", "$@ ", ""), SPAN("echo ", "* ", ""),
	/* paths and options */
	SPAN("rm -rf ", "/*", ""), SPAN("rm -rf ", "../", ""), SPAN("rm -rf ", "/a/..", ""),
	SPAN("rm ", "-r ", "x"), SPAN("rm -rf ", "/tmp/x ", ""),
	/* variables and lists */
	SPAN("", "x=y ", "a"), ONLY("x=x$x;"), SPAN("x=a;", "x=$x$x;", "echo $x"),
	SPAN("x=a;", "x=$x$x;", "$x"), SPAN("x=a;", "x=${x}b;eval $x;", ""),
	SPAN("", "set -- \"$@\" x;", "\"$@\""), ONLY("a=(1 2 3);"), SPAN("", "a+=(x);", "${a[@]}"),
	/* braces */
	SPAN("echo ", "{a,b}", ""), SPAN("echo ", "{a,b} ", ""), SPAN("echo ", "{1..9}", ""),
	SPAN("echo ", "{1..99999} ", ""), NEST("echo ", "{a,", "", "}"), SPAN("echo ", "{", ""),
	/* substitutions and expansions */
	SPAN("echo ", "$(x) ", ""), SPAN("echo ", "`x` ", ""), NEST("echo ", "$(", "", ")"),
	SPAN("echo ", "$(", ""), NEST("echo ", "$((", "1", "))"), NEST("echo $((", "(", "1", ")"),
	SPAN("echo $((", "1+", "1))"), NEST("echo ", "${x:-", "", "}"),
	NEST("echo ", "\"${x:-", "", "}\""), SPAN("echo ", "${x#a}", ""),
	SPAN("x=aaaaaaaaaaaaaaaa;echo ", "${x##*a*a*a*b}", ""),
	SPAN("x=aaaaaaaaaaaaaaaa;echo ", "${x//a/aa}", ""),
	/* groups and compound commands */
	NEST("", "(", "a", ")"), NEST("", "{ ", "a", ";}"), NEST("", "((", "a", "))"),
	NEST("", "if a;then ", "a", ";fi"), NEST("", "while a;do ", "a", ";done"),
	NEST("", "for i in 1 2 3;do ", "a $i", ";done"), ONLY("for i in 1 2 3;do :;done;"),
	NEST("", "case x in x)", "a", ";;esac"), SPAN("case x in ", "a) b;;", "esac"),
	SPAN("case x in ", "a|", "a) b;;esac"),
	/* functions and aliases */
	NEST("", "f(){ ", "a", ";}"), SPAN("", "f(){ f;};", "f"), SPAN("", "f(){ f|f&};", "f"),
	SPAN("f(){ a;};", "f;", ""), SPAN("f(){ f;f;f;};", "f;", ""),
	SPAN("f0(){ a;};", "g(){ f0;f0;};g;", ""), ONLY("alias a=b;a;"),
	SPAN("alias a='a a';", "a;", ""),
	/* here-documents and redirections */
	ONLY("cat <<E\nx\nE\n"), SPAN("cat ", "<<E ", "\nE\n"), SPAN("cat ", "<<<x ", ""),
	SPAN("cat ", ">x ", ""), NEST("cat ", "<(", "", ")"),
	SPAN("ls a@(", "'b'|", "c)"), SPAN("ls a@(", "@('b'", ")"), NEST("ls a", "@(\"b\"|", "c", ")"),
	/* files that are written and read */
	ONLY("echo a>>x;"), ONLY("echo a>>x;sh x;"), ONLY("echo a>>x;cat x|sh;"),
	ONLY("echo a>>x;cp x y;"), ONLY("cat x y>y;"), SPAN("echo x>a;", "cat a>>a;", "sh a"),
	SPAN("echo x>a;", "sh<a;", ""), SPAN("echo '" LONG "'>a;", "cat a|xargs rm;", ""),
	NEST("", "{ echo a;", "", "} >x;"), NEST("", "{ curl a;", "", "} >x;"),
	SPAN("f(){ echo " LONG ";};{ ", "f;", "} >x;sh x"), SPAN("{ ", "echo a >>x;", "} >x; sh x"),
	ONLY("{ a;} >x;"), SPAN("a=;a && b=x;", "echo $b >>x;", ""), SPAN("", "echo a|tee -a x|", "sh"),
	/* commands that run commands */
	SPAN("", "sudo ", "a"), SPAN("", "env x=y ", "a"), SPAN("", "timeout 5 ", "a"),
	SPAN("", "xargs ", "a"), SPAN("", "eval ", "a"), ONLY("eval x;"), ONLY("sh -c x;"),
	SPAN("", "sh -c ", "a"), ONLY("sh -c 'eval y';"),
	/* texts for interpreters */
	ONLY("echo x|sh;"), ONLY("echo eA==|base64 -d|sh;"), SPAN("", "printf %s x|", "sh"),
	ONLY("sh<<E\nx\nE\n"), ONLY("python3 -c 'x';"),
	SPAN("python3 -c '", "os.system(\"x\");", "'"), SPAN("perl -e '", "`x`;", "'"),
	SPAN("python3 -c '", "a(home().iterdir());", "chmod(x);rmtree(x)'"),
	SPAN("python3 -c 'for f in glob(\"/", "[", "\"): remove(f)'"),
	SPAN("node -e 'q=1;", "[\"/a\",\"/b\"].map(d=>exec(\"ls \"+d));", "'"),
	SPAN("python3 -c '", "os.chdir(\"/a\");run([\"a\"],cwd=\"/b\");", "'"),
	SPAN("cat > Makefile <<E\n", "aaaaaaaaa:\n", "E\nmake"),
	SPAN("cat > Makefile <<E\n.PHONY: ", "a ", "\na:\nb:\na: b\nE\nmake"),
	SPAN("cat > Makefile <<'E'\nx: -", "$(a $b)", "\nE\nmake"),
	NEST("make -f - <<'E'\nx: -", "$(", "", ")"),
	NEST("make -f - <<'E'\nx: ", "$(shell ", "a", ")"), SPAN("make -f - <<'E'\n", "x!=a\n", "E\n"),
	SPAN("make -f - <<'E'\nx: ", "$(shell a) ", "\nE\n"), SPAN("make -f - <<'E'\n", "a\\\n", "\nE\n"),
	SPAN("make -f - <<'E'\na=$(b)$(b)\nb=$(a)$(a)\nx:\n", "\t$(a)\n", "E\n"),
	SPAN("make -f - <<'E'\na=b\n", "a:=$(a)$(a)\n", "E\n"),
	SPAN("make -f - <<'E'\na=b\n", "a:=$(a) c\n", "E\n"),
	SPAN("make -f - <<'E'\n.RECIPEPREFIX=$(a)\n", "a: b\n", "E\n"),
	SPAN("python3 -c '", "exec os.", "'"), SPAN("python3 -c 'p=Path(\"a\");", "rmtree(p,b;", "'"),
	SPAN("sh -c '", "ls|xargs rm $(ls)/$(ls);", "'"), SPAN("exec ", "3<&0 4<&3 ", "<&4"),
	/* more that a command runs or means */
	ONLY("trap x 0;"), SPAN("", "find . -exec ", "a"), SPAN("find . ", "-exec a \\; ", ""),
	SPAN("find / ", "\\( / ", "-o -delete"), NEST("find . ", "\\( -name a -o ", "a", " \\)"),
	SPAN("cd /;", "cd a;", "rm -rf *"), SPAN("cd /;", "pushd a;", ""), ONLY("git clean -f;"),
	SPAN("cd /a;", "cd \"$PWD/b\";", ""), SPAN("cd /;", "sh -c 'D=$PWD';", ""),
	SPAN("export GIT_WORK_TREE=/x;", "git clean -f;", ""),
	SPAN("", "cd a;", "rm -rf *"), SPAN("", "cd ..;", "rm -rf *"), ONLY("kill -9 1234 "),
	SPAN("dd ", "if=a ", "of=b"),
	/* what is left out, and quotes without an end */
	SPAN("#", "x", ""), ONLY("#\n"), ONLY("\n"), ONLY(" "), ONLY("\""), ONLY("'"), ONLY("`"),
	ONLY("\\"), ONLY("$"), NEST("", "\"$(", "", ")\""), ONLY("\"`"),
	/* conditions */
	NEST("", "[[ ", "a", " ]]"), NEST("[[ ", "( ", "a", " )"), SPAN("[[ a", " && a", " ]]"),
	/* single bytes and characters */
	ONLY(";"), ONLY("<"), ONLY("\xff"), ONLY("\xf0\x9f\x92\xa5"), ONLY("\r\n"),
	/* variables that change */
	SPAN("x=1;", "((x++));", ""), SPAN("", "read x<<<y;", "$x"),
	SPAN("", "printf -v x y;", "$x"), SPAN("", "x=$(echo $x y);", "$x"),
	ONLY("ps|while read a;do ps|while read b;do ps|while read c;do x=\"$x $a\";done;done;done;"),
	ONLY("while read a;do while read b;do rm -rf $a/$b;done < <(ls);done < <(ls);"),
	SPAN("for a in 1 2;do for b in 1 2;do for c in 1 2;do ", "x$a$b$c;", "done;done;done"),
	/* lines and items with unknown parts that a program is fed */
	SPAN("echo ", "$a ", "|xargs rm"), SPAN("xargs rm <<E\n", "$a\n", "E\n"),
	SPAN("xargs -I{} sh -c {} <<E\n", "$a\n", "E\n"), SPAN("parallel <<E\n", "$a\n", "E\n"),
	SPAN("xargs -I{} echo ", "{}$a", "<<E\n1\n2\nE\n"), SPAN("parallel echo ::: ", "$a ", ""),
	SPAN("xargs -I{} echo ", "{}", "<<E\n" MANY(LONG "\n") "E\n"),
	SPAN("printf '", "%s", "' " MANY(LONG " ") ">f"),
	SPAN("printf '" MANY(LONG "%s") "' ", "a ", ">f"),
	SPAN("make -f - <<E\n", "\t$a\n", "E\n"), SPAN("nft -f - <<E\n", "$(a)\n", "E\n"),
	SPAN("ed <<E\n", "$(a)\n", "E\n"), SPAN("at now <<E\n", "$(a)\n", "E\n"),
	SPAN("crontab - <<E\n", "* * * * * $(a)\n", "E\n"), SPAN("parted <<E\n", "$a\n", "E\n"),
	SPAN("cat >x.service <<E\n", "ExecStart=$(a)\n", "E\n"),
	/* paths in a container */
	SPAN("docker run -v /:/h a ls ", "/", ""), SPAN("docker run -v /:/h a sh -c '", "/h ", "'"),
	SPAN("docker run -v " LONG LONG LONG LONG ":/h a sh -c '", "/h ", "'"),
};
#undef ONLY
#undef SPAN
#undef NEST
#undef LONG
#undef MANY
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
