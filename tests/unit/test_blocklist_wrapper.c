/* Words and options in this file are text to read. None of them is ever run. */
#include "unit.h"

#include "base/mem.h"
#include "blocklist/command/args.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/wrapper.h"

#define WORDS_MAX 32

static struct shell_arena arena;
static struct args args;
static struct shell_budget budget;
static struct shell_word words[WORDS_MAX];

/* @line split at single spaces; _ in a word is a space. */
static size_t split(const char *line)
{
	size_t n = 0;

	for (const char *s = line; *s; n++) {
		size_t len = strcspn(s, " ");
		char *text = shell_copy(&arena, s, len);
		uint32_t *at = shell_alloc(&arena, (len + 1) * sizeof(*at));

		assert_true(n < WORDS_MAX);
		for (size_t i = 0; i < len; i++) {
			at[i] = (uint32_t)(s - line + (long)i);
			text[i] = text[i] == '_' ? ' ' : text[i];
		}
		words[n] = (struct shell_word){ .text = { .s = text, .at = at, .len = len },
						.kind = shell_alloc(&arena, len + 1),
						.start = (uint32_t)(s - line),
						.end = (uint32_t)(s - line + (long)len) };
		s += len + (s[len] == ' ');
	}
	return n;
}

static struct place place = { .index = SHELL_NONE };

/* What the wrapper @line does, but for the cd to the home of a login. */
static struct action_list open_line(const char *line)
{
	struct command cmd = { .words = words, .count = split(line), .at = &place };
	struct action_list out = { .arena = &arena, .budget = &budget, .args = &args };
	bool foreign;

	cmd.program = name_base(&words[0], &foreign);
	cmd.name = name_lookup(cmd.program.s, cmd.program.len);
	assert_non_null(cmd.name);
	assert_non_null(name_wrapper(cmd.name));
	wrapper_read(name_wrapper(cmd.name), &cmd, &out);
	if (out.count && out.list[0].kind == ACTION_CHDIR) {
		out.list++;
		out.count--;
	}
	return out;
}

static int setup(void **state)
{
	(void)state;
	shell_arena_init(&arena, 1u << 20);
	budget = (struct shell_budget)SHELL_BUDGET_INIT;
	budget.work = 1000000;
	memset(&args, 0, sizeof(args));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shell_arena_release(&arena);
	args_release(&args);
	return 0;
}

/* The first word of the command inside, and how many words it has. */
static void test_wrap_finds_the_command(void **state)
{
	static const struct {
		const char *line, *first;
		size_t count;
	} cases[] = {
		{ "sudo ls -l", "ls", 2 },
		{ "sudo -u root -E A=1 B=2 ls", "ls", 1 },
		{ "sudo --user=root -- ls x", "ls", 2 },
		{ "env -i -u X A=1 ls", "ls", 1 },
		{ "nice -n 5 ls", "ls", 1 },
		{ "nice -5 ls", "ls", 1 },
		{ "timeout -k 5 10 ls", "ls", 1 },
		{ "timeout --signal=KILL 10s ls", "ls", 1 },
		{ "flock -n /tmp/l ls", "ls", 1 },
		{ "chroot --userspec=a:b /mnt ls", "ls", 1 },
		{ "stdbuf -oL ls", "ls", 1 },
		{ "taskset -c 0 ls", "ls", 1 },
		{ "setarch -R rm x", "rm", 2 },
		{ "setarch x86_64 rm x", "rm", 2 },
		{ "nsenter -t 1 -m ls", "ls", 1 },
		{ "exec -a name ls", "ls", 1 },
		{ "busybox rm x", "rm", 2 },
		{ "coreutils --coreutils-prog=rm x", "rm", 2 },
		{ "xargs -n 1 -I {} rm {}", "rm", 2 },
		{ "bwrap --bind / / rm x", "rm", 2 },
		{ "runuser -u me -- rm x", "rm", 2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct action_list out = open_line(cases[i].line);
		const struct action *a = out.list;

		if (out.count != 1 || a->kind != ACTION_WORDS ||
		    strcmp(a->words[0].text.s, cases[i].first) != 0 ||
		    a->count != cases[i].count + (a->flags & ACTION_EACH && !strstr(cases[i].line, "{}")))
			fail_msg("%s: %zu actions", cases[i].line, out.count);
	}
}

static void test_wrap_finds_the_text(void **state)
{
	static const struct {
		const char *line, *text;
		bool foreign;
	} cases[] = {
		{ "sh -c ls_x", "ls x", false },
		{ "bash -O extglob -ec ls_x name", "ls x", false },
		{ "fish --command=ls_x", "ls x", false },
		{ "su -c ls_x me", "ls x", false },
		{ "su me -c ls_x", "ls x", false },
		{ "script -qc ls_x out", "ls x", false },
		{ "flock /tmp/l -c ls_x", "ls x", false },
		{ "env -S ls_x y", "ls x y", false },
		{ "ssh -p 22 host ls x", "ls x", false },
		{ "watch -n 1 ls x", "ls x", false },
		{ "tmux new -d -s name ls x", "ls x", false },
		{ "parallel ls ::: x", "ls x", false },
		{ "python3 -c print(1)", "print(1)", true },
		{ "perl -ne print", "print", true },
		{ "awk -F : {print}", "{print}", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct action_list out = open_line(cases[i].line);

		if (!out.count || out.list[0].kind != ACTION_TEXT ||
		    !(out.list[0].flags & ACTION_FOREIGN) == cases[i].foreign ||
		    strcmp(out.list[0].word->text.s, cases[i].text) != 0)
			fail_msg("%s: %zu actions", cases[i].line, out.count);
	}
}

static void expect_file(const char *line, unsigned flags)
{
	struct action_list out = open_line(line);

	assert_int_equal(out.count, 1);
	assert_int_equal(out.list[0].kind, ACTION_FILE);
	assert_int_equal(out.list[0].flags, flags);
}

/* Its standard input is known to be "text". */
static void expect_input(const char *line, bool foreign)
{
	struct shell_word input = word_fixed("text", SHELL_LITERAL, NULL, &arena);
	struct action_list out;

	place.input.text = &input;
	out = open_line(line);
	place.input.text = NULL;
	assert_int_equal(out.count, 1);
	assert_int_equal(out.list[0].kind, ACTION_TEXT);
	assert_int_equal(!(out.list[0].flags & ACTION_FOREIGN), !foreign);
	assert_ptr_equal(out.list[0].word, &input);
	assert_true(out.list[0].flags & ACTION_NO_INPUT);
}

static void test_wrap_other_sources(void **state)
{
	(void)state;
	expect_input("sh", false);
	expect_input("bash -s x", false);
	expect_input("sh /dev/stdin", false);
	expect_input("sudo -i", false);
	expect_input("python3", true);
	expect_file("sh x.sh", 0);
	expect_file("bash x.sh", ACTION_BASH);
	expect_file("python3 x.py", ACTION_FOREIGN);
	assert_int_equal(open_line("python3 -m json.tool").count, 0);
	assert_int_equal(open_line("sudo -l").count, 0);
	assert_int_equal(open_line("command -v rm").count, 0);
	assert_int_equal(open_line("bash -n x").count, 0);
	assert_true(open_line("command cd x").keeps_directory);
	assert_false(open_line("sudo cd x").keeps_directory);
}

/* What xargs adds to its command is not known here; each of it is one of many. */
static void test_wrap_feeds_the_command(void **state)
{
	struct action_list out;

	(void)state;
	out = open_line("xargs rm -f");
	assert_int_equal(out.count, 1);
	assert_int_equal(out.list[0].count, 3);
	assert_true(word_unknown_at(&out.list[0].words[2], 0));
	assert_true(out.list[0].flags & ACTION_EACH);
}

/* What is built keeps the places it came from, and the names of unknown parts. */
static void test_wrap_words_keep_their_origin(void **state)
{
	size_t count = split("a bc d");
	struct shell_unknown unknown = { .index = 1, .is_set = true, .name = "X" };
	struct shell_word joined, replaced, slice, quoted;

	(void)state;
	words[1].unknowns = &unknown;
	words[1].unknown_count = 1;
	joined = word_join(words, count, &arena);
	assert_string_equal(joined.text.s, "a bc d");
	for (size_t i = 0; i < joined.text.len; i++)
		if (joined.text.s[i] != ' ')
			assert_int_equal(joined.text.at[i], i);
	assert_int_equal(joined.unknown_count, 1);
	assert_int_equal(joined.unknowns[0].index, 3);
	replaced = word_replace(&words[1], "b", 1, &words[0], &budget, &arena);
	assert_string_equal(replaced.text.s, "ac");
	assert_int_equal(replaced.text.at[0], 0);
	assert_int_equal(replaced.unknowns[0].index, 1);
	assert_true(replaced.unknowns[0].is_set);
	slice = word_slice(&words[1], 1, 2, &arena);
	assert_string_equal(slice.text.s, "c");
	assert_int_equal(slice.unknowns[0].index, 0);
	joined = word_concat(&words[0], &words[1], &arena);
	assert_string_equal(joined.text.s, "abc");
	assert_int_equal(joined.text.at[1], 2);
	assert_int_equal(joined.unknowns[0].index, 2);
	count = split("a it's");
	quoted = word_quote(words, count, &budget, &arena);
	assert_string_equal(quoted.text.s, "'a' 'it'\\''s'");
}

static bool has(const char *line, const char *values, const char *list)
{
	args_read(&args, words, split(line), values, false);
	return args_has(&args, list);
}

static void test_args_as_getopt_reads_them(void **state)
{
	(void)state;
	assert_true(has("rm -vrf x", NULL, " -r "));
	assert_true(has("rm x -r", NULL, " -r "));
	assert_false(has("rm -- -r", NULL, " -r "));
	assert_true(has("rm --rec x", NULL, " --recursive "));
	assert_false(has("rm --recx x", NULL, " --recursive "));
	assert_false(has("x -orf", " -o ", " -r "));
	assert_true(has("x -o rf", " -o ", " -o=rf "));
	assert_true(has("x -orf", " -o ", " -o=rf "));
	assert_true(has("x --mode=off", NULL, " --mode=off "));
	assert_true(has("x --mode off", " --mode ", " --mode=off "));
	assert_false(has("x --mode on", " --mode ", " --mode=off "));
	assert_true(has("7z d -sdel x", NULL, " -sdel "));
	assert_false(has("x --force y", " --force-drivers ", " --drivers "));
	assert_int_equal(args.operand_count, 1);
	assert_true(has("sed -nie x y", " -e -i= ", " -i=e "));
	assert_false(has("sed -i e x", " -e -i= ", " -i=e "));
	assert_int_equal(args.operand_count, 2);
	assert_true(has("zypper -R / rm", " -R< ", " -R=/ "));
	assert_false(has("zypper rm -R x", " -R< ", " -R=x "));
	assert_int_equal(args.operand_count, 2);
	args_read(&args, words, split("sudo -u me ls -l"), " -u ", true);
	assert_int_equal(args.first_operand, 3);
}

static void test_args_words_and_lists(void **state)
{
	(void)state;
	split("systemd-poweroff.service");
	assert_true(args_word_fits(&words[0], " a systemd-power* "));
	assert_false(args_word_fits(&words[0], " poweroff* "));
	split("*");
	assert_true(args_word_fits(&words[0], " \\* "));
	split("x");
	assert_false(args_word_fits(&words[0], " \\* "));
	assert_true(args_word_fits(&words[0], " ? "));
	assert_true(list_has(" a bc ", "bc", 2));
	assert_false(list_has(" a bc ", "b", 1));
	assert_false(list_has(" a bc ", "", 0));
	assert_false(list_has(NULL, "a", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wrap_finds_the_command, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_finds_the_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_other_sources, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_feeds_the_command, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_words_keep_their_origin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_args_as_getopt_reads_them, setup, teardown),
		cmocka_unit_test_setup_teardown(test_args_words_and_lists, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
