/* Words and options in this file are text to read. None of them is ever run. */
#include "unit.h"

#include "base/mem.h"
#include "blocklist/args.h"
#include "blocklist/rules.h"
#include "blocklist/wrap.h"

#define WORDS_MAX 32

static struct shell_arena arena;
static struct blocklist_args args;
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

static struct shell_wrap open_line(const char *line)
{
	size_t count = split(line);
	const struct blocklist_name *name = blocklist_lookup(words[0].text.s, words[0].text.len);
	struct shell_wrap wrap;

	assert_non_null(name);
	assert_non_null(name->wrapper);
	shell_wrap_open(name->wrapper, words, count, &args, &arena, &wrap);
	return wrap;
}

static int setup(void **state)
{
	(void)state;
	shell_arena_init(&arena, 1u << 20);
	memset(&args, 0, sizeof(args));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shell_arena_release(&arena);
	blocklist_args_release(&args);
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
		struct shell_wrap w = open_line(cases[i].line);

		if (w.kind != WRAP_WORDS || strcmp(w.words[0].text.s, cases[i].first) != 0 ||
		    w.count != cases[i].count)
			fail_msg("%s: kind %d", cases[i].line, w.kind);
	}
}

static void test_wrap_finds_the_text(void **state)
{
	static const struct {
		const char *line, *text;
		enum shell_wrap_kind kind;
	} cases[] = {
		{ "sh -c ls_x", "ls x", WRAP_TEXT },
		{ "bash -O extglob -ec ls_x name", "ls x", WRAP_TEXT },
		{ "fish --command=ls_x", "ls x", WRAP_TEXT },
		{ "su -c ls_x me", "ls x", WRAP_TEXT },
		{ "su me -c ls_x", "ls x", WRAP_TEXT },
		{ "script -qc ls_x out", "ls x", WRAP_TEXT },
		{ "flock /tmp/l -c ls_x", "ls x", WRAP_TEXT },
		{ "env -S ls_x y", "ls x y", WRAP_TEXT },
		{ "ssh -p 22 host ls x", "ls x", WRAP_TEXT },
		{ "watch -n 1 ls x", "ls x", WRAP_TEXT },
		{ "tmux new -d -s name ls x", "ls x", WRAP_TEXT },
		{ "parallel ls ::: x", "ls x", WRAP_TEXT },
		{ "python3 -c print(1)", "print(1)", WRAP_CODE },
		{ "perl -ne print", "print", WRAP_CODE },
		{ "awk -F : {print}", "{print}", WRAP_CODE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct shell_wrap w = open_line(cases[i].line);

		if (w.kind != cases[i].kind || w.text_count != 1 ||
		    strcmp(w.texts[0].text.s, cases[i].text) != 0)
			fail_msg("%s: kind %d, \"%s\"", cases[i].line, w.kind,
				 w.text_count ? w.texts[0].text.s : "");
	}
}

static void test_wrap_other_sources(void **state)
{
	(void)state;
	assert_int_equal(open_line("sh").kind, WRAP_STDIN);
	assert_int_equal(open_line("bash -s x").kind, WRAP_STDIN);
	assert_int_equal(open_line("sh /dev/stdin").kind, WRAP_STDIN);
	assert_int_equal(open_line("sh x.sh").kind, WRAP_FILE);
	assert_int_equal(open_line("python3").kind, WRAP_CODE_STDIN);
	assert_int_equal(open_line("python3 -m json.tool").kind, WRAP_NOTHING);
	assert_int_equal(open_line("python3 x.py").kind, WRAP_CODE_FILE);
	assert_int_equal(open_line("sudo -l").kind, WRAP_NOTHING);
	assert_int_equal(open_line("sudo -i").kind, WRAP_STDIN);
	assert_int_equal(open_line("command -v rm").kind, WRAP_NOTHING);
	assert_int_equal(open_line("bash -n x").kind, WRAP_NOTHING);
	assert_true(open_line("xargs rm").fed);
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
	joined = shell_wrap_join(words, count, &arena);
	assert_string_equal(joined.text.s, "a bc d");
	for (size_t i = 0; i < joined.text.len; i++)
		if (joined.text.s[i] != ' ')
			assert_int_equal(joined.text.at[i], i);
	assert_int_equal(joined.unknown_count, 1);
	assert_int_equal(joined.unknowns[0].index, 3);
	replaced = shell_wrap_replace(&words[1], "b", 1, &words[0], &arena);
	assert_string_equal(replaced.text.s, "ac");
	assert_int_equal(replaced.text.at[0], 0);
	assert_int_equal(replaced.unknowns[0].index, 1);
	assert_true(replaced.unknowns[0].is_set);
	slice = shell_wrap_slice(&words[1], 1, 2, &arena);
	assert_string_equal(slice.text.s, "c");
	assert_int_equal(slice.unknowns[0].index, 0);
	count = split("a it's");
	quoted = shell_wrap_quote(words, count, &arena);
	assert_string_equal(quoted.text.s, "'a' 'it'\\''s'");
}

static bool has(const char *line, const char *values, const char *list)
{
	blocklist_args_read(&args, words, split(line), values, false);
	return blocklist_args_has(&args, list);
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
	blocklist_args_read(&args, words, split("sudo -u me ls -l"), " -u ", true);
	assert_int_equal(args.first_operand, 3);
}

static void test_args_words_and_lists(void **state)
{
	(void)state;
	split("systemd-poweroff.service");
	assert_true(blocklist_word_fits(&words[0], 0, " a systemd-power* "));
	assert_true(blocklist_word_fits(&words[0], 8, " poweroff.* "));
	assert_false(blocklist_word_fits(&words[0], 0, " poweroff* "));
	split("*");
	assert_true(blocklist_word_fits(&words[0], 0, " \\* "));
	split("x");
	assert_false(blocklist_word_fits(&words[0], 0, " \\* "));
	assert_true(blocklist_word_fits(&words[0], 0, " ? "));
	assert_true(blocklist_listed(" a bc ", "bc", 2));
	assert_false(blocklist_listed(" a bc ", "b", 1));
	assert_false(blocklist_listed(" a bc ", "", 0));
	assert_false(blocklist_listed(NULL, "a", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wrap_finds_the_command, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_finds_the_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_other_sources, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_words_keep_their_origin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_args_as_getopt_reads_them, setup, teardown),
		cmocka_unit_test_setup_teardown(test_args_words_and_lists, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
