/* The texts in this file are data to judge. None of them is ever run. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/command/table.h"
#include "blocklist/stream.h"
#include "corpus.h"
#include "verdict.h"

#define KIB 1024

static struct stream *stream_of(const char *command)
{
	const struct blocklist_input in = { .command = command, .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH };

	return stream_new(&in, false);
}

/* Judge @text as the next part: "+12" for bytes to write, "e" for a line that is not judged, "..3" for
 * bytes that wait, "!rule". */
static void say(struct stream *s, const char *text, bool end, const char *expected)
{
	char got[256], waiting[32] = "", rule[96] = "";
	struct stream_part part;

	stream_judge(s, text, strlen(text), end, &part);
	verdict_check(&part.verdict, SIZE_MAX);
	if (part.waiting)
		snprintf(waiting, sizeof(waiting), " ..%zu", part.waiting);
	if (part.verdict.blocked)
		snprintf(rule, sizeof(rule), " !%s", part.verdict.rule);
	snprintf(got, sizeof(got), "+%zu%s%s%s", part.len, part.edited ? "e" : "", waiting, rule);
	if (strcmp(got, expected))
		fail_msg("%s: %s, not %s (%s)", text, got, expected, part.verdict.reason);
	stream_part_release(&part);
}

struct step {
	const char *text, *expected;
};

/* What is said to @command; a step NULL ends. */
static void dialogue(const char *command, const struct step *steps)
{
	struct stream *s = stream_of(command);

	for (; steps->text; steps++)
		say(s, steps->text, false, steps->expected);
	stream_free(s);
}

#define DIALOGUE(command, ...) dialogue(command, (const struct step[]){ __VA_ARGS__, { 0 } })

/* What is typed to bash on its terminal. */
static void dialogue_on_terminal(const struct step *steps)
{
	const struct blocklist_input in = { .command = "bash -i", .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH };
	struct stream *s = stream_new(&in, true);

	for (; steps->text; steps++)
		say(s, steps->text, false, steps->expected);
	stream_free(s);
}

/* Keys on a terminal: the line that they make is judged, and the keys are written. */
static void test_stream_judges_typed_lines(void **state)
{
	static const struct step steps[] = {
		{ "echo a\r", "+7" },
		{ "rm -rf x\177/\r", "+0 !files.remove_tree" },
		{ "rm -rf x", "+8" },
		{ "\177/\r", "+0 !files.remove_tree" }, /* the line stays as it was */
		{ "y\r", "+2" },
		{ "rm -rf /\25echo b\n", "+16" },
		{ "rm -rf /\003", "+9" },
		{ "\r", "+1" },
		{ "X=/\r", "+4" },
		{ "rm -rf \303\251\177$X\n", "+0 !files.remove_tree" },
		{ "echo ok\rrm -rf $X\recho never\r", "+8 !files.remove_tree" },
		{ "echo 'a\r", "+0 ..8" },
		{ "b", "+0 ..9" },
		{ "\177'\r", "+12" }, /* the erased b was never judged as written */
		{ "if true; then\r", "+0 ..14" },
		{ "\003", "+1" }, /* what waits goes */
		{ "echo z\r", "+7" },
		{ "sleep 9\recho 'a\recho b\r\003X=/\r", "+13" },
		{ "rm -rf $X\r", "+0 !files.remove_tree" },
		{ "echo 'a\r", "+0 ..8" },
		{ "'\recho '\r", "+10 ..7" },
		{ "\003rm -rf /\r", "+1 !files.remove_tree" }, /* ^C precedes the line */
		{ "echo 'a\r\003reboot\r'\r", "+1 !power.command" },
		{ "echo 'a\r", "+0 ..8" },
		{ "\003reboot\r'\r", "+1 !power.command" },
		{ "ls\recho 'a\r\003echo 'b\rc\003ls\recho '", "+8 ..6" },
		{ "\003", "+7" },
		{ "echo 'a\rb'", "+10" }, { "\003", "+1" }, /* all of the command goes */
		{ "reboot\r'\r", "+0 !power.command" },
		{ "echo 'a\rb'", "+10" }, { "\025", "+1" }, { "reboot\r'\r", "+9" },
		{ "echo 'a\rb'", "+10" }, { " \033[A", "+4e" }, { "c\003ls\r", "+4e" }, /* or what is left */
		{ "X=/\recho 'a\rb'", "+14" }, { "'c\r\003rm -rf $X\r'\r", "+1 !files.remove_tree" },
		{ "rm -rf \033[A", "+10e" },
		{ "/\r", "+2e" },
		{ "\trm -rf /\rrm -rf /\r", "+10e !files.remove_tree" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* ^Z and ^\ act on the program in front, whatever waits; behind text they are editing keys to some. */
static void test_stream_lets_signals_pass(void **state)
{
	static const struct step steps[] = {
		{ "echo 'a\r", "+0 ..8" }, { "\032", "+1" }, { "echo z\r", "+7" },
		{ "if true; then\r", "+0 ..14" }, { "\034rm -rf /\r", "+1 !files.remove_tree" },
		{ "cat <<E\rx\r", "+0 ..10" }, { "\032X=/\r", "+5" },
		{ "ls\r", "+3" }, { "rm -rf $X\r", "+0 !files.remove_tree" },
		{ "echo a", "+6" }, { " 'b", "+0 ..3" }, { "\032", "+4e" }, { "c\r", "+2e" },
		{ "ls\032\r", "+4e" }, { "\032\rrm -rf /\r", "+2 !files.remove_tree" },
		{ "\033[200~ls\032\033[201~\r", "+16e" },
		{ "\033[200~echo 'a\r", "+0 ..14" }, { "\032", "+0e ..15" }, { "\003", "+0e ..16" },
		{ "\033[201~\003", "+1" }, { "rm -rf /\r", "+0 !files.remove_tree" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* ^D ends the file where a command is complete; elsewhere shells differ in what it ends. */
static void test_stream_refuses_an_end_in_a_command(void **state)
{
	static const struct step steps[] = {
		{ "cat <<E\r", "+0 ..8" }, { "\004", "+0 !text.unparsable" }, { "ls\r", "+3" },
		{ "cat <<E\r\004reboot\rE\r", "+0 !text.unparsable" },
		{ "ls\rcat <<E\ra\r\004reboot\rE\r", "+3 !text.unparsable" },
		{ "echo 'a\r", "+0 ..8" }, { "b\r\004", "+0 !text.unparsable" },
		{ "X=/\r", "+4" }, { "echo 'a\r", "+0 ..8" }, { "\003\004", "+2" },
		{ "cat\r", "+4" }, { "a\r\004", "+3" }, { "\004", "+1" },
		{ "\004rm -rf /\r", "+1 !files.remove_tree" },
		{ "# c\r\004# d\r\004\r\004", "+12" }, { "\004echo 'a\r", "+1 ..8" }, { "'\r\004", "+11" },
		{ "echo a \\\r\004", "+0 !text.unparsable" }, { "rm -rf $X\r", "+0 !files.remove_tree" },
		{ "echo 'a\rb'", "+10" }, { "\025\004", "+1 !text.unparsable" }, { "'\r\004", "+3" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* What a line is nobody knows may end the command in which it stands: then the next ones are commands. */
static void test_stream_doubts_what_follows_an_unknown_line(void **state)
{
	static const struct step steps[] = {
		{ "cat <<E\rE\t\rreboot\rE\r", "+0 !power.command" }, { "ls\r", "+3" },
		{ "cat <<E\r", "+0 ..8" }, { "E\t", "+0e ..10" }, { "\r", "+0e ..11" },
		{ "reboot\r", "+0e ..18" }, { "E\r", "+0 !power.command" }, { "ls\r", "+3" },
		{ "ls\rcat <<E\rE\033[D\rreboot\rE\rls\r", "+3 !power.command" },
		{ "cat <<E\rE\t\rit's\rreboot\rE\r", "+0 !power.command" },
		{ "cat <<E\rE\t\rrm -rf \\\r/\rE\r", "+0 !files.remove_tree" },
		{ "cat <<E\rE\t\r(\rE\t\rX=/\rrm -rf $X\rE\r", "+0 !files.remove_tree" },
		{ "echo 'a\rb\004\rreboot\r'\r", "+0 !power.command" },
		{ "echo 'a\r\t\rreboot #'", "+0 !power.command" },
		{ "f() {\r}\t\rreboot\r}\r", "+0e !power.command" },
		{ "cat <<E\rE\t\rx\rE\rreboot\r", "+15e !power.command" },
		{ "cat <<E\rE\t\rreboot\rE\rrm -rf /\r", "+0 !power.command" },
		{ "\033[200~cat <<E\rE\003reboot\rE\r\033[201~", "+0 !power.command" },
		{ "echo 'a\rb'", "+10" }, { "\t", "+1e" }, { "\r", "+1e" }, { "reboot\r", "+0 ..7" },
		{ "'\r", "+0 !power.command" }, { "ls\rreboot\r'\r", "+0 !power.command" }, { "'\r", "+2" },
		{ "reboot\r", "+0 !power.command" }, { "X=/\r", "+4" },
		{ "cat <<E\rE\t\rrm -rf $X\rE\r", "+0 !files.remove_tree" },
		{ "cat <<E\rE", "+9" }, { "\t\rre", "+2e ..2" }, { "boot\rE\r", "+0 !power.command" },
		{ "cat <<E\rE\t", "+0e ..10" }, { "\003", "+1" },
		{ "echo a \\\r\t\rre", "+13e" }, { "boot\r", "+0 !power.command" }, { "\003", "+1" },
		{ "ls\t\recho", "+8e" }, { " reboot\r", "+8" },
		/* data, and the variables of a loop */
		{ "cat <<E\rE\t\rit's (x\rE\r", "+21e" }, { "cat <<E\rE\t\rfi\rE\r", "+16e" },
		{ "for d in a b; do\r\tcd\r rm -rf \"$d\"/*\rdone\r", "+41e" },
		{ "if true; then\r\tls\r ls\rfi\r", "+25e" }, { "echo 'a\rb\025\rreboot\r'\r", "+20" },
		{ "cat <<E\rE\rreboot\t\rls\r", "+21e" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* A paste is judged wherever it stands, as readers see it that drop its marks and as those to whom they
 * are text. */
static void test_stream_judges_pastes(void **state)
{
	static const struct step steps[] = {
		{ "\033[200~rm -rf /\033[201~\r", "+0 !files.remove_tree" },
		{ "\033[200~echo a\tb\nrm -rf /\n\033[201~", "+15 !files.remove_tree" },
		{ "c\025rm x\r", "+7e" }, /* it is still in the paste */
		{ "\033[201~\r", "+7" },
		{ "\033[200~echo a\033[201~\r", "+19" },
		{ "\033[200~echo a", "+12" },
		{ "\033[201~", "+6" },
		{ " b\r", "+3" },
		{ "\033[200~echo a\rls\r\033[201~", "+22" },
		{ "\r", "+1" },
		{ "\033[200~rm -rf /\025\033[201~\r", "+22e" },
		{ "\033[200~rm -rf /tmp/x\177\033[201~\r", "+27e" },
		{ "\033[200~ls\033[201~\003rm -rf /\r", "+15 !files.remove_tree" },
		{ "\033[200~ls\003\033[201~\r", "+16e" },
		{ "ls\r", "+3" },
		{ "\033[200~ls", "+8" }, { "\003", "+1e" }, { "reboot\r", "+0 !power.command" },
		{ "ls\003rm -rf /\033[201~\r", "+3e !files.remove_tree" }, { "ls\r", "+3" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* Beside a mark no character hides a command. */
static void test_stream_judges_what_stands_beside_a_mark(void **state)
{
	static const char *const blocked[] = {
		"\033[200~echo a\033[201~; reboot\r", "\033[200~echo a\033[201~&& reboot\r",
		"\033[200~echo a\033[201~| reboot\r", "\033[200~echo a\033[201~& reboot\r",
		"\033[200~(reboot)\033[201~\r", "\033[200~\"reboot\"\033[201~\r",
		"\033[200~$(reboot)\033[201~\r", "echo \033[200~a; reboot\033[201~\r",
		"re\033[200~boot\033[201~\r", "\033[201~reboot\r", "\033[200~\033[200~reboot\033[201~\r",
		/* to a reader to whom the marks are text */
		"\033[200~#; reboot \033[201~\r", "\033[200~echo \033[201~#; reboot\r",
		"\033[200~echo \\\033[201~; reboot\r", "\033[201~#; reboot\r",
		"\033[200~echo a >\033[201~| reboot\r", "\033[201~#; reboot\rls\rrm -rf /\r",
		"\033[200~#\033[201~\177\177\177\177\177\177\177a; reboot\r",
	};
	static const struct step parts[] = {
		{ "rm -rf \033[201~\r", "+0 !files.remove_tree" }, { "rm -rf x\033[201~\r", "+15" },
		{ "\033[200~", "+6" }, { "#; reboot \033[201~\r", "+0 !power.command" }, { "ls\r", "+3" },
		{ "\033[201~", "+6" }, { "\r", "+1" },
		{ "echo a >", "+0 ..8" }, { "\033[200~", "+0 ..14" }, { "| reboot\r", "+0 !power.command" },
		{ "\033[201~a\r", "+8" },
		{ "\033[201~; reboot\r", "+0 !text.unparsable" },
		{ "ls\r\033[200~ls\r#; ls\r\033[201~#; reboot\r", "+18 !power.command" },
		{ "echo 'a\r", "+0 ..8" }, { "'\rls \033[201~#; reboot\r", "+10 !power.command" },
		{ 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(blocked); i++) {
		const struct step steps[] = { { blocked[i], "+0 !power.command" }, { "ls\r", "+3" }, { 0 } };

		dialogue_on_terminal(steps);
	}
	dialogue_on_terminal(parts);
}

/* To bash and zsh a mark is text that begins a paste in a paste, or ends none. */
static void test_stream_judges_stray_marks(void **state)
{
	static const struct step steps[] = {
		{ "\033[200~rm -rf \\\033[200~ /\033[201~\r", "+0 !files.remove_tree" },
		{ "\033[200~rm -rf x\\\033[201~\033[201~ /\r", "+0 !files.remove_tree" },
		{ "\033[200~rm -rf \\", "+0 ..14" }, { "\033[20", "+0 ..18" }, { "0~", "+0 ..20" },
		{ " /\r", "+0 !files.remove_tree" },
		{ "\033[200~echo a", "+12" }, { "\033[200~", "+6" }, { "#; reboot\r", "+0 !power.command" },
		{ "\r", "+1" }, { "\033[200~echo b\033[201~\r", "+19" },
		{ "ls\r\033[200~echo \033[200~#; reboot\r", "+3 !power.command" },
		{ "\033[200~cat <<E\r\033[200~E\rreboot\rE\r\033[201~", "+22 !power.command" },
		{ "\033[201~\r", "+7" },
		{ "\033[200~echo it\033[200~'s\r'\033[201~\r", "+30" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* What is refused leaves the terminal in the paste. */
static void test_stream_knows_that_a_paste_is_open(void **state)
{
	const struct blocklist_input in = { .command = "bash -i", .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH };
	struct stream *s = stream_new(&in, true);

	(void)state;
	say(s, "\033[200~rm -rf /\033[201~\r", false, "+0 !files.remove_tree");
	assert_false(stream_in_paste(s));
	say(s, "\033[200~", false, "+6");
	assert_true(stream_in_paste(s));
	say(s, "rm -rf /\033[201~\r", false, "+0 !files.remove_tree");
	assert_true(stream_in_paste(s));
	say(s, "\033[20", false, "+4");
	assert_true(stream_in_paste(s));
	say(s, "1~", false, "+2");
	assert_false(stream_in_paste(s));
	say(s, "\033[200~echo 'a\r", false, "+0 ..14"); /* not written yet */
	assert_false(stream_in_paste(s));
	stream_free(s);
}

/* A mark may come in two calls, or more. */
static void test_stream_joins_the_parts_of_a_mark(void **state)
{
	static const struct step steps[] = {
		{ "\033[20", "+4" }, { "0~reboot\r", "+0 !power.command" },
		{ "0~ls\r", "+5" }, { "a;\177\r", "+4e" }, /* in the paste */
		{ "\033", "+1" }, { "[", "+1" }, { "201", "+3" }, { "~", "+1" },
		{ "rm -rf x\177/\r", "+0 !files.remove_tree" },
		{ "ls\033", "+3" }, { "b\r", "+2e" }, /* Alt+B */
		{ "ls\033[2", "+5" }, { "~\r", "+2e" },
		{ "ls\033[20", "+6" }, { "\033[201~\r", "+7e" },
		{ "echo \033[20", "+9" }, { "1~#; reboot\r", "+0 !power.command" },
		{ "\003", "+1e" }, { "reboot\r", "+0 !power.command" },
		{ "echo 'a\033[2", "+0 ..10" }, { "01~'; reboot\r", "+0 !power.command" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* Where ^C drops the end of a paste, its mark is written: what follows is outside. */
static void test_stream_keeps_the_end_of_a_paste(void **state)
{
	static const struct step steps[] = {
		{ "\033[200~ls\r", "+9" }, { "echo 'a\r", "+0 ..8" }, { "\033[201~\003", "+7" },
		{ "reboot\r", "+0 !power.command" }, { "ls\177\r", "+4" },
		{ "\033[200~ls\recho 'a\r\033[201~b\003reboot\r", "+16 !power.command" },
		{ "\033[200~ls\r", "+9" }, { "echo 'a\r\033[201~", "+0 ..14" }, { "\032ls\177\r", "+11" },
		{ "\033[200~echo 'a\r\033[201~\003ls\177\r", "+5" },
		{ "ls\r\033[200~echo 'a\033[201~\003\033[200~ls\recho '\r\033[201~\003", "+39" },
		{ "reboot\r", "+0 !power.command" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* An ESC of its own is a key: what is inserted in vi is no shell text. */
static void test_stream_takes_an_escape_for_a_key(void **state)
{
	static const struct step steps[] = {
		{ "vi f\r", "+5" }, { "ihello (you)\033", "+13e" }, { ":wq\r", "+4e" }, { "ls\r", "+3" },
		{ "idon't\033", "+7e" }, { ":wq\r", "+4e" },
		{ "ls\ria |\033", "+8e" }, { "dd\r", "+3e" },
		{ "ia", "+2" }, { " (b)\033", "+5e" }, { "[200~\r", "+6e" }, /* in a paste */
		{ "a\177\r", "+3e" }, { "\033[201~\r", "+7" }, { "ls\177\r", "+4" },
		{ "reboot\033", "+0 !power.command" }, { "fi\rls\033", "+0e !text.unparsable" },
		{ "echo 'a\r", "+0 ..8" }, { "b\033", "+0e ..10" }, { "\003", "+1" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* What a bash was started with on its terminal: the text that @keys made. */
static struct stream *begun_on_terminal(const char *keys, const char *text)
{
	const struct blocklist_input in = { .command = "bash -i", .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH,
					    .stdin_bytes = text, .stdin_len = strlen(text) };
	struct stream *s = stream_new(&in, true);

	stream_begin_typed(s, keys, strlen(keys));
	return s;
}

static void test_stream_goes_on_behind_typed_stdin(void **state)
{
	struct stream *s = begun_on_terminal("ls\r\033[200~echo a", "ls\necho a");

	(void)state;
	assert_true(stream_in_paste(s));
	say(s, "b\tc\r\033[201~\r", false, "+11"); /* a TAB is text there */
	stream_free(s);
	s = begun_on_terminal("echo \033[20", "echo ");
	say(s, "0~\033[201~#; reboot\r", false, "+0 !power.command");
	stream_free(s);
	s = begun_on_terminal("\033[200~\033[200~#", "#");
	say(s, "; reboot\r", false, "+0 !power.command");
	stream_free(s);
	s = begun_on_terminal("cat <<E\rE\t\rx", "cat <<E\nx");
	say(s, "\rreboot\rE\r", false, "+0 !power.command");
	stream_free(s);
	s = begun_on_terminal("cat <<E\rx", "cat <<E\nx");
	say(s, "\rreboot\rE\r", false, "+10");
	stream_free(s);
	s = begun_on_terminal("ls\t", "");
	say(s, "reboot\r", false, "+0 !power.command");
	stream_free(s);
}

/* What is harmless in all readings passes, and so does what is no shell text with the marks. */
static void test_stream_passes_pastes(void **state)
{
	static const struct step steps[] = {
		{ "\033[200~# it's ok\033[201~\r", "+22" },
		{ "\033[200~X=/tmp/x\rrm -rf $X/*\033[201~\r", "+33" },
		{ "\033[200~(cd x && ls)\r$HOME/x\033[201~\r", "+33" },
		{ "echo \033[200~a b\033[201~ c\r", "+23" },
		{ "\033[200~cat <<E\ra\rE\033[201~\r", "+24" },
		{ "X=/\r", "+4" }, { "\033[200~ls\033[201~\r", "+15" },
		{ "rm -rf $X\r", "+0 !files.remove_tree" },
		{ 0 },
	};

	(void)state;
	dialogue_on_terminal(steps);
}

/* Shells and wrappers around them judge lines; so do programs that run their input. */
static void test_stream_is_judged_for_any_reader(void **state)
{
	static const char *const shells[] = {
		"bash", "sh", "bash -s", "bash -i", "env sh", "sudo -u x bash", "cat | sh", "exec dash",
		"cd x && bash", "timeout 9 stdbuf -oL bash", "sh -c 'sh'", "tee log | bash",
		"nohup bash >log", "ssh localhost", "su -",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		DIALOGUE(shells[i], { "ls -l\n", "+6" }, { "rm -rf /\n", "+0 !files.remove_tree" });
		DIALOGUE(shells[i], { "echo 'it", "+0 ..8" });
	}
	DIALOGUE("cat", { "rm -rf /\n", "+9" }, { "it's\n", "+5" });
	DIALOGUE("while read l; do eval \"$l\"; done", { "X=/\n", "+4" }, { "ls\n", "+3" },
		 { "rm -rf /\n", "+0 !files.remove_tree" });
	DIALOGUE("eval \"$(cat)\"", { "X=/\n", "+4" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
	DIALOGUE("python3 -i", { "it's = 'x\n", "+10" },
		 { "import os; os.system('rm -rf /')\n", "+0 !files.remove_tree" });
	DIALOGUE("node -i", { "require('fs').rmSync('/', {recursive: true})\n", "+0 !files.remove_tree" });
	DIALOGUE("psql -h db", { "select 1;\n", "+10" }, { "\\! rm -rf /\n", "+0 !files.remove_tree" });
	DIALOGUE("xargs rm -rf", { "build\n", "+6" }, { "/\n", "+0 !files.remove_tree" });
}

/* No byte of an incomplete line is written before it has been judged. */
static void test_stream_judges_incomplete_lines(void **state)
{
	(void)state;
	DIALOGUE("bash", { "rm -rf /", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "rm -rf ", "+7" }, { "/", "+0 !files.remove_tree" }, { "build\n", "+6" });
	DIALOGUE("bash", { "rm -rf /tm", "+10" }, { "p/x\n", "+4" });
	DIALOGUE("bash", { "rm -rf /tm", "+10" }, { "p/../\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "rebo", "+4" }, { "ot\n", "+0 !power.command" });
	DIALOGUE("bash", { "r", "+1" }, { "m", "+1" }, { " -rf ", "+5" }, { "/\n", "+0 !files.remove_tree" });
}

static void test_stream_holds_what_is_open(void **state)
{
	(void)state;
	DIALOGUE("bash", { "echo 'a\n", "+0 ..8" }, { "b'\n", "+11" });
	DIALOGUE("bash", { "echo ok\nbash -c 'rm ", "+8 ..12" }, { "-rf /'\n", "+0 !files.remove_tree" },
		 { "echo ok\n", "+8" });
	DIALOGUE("bash", { "rm -rf \\", "+0 ..8" }, { "\n/\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "rm -rf \\\n", "+0 ..9" }, { "/\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "sh <<E\nrm -rf", "+0 ..13" }, { " /\n", "+0 ..16" },
		 { "E\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "cat <<E\nrm -rf", "+0 ..14" }, { " /\nE\n", "+19" });
	DIALOGUE("bash", { "if true; then\n", "+0 ..14" }, { "rm -rf /\nfi\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "true &&", "+0 ..7" }, { "rm -rf /\n", "+0 !files.remove_tree" });
	/* Behind an incomplete line that was written. */
	DIALOGUE("bash", { "echo a", "+6" }, { " 'b", "+0 ..3" },
		 { "'; rm -rf /\n", "+0 !files.remove_tree" });
}

/* What waits is bounded: a text beyond that is judged as it is. */
static void test_stream_does_not_hold_for_ever(void **state)
{
	struct stream *s = stream_of("bash");
	AUTO_FREE char *text = mem_zalloc(130 * KIB);
	struct stream_part part;

	(void)state;
	memset(text, 'x', 120 * KIB);
	say(s, "echo '", false, "+0 ..6");
	stream_judge(s, text, 120 * KIB, false, &part);
	assert_int_equal(part.waiting, 120 * KIB + 6);
	stream_part_release(&part);
	stream_judge(s, text, 10 * KIB, false, &part);
	assert_string_equal(part.verdict.rule, "text.unparsable");
	assert_int_equal(part.waiting, 0);
	stream_part_release(&part);
	say(s, "echo b\n", false, "+7");
	stream_free(s);
}

/* The end: what waits is judged as it is. */
static void test_stream_end_judges_what_waits(void **state)
{
	struct stream *s = stream_of("bash");

	(void)state;
	say(s, "sh <<E\nrm -rf /\n", false, "+0 ..16");
	say(s, "", true, "+0 !files.remove_tree");
	say(s, "cat <<E\nx\n", false, "+0 ..10");
	say(s, "echo 'a", true, "+17");
	stream_free(s);
	s = stream_of("bash");
	say(s, "echo 'a", true, "+0 !text.unparsable");
	stream_free(s);
}

/* What is before the blocked line is written, what is behind it is not. */
static void test_stream_stops_at_the_blocked_line(void **state)
{
	(void)state;
	DIALOGUE("bash", { "a\nb\nrm -rf /\nc\n", "+4 !files.remove_tree" }, { "d\n", "+2" });
	DIALOGUE("bash", { "X=/\nrm -rf $X\nX=build\n", "+4 !files.remove_tree" });
	DIALOGUE("bash", { "f() { rm -rf \"$1\"; }\nf build\nf /\nf x\n", "+29 !files.remove_tree" });
	DIALOGUE("bash", { "a\nfi\nb\n", "+2 !text.unparsable" });
	DIALOGUE("python3", { "a = 1\nimport os\nos.system('reboot')\n", "+16 !power.command" });
}

/* What earlier lines have set counts. */
static void test_stream_remembers(void **state)
{
	(void)state;
	DIALOGUE("bash", { "X=/\n", "+4" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "cd /\n", "+5" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf *\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "f() { rm -rf \"$1\"; }\n", "+21" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "f /\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "alias x='rm -rf'\n", "+17" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "x /\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "c() { cd /; }\n", "+14" }, { "ls\n", "+3" }, { "c\n", "+2" }, { "ls\n", "+3" },
		 { "ls\n", "+3" }, { "rm -rf *\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "alias c='cd /'\n", "+15" }, { "c\n", "+2" }, { "ls\n", "+3" },
		 { "ls\n", "+3" }, { "rm -rf *\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "eval 'cd /'\n", "+12" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf *\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "echo 'rm -rf /' >x.sh\n", "+22" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "sh x.sh\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "cp /bin/rm x\n", "+13" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "./x -rf /\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "set -- /\n", "+9" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf $1\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "ls /\n", "+5" }, { "rm -rf $_\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "exec 5<<< 'rm -rf /'\n", "+21" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "sh <&5\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "curl -o x.sh http://h/x\n", "+24" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "sh x.sh\n", "+0 !pipe.remote" });
	DIALOGUE("bash", { "for X in /; do :; done\n", "+23" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "exec sh\n", "+8" }, { "X=/; ls\n", "+8" }, { "ls\n", "+3" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
}

/* A part of which nothing is judged yet pushes nothing out. */
static void test_stream_remembers_behind_what_waits(void **state)
{
	static const struct step keys[] = {
		{ "X=/\r", "+4" }, { "ls\r", "+3" }, { "\003", "+1" },
		{ "rm -rf $X\r", "+0 !files.remove_tree" },
		{ "cd /\r", "+5" }, { "ls\r", "+3" }, { "\004", "+1" },
		{ "rm -rf *\r", "+0 !files.remove_tree" }, { 0 },
	};

	(void)state;
	DIALOGUE("bash", { "X=/\n", "+4" }, { "ls\n", "+3" }, { "", "+0" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "cd /\n", "+5" }, { "ls\n", "+3" }, { "echo 'a", "+0 ..7" }, { "'\n", "+9" },
		 { "rm -rf *\n", "+0 !files.remove_tree" });
	dialogue_on_terminal(keys);
}

/* The stdin of the start is the first thing that was written. */
static void test_stream_begins_with_the_stdin_of_the_start(void **state)
{
	const struct blocklist_input in = { .command = "bash", .stdin_bytes = "cd /\nX=", .stdin_len = 7,
					    .shell_family = SHELL_FAMILY_BASH };
	struct stream *s = stream_new(&in, false);

	(void)state;
	say(s, "/\nls\n", false, "+5");
	say(s, "rm -rf *\n", false, "+0 !files.remove_tree");
	say(s, "rm -rf $X\n", false, "+0 !files.remove_tree");
	stream_free(s);
}

/* An interpreter in the shell reads the rest; what is no shell text is refused. */
static void test_stream_programs_in_the_shell_read_the_rest(void **state)
{
	(void)state;
	DIALOGUE("bash", { "ruby\n", "+5" }, { "system \"rm -rf /\"\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "exec python3 -\n", "+15" },
		 { "import shutil; shutil.rmtree('/')\n", "+0 !files.remove_tree" },
		 { "import sys; print(sys.argv)\n", "+0 !text.unparsable" });
	DIALOGUE("bash", { "xargs rm -rf\n", "+13" }, { "/\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "sh\n", "+3" }, { "sh\n", "+3" }, { "rm -rf /\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "ruby </dev/null\n", "+16" }, { "system 'rm -rf /'\n", "+18" });
}

/* Bytes that are no characters, or none that shells keep. */
static void test_stream_takes_any_bytes(void **state)
{
	struct stream *s = stream_of("bash");
	struct stream_part part;

	(void)state;
	say(s, "echo \xc3", false, "+6");
	say(s, "\xa9\n", false, "+2");
	say(s, "rm -rf /\xc3", false, "+9");
	stream_judge(s, "\nr\0m -rf x\n", 11, false, &part);
	assert_true(part.verdict.unparsable);
	assert_int_equal(part.len, 1);
	stream_part_release(&part);
	stream_free(s);
}

/* Lines that leave nothing behind push nothing out; others do, and what they set is unknown then. */
static void test_stream_keeps_what_matters(void **state)
{
	struct stream *s = stream_of("bash");
	struct stream_part part;

	(void)state;
	say(s, "X=/\n", false, "+4");
	for (int i = 0; i < 64; i++) {
		char text[4 * KIB + 1];

		memset(text, 'x', sizeof(text) - 2);
		memcpy(text, "echo ", 5);
		memcpy(text + sizeof(text) - 2, "\n", 2);
		stream_judge(s, text, strlen(text), false, &part);
		assert_false(part.verdict.blocked);
		stream_part_release(&part);
	}
	say(s, "rm -rf $X\n", false, "+0 !files.remove_tree");
	for (int i = 0; i < 64; i++) {
		char text[4 * KIB + 1];

		memset(text, 'x', sizeof(text) - 2);
		memcpy(text, "Y=", 2);
		memcpy(text + sizeof(text) - 2, "\n", 2);
		stream_judge(s, text, strlen(text), false, &part);
		assert_false(part.verdict.blocked);
		stream_part_release(&part);
	}
	say(s, "rm -rf $X\n", false, "+10");
	say(s, "rm -rf $X/*\n", false, "+0 !files.remove_tree");
	stream_free(s);
}

/* @count lines of 4 KiB that begin with @start and go on with @fill, in one part or each in its own. */
static void say_long_lines(struct stream *s, const char *start, char fill, int count, bool at_once)
{
	AUTO_FREE char *text = mem_zalloc((size_t)count * 4 * KIB + 1);
	struct stream_part part;

	memset(text, fill, (size_t)count * 4 * KIB);
	for (int i = 0; i < count; i++) {
		memcpy(text + i * 4 * KIB, start, strlen(start));
		text[(i + 1) * 4 * KIB - 1] = '\n';
	}
	for (int i = 0; i < (at_once ? 1 : count); i++) {
		stream_judge(s, text + i * 4 * KIB, (at_once ? (size_t)count : 1) * 4 * KIB, false, &part);
		assert_false(part.verdict.blocked);
		assert_int_equal(part.waiting, 0);
		stream_part_release(&part);
	}
}

/* Comments and empty lines push nothing out, wherever they stand. */
static void test_stream_keeps_no_comments(void **state)
{
	static const char *const starts[] = { "#", "  # it's", "", "\t" };

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(starts); i++) {
		const char *start = starts[i / 2];
		char fill = strchr(start, '#') ? 'x' : ' ';
		struct stream *s = stream_of("bash");

		say_long_lines(s, start, fill, 15, i % 2);
		say(s, "X=/\n", false, "+4");
		say_long_lines(s, start, fill, 15, i % 2);
		say(s, "Y=/\n", false, "+4");
		say_long_lines(s, start, fill, 15, i % 2);
		say(s, "ls\n", false, "+3");
		say_long_lines(s, start, fill, 15, i % 2);
		say(s, "rm -rf $X\n", false, "+0 !files.remove_tree");
		say(s, "rm -rf $Y\n", false, "+0 !files.remove_tree");
		stream_free(s);
	}
}

/* What looks like a comment is kept where it is none, and so is the last command before one. */
static void test_stream_knows_comments(void **state)
{
	(void)state;
	DIALOGUE("bash", { "ls /\n", "+5" }, { "# c\n", "+4" }, { "\n", "+1" },
		 { "rm -rf $_\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "X='/\n# b'\n", "+10" }, { "# c\n", "+4" }, { "ls\n", "+3" }, { "ls\n", "+3" },
		 { "rm -rf \"${X%????}\"\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "cat <<E >x.sh\nrm -rf \\\n# c\n\n/\nE\n# d\n", "+36" }, { "ls\n", "+3" },
		 { "ls\n", "+3" }, { "sh x.sh\n", "+8" });
	DIALOGUE("bash", { "cat <<E >x.sh\n# c\nrm -rf /\n# d\nE\n# e\n", "+37" }, { "ls\n", "+3" },
		 { "ls\n", "+3" }, { "sh x.sh\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "f() {\n# c\nrm -rf \"$1\"\n# d\n}\n# e\n", "+32" }, { "ls\n", "+3" },
		 { "f /\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "X=/ # c \\\n", "+0 ..10" }, { "# d \\\n", "+0 ..16" }, { "ls\n", "+19" },
		 { "rm -rf $X\n", "+0 !files.remove_tree" });
	DIALOGUE("bash", { "X=/\n# rm -rf", "+12" }, { " /\n", "+3" }, { "# a\n# b", "+7" },
		 { "\nrm -rf $X\n", "+1 !files.remove_tree" });
}

/* However long a session was, it never makes a harmless line too complex, or expensive. */
static void test_stream_work_is_bounded(void **state)
{
	static const char *const lines[] = {
		"x=$((x+1)); y=$x\n", "PATH=$PATH:/opt/bin\n", "f() { echo $1; }; f a\n",
		"sh\n", "cd src\n", "for i in 1 2 3; do x=$i; done\n", "echo a >out.txt\n", "a\n",
		"alias a=b\n", "cat <<E >x\ntext\nE\n", "ruby\n",
	};
	struct stream_part part;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct stream *s = stream_of("bash");

		/* What is kept has gone round after 28 in each. */
		for (int n = 0; n < (unit_stress() ? 60 : 30); n++) {
			char text[40 * 40] = "";

			for (int k = 0; k < 40; k++)
				strcat(text, lines[i]);
			stream_judge(s, text, strlen(text), false, &part);
			if (part.verdict.blocked)
				fail_msg("%s, %d times: %s", lines[i], 40 * n, part.verdict.reason);
			stream_part_release(&part);
			stream_judge(s, "a\n", 2, false, &part);
			assert_in_range(part.verdict.work, 1, 350000);
			stream_part_release(&part);
		}
		stream_free(s);
	}
}

/* A line of data is judged with little of what came before, or a long session would pay for each. */
static void test_stream_keeps_little_data(void **state)
{
	struct stream *s = stream_of("cat | tr a b");
	struct stream_part part;

	(void)state;
	for (int n = 0; n < 500; n++) {
		stream_judge(s, "a line of data\n", 15, false, &part);
		assert_in_range(part.verdict.work, 1, 8000);
		stream_part_release(&part);
	}
	stream_free(s);
}

/* Of @command and its arguments no verdict may depend on an input that none is said to read. */
static bool reads_stdin(const char *command, const char *const *args)
{
	static const char *const texts[] = {
		"rm -rf /\n", "/\n", "/etc /home\n", "/dev/sda\n", "* * * * * rm -rf /\n",
		"all:\n\trm -rf /\n", "!rm -rf /\n", "w /etc/passwd\n", "flush ruleset\n",
		"*filter\n:INPUT ACCEPT\nCOMMIT\n", "import os; os.system('rm -rf /')\n",
		"\\! rm -rf /\n", "1\n", "init\n", ":(){ :|:& };:\n", "root:x\n",
	};
	struct blocklist_input in = { .command = command, .args = args, .stdin_bytes = ":\n",
				      .stdin_len = 2 };
	struct blocklist_verdict first, v;

	blocklist_judge(&in, &first);
	for (size_t i = 0; !first.reads_stdin && i < COUNT_OF(texts); i++) {
		in.stdin_bytes = texts[i];
		in.stdin_len = strlen(texts[i]);
		blocklist_judge(&in, &v);
		if (v.blocked != first.blocked || v.reads_stdin)
			fail_msg("%s %s depends on its input: %s", command, args[0] ? args[0] : "",
				 v.reason);
	}
	return first.reads_stdin;
}

static void test_stream_knows_who_reads_it(void **state)
{
	static const char *const args[][4] = {
		{ NULL }, { "-" }, { "x" }, { "-f", "-" }, { "-i", "x" }, { "1e", "x" },
		{ "-s", "x" }, { "/dev/stdin" }, { "-c", "cat" }, { "of=x" }, { "run", "-i", "sh" },
		{ "sh" }, { "rm" }, { "rm", "-rf" },
	};
	static const char *const sh[] = { "sh", "-c", "x", NULL };
	size_t readers = 0;

	(void)state;
	for (unsigned n = 0; n < blocklist_name_count; n++)
		for (size_t i = 0; i < COUNT_OF(args); i++)
			readers += reads_stdin(blocklist_names[n].name, args[i]);
	assert_in_range(readers, 200, blocklist_name_count * COUNT_OF(args) / 2);
	assert_false(reads_stdin("cat", args[0]));
	assert_false(reads_stdin("wc", args[1]));
	assert_true(reads_stdin("xargs", args[12]));
	assert_true(reads_stdin("bash", args[0]));
	assert_true(reads_stdin("env", sh)); /* whatever the shell makes of it */
}

/* What no verdict can read costs none. */
static void test_stream_passes_what_nothing_reads(void **state)
{
	static const char *const no_args[] = { NULL };
	const struct blocklist_input in = { .command = "cat", .args = no_args,
					    .stdin_bytes = "first\n", .stdin_len = 6 };
	struct stream *s = stream_new(&in, false);
	struct stream_part part;

	(void)state;
	for (int n = 0; n < 3; n++) {
		stream_judge(s, "rm -rf /\n\0'", 11, n == 2, &part);
		assert_int_equal(part.verdict.work, 0);
		assert_false(part.verdict.blocked);
		assert_int_equal(part.len, 11);
		assert_memory_equal(part.bytes, "rm -rf /\n\0'", 11);
		assert_int_equal(part.waiting + stream_waiting(s), 0);
		stream_part_release(&part);
	}
	stream_judge(s, NULL, 0, true, &part);
	assert_int_equal(part.len, 0);
	stream_part_release(&part);
	assert_int_equal(stream_parts(s), 4);
	stream_free(s);
}

/* What is kept can be too complex as a whole, each line of it being none. */
static void test_stream_forgets_what_is_too_complex(void **state)
{
	struct stream *s = stream_of("bash");

	(void)state;
	for (int i = 0; i < 100; i++)
		say(s, "x=$x$x$x.\n", false, "+10");
	say(s, "rm -rf build\n", false, "+13");
	say(s, "rm -rf /\n", false, "+0 !files.remove_tree");
	stream_free(s);
}

/* ---- every list, in parts ---- */

struct parts {
	int rows, wrong;
	bool blocked; /* a part of the last row */
	unsigned random;
};

static unsigned parts_random(struct parts *p, unsigned below)
{
	p->random = p->random * 1103515245u + 12345u;
	return (p->random >> 8) % below;
}

static void parts_say(struct parts *p, struct stream *s, const char *text, size_t len, bool end)
{
	struct stream_part part;

	stream_judge(s, text, len, end, &part);
	p->blocked |= part.verdict.blocked;
	stream_part_release(&part);
}

/* @text behind a harmless line, in three parts cut anywhere, and the end. */
static void parts_say_all(struct parts *p, const char *text, size_t len)
{
	struct stream *s = stream_of("bash");
	size_t a = parts_random(p, (unsigned)len + 1), b = parts_random(p, (unsigned)len + 1);
	size_t first = a < b ? a : b, second = a < b ? b : a;

	p->blocked = false;
	parts_say(p, s, "ls\n", 3, false);
	parts_say(p, s, text, first, false);
	parts_say(p, s, text + first, second - first, false);
	parts_say(p, s, text + second, len - second, false);
	parts_say(p, s, "\n", 1, true);
	stream_free(s);
}

static void parts_row(void *ctx, const struct corpus_row *row)
{
	struct parts *p = ctx;
	size_t len = strlen(row->command);
	const struct blocklist_input in = { .command = "bash", .stdin_bytes = row->command,
					    .stdin_len = len, .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH };
	struct blocklist_verdict whole;

	blocklist_judge(&in, &whole);
	if (!whole.blocked)
		return;
	p->rows++;
	parts_say_all(p, row->command, len);
	if (p->blocked)
		return;
	p->wrong++;
	print_message("not blocked in parts: %s\n", row->command);
}

/* What is blocked as the stdin of a start is blocked in parts as well, however it is cut. */
static void test_stream_parts_are_no_way_around(void **state)
{
	struct parts p = { .random = 20261122 };

	(void)state;
	corpus_tricks(parts_row, &p);
	print_message("# %d texts, %d wrong\n", p.rows, p.wrong);
	assert_true(p.rows > 1000);
	assert_int_equal(p.wrong, 0);
}

/* Judge @text in steps. Returns how many it took. */
static int judge_steps(struct stream *s, const char *text, bool end, struct stream_part *part)
{
	struct stream_steps steps = { 0 };
	int count = 1;

	memset(part, 0, sizeof(*part));
	while (stream_judge_step(s, text, strlen(text), end, &steps, part))
		count++;
	return count;
}

static char *repeat(const char *line, size_t size, const char *last)
{
	char *text = mem_zalloc(size + strlen(line) + strlen(last) + 1), *at = text;

	while ((size_t)(at - text) < size)
		at = stpcpy(at, line);
	strcpy(at, last);
	return text;
}

static void expect_steps(const char *line, const char *last, int count, size_t waiting,
			 const char *rule)
{
	char *text = repeat(line, 64 * KIB - 4, last);
	size_t passed = strlen(text) - waiting;
	struct stream *s = stream_of("bash");
	struct stream_part part;

	assert_true(stream_needs_steps(s, strlen(text)));
	assert_int_equal(judge_steps(s, text, false, &part), count);
	assert_int_equal(part.verdict.blocked, rule != NULL);
	if (rule)
		assert_string_equal(part.verdict.rule, rule);
	assert_int_equal(part.waiting, waiting);
	if (rule) /* in a step that takes long no line is searched for */
		assert_in_range(part.len, passed / count * (count - 1) - 100, passed - strlen(last));
	else
		assert_int_equal(part.len, passed);
	assert_memory_equal(part.bytes, text, part.len);
	assert_int_equal(part.bytes[part.len - 1], '\n');
	assert_int_equal(strlen(part.shown), 4096);
	stream_part_release(&part);
	stream_free(s);
	free(text);
}

static void expect_shown(struct stream *s, const char *text, bool end, const char *shown)
{
	struct stream_part part;

	stream_judge(s, text, strlen(text), end, &part);
	if (shown)
		assert_string_equal(part.shown, shown);
	else
		assert_null(part.shown);
	stream_part_release(&part);
}

/* A secret is known by what stands before it, so a line is shown when it is complete. */
static void test_stream_shows_whole_lines(void **state)
{
	struct stream *s = stream_of("bash");

	(void)state;
	expect_shown(s, "export TOKEN=", false, NULL);
	expect_shown(s, "a", false, NULL);
	expect_shown(s, "b\necho ", false, "export TOKEN=ab\n");
	expect_shown(s, "'a", false, NULL);
	expect_shown(s, "b'\n", false, "echo 'ab'\n");
	expect_shown(s, "rm -r", false, NULL);
	expect_shown(s, " /\n", false, "rm -r /\n");
	expect_shown(s, "\nls", true, "rm -r\nls");
	stream_free(s);
	s = begun_on_terminal("", "");
	expect_shown(s, "mysql -pa", false, NULL);
	expect_shown(s, "c\177b", false, NULL);
	expect_shown(s, "\r", false, "mysql -pab\n");
	stream_free(s);
}

/* Each step ends with a line, wherever its size lies, and the last line is found. */
static void test_stream_in_steps(void **state)
{
	(void)state;
	expect_steps(":\n", "", 5, 0, NULL);
	expect_steps("rm -rf /tmp/x\n", "", 5, 0, NULL);
	expect_steps("rm -rf /tmp/x\n", "rm -rf /\n", 5, 0, "files.remove_tree");
	expect_steps("echo a\n", "echo '", 5, 6, NULL);
	expect_steps("cd / && cd tmp && ls\n", "cd /; rm -rf *\n", 5, 0, "files.remove_tree");
}

/* What is typed is read in several ways, so a step of it is shorter, and so is what may be in doubt. */
static void test_stream_steps_on_a_terminal(void **state)
{
	char *text = repeat("a\r", 12 * KIB, ""), *doubt = repeat("ls\r", 13 * KIB, "E\r");
	const struct step steps[] = {
		{ "cat <<E\rE\t\r", "+0e ..11" }, { doubt, "+0 !text.too_complex" },
		{ "cat <<E\r", "+0 ..8" }, { doubt, "+13324" }, { 0 },
	};
	struct stream *s = begun_on_terminal("", "");
	struct stream_part part;

	(void)state;
	assert_true(stream_needs_steps(s, 6 * KIB));
	assert_int_equal(judge_steps(s, text, false, &part), 4);
	assert_int_equal(part.len, 12 * KIB);
	stream_part_release(&part);
	stream_free(s);
	dialogue_on_terminal(steps);
	free(text);
	free(doubt);
}

/* What waits counts for the call that it came with; a line longer than a step is one step. */
static void test_stream_steps_and_what_waits(void **state)
{
	char *text = repeat("a", 50 * KIB, "'\nrm -rf /\n");
	struct stream *s = stream_of("bash"), *copy;
	struct stream_part part;
	uint64_t parts;

	(void)state;
	say(s, "echo '", false, "+0 ..6");
	parts = stream_parts(s);
	copy = stream_copy(s);
	assert_int_equal(judge_steps(copy, text, false, &part), 2);
	assert_int_equal(part.earlier, 6);
	assert_int_equal(part.len, 6 + 50 * KIB + 2);
	assert_string_equal(part.verdict.rule, "files.remove_tree");
	assert_string_equal(part.shown, "rm -rf /\n");
	stream_part_release(&part);
	assert_int_equal(stream_parts(s), parts);
	assert_int_equal(stream_waiting(s), 6);
	stream_become(s, copy);
	assert_int_equal(stream_parts(s), parts + 2);
	assert_int_equal(stream_waiting(s), 0);
	say(s, "echo b\n", false, "+7");
	stream_free(s);
	free(text);
}

static void expect_begun(const struct stream *s, const char *expected)
{
	const char *text = "";
	size_t len = stream_begun(s, &text);

	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
}

/* What was written of a line stays with the command when its rest is refused. */
static void test_stream_knows_the_line_that_is_begun(void **state)
{
	struct stream *s = stream_of("bash");

	(void)state;
	expect_begun(s, "");
	say(s, "echo a\nrm -r", false, "+12");
	expect_begun(s, "rm -r");
	say(s, " /\n", false, "+0 !files.remove_tree");
	expect_begun(s, "rm -r");
	say(s, "\nrm -r", false, "+6");
	say(s, "\nrm -r /\n", false, "+1 !files.remove_tree");
	expect_begun(s, "");
	say(s, "echo 'a", false, "+0 ..7");
	expect_begun(s, "");
	stream_free(s);
	s = stream_of("cat");
	say(s, "echo a", false, "+6");
	expect_begun(s, "");
	stream_free(s);
}

static void test_stream_knows_the_line_that_is_typed(void **state)
{
	const struct blocklist_input in = { .command = "bash -i", .shell_path = "/bin/bash",
					    .shell_family = SHELL_FAMILY_BASH };
	struct stream *s = stream_new(&in, true);

	(void)state;
	say(s, "echo a\rrm -rx\177", false, "+14");
	expect_begun(s, "rm -r");
	say(s, " /\r", false, "+0 !files.remove_tree");
	expect_begun(s, "rm -r");
	say(s, "\25rm", false, "+3");
	expect_begun(s, "rm");
	say(s, "\033[A", false, "+3e");
	expect_begun(s, "");
	say(s, "\recho a\rrm -r /\r", false, "+8e !files.remove_tree");
	expect_begun(s, "");
	stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_judges_typed_lines),
		cmocka_unit_test(test_stream_lets_signals_pass),
		cmocka_unit_test(test_stream_refuses_an_end_in_a_command),
		cmocka_unit_test(test_stream_doubts_what_follows_an_unknown_line),
		cmocka_unit_test(test_stream_judges_pastes),
		cmocka_unit_test(test_stream_judges_what_stands_beside_a_mark),
		cmocka_unit_test(test_stream_judges_stray_marks),
		cmocka_unit_test(test_stream_knows_that_a_paste_is_open),
		cmocka_unit_test(test_stream_joins_the_parts_of_a_mark),
		cmocka_unit_test(test_stream_keeps_the_end_of_a_paste),
		cmocka_unit_test(test_stream_takes_an_escape_for_a_key),
		cmocka_unit_test(test_stream_goes_on_behind_typed_stdin),
		cmocka_unit_test(test_stream_passes_pastes),
		cmocka_unit_test(test_stream_is_judged_for_any_reader),
		cmocka_unit_test(test_stream_judges_incomplete_lines),
		cmocka_unit_test(test_stream_holds_what_is_open),
		cmocka_unit_test(test_stream_does_not_hold_for_ever),
		cmocka_unit_test(test_stream_end_judges_what_waits),
		cmocka_unit_test(test_stream_stops_at_the_blocked_line),
		cmocka_unit_test(test_stream_remembers),
		cmocka_unit_test(test_stream_remembers_behind_what_waits),
		cmocka_unit_test(test_stream_begins_with_the_stdin_of_the_start),
		cmocka_unit_test(test_stream_programs_in_the_shell_read_the_rest),
		cmocka_unit_test(test_stream_takes_any_bytes),
		cmocka_unit_test(test_stream_keeps_what_matters),
		cmocka_unit_test(test_stream_keeps_no_comments),
		cmocka_unit_test(test_stream_knows_comments),
		cmocka_unit_test(test_stream_work_is_bounded),
		cmocka_unit_test(test_stream_keeps_little_data),
		cmocka_unit_test(test_stream_knows_who_reads_it),
		cmocka_unit_test(test_stream_passes_what_nothing_reads),
		cmocka_unit_test(test_stream_forgets_what_is_too_complex),
		cmocka_unit_test(test_stream_parts_are_no_way_around),
		cmocka_unit_test(test_stream_shows_whole_lines),
		cmocka_unit_test(test_stream_in_steps),
		cmocka_unit_test(test_stream_steps_on_a_terminal),
		cmocka_unit_test(test_stream_steps_and_what_waits),
		cmocka_unit_test(test_stream_knows_the_line_that_is_begun),
		cmocka_unit_test(test_stream_knows_the_line_that_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
